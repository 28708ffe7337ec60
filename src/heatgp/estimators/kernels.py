"""The heat kernel that an estimator's arguments `manifold`, `kernel` and `time` ask for."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..covariance import Kernel
from ..errors import AccuracyWarning, InvalidInput, warn
from ..gp.kernels import Normalized
from ..heat.composed import ProductKernel, compose
from ..heat.kernel import HeatKernel, MadeKernel
from ..heat.matern import MaternKernel
from ..heat.methods import METHODS, Method, count_simple, known_options
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
    if isinstance(time, str) and time != "each":
        raise InvalidInput(f"time = {time!r} is not known. Give a positive number, None, 'each' or one per factor.")
    own_times, listed = isinstance(time, str) or np.ndim(time) > 0, isinstance(kernel, (list, tuple))
    factors = manifold.factors if isinstance(manifold, Product) else ()
    if listed and not len(kernel) == len(factors) > 0:
        raise InvalidInput(f"a list of {len(kernel)} kernels needs a product of as many; got {manifold!r}.")
    if own_times and not factors:
        raise InvalidInput(f"time = {time!r} is one for each factor, but {manifold!r} is no product. Give one time.")
    parts = list(zip(factors, kernel)) if listed else [(manifold, kernel)]
    before = [sum(map(count_simple, factors[:i])) for i in range(len(parts))]
    choices = [checked_choice(*part, number, rng=rng, n_jobs=n_jobs) for part, number in zip(parts, before)]
    warn_of_equal_simulations([c for c in choices if isinstance(c, MadeKernel)])
    made = [c if isinstance(c, HeatKernel) else c.kernel(part) for (part, _), c in zip(parts, choices)]
    chosen = compose(manifold, tuple(made)) if listed else made[0]
    if not own_times:
        return chosen
    product = chosen.base if isinstance(chosen, MaternKernel) else chosen
    if not isinstance(product, ProductKernel):
        raise InvalidInput(
            f"time = {time!r} is one for each factor, but {chosen!r} has no factors. Give a list of kernels, one for "
            "each factor."
        )
    product = replace(product, own_times=True)
    return replace(chosen, base=product) if isinstance(chosen, MaternKernel) else product


def warn_of_equal_simulations(kernels: list[MadeKernel]) -> None:
    """Warn of two kernels of one simulation: names and methods get a seed for each factor, kernels have theirs."""
    for one, other in combinations(kernels, 2):
        if not one.is_exact and one.made_by == other.made_by and one.manifold == other.manifold:
            warn(
                f"{one!r} stands for two factors: their errors are the same, and the stated error of the product is "
                "too small. Give the method for each factor, or kernels with a seed (rng) of their own.",
                AccuracyWarning,
            )
            return


def is_same_manifold(one: Manifold, other: Manifold) -> bool:
    """Whether two manifolds are equal; where their class does not define equality, whether they are of one kind.

    scikit-learn's clone copies the manifold of an estimator and that of its kernel, each on its own.
    """
    if type(one).__eq__ is object.__eq__:
        return type(one) is type(other) and one.shape == other.shape
    return bool(one == other)


def checked_choice(manifold: Manifold, choice: Any, number: int, **options: Any) -> Method | HeatKernel:
    """The Method or HeatKernel that `choice` stands for; a name takes those `options` that its method has.

    `number` counts the manifolds before this one in a product: their simulations are independent.
    """
    if isinstance(choice, str) and choice in METHODS:
        choice = METHODS[choice](**known_options(choice, **options))
    if isinstance(choice, Method):
        return choice.independent(number)
    if not isinstance(choice, HeatKernel):
        names = ", ".join(map(repr, METHODS))
        raise InvalidInput(
            f"kernel = {choice!r} is not known. Give one of {names}, 'precomputed', a method such as Smooth(), a "
            "HeatKernel, or a list of these, one for each factor of a product."
        )
    if not is_same_manifold(choice.manifold, manifold):
        raise InvalidInput(f"{choice!r} is a kernel of {choice.manifold!r}; the manifold is {manifold!r}.")
    return choice


def without_normalization(kernel: Kernel) -> Any:
    """The heat kernel that a model divides by its diagonal, or does not."""
    return kernel.kernel if isinstance(kernel, Normalized) else kernel
