"""The search for the parameters: where the evidence, or with priors the posterior density, is greatest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from ..arguments import shown
from ..cost import check_memory
from ..covariance import Array, Kernel
from ..errors import AccuracyWarning, BoundWarning, InvalidInput, NotConverged, NotPositiveDefinite, Unsupported, warn
from ..threads import of_data
from .exact import Exact
from .exact_outputs import ExactOutputs
from .inference import Approximate
from .likelihood import Likelihood
from .objective import FLAT, ROUGH, TOUCHING, Function, Objective, Place, Search, attempt
from .parameters import WEAK_AMPLITUDE, WEAK_NOISE, Given, LogNormal, Params, Priors, Time, checked_priors, is_weak
from .prior import Mean, Pairs, Prior, Targets, observations, targets

Interval = tuple[float, float]
CHUNK = 100_000  # data whose covariances with some are computed at one time
NATS = 1e-3  # what a step of the search from a guess may gain where it ends
WITHOUT_NOISE = {"noise": 1e-6, "label_noise": 1e-3}  # lower bounds up to which no noise is an answer
SAME = 0.5
"""Log parameters within which maxima on few data are one, or one standard deviation: the search there ends early."""
HOPELESS = 5.0
"""How far, in the log evidence of few data, a maximum is below the best one where it is not followed on all data.

This is times the root of their share of all data: a difference grows with the data, and its error like their root.
"""
BEND = 0.1
"""Step of a log parameter for differences of the gradient."""
AWAY = 0.5
"""How far from the maximum a search may end, in standard deviations of a log parameter: 1/8 is left to gain there."""
ROUNDING = 1e-9
"""Distance within which a coordinate is on a bound."""
RESTARTS = 10
"""How often L-BFGS-B is started again, at most, where it ended although the slope is not zero."""
FLATTEST = 0.1
"""Curvatures of the log evidence of few data count as at least this: the spread of a log parameter is at most three."""


@dataclass(frozen=True)
class Bounds:
    """The intervals in which parameters are searched for.

    Parameters
    ----------
    time : one interval (low, high), or one for each time of the kernel.
    amplitude : interval of the mean prior variance of the data, default None: from 1e-6 to 1e6 times the mean square of
        y about its mean; where the likelihood is not normal, that of the likelihood.
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
def fit(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    given: Given,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    about: str = "",
    **options: Any,
) -> Fit:
    """The parameters of the greatest evidence, or, with priors, of the greatest posterior density.

    Starts are looked for on a random subset (see `Search`), and the search goes uphill from the best of them by
    L-BFGS-B with analytic gradients: first on the subset, then from the best two maxima on all data. A random subset
    sees nothing of short lengths: the maximum of some data that are near each other is tried too.

    Parameters
    ----------
    kernel : Kernel, the covariance.
    X : array of N points, the first axis.
    y : array (N,) of real targets, (N, p) of p outputs, or observations as the likelihood takes them. Outputs share the
        time; each has its own amplitude and noise.
    bounds : Bounds, where to search.
    given : Given, the parameters that are held fixed; those that are None are learned.
    mean : "constant" (default), "zero", a number or an array (N, q) of basis functions, as in `condition`.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.
    about : str, default "". How a warning begins.
    likelihood, priors, noise_scale, coefficient_scale : as in `objective_of`.

    Returns
    -------
    Fit. A BoundWarning names the parameters that sit on a bound.

    Raises
    ------
    InvalidInput : if a value or an interval is not possible, or a prior has no mass on its interval.
    NotPositiveDefinite : if no parameters within the bounds give a covariance that can be factored.
    NotConverged : if the inference converges nowhere.
    """
    full, intervals = objective_of(kernel, X, y, bounds, given, mean, pairs, **options)
    inference, box = full.inference, box_of(full, intervals)
    full, (_, middle) = inference.prepared(full), time_intervals(kernel, bounds, given)
    varying, how = inference.informative(full), inference.search(full)
    coarse = some_of(varying, kernel, X, middle, how.few)
    coarse = varying if coarse is varying else inference.coarse(coarse)
    scanned = how.scan(coarse, box)
    how = inference.search(full, max(scanned, key=lambda place: place[0])[1])
    searched = some_of(varying, kernel, X, middle, how.data)
    found = climb(coarse, searched, scanned, box, how.starts, how.gain)
    if coarse is not varying and given.free:
        near = of_rows(varying, kernel, X, middle, near_rows(kernel, X, middle, how.near)[0])
        found = with_short_times(kernel, inference.coarse(near), searched, box, found, how)
    steep = steepest(inference.precise(searched), found[0][1], box)
    if searched is not full:
        found = [(full.value(found[0][1]), found[0][1])]
    intervals = inference.answers(full, found[0][1], box, intervals, bounds.amplitude)
    return replace(finished(kernel, full, found, intervals, about, steep), data=len(searched.y))


