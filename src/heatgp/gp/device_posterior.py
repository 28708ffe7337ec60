"""Predictions of dense and sparse models on the device of JAX arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.scipy.linalg import solve_triangular

from ..covariance import Array, Kernel, Normalized
from .device import covariance, filled, on_device, parts, runs_on_device, tables, variances
from .device_dense import DeviceDense, DevicePairs
from .objective import Objective
from .parameters import Given, Params
from .posterior import AllData, Posterior
from .prior import Pairs
from .search import Bounds
from .sparse.inducing import InducedKernel


@dataclass(frozen=True)
class DeviceData(AllData):
    """All data are kept, and their covariance is computed on the device."""

    def again(self, posterior: Posterior, kernel: Kernel, params: Params, pairs: Pairs, likelihood: Any) -> Posterior:
        pairs = pairs or DevicePairs.of(kernel, posterior.X)
        return device_posterior(super().again(posterior, kernel, params, pairs, likelihood))

    def objective(
        self, posterior: Posterior, bounds: Bounds, given: Given, priors: Any, pairs: Pairs, likelihood: Any
    ) -> tuple[Objective, Array]:
        pairs = pairs or DevicePairs.of(posterior.kernel, posterior.X)
        return super().objective(posterior, bounds, given, priors, pairs, likelihood)


class DevicePosterior(Posterior):
    """A `Posterior` whose means and variances of f are computed on the device."""

    def latent_mean(self, Xnew: Any) -> Array:
        return self._moments(Xnew, False)[0]

    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        mean, variance = self._moments(Xnew, True)
        return mean, variance

    def _moments(self, Xnew: Any, spread: bool) -> tuple[Array, Array]:
        """The mean, and with `spread` the variance."""
        columns, found = self.basis.at(Xnew), []
        with jax.enable_x64(True):
            for part, size in parts(max(1, len(Xnew)), len(self.X)):
                points = on_device(filled(Xnew[part], size))
                found.append(_moments(self._kernel, spread, *self._on_device, points))
        projected, variance = (np.concatenate([np.asarray(a) for a in each])[: len(Xnew)] for each in zip(*found))
        of_basis = np.square(self._whitened_basis(columns - projected[:, 1:])).sum(axis=0)
        return self.offset + columns @ self.inner + projected[:, 0], variance + of_basis

    @property
    def _kernel(self) -> Kernel:
        return self.structure.kernel(self)

    @cached_property
    def _on_device(self) -> tuple[Any, ...]:
        """What `_moments` takes beside points: of features the factor L_t of their points, else roots of precisions."""
        factor, params = self.factor, self.params
        own = on_device((np.asarray(self.X), np.column_stack(self._projections), params.amplitude))
        if factor.of_features:
            induced: Any = self.kernel
            of_points = on_device((induced.factor(params.time), factor.lower)), None
        else:
            of_points = (None, factor.lower), on_device(np.sqrt(factor.precision))
        return tables(self._kernel, params.time).numbers, *own, *of_points[0], of_points[1]


@partial(jax.jit, static_argnums=(0, 1))
def _moments(
    kernel: Kernel,
    spread: bool,
    numbers: Any,
    Z: Any,
    projections: Any,
    amplitude: Any,
    lower_of_points: Any,
    lower: Any,
    root: Any,
    points: Any,
) -> tuple[Any, Any]:
    """k(x, X) times projections, and the variance of f but for that of the mean; as `Posterior.latent`."""
    cross = jax.lax.optimization_barrier(amplitude * covariance(kernel, numbers, points, Z))
    own = jnp.ones(1) if isinstance(kernel, Normalized) else variances(kernel, numbers, points)
    if root is None:
        cross = solve_triangular(lower_of_points, cross.T, lower=True).T / jnp.sqrt(amplitude)
    if not spread:
        return cross @ projections, jnp.zeros(len(points))
    if root is None:
        white = solve_triangular(lower, cross.T, lower=True)
        left = jnp.maximum(amplitude * own - (cross**2).sum(axis=1), 0.0)
        return cross @ projections, left + (white**2).sum(axis=0)
    white = solve_triangular(lower, (cross * root).T, lower=True)
    return cross @ projections, jnp.maximum(amplitude * own - (white**2).sum(axis=0), 0.0)


def device_posterior(posterior: Posterior) -> Posterior:
    """The same posterior with predictions on the device; itself where it cannot be there."""
    if isinstance(posterior.factor, DeviceDense):
        posterior = replace(posterior, structure=DeviceData())
    elif not (
        isinstance(posterior.kernel, InducedKernel) and runs_on_device(posterior.kernel_of_f, posterior.params.time)
    ):
        return posterior
    return DevicePosterior(**{each.name: getattr(posterior, each.name) for each in fields(posterior)})
