"""The kernel of a model from the arguments `manifold`, `kernel`, `time` and `smoothness` of an estimator."""

import math
from collections.abc import Callable
from copy import copy
from functools import wraps
from itertools import combinations
from typing import Any

import numpy as np

from ..arguments import is_list, shown
from ..covariance import Kernel
from ..errors import AccuracyWarning, InvalidInput, warn
from ..gp.kernels import Normalized
from ..gp.parameters import Given
from ..heat.composed import ProductKernel, WrappedKernel, compose
from ..heat.files import parts_of
from ..heat.kernel import HeatKernel, MadeKernel
from ..heat.matern import MaternKernel, check_smoothness
from ..heat.methods import METHODS, Method, count_simple, known_options
from ..heat.shared import shared_kernel
from ..heat.sums import SumKernel
from ..manifolds import Euclidean, Manifold, Product, Scaled

OWN_TIMES = ("shared", "each", "coordinates")
"""What `time` may say of the times that are learned."""
LEARNED = ("auto", "learn")
"""What `smoothness` of a model may be beside numbers."""


def chosen_kernel(manifold: Manifold, kernel: Any, time: Any, rng: Any = 0) -> HeatKernel:
    """The kernel of a model; all arguments are checked before the first kernel is made, which may take a simulation.

    Parameters
    ----------
    manifold : Manifold.
    kernel : name of a method, Method or HeatKernel; or a list of these, one for each factor of a product.
    time : number or None; "shared", "each", "coordinates" or a tuple, see `with_own_times`.
    rng : for methods given by name that are simulated.
    """
    word = time if isinstance(time, str) else None
    if word is not None and word not in OWN_TIMES:
        raise InvalidInput(
            f"time = {shown(time)} is not known. Give a positive number, None, {', '.join(map(repr, OWN_TIMES))} or "
            "one per factor."
        )
    listed = isinstance(kernel, (list, tuple))
    factors = manifold.factors if isinstance(manifold, Product) else ()
    if listed and not len(kernel) == len(factors) > 0:
        raise InvalidInput(f"a list of {len(kernel)} kernels needs a product of as many; got {manifold!r}.")
    parts = list(zip(factors, kernel)) if listed else [(manifold, kernel)]
    before = [sum(map(count_simple, factors[:i])) for i in range(len(parts))]
    choices = [checked_choice(*part, number, rng) for part, number in zip(parts, before)]
    several = any(isinstance(choice, HeatKernel) and choice.parameters > 1 for choice in choices)
    inner = without_scale(manifold)
    has_several = isinstance(inner, Product) or several or (isinstance(inner, Euclidean) and word != "each")
    if (word in ("each", "coordinates") or is_list(time)) and not has_several:
        raise InvalidInput(
            f"time = {shown(time)} is one for each factor, but {manifold!r} is no product. Give one time."
        )
    warn_of_equal_simulations([c for c in choices if isinstance(c, MadeKernel)])
    made = [c if isinstance(c, HeatKernel) else shared_kernel(c, part) for (part, _), c in zip(parts, choices)]
    return with_own_times(compose(manifold, tuple(made)) if listed else made[0], time)


def without_scale(manifold: Manifold) -> Manifold:
    """The manifold that others are scaled from: scaled products have the factors, and the points, of the product."""
    return without_scale(manifold.base) if isinstance(manifold, Scaled) else manifold


def with_own_times(kernel: HeatKernel, time: Any) -> HeatKernel:
    """The kernel with as many times as the argument `time` of a model asks for.

    None is one for each factor of a product, and else one time. "shared" is one time, "each" one for each factor,
    "coordinates" one for each factor and each coordinate of R^n. A tuple has as many times as its length says.
    """
    if is_list(time):
        choices = [kernel.with_times(which) for which in ("each", None, "coordinates")]
        fitting = [c for c in choices if len(time) in (c.parameters, c.parameters - c.weight_parameters)]
        found, unable = (fitting or choices)[0], not fitting and choices[-1] is kernel
    else:
        found = kernel.with_times(time if time is None or isinstance(time, str) else "shared")
        named = time in ("each", "coordinates")
        unable = named and found is kernel and kernel.parameters == 1 and kernel.manifold != Euclidean(1)
    if unable:
        raise InvalidInput(
            f"time = {shown(time)} is one for each factor, but {kernel!r} has no factors. Give a list of kernels, one "
            "for each factor."
        )
    return found


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


