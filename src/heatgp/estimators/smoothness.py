"""The smoothness of a model's kernel: given, or learned as the best of a few by evidence."""

import math
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any

from ..errors import InvalidInput, caught_warnings, warn_again
from ..gp.sparse.local import LocalPosterior
from ..heat.composed import ProductKernel, WrappedKernel
from ..heat.kernel import HeatKernel
from ..heat.matern import MaternKernel, check_smoothness, with_smoothness
from ..heat.sums import SumKernel
from .kernels import without_normalization

CANDIDATES = (math.inf, 2.5, 1.5, 0.5)
"""What `smoothness="learn"` chooses from: the heat kernel, and the Matern kernels in use."""


def smoothed(kernel: HeatKernel, smoothness: Any) -> HeatKernel:
    """The kernel of a model with this smoothness."""
    return with_smoothness(kernel, check_smoothness(smoothness))


def check_model_smoothness(smoothness: Any, kernel: Any) -> None:
    """Raise InvalidInput for a smoothness that no model has, or not one with this `kernel`, before any work."""
    if isinstance(smoothness, str) and smoothness != "learn":
        raise InvalidInput(
            f"smoothness = {smoothness!r} is not known. Give a number, inf for the heat kernel, or 'learn' for the "
            "best of 1/2, 3/2, 5/2 and inf."
        )
    if not isinstance(smoothness, str) and check_smoothness(smoothness) == math.inf:
        return
    if isinstance(kernel, str) and kernel == "precomputed":
        raise InvalidInput(f"smoothness = {smoothness!r}, but a precomputed kernel has its own. Leave it out.")
    for part in kernel if isinstance(kernel, (list, tuple)) else [kernel]:
        if not isinstance(part, HeatKernel):
            continue
        for simple in simple_parts(part):
            if simple.smoothness_given_by:
                raise InvalidInput(
                    f"smoothness = {smoothness!r}, but {simple!r} has its own. Leave it out, and give it where the "
                    f"kernel is made: {simple.smoothness_given_by}."
                )
        if smoothness_of(part) < math.inf:
            raise InvalidInput(
                f"smoothness = {smoothness!r}, but {part!r} has its own. Leave one of them out, or give its heat "
                "kernel."
            )


def smoothness_of(kernel: Any) -> float:
    """The smoothness of a model's kernel, the least of its parts; that of heat kernels, and of others, is inf."""
    return min(getattr(part, "smoothness", math.inf) for part in simple_parts(without_normalization(kernel)))


def simple_parts(kernel: Any) -> list[Any]:
    """The Matern kernels, and other kernels that are no sums, products or changes of others, that make up a kernel."""
    if isinstance(kernel, (SumKernel, ProductKernel)):
        parts = kernel.summands if isinstance(kernel, SumKernel) else kernel.factors
        return [simple for part in parts for simple in simple_parts(part)]
    if isinstance(kernel, WrappedKernel) and not isinstance(kernel, MaternKernel):
        return simple_parts(kernel.base)
    return [kernel]


def learns_smoothness(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The `fit` of an estimator, which also learns the smoothness where that is "learn".

    A model is fitted for each of the candidates, with one heat kernel; that with the largest evidence stays, and with
    it its warnings. Where some of them are dense, sparse or local and others are not, the evidences are compared that
    one structure gives all of them.
    """

    @wraps(fit)
    def fitted(self: Any, X: Any, *data: Any, **options: Any) -> Any:
        check_model_smoothness(self.smoothness, self.kernel)
        if not isinstance(self.smoothness, str):
            return fit(self, X, *data, **options)
        tried: list[tuple[float, Any, list[Any]]] = []
        for smoothness in CANDIDATES:
            model = copy(self)
            model.smoothness = smoothness
            if tried:
                model.kernel = without_normalization(tried[0][1].kernel_)
            with caught_warnings() as given:
                fit(model, X, *data, **options)
            tried.append((sum(each.log_marginal_likelihood for each in model.posteriors_), model, given))
        _, best, given = max(_comparable(tried), key=lambda entry: entry[0])
        warn_again(given)
        take_over(self, best)
        return self

    return fitted


def fit_again(self: Any, fit: Callable[..., Any], *data: Any) -> None:
    """Call fit(self, *data) with the smoothness of the last fit where it was learned."""
    model = copy(self)
    if isinstance(self.smoothness, str):
        model.smoothness = self.smoothness_
    fit(model, *data)
    take_over(self, model)


def take_over(self: Any, model: Any) -> None:
    """Set what another model has learned, but not its arguments."""
    given = self.get_params(deep=False)
    vars(self).update({name: value for name, value in vars(model).items() if name not in given})
    self._arguments_of_fit = given


def _comparable(tried: list[tuple[float, Any, list[Any]]]) -> list[tuple[float, Any, list[Any]]]:
    """The same with evidences of one kind: exact ones where a model is dense, else those of some neighbourhoods where a
    model is local, else the lower bounds of sparse models."""
    models = [model for _, model, _ in tried]
    local = [m for m in models if isinstance(m.posteriors_[0], LocalPosterior)]
    dense = [m for m in models if m.posteriors_[0].structure.keeps_data and m not in local]
    if len(dense) == len(models) or not (dense or local):
        return tried
    chosen = (dense or local)[0]
    return [(chosen._evidence_of(model), model, given) for _, model, given in tried]
