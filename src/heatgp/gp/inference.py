"""Likelihoods that are not normal: the log evidence from a normal factor, a site, in the place of each observation.

Sites are found by expectation propagation, or by a variational approximation where that does not converge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import NotConverged
from .approximation import Approximation, Factorise
from .coupled import Coupled
from .coupled_low_rank import CoupledLowRank
from .ep import check_precision, expectation_propagation
from .factors import PivotedLowRank
from .likelihood import Likelihood, NormalMixture
from .objective import (
    ROUGH,
    Found,
    Inference,
    Objective,
    Place,
    Search,
    best_of,
    diagonal_points,
    scan_points,
    values_at,
)
from .parameters import Given
from .pivoted import Root
from .prior import Targets
from .variational import variational
from .with_basis import WithBasis

SUBSET = 100  # data on which starts are looked for: each value is an inference
SHARE = 5  # of more data, one in so many
NEIGHBOURS = 400  # data near each other that are looked at, at least; but not more than half of all
TIMES = 8  # times scanned, for all together
VARIANCES = 2  # prior variances scanned
GAIN = 1e-7  # relative change of the evidence per datum at which the search ends
TOLERANCES = {"scan": 1e-2, "coarse": 1e-3, "search": 1e-4, "gradient": 1e-4, "curvature": 1e-4, "exact": 1e-8}
"""Of expectation propagation. The evidence is stationary in the sites: with 1e-4 it is right to 1e-8."""
LOOSE = 1e-5
"""The same where a search over several functions takes long: some hundredths of a nat are left."""
LARGE = 2.5e9
"""Functions times N³ up to which parameters of several functions are learned from all data: a search of 20 seconds."""
REDUCED = 5e8
"""The same for the data from which they are learned where all are too many."""
WIDE = 1e6
"""The variance of a prior that stands for a flat one, over the square of the unit of f.

