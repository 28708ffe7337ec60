"""Gradients of predictions in the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..covariance import Array
from ..gp.mixture import Mixture
from ..gp.prior import constant_basis
from ..manifolds import Manifold
from ..manifolds.gradients import gradients
from .data import MeanModel

PREDICTIONS = 20_000
"""Predictions at once, for differences."""


def prediction_gradients(
    mixture: Mixture, model: MeanModel, manifold: Manifold, points: Array, covariates: Any, step: float
) -> tuple[Array, Array, Array, Array]:
    """Mean and standard deviation of predictions, and their gradients in the points.

    They are those of the kernel, where the posteriors have gradients; else differences along geodesics.

    Parameters
    ----------
    model : MeanModel, the basis functions of the mean.
    covariates : array (M, q) or None. They do not move with the points.
    step : float, the step of differences.
    """

    def differences(function: Callable[[Array, Any], Array]) -> Array:
        """Gradients of a function of points and their covariates."""

        def part(own: slice) -> Array:
            moving = None if covariates is None else np.repeat(np.asarray(covariates)[own], manifold.dim, axis=0)
            return gradients(manifold, lambda moved: function(moved, moving), points[own], step)

        rows = max(1, PREDICTIONS // manifold.dim)
        return np.concatenate([part(slice(i, i + rows)) for i in range(0, max(1, len(points)), rows)])

    def moments(moved: Array, moving: Any) -> Array:
        mean, variance = mixture.with_basis(model.values(moved, moving)).moments(moved)
        return np.stack((mean, np.sqrt(variance)), axis=-1)

    if not mixture.has_gradients:
        of_mean, of_std = np.moveaxis(differences(moments), -1 - len(manifold.shape), 0)
        mean, std = np.moveaxis(moments(points, covariates), -1, 0)
        return mean, std, of_mean, of_std
    here = model.values(points, covariates)
    of_basis = np.zeros((*here.shape, *manifold.shape), dtype=points.dtype)
    if callable(model.mean) and model.mean is not constant_basis:
        of_basis = differences(model.values)
    return mixture.with_basis(here).gradients(points, of_basis)
