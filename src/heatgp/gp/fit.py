"""Learning time, amplitude and noise by maximising the evidence."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import shown
from ..covariance import Array, Kernel
from ..errors import AccuracyWarning, BoundWarning, InvalidInput, NotConverged, NotPositiveDefinite, warn
from .likelihood import Likelihood
from .linalg import Dense, Diagonal
from .objective import RegressionObjective
from .params import Given, Params, Time
from .prior import Pairs, Prior
from .priors import WEAK_AMPLITUDE, WEAK_NOISE, LogNormal, Priors, checked_priors, laws_of, log_density
from .search import (
    FLAT,
    ROUGH,
    Found,
    apart,
    climb,
    maxima,
    scan_points,
    steepest,
    step_units,
    values_at,
    worth_a_start,
)
from .targets import Mean, Targets, one_output, targets
from .threads import of_data

Interval = tuple[float, float]

SUBSET = 250  # data on which starts are looked for: an eigendecomposition of this size takes some 4 ms
CHUNK = 100_000  # data whose covariances with some are computed at one time
TIMES = 12  # times scanned, for each free one
WITHOUT_NOISE = {"noise": 1e-6, "label_noise": 1e-3}  # lower bounds up to which no noise is an answer
TOUCHING = 1e-3  # relative distance below which a parameter sits on its bound


@dataclass(frozen=True)
class Bounds:
    """The intervals in which parameters are searched for.

    Parameters
    ----------
    time : one interval (low, high), or one for each time of the kernel.
    amplitude : interval of the mean prior variance of the data, default None: from 1e-6 to 1e6 times the mean square of
        y about its mean; for classes from 0.01 to 10,000.
    noise : interval of the ratio of the noise to the mean prior variance, default (1e-8, 1e4).
    """

    time: Interval | tuple[Interval, ...]
    amplitude: Interval | None = None
    noise: Interval = (1e-8, 1e4)

    def times(self, parameters: int) -> Array:
        """One interval for each time, (parameters, 2), or InvalidInput."""
        try:
            intervals = np.broadcast_to(np.asarray(self.time, dtype=float), (parameters, 2))
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"bounds.time = {shown(self.time)} is neither one interval nor one for each of {parameters} times."
            ) from None
        for low, high in [*intervals, self.noise, *([self.amplitude] if self.amplitude else [])]:
            if not 0 < low < high < np.inf:
                raise InvalidInput(f"bounds ({low}, {high}) must be positive, increasing and finite.")
        return intervals


@dataclass(frozen=True)
class Fit:
    """The result of a search for the parameters.

    Attributes
    ----------
    params : Params, the best that were found.
    log_marginal_likelihood : float, their evidence.
    maxima : tuple of (log_posterior, Params), every local maximum found on all the data, the best first.
    on_bound : tuple of str, the names of the parameters that sit on a bound of the search.
    log_posterior : float, what was maximised: the evidence plus the log density of the priors of what was learned, in
        the logarithms of the parameters.
    likelihood : Likelihood with the values of its parameters; None where the noise is normal.
    evaluations : int, how often the evidence was computed, on all data or on some.
    sites : array, where the inference at these parameters can start; None where the noise is normal.
    data : int, how many data the parameters were learned from, where not from all of them for sure; else None.
    steep : (str, float). Where the search did not end at a maximum, the parameter that is farthest from it, and the
        slope in its logarithm there; the slope is 0.0 at a maximum.
    """

    params: Params
    log_marginal_likelihood: float
    maxima: tuple[tuple[float, Params], ...]
    on_bound: tuple[str, ...]
    log_posterior: float
    likelihood: Any = None
    evaluations: int = 0
    sites: Array | None = None
    data: int | None = None
    steep: tuple[str, float] = ("", 0.0)


@of_data
def fit_regression(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    given: Given,
    mean: Mean = "constant",
    pairs: Pairs = None,
    **options: Any,
) -> Fit:
    """Time, amplitude and noise of the greatest evidence, or, with priors, of the greatest posterior density.

    Starts are looked for on a random subset: at each time of a grid one eigendecomposition gives the best amplitude and
    noise, and the search goes uphill from at most three places. It then goes on from the best two maxima on all data,
    by L-BFGS-B with analytic gradients. A random subset sees nothing of short lengths: the maximum of some data that
    are near each other is tried too. Where every time is given, one eigendecomposition of all data is enough.

    Parameters
    ----------
    kernel : Kernel, the covariance.
    X : array of N points, the first axis.
    y : array (N,) of real targets.
    bounds : Bounds, where to search.
    given : Given, the parameters that are held fixed; those that are None are learned.
    mean : "constant" (default), "zero", a number or an array (N, q) of basis functions, as in `condition`.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.
    priors : Priors; default None, the plain evidence; or "weak". These are log-normal laws: of each time with its
        bounds at two standard deviations, of the prior variance about the mean square of y, of noise / prior variance
        about 0.1.
    noise_scale, coefficient_scale : as in `condition`.

    Returns
    -------
    Fit. A BoundWarning names the parameters that sit on a bound.

    Raises
    ------
    InvalidInput : if a value or an interval is not possible, or a prior has no mass on its interval.
    NotPositiveDefinite : if no parameters within the bounds give a covariance that can be factored.
    """
    full, intervals = regression_objective(kernel, X, y, bounds, given, mean, pairs, **options)
    if not given.free and full.prior.form is Dense:
        full = full.spectral(np.empty(0))
    _, middle = time_intervals(kernel, bounds, given)
    coarse = some_of(full, kernel, X, middle, SUBSET) if given.free else full
    box = box_of(full, intervals)
    found = climb(coarse, full, _scan_regression(coarse, box), box, 3)
    if coarse is not full:
        near = near_of(full, kernel, X, middle, SUBSET)
        found = with_short_times(kernel, near, full, box, found, partial(_scan_regression, count=TIMES // 2))
    return finished(kernel, full, found, intervals, steep=steepest(full, found[0][1], box))


def regression_objective(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    given: Given,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    priors: Priors | str | None = None,
    noise_scale: ArrayLike | None = None,
    coefficient_scale: ArrayLike | None = None,
) -> tuple[RegressionObjective, dict[str, Interval]]:
    """What `fit_regression` maximises, and the intervals of its coordinates by name."""
    data, _ = targets(X, one_output(y), mean, noise_scale, coefficient_scale)
    _, middle = time_intervals(kernel, bounds, given)
    return objective_of(kernel, X, Prior.of(kernel, X, middle, pairs), data, bounds, given, priors)


def objective_of(
    kernel: Kernel, X: Any, prior: Prior, data: Targets, bounds: Bounds, given: Given, priors: Priors | str | None
) -> tuple[RegressionObjective, dict[str, Interval]]:
    """The same for data and their prior covariance; X are the points of the data, or some of them."""
    intervals, middle = time_intervals(kernel, bounds, given)
    scale = float(mean_square(data, given))
    variance = bounds.amplitude or (1e-6 * scale, 1e6 * scale)
    ratio, typical = noise_ratio(kernel, X, bounds, given, data, np.array(scale), middle)
    if given.noise is None:
        intervals["noise"] = ratio
    if given.amplitude is None:
        intervals["amplitude"] = variance
    weak = {"amplitude": LogNormal(scale, WEAK_AMPLITUDE), "noise": LogNormal(typical, WEAK_NOISE)}
    laws = laws_of(checked_priors(priors), intervals, kernel, weak)
    return RegressionObjective(prior, data, given, variance, laws), intervals


def mean_square(data: Targets, given: Given) -> Array:
    """The mean square of y about its mean, of each column, or InvalidInput where nothing is left to learn it from.

    Targets that do not vary leave it open: it is 1e-12 of their size squared, near rounding, or of 1 where all are 0.
    """
    if data.freedom < 1 and given.amplitude is None:
        rows = "rows of targets" if data.y.ndim == 2 else "targets"
        raise InvalidInput(
            f"N = {len(data)} target is its own mean and 1 sample says nothing of variances. Give amplitude, or a mean."
            if len(data) == 1
            else f"the mean has as many coefficients as there are {rows}, {len(data)}: nothing is left to learn "
            "variances from. Give amplitude, or fewer basis functions."
        )
    size = np.square(data.start).sum(axis=0) / len(data)
    found = np.maximum(np.square(data.y).sum(axis=0) / max(data.freedom, 1), 1e-24 * size)
    return np.where(found > 0, found, 1e-24)


def noise_ratio(
    kernel: Kernel, X: Any, bounds: Bounds, given: Given, data: Targets, scale: Array, time: Time
) -> tuple[Interval, float]:
    """The interval of noise / prior variance, and a typical value; `scale` is the mean square of each column of y."""
    unit = data.typical_noise  # the parameter is the noise of weight one, which may be of no observation
    (low, high), typical = (bound / unit for bound in bounds.noise), 0.1 / unit
    if given.amplitude is not None and given.noise is None:
        # the noise must be able to explain y, whatever the amplitude given
        middle = float(np.exp(np.log(scale).mean()))
        typical *= middle / (given.amplitude * float(np.mean(kernel.diag(X, time))))
        high = max(high, 1000 * typical * float(scale.max()) / middle)
    return (low, high), typical


def time_intervals(kernel: Kernel, bounds: Bounds, given: Given) -> tuple[dict[str, Interval], Time]:
    """The intervals of the times that are learned, by name, and the times in their middle."""
    intervals = bounds.times(kernel.parameters)[given.free]
    return dict(zip(given.time_names, intervals)), given.times(np.log(intervals).mean(axis=1))


def box_of(objective: Any, intervals: dict[str, Interval]) -> Array:
    """The log intervals of the objective's coordinates, (coordinates, 2)."""
    return np.log([intervals[name] for name in objective.names]).reshape(-1, 2)


