"""Normal noise of several outputs: at a time, the best amplitude and noise of each output.

At a time one eigendecomposition serves all outputs: with K = U diag(l) U' the covariance of column j of y is
a_j U diag(l + r_j) U', r_j = noise_j / a_j, and the best r_j is a search in one dimension on N eigenvalues. All columns
are searched at once. The derivative of the sum of their evidences in log time is that at fixed amplitudes and noises
(envelope theorem), tr(G dK) with one matrix G for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..covariance import Array
from .exact import Columns, columns_evidence, normal_log_density
from .factors import JITTER, LowRank, Spectrum
from .objective import Found, Inference, Objective, Search, scan_points, values_at
from .parameters import Given, Laws, Params
from .prior import Targets

SUBSET = 250
"""Data on which starts are looked for."""
TIMES = 12
"""Times scanned, for each free one."""
STARTS = 2
"""Scanned times that are followed."""
SPACING = 1.75
"""Distance of the log ratios that are scanned before the search goes on: seventeen between the usual bounds."""
NUMBERS = 1 << 20
"""Targets that are worked on at one time."""
ROUNDS = 60
"""Steps, at most, in the search for a log ratio; interpolation needs some ten."""


@dataclass(frozen=True)
class ExactOutputs(Inference):
    """Inference with normal noise of p outputs, the columns of y, at their best amplitudes and noises.

    No coordinates but the times are left: the best parameters of a column are a search of one number x, the log of
    noise / amplitude. The amplitude is given, the best one in closed form, or noise / exp(x) where the noise is given.

    Parameters
    ----------
    variance : two arrays (p,), the intervals of the prior variances.
    ratio : tuple, the interval of noise / prior variance.
    law : tuple, default None. The log medians (p,) of the prior variances, and their spread.
    """

    variance: tuple[Array, Array]
    ratio: tuple[float, float]
    law: tuple[Array, float] | None = None

    def names(self, given: Given, data: Targets) -> list[str]:
        """There are no coordinates after the times."""
        return []

    def of(self, columns: Any) -> ExactOutputs:
        """The same for some columns."""
        low, high = self.variance
        law = None if self.law is None else (self.law[0][columns], self.law[1])
        return replace(self, variance=(low[columns], high[columns]), law=law)

    def evidence(
        self, form: Any, values: Array, height: float, data: Targets, given: Given, at: dict[str, float], laws: Laws
    ) -> Found:
        """The sum of the evidences of all columns, with the priors of their parameters."""
        spectrum = Spectrum.of(form, values, height, data.noise)
        data = spectrum.rotated(data)
        best = [
            self.of(part)._best(spectrum, replace(data, y=data.y[:, part]), height, given, laws)
            for part in _blocks(data.y)
        ]
        amplitude, ratio = (
            np.concatenate([vars(found)[name] for found, *_ in best]) for name in ("amplitude", "ratio")
        )

        def derivatives(slopes: Sequence[Array]) -> tuple[Array, float, dict[str, float]]:
            number, in_height = len(data.y), 0.0
            outer = np.zeros((number, number))
            for found, _, floored in best:
                in_height -= float(found.in_amplitude.sum()) if given.amplitude is None else 0.0
                moves = given.noise is None or given.amplitude is None
                in_height += float(found.in_ratio.sum() if moves else found.in_ratio[floored].sum())
                if slopes:
                    of_basis = found.of_basis(data.basis).reshape(-1, number).T
                    root = np.hstack([found.weights / np.sqrt(found.amplitude), of_basis])
                    outer += root @ root.T
                    outer.flat[:: number + 1] -= found.inverse.sum(axis=1)
            turned = spectrum.scale[:, None] * spectrum.vectors
            G = 0.5 * (turned @ outer @ turned.T) if slopes else outer
            moved = [2 * np.vdot(G @ values, s) if form is LowRank else np.vdot(G, s) for s in slopes]
            return np.array(moved), in_height, {}

        noise = amplitude * ratio if given.noise is None else np.full(len(amplitude), given.noise)
        log_prior = self._log_prior(amplitude, noise, height, given, laws)
        value = float(sum(found.value.sum() for found, *_ in best))
        return Found(value, amplitude, noise, derivatives, log_prior)

    def log_prior(self, objective: Objective, params: Params) -> float:
        height = objective.prior.height(objective.prior.at(params.time)[0])
        return self._log_prior(params.amplitude, params.noise, height, objective.given, objective.laws)

    def _log_prior(self, amplitude: Array, noise: Array, height: float, given: Given, laws: Laws) -> float:
        """The log density of the priors of the amplitudes and noises that are learned."""
        value = 0.0
        if given.noise is None and "noise" in laws:
            value += float(laws["noise"].log_density(np.log(noise / amplitude / height)).sum())
        if given.amplitude is None and self.law is not None:
            value += float(normal_log_density(np.log(amplitude * height), *self.law)[0].sum())
        return value

    def prepared(self, objective: Objective) -> Objective:
        objective.y.check_freedom(objective.given.amplitude)
        return objective

    def informative(self, objective: Objective) -> Objective:
        """Without columns that do not vary, which say nothing of the time, whatever their evidence."""
        data = objective.y
        varies = data.varies
        if varies.all() or not varies.any():
            return objective
        return replace(objective, y=replace(data, y=data.y[:, varies]), inference=self.of(varies))

    def search(self, objective: Objective, best: Array | None = None) -> Search:
        number = len(objective.y)
        few = SUBSET if objective.given.free else number
        return Search(
            lambda some, box: values_at(some, scan_points(box, TIMES)),
            lambda near, box, _: values_at(near, scan_points(box, TIMES // 2)),
            few, few, STARTS, number,
        )  # fmt: skip

    def _best(
        self, spectrum: Spectrum, data: Targets, height: float, given: Given, laws: Laws
    ) -> tuple[Columns, Array, Array]:
        """The evidences at the best ratios, with their priors, and where the jitter is in the place of the noise."""
        log_height, p = np.log(height), data.y.shape[1]
        variance = tuple(side / height for side in self.variance)
        law = None if self.law is None else (self.law[0] - log_height, self.law[1])
        floor = JITTER * height / data.noise[0]

        def at(x: Array) -> tuple[Columns, Array, Array]:
            """The evidences at log ratios, the values with their priors, and the derivatives of these."""
            amplitude: Any = variance
            ratio = np.maximum(np.exp(x), floor)
            if given.amplitude is not None:
                amplitude = np.full(len(x), given.amplitude)
            elif given.noise:
                amplitude = given.noise / np.exp(x)
            found = columns_evidence(spectrum.eigenvalues, data, ratio, amplitude, law)
            value, slope = found.value, found.in_ratio
            if given.amplitude is None and law is not None:
                of_amplitude, in_amplitude = normal_log_density(np.log(found.amplitude), *law)
                value = value + of_amplitude
                slope = slope - in_amplitude if given.noise else slope
            if given.noise is None and "noise" in laws:
                value = value + laws["noise"].log_density(x - log_height)
                slope = slope + laws["noise"].slope(x - log_height)
            return found, value, slope - found.in_amplitude if given.amplitude is None and given.noise else slope

        if given.noise is None:
            low, high = (np.full(p, np.log(side) + log_height) for side in self.ratio)
        elif given.amplitude is None and given.noise > 0:
            high, low = (np.log(given.noise) - np.log(side) for side in variance)
        else:
            fixed = 0.0 if given.amplitude is None else given.noise / given.amplitude
            low = high = np.full(p, np.log(max(fixed, floor)))

        def quickly(x: Array) -> tuple[Array, Array]:
            """Values and derivatives; a ratio that all columns share is worked out once."""
            _, value, slope = at(x if np.ptp(x) else x[:1])
            return value, slope

        found, value, _ = at(maximum(quickly, low, high))
        return found, value, found.ratio <= floor


def _blocks(y: Array) -> Iterator[slice]:
    """Columns that are worked on at one time."""
    size = max(1, NUMBERS // len(y))
    return (slice(start, start + size) for start in range(0, y.shape[1], size))


def maximum(function: Any, low: Array, high: Array) -> Array:
    """The places of the largest values of p functions between bounds; `function` returns values and derivatives.

    The best of equally spaced places, and from there to the zero of the derivative by regula falsi (Illinois).

    Examples
    --------
    >>> maximum(lambda x: (-((x - 0.3) ** 2), -2 * (x - 0.3)), np.array([-4.0, 1.0]), np.array([4.0, 4.0])).round(6)
    array([0.3, 1. ])
    """
    count = 1 + int(np.ceil((high - low).max() / SPACING))
    if count == 1:
        return low
    steps = np.linspace(0, 1, count)
    values = np.stack([function(low + step * (high - low))[0] for step in steps])
    place = steps[np.argmax(values, axis=0)]
    left, right = (low + np.clip(place + side, 0, 1) * (high - low) for side in (-steps[1], steps[1]))
    at_left, at_right = function(left)[1], function(right)[1]
    inside = (at_left > 0) & (at_right < 0)
    ends = np.where(at_right >= 0, right, left)
    last = np.zeros(len(low))
    for _ in range(ROUNDS):
        middle = np.where(inside, (left * at_right - right * at_left) / np.where(inside, at_right - at_left, 1.0), ends)
        slope = function(middle)[1]
        if np.all(~inside | (np.abs(slope) < 1e-9) | (right - left < 1e-9)):
            break
        side = np.sign(slope)
        again = np.where(side == last, 0.5, 1.0)  # an end that stays counts half
        at_left, at_right = np.where(side > 0, slope, again * at_left), np.where(side > 0, again * at_right, slope)
        left, right, last = np.where(side > 0, middle, left), np.where(side > 0, right, middle), side
    return middle
