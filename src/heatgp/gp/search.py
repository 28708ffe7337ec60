"""The search for the parameters: where the evidence, or with priors the posterior density, is greatest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from ..arguments import shown
from ..cost import check_memory
from ..covariance import Array, Kernel
from ..errors import AccuracyWarning, BoundWarning, InvalidInput, Unsupported, warn
from ..threads import of_data
from .exact import Exact
from .exact_outputs import ExactOutputs, varying
from .inference import Approximate
from .likelihood import Likelihood
from .objective import FLAT, ROUGH, TOUCHING, Function, Objective, Place, attempt, attempted, best_of
from .parameters import WEAK_AMPLITUDE, WEAK_NOISE, Given, LogNormal, Params, Priors, Time, checked_priors, is_weak
from .prior import Mean, Pairs, Prior, Targets, observations, targets

Interval = tuple[float, float]
Start = tuple[Array, Array | float]  # log parameters, and the unit of each for the steps of a search
End = tuple[str, str]  # the name of a parameter, and the side of its interval
SIDES = ("lower", "upper")
CHUNK = 100_000  # data whose covariances with some are computed at one time
NATS = 1e-3  # what a step of the search from a guess may gain where it ends
WITHOUT_NOISE = {"noise": 1e-6, "label_noise": 1e-3}  # lower bounds up to which no noise is an answer
SAME = 0.5
"""Log parameters within which maxima on few data are one, or one standard deviation: the search there ends early."""
TOO_LOW = 5.0
"""How far, in the log evidence of few data, a maximum is below the best one where it is not followed on all data.

This is times the root of their share of all data: a difference grows with the data, and its error like their root.
"""
BEND = 0.1
"""Step of a log parameter for differences of the gradient."""
AWAY = 0.5
"""How far from the maximum a search may end, in standard deviations of a log parameter: 1/8 is left to gain there."""
NEWTON = 8
"""Steps of Newton's method from the maximum of fewer data, at most: some three are usual."""
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
                f"time_bounds = {shown(self.time)} is neither one interval nor one for each of {parameters} times."
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
    likelihood, priors, noise_scale, coefficient_scale, offset : as in `objective_of`.

    Returns
    -------
    Fit. A BoundWarning names the parameters that sit on a bound.

    Raises
    ------
    InvalidInput : if a value or an interval is not possible, or a prior has no mass on its interval.
    NotPositiveDefinite : if no parameters within the bounds give a covariance that can be factored.
    NotConverged : if the inference converges nowhere.
    """
    full = objective_of(kernel, X, y, bounds, given, mean, pairs, **options)
    inference, box, (_, middle) = full.inference, full.box, time_intervals(kernel, bounds, given)
    how = inference.search(full)
    full = full if given.free else inference.at_times(full, np.empty(0))
    informative = varying(full) if isinstance(inference, ExactOutputs) else full
    few = some_of(informative, kernel, X, middle, how.few)
    few = few if few is informative else few.at("coarse")
    scanned = inference.scan(few, box)
    how = inference.search(full, best_of(scanned)[1])  # on how many data it ends may depend on the best place
    searched = some_of(informative, kernel, X, middle, how.data)
    found = maxima(searched, starts_on_few(few, searched, scanned, box, how.starts), box, how.gain)
    if few is not informative and given.free:
        near = of_rows(informative, kernel, X, middle, near_rows(kernel, X, middle, how.near)[0]).at("coarse")
        found += of_shorter_times(kernel, near, searched, box, best_of(found), how.gain)
    return replace(finished(kernel, full, searched, found, box, about), data=len(searched.y))


def fit_from(
    kernel: Kernel, objective: Objective, box: Array, guesses: list[Params], few: Objective | None = None
) -> Fit:
    """The best of the maxima near some guesses; of `few`, the objective of some of the data, the first is a maximum."""
    given, count, places = objective.given, objective.y.count, []
    objective.y.check_freedom(given.amplitude)
    for guess in guesses:
        values = dict(zip(given.time_names, np.atleast_1d(guess.time)[given.free]))
        values |= {"noise": guess.noise / guess.amplitude, "amplitude": guess.amplitude}
        places.append(np.clip(np.log([max(values[name], 1e-300) for name in objective.names]), *box.T))
    found = newton(objective, few, places[0], box) if few else None
    if found is None:
        starts = [(z, step_units(objective, z, box, count)) for z in places]
        return finished(kernel, objective, objective, maxima(objective, starts, box, min(1e-8, NATS / count)), box)
    return finished(kernel, objective, objective, [found], box)


def newton(objective: Objective, few: Objective, z: Array, box: Array) -> Place | None:
    """The maximum near that of fewer data, with their curvature; None where steps leave the box or lose.

    The curvature of all data is taken as that of the few, times as many as there are more, and is corrected after each
    step by the change of the gradient (BFGS).
    """
    steps, here = BEND * np.where(z < box.mean(axis=1), 1, -1), attempt(few, z)[1]
    bends = np.array([(here - attempt(few, z + step)[1]) / step[k] for k, step in enumerate(np.diag(steps))])
    curvature = (bends + bends.T) / 2 * objective.y.count / few.y.count
    value, slopes = attempt(objective, z)
    for _ in range(NEWTON):
        if not (np.isfinite(value) and np.linalg.eigvalsh(curvature).min(initial=1.0) > 0):
            return None
        step = np.linalg.solve(curvature, slopes)
        if step @ slopes / 2 < NATS * NATS:
            return value, z
        there, after = attempt(objective, z + step)
        if there < value or np.any((z + step < box[:, 0]) | (z + step > box[:, 1])):
            return None
        bent, change = curvature @ step, slopes - after
        if step @ change > 0:
            curvature += np.outer(change, change) / (step @ change) - np.outer(bent, bent) / (step @ bent)
        value, slopes, z = there, after, z + step
    return None


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
    offset: Any = 0.0,
) -> Objective:
    """What `fit` maximises.

    Parameters
    ----------
    likelihood : Likelihood, default None: normal noise. Its parameters that are None are learned.
    priors : Priors; default None, the plain evidence; or "weak". These are log-normal: of each time with its
        bounds at two standard deviations, of the prior variance about the mean square of y, of noise / prior variance
        about 0.1; where the likelihood is not normal, its own.
    noise_scale, coefficient_scale, offset : as in `condition`.
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
        name: replace(prior, median=likelihood.in_unit(name, prior.median))
        for name, prior in likelihood.weak_priors.items()
    }
    own, edge = checked_priors(priors), likelihood.time_edge
    of_parameters = own.by_name(intervals, kernel.names, kernel.weight_parameters, weak, edge)
    prior = Prior.of(kernel, X, middle, pairs, dense=likelihood.functions is not None)
    data, _ = observations(X, np.asarray(y), mean, coefficient_scale, offset, likelihood)
    if likelihood.flat_mean:
        data.check_freedom(given.amplitude)
    return Objective(prior, data, given, Approximate(likelihood, accuracy="search"), of_parameters, intervals)