def some_of(full: Any, kernel: Kernel, X: Any, time: Time, size: int) -> Any:
    """The objective of `size` random data, always the same; of all data where there are no more."""
    if len(X) <= size:
        return full
    return of_rows(full, kernel, X, time, np.sort(np.random.default_rng(0).permutation(len(X))[:size]))


def of_rows(full: Any, kernel: Kernel, X: Any, time: Time, rows: Array) -> Any:
    """The objective of the data of these numbers."""
    return replace(full, prior=Prior.of(kernel, X[rows], time, dense=full.prior.dense), y=full.y[rows])


def near_of(full: Any, kernel: Kernel, X: Any, time: Time, size: int) -> Any:
    """The objective of `size` data that are near each other."""
    return of_rows(full, kernel, X, time, near_rows(kernel, X, time, size)[0])


def near_rows(kernel: Kernel, X: Any, time: Time, size: int, groups: int = 1) -> Array:
    """For some random data, always the same, the numbers of the `size` nearest ones: (groups, size)."""
    centres = np.random.default_rng(1).integers(len(X), size=groups)
    parts = (X[start : start + CHUNK] for start in range(0, len(X), CHUNK))
    covariances = np.hstack([kernel.pairs(X[centres], part).at(time).value for part in parts])
    return np.sort(np.argpartition(-covariances, size - 1)[:, :size])


