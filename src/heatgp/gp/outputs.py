"""Several outputs: one kernel and one time, and for each column of y its own amplitude, noise and mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import generator
from ..cost import check_memory
from ..covariance import Array, Kernel
from ..errors import InvalidInput, Unsupported
from ..threads import of_data, of_posterior
from .exact import columns_evidence
from .factors import JITTER, Spectrum, draw
from .normal import Normal
from .parameters import Params
from .posterior import CHUNK, Posterior
from .prior import Mean, Pairs, Prior, targets


@dataclass(frozen=True)
class OutputsPosterior(Posterior):
    """A Gaussian process for each of p outputs, given data.

    Arrays have one more axis, the last, of the outputs: means and variances are (M, p), covariances (M, M, p).
    """

    inverse: Array = field(kw_only=True)  # (N, p), the eigenvalues of M_j^-1
    columns_of_basis: Array = field(kw_only=True)  # (N, q), the basis in the coordinates of the spectrum

    def again(self, kernel: Kernel, params: Any, pairs: Pairs = None, likelihood: Any = None) -> OutputsPosterior:
        return condition_outputs(kernel, self.X, self.y, params, pairs=pairs, **self.options)

    @property
    def coefficient_errors(self) -> Array:
        """The posterior standard deviations of the coefficients, (q, p)."""
        root = np.linalg.solve(self.lower, self.basis.transform.T)
        return np.sqrt(self.params.amplitude * np.square(root).sum(axis=1).T)

    @of_posterior
    def latent_mean(self, Xnew: Any) -> Array:
        moved = [
            np.empty((0, len(self.inner.T))),
            *(self._cross(points) @ self.weights for points in self._chunks(Xnew)),
        ]
        return self.offset + self.basis.at(Xnew) @ self.inner + np.concatenate(moved)

    @of_posterior
    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        columns, empty, start = self.basis.at(Xnew), np.empty((0, len(self.inner.T))), 0
        means, variances = [empty], [empty]
        for points in self._chunks(Xnew):
            cross, h = self._cross(points), columns[start : start + len(points)]
            start += len(points)
            means.append(cross @ self.weights + h @ self.inner)
            prior = self.kernel.diag(points, self.params.time)[:, None]
            explained = np.maximum(prior - np.square(cross) @ self.inverse, 0.0)
            of_basis = np.square(self._of_basis(cross, h)).sum(axis=1).T
            variances.append(self.params.amplitude * (explained + of_basis))
        return self.offset + np.concatenate(means), np.concatenate(variances)

    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        raise Unsupported("several outputs are differentiated by differences of predictions.")

    @of_posterior
    def latent_covariance(self, Xnew: Any) -> Array:
        """The covariances of f at all pairs of points, (M, M, p)."""
        number, p, columns = len(Xnew), len(self.inner.T), self.basis.at(Xnew)
        check_memory(8.0 * (p + 4) * number**2, f"The covariance of {number:,} points", "Ask for fewer points at once.")
        cross, prior = self._cross(Xnew), self.kernel.pairs(Xnew).at(self.params.time).value
        of_basis, out = self._of_basis(cross, columns), np.empty((number, number, p))
        for j in range(p):
            covariance = prior - (cross * self.inverse[:, j]) @ cross.T + of_basis[j].T @ of_basis[j]
            covariance = self.params.amplitude[j] * (covariance + covariance.T) / 2
            covariance.flat[:: number + 1] = np.maximum(np.diagonal(covariance), 0.0)
            out[:, :, j] = covariance
        return out

    def covariance(self, Xnew: Any, noise: Any = False) -> Array:
        found, own = self.latent_covariance(Xnew), np.arange(len(Xnew))
        found[own, own] += self.likelihood.with_noise(noise, len(Xnew)).noise
        return found

    @of_posterior
    def sample(self, Xnew: Any, rng: Any, size: int = 1) -> Array:
        """`size` functions drawn from the posterior, at Xnew: (size, M, p)."""
        rng, means, covariances = generator(rng), self.latent_mean(Xnew), self.latent_covariance(Xnew)
        return np.stack([draw(means[:, j], covariances[:, :, j], rng, size) for j in range(means.shape[1])], axis=2)

    @of_posterior
    def loo(self) -> tuple[Array, Array]:
        """Means and variances of each observation given all others, (N, p); as `Posterior.loo`."""
        turned = self.factor.scale[:, None] * self.factor.vectors
        R = np.square(turned) @ self.inverse
        of_basis = np.linalg.solve(self.lower, self._weighted_basis) @ turned.T  # (p, q, N)
        Q = R - np.square(of_basis).sum(axis=1).T
        if not np.all(Q > 1e-12 * R):
            raise InvalidInput(
                f"leave-one-out of N = {len(Q)} points: without one of them the coefficients of the mean have no "
                "estimate. Give more points than there are coefficients."
            )
        return self.y - (turned @ self.weights) / Q, self.params.amplitude / Q

    @property
    def _weighted_basis(self) -> Array:
        """M_j^-1 H, transposed, (p, q, N)."""
        return self.inverse.T[:, None, :] * self.columns_of_basis.T

    def _of_basis(self, cross: Array, columns: Array) -> Array:
        """What data say nothing of the basis at new points, whitened: (p, q, M)."""
        return np.linalg.solve(self.lower, columns.T - self._weighted_basis @ cross.T)

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X) D U, (M, N)."""
        cross = self.kernel.pairs(Xnew, self.X).at(self.params.time).value
        return (cross * self.factor.scale) @ self.factor.vectors

    def _chunks(self, Xnew: Any) -> Iterator[Any]:
        size = max(1, CHUNK // max(1, len(self.X), self.lower.shape[1] * self.y.shape[1]))
        return (Xnew[start : start + size] for start in range(0, len(Xnew), size))


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
    params : Params; one amplitude and one noise are those of all columns.
    kernel, X, mean, pairs, noise_scale, noise_is_known, coefficient_scale : as in `condition`.

    Returns
    -------
    OutputsPosterior.
    """
    data, basis = targets(X, y, mean, noise_scale, coefficient_scale)
    p = data.y.shape[1]
    amplitude, noise = (np.broadcast_to(value, (p,)).astype(float) for value in (params.amplitude, params.noise))
    params = Params(params.time, amplitude, noise)
    options = {
        "mean": mean,
        "noise_scale": noise_scale,
        "noise_is_known": noise_is_known,
        "coefficient_scale": coefficient_scale,
    }
    prior = Prior.of(kernel, X, params.time, pairs)
    values, _ = prior.at(params.time)
    spectrum = Spectrum.of(prior.form, values, prior.mean_variance(values), data.noise)
    rotated = spectrum.rotated(data)
    ratio = np.maximum(noise / amplitude, JITTER * prior.mean_variance(values) / rotated.noise[0])
    found = columns_evidence(spectrum.eigenvalues, rotated, ratio, amplitude)
    return OutputsPosterior(
        kernel,
        X,
        np.asarray(y, dtype=float),
        params,
        Normal(None if noise_is_known else noise, several=True),
        spectrum,
        found.weights,
        float(found.value.sum()),
        data.known,
        basis,
        data.start + found.coefficients,
        found.lower,
        options=options,
        inverse=found.inverse,
        columns_of_basis=rotated.basis,
    )
