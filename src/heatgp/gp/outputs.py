"""Several outputs: one kernel and one time, and for each column of y its own amplitude, noise and mean.

At a time one eigendecomposition serves all columns: with K = U diag(l) U' the covariance of column j is
a_j U diag(l + r_j) U', r_j = noise_j / a_j, and the best r_j is a search in one dimension on N eigenvalues. All columns
are searched at once. The derivative of the sum of their evidences in log time is that at fixed amplitudes and noises
(envelope theorem), tr(G dK) with one matrix G for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import generator
from ..cost import check_memory
from ..covariance import Array, Kernel
from ..errors import BoundWarning, InvalidInput, Unsupported, warn
from .count import Count
from .fit import (
    NEGLIGIBLE,
    SUBSET,
    TIMES,
    TOUCHING,
    Bounds,
    Fit,
    box_of,
    finished,
    some_of,
    time_intervals,
)
from .latent import CHUNK, checked_noise
from .linalg import JITTER, LowRank, draw, not_positive_definite
from .params import Given, Params, Time
from .prior import Pairs, Prior
from .priors import WEAK_AMPLITUDE, WEAK_NOISE, Laws, LogNormal, Priors, checked_priors, laws_of, log_density
from .regression import best_amplitude
from .search import attempt, climb, scan_points
from .spectrum import Spectrum
from .targets import Mean, MeanBasis, Targets, targets
from .threads import of_data, of_posterior

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
    law: tuple[Array, float] | None = None,
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
    products = (H[:, :, None] * H[:, None, :]).reshape(n, q * q)
    inner = np.zeros((1, q)) if isinstance(amplitude, tuple) else amplitude[:, None] * data.precision
    A = (products.T @ inverse).T.reshape(inverse.shape[1], q, q) + inner[:, :, None] * np.eye(q)
    lower = np.linalg.cholesky(A)
    coefficients = np.linalg.solve(A, (H.T @ (inverse * data.y)).T[:, :, None])[:, :, 0].T
    rest = data.y - H @ coefficients
    weights = inverse * rest
    quadratic = np.einsum("ij,ij->j", rest, weights)
    best = best_amplitude(quadratic, data.freedom, amplitude, law) if isinstance(amplitude, tuple) else amplitude
    log_det = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - np.log(inverse).sum(axis=0)
    of_prior = data.precision @ coefficients**2 - np.log(data.precision[data.precision > 0]).sum()
    logs = data.freedom * np.log(2 * np.pi) + (n - q) * np.log(best)
    value = data.log_volume - 0.5 * (quadratic / best + of_prior + log_det + logs)
    squares = (products.T @ inverse**2).T.reshape(inverse.shape[1], q, q)
    of_basis = np.trace(np.linalg.solve(A, squares), axis1=1, axis2=2)
    shrunk = np.trace(np.linalg.solve(A, inner[:, :, None] * np.eye(q)), axis1=1, axis2=2) if inner.any() else 0.0
    in_amplitude = 0.5 * (quadratic / best - n + q - shrunk)
    curvature = np.einsum("ij,ij->j", weights, weights) / best + of_basis - inverse.sum(axis=0)
    in_ratio = 0.5 * ratio * data.noise[0] * curvature
    return Columns(value, best, ratio, inverse, weights, coefficients, lower, in_amplitude, in_ratio)


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

    def log_prior(self, z: Array) -> float:
        """The log density of all priors at these log times and the best of the rest."""
        value, _ = log_density(self.laws, self.names, z)
        params = self.params(z)
        height = self.prior.height(self.prior.at(params.time)[0])
        if self.given.noise is None and "noise" in self.laws:
            value += float(self.laws["noise"].log_density(np.log(params.noise / params.amplitude / height)).sum())
        if self.given.amplitude is None and self.amplitude_law is not None:
            value += float(_log_normal(np.log(params.amplitude * height), *self.amplitude_law)[0].sum())
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
                of_amplitude, in_amplitude = _log_normal(np.log(found.amplitude), *law)
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


def _log_normal(z: Array, center: Array, spread: float) -> tuple[Array, Array]:
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


@of_data
def fit_outputs(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    bounds: Bounds,
    given: Given,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    priors: Priors | str | None = None,
    noise_scale: ArrayLike | None = None,
    coefficient_scale: ArrayLike | None = None,
) -> Fit:
    """The time of the greatest sum of the evidences of all columns of y, and the amplitude and noise of each.

    Parameters
    ----------
    y : array (N, p) of real targets.
    kernel, X, bounds, given, mean, pairs, priors, noise_scale, coefficient_scale : as in `fit_regression`; what is
        given holds for all columns.

    Returns
    -------
    Fit, its `params` are OutputParams. A BoundWarning names the parameters that sit on a bound.

    Raises
    ------
    InvalidInput : if a value or an interval is not possible, or a prior has no mass on its interval.
    Unsupported : if amplitude and noise are both learned beside a `coefficient_scale`.
    """
    data, _ = targets(X, y, mean, noise_scale, coefficient_scale)
    check_memory(8.0 * 6 * len(data) ** 2, f"The eigenvectors of {len(data):,} points", "Give fewer points.")
    intervals, middle = time_intervals(kernel, bounds, given)
    if data.freedom < 1 and given.amplitude is None:
        raise InvalidInput(
            f"the mean has as many coefficients as there are rows of targets, {len(data)}: nothing is left to learn "
            "variances from. Give amplitude, or a mean."
        )
    if not data.is_flat and given.amplitude is None and not given.noise:
        raise Unsupported(
            "coefficient_scale with several outputs whose amplitude and noise are both learned. Give one of them, or "
            "leave coefficient_scale None, or fit one model for each column."
        )
    size = np.square(data.start).sum(axis=0) / len(data)
    scale = np.maximum(np.square(data.y).sum(axis=0) / max(data.freedom, 1), 1e-24 * size)
    scale = np.where(scale > 0, scale, 1e-24)
    low, high = bounds.amplitude or (1e-6 * scale, 1e6 * scale)
    variance = np.broadcast_to(low, scale.shape), np.broadcast_to(high, scale.shape)
    unit = data.typical_noise
    ratio, typical = (bounds.noise[0] / unit, bounds.noise[1] / unit), 0.1 / unit
    if given.amplitude is not None and given.noise is None:
        typical *= float(np.exp(np.log(scale).mean())) / (given.amplitude * float(np.mean(kernel.diag(X, middle))))
        ratio = ratio[0], max(ratio[1], 1e4 * typical * float(scale.max() / scale.min()))
    learned = dict(intervals)
    if given.noise is None:
        learned["noise"] = ratio
    if given.amplitude is None:
        learned["amplitude"] = float(variance[0].min()), float(variance[1].max())
    laws = laws_of(checked_priors(priors), learned, kernel, {"noise": LogNormal(typical, WEAK_NOISE)})
    amplitude_law = (np.log(np.clip(scale, *variance)), WEAK_AMPLITUDE) if isinstance(priors, str) else None
    if law := laws.pop("amplitude", None):
        amplitude_law = np.full(len(scale), np.log(law.median)), law.spread
    full = ColumnsObjective(Prior.of(kernel, X, middle, pairs), data, given, variance, ratio, laws, amplitude_law)
    # a column without variation says nothing of the time, whatever its evidence
    varying = full.some(np.square(data.y).sum(axis=0) > 1e-24 * size * data.freedom)
    coarse = some_of(varying, kernel, X, middle, SUBSET) if given.free else varying
    box = box_of(full, intervals)
    scanned = [(attempt(coarse, times)[0], times) for times in scan_points(box, TIMES)]
    found = climb(coarse, varying, scanned, box, 2)
    fit = finished(kernel, full, [(full(times)[0], times) for _, times in found[:1]], intervals)
    return replace(fit, on_bound=fit.on_bound + _warned(full, fit.params))


def _warned(objective: ColumnsObjective, params: Any) -> tuple[str, ...]:
    """The names of amplitude and noise where those of some columns sit on a bound, with one warning for all."""
    height = objective.prior.height(objective.prior.at(params.time)[0])
    variance, found = params.amplitude * height, {}
    if objective.given.amplitude is None:
        low, high = objective.variance
        found["amplitude"] = (np.abs(variance / low - 1) < TOUCHING) | (np.abs(variance / high - 1) < TOUCHING)
    if objective.given.noise is None:
        least, most = objective.ratio
        at_least = (np.abs(params.noise / variance / least - 1) < TOUCHING) & (least > NEGLIGIBLE["noise"])
        found["noise / prior variance"] = at_least | (np.abs(params.noise / variance / most - 1) < TOUCHING)
    found = {name: np.flatnonzero(sits) for name, sits in found.items() if sits.any()}
    if found:
        texts = [
            f"{name} sits on a bound in {len(at)} outputs, the first is column {at[0]}" for name, at in found.items()
        ]
        warn(f"{'; '.join(texts)}: the data do not determine it. Give it a value.", BoundWarning)
    return tuple(name.split()[0] for name in found)


@of_data
def condition_outputs(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    params: Any,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    noise_scale: ArrayLike | None = None,
    noise_is_known: bool = False,
    coefficient_scale: ArrayLike | None = None,
) -> OutputsPosterior:
    """The posterior of f given y = f(X) + noise, for each column of y.

    Parameters
    ----------
    y : array (N, p) of real targets.
    params : OutputParams, or Params, which are then those of all columns.
    kernel, X, mean, pairs, noise_scale, noise_is_known, coefficient_scale : as in `condition`.

    Returns
    -------
    OutputsPosterior.
    """
    data, basis = targets(X, y, mean, noise_scale, coefficient_scale)
    p = data.y.shape[1]
    amplitude, noise = (np.broadcast_to(value, (p,)).astype(float) for value in (params.amplitude, params.noise))
    params = OutputParams(params.time, amplitude, noise)
    options = {
        "mean": mean,
        "noise_scale": noise_scale,
        "noise_is_known": noise_is_known,
        "coefficient_scale": coefficient_scale,
    }
    prior = Prior.of(kernel, X, params.time, pairs)
    values, _ = prior.at(params.time)
    spectrum = Spectrum.of(prior, values, data.noise)
    rotated = spectrum.rotated(data)
    ratio = np.maximum(noise / amplitude, JITTER * prior.height(values) / rotated.noise[0])
    found = columns_evidence(spectrum.eigenvalues, rotated, ratio, amplitude)
    return OutputsPosterior(
        kernel, X, np.asarray(y, dtype=float), params, spectrum, found, rotated.basis, data.known, basis,
        data.start + found.coefficients, noise_is_known, options,
    )  # fmt: skip


@dataclass(frozen=True)
class OutputsPosterior:
    """A Gaussian process for each of p outputs, which have seen data; as `regression.Posterior`.

    Arrays have one more axis, the last, of the outputs: means and variances are (M, p), covariances (M, M, p).
    """

    kernel: Kernel
    X: Any
    y: Array
    params: OutputParams
    spectrum: Spectrum
    columns: Columns
    columns_of_basis: Array  # (N, q), the basis in the coordinates of the spectrum
    offset: float
    basis: MeanBasis
    inner: Array  # (q, p)
    noise_is_known: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def log_marginal_likelihood(self) -> float:
        """The sum of the log evidences of all outputs."""
        return float(self.columns.value.sum())

    @property
    def coefficients(self) -> Array:
        """The posterior means of the coefficients of the basis functions, (q, p)."""
        return self.basis.transform @ self.inner

    @property
    def coefficient_errors(self) -> Array:
        """The posterior standard deviations of the coefficients, (q, p)."""
        root = np.linalg.solve(self.columns.lower, self.basis.transform.T)
        return np.sqrt(self.params.amplitude * np.square(root).sum(axis=1).T)

    def again(self, kernel: Kernel, params: Any, pairs: Pairs = None) -> OutputsPosterior:
        """The posterior of the same data with another kernel, or other parameters."""
        return condition_outputs(kernel, self.X, self.y, params, pairs=pairs, **self.options)

    def with_basis(self, values: Array) -> Self:
        """The same, for new points at which the basis functions of the mean have these values, (M, q)."""
        return replace(self, basis=replace(self.basis, values=values))

    @of_posterior
    def mean(self, Xnew: Any) -> Array:
        """The means of f."""
        parts = [self._cross(points) @ self.columns.weights for points in self._chunks(Xnew)]
        return (
            self.offset + self.basis.at(Xnew) @ self.inner + np.concatenate([np.empty((0, len(self.inner.T))), *parts])
        )

    def variance(self, Xnew: Any, noise: Any = False) -> Array:
        """The variances, never negative."""
        return self.moments(Xnew, noise)[1]

    @of_posterior
    def moments(self, Xnew: Any, noise: Any = False) -> tuple[Array, Array]:
        """Means and variances; `noise` as in `Latent.moments`."""
        columns, added, found = self.basis.at(Xnew), self._noise(Xnew, noise), self.columns
        empty = np.empty((0, len(self.inner.T)))
        means, variances, start = [empty], [empty], 0
        for points in self._chunks(Xnew):
            cross, h = self._cross(points), columns[start : start + len(points)]
            start += len(points)
            means.append(cross @ found.weights + h @ self.inner)
            prior = self.kernel.diag(points, self.params.time)[:, None]
            explained = np.maximum(prior - np.square(cross) @ found.inverse, 0.0)
            unseen = self._unseen(cross, h)
            variances.append(self.params.amplitude * (explained + np.square(unseen).sum(axis=1).T))
        return self.offset + np.concatenate(means), np.concatenate(variances) + added

    @of_posterior
    def covariance(self, Xnew: Any, noise: Any = False) -> Array:
        """The covariances of all pairs, (M, M, p)."""
        number, p = len(Xnew), len(self.inner.T)
        columns, added = self.basis.at(Xnew), self._noise(Xnew, noise)
        check_memory(8.0 * (p + 4) * number**2, f"The covariance of {number:,} points", "Ask for fewer points at once.")
        cross, prior = self._cross(Xnew), self.kernel.pairs(Xnew).at(self.params.time).value
        unseen, out = self._unseen(cross, columns), np.empty((number, number, p))
        for j in range(p):
            covariance = prior - (cross * self.columns.inverse[:, j]) @ cross.T + unseen[j].T @ unseen[j]
            covariance = self.params.amplitude[j] * (covariance + covariance.T) / 2
            covariance.flat[:: number + 1] = np.maximum(np.diagonal(covariance), 0.0)
            out[:, :, j] = covariance
        out[np.arange(number), np.arange(number)] += added
        return out

    @of_posterior
    def sample(self, Xnew: Any, rng: Any, size: int = 1, noise: Any = False) -> Array:
        """`size` functions drawn from the posterior, at Xnew: (size, M, p)."""
        rng = generator(rng)
        means, covariances = self.mean(Xnew), self.covariance(Xnew, noise)
        return np.stack([draw(means[:, j], covariances[:, :, j], rng, size) for j in range(means.shape[1])], axis=2)

    @of_posterior
    def loo(self) -> tuple[Array, Array]:
        """Means and variances of each observation given all others, (N, p); as `Posterior.loo`."""
        turned = self.spectrum.scale[:, None] * self.spectrum.vectors
        R = np.square(turned) @ self.columns.inverse
        of_basis = self.columns.of_basis(self.columns_of_basis) @ turned.T  # (p, q, N)
        Q = R - np.square(of_basis).sum(axis=1).T
        if not np.all(Q > 1e-12 * R):
            raise InvalidInput(
                f"leave-one-out of N = {len(Q)} points: without one of them the coefficients of the mean have no "
                "estimate. Give more points than there are coefficients."
            )
        return self.y - (turned @ self.columns.weights) / Q, self.params.amplitude / Q

    def _unseen(self, cross: Array, columns: Array) -> Array:
        """What data say nothing of the basis at new points, whitened: (p, q, M)."""
        weights = self.columns.inverse.T[:, None, :] * self.columns_of_basis.T  # (p, q, N)
        return np.linalg.solve(self.columns.lower, columns.T - weights @ cross.T)

    def _noise(self, Xnew: Any, noise: Any) -> Any:
        """The variances of the noise at new points: (p,), or (M, 1)."""
        found = checked_noise(len(Xnew), noise, self.params.noise, self.noise_is_known)
        own = isinstance(noise, (bool, np.bool_)) or found.ndim == 0
        return found if own else found[:, None]

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X) D U, (M, N)."""
        cross = self.kernel.pairs(Xnew, self.X).at(self.params.time).value
        return (cross * self.spectrum.scale) @ self.spectrum.vectors

    def _chunks(self, Xnew: Any) -> Iterator[Any]:
        size = max(1, CHUNK // max(1, len(self.X), self.columns.lower.shape[1] * self.y.shape[1]))
        return (Xnew[start : start + size] for start in range(0, len(Xnew), size))
