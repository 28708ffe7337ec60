"""The evidences of several columns of targets at one time, as a function of the time alone.

At a time one eigendecomposition serves all columns: with K = U diag(l) U' the covariance of column j is
a_j U diag(l + r_j) U', r_j = noise_j / a_j, and the best r_j is a search in one dimension on N eigenvalues. All columns
are searched at once. The derivative of the sum of their evidences in log time is that at fixed amplitudes and noises
(envelope theorem), tr(G dK) with one matrix G for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..covariance import Array
from .count import Count
from .latent import CHUNK
from .linalg import JITTER, LowRank, not_positive_definite
from .params import Given, Params, Time
from .prior import Prior
from .priors import Laws, log_density
from .regression import best_amplitude
from .spectrum import Spectrum
from .targets import Targets

SPACING = 1.75
"""Distance of the log ratios that are scanned before the search goes on: seventeen between the usual bounds."""
ROUNDS = 60
"""Steps, at most, in the search for a log ratio; interpolation needs some ten."""


@dataclass(frozen=True)
class OutputParams:
    """The parameters of several outputs: as `Params`, with one amplitude and one noise for each."""

    time: Time
    amplitude: Array  # (p,)
    noise: Array  # (p,)

    def __getitem__(self, column: int) -> Params:
        """The parameters of one output."""
        return Params(self.time, float(self.amplitude[column]), float(self.noise[column]))


@dataclass(frozen=True)
class Columns:
    """The evidences of p columns in the coordinates of a `Spectrum` and their derivatives; as `regression.Evidence`."""

    value: Array  # (p,)
    amplitude: Array  # (p,)
    ratio: Array  # (p,)
    inverse: Array  # (N, p), the eigenvalues of M_j^-1
    weights: Array  # (N, p), M_j^-1 (y_j - H c_j)
    coefficients: Array  # (q, p)
    lower: Array  # (p, q, q)
    in_amplitude: Array  # (p,)
    in_ratio: Array  # (p,)

    def of_basis(self, basis: Array) -> Array:
        """V_j = M_j^-1 H L_j'^-1, (p, q, N)."""
        return np.linalg.solve(self.lower, (self.inverse.T[:, None, :] * basis.T))


def columns_evidence(
    eigenvalues: Array,
    data: Targets,
    ratio: Array,
    amplitude: Array | tuple[Array, Array],
    law: tuple[Array | float, float] | None = None,
) -> Columns:
    """As `regression.evidence` of each column, with covariance amplitude_j * (diag(eigenvalues) + ratio_j I).

    `amplitude` is given, (p,), or an interval of which the best is taken; `law` has the log medians (p,) and the spread
    of its prior. A `ratio` (1,) is that of all columns.
    """
    (n, q), H = data.basis.shape, data.basis
    shifted = eigenvalues[:, None] + ratio * data.noise[0]
    if not shifted.min() > 0:
        raise not_positive_definite(n, float((shifted / ratio).min()))
    inverse = 1.0 / shifted
    inner = np.zeros((1, q)) if isinstance(amplitude, tuple) else amplitude[:, None] * data.precision
    A = _products(H, inverse) + inner[:, :, None] * np.eye(q)
    try:
        lower = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise not_positive_definite(n, float(np.linalg.eigvalsh(A).min())) from None
    coefficients = np.linalg.solve(A, (H.T @ (inverse * data.y)).T[:, :, None])[:, :, 0].T
    rest = data.y - H @ coefficients
    weights = inverse * rest
    quadratic = np.einsum("ij,ij->j", rest, weights)
    best = best_amplitude(quadratic, data.freedom, amplitude, law) if isinstance(amplitude, tuple) else amplitude
    log_det = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - np.log(inverse).sum(axis=0)
    of_prior = data.precision @ coefficients**2 - np.log(data.precision[data.precision > 0]).sum()
    logs = data.freedom * np.log(2 * np.pi) + (n - q) * np.log(best)
    value = data.log_volume - 0.5 * (quadratic / best + of_prior + log_det + logs)
    of_basis = np.trace(np.linalg.solve(A, _products(H, inverse**2)), axis1=1, axis2=2)
    shrunk = np.trace(np.linalg.solve(A, inner[:, :, None] * np.eye(q)), axis1=1, axis2=2) if inner.any() else 0.0
    in_amplitude = 0.5 * (quadratic / best - n + q - shrunk)
    curvature = np.einsum("ij,ij->j", weights, weights) / best + of_basis - inverse.sum(axis=0)
    in_ratio = 0.5 * ratio * data.noise[0] * curvature
    return Columns(value, best, ratio, inverse, weights, coefficients, lower, in_amplitude, in_ratio)


def _products(H: Array, weights: Array) -> Array:
    """H' diag(w) H for each column w of the weights, (p, q, q)."""
    (n, q), p = H.shape, weights.shape[1]
    if q > p:
        return (weights.T[:, None, :] * H.T) @ H
    squares = (H[:, :, None] * H[:, None, :]).reshape(n, q * q)
    return (squares.T @ weights).T.reshape(p, q, q)