def fit_from(
    kernel: Kernel, objective: Objective, intervals: dict[str, Interval], box: Array, guesses: list[Params]
) -> Fit:
    """The best of the maxima near some guesses."""
    given, count, found = objective.given, objective.y.count, []
    objective.y.check_freedom(given.amplitude)
    for guess in guesses:
        values = dict(zip(given.time_names, np.atleast_1d(guess.time)[given.free]))
        values |= {"noise": guess.noise / guess.amplitude, "amplitude": guess.amplitude}
        z = np.clip(np.log([max(values[name], 1e-300) for name in objective.names]), *box.T)
        unit = step_units(objective, z, box, count) if len(box) else 1.0
        found.append(ascend(objective, z, box, count, min(1e-8, NATS / count), unit))
    found = apart(found, 0.05)
    return finished(kernel, objective, found, intervals, steep=steepest(objective, found[0][1], box))


def objective_of(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    given: Given,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    likelihood: Likelihood | None = None,
    priors: Priors | str | None = None,
    noise_scale: ArrayLike | None = None,
    coefficient_scale: ArrayLike | None = None,
) -> tuple[Objective, dict[str, Interval]]:
    """What `fit` maximises, and the intervals of its coordinates by name.

    Parameters
    ----------
    likelihood : Likelihood, default None: normal noise. Its parameters that are None are learned.
    priors : Priors; default None, the plain evidence; or "weak". These are log-normal laws: of each time with its
        bounds at two standard deviations, of the prior variance about the mean square of y, of noise / prior variance
        about 0.1; where the likelihood is not normal, its own.
    noise_scale, coefficient_scale : as in `condition`.
    """
    if likelihood is None:
        data, _ = targets(X, y, mean, noise_scale, coefficient_scale)
        _, middle = time_intervals(kernel, bounds, given)
        if data.y.ndim == 2:
            check_memory(8.0 * 6 * len(data) ** 2, f"The eigenvectors of {len(data):,} points", "Give fewer points.")
        return exact_objective(kernel, X, Prior.of(kernel, X, middle, pairs), data, bounds, given, priors)
    intervals, middle = time_intervals(kernel, bounds, given)
    searched = {name: likelihood.bounds[name] for name in likelihood.free}
    if given.amplitude is None:
        searched["amplitude"] = likelihood.variance_bounds
    for name, (low, high) in searched.items():
        intervals[name] = likelihood.in_unit(name, low), likelihood.in_unit(name, high)
    if given.amplitude is None and bounds.amplitude is not None:
        intervals["amplitude"] = bounds.amplitude
    weak = {
        name: replace(law, median=likelihood.in_unit(name, law.median)) for name, law in likelihood.weak_priors.items()
    }
    laws = checked_priors(priors).laws(
        intervals, kernel.parameters, kernel.weight_parameters, weak, likelihood.time_edge
    )
    prior = Prior.of(kernel, X, middle, pairs, dense=likelihood.functions is not None)
    inference = Approximate(
        likelihood,
        {"tolerance": 1e-4},  # the evidence is stationary in the sites, and right to 1e-8
        is_precise=False,
        economical=True,
    )
    data, _ = observations(X, np.asarray(y), mean, coefficient_scale)
    return Objective(prior, data, given, inference, laws), intervals


