"""Exact heat kernels of the Stiefel manifolds V(2, n): pairs of orthonormal vectors of R^n.

A = x'y acts on the plane of complex numbers z as w z + u conj(z). With

    w = cos(sigma) cos(delta) exp(i phi),   |u| = sin(sigma) sin(delta)

p_t is a function of phi, sigma and delta. To turn both vectors of y in their plane changes phi alone, and commutes with
the Laplacian: so p_t is a Fourier series in phi,

    p_t = 1/volume * sum over m of exp(i m phi) (cos sigma cos delta)^|m|
          * sum over a >= b >= 0 of exp(-E t/2) P(1, 1) P(cos 2 sigma, cos 2 delta),
    E = k (k + n - 2) + l (l + n - 4),   k = |m| + a + b,   l = a - b,

where the P are the symmetric polynomials with the leading term x^a y^b that are orthonormal with respect to the
probability density proportional to |x - y|^(n-4), times ((1 + x)(1 + y) / 4)^|m|: Gram-Schmidt in the order of E. They
are the spherical functions of line bundles over the oriented planes. All is a sum of products of cosines with positive
coefficients.

Reference: Heckman and Schlichtkrull (1994), Harmonic Analysis and Special Functions on Symmetric Spaces, part I, ch. 5.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy.fft import dct
from scipy.special import betaln, chdtri, eval_jacobi, roots_jacobi

from ...manifolds.roots import log_sphere_volume
from ..kernel import Function, Profile, Slice, no_error
from ..special.cosines import contract

SHORTEST = 0.02
"""The shortest time: its polynomials take some seconds, and those of half of it four times as many."""
MISSING = 1e-14
"""The part of p_t(x, x) that the sum may miss."""
NUMBERS = 1 << 21
"""Numbers at once."""


@dataclass(frozen=True)
class FramesProfile(Profile):
    """V(2, n), n >= 4; theta are the four entries of x'y."""

    n: int
    limit: ClassVar[str] = "No method goes to shorter times on this manifold."

    @property
    def times(self) -> tuple[float, float]:
        return SHORTEST, math.inf

    def prepare(self, time: float) -> Slice:
        octave = max(0, math.floor(math.log2(time / SHORTEST)))
        modes = frame_modes(self.n, SHORTEST * 2.0**octave)
        value, slope = (modes.tensor(time, power) for power in (0, 1))
        height = float(value.sum())
        log_volume = log_sphere_volume(self.n - 1) + log_sphere_volume(self.n - 2)
        return Slice(reader(value / height), reader(slope / height), no_error, math.log(height) - log_volume)


@dataclass(frozen=True)
class Charge:
    """The polynomials of one m."""

    m: int
    weights: np.ndarray
    """(a, b) of each polynomial."""
    eigenvalue: np.ndarray
    """E."""
    at_one: np.ndarray
    """P(1, 1)."""
    mixing: np.ndarray
    """Products of Jacobi polynomials, symmetrised, times this matrix are the P."""


@dataclass(frozen=True, eq=False)
class FrameModes:
    """All the polynomials that count from a time on."""

    charges: tuple[Charge, ...]

    @cached_property
    def size(self) -> int:
        """Of the tensors: m and the frequencies of sigma and delta are smaller."""
        return 1 + max(c.m + 2 * int(c.weights[:, 0].max()) for c in self.charges)

    def tensor(self, time: float, power: int) -> np.ndarray:
        """Coefficients (m, ., .) of cos(m phi) cos(i sigma) cos(j delta), of p_t volume or of its time derivative."""
        out = np.zeros((len(self.charges), self.size, self.size))
        for c, waves in zip(self.charges, self._waves):
            rates = (-c.eigenvalue / 2) ** power * np.exp(-c.eigenvalue * time / 2)
            sums = c.mixing @ (rates * c.at_one) / 2
            products = np.zeros((waves.shape[1],) * 2)
            for a, b in (c.weights.T, c.weights.T[::-1]):
                products[a, b] += sums
            out[c.m] = (2 if c.m else 1) * (waves @ products @ waves.T)
        return out

    @cached_property
    def _waves(self) -> list[np.ndarray]:
        """For each m the coefficients (frequency, degree) of cos(s)^m times the Jacobi polynomials of cos(2s)."""
        s = (np.arange(2 * self.size) + 0.5) * (math.pi / (2 * self.size))
        found = []
        for c in self.charges:
            values = np.cos(s)[:, None] ** c.m * jacobi(c.m, int(c.weights.max()), np.cos(2 * s))
            waves = dct(values, axis=0)[: self.size] / len(s)
            waves[0] /= 2
            found.append(waves)
        return found