@dataclass(frozen=True)
class ColumnsObjective:
    """The sum over p columns of the log posterior density at their best amplitude and noise, a function of log times.

    For one column more than its time is a search of one number x, the log of noise / amplitude: the amplitude is given,
    the best one in closed form, or noise / exp(x) where the noise is given.
    """

    prior: Prior
    y: Targets  # y is (N, p)
    given: Given
    variance: tuple[Array, Array]  # (p,) each, the intervals of the prior variances
    ratio: tuple[float, float]  # the interval of noise / prior variance
    laws: Laws = field(default_factory=dict)  # of times and of noise / prior variance
    amplitude_law: tuple[Array, float] | None = None  # log medians (p,) of the prior variances, and their spread
    calls: Count = field(default_factory=Count)  # shared by what is made of this objective

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""
        return self.given.time_names

    def some(self, columns: Array) -> ColumnsObjective:
        """The same for some columns; for all where none is chosen."""
        if columns.all() or not columns.any():
            return self
        law = None if self.amplitude_law is None else (self.amplitude_law[0][columns], self.amplitude_law[1])
        low, high = self.variance
        data = replace(self.y, y=self.y.y[:, columns])
        return replace(self, y=data, variance=(low[columns], high[columns]), amplitude_law=law)

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The log posterior density and its gradient."""
        self.calls.add()
        given = self.given
        values, slopes = self.prior.at(given.times(z), given.free)
        height, spectrum = self.prior.height(values), Spectrum.of(self.prior, values, self.y.noise)
        data = spectrum.rotated(self.y)
        total, in_height = 0.0, 0.0
        number = len(data.y)
        outer = np.zeros((number, number))
        for columns in self._blocks():
            found, value, floored = self._best(spectrum, data, height, columns)
            total += float(value.sum())
            in_height -= float(found.in_amplitude.sum()) if given.amplitude is None else 0.0
            moves = given.noise is None or given.amplitude is None
            in_height += float(found.in_ratio.sum() if moves else found.in_ratio[floored].sum())
            if slopes:
                root = np.hstack(
                    [
                        found.weights / np.sqrt(found.amplitude),
                        found.of_basis(data.basis).reshape(-1, number).T,
                    ]
                )
                outer += root @ root.T
                outer.flat[:: number + 1] -= found.inverse.sum(axis=1)
        of_times, gradient = log_density(self.laws, self.names, z)
        if slopes:
            turned = spectrum.scale[:, None] * spectrum.vectors
            G = 0.5 * (turned @ outer @ turned.T)
            moved = [2 * np.vdot(G @ values, s) if self.prior.form is LowRank else np.vdot(G, s) for s in slopes]
            gradient = gradient + moved + in_height * self.prior.height_slopes(values, slopes)
        return total + of_times, gradient

    def value(self, z: Array) -> float:
        """The log posterior density alone."""
        return self(z)[0]

    def params(self, z: Array) -> OutputParams:
        """The parameters at these log times."""
        time = self.given.times(z)
        values, _ = self.prior.at(time)
        height, spectrum = self.prior.height(values), Spectrum.of(self.prior, values, self.y.noise)
        data = spectrum.rotated(self.y)
        found = [self._best(spectrum, data, height, columns)[0] for columns in self._blocks()]
        amplitude, ratio = (np.concatenate([vars(f)[name] for f in found]) for name in ("amplitude", "ratio"))
        noise = amplitude * ratio if self.given.noise is None else np.full(len(amplitude), self.given.noise)
        return OutputParams(time, amplitude, noise)

    def log_prior(self, z: Array, params: OutputParams) -> float:
        """The log density of all priors at these log times and their parameters."""
        value, _ = log_density(self.laws, self.names, z)
        height = self.prior.height(self.prior.at(params.time)[0])
        if self.given.noise is None and "noise" in self.laws:
            value += float(self.laws["noise"].log_density(np.log(params.noise / params.amplitude / height)).sum())
        if self.given.amplitude is None and self.amplitude_law is not None:
            value += float(normal_log_density(np.log(params.amplitude * height), *self.amplitude_law)[0].sum())
        return value

    def _blocks(self) -> Iterator[slice]:
        """Columns that are worked on at one time."""
        size = max(1, CHUNK // 4 // len(self.y))
        return (slice(start, start + size) for start in range(0, self.y.y.shape[1], size))

    def _best(self, spectrum: Spectrum, data: Targets, height: float, columns: slice) -> tuple[Columns, Array, Array]:
        """The evidences at the best ratios, with their priors, and where the jitter is in the place of the noise."""
        given, log_height = self.given, np.log(height)
        data = replace(data, y=data.y[:, columns])
        p = data.y.shape[1]
        variance = tuple(side[columns] / height for side in self.variance)
        law = (
            None if self.amplitude_law is None else (self.amplitude_law[0][columns] - log_height, self.amplitude_law[1])
        )
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
            if given.noise is None and "noise" in self.laws:
                value = value + self.laws["noise"].log_density(x - log_height)
                slope = slope + self.laws["noise"].slope(x - log_height)
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


def normal_log_density(z: Array, center: Array | float, spread: float) -> tuple[Array, Array]:
    """The log density of normal laws and its derivative."""
    units = (z - center) / spread
    return -0.5 * units**2 - np.log(spread * np.sqrt(2 * np.pi)), -units / spread


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
