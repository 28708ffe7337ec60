"""What regression and classification share: points, kernel and bounds from the constructor's arguments."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import InvalidInput
from ..gp.fit import Bounds
from ..gp.kernel import Normalized, Params
from ..heat.methods import heat_kernel
from ..manifolds import Manifold
from ..manifolds.rows import as_points
from .kernels import chosen_kernel
from .precomputed import gram_kernel, with_rows
from .time_bounds import time_bounds


class HeatGP(BaseEstimator):
    """The base of GPRegressor and GPClassifier."""

    manifold: Any
    kernel: Any
    time: Any
    amplitude: Any
    normalize: bool
    time_bounds: Any
    rng: Any
    n_jobs: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_arguments(self) -> None:
        """What can be said about the arguments before looking at the data."""
        for name in ("amplitude", "noise"):
            value = getattr(self, name, None)
            if value is not None and not isinstance(value, Real):
                raise InvalidInput(f"{name} = {value!r} must be a number, or None to learn it.")
        if self._precomputed:
            if self.time is not None:
                raise InvalidInput(f"time = {self.time!r}, but a precomputed kernel has none. Leave it None.")
        elif not isinstance(self.manifold, Manifold):
            raise InvalidInput(f"manifold = {self.manifold!r} must be a manifold, such as Sphere(2).")

    def _training_points(self, X: Any) -> np.ndarray:
        """Checked points; of a Gram matrix the numbers of its rows."""
        self._check_arguments()
        points = np.arange(len(gram_kernel(X).gram)) if self._precomputed else as_points(self.manifold, X)
        if not len(points):
            raise InvalidInput(f"X has shape {np.shape(X)}: no point. Give at least one.")
        self.n_features_in_ = int(np.prod(np.shape(X)[1:]))
        return points

    def _covariance(self, X: Any) -> Any:
        """The kernel of the model."""
        if self._precomputed:
            return gram_kernel(X)
        make = partial(heat_kernel, rng=self.rng, n_jobs=self.n_jobs)
        kernel = chosen_kernel(self.manifold, self.kernel, self.time, make).positive_definite()
        return Normalized(kernel) if self.normalize else kernel

    @property
    def _time(self) -> Any:
        """The time given, None to learn all of it."""
        return None if isinstance(self.time, str) else self.time

    def _bounds(self, points: np.ndarray) -> Bounds:
        if self._precomputed:
            return Bounds(time=(1.0, 2.0))  # of no time at all
        if self.time_bounds is not None:
            return Bounds(time=self.time_bounds)
        return Bounds(time=time_bounds(plain_kernel(self.kernel_), points))

    def _at(self, posterior: Any, X: Any, prior: Any = None) -> tuple[Any, np.ndarray]:
        """The posterior and what it calls the points X; rows of Gram matrices join the kernel."""
        if self._precomputed:
            return with_rows(posterior, X, prior)
        if prior is not None:
            raise InvalidInput("prior is for kernel='precomputed'; other kernels know their own.")
        return posterior, as_points(self.manifold, X)

    def _used_time(self, params: Params) -> Any:
        return None if self._precomputed else params.time

    def _check_fitted(self) -> None:
        check_is_fitted(self, "kernel_")


def plain_kernel(kernel: Any) -> Any:
    """A kernel without its normalisation."""
    return kernel.kernel if isinstance(kernel, Normalized) else kernel