def exact_objective(
    kernel: Kernel, X: Any, prior: Prior, data: Targets, bounds: Bounds, given: Given, priors: Priors | str | None
) -> tuple[Objective, dict[str, Interval]]:
    """The same for targets with normal noise and their prior covariance; X are their points, or some of them."""
    intervals, middle = time_intervals(kernel, bounds, given)
    scale = data.mean_square
    low, high = bounds.amplitude or (1e-6 * scale, 1e6 * scale)
    variance = np.broadcast_to(low, scale.shape), np.broadcast_to(high, scale.shape)
    ratio, typical = noise_ratio(kernel, X, bounds, given, data, scale, middle)
    if given.noise is None:
        intervals["noise"] = ratio
    if given.amplitude is None:
        intervals["amplitude"] = float(variance[0].min()), float(variance[1].max())
    weak = {"noise": LogNormal(typical, WEAK_NOISE)}
    priors, numbers = checked_priors(priors), (kernel.parameters, kernel.weight_parameters)
    if data.y.ndim == 1:
        weak["amplitude"] = LogNormal(float(scale), WEAK_AMPLITUDE)
        laws = priors.laws(intervals, *numbers, weak)
        return Objective(prior, data, given, Exact(intervals.get("amplitude", (0.0, 0.0))), laws), intervals
    if not data.is_flat and given.amplitude is None and not given.noise:
        raise Unsupported(
            "coefficient_scale with several outputs whose amplitude and noise are both learned. Give one of them, or "
            "leave coefficient_scale None, or fit one model for each column."
        )
    laws = priors.laws(intervals, *numbers, weak)
    if given.amplitude is None:
        arrays: Any = variance
        intervals["amplitude"] = arrays
    law = (np.log(np.clip(scale, *variance)), WEAK_AMPLITUDE) if is_weak(priors.amplitude) else None
    if one := laws.pop("amplitude", None):
        law = np.full(len(scale), np.log(one.median)), one.spread
    return Objective(prior, data, given, ExactOutputs(variance, ratio, law), laws), intervals


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
    """The objective of the data of these numbers, whose inference has no sites yet."""
    prior = Prior.of(kernel, X[rows], time, dense=full.prior.dense)
    return replace(full, prior=prior, y=full.y[rows], inference=replace(full.inference))


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
    kernel: Kernel, near: Objective, full: Objective, box: Array, found: list[Place], how: Search
) -> list[Place]:
    """Maxima of all data, and one of shorter times, where data that are near each other lead to a better one.

    A random subset sees nothing of lengths that are shorter than the distances of its data. `near` is the objective of
    near data.
    """
    times, (best, z), sites = len(free_times(kernel, full.given)), found[0], full.inference.sites[:]
    shorter = box.copy()
    shorter[:times, 1] = np.maximum(z[:times] - np.log(2.0), box[:times, 0])
    try:
        scanned = how.scan_near(near, shorter, dict(zip(full.names, np.exp(z))))
        if max(value for value, _ in scanned) > near.value(z):
            start = climb(near, near, scanned, shorter, 1, ROUGH)[0][1]
            if full.value(start) > best:
                unit = step_units(near, start, box, len(near.y))
                return apart([*maxima(full, [start], box, how.gain, [unit]), *found], 0.05)
    except (NotPositiveDefinite, NotConverged):  # a column of the mean may be constant there
        pass
    full.inference.sites[:] = sites
    return found