@lru_cache(maxsize=12)
def frame_modes(n: int, time: float) -> FrameModes:
    """The polynomials of V(2, n) that make all but MISSING of p_t(x, x) at this time, and at every later one."""
    largest = float(chdtri(2 * n - 3, MISSING)) / time
    return FrameModes(tuple(charges(n, largest)))


def charges(n: int, largest: float) -> Iterator[Charge]:
    """The polynomials with E up to a bound, for m = 0, 1, .."""
    m = 0
    while m * (m + n - 2) <= largest:
        degree = math.isqrt(int(largest))
        a, b = (part.ravel() for part in np.indices((degree + 1, degree + 1)))
        sums, gaps = m + a + b, a - b
        eigenvalue = sums * (sums + n - 2) + gaps * (gaps + n - 4)
        kept = np.flatnonzero((b <= a) & (eigenvalue <= largest))
        kept = kept[np.argsort(eigenvalue[kept], kind="stable")]
        weights = np.stack([a, b], axis=1)[kept]
        yield Charge(m, weights, eigenvalue[kept].astype(float), *orthonormal(n, m, weights))
        m += 1


def orthonormal(n: int, m: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(1, 1) and the mixing of the polynomials of one m, by Gauss's rule.

    In y, and in s = (1 + y) / (1 + x), the density of x > y is a product of powers.
    """
    number = int(weights.sum(axis=1).max()) + 2
    x, first = roots_jacobi(number, 0, n - 3 + 2 * m)
    s, second = roots_jacobi(number, n - 4, m)
    x = np.repeat(x, number)
    y = (1 + x) * np.tile(1 + s, number) / 2 - 1
    values = symmetric_products(m, weights, np.stack([x, y], axis=1))
    root = np.sqrt(np.outer(first / first.sum(), second / second.sum()).ravel())
    triangle = np.linalg.qr(values * root[:, None], mode="r")
    # the integral of ((1 + x)(1 + y) / 4)^m over that of one
    log_mass = math.log((n - 2) / (n - 2 + 2 * m)) + betaln(n - 3, m + 1) - betaln(n - 3, 1)
    mixing = np.linalg.inv(triangle) * math.exp(-log_mass / 2)
    return symmetric_products(m, weights, np.ones((1, 2)))[0] @ mixing, mixing


def symmetric_products(m: int, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Products of the Jacobi polynomials of degrees a and b, symmetrised, at x (n, 2): (n, weights)."""
    (a, b), (first, second) = weights.T, (jacobi(m, int(weights.max()), column) for column in x.T)
    return (first[:, a] * second[:, b] + first[:, b] * second[:, a]) / 2


def jacobi(m: int, degree: int, x: np.ndarray) -> np.ndarray:
    """The Jacobi polynomials (0, m), one at x = 1, up to a degree: (n, degree + 1)."""
    return eval_jacobi(np.arange(degree + 1), 0, m, x[:, None])


def reader(tensor: np.ndarray) -> Function:
    """The sum of the cosines as a function of the entries of x'y. Frequencies have the parity of m."""
    halves = [tensor[p::2, p::2, p::2] for p in range(min(2, len(tensor)))]  # at long times m = 0 alone
    rows = max(1, NUMBERS // tensor.shape[1] ** 2)

    def read(theta: np.ndarray) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        flat = theta.reshape(-1, 4)
        out = np.zeros(len(flat))
        for start in range(0, len(flat), rows):
            own = flat[start : start + rows]
            for p, half in enumerate(halves):
                waves = [np.arange(p, p + 2 * size, 2) for size in half.shape]
                factors = [np.cos(np.multiply.outer(angle, w)) for angle, w in zip(angles(own), waves)]
                out[start : start + rows] += contract(half, factors)
        return out.reshape(theta.shape[:-1])

    return read


def angles(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """phi, sigma and delta from the entries of x'y (n, 4)."""
    a, b, c, d = theta.T
    turned, stretched = np.hypot(a + d, c - b) / 2, np.hypot(a - d, c + b) / 2
    far, near = (np.arccos(np.clip(turned + sign * stretched, -1, 1)) for sign in (-1, 1))
    return np.arctan2(c - b, a + d), (far + near) / 2, (far - near) / 2
