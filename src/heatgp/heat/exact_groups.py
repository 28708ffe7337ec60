"""Exact heat kernels of the compact matrix groups."""

from math import gamma, pi, prod

from heatgp.heat.exact_jacobi import JacobiProfile


def special_orthogonal(n: int) -> JacobiProfile:
    """SO(n) with the metric tr(X'Y)/2; theta the rotation angles in [0, pi]^(n // 2)."""
    volume = prod(2 * pi ** (m / 2) / gamma(m / 2) for m in range(2, n + 1))
    return JacobiProfile(n // 2, 0.5 if n % 2 else -0.5, -0.5, 1, volume)
