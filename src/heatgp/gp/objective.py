"""What a search for parameters maximises: the log evidence plus the log density of the priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import qmc

from ..covariance import Array
from ..errors import NotConverged, NotPositiveDefinite
from .parameters import Given, Laws, Params, log_density
from .prior import Prior, remembered

Function = Callable[[Array], tuple[float, Array]]  # log parameters -> the evidence and its gradient
Place = tuple[float, Array]  # an evidence, and the log parameters that have it
ROUGH = 1e-4
"""Relative change of the evidence per datum at which the search on few data ends."""
FAR_BELOW = 25.0
"""How far, in log evidence, a scanned place is below the best one where its neighbour stands for it."""
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
    scan : function of an objective and a box of coordinates that returns values at places where a search may start.
    scan_near : the same for data near each other, where times are shorter; `known` are coordinates found before, by
        name.
    few, near : int, the numbers of random data, and of data near each other, on which starts are looked for.
    starts : int, how many of them are followed.
    data : int, the number of data on which the search ends.
    gain : float, the relative change of the evidence per datum at which it ends.
    """

    scan: Callable[[Any, Array], list[Place]]
    scan_near: Callable[[Any, Array, dict[str, float]], list[Place]]
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


class Inference(ABC):
    """From the covariance of the data and the parameters to the log evidence: a part of an `Objective`."""

    @property
    def sites(self) -> list[Array]:
        """Where the next inference starts, one array or none; a list that callers may change."""
        return []

    @abstractmethod
    def names(self, given: Given, y: Any) -> list[str]:
        """The names of the coordinates after the times."""

    def scaled(self, form: Any, values: Array, height: float, given: Given, at: dict[str, float]) -> Array:
        """The values of the prior with the amplitude, where the inference takes them so.

        A method of its own, so that those without it need not be in memory at the same time.
        """
        return values

    @abstractmethod
    def evidence(
        self, form: Any, values: Array, height: float, y: Any, given: Given, at: dict[str, float], laws: Laws
    ) -> Found:
        """The evidence of y.

        Parameters
        ----------
        form, values : the covariance of the data at amplitude 1, as in `Prior`, or what `scaled` makes of it.
        height : float, the mean of its diagonal at amplitude 1.
        at : the coordinates by name.
        laws : the priors of the parameters by name. Those of coordinates are counted elsewhere.
        """

    def likelihood_at(self, at: dict[str, float]) -> Any:
        """The likelihood with the values of these coordinates; None where it is normal."""
        return None

    @abstractmethod
    def search(self, objective: Objective, best: Array | None = None) -> Search:
        """How to search the maximum of an objective of all data; `best` is the best place scanned, once it is known."""

    def log_prior(self, objective: Objective, params: Params) -> float:
        """The log prior density of parameters that are learned and no coordinates."""
        return 0.0

    def prepared(self, objective: Objective) -> Objective:
        """The same objective, in a form that is evaluated faster where there is one."""
        return objective

    def informative(self, objective: Objective) -> Objective:
        """The objective without outputs that say nothing of the times."""
        return objective

    def coarse(self, objective: Objective) -> Objective:
        """The objective of some data, faster and less precise."""
        return objective

    def precise(self, objective: Objective) -> Objective:
        """The objective with its exact gradient."""
        return objective

    def strict(self, objective: Objective) -> Objective:
        """The same as exact as it can be."""
        return objective

    def with_all_coordinates(self, objective: Objective) -> Objective:
        """The same with its exact gradient, and with a coordinate for all that is learned."""
        return self.precise(objective)

    def by_time(self, objective: Objective) -> Callable[[Array], float]:
        """The objective alone, for points that share times: the kernel is evaluated once for each of these."""
        prior = replace(objective.prior, function=remembered(objective.prior.function))
        return replace(objective, prior=prior).value

    def answers(
        self, objective: Objective, z: Array, box: Array, intervals: dict[str, Any], chosen: Any
    ) -> dict[str, Any]:
        """The intervals without bounds that are answers, at which no warning is needed.

        `z` is the maximum, and `chosen` the interval of the prior variance that the user gave, or None.
        """
        return intervals


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
    laws : the priors of the parameters, by name.
    """

    prior: Prior
    y: Any
    given: Given
    inference: Inference
    laws: Laws = field(default_factory=dict)
    calls: Count = field(default_factory=Count)  # shared by what is made of this objective

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""
        return self.given.time_names + self.inference.names(self.given, self.y)

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The log posterior density and its gradient."""
        self.calls.add()
        values, slopes = self.prior.at(self.given.times(z), self.given.free)
        height, height_slopes = self.prior.height(values), self.prior.height_slopes(values, slopes)
        values = self.inference.scaled(self.prior.form, values, height, self.given, dict(zip(self.names, z)))
        found = self._found(values, height, z)
        of_priors, in_priors = log_density(self.laws, self.names, z)
        value = found.log_evidence + found.log_prior + of_priors
        if not found.stationary:
            return value, np.array([self.value(z + e) - self.value(z - e) for e in STEP * np.eye(len(z))]) / (2 * STEP)
        in_times, in_height, others = found.derivatives(slopes)
        in_times = in_times + in_height * height_slopes
        gradient = dict(zip(self.given.time_names, in_times)) | others
        return value, np.array([gradient[name] for name in self.names]) + in_priors

    def value(self, z: Array) -> float:
        """The log posterior density alone."""
        self.calls.add()
        found = self.found(self.prior.at(self.given.times(z))[0], z)
        return found.log_evidence + found.log_prior + log_density(self.laws, self.names, z)[0]

    def found(self, values: Array, z: Array) -> Found:
        """The evidence of these values of the prior, at the other coordinates of z."""
        height = self.prior.height(values)
        values = self.inference.scaled(self.prior.form, values, height, self.given, dict(zip(self.names, z)))
        return self._found(values, height, z)

    def _found(self, values: Array, height: float, z: Array) -> Found:
        """The same from scaled values."""
        at = dict(zip(self.names, z))
        return self.inference.evidence(self.prior.form, values, height, self.y, self.given, at, self.laws)

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates, with those that the inference chooses."""
        time, at = self.given.times(z), dict(zip(self.names, z))
        values, _ = self.prior.at(time)
        learned = {"amplitude": self.given.amplitude, "noise": self.given.noise}
        if any(value is None and name not in at for name, value in learned.items()):
            found = self.found(values, z)
            return Params(time, found.amplitude, found.noise)
        height = self.prior.height(values)
        amplitude = float(np.exp(at["amplitude"])) / height if self.given.amplitude is None else self.given.amplitude
        noise = float(np.exp(at["noise"])) * amplitude * height if self.given.noise is None else self.given.noise
        return Params(time, amplitude, noise)

    def likelihood(self, z: Array) -> Any:
        """The likelihood with the values of these coordinates; None where it is normal."""
        return self.inference.likelihood_at(dict(zip(self.names, z)))

    def coordinates(self, params: Params, likelihood: Any = None) -> Array:
        """The coordinates that have these parameters, and those of the likelihood."""
        variance = params.amplitude * self.prior.height(self.prior.at(params.time)[0])
        values = dict(zip(self.given.time_names, np.atleast_1d(params.time)[self.given.free]))
        values |= {"amplitude": variance, "noise": params.noise / variance}
        values |= {} if likelihood is None else {name: vars(likelihood)[name] for name in likelihood.bounds}
        return np.log([values[name] for name in self.names])

    def log_prior(self, z: Array, params: Params) -> float:
        """The log density of all priors at these coordinates and their parameters."""
        return log_density(self.laws, self.names, z)[0] + self.inference.log_prior(self, params)


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


def values_at(objective: Any, points: Iterable[Array]) -> list[Place]:
    """The values of an objective at points, without gradients."""
    return [(attempt(lambda z: (objective.value(z), z), z)[0], z) for z in points]


def worth_a_start(scanned: Sequence[Place]) -> list[Place]:
    """Of places along a line the peaks, and all that are not far below the best.

    From a place below a neighbour the way up mostly leads past that one. Not always: a maximum may lie between the two.
    """
    values = np.array([value for value, _ in scanned])
    higher = np.maximum(np.append(values[1:], -np.inf), np.append(-np.inf, values[:-1]))
    kept = (values >= higher) | (values > values.max() - FAR_BELOW)
    return [place for place, is_kept in zip(scanned, kept) if is_kept]