def exact_objective(
    kernel: Kernel, X: Any, prior: Prior, data: Targets, bounds: Bounds, given: Given, priors: Priors | str | None
) -> Objective:
    """The same for targets with normal noise and their prior covariance; X are their points, or some of them."""
    of_times, middle = time_intervals(kernel, bounds, given)
    intervals: dict[str, tuple[Any, Any]] = {**of_times}
    priors, scale, one = checked_priors(priors), data.mean_square, data.y.ndim == 1
    if not (one or data.is_flat or given.amplitude is not None or given.noise):
        raise Unsupported(
            "priors.coefficients with several outputs whose amplitude and noise are both learned. Give one of them, or "
            "leave priors.coefficients None, or fit one model for each column."
        )
    low, high = bounds.amplitude or (1e-6 * scale, 1e6 * scale)
    ratio, typical = noise_ratio(kernel, X, bounds, given, data, scale, middle)
    if given.noise is None:
        intervals["noise"] = ratio
    if given.amplitude is None:
        intervals["amplitude"] = float(np.min(low)), float(np.max(high))
    weak = {"noise": LogNormal(typical, WEAK_NOISE)}
    if one:
        weak["amplitude"] = LogNormal(float(scale), WEAK_AMPLITUDE)
    of_parameters = priors.by_name(intervals, kernel.names, kernel.weight_parameters, weak)
    if one:
        return Objective(prior, data, given, Exact(accuracy="search"), of_parameters, intervals)
    size = np.ones(len(scale))
    if given.amplitude is None:
        intervals["amplitude"] = np.broadcast_to(low, scale.shape), np.broadcast_to(high, scale.shape)
        if is_weak(priors.amplitude):  # of each output about its own mean square
            of_parameters["amplitude"], size = LogNormal(1.0, WEAK_AMPLITUDE), np.clip(scale, low, high)
    return Objective(prior, data, given, ExactOutputs(accuracy="search", size=size), of_parameters, intervals)


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


