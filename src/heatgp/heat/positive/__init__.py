"""Positive definite profiles from estimates that are not: negative coefficients are dropped.

An invariant function on a compact symmetric space is positive definite if and only if its coefficients in the spherical
functions are not negative; at rank one these are the zonal polynomials.

Reference: Schoenberg (1942), Duke Math. J. 9, 96-108; Godement (1957); Helgason (1984), ch. IV.
"""

import math

from ...errors import Unsupported
from ...manifolds import Homogeneous, Symmetric
from ..kernel import Profile
from .modes import ModeProfile
from .zonal import PositiveProfile


def positive_profile(manifold: Homogeneous, profile: Profile) -> Profile:
    """The estimate with its negative coefficients dropped, on compact symmetric spaces up to rank three."""
    if not (isinstance(manifold, Symmetric) and manifold.rank <= 3 and math.isfinite(manifold.volume)):
        raise Unsupported(
            f"an estimate on {manifold!r} is not positive definite, and only on compact symmetric spaces up to rank "
            "three can it be made so. A model on this manifold takes method='auto'."
        )
    positive = (PositiveProfile if manifold.rank == 1 else ModeProfile)(manifold, profile)
    if positive.times[0] > positive.times[1]:
        raise Unsupported(
            f"an estimate on {manifold!r} is not positive definite, and the manifold has too many spherical functions "
            f"to make it so at its times, up to {positive.times[1]:.2g}. A model may take an RBF kernel of the "
            "embedding: heatgp.baselines.baseline('rbf', manifold, 'regression')."
        )
    return positive
