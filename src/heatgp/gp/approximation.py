"""Normal approximations of the distribution of f given observations that are not normal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..covariance import Array

Factorise = Callable[[Array], Any]
"""From site precisions to the factored prior: Dense, LowRank or Coupled."""


@dataclass(frozen=True)
class Approximation:
    """p(f | y) as the normal distribution with precision K^-1 + S and mean Sigma shift; K includes the amplitude.

    The derivative of the log evidence along dK is 1/2 (a' dK a - tr(R dK)), a = K^-1 mean.

    Reference: Rasmussen & Williams (2006), eq. 5.27 and Alg. 5.1.
    """

    factor: Any  # Dense, LowRank or Coupled
    precision: Array
    shift: Array
    mean: Array
    variance: Array
    log_evidence: float
    stationary: bool = True  # whether these derivatives are all there is
    in_parameters: Mapping[str, float] | None = None  # of a bound: its derivatives in the logs of the parameters
    offset: Any = 0.0  # what is added to f where each observation is made

    @property
    def sites(self) -> Array:
        """Precision and shift, (2, N): where the inference of a similar prior can start."""
        return np.stack([self.precision, self.shift])

    @property
    def weights(self) -> Array:
        """K^-1 mean: the coefficients of the predictive mean."""
        return self.factor.mean_weights(self.shift, self.mean)

    @property
    def in_amplitude(self) -> float:
        """The derivative in log amplitude, where dK = K."""
        trace = np.vdot(self.factor.precision, self.variance) - self.factor.levels  # of R K
        return float(0.5 * (np.vdot(self.weights, self.mean) - trace))

    def in_times(self, slopes: Sequence[Array]) -> Array:
        """The derivatives in the log times; `slopes` are those of the factor, with the amplitude."""
        return self.factor.slopes(slopes, 0.5 * self.weights, self.weights)

    @property
    def cavities(self) -> tuple[Array, Array]:
        """Mean and variance of each f_i plus its offset without its own observation."""
        mean, variance = cavity(self.mean, self.variance, self.precision, self.shift)
        return mean + self.offset, variance


def cavity(mean: Array, variance: Array, precision: Array, shift: Array) -> tuple[Array, Array]:
    """Mean and variance of each f_i without its own observation. Reference: Rasmussen & Williams, eq. 3.56."""
    left = 1.0 - precision * variance  # in (0, 1]: the others' share of the marginal precision
    return (mean - variance * shift) / left, variance / left
