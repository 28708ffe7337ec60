"""Torus knots: one circle, tied into R^3 in many ways."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

from ...array import Array, namespace
from ..checks import require
from .flat import Angles


@final
@dataclass(frozen=True, repr=False)
class TorusKnot(Angles):
    """The circle of length 2 pi with its embedding in R^3 as the (p, q) torus knot.

    A point is its angle, of shape (1,), a tangent vector one number. Intrinsically all knots are the same circle, with
    the distance of a circle as orbit coordinate; `embed` ties it around the torus of radii 2 and 1:
    s -> ((2 + cos qs) cos ps, (2 + cos qs) sin ps, sin qs). Reference: Rolfsen (2003), Knots and Links, 3.C.

    Parameters
    ----------
    p, q : int
        How often the knot winds around the axis of the torus and around its tube: positive and coprime.

    Examples
    --------
    >>> import numpy as np
    >>> TorusKnot(2, 3).embed(np.array([0.0]))
    array([3., 0., 0.])
    """

    p: int
    q: int
    dim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        p, q = self.p, self.q
        require(
            math.gcd(p, q) == 1, f"TorusKnot needs coprime p and q, else the curve closes early; got {p = }, {q = }."
        )

    def embed(self, x: Array) -> Array:
        xp = namespace(x)
        s = x[..., 0]
        radius = 2 + xp.cos(self.q * s)
        return xp.stack((radius * xp.cos(self.p * s), radius * xp.sin(self.p * s), xp.sin(self.q * s)), axis=-1)
