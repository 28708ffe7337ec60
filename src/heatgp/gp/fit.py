"""Learning time, amplitude and noise by maximising the evidence."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BoundWarning, InvalidInput
from .classification import chosen, labels
from .kernel import Params, times_of
from .latent import Prior
from .objective import ClassObjective, RegressionObjective
from .regression import Mean, targets
from .search import Given, attempt, climb, scan_points, well_apart

Array = np.ndarray
Interval = tuple[float, float]

SUBSET = 250  # data on which starts are looked for: an eigendecomposition of this size takes some 4 ms
CLASS_SUBSET = 200  # the same for classes, where each value is an inference
TIMES = 12  # times scanned, for each free one
TOUCHING = 1e-3  # relative distance at which a parameter sits on its bound
FLAT = 0.5  # slope of the log evidence in log amplitude; it falls like 1 / root(amplitude): at most 1 is left to gain


@dataclass(frozen=True)
class Bounds:
    """Where parameters are searched for.

    `time` is one interval, or one for each time. `amplitude` bounds the mean prior variance of the data
    (None: from 1e-6 to 1e6 times the mean square of y about its mean; for classes from 0.01 to 10,000),
    `noise` the ratio of the noise to it.
    """

    time: Interval | tuple[Interval, ...]
    amplitude: Interval | None = None
    noise: Interval = (1e-8, 1e4)

    def times(self, parameters: int) -> Array:
        """(parameters, 2)."""
        try:
            intervals = np.broadcast_to(np.asarray(self.time, dtype=float), (parameters, 2))
        except ValueError:
            raise InvalidInput(
                f"bounds.time = {self.time} is neither one interval nor one for each of {parameters} times."
            ) from None
        for low, high in [*intervals, self.noise, *([self.amplitude] if self.amplitude else [])]:
            if not 0 < low < high < np.inf:
                raise InvalidInput(f"bounds ({low}, {high}) must be positive, increasing and finite.")
        return intervals


@dataclass(frozen=True)
class Fit:
    """The parameters of the greatest evidence found, every local maximum seen on the data, and what sits on a bound."""

    params: Params
    log_marginal_likelihood: float
    maxima: tuple[tuple[float, Params], ...]
    on_bound: tuple[str, ...]


def fit_regression(
    kernel: Any,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    *,
    time: Any = None,
    amplitude: float | None = None,
    noise: float | None = None,
    mean: Mean = "constant",
    pairs: Any = None,
    rng: Any = 0,
) -> Fit:
    """Time, amplitude and noise of the greatest evidence; what is given is held fixed, None is learned.

    Starts are looked for on a random subset: at each time of a grid one eigendecomposition gives the best
    amplitude and noise, and the best three places are followed uphill. The best two maxima are then followed
    on all data, by L-BFGS-B with analytic gradients. Where every time is given, one eigendecomposition of all
    data does.

    `time` may be a tuple with some None; `pairs` is `kernel.pairs(X)` where the caller has it; `rng` draws
    the subset. A BoundWarning names what ended on a bound.
    """
    y, average, basis = targets(X, y, mean)
    given = Given.of(kernel, time, amplitude, noise)
    box = np.log(bounds.times(kernel.parameters)[given.free])
    middle = given.times(box.mean(axis=1))
    if len(y) == 1 and basis is not None and amplitude is None:
        raise InvalidInput("N = 1 target is its own mean and says nothing of variances. Give amplitude, or a mean.")
    # targets that do not vary leave the scale open: 1e-12 of their size, near rounding, and of 1 where all are 0
    scale = max(float(np.mean(y**2)), 1e-24 * average**2) or 1e-24
    variance = bounds.amplitude or (1e-6 * scale, 1e6 * scale)

    def objective(rows: Any, pairs: Any = None) -> RegressionObjective:
        part = None if basis is None else basis[rows]
        return RegressionObjective(Prior.of(kernel, X[rows], middle, pairs), y[rows], part, given, variance)

    full = objective(slice(None), pairs)
    if full.second == "amplitude":
        box = np.vstack([box, np.log(variance)])
    elif full.second == "noise":
        low, high = bounds.noise
        if amplitude is not None:  # the noise must be able to explain y, whatever the amplitude given
            high = max(high, 100 * scale / (amplitude * float(np.mean(kernel.diag(X, middle)))))
        box = np.vstack([box, np.log((low, high))])
    if not given.free and full.prior.pairs is not None:
        full = full.spectral(np.empty(0))
    coarse = objective(_subset(len(y), SUBSET, rng)) if given.free and len(y) > SUBSET else full
    points, values = _scan_regression(coarse, box)
    found = climb(coarse, full, well_apart(points, values, box, 3), box, (len(coarse.y), len(y)))
    names = [*_time_names(given), *([full.second] if full.second else [])]
    checks = [(name, value, *edge) for name, value, edge in zip(names, found[0][1], box)]
    if amplitude is None and full.second != "amplitude":  # the one that has its maximum in closed form
        checks.append(("amplitude", np.log(full.prior_variance(found[0][1])), *np.log(variance)))
    return _finish(full, found, checks, kernel)


def fit_classification(
    kernel: Any,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    *,
    time: Any = None,
    amplitude: float | None = None,
    inference: str = "ep",
    pairs: Any = None,
    rng: Any = 0,
) -> Fit:
    """Time and amplitude of the greatest approximate evidence of labels -1 and 1; arguments as in `fit_regression`.

    Of classes that do not overlap the evidence grows with the amplitude towards a limit, that of labels without
    noise. The upper bound is then as good as the limit and is given without a warning.
    """
    signs = labels(X, y)
    # at 1e-6 the evidence of EP, stationary in its sites, is right to 1e-12; Laplace's is not stationary
    approximate = partial(chosen(inference), tolerance=1e-6) if inference == "ep" else chosen(inference)
    given = Given.of(kernel, time, amplitude, 0.0)
    box = np.log(bounds.times(kernel.parameters)[given.free])
    middle = given.times(box.mean(axis=1))
    if amplitude is None:
        box = np.vstack([box, np.log(bounds.amplitude or (1e-2, 1e4))])

    def objective(rows: Any, pairs: Any = None) -> ClassObjective:
        return ClassObjective(Prior.of(kernel, X[rows], middle, pairs), signs[rows], given, approximate)

    full = objective(slice(None), pairs)
    coarse = objective(_subset(len(signs), CLASS_SUBSET, rng)) if len(signs) > CLASS_SUBSET else full
    times = scan_points(box[: len(given.free)], TIMES)
    heights = scan_points(box[len(given.free) :], 5)[1:-1] if amplitude is None else np.empty((1, 0))
    points = np.array([np.concatenate([t, h]) for t in times for h in heights])
    values = np.array([attempt(coarse, z)[0] for z in points])
    found = climb(coarse, full, well_apart(points, values, box, 2), box, (len(coarse.y), len(signs)))
    best = found[0][1]
    checks = [(name, value, *edge) for name, value, edge in zip(_time_names(given), best, box)]
    if amplitude is None:
        low, high = box[-1]
        if high - best[-1] < TOUCHING and full(best)[1][-1] < FLAT:
            high = np.inf  # f is so large that labels have no noise, and more of it changes nothing: an answer
        checks.append(("amplitude", best[-1], low, high))
    return _finish(full, found, checks, kernel)


def _scan_regression(objective: RegressionObjective, box: Array) -> tuple[Array, Array]:
    """The best last coordinate at each scanned time, and its evidence."""
    free = len(objective.given.free)
    last = scan_points(box[free:], 17)
    points, values = [], []
    for times in scan_points(box[:free], TIMES):
        at_times = objective.spectral(times) if free else objective
        heights = [attempt(at_times, z)[0] for z in last]
        points.append(np.concatenate([times, last[int(np.argmax(heights))]]))
        values.append(max(heights))
    return np.array(points), np.array(values)


def _finish(
    objective: Any, found: list[tuple[float, Array]], checks: list[tuple[str, float, float, float]], kernel: Any
) -> Fit:
    maxima = tuple((value, objective.params(z)) for value, z in found)
    sitting, undetermined, beyond = [], [], False
    for name, value, low, high in checks:
        for side, bound in (("lower", low), ("upper", high)):
            negligible = (name, side) == ("noise", "lower") and np.exp(bound) <= 1e-6  # no noise is an answer
            if abs(value - bound) < TOUCHING and not negligible:
                unit = " / prior variance" if name == "noise" else ""
                sitting.append((name, f"{name}{unit} sits on the {side} bound {np.exp(bound):.3g}"))
                own = name == "time" and bool(np.isclose(np.exp(bound), times_of(kernel), atol=0).any())
                beyond = beyond or own
                undetermined += [] if own else [name]
    if sitting:
        advice = "."
        if undetermined:
            advice = f": the data do not determine it. Give {', '.join(undetermined)} a value, or widen the bounds."
        if beyond:
            advice += f" The bound is the kernel's own: heat_kernel with {kernel.remedy} goes further."
        warnings.warn(
            f"{'; '.join(text for _, text in sitting)} of its search{advice}",
            BoundWarning,
            stacklevel=3,
        )
    return Fit(maxima[0][1], maxima[0][0], maxima, tuple(name for name, _ in sitting))


def _time_names(given: Given) -> list[str]:
    return ["time" if given.scalar else f"time[{k}]" for k in given.free]


def _subset(total: int, size: int, rng: Any) -> Array:
    return np.sort(np.random.default_rng(rng).permutation(total)[:size])
