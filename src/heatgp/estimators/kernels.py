"""The heat kernel that an estimator's arguments `manifold`, `kernel` and `time` ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..covariance import Kernel
from ..errors import InvalidInput
from ..gp.kernels import Normalized
from ..heat.composed import ProductKernel, compose
from ..heat.kernel import HeatKernel
from ..heat.methods import METHODS, Method, count_simple, known_options, method_named
from ..manifolds import Manifold, Product


def chosen_kernel(manifold: Manifold, kernel: Any, time: Any, rng: Any = 0, n_jobs: int | None = None) -> HeatKernel:
    """The kernel of a model; all arguments are checked before the first kernel is made, which may take a simulation.

    Parameters
    ----------
    manifold : Manifold.
    kernel : name of a method, Method or HeatKernel; or a list of these, one for each factor of a product.
    time : number or None; "each" or a tuple for a kernel that takes one time for each factor of a product.
    rng, n_jobs : for methods given by name that are simulated.
    """
    own_times, listed = has_time_for_each_factor(time), isinstance(kernel, (list, tuple))
    factors = manifold.factors if isinstance(manifold, Product) else ()
    if listed and not len(kernel) == len(factors) > 0:
        raise InvalidInput(f"a list of {len(kernel)} kernels needs a product of as many; got {manifold!r}.")
    if own_times and not factors:
        raise InvalidInput(f"time = {time!r} is one for each factor, but {manifold!r} is no product. Give one time.")
    parts = list(zip(factors, kernel)) if listed else [(manifold, kernel)]
    for part in parts:
        check_choice(*part)
    made = [
        make(part, choice, sum(map(count_simple, factors[:i])), rng=rng, n_jobs=n_jobs)
        for i, (part, choice) in enumerate(parts)
    ]
    chosen = compose(manifold, tuple(made)) if listed else made[0]
    if not own_times:
        return chosen
    if not isinstance(chosen, ProductKernel):
        raise InvalidInput(
            f"time = {time!r} is one for each factor, but {chosen!r} has no factors. Give a list of kernels, one for "
            "each factor."
        )
    return replace(chosen, own_times=True)


def make(manifold: Manifold, choice: Any, number: int, **options: Any) -> HeatKernel:
    """The kernel that a name, a Method or a HeatKernel stands for.

    A name takes those `options` that its method has. `number` counts the manifolds before this one in a product: their
    simulations are independent.
    """
    if isinstance(choice, HeatKernel):
        return choice
    if isinstance(choice, str):
        choice = method_named(choice, **known_options(choice, **options))
    return choice.independent(number).kernel(manifold)


def has_time_for_each_factor(time: Any) -> bool:
    """Whether `time` is "each" or several values."""
    if isinstance(time, str) and time != "each":
        raise InvalidInput(f"time = {time!r} is not known. Give a positive number, None, 'each' or one per factor.")
    return isinstance(time, str) or np.ndim(time) > 0


def is_same_manifold(one: Manifold, other: Manifold) -> bool:
    """Whether two manifolds are equal; where their class does not define equality, whether they are of one kind.

    scikit-learn's clone copies the manifold of an estimator and that of its kernel, each on its own.
    """
    if type(one).__eq__ is object.__eq__:
        return type(one) is type(other) and one.shape == other.shape
    return bool(one == other)


def check_choice(manifold: Manifold, choice: Any) -> None:
    """InvalidInput unless `choice` is a kernel of this manifold, or can make one."""
    if isinstance(choice, HeatKernel):
        if not is_same_manifold(choice.manifold, manifold):
            raise InvalidInput(f"{choice!r} is a kernel of {choice.manifold!r}; the manifold is {manifold!r}.")
    elif not isinstance(choice, Method) and not (isinstance(choice, str) and choice in METHODS):
        names = ", ".join(map(repr, METHODS))
        raise InvalidInput(
            f"kernel = {choice!r} is not known. Give one of {names}, 'precomputed', a method such as Smooth(), a "
            "HeatKernel, or a list of these, one for each factor of a product."
        )


def without_normalization(kernel: Kernel) -> Any:
    """The heat kernel that a model divides by its diagonal, or does not."""
    return kernel.kernel if isinstance(kernel, Normalized) else kernel
