"""Several outputs: one kernel and one time, and for each column of y its own amplitude, noise and mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import generator
from ..cost import check_memory
from ..covariance import Array, Kernel
from ..errors import BoundWarning, InvalidInput, Unsupported, warn
from .columns import Columns, ColumnsObjective, OutputParams, columns_evidence
from .fit import (
    SUBSET,
    TIMES,
    TOUCHING,
    WITHOUT_NOISE,
    Bounds,
    Fit,
    box_of,
    finished,
    mean_square,
    near_of,
    noise_ratio,
    some_of,
    time_intervals,
    with_short_times,
)
from .latent import CHUNK, checked_noise
from .linalg import JITTER, draw
from .params import Given
from .prior import Pairs, Prior
from .priors import WEAK_AMPLITUDE, WEAK_NOISE, LogNormal, Priors, checked_priors, laws_of
from .search import Found, climb, scan_points, steepest, values_at
from .spectrum import Spectrum
from .targets import Mean, MeanBasis, targets
from .threads import of_data, of_posterior


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
    scale = mean_square(data, given)
    if not data.is_flat and given.amplitude is None and not given.noise:
        raise Unsupported(
            "coefficient_scale with several outputs whose amplitude and noise are both learned. Give one of them, or "
            "leave coefficient_scale None, or fit one model for each column."
        )
    low, high = bounds.amplitude or (1e-6 * scale, 1e6 * scale)
    variance = np.broadcast_to(low, scale.shape), np.broadcast_to(high, scale.shape)
    ratio, typical = noise_ratio(kernel, X, bounds, given, data, scale, middle)
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
    varying = full.some(np.square(data.y).sum(axis=0) > 0.5 * scale * data.freedom)
    coarse = some_of(varying, kernel, X, middle, SUBSET) if given.free else varying
    box = box_of(full, intervals)
    found = climb(coarse, varying, _scan_outputs(coarse, box), box, 2)
    if coarse is not varying:
        near = near_of(varying, kernel, X, middle, SUBSET)
        found = with_short_times(kernel, near, varying, box, found, partial(_scan_outputs, count=TIMES // 2))
    steep = steepest(varying, found[0][1], box)
    fit = finished(kernel, full, [(full(times)[0], times) for _, times in found[:1]], intervals, steep=steep)
    return replace(fit, on_bound=fit.on_bound + _warned(full, fit.params))


def _scan_outputs(objective: ColumnsObjective, box: Array, count: int = TIMES) -> list[Found]:
    """The values at scanned times."""
    return values_at(objective, scan_points(box, count))


def _warned(objective: ColumnsObjective, params: Any) -> tuple[str, ...]:
    """The names of amplitude and noise where those of some columns sit on a bound, with one warning for all."""
    height = objective.prior.height(objective.prior.at(params.time)[0])
    variance, found = params.amplitude * height, {}
    if objective.given.amplitude is None:
        low, high = objective.variance
        found["amplitude"] = (np.abs(variance / low - 1) < TOUCHING) | (np.abs(variance / high - 1) < TOUCHING)
    if objective.given.noise is None:
        least, most = objective.ratio
        at_least = (np.abs(params.noise / variance / least - 1) < TOUCHING) & (least > WITHOUT_NOISE["noise"])
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
    def count(self) -> int:
        """How many data it has seen."""
        return len(self.X)

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

    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, ...]:
        raise Unsupported("several outputs are differentiated by differences of predictions.")

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
