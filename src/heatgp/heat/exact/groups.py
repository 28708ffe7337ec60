"""Exact heat kernels of the compact matrix groups, with the metric Re tr(X*Y) / 2."""

from math import gamma, pi, prod

from .jacobi import JacobiProfile
from .unitary import UnitaryProfile


def special_orthogonal(n: int) -> JacobiProfile:
    """SO(n); theta the rotation angles in [0, pi]^(n // 2).

    Weyl's characters are quotients of determinants of sin((k + 1/2) theta) for odd n, of cos(k theta) for even n: the
    Jacobi ensembles (1/2, -1/2) and (-1/2, -1/2). The kernel is even in each angle for even n as well, because
    conjugation by a reflection is an isometry.
    """
    volume = prod(2 * pi ** (m / 2) / gamma(m / 2) for m in range(2, n + 1))
    return JacobiProfile(n // 2, 0.5 if n % 2 else -0.5, -0.5, 1, volume)


def unitary(n: int) -> UnitaryProfile:
    """U(n); theta the n eigenangles in any order, modulo 2 pi."""
    return UnitaryProfile(n)


def special_unitary(n: int) -> UnitaryProfile:
    """SU(n); theta the n eigenangles, whose sum is a multiple of 2 pi."""
    return UnitaryProfile(n, special=True)
