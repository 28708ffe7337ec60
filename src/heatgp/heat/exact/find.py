"""Which manifold has an exact heat kernel, and which formula it is: one line for each family."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import manifolds as spaces
from ...manifolds import Grassmann, Manifold
from ...manifolds.spaces.positive_definite import LogEuclideanPD, SymmetricPD
from ..kernel import Function, Profile, Slice, no_error
from .families import complex_grassmannian, complex_projective, real_projective, special_orthogonal, sphere
from .flat import EuclideanProfile, TorusProfile
from .frames import FramesProfile
from .hyperbolic import HyperbolicProfile
from .positive_definite import HermitianProfile, SymmetricProfile
from .subspaces import GrassmannProfile
from .unitary import UnitaryProfile

PROFILES: dict[type[Manifold], Callable[[Any], Profile | None]] = {
    spaces.Euclidean: lambda M: EuclideanProfile(M.n),
    spaces.Hyperbolic: lambda M: HyperbolicProfile(M.n),
    spaces.HermitianPD: lambda M: HermitianProfile(M.n),
    SymmetricPD: lambda M: SymmetricProfile(M.n) if M.n <= 5 else None,
    LogEuclideanPD: lambda M: EuclideanProfile(M.dim),
    spaces.Sphere: lambda M: sphere(M.dim),
    spaces.RealProjective: lambda M: real_projective(M.dim),
    spaces.ComplexProjective: lambda M: complex_projective(M.complex_dim),
    spaces.Torus: lambda M: TorusProfile(M.dim),
    spaces.TorusKnot: lambda M: TorusProfile(1),
    spaces.SpecialOrthogonal: lambda M: special_orthogonal(M.n) if M.n <= 10 else None,
    spaces.Orthogonal: lambda M: OneComponent(special_orthogonal(M.n)) if M.n <= 10 else None,
    spaces.Unitary: lambda M: UnitaryProfile(M.n) if M.n <= 6 else None,
    spaces.SpecialUnitary: lambda M: UnitaryProfile(M.n, special=True) if M.n <= 6 else None,
    spaces.Grassmann: lambda M: grassmann_profile(M),
    spaces.Stiefel: lambda M: FramesProfile(M.n) if not M.is_complex and M.k == 2 and 5 <= M.n <= 16 else None,
}
"""The profile of a manifold, None where its size is beyond what has been checked."""


def grassmann_profile(M: Grassmann) -> Profile | None:
    """Complex ones and those of rank one have a formula, others series; these were checked up to some n."""
    if M.is_complex:
        return complex_grassmannian(M.n, M.rank)
    if M.rank == 1:
        return real_projective(M.n - 1)
    return GrassmannProfile(M.n, M.rank) if M.n <= {2: 100, 3: 30}.get(M.rank, 0) else None


def exact_profile(M: Manifold) -> Profile | None:
    """The exact kernel as a function of orbit coordinates; None where no formula is known."""
    make = PROFILES.get(type(M))
    return make(M) if make else None


@dataclass(frozen=True)
class OneComponent(Profile):
    """A profile on the component of the origin, zero where the orbit coordinates are infinite."""

    profile: Profile

    def prepare(self, time: float) -> Slice:
        p = self.profile.at(time)
        value, slope = where_finite(p.relative_value), where_finite(p.relative_slope)
        return Slice(value, slope, no_error, p.log_scale, where_finite(p.relative_log, -np.inf))


def where_finite(function: Function, elsewhere: float = 0.0) -> Function:
    """The function where all coordinates are finite, a constant elsewhere."""

    def extended(theta: np.ndarray) -> np.ndarray:
        theta = np.asarray(theta)
        finite = np.isfinite(theta).all(axis=-1)
        out = np.full(theta.shape[:-1], elsewhere)
        if finite.any():
            out[finite] = function(theta[finite])
        return out

    return extended
