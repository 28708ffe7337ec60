"""How much of a prediction's uncertainty comes from the Monte Carlo error of its kernel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..covariance import Array, Kernel
from ..gp.kernels import Normalized
from .kernels import without_normalization

REPLICATES = 4
"""Kernels that are compared, for each source of error: their standard deviation is known to some 40 %."""


@dataclass(frozen=True)
class KernelError:
    """The part of the uncertainty of predictions that comes from the kernel's own Monte Carlo error.

    Attributes
    ----------
    error : array (N,), standard error of each prediction due to the kernel.
    spread : array (N,), standard deviation that the model itself states for each prediction.

    Examples
    --------
    >>> print(KernelError(np.array([0.1]), np.array([0.2])))
    the kernel's Monte Carlo error is 50.0 % of the predictive spread: more paths would change the predictions
    """

    error: Array
    spread: Array

    @property
    def share(self) -> float:
        """Root mean square of the kernel's error over that of the predictive standard deviation."""
        if not self.error.any():
            return 0.0
        spread = float(np.linalg.norm(self.spread))
        return float(np.linalg.norm(self.error)) / spread if spread > 0 else np.inf

    def __str__(self) -> str:
        if not self.error.any():
            return "the kernel is exact: no part of the predictive error comes from it"
        verdict = "more paths would change the predictions" if self.share > 0.2 else "more paths would change little"
        return f"the kernel's Monte Carlo error is {100 * self.share:.1f} % of the predictive spread: {verdict}"


def kernel_error(kernel: Kernel, predict: Callable[[Kernel], tuple[Array, Array]]) -> KernelError:
    """Predict with kernels made from parts of the data of the simulation, and compare.

    A kernel made from a fraction of the data has 1/fraction times the variance of the whole. So the variance of a
    prediction due to one source of error is the fraction times the variance over the kernels of that source; the
    variances of independent sources add.

    Parameters
    ----------
    kernel : Kernel, the kernel of a model.
    predict : function that returns the predictions (N, columns) of the model with any kernel, and the standard
        deviations (N,) that it states.
    """
    predictions, spread = predict(kernel)
    variance = np.zeros(predictions.shape)
    for source in without_normalization(kernel).replicates(REPLICATES):
        kernels = [Normalized(part) if isinstance(kernel, Normalized) else part for part in source.kernels]
        variance += source.fraction * np.var([predict(part)[0] for part in kernels], axis=0, ddof=1)
    return KernelError(np.sqrt(variance).max(axis=1), spread)