def free_times(kernel: Kernel, given: Given) -> list[int]:
    """The numbers of the times that are learned; weights are none."""
    return [k for k in given.free if k < kernel.parameters - kernel.weight_parameters]


def with_short_times(
    kernel: Kernel,
    near: Any,
    full: Any,
    box: Array,
    found: list[Found],
    scan: Callable[[Any, Array], list[Found]],
    tolerance: float = 1e-10,
) -> list[Found]:
    """Maxima of all data, and one of shorter times, where data that are near each other lead to a better one.

    A random subset sees nothing of lengths that are shorter than the distances of its data. `near` is the objective of
    near data, and `scan` has its values at places in a box.
    """
    times, (best, z) = len(free_times(kernel, full.given)), found[0]
    shorter = box.copy()
    shorter[:times, 1] = np.maximum(z[:times] - np.log(2.0), box[:times, 0])
    try:
        scanned = scan(near, shorter)
        if max(value for value, _ in scanned) <= near.value(z):
            return found
        start = climb(near, near, scanned, shorter, 1, ROUGH)[0][1]
        if full.value(start) <= best:
            return found
        unit = step_units(near, start, box, len(near.y))
        return apart([*maxima(full, [start], box, tolerance, [unit]), *found], 0.05)
    except (NotPositiveDefinite, NotConverged):  # a column of the mean may be constant there
        return found


