"""The heat kernel that an estimator's arguments `manifold`, `kernel` and `time` ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..heat.composed import ProductKernel
from ..heat.kernel import HeatKernel
from ..heat.methods import METHODS
from ..manifolds import Manifold, Product

Make = Callable[[Manifold, str], HeatKernel]


def chosen_kernel(manifold: Manifold, kernel: Any, time: Any, make: Make) -> HeatKernel:
    """A HeatKernel as it is, `make(manifold, name)` of a name, the product of a list; with a time a factor if asked.

    All arguments are checked before the first kernel is made, which may take a simulation.
    """
    each, listed = one_a_factor(time), isinstance(kernel, (list, tuple))
    factors = manifold.factors if isinstance(manifold, Product) else ()
    if listed and len(kernel) != len(factors):
        raise InvalidInput(f"a list of {len(kernel)} kernels needs a product of as many; got {manifold!r}.")
    if each and not factors:
        raise InvalidInput(f"time = {time!r} is one a factor, but {manifold!r} is no product. Give one time.")
    parts = list(zip(factors, kernel)) if listed else [(manifold, kernel)]
    for part in parts:
        check_kernel(*part)
    made = [k if isinstance(k, HeatKernel) else make(m, k) for m, k in parts]
    chosen: HeatKernel = ProductKernel(manifold, tuple(made)) if isinstance(manifold, Product) and listed else made[0]
    if not each:
        return chosen
    if not isinstance(chosen, ProductKernel):
        raise InvalidInput(
            f"time = {time!r} is one a factor, but {chosen!r} has no factors. Give a list of kernels, one a factor."
        )
    return ProductKernel(chosen.manifold, chosen.factors, each=True)


def one_a_factor(time: Any) -> bool:
    """Whether `time` is "each" or several values."""
    if isinstance(time, str) and time != "each":
        raise InvalidInput(f"time = {time!r} is not known. Give a positive number, None, 'each' or one a factor.")
    return isinstance(time, str) or np.ndim(time) > 0


def same(one: Manifold, other: Manifold) -> bool:
    """Equal; of a class that knows no equality, of the same kind: scikit-learn's clone makes copies of both."""
    if type(one).__eq__ is object.__eq__:
        return type(one) is type(other) and one.shape == other.shape
    return bool(one == other)


def check_kernel(manifold: Manifold, kernel: Any) -> None:
    if isinstance(kernel, HeatKernel):
        if not same(kernel.manifold, manifold):
            raise InvalidInput(f"{kernel!r} is a kernel of {kernel.manifold!r}; the manifold is {manifold!r}.")
    elif not isinstance(kernel, str) or kernel not in METHODS:
        names = ", ".join(map(repr, METHODS))
        raise InvalidInput(
            f"kernel = {kernel!r} is not known. Give one of {names}, 'precomputed', a HeatKernel, or a list, one a "
            "factor of a product."
        )
