"""What a search for parameters maximises: the log evidence plus the log density of the priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import qmc

from ..covariance import Array, constant
from ..errors import NotConverged, NotPositiveDefinite
from .parameters import Given, ParameterPriors, Params, log_density
from .prior import Prior

Function = Callable[[Array], tuple[float, Array]]  # log parameters -> the evidence and its gradient
Place = tuple[float, Array]  # an evidence, and the log parameters that have it
Accuracy = Literal["scan", "coarse", "search", "gradient", "curvature", "exact"]
ROUGH = 1e-4
"""Relative change of the evidence per datum at which the search on few data ends."""
MUCH_LOWER = 25.0
"""Difference of log evidences from which a scanned place is no start where its neighbour is one."""
FLAT = 0.5
"""Slope of the log evidence in a log parameter that is called zero: at most about as much is left to gain."""
TOUCHING = 1e-3
"""Relative distance below which a parameter sits on its bound."""
STEP = 1e-3
"""Difference of the logarithm of a parameter, for derivatives where expectation propagation has none."""


@dataclass(frozen=True)
class Search:
    """How a search for parameters goes.

    Attributes
    ----------
    few, near : int, the numbers of random data, and of data near each other, on which starts are looked for.
    starts : int, how many of them are followed.
    data : int, the number of data on which the search ends.
    gain : float, the relative change of the evidence per datum at which it ends.
    """

    few: int
    near: int
    starts: int
    data: int
    gain: float = 1e-10


@dataclass
class Count:
    """A number that objectives of one search share and add to."""

    number: int = 0

    def add(self, times: int = 1) -> None:
        self.number += times


@dataclass(frozen=True)
class Found:
    """A log evidence at some coordinates of an `Objective`.

    Attributes
    ----------
    log_evidence : float.
    amplitude, noise : the amplitude and the noise there, one number or one for each output.
    derivatives : function of the slopes of the covariance in the free log times (see `Prior.at`). It returns the
        derivatives in these times where the mean of the covariance's diagonal does not move, the derivative in the log
        of this mean, and those in the other coordinates, by name.
    log_prior : float, the log prior density of what is no coordinate but was chosen.
    stationary : bool, whether these derivatives are all there is.
    """

    log_evidence: float
    amplitude: Any
    noise: Any
    derivatives: Callable[[Sequence[Array]], tuple[Array, float, dict[str, float]]]
    log_prior: float = 0.0
    stationary: bool = True


@dataclass(frozen=True)
class Inference(ABC):
    """From the covariance of the data and the parameters to the log evidence: a part of an `Objective`.

    Parameters
    ----------
    likelihood : Likelihood; its parameters that are None are coordinates. None: normal noise.
    accuracy : what the evidence is for. "scan": where a search may start; "coarse": a search on few data; "search": a
        search; "gradient": the gradient where it ended; "curvature": derivatives in all that is learned; "exact"
        (default): as right as it can be. With the last two all that is learned is a coordinate.
    sites : list of where the next inference starts, one array or none; callers may change it.
    """

    likelihood: Any = None
    accuracy: Accuracy = field(default="exact", kw_only=True)
    sites: list[Array] = field(default_factory=list, init=False, compare=False)

    def at(self, accuracy: Accuracy) -> Self:
        """The same with another accuracy, and without sites."""
        return replace(self, accuracy=accuracy)

    def likelihood_at(self, at: dict[str, float]) -> Any:
        """The likelihood with the values of these coordinates."""
        free = [] if self.likelihood is None else self.likelihood.free
        return self.likelihood.with_values(np.exp([at[name] for name in free])) if free else self.likelihood

    @abstractmethod
    def names(self, given: Given, y: Any) -> list[str]:
        """The names of the coordinates after the times."""

    def scaled(self, objective: Objective, values: Array, mean_variance: float, at: dict[str, float]) -> Array:
        """The values of the prior with the amplitude, where the inference takes them so.

        A method of its own, so that those without it need not be in memory at the same time.
        """
        return values

    @abstractmethod
    def evidence(self, objective: Objective, values: Array, mean_variance: float, at: dict[str, float]) -> Found:
        """The evidence of an objective's data.

        Parameters
        ----------
        values : the covariance of the data at amplitude 1, as in `Prior`, or what `scaled` makes of it.
        mean_variance : float, the mean of its diagonal at amplitude 1.
        at : the coordinates by name.
        """

    @abstractmethod
    def search(self, objective: Objective, best: Array | None = None) -> Search:
        """How to search the maximum of an objective of all data; `best` is the best place scanned, once it is known."""

    @abstractmethod
    def scan(self, objective: Objective, box: Array, known: Mapping[str, float] | None = None) -> list[Place]:
        """Values at places of a box where a search may start.

        `known` are coordinates found before, by name: the data are then near each other, and times shorter.
        """

    def at_times(self, objective: Objective, z: Array) -> Objective:
        """The objective of the other coordinates at the times of z, whose covariance is computed once."""
        return objective.at_times(z)


@dataclass(frozen=True)
class Objective:
    """The log posterior density as a function of the logarithms of the parameters that are learned.

    The coordinates are the free log times and then those of the inference: the log of the prior variance of f
    (amplitude times the mean of the kernel's diagonal) and of the parameters of the likelihood. The kernel's scale is
    divided out, so that bounds of the search do not depend on the size of the kernel's values, which changes with time.

    Parameters
    ----------
    prior : Prior, the covariance of the data as a function of the time.
    y : Targets of an exact inference, or observations as the likelihood takes them.
    given : Given, the parameters that are held fixed.
    inference : Inference, which finds the evidence of a covariance.
    priors : the priors of the parameters, by name.
    intervals : where the parameters that are learned are searched for, by name. Those of several outputs may be arrays.
    """

    prior: Prior
    y: Any
    given: Given
    inference: Inference
    priors: ParameterPriors = field(default_factory=dict)
    intervals: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    calls: Count = field(default_factory=Count)  # shared by what is made of this objective

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""
        return self.given.time_names + self.inference.names(self.given, self.y)

    @property
    def box(self) -> Array:
        """The log intervals of the coordinates, (coordinates, 2)."""
        return np.log([self.intervals[name] for name in self.names]).reshape(-1, 2)

    def at(self, accuracy: Accuracy) -> Objective:
        """The same with another accuracy of the inference."""
        return replace(self, inference=self.inference.at(accuracy))

    def at_times(self, z: Array) -> Objective:
        """The same at the times of z: these are then given, and their priors no longer counted."""
        time = self.given.times(z)
        values, _ = self.prior.at(time)
        given = replace(self.given, time=tuple(np.atleast_1d(time).tolist()))
        return replace(self, prior=replace(self.prior, function=constant(values)), given=given)

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The log posterior density and its gradient."""
        self.calls.add()
        found, slopes, mean_slopes = self._found(z, self.given.free)
        of_priors, in_priors = log_density(self.priors, self.names, z)
        value = found.log_evidence + found.log_prior + of_priors
        if not found.stationary:
            return value, np.array([self.value(z + e) - self.value(z - e) for e in STEP * np.eye(len(z))]) / (2 * STEP)
        in_times, in_mean_variance, others = found.derivatives(slopes)
        in_times = in_times + in_mean_variance * mean_slopes
        gradient = dict(zip(self.given.time_names, in_times)) | others
        return value, np.array([gradient[name] for name in self.names]) + in_priors

    def value(self, z: Array) -> float:
        """The log posterior density alone."""
        self.calls.add()
        found, _, _ = self._found(z)
        return found.log_evidence + found.log_prior + log_density(self.priors, self.names, z)[0]

    def _found(self, z: Array, free: Sequence[int] = ()) -> tuple[Found, list[Array], Array]:
        """The evidence, and for the free times the slopes of the prior and those of the log mean prior variance."""
        values, slopes = self.prior.at(self.given.times(z), free)
        mean_variance, at = self.prior.mean_variance(values), dict(zip(self.names, z))
        mean_slopes = self.prior.mean_variance_slopes(values, slopes) if slopes else np.empty(0)
        values = self.inference.scaled(self, values, mean_variance, at)
        return self.inference.evidence(self, values, mean_variance, at), slopes, mean_slopes

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates, with those that the inference chooses."""
        return self.solution(z)[0]

    def solution(self, z: Array) -> tuple[Params, float]:
        """The parameters at these coordinates, and the log density of all priors there."""
        given, at, time = self.given, dict(zip(self.names, z)), self.given.times(z)
        of_priors, _ = log_density(self.priors, self.names, z)
        if any(vars(given)[name] is None and name not in at for name in ("amplitude", "noise")):
            found, _, _ = self._found(z)
            return Params(time, found.amplitude, found.noise), of_priors + found.log_prior
        mean_variance = self.prior.mean_variance(self.prior.at(time)[0])
        amplitude = float(np.exp(at["amplitude"])) / mean_variance if given.amplitude is None else given.amplitude
        noise = float(np.exp(at["noise"])) * amplitude * mean_variance if given.noise is None else given.noise
        return Params(time, amplitude, noise), of_priors

    def likelihood(self, z: Array) -> Any:
        """The likelihood with the values of these coordinates; None where it is normal."""
        return self.inference.likelihood_at(dict(zip(self.names, z)))

    def values(self, params: Params, likelihood: Any = None) -> dict[str, Any]:
        """What intervals and priors are of, by name: the times, the prior variance, and what the likelihood has.

        Normal noise has its ratio to the prior variance.
        """
        variance = params.amplitude * self.prior.mean_variance(self.prior.at(params.time)[0])
        values = {"amplitude": variance, "noise": params.noise / variance}
        values |= {} if likelihood is None else {name: vars(likelihood)[name] for name in likelihood.bounds}
        return values | dict(zip(self.given.time_names, np.atleast_1d(params.time)[self.given.free]))

    def coordinates(self, params: Params, likelihood: Any = None) -> Array:
        """The coordinates that have these parameters, and those of the likelihood."""
        values = self.values(params, likelihood)
        return np.log([values[name] for name in self.names])


def scan_points(box: Array, count: int) -> Array:
    """Points (count, d) that fill a box (d, 2): equally spaced on an interval, a Sobol sequence in more dimensions."""
    if len(box) == 0:
        return np.empty((1, 0))
    if len(box) == 1:
        return np.linspace(box[0, 0], box[0, 1], count)[:, None]
    unit = qmc.Sobol(len(box), scramble=False).random(1 << (count * len(box) - 1).bit_length())
    return box[:, 0] + unit * (box[:, 1] - box[:, 0])


def diagonal_points(box: Array, count: int) -> Array:
    """Points on the diagonal of a box (d, 2); where d > 1, also those with all coordinates but one at their upper end.

    For times: the same part of each interval, and each time alone where f does not depend on the others.
    """
    points = np.linspace(box[:, 0], box[:, 1], count if len(box) else 1)
    if len(box) < 2:
        return points
    alone = np.where(np.eye(len(box), dtype=bool), box.mean(axis=1), box[:, 1])
    return np.concatenate([points, alone])


def attempt(objective: Function, z: Array) -> tuple[float, Array]:
    """The objective, or -inf where the covariance cannot be factored or the inference did not converge."""
    try:
        return objective(z)
    except (NotPositiveDefinite, NotConverged):
        return -np.inf, np.zeros(len(z))


def attempted(value: Callable[[Array], float], z: Array) -> float:
    """The same of a function without a gradient."""
    return attempt(lambda z: (value(z), z), z)[0]


def values_at(objective: Any, points: Iterable[Array]) -> list[Place]:
    """The values of an objective at points, without gradients."""
    return [(attempted(objective.value, z), z) for z in points]


def best_of(places: Iterable[Place]) -> Place:
    """The place of the largest value; the first of equal ones."""
    return max(places, key=lambda place: place[0])


def worth_a_start(scanned: Sequence[Place]) -> list[Place]:
    """Of places along a line the peaks, and all that are not much lower than the best.

    From a place below a neighbour the way up mostly leads past that one. Not always: a maximum may lie between the two.
    """
    values = np.array([value for value, _ in scanned])
    higher = np.maximum(np.append(values[1:], -np.inf), np.append(-np.inf, values[:-1]))
    kept = (values >= higher) | (values > values.max() - MUCH_LOWER)
    return [place for place, is_kept in zip(scanned, kept) if is_kept]
