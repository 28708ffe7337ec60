"""Normal noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from ..arguments import as_array
from ..covariance import Array
from ..errors import InvalidInput
from .likelihood import Likelihood


@dataclass(frozen=True)
class Normal(Likelihood):
    """y = f + noise, the noise normal.

    Parameters
    ----------
    noise : number of at least 0, the variance of the noise; an array (p,) of p outputs; None (default) where each
        observation has a known noise of its own, so that the noise of new ones is not known.
    several : bool, default False. Whether observations are of several outputs.

    Examples
    --------
    >>> Normal(0.5).variance(np.array([1.0]), np.array([2.0]))
    array([2.5])
    """

    noise: Any = None
    several: bool = False

    flat_mean: ClassVar[bool] = True
    expected_increases: ClassVar[bool] = True

    def with_noise(self, noise: Any, number: int) -> Self:
        if isinstance(noise, (bool, np.bool_)):
            if noise and self.noise is None:
                raise InvalidInput(
                    "each observation has a known noise of its own, so that of new ones is not known. Give `noise` the "
                    "variances at the new points."
                )
            return self if noise else replace(self, noise=0.0)
        variances = as_array(noise, "noise")
        possible = variances.dtype.kind in "fiu" and variances.shape in ((), (number,))
        if not possible or not np.all((variances >= 0) & np.isfinite(variances)):
            raise InvalidInput(
                f"noise must be True, False or the variances at {number} new points: one number, or as many, that are "
                f"finite and not negative; got {noise!r}."
            )
        variances = variances.astype(float)
        return replace(self, noise=variances[:, None] if self.several and variances.ndim else variances)

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        total = variance + self.noise
        return -0.5 * (np.log(2 * np.pi * total) + (y - mean) ** 2 / total), (y - mean) / total, 1.0 / total

    def variance(self, mean: Array, variance: Array) -> Array:
        return variance + self.noise

    def cumulative(self, y: Array, mean: Array, variance: Array) -> Array:
        return ndtr((y - mean) / np.sqrt(variance + self.noise))

    def quantile(self, p: float, mean: Array, variance: Array) -> Array:
        return mean + ndtri(p) * np.sqrt(variance + self.noise)