def starts_on_few(few: Any, full: Any, scanned: list[Place], box: Array, count: int) -> list[Start]:
    """Where searches on all data start, and the units of their steps.

    On few data searches go from the best `count` scanned places, none within an eighth of the box of a better one: each
    may lead to a maximum of its own. From the best two of those maxima, or from one that the others do not come near,
    searches go on.
    """
    usable = [place for place in scanned if np.isfinite(place[0])] or scanned[:1]  # none: the search raises the error
    starts: list[Start] = [(z, 1.0) for _, z in apart(usable, np.ptp(box, axis=1) / 8)[:count]]
    if few is full:
        return starts
    number = len(few.y)
    found = maxima(few, starts, box, ROUGH)
    best, z = best_of(found)
    unit = step_units(few, z, box, number)
    found = apart(found, np.maximum(SAME, unit / np.sqrt(number)))
    least = best - TOO_LOW * np.sqrt(number / len(full.y))
    others = [z for value, z in found[1:2] if value > least]
    return [(z, unit), *((z, step_units(few, z, box, number)) for z in others)]


def of_shorter_times(
    kernel: Kernel, near: Objective, full: Objective, box: Array, best: Place, gain: float
) -> list[Place]:
    """A maximum of all data with shorter times, where data that are near each other lead to a better one; else none.

    A random subset sees nothing of lengths that are shorter than the distances of its data. `near` is the objective of
    near data, `best` the best maximum so far.
    """
    times, (value, z), sites = len(free_times(kernel, full.given)), best, full.inference.sites[:]
    shorter, number = box.copy(), len(near.y)
    shorter[:times, 1] = np.maximum(z[:times] - np.log(2.0), box[:times, 0])
    scanned, start = best_of(near.inference.scan(near, shorter, dict(zip(full.names, np.exp(z)))))
    if scanned > attempted(near.value, z):
        reached, start = ascend(near, start, shorter, number, ROUGH)
        if np.isfinite(reached) and attempted(full.value, start) > value:
            found = ascend(full, start, box, len(full.y), gain, step_units(near, start, box, number))
            if found[0] > value:
                return [found]
    full.inference.sites[:] = sites
    return []


def finished(
    kernel: Kernel, objective: Objective, searched: Objective, found: list[Place], box: Array, about: str = ""
) -> Fit:
    """The result, with its warnings. `searched` is the objective of the data on which the search ended."""
    found = apart(found, 0.05)
    z = found[0][1]
    steep = steepest(searched.at("gradient"), z, box)
    if searched is not objective:
        found = [(objective.value(z), z)]
    solutions = [objective.solution(place) for _, place in found]
    (value, _), (best, log_prior), likelihood = found[0], solutions[0], objective.likelihood(z)
    sitting = on_bounds(kernel, objective, z, objective.values(best, likelihood), likelihood)
    warn_of(kernel, sitting, steep, about)
    sites = objective.inference.sites
    return Fit(
        params=best,
        log_marginal_likelihood=value - log_prior,
        maxima=tuple((value, params) for (value, _), (params, _) in zip(found, solutions)),
        on_bound=tuple(sitting),
        log_posterior=value,
        likelihood=likelihood,
        evaluations=objective.calls.number,
        sites=sites[-1] if sites else None,
        steep=steep,
    )


def warn_of(kernel: Kernel, sitting: dict[str, tuple[str, bool]], steep: tuple[str, float], about: str) -> None:
    """A warning if a parameter is on a bound of its interval, or where the search did not end at a maximum."""
    if sitting:
        advice = "."
        undetermined = [name for name, (_, is_own) in sitting.items() if not is_own]
        if undetermined:
            advice = f": the data do not determine it. Give {', '.join(undetermined)} a value, or widen the bounds."
        if len(undetermined) < len(sitting):
            advice += f" The bound is the kernel's own. {kernel.advice}"
        warn(f"{about}{'; '.join(text for text, _ in sitting.values())} of its search{advice}", BoundWarning)
    if steep[1]:
        warn(
            f"{about}the search for the parameters did not end at a maximum: the log evidence has the slope "
            f"{steep[1]:.2g} in log {steep[0]} there. Better parameters may be elsewhere: give {steep[0]} a value or "
            "narrower bounds, and compare log_marginal_likelihood().",
            AccuracyWarning,
        )


