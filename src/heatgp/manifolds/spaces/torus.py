"""The flat torus."""

from dataclasses import dataclass
from typing import final

from ...array import Array, namespace
from .flat import Angles


@final
@dataclass(frozen=True, repr=False)
class Torus(Angles):
    """The product of `dim` circles of length 2 pi, flat.

    A point is its angles, any real numbers modulo 2 pi, of shape (dim,); tangent vectors are `dim` numbers, geodesics
    straight lines. The orbit coordinates of a pair are its absolute angle differences, each in [0, pi]; the distance is
    their norm.

    Parameters
    ----------
    dim : int
        The dimension, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> Torus(1).distance(np.array([3.0]), np.array([3.0 + 2 * np.pi])) < 1e-15
    np.True_
    """

    dim: int

    def embed(self, x: Array) -> Array:
        """(cos, sin) of each angle, side by side: the torus in R^(2 dim)."""
        xp = namespace(x)
        return xp.concat((xp.cos(x), xp.sin(x)), axis=-1)