def _scan_regression(objective: RegressionObjective, box: Array, count: int = TIMES) -> list[Found]:
    """The best last coordinate at each scanned time, and its evidence."""
    free, scanned = len(objective.given.free), []
    for times in scan_points(box[:free], count):
        at_times = objective.spectral(times) if free else objective
        value, last = _best_of(at_times, scan_points(box[free:], 17))
        of_times, _ = log_density(objective.laws, objective.given.time_names, times)
        scanned.append((value + of_times, np.concatenate([times, last])))
    return worth_a_start(scanned) if free == 1 else scanned


def _best_of(objective: RegressionObjective, points: Array) -> Found:
    """The best of some points, and its evidence; those of a diagonal covariance at once, where they can be."""
    if objective.prior.form is Diagonal:
        with suppress(NotPositiveDefinite):
            values = objective.values(points)
            return float(values.max()), points[np.argmax(values)]
    return max(values_at(objective, points), key=lambda pair: pair[0])


def finished(
    kernel: Kernel,
    objective: Any,
    found: list[Found],
    intervals: dict[str, Interval],
    likelihood: Likelihood | None = None,
    about: str = "",
    steep: tuple[str, float] = ("", 0.0),
) -> Fit:
    """The result; a warning if a parameter is on a bound of its interval, or where the search did not end at a maximum.

    `steep` is what `steepest` finds.
    """
    maxima = tuple((value, objective.params(z)) for value, z in found)
    best = maxima[0][1]
    variance = best.amplitude * objective.prior.height(objective.prior.at(best.time)[0])
    values = {"noise": best.noise / variance, "amplitude": variance}
    values |= {} if likelihood is None else {name: vars(likelihood)[name] for name in likelihood.bounds}
    values |= zip(objective.given.time_names, np.atleast_1d(best.time)[objective.given.free])
    sitting: dict[str, str] = {}
    undetermined = []
    without_effect = _without_effect(kernel, objective, found[0][1])
    for name, interval in intervals.items():
        for side, bound in zip(("lower", "upper"), interval):
            is_answer = side == "lower" and bound <= WITHOUT_NOISE.get(name, 0.0)
            is_answer |= (name, side) in without_effect or (likelihood is not None and name in likelihood.limits)
            if abs(values[name] / bound - 1) < TOUCHING and not is_answer:
                unit = " / prior variance" if name == "noise" and likelihood is None else ""
                sitting[name] = f"{name}{unit} sits on the {side} bound {bound:.3g}"
                if name != "time" or not np.isclose(bound, kernel.times, atol=0).any():
                    undetermined.append(name)
    if sitting:
        advice = "."
        if undetermined:
            advice = f": the data do not determine it. Give {', '.join(undetermined)} a value, or widen the bounds."
        if len(undetermined) < len(sitting):
            advice += f" The bound is the kernel's own. {kernel.way_out}"
        warn(f"{about}{'; '.join(sitting.values())} of its search{advice}", BoundWarning)
    if steep[1]:
        warn(
            f"{about}the search for the parameters did not end at a maximum: the log evidence has the slope "
            f"{steep[1]:.2g} in log {steep[0]} there. Better parameters may be elsewhere: give {steep[0]} a value or "
            "narrower bounds, and compare log_marginal_likelihood().",
            AccuracyWarning,
        )
    value, z = found[0]
    evidence = value - objective.log_prior(z, best)
    return Fit(best, evidence, maxima, tuple(sitting), value, likelihood, objective.calls.number, steep=steep)


def _without_effect(kernel: Kernel, objective: Any, z: Array) -> set[tuple[str, str]]:
    """The bounds, as (name, side), at which one of several times or weights may sit without a warning.

    f may vary slowly along a coordinate, which is a long time. Or it may not depend on a summand, which is a small
    weight, or a large one of all others, and then the time of that summand is open. The evidence tends to a limit
    there, like 1/time or like the weight, and what is left to gain is its slope.
    """
    learned = objective.given.time_names
    if kernel.parameters < 2 or not learned:
        return set()
    flat = [name for name, slope in zip(learned, objective(z)[1]) if abs(slope) < FLAT]
    sides = ("lower", "upper") if kernel.weight_parameters else ("upper",)
    return {(name, side) for name in flat for side in sides}
