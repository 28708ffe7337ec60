"""Several functions with one kernel and a time of their own each: their covariances, and the search for the times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..covariance import Array, DerivedKernel, Evaluation, Kernel, TimeFunction
from .count import Count
from .fit import Bounds, Fit, box_of, finished, some_of
from .fit_latent import affordable, fit_latent, latent_objective
from .integration import coordinates
from .likelihood import Likelihood
from .params import Given
from .prior import Pairs
from .priors import Priors
from .search import apart, ascend, steepest
from .threads import of_data

GAIN = 1e-6
"""Relative change of the evidence per datum at which the search ends, as for one time."""


STARTS = (1.0, 0.25)
"""Where the search for times of their own starts, in units of the best shared time."""


@dataclass(frozen=True)
class OwnTimes(DerivedKernel):
    """The covariances of several independent functions, (functions, N, M), each at its own time.

    The slopes have the same shape: the derivative in a time is that of one function, and zero of all others.

    Parameters
    ----------
    kernel : Kernel of one time.
    functions : int, how many there are.

    Examples
    --------
    >>> from heatgp import Euclidean, heat_kernel
    >>> kernel = OwnTimes(heat_kernel(Euclidean(1)), 2)
    >>> kernel.pairs(np.zeros((3, 1))).at((1.0, 4.0)).value.shape
    (2, 3, 3)
    """

    functions: int

    @property
    def parameters(self) -> int:
        return self.functions

    def pairs(self, X: Any, Y: Any = None) -> TimeFunction:
        return at_each(self.kernel.pairs(X, Y))

    def matched(self, X: Any, Y: Any = None) -> TimeFunction:
        return at_each(self.kernel.matched(X, Y))


def at_each(function: TimeFunction) -> TimeFunction:
    """From a function of one time that of several, whose values stand one after the other."""

    def at(times: Any) -> Evaluation:
        found = [function.at(time) for time in times]
        return Evaluation(lambda: np.stack([e.value for e in found]), lambda: np.stack([e.slopes[0] for e in found]))

    return TimeFunction(at)


@of_data
def fit_own_times(
    kernel: OwnTimes,
    X: Any,
    y: Array,
    likelihood: Likelihood,
    bounds: Bounds,
    given: Given,
    constant: bool = False,
    priors: Priors | str | None = None,
    pairs: Pairs = None,
) -> Fit:
    """The parameters of the greatest approximate evidence, times the density of the priors, near those of one time.

    First all functions have the same time. From there, and from shorter times, the search goes uphill in all times
    together. A function of a short length tends to lose its dependence on the points where it starts from a long time;
    one of a long length finds it from a short time too.

    Parameters
    ----------
    kernel : OwnTimes.
    pairs : `kernel.kernel.pairs(X)` where the caller has it already, default None.
    bounds, given, priors : as in `fit_latent`, for all times. While there is one time, the first prior is that of it.
    X, y, likelihood, constant : as in `fit_latent`.

    Returns
    -------
    Fit. A BoundWarning names the parameters that sit on a bound.
    """
    one: Kernel = kernel.kernel
    several = at_each(one.pairs(X) if pairs is None else pairs)
    if not given.free:
        return fit_latent(kernel, X, y, likelihood, bounds, given, "ep", constant, priors, several)
    full, intervals = latent_objective(kernel, X, y, likelihood, bounds, given, "ep", constant, priors, several)
    first = priors
    if isinstance(priors, Priors) and isinstance(priors.time, (tuple, list)):
        first = replace(priors, time=tuple(priors.time)[:1])
    of_one, about = Given.of(one, None, given.amplitude, 0.0), "with one time for all classes, "
    shared = fit_latent(one, X, y, likelihood, bounds, of_one, "ep", constant, first, pairs, about)
    full = replace(full, calls=Count(shared.evaluations))
    assert shared.sites is not None  # those of expectation propagation
    searched = some_of(full, kernel, X, shared.params.time, affordable(kernel.functions, len(X)))
    box, found = box_of(full, intervals), []
    for factor in STARTS:
        searched.last[:] = [shared.sites] if searched is full else []
        times = np.repeat(factor * np.asarray(shared.params.time), kernel.functions)
        start = coordinates(searched, replace(shared.params, time=tuple(times.tolist())), shared)
        found.append(ascend(searched, np.clip(start, *box.T), box, len(searched.y), GAIN))
    found = apart(found, 0.05)
    best = found[0][1]
    if searched is not full:
        full.last[:] = [shared.sites]
        found = [(full.value(best), best)]
    steep = steepest(replace(searched, precise=True), best, box)
    fit = finished(kernel, full, found, intervals, full.known(best), steep=steep)
    return replace(fit, sites=full.last[-1], data=len(searched.y))
