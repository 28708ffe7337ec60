"""Several outputs: one kernel and one time, and for each column of y its own amplitude, noise and mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..cost import check_memory
from ..covariance import Array, Kernel
from ..threads import of_data, of_posterior
from .exact import columns_evidence
from .factors import JITTER, Spectrum
from .normal import Normal
from .parameters import Params
from .posterior import Posterior, symmetric
from .prior import Mean, Pairs, Prior, targets


@dataclass(frozen=True)
class OutputsPosterior(Posterior):
    """A Gaussian process for each of p outputs, given data.

    Arrays have one more axis, the last, of the outputs: means and variances are (M, p), covariances (M, M, p).
    """

    inverse: Array = field(kw_only=True)  # (N, p), the eigenvalues of M_j^-1

    def again(self, kernel: Kernel, params: Any, pairs: Pairs = None, likelihood: Any = None) -> OutputsPosterior:
        return condition_outputs(kernel, self.X, self.y, params, pairs=pairs, **self.options)

    @of_posterior
    def latent_covariance(self, Xnew: Any) -> Array:
        """The covariances of f at all pairs of points, (M, M, p)."""
        number, p, columns = len(Xnew), len(self.inner.T), self.basis.at(Xnew)
        check_memory(8.0 * (p + 4) * number**2, f"The covariance of {number:,} points", "Ask for fewer points at once.")
        cross, prior = self._cross(Xnew), self.kernel.pairs(Xnew).at(self.params.time).value
        of_basis, out = self._whitened_basis(columns - cross @ self.solved), np.empty((number, number, p))
        for j, a in enumerate(self.params.amplitude):
            seen = (cross * self.inverse[:, j]) @ cross.T
            out[:, :, j] = symmetric(a * (prior - seen) + of_basis[j].T @ of_basis[j])
        return out

    @property
    def _projections(self) -> tuple[Array, Array]:
        return self.weights, self.solved

    @property
    def _loo_parts(self) -> tuple[Array, Array, Array]:
        a, turned = self.params.amplitude, self.factor.scale[:, None] * self.factor.vectors
        of_basis = self._whitened_basis(turned @ self.solved) / a[:, None, None]
        return np.square(turned) @ self.inverse / a, of_basis, turned @ self.weights / a

    def _whitened_basis(self, columns: Array) -> Array:
        """(p, q, M), from columns (M, q) or (p, M, q)."""
        white = np.linalg.solve(self.lower, columns.swapaxes(-1, -2))
        return np.sqrt(self.params.amplitude)[:, None, None] * white

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X) D U, (M, N)."""
        cross = self.kernel.pairs(Xnew, self.X).at(self.params.time).value
        return (cross * self.factor.scale) @ self.factor.vectors

    def _variance(self, points: Any, cross: Array, columns: Array) -> Array:
        prior = self.kernel.diag(points, self.params.time)[:, None]
        left = np.maximum(prior - np.square(cross) @ self.inverse, 0.0)
        of_basis = self._whitened_basis(columns - cross @ self.solved)
        return self.params.amplitude * left + np.square(of_basis).sum(axis=1).T

    @property
    def _per_point(self) -> int:
        return max(len(self.X), self.lower.shape[1] * self.y.shape[1])


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
        found.inverse.T[:, :, None] * rotated.basis,
        options=options,
        inverse=found.inverse,
    )
