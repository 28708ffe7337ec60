"""The families of spaces whose heat kernel has the Jacobi form, each with its parameters and its volume."""

from math import lgamma, log, pi

from .jacobi import JacobiProfile, log_volume


def rank_one(alpha: float, beta: float, speed: int) -> JacobiProfile:
    """The space with volume element const * sin(speed r / 2)^(2 alpha + 1) cos(speed r / 2)^(2 beta + 1) dr."""
    return JacobiProfile(1, alpha, beta, speed, log_volume(alpha, beta, speed))


def sphere(dim: int) -> JacobiProfile:
    """The unit sphere S^dim; theta is the distance in [0, pi].

    >>> float(sphere(2).at(50.0)([0.3]) * 4 * pi)
    1.0
    """
    return rank_one(dim / 2 - 1, dim / 2 - 1, 1)


def real_projective(dim: int) -> JacobiProfile:
    """RP^dim, the unit sphere modulo sign; theta is the distance in [0, pi/2]."""
    return rank_one(dim / 2 - 1, -0.5, 2)


def complex_projective(dim: int) -> JacobiProfile:
    """CP^dim (complex dimension) with the Fubini-Study metric; theta is the distance in [0, pi/2]."""
    return rank_one(dim - 1, 0, 2)


def special_orthogonal(n: int) -> JacobiProfile:
    """SO(n) with the metric tr(X'Y) / 2; theta are the rotation angles in [0, pi]^(n // 2).

    Weyl's characters are quotients of determinants of sin((k + 1/2) theta) for odd n, of cos(k theta) for even n: the
    Jacobi ensembles (1/2, -1/2) and (-1/2, -1/2). The kernel is even in each angle for even n as well, because
    conjugation by a reflection is an isometry.
    """
    log_size = sum(log(2) + m / 2 * log(pi) - lgamma(m / 2) for m in range(2, n + 1))
    return JacobiProfile(n // 2, 0.5 if n % 2 else -0.5, -0.5, 1, log_size)


def complex_grassmannian(n: int, k: int) -> JacobiProfile:
    """The k-planes of C^n, k <= n - k; theta are the principal angles in [0, pi/2]^k, their norm the distance.

    Its radial part is k Jacobi diffusions (n - 2k, 0) in cos(2 theta) that never meet; k = 1 is the projective space.
    Reference: Helgason (1984), ch. V; Berezin and Karpelevich (1958).
    """
    log_size = k * (n - k) * log(pi) + sum(lgamma(i) - lgamma(n - i + 1) for i in range(1, k + 1))
    return JacobiProfile(k, n - 2 * k, 0, 2, log_size)
