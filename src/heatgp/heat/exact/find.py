"""Which manifold has an exact heat kernel, and which formula it is: one line a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import Unsupported
from ...manifolds import (
    ComplexProjective,
    Euclidean,
    Grassmann,
    Homogeneous,
    Manifold,
    Orthogonal,
    Product,
    Quotient,
    RealProjective,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
    Unitary,
)
from ..composed import ProductKernel, QuotientKernel, ScaledKernel
from ..kernel import HeatKernel, OrbitKernel, Profile
from .fibre import FibreKernel, circle
from .grassmann import complex_grassmannian
from .groups import special_orthogonal
from .rank_one import EuclideanProfile, TorusProfile, complex_projective, real_projective, sphere
from .unitary import UnitaryProfile

PROFILES: dict[type[Manifold], Callable[[Any], Profile | None]] = {
    Euclidean: lambda M: EuclideanProfile(M.n),
    Sphere: lambda M: sphere(M.dim),
    RealProjective: lambda M: real_projective(M.dim),
    ComplexProjective: lambda M: complex_projective(M.complex_dim),
    Torus: lambda M: TorusProfile(M.dim),
    TorusKnot: lambda M: TorusProfile(1),
    SpecialOrthogonal: lambda M: special_orthogonal(M.n) if M.n <= 8 else None,
    Orthogonal: lambda M: OneComponent(special_orthogonal(M.n)) if M.n <= 8 else None,
    Unitary: lambda M: UnitaryProfile(M.n) if M.n <= 6 else None,
    SpecialUnitary: lambda M: UnitaryProfile(M.n, special=True) if M.n <= 6 else None,
    Grassmann: lambda M: grassmann_profile(M),
}
"""The profile of a manifold, None where its size is beyond what has been checked."""


def grassmann_profile(M: Grassmann) -> Profile | None:
    if M.is_complex:
        return complex_grassmannian(M.n, M.rank)
    return real_projective(M.n - 1) if M.rank == 1 else None


def exact_kernel(M: Manifold) -> HeatKernel:
    """The exact kernel, or Unsupported with what to use instead."""
    kernel = find_exact(M)
    if kernel is None:
        raise Unsupported(f"no exact heat kernel of {M!r} is known here. Use method='auto', the best there is.")
    return kernel


def find_exact(M: Manifold) -> HeatKernel | None:
    """The exact kernel, None where nobody knows one."""
    match M:
        case Product():
            factors = [find_exact(f) for f in M.factors]
            return None if None in factors else ProductKernel(M, tuple(f for f in factors if f is not None))
        case Quotient():
            cover = find_exact(M.cover)
            return None if cover is None else QuotientKernel(M, cover)
        case Scaled():
            base = find_exact(M.base)
            return None if base is None else ScaledKernel(M, base)
        case Stiefel():
            return stiefel_kernel(M)
        case Homogeneous():
            make = PROFILES.get(type(M))
            profile = make(M) if make else None
            return None if profile is None else OrbitKernel(M, "exact", profile)
    return None


def stiefel_kernel(M: Stiefel) -> HeatKernel | None:
    """V(1, n) is a sphere, V(n-1, n) is SO(n), and a circle is averaged over on V(n-2, n) and complex V(n-1, n)."""
    if not M.is_complex and M.k == 1:
        return FibreKernel(M, "exact", OrbitKernel(Sphere(M.n - 1), "exact", sphere(M.n - 1)), None)
    group: Homogeneous = Unitary(M.n) if M.is_complex else SpecialOrthogonal(M.n)
    kernel = find_exact(group)
    if not isinstance(kernel, OrbitKernel):
        return None
    if not M.is_complex and M.n - M.k == 1:
        return FibreKernel(M, "exact", kernel, None)
    if M.n - M.k == (1 if M.is_complex else 2):
        return FibreKernel(M, "exact", kernel, circle)
    return None


@dataclass(frozen=True)
class OneComponent:
    """A profile on the component of the origin, zero where the orbit coordinates are infinite."""

    profile: Profile

    def at(self, time: float) -> OneComponentSlice:
        return OneComponentSlice(self.profile.at(time))


@dataclass(frozen=True)
class OneComponentSlice:
    slice: Any

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self._where_finite(self.slice, theta)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        return self._where_finite(self.slice.slope, theta)

    def error(self, theta: np.ndarray) -> np.ndarray:
        return self._where_finite(self.slice.error, theta)

    @staticmethod
    def _where_finite(function: Callable[[np.ndarray], np.ndarray], theta: np.ndarray) -> np.ndarray:
        theta = np.asarray(theta)
        finite = np.isfinite(theta).all(axis=-1)
        out = np.zeros(theta.shape[:-1])
        if finite.any():
            out[finite] = function(theta[finite])
        return out
