"""Normal noise: the log evidence in closed form, as a function of the parameters that are learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import NotPositiveDefinite
from .economical import factored
from .evidence import columns_evidence, evidence, normal_log_density
from .kernels import constant
from .linalg import JITTER, Dense, Diagonal
from .objective import Found, Inference, Objective
from .params import Given, Params
from .prior import Prior
from .priors import Laws, log_density
from .search import Place, Search, scan_points, values_at, worth_a_start
from .spectrum import Spectrum
from .targets import Targets

SUBSET = 250
"""Data on which starts are looked for: an eigendecomposition of this size takes some 4 ms."""
TIMES = 12
"""Times scanned, for each free one."""
OTHERS = 17
"""Values of the other parameters scanned at each time."""
STARTS = 3
"""Scanned places that are followed."""


@dataclass(frozen=True)
class Exact(Inference):
    """Inference with normal noise.

    The log of the noise over the prior variance is a coordinate, unless the noise is given. The log of the prior
    variance is one where the noise is given and positive, or coefficients of the mean have a prior that is not flat.
    Else the amplitude is given, or the best one, in closed form.

    Parameters
    ----------
    variance : tuple, the interval of the prior variance.
    profiled : bool, default True. False: an amplitude that is learned is always a coordinate.
    """

    variance: tuple[float, float]
    profiled: bool = True

    def names(self, given: Given, data: Targets) -> list[str]:
        """The names of the coordinates after the times."""
        closed = self.profiled and data.is_flat and not given.noise
        searched = given.amplitude is None and not closed
        return ["amplitude"] * searched + ["noise"] * (given.noise is None)

    def evidence(
        self, form: Any, values: Array, height: float, data: Targets, given: Given, at: dict[str, float], laws: Laws
    ) -> Found:
        """The evidence at these coordinates."""
        amplitude, ratio, law = self.scales(height, given, at, laws)
        ratios = ratio * data.noise
        floored, ratios = ratios < JITTER * height, np.maximum(ratios, JITTER * height)
        found = evidence(factored(form, values, 1.0 / ratios), ratios, data, amplitude, law)
        learned = given.amplitude is None

        def derivatives(slopes: Sequence[Array]) -> tuple[Array, float, dict[str, float]]:
            in_ratios = found.in_ratios
            in_ratio = float(in_ratios[~floored].sum())  # of the noise that is not the jitter
            in_height = float(in_ratios[floored].sum()) - (found.in_amplitude if learned else 0.0)
            in_height += in_ratio if learned or given.noise is None else 0.0
            in_variance = found.in_amplitude - (0.0 if given.noise is None else in_ratio)
            return found.in_times(slopes), in_height, {"noise": in_ratio, "amplitude": in_variance}

        noise = given.noise if given.noise is not None else float(np.exp(at["noise"])) * found.amplitude * height
        return Found(found.value, found.amplitude, noise, derivatives, float(_log_prior(law, found.amplitude)))

    def log_prior(self, objective: Objective, params: Params) -> float:
        """That of an amplitude that is learned and no coordinate."""
        if objective.given.amplitude is not None or "amplitude" in objective.names:
            return 0.0
        height = objective.prior.height(objective.prior.at(params.time)[0])
        return float(_log_prior(_law(height, objective.laws), params.amplitude))

    def prepared(self, objective: Objective) -> Objective:
        """Where every time is given, one eigendecomposition of all data is enough."""
        has_times = objective.given.free or objective.prior.form is not Dense
        return objective if has_times else spectral(objective, np.empty(0))

    def with_all_coordinates(self, objective: Objective) -> Objective:
        return replace(objective, inference=replace(self, profiled=False))

    def by_time(self, objective: Objective) -> Callable[[Array], float]:
        """One eigendecomposition for each of the times serves all amplitudes and noises."""
        if objective.prior.form is not Dense:
            return objective.value
        free, names = len(objective.given.free), objective.given.time_names
        kept: dict[bytes, Objective] = {}

        def value(z: Array) -> float:
            key = z[:free].tobytes()
            if key not in kept:
                kept[key] = spectral(objective, z[:free])
            return kept[key].value(z[free:]) + log_density(objective.laws, names, z[:free])[0]

        return value

    def search(self, objective: Objective, best: Array | None = None) -> Search:
        number = len(objective.y)
        few = SUBSET if objective.given.free else number
        return Search(
            lambda some, box: scanned(some, box, TIMES), lambda near, box, _: scanned(near, box, TIMES // 2), few, few,
            STARTS, number,
        )  # fmt: skip

    def scales(
        self, height: float, given: Given, at: dict[str, Any], laws: Laws
    ) -> tuple[Any, Any, tuple[float, float] | None]:
        """The amplitude, or its interval where the best is taken; noise / amplitude; and the prior of that best one.

        The prior is the log median and the spread, or None. Coordinates may be arrays.
        """
        if given.amplitude is not None:
            amplitude: Any = given.amplitude
        elif "amplitude" in at:
            amplitude = np.exp(at["amplitude"]) / height
        else:
            amplitude = (self.variance[0] / height, self.variance[1] / height)
        if given.noise is None:
            ratio = np.exp(at["noise"]) * height
        else:  # an amplitude that is still an interval has no noise beside it
            ratio = 0.0 if isinstance(amplitude, tuple) else given.noise / amplitude
        return amplitude, ratio, _law(height, laws) if isinstance(amplitude, tuple) else None


def _law(height: float, laws: Laws) -> tuple[float, float] | None:
    """The log median and the spread of the prior of the amplitude."""
    law = laws.get("amplitude")
    return None if law is None else (float(np.log(law.median) - np.log(height)), law.spread)


def _log_prior(law: tuple[float, float] | None, amplitude: Any) -> Any:
    """The log density of log amplitude; 0 without a prior."""
    return 0.0 if law is None else normal_log_density(np.log(amplitude), *law)[0]


def spectral(objective: Objective, z: Array) -> Objective:
    """The same at the times of z, in the basis of K's eigenvectors: one decomposition for all other parameters.

    The times are then given, and their priors no longer counted. Where the noise differs between data, their rows are
    first scaled so that it does not.
    """
    time = objective.given.times(z)
    values, _ = objective.prior.at(time)
    spectrum = Spectrum.of(objective.prior.form, values, objective.prior.height(values), objective.y.noise)
    fixed = replace(objective.given, time=tuple(np.atleast_1d(time).tolist()))
    prior = Prior(constant(spectrum.eigenvalues), Diagonal)
    return replace(objective, prior=prior, y=spectrum.rotated(objective.y), given=fixed)


def values_of_spectrum(objective: Objective, points: Array) -> Array:
    """The values of a `spectral` objective at points (M, coordinates), all at once.

    NotPositiveDefinite is raised where the covariance is not positive definite at one of them.
    """
    objective.calls.add(len(points))
    at, data = dict(zip(objective.names, points.T)), objective.y
    eigenvalues, _ = objective.prior.at(objective.given.times(points[0]))
    height = objective.prior.height(eigenvalues)
    assert isinstance(objective.inference, Exact)
    amplitude, ratio, law = objective.inference.scales(height, objective.given, at, objective.laws)
    ratio = np.maximum(np.broadcast_to(ratio, len(points)), JITTER * height / data.noise[0])
    if not isinstance(amplitude, tuple):
        amplitude = np.broadcast_to(amplitude, len(points))
    found = columns_evidence(eigenvalues, replace(data, y=data.y[:, None]), ratio, amplitude, law)
    of_priors = sum(objective.laws[name].log_density(x) for name, x in at.items() if name in objective.laws)
    return found.value + _log_prior(law, found.amplitude) + of_priors


def scanned(objective: Objective, box: Array, count: int) -> list[Place]:
    """The best other coordinates at each scanned time, and their values: one eigendecomposition for each time."""
    free, found = len(objective.given.free), []
    for times in scan_points(box[:free], count):
        at_times = spectral(objective, times) if free else objective
        value, others = _best_of(at_times, scan_points(box[free:], OTHERS))
        of_times, _ = log_density(objective.laws, objective.given.time_names, times)
        found.append((value + of_times, np.concatenate([times, others])))
    return worth_a_start(found) if free == 1 else found


def _best_of(objective: Objective, points: Array) -> Place:
    """The best of some points, and its value; those of a diagonal covariance at once, where they can be."""
    if objective.prior.form is Diagonal:
        with suppress(NotPositiveDefinite):
            values = values_of_spectrum(objective, points)
            return float(values.max()), points[np.argmax(values)]
    return max(values_at(objective, points), key=lambda pair: pair[0])
