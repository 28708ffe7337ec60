"""The short-time expansion of the heat kernels of symmetric positive definite matrices, for any size.

h are the logarithms of the eigenvalues of x^-1 y, d = n (n + 1) / 2 and a = (h_i - h_j) / 2 over i < j. Then

    p_t(h) = (2 pi t)^(-d/2) exp(-|h|²/2t) times the product of (a / sinh a)^(1/2) times exp(F(h, t)),

where the heat equation leaves for F, with L the Laplacian of flat space in these coordinates,

    dF/dt + <h, grad F> / t = (L F + |grad F|²) / 2 - U(h),
    U = |rho|² / 2 - sum of (1 / sinh² a - 1 / a²) / 16,   |rho|² = n (n² - 1) / 48.

F is a sum of t^k times polynomials F_k in the elementary symmetric polynomials e_2, .., e_n of h less its mean, which
follow one after the other. U has poles where a = i pi, so that powers of h converge up to |h|² = 2 pi² only; as there
are none for real h, Euler's summation in |h|² / (|h|² + 20) converges at all distances. Powers of t are summed in the
same way, in t / (t + 6).

Reference: Minakshisundaram and Pleijel (1949); Helgason (1984), ch. II, Proposition 3.11, for L; Hardy (1949),
Divergent Series, ch. VIII, for Euler's summation.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import binom, zeta

from ..special.polynomials import derivative, product

ORDERS = 12
"""Of the expansion: t^k h^2j counts as k + j."""
NEAREST = 20.0
"""About -|h|² of the nearest pole, 2 pi²: h = (b, -b, 0, ..) has a = b = i pi there."""
SLOW = 6.0
"""Powers of t are summed in t / (t + this): their coefficients alternate, and fall by about this factor."""


@dataclass(frozen=True)
class MatrixExpansion:
    """F for n x n matrices."""

    n: int

    def __call__(self, h: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """F and its derivative in time at h (m, n)."""
        h = h - h.mean(axis=-1, keepdims=True)
        square = np.einsum("mn,mn->m", h, h)
        powers = [np.vander(e, size, increasing=True).T for e, size in zip(_elementary_values(h)[2:], self._shape)]
        value, rate = np.zeros((2, len(h)))
        powers_of_time, slopes = time_powers(time)
        for j, (exponents, coefficients) in enumerate(self._by_degree):
            parts = coefficients @ math.prod(power[own] for power, own in zip(powers, exponents))
            for k, weight in zip(range(ORDERS - j, 0, -1), euler_weights(j, square / (square + NEAREST))):
                value += powers_of_time[k] * weight * parts[k]
                rate += slopes[k] * weight * parts[k]
        return value, rate

    def height(self, time: float) -> float:
        """F at h = 0."""
        return float(time_powers(time)[0] @ self.coefficients.reshape(ORDERS + 1, -1)[:, 0])

    @property
    def _shape(self) -> tuple[int, ...]:
        """Of the arrays of coefficients of powers of e_2, .., e_n, up to the degree 2 ORDERS in h."""
        return tuple(2 * ORDERS // a + 1 for a in range(2, self.n + 1))

    @cached_property
    def _degree(self) -> np.ndarray:
        """The degree in h of each product of powers."""
        return np.tensordot(np.arange(2, self.n + 1), np.indices(self._shape), 1)

    @cached_property
    def _by_degree(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each degree 2j: the exponents (n - 1, products) of its products, and their coefficients (k, products)."""
        own = [self._degree == 2 * j for j in range(ORDERS)]
        return [(np.stack(np.nonzero(which)), self.coefficients[:, which]) for which in own]

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Of t^k and the products of powers of e_2, .., e_n."""
        F = np.zeros((ORDERS + 1, *self._shape))
        slopes: list[list[np.ndarray]] = [[]]
        gradients: list[list[np.ndarray]] = [[]]  # slopes times the inner products of the gradients
        for k in range(1, ORDERS + 1):
            right = -self._potential if k == 1 else self._laplacian(slopes[k - 1], gradients[k - 1]) / 2
            for earlier in range(1, k - 1):
                for slope, gradient in zip(slopes[earlier], gradients[k - 1 - earlier]):
                    right = right + self._product(slope, gradient) / 2
            F[k] = np.where(self._degree <= 2 * (ORDERS - k), right / (k + self._degree), 0.0)
            slopes.append([derivative(F[k], axis) for axis in range(self.n - 1)])
            gradients.append([self._combined(row, slopes[k]) for row in self._inner])
        return F

    def _laplacian(self, slopes: list[np.ndarray], gradients: list[np.ndarray]) -> np.ndarray:
        """L f = sum of df/de_a L e_a + sum of d²f/de_a de_b <grad e_a, grad e_b>.

        With g_a = sum over b of <grad e_a, grad e_b> df/de_b the second sum is that of dg_a/de_a, less the derivatives
        of the inner products.
        """
        n, out = self.n, np.zeros(self._shape)
        for a, slope, gradient in zip(range(2, n + 1), slopes, gradients):
            own = -((n - a + 1) * (n - a + 2) / n + binom(n - a + 2, 2))  # L e_a over e_(a-2)
            out += derivative(gradient, a - 2) + own * self._product(slope, self._elementary(a - 2))
        for row, slope in zip(self._inner, slopes):
            for axis, part in enumerate(row):
                out -= self._product(slope, derivative(part, axis))
        return out

    @cached_property
    def _inner(self) -> list[list[np.ndarray]]:
        """<grad e_a, grad e_b>: for a <= b, (n - b + 1) (a - 1) / n e_(a-1) e_(b-1) less the sum over i >= 1 of
        (b - a + 2i) e_(a-1-i) e_(b-1+i)."""

        def entry(a: int, b: int) -> np.ndarray:
            a, b, n = min(a, b), max(a, b), self.n
            out = (n - b + 1) * (a - 1) / n * self._product(self._elementary(a - 1), self._elementary(b - 1))
            for i in range(1, min(a, n - b + 2)):
                out = out - (b - a + 2 * i) * self._product(self._elementary(a - 1 - i), self._elementary(b - 1 + i))
            return out

        sizes = range(2, self.n + 1)
        return [[entry(a, b) for b in sizes] for a in sizes]

    @property
    def _potential(self) -> np.ndarray:
        """U, by sums of even powers of the differences of h, which are sums of products of power sums."""
        n, sums = self.n, list(self._power_sums())
        out = n * (n * n - 1) / 96 * self._elementary(0)
        for q in range(ORDERS):
            powers = sum(
                (-1) ** r * binom(2 * q, r) / 2 * self._product(sums[r], sums[2 * q - r]) for r in range(2 * q + 1)
            )
            powers = powers if q else n * (n - 1) / 2 * self._elementary(0)
            series = -((-1) ** q) * 2 * (2 * q + 1) * zeta(2 * q + 2) / math.pi ** (2 * q + 2)  # of 1 / sinh² - 1 / a²
            out = out - series / 4**q / 16 * powers
        return out

    def _power_sums(self) -> Iterator[np.ndarray]:
        """The sums of h^r, r = 0, 1, .., by Newton's identities."""
        found = [self.n * self._elementary(0), np.zeros(self._shape)]
        for r in range(2, 2 * ORDERS + 1):
            total = -((-1) ** r) * r * self._elementary(r)
            for a in range(2, min(r - 1, self.n) + 1):
                total = total - (-1) ** a * self._product(self._elementary(a), found[r - a])
            found.append(total)
        yield from found

    def _elementary(self, a: int) -> np.ndarray:
        """e_a; e_0 is one, e_1 and all beyond e_n are zero."""
        out = np.zeros(self._shape)
        if a == 0:
            out.flat[0] = 1
        elif 2 <= a <= self.n:
            out[tuple(int(axis == a - 2) for axis in range(self.n - 1))] = 1
        return out

    def _combined(self, row: list[np.ndarray], parts: list[np.ndarray]) -> np.ndarray:
        return sum((self._product(a, b) for a, b in zip(row, parts)), np.zeros(self._shape))

    def _product(self, f: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Of two polynomials, without degrees that are too high."""
        return np.where(self._degree <= 2 * ORDERS, product(f, g), 0.0)


def _elementary_values(h: np.ndarray) -> list[np.ndarray]:
    """e_0, .., e_n of h (m, n)."""
    out = [np.ones(len(h)), *np.zeros((h.shape[1], len(h)))]
    for column in h.T:
        for a in range(h.shape[1], 0, -1):
            out[a] = out[a] + column * out[a - 1]
    return out


def time_powers(time: float) -> np.ndarray:
    """t^k and its derivative, (2, ORDERS + 1), by Euler's summation in u = t / (t + SLOW)."""
    u = time / (time + SLOW)
    k, m = np.indices((ORDERS + 1, ORDERS + 1))
    terms = np.where(m >= np.maximum(k, 1), binom(m - 1, m - k) * SLOW**k, 0.0)
    terms[0] = 0.0  # F has no term without a power of t
    m = np.arange(ORDERS + 1)
    return np.stack([terms @ u**m, terms @ (m * u ** np.maximum(m - 1, 0)) * (SLOW / (time + SLOW) ** 2)])


def euler_weights(j: int, w: np.ndarray) -> Iterator[np.ndarray]:
    """The weights of the term z^j in Euler's summation of a series up to z^J, J = j, j + 1, .., with w = z / (z + c).

    z^j = c^j w^j (1 - w)^-j is expanded in w, up to w^J.
    """
    if j == 0:
        while True:
            yield np.ones(len(w))
    total, term, power = np.zeros(len(w)), (1 - w) ** j, j
    while True:
        total = total + binom(power - 1, power - j) * term
        yield total
        term, power = term * w, power + 1


@lru_cache(maxsize=8)
def matrix_expansion(n: int) -> MatrixExpansion:
    """The expansion, whose coefficients are kept."""
    return MatrixExpansion(n)