def on_bounds(
    kernel: Kernel, objective: Objective, z: Array, values: dict[str, Any], likelihood: Any
) -> dict[str, tuple[str, bool]]:
    """Parameters on a bound that is no answer, by name: where they sit, and whether the bound is the kernel's own."""
    bounds = {(name, side): pair[k] for name, pair in objective.intervals.items() for k, side in enumerate(SIDES)}
    distances = {end: np.abs(values[end[0]] / bound - 1) for end, bound in bounds.items()}
    touching = {end: away < TOUCHING for end, away in distances.items() if np.any(away < TOUCHING)}
    found: dict[str, tuple[str, bool]] = {}
    allowed = answers(kernel, objective, z, set(touching), likelihood)
    for name, side in [end for end in touching if end not in allowed]:
        sits, bound = touching[name, side], bounds[name, side]
        unit, first = " / prior variance" if name == "noise" and likelihood is None else "", np.argmax(sits)
        place = f" in {np.sum(sits)} outputs, the first is column {first}," if np.ndim(sits) else ""
        text = f"{name}{unit} sits{place} on the {side} bound {np.broadcast_to(bound, sits.shape).flat[first]:.3g}"
        before, is_own = found.get(name, ("", True))
        is_own = is_own and name == "time" and bool(np.isclose(bound, kernel.times, atol=0).any())
        found[name] = (f"{before}; {text}" if before else text, is_own)
    return found


def answers(kernel: Kernel, objective: Objective, z: Array, touching: set[End], likelihood: Any) -> set[End]:
    """The bounds, of those that touch, on which a parameter may sit without a warning.

    f may vary slowly along one of several coordinates, which is a long time. Or it may not depend on a summand, which
    is a small weight, or a large one of all others, and then the time of that summand is open. The evidence tends to a
    limit there, like 1/time or like the weight, and what is left to gain is its slope.
    """
    several, intervals = objective.given.time_names if kernel.parameters > 1 else [], objective.intervals
    limits = {(name, side) for name in several for side in (SIDES if kernel.weight_parameters else ("upper",))}
    found: set[End] = set()
    for name, least in WITHOUT_NOISE.items():
        least = least if likelihood is None else likelihood.in_unit(name, least)
        if name in intervals and intervals[name][0] <= least * (1 + TOUCHING):
            found.add((name, "lower"))
    if likelihood is not None:
        found |= {(name, side) for name in likelihood.limits for side in SIDES}
        limits.add(("amplitude", "upper"))  # f is so large that labels have no noise, and a larger one changes nothing
        least = likelihood.in_unit("amplitude", likelihood.variance_bounds[0])
        if objective.y.basis.size and "amplitude" in intervals and intervals["amplitude"][0] == least:
            found.add(("amplitude", "lower"))  # f is so small beside its mean that y does not depend on the points
    if limits := limits & touching:
        slopes = dict(zip(objective.names, objective(z)[1]))
        found |= {(name, side) for name, side in limits if abs(slopes[name]) < FLAT}
    return found


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
    """The local maximum reached from `start` by L-BFGS-B, and its value: -inf where the objective fails at the start.

    `scale`, the number of data, makes tolerances relative. Steps are measured in the `unit` of each coordinate. In a
    curved valley, or beside places where the inference does not converge, L-BFGS-B makes one short step and ends though
    the slope is not zero. It then starts again from there, without what it has learned of curvatures.
    """
    if len(box) == 0:
        return attempt(objective, start)[0], start
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
    return (-float(found.fun) * scale if found.fun < worst else -np.inf), np.clip(found.x * unit, *box.T)


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
    here = attempt(objective, z)[1]
    there = [attempt(objective, z + step)[1][k] for k, step in enumerate(np.diag(steps))]
    bends = (here - np.array(there)) / np.where(steps == 0, np.inf, steps)
    return np.sqrt(scale / np.maximum(bends, FLATTEST))


def maxima(objective: Any, starts: Sequence[Start], box: Array, tolerance: float) -> list[Place]:
    """Those reached from starts by `ascend`. Starts that fail are left out; where all do, what went wrong is raised."""
    found = [ascend(objective, z, box, objective.y.count, tolerance, unit) for z, unit in starts]
    return [place for place in found if np.isfinite(place[0])] or [(objective(starts[0][0])[0], starts[0][0])]
