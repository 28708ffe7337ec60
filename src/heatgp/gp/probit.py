"""The probit likelihood p(y | f) = Phi(y f), y = -1 or 1, and Gaussian approximations of its posterior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from ..covariance import Array
from .linalg import Dense, LowRank

Factorise = Callable[[Array], Dense | LowRank]  # site precisions -> the factored prior


def log_likelihood(y: Array, f: Array) -> Array:
    """log Phi(y f), accurate in the far tail."""
    return log_ndtr(y * f)


def hazard(z: Array) -> Array:
    """N(z) / Phi(z), the derivative of log Phi; without under- or overflow."""
    return np.sqrt(2 / np.pi) / erfcx(-z / np.sqrt(2))


def probability(mean: Array, variance: Array) -> Array:
    """The probability of y = 1: Phi(f) averaged over f ~ N(mean, variance).

    Reference: Rasmussen & Williams (2006), eq. 3.77.
    """
    return ndtr(mean / np.sqrt(1.0 + variance))


@dataclass(frozen=True)
class Approximation:
    """p(f | y) as the normal law with precision K^-1 + S and mean Sigma shift; K includes the amplitude.

    The derivative of the log evidence along dK is 1/2 (a' dK a - tr(R dK)) + implicit' dK a, a = K^-1 mean,
    where the last term is needed when the approximation is not stationary in its sites (Laplace).

    Reference: Rasmussen & Williams (2006), eq. 5.27 and Alg. 5.1.
    """

    factor: Dense | LowRank
    precision: Array
    shift: Array
    mean: Array
    variance: Array
    log_evidence: float
    implicit: Array | float = 0.0

    @property
    def sites(self) -> Array:
        """Precision and shift, (2, N): where the inference of a similar prior can start."""
        return np.stack([self.precision, self.shift])

    @property
    def weights(self) -> Array:
        """K^-1 mean: the coefficients of the predictive mean."""
        return self.shift - self.precision * self.mean

    @property
    def in_amplitude(self) -> float:
        """The derivative in log amplitude, where dK = K."""
        return float((0.5 * self.weights + self.implicit) @ self.mean - 0.5 * self.precision @ self.variance)

    def in_times(self, slopes: Sequence[Array]) -> Array:
        """The derivatives in the log times; `slopes` are those of the factor, with the amplitude."""
        left = 0.5 * self.weights + self.implicit
        return np.array([self.factor.slope(slope, left, self.weights) for slope in slopes])


def cavity(mean: Array, variance: Array, precision: Array, shift: Array) -> tuple[Array, Array]:
    """Mean and variance of each f_i without its own observation. Reference: Rasmussen & Williams, eq. 3.56."""
    left = 1.0 - precision * variance  # in (0, 1]: the others' share of the marginal precision
    return (mean - variance * shift) / left, variance / left


def posterior_mean(factor: Dense | LowRank, shift: Array) -> Array:
    """Sigma shift = K (shift - R K shift)."""
    return factor.times(shift - factor.solve(factor.times(shift)))
