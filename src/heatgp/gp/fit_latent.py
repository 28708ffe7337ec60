"""Learning the parameters of a latent function and of its likelihood, by the evidence or with priors."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..covariance import Array, Kernel
from .fit import (
    TOUCHING,
    Bounds,
    Fit,
    Interval,
    box_of,
    finished,
    near_of,
    some_of,
    time_intervals,
    with_short_times,
)
from .inference import chosen
from .latent_objective import LatentObjective
from .likelihood import Likelihood
from .params import Given
from .pivoted import Root
from .prior import Pairs, Prior
from .priors import Priors, laws_of
from .search import FLAT, ROUGH, Found, climb, diagonal_points, scan, scan_points, steepest
from .threads import of_data

SUBSET = 100  # data on which starts are looked for: each value is an inference
SHARE = 5  # of more data, one in so many
NEAR = 400  # data near each other that are looked at, at least; but not more than half of all
TIMES = 8  # times scanned, for all together
HEIGHTS = 2  # prior variances scanned
GAIN = 1e-7  # relative change of the evidence per datum at which the search ends
LOOSE = 1e-5
"""The same where a search over several functions takes long: some hundredths of a nat are left."""
LARGE = 2.5e9
"""Functions times N³ up to which parameters of several functions are learned from all data: a search of 20 seconds."""
REDUCED = 5e8
"""The same for the data from which they are learned where all are too many."""


@of_data
def fit_latent(
    kernel: Kernel,
    X: Any,
    y: Array,
    likelihood: Likelihood,
    bounds: Bounds,
    given: Given,
    inference: str = "ep",
    constant: bool = False,
    priors: Priors | str | None = None,
    pairs: Pairs = None,
    about: str = "",
) -> Fit:
    """The parameters of the greatest approximate evidence, times the density of the priors where there are some.

    Starts are looked for on a random subset, over a grid of times and prior variances with loose inferences. The search
    goes uphill from the best of each of the likelihood's `starts`, or from the best two, and on from there on all data;
    or from the best one, on as many data as are `affordable`. As in `fit_regression`, data near each other may lead to
    shorter times.

    Where classes do not overlap the evidence grows with the amplitude towards a limit, that of labels without noise.
    Without priors the upper bound is then as good as the limit and is returned without a warning.

    Parameters
    ----------
    kernel, X, bounds, given, pairs : as in `fit_regression`.
    y : array (N,) of observations as the likelihood takes them.
    likelihood : Likelihood; its parameters that are None are learned.
    inference, constant : as in `condition_latent`.
    priors : Priors; default None, the plain evidence; or "weak": those of the likelihood, and of `laws_of`.
    about : str, default "". How a warning begins.

    Returns
    -------
    Fit. A BoundWarning names the parameters that sit on a bound.

    Raises
    ------
    InvalidInput : if a value or an interval is not possible.
    NotConverged : if the inference converges nowhere.
    """
    functions = likelihood.functions or 1
    full, intervals = latent_objective(kernel, X, y, likelihood, bounds, given, inference, constant, priors, pairs)
    loose = partial(chosen(inference), tolerance=1e-2)
    _, middle = time_intervals(kernel, bounds, given)
    few = round(max(SUBSET, len(X) // SHARE) / functions ** (1 / 3))  # of several functions in the same time
    coarse = some_of(full, kernel, X, middle, few)
    if coarse is not full:
        coarse = replace(coarse, approximate=partial(chosen(inference), tolerance=1e-3))
    box, free = box_of(full, intervals), len(given.free)
    scanned: list[Found] = []
    places = [start for start in likelihood.starts if not start.keys().isdisjoint(likelihood.free)] or [{}]
    for place in places:
        values = scan(coarse, loose, start_points(box, free, full.names[free:], place))
        scanned += values if len(places) == 1 else [max(values, key=lambda pair: pair[0])]
    number = affordable(functions, len(X))
    if number < len(X) and few_points_carry(full, max(scanned, key=lambda pair: pair[0])[1], functions):
        number = affordable(functions, len(X), carried=True)
    searched = some_of(full, kernel, X, middle, number)
    starts, gain = (2, GAIN) if searched is full else (1, ROUGH)  # of some data the exact maximum is of no use
    if functions > 1 and functions * number**3 > REDUCED:
        starts, gain = 1, max(gain, LOOSE)  # a second ascent would take as long again
    found = climb(coarse, searched, scanned, box, starts, gain)
    if coarse is not full and free:
        together = max(few, round(min(NEAR, len(X) / 2) / functions ** (1 / 3)))
        near = replace(near_of(full, kernel, X, middle, together), approximate=coarse.approximate)
        known, sites = dict(zip(full.names, np.exp(found[0][1]))), full.last[:]

        def scan_near(objective: LatentObjective, shorter: Array) -> list[Found]:
            return scan(objective, loose, start_points(shorter, free, full.names[free:], known))

        maxima = with_short_times(kernel, near, searched, box, found, scan_near, gain)
        if maxima is found:
            full.last[:] = sites
        found = maxima
    best = found[0][1]
    steep = steepest(replace(searched, precise=True), best, box)
    if searched is not full:
        found = [(full.value(best), best)]
    if given.amplitude is None and box[free, 1] - best[free] < TOUCHING and full(best)[1][free] < FLAT:
        # f is so large that labels have no noise, and a larger one changes nothing: an answer
        intervals["amplitude"] = intervals["amplitude"][0], np.inf
    if constant and given.amplitude is None and bounds.amplitude is None:
        # f is so small beside the constant that labels do not depend on the points: an answer
        intervals["amplitude"] = 1e-100, intervals["amplitude"][1]
    fit = finished(kernel, full, found, intervals, full.known(best), about, steep)
    return replace(fit, sites=full.last[-1], data=len(searched.y))


def start_points(box: Array, free: int, names: list[str], start: Mapping[str, float]) -> list[Array]:
    """Where the search looks for times: all of a kernel together, with the values of `start` for what else is learned.

    What `start` does not name is in the middle of its interval, prior variances are at `HEIGHTS` places.
    """
    values = dict(zip(names, box[free:].mean(axis=1, keepdims=True)))
    if "amplitude" in names:
        values["amplitude"] = scan_points(box[free : free + 1], HEIGHTS + 2)[1:-1, 0]
    values |= {name: np.log([start[name]]) for name in names if name in start}
    times = diagonal_points(box[:free], TIMES)
    return [np.clip([*t, *rest], *box.T) for rest in product(*values.values()) for t in times]


def affordable(functions: int, number: int, carried: bool = False) -> int:
    """On how many of the data a search ends: fewer than all where a sweep over several functions takes too long.

    A sweep takes the time of one function where few points carry the covariance of all (`carried`).

    >>> affordable(1, 5000), affordable(4, 1000), affordable(100, 500), affordable(4, 1000, carried=True)
    (5000, 500, 171, 1000)
    """
    if functions == 1 or (1 if carried else functions) * number**3 <= LARGE:
        return number
    return min(number, round((LARGE if carried else REDUCED / functions) ** (1 / 3)))


def few_points_carry(objective: LatentObjective, z: Array, functions: int) -> bool:
    """Whether so few points carry the covariance that functions need no matrices of their own."""
    values, _ = objective.prior.at(objective.given.times(z))
    return Root.of(values, len(values) // functions) is not None


def latent_objective(
    kernel: Kernel,
    X: Any,
    y: Array,
    likelihood: Likelihood,
    bounds: Bounds,
    given: Given,
    inference: str = "ep",
    constant: bool = False,
    priors: Priors | str | None = None,
    pairs: Pairs = None,
) -> tuple[LatentObjective, dict[str, Interval]]:
    """What `fit_latent` maximises, and the intervals of its coordinates by name."""
    # the evidence of EP is stationary in its sites, and right to 1e-8; Laplace's is not stationary
    approximate = partial(chosen(inference), tolerance=1e-4) if inference == "ep" else chosen(inference)
    intervals, middle = time_intervals(kernel, bounds, given)
    if given.amplitude is None:
        intervals["amplitude"] = bounds.amplitude or (1e-2, 1e4)
    intervals |= {name: likelihood.bounds[name] for name in likelihood.free}
    laws = laws_of(priors, intervals, kernel, likelihood.weak_priors, likelihood.time_edge)
    prior = Prior.of(kernel, X, middle, pairs, dense=likelihood.functions is not None)
    full = LatentObjective(prior, y, given, likelihood, approximate, constant, laws, precise=False, economical=True)
    return full, intervals
