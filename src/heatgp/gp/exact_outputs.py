"""Normal noise of several outputs: at a time, the best amplitude and noise of each output.

At a time one eigendecomposition serves all outputs: with K = U diag(l) U' the covariance of column j of y is
a_j U diag(l + r_j) U', r_j = noise_j / a_j, and the best r_j is a search in one dimension on N eigenvalues. All columns
are searched at once. The derivative of the sum of their evidences in log time is that at fixed amplitudes and noises
(envelope theorem), tr(G dK) with one matrix G for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ..covariance import Array
from .exact import TIMES, Columns, columns_at, in_log_mean_variance, search_of
from .factors import JITTER, LowRank, Spectrum
from .objective import Found, Inference, Objective, Place, Search, scan_points, values_at
from .parameters import Given
from .prior import Targets

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

    No coordinates but the times are left. What is one of `Exact`, the log of the noise over the prior variance, or of
    the prior variance where the noise is given, is searched for each column. The amplitude is else given, or the best
    one in closed form.

    Parameters
    ----------
    size : array (p,). Priors of the prior variances are relative to it.
    """

    size: Array = field(kw_only=True)

    def names(self, given: Given, data: Targets) -> list[str]:
        """There are no coordinates after the times."""
        return []

    def evidence(self, objective: Objective, values: Array, mean_variance: float, at: dict[str, float]) -> Found:
        """The sum of the evidences of all columns, with the priors of their parameters."""
        form, given = objective.prior.form, objective.given
        spectrum = Spectrum.of(form, values, mean_variance, objective.y.noise)
        data = spectrum.rotated(objective.y)
        rotated = replace(objective, y=data)
        best = [_best(columns(rotated, part), spectrum.eigenvalues, mean_variance) for part in _blocks(data.y)]
        amplitude, ratio = (
            np.concatenate([vars(found)[name] for found, *_ in best]) for name in ("amplitude", "ratio")
        )

        def derivatives(slopes: Sequence[Array]) -> tuple[Array, float, dict[str, float]]:
            number, in_mean_variance = len(data.y), 0.0
            outer = np.zeros((number, number))
            for found, _, floored in best:
                in_mean_variance += in_log_mean_variance(given, found.in_amplitude, found.in_ratio, floored)
                if slopes:
                    of_basis = found.of_basis(data.basis).reshape(-1, number).T
                    root = np.hstack([found.weights / np.sqrt(found.amplitude), of_basis])
                    outer += root @ root.T
                    outer.flat[:: number + 1] -= found.inverse.sum(axis=1)
            turned = spectrum.scale[:, None] * spectrum.vectors
            G = 0.5 * (turned @ outer @ turned.T) if slopes else outer
            moved = [2 * np.vdot(G @ values, s) if form is LowRank else np.vdot(G, s) for s in slopes]
            return np.array(moved), in_mean_variance, {}

        noise = amplitude * ratio if given.noise is None else np.full(len(amplitude), given.noise)
        value = float(sum(found.value.sum() for found, *_ in best))
        log_prior = float(sum((posterior - found.value).sum() for found, posterior, _ in best))
        return Found(value, amplitude, noise, derivatives, log_prior)

    def search(self, objective: Objective, best: Array | None = None) -> Search:
        return search_of(objective, STARTS)

    def scan(self, objective: Objective, box: Array, known: Mapping[str, float] | None = None) -> list[Place]:
        return values_at(objective, scan_points(box, TIMES if known is None else TIMES // 2))


def columns(objective: Objective, some: Any) -> Objective:
    """The objective of some of several outputs."""
    intervals, data = dict(objective.intervals), objective.y
    if "amplitude" in intervals:
        low, high = intervals["amplitude"]
        intervals["amplitude"] = low[some], high[some]
    inference = cast(ExactOutputs, objective.inference)
    inference = replace(inference, size=inference.size[some])
    return replace(objective, y=replace(data, y=data.y[:, some]), intervals=intervals, inference=inference)


def varying(objective: Objective) -> Objective:
    """The objective without outputs that do not vary, which say nothing of the time, whatever their evidence."""
    varies = objective.y.varies
    return objective if varies.all() or not varies.any() else columns(objective, varies)


def _best(objective: Objective, eigenvalues: Array, mean_variance: float) -> tuple[Columns, Array, Array]:
    """The evidences of columns at their best parameters, with their priors, and where noise is below the jitter.

    y is in the basis of the eigenvectors of the covariance.
    """
    given, data, inference = objective.given, objective.y, cast(ExactOutputs, objective.inference)
    size, x = inference.size, np.zeros(data.y.shape[1])
    name = "noise" if given.noise is None else "amplitude" if given.amplitude is None and given.noise else ""
    prior, shift = objective.priors.get(name), np.log(size) if name == "amplitude" else 0.0

    def values_and_slopes(x: Array) -> tuple[Array, Array]:
        """At the logs of the parameter; where all columns share it, it is worked out once."""
        x = x if np.ptp(x) else x[:1]
        found, values = columns_at(objective, eigenvalues, mean_variance, {name: x}, size)
        slopes = found.in_ratio if name == "noise" else found.in_amplitude - found.in_ratio
        return values, slopes if prior is None else slopes + prior.slope(x - shift)

    if name:
        low, high = (np.broadcast_to(np.log(side), len(x)) for side in objective.intervals[name])
        x = maximum(values_and_slopes, low, high)
    found, values = columns_at(objective, eigenvalues, mean_variance, {name: x}, size)
    return found, values, found.ratio <= JITTER * mean_variance / data.noise[0]


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
