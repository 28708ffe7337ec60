"""Likelihoods that are not normal: the log evidence from a normal factor, a site, in the place of each observation.

Sites are found by expectation propagation, by a variational approximation where that does not converge, or by Laplace's
approximation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import InvalidInput, NotConverged
from .approximation import Approximation, Factorise
from .coupled import Coupled
from .coupled_low_rank import CoupledLowRank
from .ep import expectation_propagation
from .factors import Economical, LowRank
from .laplace import laplace
from .likelihood import Likelihood, NormalMixture
from .objective import (
    FLAT,
    ROUGH,
    TOUCHING,
    Found,
    Inference,
    Objective,
    Place,
    Search,
    diagonal_points,
    scan_points,
    values_at,
)
from .parameters import Given, Laws
from .pivoted import Root
from .variational import variational

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


def converging_ep(
    factorise: Factorise, likelihood: Likelihood, y: Array, start: Array | None = None, **options: Any
) -> Approximation:
    """Expectation propagation; where it does not converge, a variational approximation, if the likelihood has one."""
    try:
        return expectation_propagation(factorise, likelihood, y, start, **options)
    except NotConverged:
        if not isinstance(likelihood, NormalMixture):
            raise
    return variational(factorise, likelihood, y)


METHODS: dict[str, Callable[..., Approximation]] = {"ep": converging_ep, "laplace": laplace}


def method_of(name: Any) -> Callable[..., Approximation]:
    """The method of this name."""
    if not (isinstance(name, str) and name in METHODS):
        raise InvalidInput(f'inference = "{name}" is not known. Use "ep" or "laplace".')
    return METHODS[name]


@dataclass(frozen=True)
class Approximate(Inference):
    """Inference with any likelihood.

    The coordinates are the log of the prior variance and the logs of the likelihood's free parameters.

    Parameters
    ----------
    likelihood : Likelihood; its parameters that are None are coordinates.
    method : function that finds the sites, one of `METHODS`.
    options : its options.
    constant : bool, default False. Whether f has a constant added, of variance unit² + prior variance. For two classes
        the share of a class, Phi(constant / √(1 + prior variance)), then has the uniform law.
    is_precise : bool, default True. False leaves out what sites at their bound add to the gradient: a few percent.
    economical : bool, default False. Whether a covariance that few points carry is factored in these.
    last : list of the sites where the next inference starts.
    """

    likelihood: Likelihood
    method: Callable[..., Approximation]
    options: Mapping[str, Any] = field(default_factory=dict)
    constant: bool = False
    is_precise: bool = True
    economical: bool = False
    last: list[Array] = field(default_factory=list, init=False, compare=False)

    @property
    def sites(self) -> list[Array]:
        return self.last

    def names(self, given: Given, y: Any) -> list[str]:
        """The names of the coordinates after the times."""
        return ["amplitude"] * (given.amplitude is None) + self.likelihood.free

    def likelihood_at(self, at: dict[str, float]) -> Likelihood:
        """The likelihood with the values of these coordinates."""
        free = self.likelihood.free
        return self.likelihood.with_values(np.exp([at[name] for name in free])) if free else self.likelihood

    def scaled(self, form: Any, values: Array, height: float, given: Given, at: dict[str, float]) -> Array:
        return (self._variance(height, given, at) / height) ** form.power * values

    def _variance(self, height: float, given: Given, at: dict[str, float]) -> float:
        """The mean prior variance of f, without the constant."""
        return float(np.exp(at["amplitude"])) if given.amplitude is None else given.amplitude * height

    def evidence(
        self, form: Any, values: Array, height: float, y: Array, given: Given, at: dict[str, float], laws: Laws
    ) -> Found:
        """The evidence at these coordinates."""
        variance, likelihood = self._variance(height, given, at), self.likelihood_at(at)
        found = self.approximation(form, values, variance, y, likelihood)

        def derivatives(slopes: Sequence[Array]) -> tuple[Array, float, dict[str, float]]:
            if self.constant and form is LowRank:
                slopes = [form.plus_constant(slope, 0.0) for slope in slopes]
            in_times = (variance / height) ** form.power * found.in_times(slopes)
            in_variance, in_constant = found.in_amplitude, 0.0
            if self.constant:  # first f without the constant; the variance of the constant is unit² + variance
                in_variance -= (likelihood.unit**2 + variance) * found.in_constant
                in_constant = variance * found.in_constant
            own = found.in_parameters
            if own is None and likelihood.free != self.likelihood.free:
                free = self.likelihood.free
                own = dict(zip(free, likelihood.in_parameters(y, *found.cavities, free)))
            in_height = -in_variance if given.amplitude is None else in_constant
            return in_times, in_height, {"amplitude": in_variance + in_constant} | dict(own or {})

        amplitude = variance / height
        return Found(
            found.log_evidence, amplitude, 0.0, derivatives, stationary=found.stationary or not self.is_precise
        )

    def coarse(self, objective: Objective) -> Objective:
        return replace(objective, inference=replace(self, options={"tolerance": 1e-3}))

    def precise(self, objective: Objective) -> Objective:
        return replace(objective, inference=replace(self, is_precise=True))

    def strict(self, objective: Objective) -> Objective:
        return replace(objective, inference=replace(self, options={}, economical=False))

    def answers(
        self, objective: Objective, z: Array, box: Array, intervals: dict[str, Any], chosen: Any
    ) -> dict[str, Any]:
        if objective.given.amplitude is not None:
            return intervals
        (low, high), place = intervals["amplitude"], len(objective.given.free)
        if box[place, 1] - z[place] < TOUCHING and objective(z)[1][place] < FLAT:
            high = np.inf  # f is so large that labels have no noise, and a larger one changes nothing
        if self.constant and chosen is None:
            low = 1e-100  # f is so small beside the constant that observations do not depend on the points
        return intervals | {"amplitude": (low, high)}

    def search(self, objective: Objective, best: Array | None = None) -> Search:
        functions, number = self.likelihood.functions or 1, len(objective.y)
        part = functions ** (1 / 3)  # of several functions in the same time
        few = round(max(SUBSET, number // SHARE) / part)
        near = max(few, round(min(NEAR, number / 2) / part))
        data = affordable(functions, number)
        if data < number and best is not None and few_points_carry(objective, best, functions):
            data = affordable(functions, number, carried=True)
        starts, gain = (2, GAIN) if data == number else (1, ROUGH)  # of some data the exact maximum is of no use
        if functions > 1 and functions * data**3 > REDUCED:
            starts, gain = 1, max(gain, LOOSE)  # a second ascent would take as long again
        return Search(self._scan, self._scan_near, few, near, starts, data, gain)

    def _scan(self, objective: Objective, box: Array) -> list[Place]:
        """Loose values over a grid of times and prior variances, for each of the likelihood's starts."""
        law = self.likelihood
        starts = [start for start in law.starts if not start.keys().isdisjoint(law.free)]
        found: list[Place] = []
        for start in starts or [{}]:
            known = {name: law.in_unit(name, value) for name, value in start.items()}
            values = self._scan_near(objective, box, known)
            found += [max(values, key=lambda pair: pair[0])] if len(starts) > 1 else values
        return found

    def _scan_near(self, objective: Objective, box: Array, known: Mapping[str, float]) -> list[Place]:
        loose = replace(objective, inference=replace(self, options={"tolerance": 1e-2}))
        free = len(objective.given.free)
        return values_at(loose, start_points(box, free, objective.names[free:], known))

    def approximation(
        self, form: Any, values: Array, variance: float, y: Array, likelihood: Likelihood
    ) -> Approximation:
        """The normal law of f, from the values of the prior with the amplitude; `variance` is their mean."""
        values = form.plus_constant(values, likelihood.unit**2 + variance) if self.constant else values
        functions = likelihood.functions
        if functions is None:
            root = Economical.root(form, values) if self.economical else None
        else:  # one covariance for all functions, and of a low rank: not one for each function
            root = Root.of(values, len(values) // functions)

        def factorise(precision: Array) -> object:
            if precision.ndim == 1:
                return form.of(values, precision) if root is None else Economical.of(root.F, precision)
            if root is None:
                return Coupled.of(values, precision, y)
            return CoupledLowRank.of(root, precision, y)

        start = self.last[-1] if self.last else None
        found = self.method(factorise, likelihood, y, start=start, **self.options)
        self.last[:] = [found.sites]
        return found


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


def few_points_carry(objective: Objective, z: Array, functions: int) -> bool:
    """Whether so few points carry the covariance that functions need no matrices of their own."""
    values, _ = objective.prior.at(objective.given.times(z))
    return Root.of(values, len(values) // functions) is not None
