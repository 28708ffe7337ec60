"""Learning time, amplitude and noise by maximising the evidence."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import BoundWarning, InvalidInput, warn
from .likelihood import Likelihood
from .linalg import Dense
from .objective import RegressionObjective
from .params import Given, Params, Time
from .prior import Pairs, Prior
from .regression import Mean, targets
from .search import Found, attempt, climb, scan_points
from .threads import of_data

Interval = tuple[float, float]

SUBSET = 250  # data on which starts are looked for: an eigendecomposition of this size takes some 4 ms
TIMES = 12  # times scanned, for each free one
NEGLIGIBLE = {"noise": 1e-6, "label_noise": 1e-3}  # lower bounds up to which no noise is an answer
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
                f"bounds.time = {self.time} is neither one interval nor one for each of {parameters} times."
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
    params : Params, those of the greatest evidence found.
    log_marginal_likelihood : float, that evidence.
    maxima : tuple of (evidence, Params), every local maximum found on all the data, the best first.
    on_bound : tuple of str, the names of the parameters that sit on a bound of the search.
    likelihood : Likelihood with the values of its parameters; None where the noise is normal.
    """

    params: Params
    log_marginal_likelihood: float
    maxima: tuple[tuple[float, Params], ...]
    on_bound: tuple[str, ...]
    likelihood: Any = None


@of_data
def fit_regression(
    kernel: Kernel, X: Any, y: ArrayLike, bounds: Bounds, given: Given, mean: Mean = "constant", pairs: Pairs = None
) -> Fit:
    """Time, amplitude and noise of the greatest evidence.

    Starts are looked for on a random subset: at each time of a grid one eigendecomposition gives the best amplitude and
    noise, and the search goes uphill from the best three places. It then goes on from the best two maxima on all data,
    by L-BFGS-B with analytic gradients. Where every time is given, one eigendecomposition of all data is enough.

    Parameters
    ----------
    kernel : Kernel, the covariance.
    X : array of N points, the first axis.
    y : array (N,) of real targets.
    bounds : Bounds, where to search.
    given : Given, the parameters that are held fixed; those that are None are learned.
    mean : "constant" (default), "zero" or a number, as in `condition`.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.

    Returns
    -------
    Fit. A BoundWarning names the parameters that sit on a bound.

    Raises
    ------
    InvalidInput : if a value or an interval is not possible.
    NotPositiveDefinite : if no parameters within the bounds give a covariance that can be factored.
    """
    data, average = targets(X, y, mean)
    intervals, middle = time_intervals(kernel, bounds, given)
    if data.shape == (1, 2) and given.amplitude is None:
        raise InvalidInput(
            "N = 1 target is its own mean and 1 sample says nothing of variances. Give amplitude, or a mean."
        )
    # targets that do not vary leave the scale open: 1e-12 of their size, near rounding, and of 1 where all are 0
    scale = max(float(np.mean(data[:, 0] ** 2)), 1e-24 * average**2) or 1e-24
    variance = bounds.amplitude or (1e-6 * scale, 1e6 * scale)
    if given.noise is None:
        intervals["noise"] = bounds.noise
        if given.amplitude is not None:  # the noise must be able to explain y, whatever the amplitude given
            largest = 100 * scale / (given.amplitude * float(np.mean(kernel.diag(X, middle))))
            intervals["noise"] = bounds.noise[0], max(bounds.noise[1], largest)
    if given.amplitude is None:
        intervals["amplitude"] = variance
    full = RegressionObjective(Prior.of(kernel, X, middle, pairs), data, given, variance)
    if not given.free and full.prior.form is Dense:
        full = full.spectral(np.empty(0))
    coarse = some_of(full, kernel, X, middle, SUBSET) if given.free else full
    box = box_of(full, intervals)
    return finished(kernel, full, climb(coarse, full, _scan_regression(coarse, box), box, 3), intervals)


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
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:size])
    return replace(full, prior=Prior.of(kernel, X[rows], time), y=full.y[rows])


def _scan_regression(objective: RegressionObjective, box: Array) -> list[Found]:
    """The best last coordinate at each scanned time, and its evidence."""
    free, scanned = len(objective.given.free), []
    for times in scan_points(box[:free], TIMES):
        at_times = objective.spectral(times) if free else objective
        values = [(attempt(at_times, last)[0], last) for last in scan_points(box[free:], 17)]
        value, last = max(values, key=lambda pair: pair[0])
        scanned.append((value, np.concatenate([times, last])))
    return scanned


def finished(
    kernel: Kernel,
    objective: Any,
    found: list[Found],
    intervals: dict[str, Interval],
    likelihood: Likelihood | None = None,
    about: str = "",
) -> Fit:
    """The result; a warning if a parameter is on a bound of its interval."""
    maxima = tuple((value, objective.params(z)) for value, z in found)
    best = maxima[0][1]
    variance = best.amplitude * objective.prior.height(objective.prior.at(best.time)[0])
    values = {"noise": best.noise / variance, "amplitude": variance}
    values |= {} if likelihood is None else {name: vars(likelihood)[name] for name in likelihood.bounds}
    values |= zip(objective.given.time_names, np.atleast_1d(best.time)[objective.given.free])
    sitting: dict[str, str] = {}
    undetermined = []
    for name, interval in intervals.items():
        for side, bound in zip(("lower", "upper"), interval):
            negligible = side == "lower" and bound <= NEGLIGIBLE.get(name, 0.0)
            if abs(values[name] / bound - 1) < TOUCHING and not negligible:
                unit = " / prior variance" if name == "noise" else ""
                sitting[name] = f"{name}{unit} sits on the {side} bound {bound:.3g}"
                if name != "time" or not np.isclose(bound, kernel.times, atol=0).any():
                    undetermined.append(name)
    if sitting:
        advice = "."
        if undetermined:
            advice = f": the data do not determine it. Give {', '.join(undetermined)} a value, or widen the bounds."
        if len(undetermined) < len(sitting):
            advice += f" The bound is the kernel's own: a kernel with {kernel.remedy} goes further."
        warn(f"{about}{'; '.join(sitting.values())} of its search{advice}", BoundWarning)
    return Fit(best, maxima[0][0], maxima, tuple(sitting), likelihood)
