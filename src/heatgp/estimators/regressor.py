"""Gaussian process regression with scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from ..errors import InvalidInput
from ..gp.fit import Fit, fit_regression
from ..gp.regression import Posterior, condition
from ..gp.search import Given
from ..manifolds import Manifold
from .base import HeatGP
from .kernel_error import KernelError, kernel_error


class GPRegressor(RegressorMixin, HeatGP):
    """Gaussian process regression on a manifold, with the heat kernel as covariance.

    y = f(x) + noise, f ~ GP(mean, amplitude * p_t(x, x') / p_t(x, x)); p_t is the heat kernel and the time t plays the
    part of a squared length-scale. What is given is held fixed, what is None is learned by maximising the evidence.

    Parameters
    ----------
    manifold : where the points live; ignored with kernel="precomputed".
    kernel : a method of `heat_kernel` ("auto", "exact", "smooth", ...), a HeatKernel, a list of either (one a factor of
        a product), or "precomputed": X is then the Gram matrix, as in scikit-learn's support vector machines.
    time : the time, None to learn it, "each" to learn one a factor of a product, or a tuple of times and None.
    amplitude : prior variance of f (with normalize=False, the factor of p_t).
    noise : variance of the noise.
    mean : "constant" (estimated), "zero" or a number.
    normalize : divide p_t by its value on the diagonal; False is the covariance of Ye et al. (2024).
    time_bounds : interval in which the time is searched for, or one a factor; by default from the data's distances.
    rng, n_jobs : for kernels that are simulated.

    Attributes
    ----------
    time_, amplitude_, noise_ : the parameters used; the time of a precomputed kernel is None.
    kernel_ : the kernel used.
    posterior_ : the Gaussian process that has seen the data.
    fit_ : the optimiser's result, None where nothing was learned.

    >>> import heatgp as hg
    >>> S2 = hg.Sphere(2)
    >>> X = S2.random(np.random.default_rng(0), 60)
    >>> gp = hg.GPRegressor(S2).fit(X, X[:, 0] * X[:, 2])
    >>> bool(abs(gp.predict([[0.6, 0.0, 0.8]])[0] - 0.48) < 0.01)
    True
    """

    def __init__(
        self,
        manifold: Manifold | None = None,
        *,
        kernel: Any = "auto",
        time: Any = None,
        amplitude: float | None = None,
        noise: float | None = None,
        mean: str | float = "constant",
        normalize: bool = True,
        time_bounds: Any = None,
        rng: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.manifold = manifold
        self.kernel = kernel
        self.time = time
        self.amplitude = amplitude
        self.noise = noise
        self.mean = mean
        self.normalize = normalize
        self.time_bounds = time_bounds
        self.rng = rng
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what is None and condition on the data; X (N, *shape), or rows of flattened points."""
        points = self._training_points(X)
        targets = _real_targets(y, len(points))
        self.kernel_ = self._covariance(X)
        pairs = self.kernel_.pairs(points)
        given = Given.of(self.kernel_, self._time, self.amplitude, self.noise)
        params = given.params
        self.fit_: Fit | None = None
        if params is None:
            self.fit_ = fit_regression(
                self.kernel_,
                points,
                targets,
                self._bounds(points),
                time=self._time,
                amplitude=self.amplitude,
                noise=self.noise,
                mean=self.mean,
                pairs=pairs,
            )
            params = self.fit_.params
        self.posterior_: Posterior = condition(self.kernel_, points, targets, params, self.mean, pairs)
        self.time_, self.amplitude_, self.noise_ = self._used_time(params), params.amplitude, params.noise
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, *, prior: Any = None) -> Any:
        """Mean of f at X; with return_std its standard deviation, with return_cov its covariance.

        Both are of the function, without the noise: add `noise_` to the variance for new observations. With
        kernel="precomputed" X is k(new, training), and `prior` is k(new, new) or its diagonal, which the mean does
        not need.
        """
        if return_std and return_cov:
            raise InvalidInput("ask for return_std or return_cov, not both.")
        self._check_fitted()
        posterior, points = self._at(self.posterior_, X, prior)
        if return_std:
            mean, variance = posterior.moments(points)
            return mean, np.sqrt(variance)
        mean = posterior.mean(points)
        return (mean, posterior.covariance(points)) if return_cov else mean

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, prior: Any = None) -> np.ndarray:
        """Functions drawn from the posterior, at X: (len(X), n_samples), as in scikit-learn."""
        self._check_fitted()
        posterior, points = self._at(self.posterior_, X, prior)
        return posterior.sample(points, np.random.default_rng(random_state), n_samples).T

    def log_marginal_likelihood(self) -> float:
        """log p(y) at the parameters used."""
        self._check_fitted()
        return self.posterior_.log_marginal_likelihood

    def loo(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of each observation predicted from all the others, in closed form."""
        self._check_fitted()
        mean, variance = self.posterior_.loo()
        return mean, np.sqrt(variance)

    def kernel_error(self, X: Any) -> KernelError:
        """How far the Monte Carlo error of an estimated kernel moves the predictions at X: would more paths help?"""
        self._check_fitted()
        return kernel_error(self, X)


def _real_targets(y: Any, number: int) -> np.ndarray:
    values = np.asarray(y)
    if values.dtype.kind not in "fiub" or values.ndim != 1 or len(values) != number:
        raise InvalidInput(
            f"y must be {number} real numbers, one a point; got shape {values.shape}, dtype {values.dtype}. "
            "Labels are for GPClassifier; of a table fit one model a column, y[:, 0]."
        )
    return values.astype(float)