Expectation propagation starts without sites, where a flat prior has no moments. The data are far more precise.
"""


def converging_ep(
    factorise: Factorise, likelihood: Likelihood, data: Targets, start: Array | None = None, **options: Any
) -> Approximation:
    """Expectation propagation; where it does not converge, a variational approximation, if the likelihood has one."""
    try:
        return expectation_propagation(factorise, likelihood, data.y, start, data.offset, **options)
    except NotConverged:
        if not isinstance(likelihood, NormalMixture):
            raise
    return variational(factorise, likelihood, data.y, data.offset)


@dataclass(frozen=True)
class Approximate(Inference):
    """Inference with any likelihood.

    The coordinates are the log of the prior variance and the logs of the likelihood's free parameters.

    In a search the gradient lacks what sites at their bound add to it, a few percent, and a covariance that few points
    carry is factored in these.
    """

    likelihood: Likelihood = field()

    def names(self, given: Given, y: Any) -> list[str]:
        """The names of the coordinates after the times."""
        return ["amplitude"] * (given.amplitude is None) + self.likelihood.free

    def scaled(self, objective: Objective, values: Array, mean_variance: float, at: dict[str, float]) -> Array:
        amplitude = self._variance(objective, mean_variance, at) / mean_variance
        return amplitude**objective.prior.form.power * values

    def _variance(self, objective: Objective, mean_variance: float, at: dict[str, float]) -> float:
        """The mean prior variance of f, without the constant."""
        amplitude = objective.given.amplitude
        return float(np.exp(at["amplitude"])) if amplitude is None else amplitude * mean_variance

    def evidence(self, objective: Objective, values: Array, mean_variance: float, at: dict[str, float]) -> Found:
        """The evidence at these coordinates."""
        data, given, form, free = objective.y, objective.given, objective.prior.form, self.likelihood.free
        variance, likelihood = self._variance(objective, mean_variance, at), self.likelihood_at(at)
        found = self.approximation(form, values, variance, data, likelihood)
        check_precision(free, found.precision, variance)

        def derivatives(slopes: Sequence[Array]) -> tuple[Array, float, dict[str, float]]:
            in_times = (variance / mean_variance) ** form.power * found.in_times(slopes)
            # how the log prior variances of the coefficients change with that of f
            follows = np.where(data.precision == 0, variance / (likelihood.unit**2 + variance), 0.0)
            follows *= not likelihood.flat_mean
            follows[len(follows) - data.of_f :] = 1.0
            if likelihood.functions is None:
                in_coefficients = found.factor.in_coefficients(found.shift)
                in_mean, in_prior = float(in_coefficients.sum()), float(in_coefficients @ follows)
            else:
                widths = 1.0 / coefficient_prior(likelihood, data, variance)[0]
                changes = [(data.basis * each) @ data.basis.T for each in (widths, follows * widths)]
                in_mean, in_prior = found.in_times(changes) if len(widths) else (0.0, 0.0)
            in_variance = found.in_amplitude - in_mean  # of f without the mean
            own = found.in_parameters
            if own is None and free:
                own = dict(zip(free, likelihood.in_parameters(data.y, *found.cavities, free)))
            in_mean_variance = -in_variance if given.amplitude is None else in_prior
            return in_times, in_mean_variance, {"amplitude": in_variance + in_prior} | dict(own or {})

        stationary = found.stationary or self.accuracy not in ("gradient", "curvature", "exact")
        return Found(found.log_evidence, variance / mean_variance, 0.0, derivatives, stationary=stationary)

    def search(self, objective: Objective, best: Array | None = None) -> Search:
        functions, number = self.likelihood.functions or 1, len(objective.y)
        part = functions ** (1 / 3)  # of several functions in the same time
        few = round(max(SUBSET, number // SHARE) / part)
        near = max(few, round(min(NEIGHBOURS, number / 2) / part))
        data = affordable(functions, number)
        if data < number and best is not None and few_points_carry(objective, best, functions):
            data = affordable(functions, number, carried=True)
        starts, gain = (2, GAIN) if data == number else (1, ROUGH)  # of some data the exact maximum is of no use
        if functions > 1 and functions * data**3 > REDUCED:
            starts, gain = 1, max(gain, LOOSE)  # a second ascent would take as long again
        return Search(few, near, starts, data, gain)

    def scan(self, objective: Objective, box: Array, known: Mapping[str, float] | None = None) -> list[Place]:
        """Values over a grid of times and prior variances, for each of the likelihood's starts, or at what is known."""
        free, likelihood = len(objective.given.free), self.likelihood
        starts = [start for start in likelihood.starts if not start.keys().isdisjoint(likelihood.free)] or [{}]
        in_unit = [{name: likelihood.in_unit(name, value) for name, value in start.items()} for start in starts]
        found: list[Place] = []
        for start in in_unit if known is None else [known]:
            places = start_points(box, free, objective.names[free:], start)
            values = values_at(objective.at("scan"), places)
            found += [best_of(values)] if known is None and len(starts) > 1 else values
        return found

    def approximation(
        self, form: Any, values: Array, variance: float, data: Targets, likelihood: Likelihood
    ) -> Approximation:
        """The normal distribution of f, from the values of the prior with the amplitude; `variance` is their mean."""
        factorise = self._of_one if likelihood.functions is None else self._of_several
        prior = factorise(form, values, variance, data, likelihood)
        start = self.sites[-1] if self.sites else None
        found = converging_ep(prior, likelihood, data, start, tolerance=TOLERANCES[self.accuracy])
        self.sites[:] = [found.sites]
        return found

    def _of_one(self, form: Any, values: Array, variance: float, data: Targets, likelihood: Likelihood) -> Factorise:
        root = None if self.accuracy == "exact" else PivotedLowRank.root(form, values)
        inner, flat = coefficient_prior(likelihood, data, variance)

        def factorise(precision: Array) -> WithBasis:
            alone = form.of(values, precision) if root is None else PivotedLowRank.of(root.F, precision)
            return WithBasis.of(alone, data.basis, inner, flat)

        return factorise

    def _of_several(
        self, form: Any, values: Array, variance: float, data: Targets, likelihood: Likelihood
    ) -> Factorise:
        """One covariance for all functions, and of a low rank: not one for each function."""
        values = values + (data.basis / coefficient_prior(likelihood, data, variance)[0]) @ data.basis.T
        root = Root.of(values, len(values) // (likelihood.functions or 1))
        if root is None:
            return lambda precision: Coupled.of(values, precision, data.y)
        return lambda precision: CoupledLowRank.of(root, precision, data.y)


def coefficient_prior(likelihood: Likelihood, data: Targets, variance: float) -> tuple[Array, Array]:
    """One over the prior variances of the coefficients of `data.basis`, and which of these stand for a flat prior.

    Columns without a prior of their own are orthonormal: times √N they have the mean square one, as a constant. Then
    their coefficients have the variance unit² + `variance` of f; or, where the prior is flat, one so wide that it is.
    For two classes the share of one, Phi(constant / √(1 + variance)), then has the uniform distribution. Coefficients
    of a `Trend` have a prior variance in units of `variance`.
    """
    unit = likelihood.unit**2
    own = len(data) * (WIDE * unit if likelihood.flat_mean else unit + variance)
    inner = np.where(data.precision == 0, 1.0 / own, data.precision)
    inner[len(inner) - data.of_f :] /= variance
    return inner, (data.precision == 0) & likelihood.flat_mean


def start_points(box: Array, free: int, names: list[str], start: Mapping[str, float]) -> list[Array]:
    """Where the search looks for times: all of a kernel together, with the values of `start` for what else is learned.

    What `start` does not name is in the middle of its interval, prior variances are at `VARIANCES` places.
    """
    values = dict(zip(names, box[free:].mean(axis=1, keepdims=True)))
    if "amplitude" in names:
        values["amplitude"] = scan_points(box[free : free + 1], VARIANCES + 2)[1:-1, 0]
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
