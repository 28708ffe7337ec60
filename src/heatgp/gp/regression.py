"""Gaussian process regression: the posterior, the evidence and leave-one-out in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import as_array, is_number
from ..covariance import Array, Kernel
from ..errors import InvalidInput
from .latent import Latent
from .linalg import JITTER
from .params import Params
from .prior import Pairs, Prior
from .threads import of_data, of_posterior

Mean = str | float


@dataclass(frozen=True)
class Evidence:
    """log p(y) and its derivatives, for the covariance amplitude * (K + ratio I).

    `factor` has K at precision 1 / ratio.

    Reference: Rasmussen & Williams (2006), eq. 2.30 and 5.9.
    """

    factor: Any  # Dense, LowRank or Diagonal
    ratio: float
    value: float
    amplitude: float
    offset: float  # the estimated constant mean, 0 when there is none
    weights: Array  # (K + ratio I)^-1 [y - offset, 1], the second column where a constant was estimated
    in_amplitude: float  # derivative in log amplitude at a fixed ratio

    @property
    def in_ratio(self) -> float:
        """The derivative in log ratio at a fixed amplitude."""
        a = self.weights[:, 0]
        return 0.5 * self.ratio * float(a @ a / self.amplitude - self.factor.inverse_diagonal().sum())

    def in_times(self, slopes: Sequence[Array]) -> Array:
        """The derivatives in the log times, 1/2 tr((a a' - C^-1) dC)."""
        a = self.weights[:, 0]
        return np.array([self.factor.slope(slope, a / (2 * self.amplitude), a) for slope in slopes])


def evidence(factor: Any, ratio: float, data: Array, amplitude: float | tuple[float, float]) -> Evidence:
    """The evidence of y ~ N(offset * basis, amplitude * (K + ratio I)); `factor` has K at precision 1 / ratio.

    The columns of `data` are y and, where a constant mean is estimated, its basis (see `targets`). The offset is the
    generalised least-squares estimate, basis' C^-1 y / basis' C^-1 basis, which maximises the evidence. For an interval
    of amplitudes, the amplitude is the one in it that maximises the evidence: y' (K + ratio I)^-1 y / N, clipped. At a
    maximum the derivatives in the other parameters are those at fixed offset and amplitude (envelope theorem).
    """
    n, weights = len(data), factor.solve(data)
    y, basis = data[:, 0], data[:, 1:]  # without a basis the next three lines change nothing
    offset = basis.T @ weights[:, 0] / (basis * weights[:, 1:]).sum(axis=0)
    y = y - basis @ offset
    weights[:, 0] -= weights[:, 1:] @ offset
    quadratic = max(float(y @ weights[:, 0]), 0.0)
    if isinstance(amplitude, tuple):
        amplitude = float(np.clip(quadratic / n, *amplitude))
    log_det = factor.log_det + n * np.log(ratio)
    value = float(-0.5 * (quadratic / amplitude + log_det + n * np.log(2 * np.pi * amplitude)))
    in_amplitude = 0.5 * (quadratic / amplitude - n)
    return Evidence(factor, ratio, value, amplitude, float(offset.sum()), weights, in_amplitude)


class Posterior(Latent):
    """A Gaussian process that has seen real observations. Reference: Rasmussen & Williams (2006), Alg. 2.1."""

    @of_posterior
    def loo(self) -> tuple[Array, Array]:
        """Mean and variance of each observation given all others, at the same parameters.

        mu_i = y_i - [Q y]_i / Q_ii and sigma_i^2 = 1 / Q_ii with Q = C^-1, where an estimated constant is
        estimated anew without i: Q = C^-1 - C^-1 1 1' C^-1 / 1' C^-1 1.

        Reference: Rasmussen & Williams (2006), eq. 5.12; Dubrule (1983).
        """
        if self.weights.shape == (1, 2):
            raise InvalidInput("leave-one-out of N = 1 point has no data to predict from. Give at least 2 points.")
        of_constant = (self.weights[:, 1:] ** 2 / self._constant_precision).sum(axis=1)
        Q = self.factor.inverse_diagonal() - of_constant
        return self.y - self.weights[:, 0] / Q, 1.0 / Q


@of_data
def condition(
    kernel: Kernel, X: Any, y: ArrayLike, params: Params, mean: Mean = "constant", pairs: Pairs = None
) -> Posterior:
    """The posterior of f given y = f(X) + noise.

    Parameters
    ----------
    kernel : Kernel, the covariance. Its features are used, in time linear in N, where it has fewer than N.
    X : array of N points, the first axis.
    y : array (N,) of real targets.
    params : Params. A noise below 1e-10 of the prior variance counts as that much.
    mean : "constant" (default), estimated by generalised least squares, where the predictive variance includes its
        uncertainty; "zero" or a number.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.

    Returns
    -------
    Posterior.

    Raises
    ------
    InvalidInput : if y is not N finite numbers.
    NotPositiveDefinite : if the covariance cannot be factored.
    """
    data, given = targets(X, y, mean)
    prior = Prior.of(kernel, X, params.time, pairs)
    values, _ = prior.at(params.time)
    noise = max(params.noise, JITTER * params.amplitude * prior.height(values))
    factor = prior.form.of(params.amplitude**prior.form.power * values, 1.0 / noise)  # Alg. 2.1, line 2
    found = evidence(factor, noise, data, 1.0)  # lines 3 and 7: covariance 1 * (amplitude K + noise I)
    y, offset = data[:, 0] + given, given + found.offset
    return Posterior(kernel, X, y, params, factor, found.weights, found.value, offset)


def targets(X: Any, y: ArrayLike, mean: Mean) -> tuple[Array, float]:
    """Checked targets minus a mean, (N, 1), and that mean; (N, 2) with a column of ones where a constant is estimated.

    Where the mean is estimated the average is subtracted first: large constants would cost digits.
    """
    y = as_array(y, "y", f"{len(X)} real numbers, one for each point; labels are for GPClassifier")
    if y.dtype.kind not in "fiub" or y.shape != (len(X),) or not len(X):
        raise InvalidInput(
            f"y must be {len(X)} real numbers, one for each of N >= 1 points; got shape {y.shape}, dtype {y.dtype}. "
            "Labels are for GPClassifier; of a table fit one model for each column, y[:, 0]."
        )
    y = y.astype(float)
    for where in np.flatnonzero(~np.isfinite(y)):
        raise InvalidInput(f"y[{where}] = {y[where]} is not finite. Remove such observations.")
    largest = float(np.abs(y).max())
    if largest and not 1e-140 < largest < 1e140:
        raise InvalidInput(f"y has the size {largest:.1e}, whose square is beyond floating point. Change its unit.")
    known = mean in ("constant", "zero") if isinstance(mean, str) else is_number(mean) and abs(mean) < 1e140
    if not known:
        raise InvalidInput(f'mean = {mean!r} is not known. Use "zero", "constant" or a finite number.')
    if mean == "constant":
        average = float(np.mean(y))
        return np.stack([y - average, np.ones(len(y))], axis=1), average
    given = 0.0 if mean == "zero" else float(mean)
    return y[:, None] - given, given
