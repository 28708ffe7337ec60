"""The exact heat kernel of the complex Grassmannians."""

from math import factorial, pi, prod

from .jacobi import JacobiProfile


def complex_grassmannian(n: int, k: int) -> JacobiProfile:
    """The k-planes of C^n, k <= n - k, metric the norm of the principal angles; theta those angles in [0, pi/2]^k.

    Its radial part is k Jacobi diffusions (n - 2k, 0) in cos(2 theta) that never meet; k = 1 is the projective space.
    Reference: Helgason (1984), ch. V; Berezin and Karpelevich (1958).
    """
    volume = pi ** (k * (n - k)) * prod(factorial(i - 1) / factorial(n - i) for i in range(1, k + 1))
    return JacobiProfile(k, n - 2 * k, 0, 2, volume)
