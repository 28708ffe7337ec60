"""The recurrence of the Jacobi polynomials, in a form that is accurate where they are one.

Reference: Koekoek et al. (2010), eq. (9.8.4).
"""


def difference_recurrence(alpha: float, beta: float, k: int) -> tuple[float, float]:
    """Numbers (a, b) with a (R_(k+1) - R_k) = b (R_k - R_(k-1)) - (1 - x) R_k, for R_k scaled to R_k(1) = 1.

    >>> [round(3 * number, 12) for number in difference_recurrence(0.0, 0.0, 1)]  # Legendre: 2 R_2 = 3 x R_1 - R_0
    [2.0, 1.0]
    """
    nu = alpha + beta + 1
    if k == 0:
        return 2 * (alpha + 1) / (nu + 1), 0.0
    up = 2 * (k + nu) * (k + alpha + 1) / ((2 * k + nu) * (2 * k + nu + 1))
    return up, 2 * k * (k + beta) / ((2 * k + nu - 1) * (2 * k + nu))
