"""Regression with any likelihood: the posterior, and predictions of what is observed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..arguments import check_flag
from ..covariance import Array, Kernel
from ..errors import Unsupported
from .inference import LatentPosterior, condition_latent
from .latent import Latent
from .linalg import draw
from .mixture import Mixture, normal_quantile
from .params import Params
from .prior import Pairs
from .quadrature import quantile
from .regression_likelihood import RegressionLikelihood


@dataclass(frozen=True)
class ObservedPosterior(LatentPosterior):
    """A Gaussian process f that has seen numbers or counts. Predictions are of the mean of y given f.

    With `noise=True` they are of new observations. `latent` is f itself.
    """

    likelihood: RegressionLikelihood = field(kw_only=True)
    constant: bool = field(kw_only=True)  # whether a constant was added to f

    @property
    def process(self) -> LatentPosterior:
        """f itself."""
        own = {name: value for name, value in vars(self).items() if name != "constant"}
        return LatentPosterior(**own)

    @property
    def observations(self) -> Array:
        """The observations as numbers."""
        return self.likelihood.split(self.y, 0.0)[0]

    @property
    def is_bound(self) -> bool:
        """Whether expectation propagation did not converge, and the evidence is a bound: see `variational`."""
        return self.approximation.in_parameters is not None

    def expected(self, f: Array) -> Array:
        """The mean of the observations given f."""
        return self.likelihood.expected(f)

    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        """Mean and variance of f."""
        return Latent.moments(self, Xnew)

    def mean(self, Xnew: Any) -> Array:
        """The mean of the observations."""
        return self.likelihood.mean(*self.latent(Xnew))

    def moments(self, Xnew: Any, noise: Any = False) -> tuple[Array, Array]:
        """Mean and variance of the mean of y given f; with `noise=True`, of new observations."""
        noise = check_flag("noise", noise)  # variances of single observations are those of normal noise
        law, latent = self.likelihood, self.latent(Xnew)
        return law.mean(*latent), law.variance(*latent) if noise else law.signal_variance(*latent)

    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        raise Unsupported("predictions of what is observed are differentiated by differences.")

    def covariance(self, Xnew: Any, noise: Any = False) -> Array:
        """The covariance of all pairs, (M, M)."""
        noise = check_flag("noise", noise)
        law, mean, covariance = self.likelihood, Latent.mean(self, Xnew), Latent.covariance(self, Xnew)
        found = law.covariance(mean, covariance)
        if noise:
            found.flat[:: len(found) + 1] = law.variance(mean, np.diagonal(covariance))
        return found

    def sample(self, Xnew: Any, rng: Any, size: int = 1, noise: Any = False) -> Array:
        """`size` draws of the mean of y given f, at Xnew: (size, M)."""
        return self.expected(draw(Latent.mean(self, Xnew), Latent.covariance(self, Xnew), rng, size))

    def quantile(self, Xnew: Any, p: float) -> Array:
        """What a new observation does not exceed with the probability p."""
        return self.likelihood.quantile(p, *self.latent(Xnew))

    def log_density(self, Xnew: Any, y: Array) -> Array:
        """The log density of new observations."""
        return self.likelihood.tilted(y, *self.latent(Xnew))[0]

    def loo(self) -> tuple[Array, Array]:
        """Mean and variance of each observation given all others, from the approximation of all: by the cavities."""
        law, (mean, variance) = self.likelihood, self.approximation.cavities
        _, mean = law.split(self.y, mean)
        return law.mean(mean, variance), law.variance(mean, variance)

    def loo_log_density(self) -> Array:
        """The log density of each observation given all others."""
        return self.likelihood.tilted(self.y, *self.approximation.cavities)[0]

    def again(
        self, kernel: Kernel, params: Params, pairs: Pairs = None, *, likelihood: RegressionLikelihood | None = None
    ) -> ObservedPosterior:
        """The same data with another kernel or other parameters."""
        return condition_observed(kernel, self.X, self.y, params, likelihood or self.likelihood, self.constant, pairs)


def condition_observed(
    kernel: Kernel,
    X: Any,
    y: Array,
    params: Params,
    likelihood: RegressionLikelihood,
    constant: bool = True,
    pairs: Pairs = None,
) -> ObservedPosterior:
    """The posterior of f given numbers or counts; parameters as in `condition_latent`."""
    found = condition_latent(kernel, X, y, params, likelihood, "ep", constant, pairs)
    return ObservedPosterior(**vars(found), constant=constant)


def observed_quantile(mixture: Mixture, Xnew: Any, p: float) -> Array:
    """What a new observation does not exceed with the probability p, (M,)."""
    single = np.stack([posterior.quantile(Xnew, p) for posterior in mixture.posteriors])
    if len(single) == 1:
        return single[0]
    parts = [(posterior.likelihood, *posterior.latent(Xnew)) for posterior in mixture.posteriors]

    def distribution(y: Array) -> Array:
        return np.tensordot(mixture.weights, [law.cumulative(y, mean, variance) for law, mean, variance in parts], 1)

    low, high = single.min(axis=0), single.max(axis=0)  # the quantile is between those of the parts
    scale = np.maximum(high - low, 1e-9 * (1.0 + np.abs(low)))
    return quantile(distribution, p, (low + high) / 2, scale, parts[0][0].is_discrete)


def expected_quantile(mixture: Mixture, Xnew: Any, p: float) -> Array:
    """What the mean of y given f does not exceed with the probability p, (M,): that mean at the quantile of f."""
    law = mixture.posteriors[0].likelihood
    if not law.expected_increases:
        name = type(law).__name__
        raise Unsupported(
            f"with {name} intervals are of new observations, noise=True. Where {name}.expected(f) increases with f and "
            "depends on no parameter that is learned, set expected_increases = True in the class."
        )
    means, variances = (np.stack(part) for part in zip(*(q.latent(Xnew) for q in mixture.posteriors)))
    return law.expected(normal_quantile(mixture.weights, means, np.sqrt(variances), p))


def observed_log_density(mixture: Mixture, Xnew: Any, y: Array) -> Array:
    """The log density of new observations, (M,)."""
    logs = [posterior.log_density(Xnew, y) for posterior in mixture.posteriors]
    return logsumexp(np.stack(logs) + np.log(mixture.weights)[:, None], axis=0)