def finished(
    kernel: Kernel,
    objective: Any,
    found: list[Place],
    intervals: dict[str, Any],
    about: str = "",
    steep: tuple[str, float] = ("", 0.0),
) -> Fit:
    """The result; a warning if a parameter is on a bound of its interval, or where the search did not end at a maximum.

    `steep` is what `steepest` finds.
    """
    maxima = tuple((value, objective.params(z)) for value, z in found)
    value, z = found[0]
    best, likelihood = maxima[0][1], objective.likelihood(z)
    variance = best.amplitude * objective.prior.height(objective.prior.at(best.time)[0])
    values = {"noise": best.noise / variance, "amplitude": variance}
    values |= {} if likelihood is None else {name: vars(likelihood)[name] for name in likelihood.bounds}
    values |= zip(objective.given.time_names, np.atleast_1d(best.time)[objective.given.free])
    sitting: dict[str, str] = {}
    undetermined = []
    without_effect = _without_effect(kernel, objective, z)
    for name, interval in intervals.items():
        for side, bound in zip(("lower", "upper"), interval):
            least = WITHOUT_NOISE.get(name, 0.0)
            least = least if likelihood is None else likelihood.in_unit(name, least)
            is_answer = side == "lower" and bool(np.all(bound <= least * (1 + TOUCHING)))
            is_answer |= (name, side) in without_effect or (likelihood is not None and name in likelihood.limits)
            sits = np.abs(values[name] / bound - 1) < TOUCHING
            if np.any(sits) and not is_answer:
                unit = " / prior variance" if name == "noise" and likelihood is None else ""
                first = np.argmax(sits)
                place = f" in {np.sum(sits)} outputs, the first is column {first}," if np.ndim(sits) else ""
                text = (
                    f"{name}{unit} sits{place} on the {side} bound {np.broadcast_to(bound, sits.shape).flat[first]:.3g}"
                )
                sitting[name] = f"{sitting[name]}; {text}" if name in sitting else text
                own = name == "time" and np.isclose(bound, kernel.times, atol=0).any()
                if not own and name not in undetermined:
                    undetermined.append(name)
    if sitting:
        advice = "."
        if undetermined:
            advice = f": the data do not determine it. Give {', '.join(undetermined)} a value, or widen the bounds."
        if len(undetermined) < len(sitting):
            advice += f" The bound is the kernel's own. {kernel.advice}"
        warn(f"{about}{'; '.join(sitting.values())} of its search{advice}", BoundWarning)
    if steep[1]:
        warn(
            f"{about}the search for the parameters did not end at a maximum: the log evidence has the slope "
            f"{steep[1]:.2g} in log {steep[0]} there. Better parameters may be elsewhere: give {steep[0]} a value or "
            "narrower bounds, and compare log_marginal_likelihood().",
            AccuracyWarning,
        )
    evidence, sites = value - objective.log_prior(z, best), objective.inference.sites
    calls = objective.calls.number
    return Fit(
        best, evidence, maxima, tuple(sitting), value, likelihood, calls, sites[-1] if sites else None, steep=steep
    )


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


def apart(found: Iterable[Place], reach: Array | float) -> list[Place]:
    """The best first, without those that are within `reach`, in every coordinate, of a better one."""
    kept: list[Place] = []
    for value, z in sorted(found, key=lambda pair: -pair[0]):
        if not any(np.all(np.abs(z - other) < reach) for _, other in kept):
            kept.append((value, z))
    return kept


def ascend(
    objective: Function, start: Array, box: Array, scale: float, tolerance: float = 1e-10, unit: Array | float = 1.0
) -> Place:
    """The local maximum reached from `start` by L-BFGS-B.

    `scale`, the number of data, makes tolerances relative. Steps are measured in the `unit` of each coordinate. In a
    curved valley, or beside places where the inference does not converge, L-BFGS-B makes one short step and ends though
    the slope is not zero. It then starts again from there, without what it has learned of curvatures.
    """
    if len(box) == 0:
        return objective(start)[0], start
    worst = 1e10  # finite, so that the line search steps back

    def downhill(steps: Array) -> tuple[float, Array]:
        value, gradient = attempt(objective, steps * unit)
        return (-value / scale, -gradient * unit / scale) if np.isfinite(value) else (worst, gradient)

    options = {"ftol": tolerance, "gtol": 1e-6, "maxiter": 100}
    sides = (box.T / unit).T
    steps, before = np.clip(start / unit, *sides.T), np.inf
    for _ in range(1 + RESTARTS):
        found = minimize(downhill, steps, jac=True, method="L-BFGS-B", bounds=sides, options=options)
        steps, slopes = found.x, inward(-found.jac * scale / unit, found.x, sides)
        if np.abs(slopes).max() < FLAT or before - found.fun < tolerance * max(abs(found.fun), 1.0):
            break
        before = found.fun
    best = np.clip(found.x * unit, *box.T)
    if found.fun >= worst:
        objective(best)  # raises what went wrong
    return -float(found.fun) * scale, best