def checked_choice(manifold: Manifold, choice: Any, number: int, rng: Any) -> Method | HeatKernel:
    """The Method or HeatKernel that `choice` stands for; a name takes the `rng` if its method has one.

    `number` counts the manifolds before this one in a product: their simulations are independent.
    """
    if isinstance(choice, str) and choice in METHODS:
        choice = METHODS[choice](**known_options(choice, rng=rng))
    if isinstance(choice, Method):
        return choice.independent(number)
    if not isinstance(choice, HeatKernel):
        names = ", ".join(map(repr, METHODS))
        raise InvalidInput(
            f"kernel = {shown(choice)} is not known. Give one of {names}, 'precomputed', a method such as Smooth(), a "
            "HeatKernel, or a list of these, one for each factor of a product."
        )
    if not is_same_manifold(choice.manifold, manifold):
        raise InvalidInput(f"{shown(choice)} is a kernel of {choice.manifold!r}; the manifold is {manifold!r}.")
    return choice


def without_normalization(kernel: Kernel) -> Any:
    """The heat kernel that a model divides by its diagonal, or does not."""
    return kernel.kernel if isinstance(kernel, Normalized) else kernel


def learned_times(kernel: Kernel, numbers: Any) -> Any:
    """The times among the numbers that a kernel takes; None of a kernel without time."""
    return (numbers[: -kernel.weight_parameters] if kernel.weight_parameters else numbers) or None


def learned_weights(kernel: Kernel, numbers: Any) -> tuple[float, ...] | None:
    """The share of each summand of a sum in the prior variance; None of other kernels."""
    if not kernel.weight_parameters:
        return None
    weights = np.array([1.0, *numbers[-kernel.weight_parameters :]])
    return tuple((weights / weights.sum()).tolist())


def check_model_smoothness(smoothness: Any, kernel: Any) -> None:
    """Raise InvalidInput for a smoothness that no model has, or not one with this `kernel`, before any work."""
    if isinstance(smoothness, str):
        if smoothness not in LEARNED:
            raise InvalidInput(
                f"smoothness = {smoothness!r} is not known. Give a number, inf for the heat kernel, 'learn' or 'auto', "
                "which learns it where the heat kernel is exact."
            )
        if smoothness == "auto":
            return
    elif check_smoothness(smoothness) == math.inf:
        return
    if isinstance(kernel, str) and kernel == "precomputed":
        raise InvalidInput(f"smoothness = {smoothness!r}, but a precomputed kernel has its own. Leave it out.")
    for simple in own_smoothness(kernel):
        advice = "Leave one of them out, or give its heat kernel."
        if simple.smoothness_given_by:
            advice = f"Leave it out, and give it where the kernel is made: {simple.smoothness_given_by}."
        raise InvalidInput(f"smoothness = {shown(smoothness)}, but {simple!r} has its own. {advice}")


def own_smoothness(kernel: Any) -> list[Any]:
    """The parts of the argument `kernel` of a model that have a smoothness of their own."""
    parts = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    simple = [each for part in parts if isinstance(part, HeatKernel) for each in simple_parts(part)]
    return [each for each in simple if each.smoothness_given_by or smoothness_of(each) < math.inf]


def is_learned(smoothness: Any, kernel: HeatKernel, given: Given, are_counts: bool) -> bool:
    """Whether the argument `smoothness` of a model asks for the best one of this kernel.

    A time that is given is that of a kernel which the user knows: by default it is the heat kernel. So it is with
    labels and counts, which say little of a smoothness.
    """
    if isinstance(smoothness, str) and smoothness == "auto":
        is_free = len(given.free) == len(given.time) and not are_counts
        return is_free and kernel.is_exact and not own_smoothness(kernel)
    return isinstance(smoothness, str)


def smoothness_of(kernel: Any) -> float:
    """The smoothness of a model's kernel, the least of its parts; that of heat kernels, and of others, is inf."""
    return min(getattr(part, "smoothness", math.inf) for part in simple_parts(without_normalization(kernel)))


def simple_parts(kernel: Any) -> list[Any]:
    """The Matern kernels, and other kernels that are no sums, products or changes of others, that make up a kernel."""
    if isinstance(kernel, (SumKernel, ProductKernel, WrappedKernel)) and not isinstance(kernel, MaternKernel):
        return [simple for part in parts_of(kernel) for simple in simple_parts(part)]
    return [kernel]


def on_a_copy(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The `fit` of an estimator, which changes when it has ended: a fit that fails leaves it as it was."""

    @wraps(fit)
    def fitted(self: Any, X: Any, *data: Any, **options: Any) -> Any:
        return take_over(self, fit(copy(self), X, *data, **options))

    return fitted


def take_over(self: Any, model: Any) -> Any:
    """The estimator with what a copy of it has learned, but with its own arguments."""
    self.__dict__ = vars(model) | self.get_params(deep=False)
    return self
