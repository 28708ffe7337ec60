"""The short-time expansion of the heat kernels of rank one, to any order.

On a space with volume element sin^(2 alpha + 1) cos^(2 beta + 1) of phi = speed r / 2, of dimension n = 2 alpha + 2,

    p_t(r) = (2 pi t)^(-n/2) exp(-r²/2t) (phi / sin phi)^(alpha + 1/2) (1 / cos phi)^(beta + 1/2) exp(F(r², t)),

where the heat equation leaves for F, with z = r² and V the potential that the two powers have in it,

    dF/dt + (2z/t) dF/dz = n dF/dz + 2z d²F/dz² + 2z (dF/dz)² - V(z).

The coefficients of F = sum F_kj t^k z^j follow one after the other. Since z is of the size t where the kernel matters,
those of k + j = 1, 2, .. are the orders of the expansion. Geodesics that go around the other way are left out: their
part is exp(-half_period²/2t) of the peak.

Reference: Minakshisundaram and Pleijel (1949); Berger, Gauduchon and Mazet (1971), ch. III.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import binom, zeta

ORDERS = 16
"""Of the expansion: where the last one is below rounding, so is what is left out."""
NEGLIGIBLE_ORDER = 1e-17
"""How small the last order must be, as part of the peak."""
_LONG = np.longdouble


@dataclass(frozen=True)
class ShortTime:
    """log p_t of one space, without its factor (2 pi t)^(-n/2), for times that are short enough."""

    alpha: float
    beta: float
    speed: int

    @property
    def dim(self) -> float:
        return 2 * self.alpha + 2

    @cached_property
    def coefficients(self) -> np.ndarray:
        """F_kj for k + j <= ORDERS; those with k = 0 are zero."""
        n, size = _LONG(self.dim), ORDERS + 1
        potential = self._potential()
        F = np.zeros((size, size), dtype=_LONG)
        place = np.arange(size, dtype=_LONG)
        for order in range(1, size):
            for k in range(1, order + 1):
                j = order - k
                total = (j + 1) * (2 * j + n) * F[k - 1, j + 1] if j + 1 < size else _LONG(0)
                for earlier in range(1, k - 1):  # the square of dF/dz
                    left, right = (F[i, : j + 2] * place[: j + 2] for i in (earlier, k - 1 - earlier))
                    total += 2 * (left @ right[::-1])
                if k == 1:
                    total -= potential[j]
                F[k, j] = total / (k + 2 * j)
        return F

    def _potential(self) -> np.ndarray:
        """Coefficients of V in z: half of (A^(1/2))'' / A^(1/2) - (r^(n-1))^(1/2)'' / (r^(n-1))^(1/2)."""
        a, b = _LONG(self.alpha) + 0.5, _LONG(self.beta) + 0.5
        m = np.arange(1, ORDERS + 2)
        pi = 4 * np.arctan(_LONG(1))
        series = 2 * (2 * m - 1) * zeta(2 * m) / pi ** (2 * m)  # of cot² - 1/phi² + 1, and with 4^m - 1 of tan² + 1
        V = a * (a - 1) * series + b * (b - 1) * (_LONG(4) ** m - 1) * series
        V[0] -= a * (a - 1) + b * (b - 1) + 2 * a * b + a + b
        half = (_LONG(self.speed) / 2) ** 2
        return V * half**m / 2

    def is_accurate(self, time: float) -> bool:
        """Whether the last order is below rounding, measured by t^k z^j exp(-z/2t) at its largest, z = 2jt."""
        j = np.arange(1, ORDERS)  # k >= 1
        peak = np.concatenate([[1.0], (2 * j / np.e) ** j])
        last = np.abs(self.coefficients[ORDERS - np.arange(ORDERS), np.arange(ORDERS)]).astype(float)
        return (
            float(np.log(np.max(last * peak)) + ORDERS * np.log(time)) < np.log(NEGLIGIBLE_ORDER)
            if last.any()
            else True
        )

    def jet(self, r: np.ndarray, time: float, order: int) -> tuple[np.ndarray, float]:
        """Derivatives (order + 1, ...) of p in the logarithm of the factor s of the time s t, at s = 1, over i!.

        They are divided by the second result's exponential, which with (2 pi t)^(-n/2) is p at distance 0.
        """
        t, z, phi = _LONG(time), r * r, r * _LONG(self.speed) / 2
        k = np.arange(ORDERS + 1)
        logs = []
        for i in range(order + 1):  # of log p in (s - 1)^i
            c = (self.coefficients * (t**k * binom(k, i))[:, None]).sum(axis=0)
            log = np.zeros_like(z)
            for coefficient in c[:0:-1]:
                log = (log + coefficient) * z
            log = log - (-1) ** i * z / (2 * t)
            logs.append(log + (c[0] - (-1) ** (i + 1) * _LONG(self.dim) / (2 * i) if i else 0))
        height = float((self.coefficients[:, 0] * t**k).sum())
        ratio = np.where(phi > 0, phi / np.sin(np.where(phi > 0, phi, 1)), 1)
        logs[0] = logs[0] + (_LONG(self.alpha) + 0.5) * np.log(ratio) - (_LONG(self.beta) + 0.5) * np.log(np.cos(phi))
        found = [np.exp(logs[0])]
        for i in range(1, order + 1):
            found.append(sum(m * logs[m] * found[i - m] for m in range(1, i + 1)) / i)
        return np.stack(found), height


@lru_cache(maxsize=64)
def short_time(alpha: float, beta: float, speed: int) -> ShortTime:
    """The expansion, whose coefficients are kept."""
    return ShortTime(alpha, beta, speed)