def inward(gradient: Array, z: Array, box: Array) -> Array:
    """A gradient without the coordinates that point out of the box at z."""
    low, high = box.T + ROUNDING * np.array([[1.0], [-1.0]])
    outward = ((z <= low) & (gradient < 0)) | ((z >= high) & (gradient > 0))
    return np.where(outward, 0.0, gradient)


def steepest(objective: Any, z: Array, box: Array) -> tuple[str, float]:
    """The name of a coordinate that is far from the maximum, in standard deviations, and its slope at z; else 0.0.

    The distance is the slope over the root of the curvature. Coordinates whose slope is less than `FLAT` are not far.
    """
    if len(z) == 0:
        return "", 0.0
    slopes = inward(attempt(objective, z)[1], z, box)  # zero where inference without a start fails
    found, farthest = ("", 0.0), AWAY
    for k in np.flatnonzero(np.abs(slopes) >= FLAT):
        step = np.zeros(len(z))
        step[k] = np.clip(z[k] + np.sign(slopes[k]) * BEND, *box[k]) - z[k]
        value, there = attempt(objective, z + step)
        curvature = (slopes[k] - there[k]) / step[k] if np.isfinite(value) else 0.0
        away = abs(slopes[k]) / np.sqrt(max(curvature, FLATTEST))
        if away > farthest:
            found, farthest = (objective.names[k], float(slopes[k])), away
    return found


def step_units(objective: Function, z: Array, box: Array, scale: float) -> Array:
    """For each coordinate the length over which the objective bends by one for each datum.

    Times bend it a hundred times more than label noise does, and L-BFGS-B needs some steps to find that out.
    """
    steps = np.minimum(BEND, np.ptp(box, axis=1) / 2) * np.where(z < box.mean(axis=1), 1, -1)
    _, here = objective(z)
    there = [attempt(objective, z + step)[1][k] for k, step in enumerate(np.diag(steps))]
    bends = (here - np.array(there)) / np.where(steps == 0, np.inf, steps)
    return np.sqrt(scale / np.maximum(bends, FLATTEST))


def climb(
    coarse: Any, full: Any, scanned: list[Place], box: Array, count: int, tolerance: float = 1e-10
) -> list[Place]:
    """Local maxima, the best first, none within 5 % of a better one.

    On few data from the best `count` scanned places, none within an eighth of the box of a better one: each may lead to
    a maximum of its own. On all data from the best two maxima of those, or from one that the others do not come near.
    """
    usable = [pair for pair in scanned if np.isfinite(pair[0])] or scanned[:1]  # none: the ascent will raise the error
    starts = apart(usable, np.ptp(box, axis=1) / 8)[:count]
    if coarse is full:
        return apart(maxima(full, [z for _, z in starts], box, tolerance), 0.05)
    found = maxima(coarse, [z for _, z in starts], box, ROUGH)
    best, z = max(found, key=lambda pair: pair[0])
    unit = step_units(coarse, z, box, len(coarse.y))
    found = apart(found, np.maximum(SAME, unit / np.sqrt(len(coarse.y))))
    hopeless = best - HOPELESS * np.sqrt(len(coarse.y) / len(full.y))
    near = [z for value, z in found[:2] if value > hopeless]
    units = [unit, *(step_units(coarse, z, box, len(coarse.y)) for z in near[1:])]
    return apart(maxima(full, near, box, tolerance, units), 0.05)


def maxima(
    objective: Any, starts: Sequence[Array], box: Array, tolerance: float, units: Iterable[Array | float] = repeat(1.0)
) -> list[Place]:
    """Those reached from starts by `ascend`. Starts that fail are left out, but not all of them."""
    found, failed = [], None
    for z, unit in zip(starts, units):
        try:
            found.append(ascend(objective, z, box, len(objective.y), tolerance, unit))
        except (NotPositiveDefinite, NotConverged) as error:
            failed = error
    if failed is not None and not found:
        raise failed
    return found
