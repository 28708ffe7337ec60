"""Exact heat kernels of U(n) and SU(n) with the metric Re tr(X*Y) / 2, as functions of the eigenangles.

With rho = ((n-1)/2, (n-3)/2, .., -(n-1)/2), l running over Z or Z + 1/2 like the entries of rho, and z = exp(i theta),

    p_t = exp(t |rho|^2) det[f_a(z_b)] / (prod_{j<n} j! vol det[z_b^rho_a]),  f_a(z) = sum_l q_a(l) exp(-t l^2) z^l

with q_a any monic polynomials of degree a (Weyl's character and dimension formulas, summed by Cauchy and Binet). As for
the Jacobi ensembles, q_a vanishes on the a slowest modes, and the quotient is the determinant of divided differences
f_a[z_0..z_b], here by z^(e+1)[z_0..z_b] = z_b z^e[z_0..z_b] + z^e[z_0..z_{b-1}]: no division, so that coinciding angles
are ordinary. At short times one term of the Poisson-summed series is the kernel to rounding: a Gaussian times
prod x / sin x over the roots.

SU(n) is the same sum over l modulo common shifts. A sum over the centre, z -> exp(2 pi i m / n) z, projects on the
class c = sum(l) mod n, where the weight w_c of the circle U(n) / SU(n) is divided out. With exp(-t (l - shift)^2) in
place of exp(-t l^2) none of the w_c is small, however long the time.

Reference: Helgason (1984), ch. V; Bump (2013), "Lie groups", ch. 22.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import exp, lgamma, log, pi, sqrt
from typing import Any

import numpy as np

from ...array import Array, wrap
from ..kernel import Function, Profile, Slice, no_error
from ..special.cubic_table import read_cubic
from ..special.determinant import NEGLIGIBLE, blocks, determinant, eliminate
from .families import sphere

_LONG = np.longdouble


@dataclass(frozen=True)
class UnitaryProfile(Profile):
    """The heat kernel of U(n), or of SU(n) if special; theta (..., n) the eigenangles of x*y in any order.

    >>> UnitaryProfile(3).at(0.1)([0.1, 0.2, 0.3]).shape
    ()
    """

    n: int
    special: bool = False

    @property
    def dim(self) -> int:
        """The real dimension."""
        return self.n**2 - self.special

    @property
    def volume(self) -> float:
        return exp(self.log_volume)

    @property
    def log_volume(self) -> float:
        """Macdonald's formula."""
        n = self.n
        power = n * (n + 1) / 2 - self.special
        root = log(n) / 2 if self.special else 0.0
        return root + power * log(2 * pi) - self.dim / 2 * log(2) - sum(lgamma(j + 1) for j in range(n))

    @property
    def rho_square(self) -> float:
        """|rho|^2."""
        return self.n * (self.n**2 - 1) / 12

    def prepare(self, time: float) -> Slice:
        if self.special and self.n == 2:  # the three-sphere, whose table is faster
            ball = sphere(3).at(time)
            value, slope, log = (
                partial(_on_half_angle, f) for f in (ball.relative_value, ball.relative_slope, ball.relative_log)
            )
            return Slice(value, slope, no_error, ball.log_scale, log)
        series = UnitarySeries(self, float(time))
        return Slice(series.value, series.slope, no_error, series.log_scale)

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        """U(1) is the unit circle with distances divided by √2, SU(2) the unit sphere of dimension three."""
        if self.special and self.n == 2:
            return sphere(3).tabulated(time)
        if self.n > 1:
            return super().tabulated(time)
        numbers, slope, log_scale = sphere(1).tabulated(2 * time)
        return numbers, slope, log_scale + log(2) / 2

    def read_table(self, numbers: Any, theta: Array) -> Array:
        return read_cubic(numbers, wrap(theta[..., 0]))


def _on_half_angle(function: Function, theta: np.ndarray) -> np.ndarray:
    """A function of the distance on the three-sphere, as one of the eigenangles (-a, a) of SU(2)."""
    return function(np.abs(wrap(np.asarray(theta, dtype=float)[..., :1])))


@dataclass(frozen=True)
class UnitarySeries:
    """p_t / p_t(identity) as a function of the eigenangles (..., n), for one t; p_t(identity) is exp(log_scale)."""

    profile: UnitaryProfile
    time: float

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self._evaluate(theta, slope=False)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t, over p_t(identity)."""
        return self._evaluate(theta, slope=True)

    @property
    def log_scale(self) -> float:
        """log p_t at the identity."""
        c = self.profile
        if self._short:
            return self.time * c.rho_square - c.dim / 2 * log(2 * pi * self.time)
        return log(self._at_identity) - c.log_volume

    def _evaluate(self, theta: np.ndarray, slope: bool) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        kernel: Callable[[np.ndarray, bool], np.ndarray] = self._gaussian if self._short else self._determinant
        return blocks(lambda angles: kernel(wrap(angles), slope), theta)

    @property
    def _short(self) -> bool:
        """Whether the images one turn away, and for SU(n) the other elements of the centre, are below rounding."""
        nearest = pi**2 / max(4, self.profile.n if self.profile.special else 0)
        return self.time * NEGLIGIBLE < nearest

    def _gaussian(self, angles: np.ndarray, slope: bool) -> np.ndarray:
        c, t = self.profile, self.time
        exponent = (angles**2).sum(axis=0) / (4 * t)
        result = np.exp(-exponent)
        result[exponent > 60] = 0  # before a pair of angles is so far apart that its sine vanishes
        for i, j in combinations(range(c.n), 2):
            gap = 0.5 * (angles[i] - angles[j]) + 1e-150  # which keeps the quotient at equal angles
            result *= gap / np.sin(gap)
        return result * (exponent / t - c.dim / (2 * t) + c.rho_square) if slope else result

    @property
    def _shift(self) -> float:
        """Half way between the circle's classes 0 and n/2, once their weights differ by more than exp(3)."""
        return 0.25 if self.profile.special and self.time * self.profile.n > 12 else 0.0

    @cached_property
    def _centre(self) -> list[tuple[int, complex, complex]]:
        """The m, weight and time derivative of the weight of those elements exp(2 pi i m / n) that count.

        Dropping the rest leaves the kernel positive definite: with m = 0 alone it is U(n)'s, restricted.
        """
        n = self.profile.n
        if not self.profile.special:
            return [(0, 1.0, 0.0)]
        m, c = np.arange(n), np.arange(n // 2 + 1)[:, None]
        k = c + n * np.arange(-40, 41)
        rate = k * (k - 2 * n * self._shift) / n
        slowest = rate.min(axis=1, keepdims=True)  # not positive: at long times the weights are beyond all numbers
        decay = np.exp(-self.time * (rate - slowest))
        inverse = np.exp(self.time * slowest) / decay.sum(axis=1, keepdims=True)
        change = inverse * (rate * decay).sum(axis=1, keepdims=True) / decay.sum(axis=1, keepdims=True)
        both = np.where((c == 0) | (2 * c == n), 1, 2)  # the classes c and -c are conjugate
        character = both * np.exp(-2j * pi * c * m / n) / n
        weights, changes = (character * inverse).sum(axis=0), (character * change).sum(axis=0)
        if self._shift == 0:
            weights, changes = weights.real, changes.real
        return [(i, weights[i], changes[i]) for i in range(n) if abs(weights[i]) > 1e-13 * abs(weights[0])]

    @cached_property
    def series(self) -> np.ndarray:
        """Coefficients of z^e, |e| <= most, in the functions f_a that the determinants need: (functions, 2 most + 1).

        e = l - 1/2 for even n; the common factor z^(1/2) leaves the quotient. At long times the determinant of the
        first n tends to one. In its time derivative, d/dt f_a is a combination of the next two functions, hence only
        the last two rows count: det(.., df_{n-2}, f_{n-1}) + det(.., f_{n-2}, df_{n-1}); their three new rows follow.
        """
        n, shift = self.profile.n, self._shift
        most = int(sqrt(70 / self.time)) + n + 2
        exponent = np.arange(-most, most + 1, dtype=_LONG)
        mode = exponent + (n + 1) % 2 / _LONG(2)
        rho = np.arange(n) - _LONG(n - 1) / 2
        order = np.argsort(np.abs(rho - shift), kind="stable")
        slowest = rho[order]
        rows, rates, newton = [], [], np.ones_like(mode)
        for a in range(n):
            rates.append((mode - shift) ** 2 - (slowest[a] - shift) ** 2)
            rows.append(newton / np.prod(slowest[a] - slowest[:a]) * np.exp(-self.time * np.maximum(rates[a], 0)))
            newton = newton * (mode - slowest[a])
        rows[-1] *= np.linalg.det(np.eye(n)[order])  # the sign of the permutation
        if n > 1:
            rows += [-rates[-2] * rows[-2], rows[-1]]
        rows.append(-rates[-1] * rows[n - 1])
        before = [*range(n), n - 2, n - 2, n - 1] if n > 1 else [0, 0]
        taylor = np.cumprod([np.ones_like(mode), *((exponent - j) / (j + 1) for j in range(n - 1))], axis=0)
        table = eliminate(np.array(rows), taylor, before)
        size = np.abs(table) * (1 + np.abs(exponent)) ** (n - 1)
        kept = np.abs(exponent[(size > 1e-17 * size.max(axis=1, keepdims=True)).any(axis=0)]).max()
        return table[:, np.abs(exponent) <= kept].astype(float)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """The series, and if more of the centre counts its products with cos and sin of 2 pi m e / n, m <= n/2."""
        n, table = self.profile.n, self.series
        most = table.shape[1] // 2
        angle = 2 * pi / n * np.arange(-most, most + 1)
        turns = range(1, n // 2 + 1) if len(self._centre) > 1 else []
        return np.stack([table, *(f(m * angle) * table for m in turns for f in (np.cos, np.sin))])

    @cached_property
    def _at_identity(self) -> float:
        """volume * p_t there."""
        return float(self._sum(np.zeros((self.profile.n, 1)), slope=False)[0])

    def _determinant(self, angles: np.ndarray, slope: bool) -> np.ndarray:
        return self._sum(angles, slope) / self._at_identity

    def _sum(self, angles: np.ndarray, slope: bool) -> np.ndarray:
        """volume * p_t, or volume times its derivative in t."""
        n = self.profile.n
        functions = slice(None) if slope else slice(n)
        z = np.exp(1j * angles)
        parts = _differences(self._coefficients[:, functions], z)
        total = np.zeros(angles.shape[1], dtype=complex)
        for m, weight, change in self._centre:
            turn = min(m, n - m)
            rows = parts[0] if m == 0 else parts[2 * turn - 1] + (1j if m == turn else -1j) * parts[2 * turn]
            value = determinant(rows[:n])
            if slope:
                replaced = determinant(rows[[*range(n - 1), -1]])
                if n > 1:
                    replaced = replaced + determinant(rows[[*range(n - 2), n, n + 1]])
                value = change * value + weight * replaced
            else:
                value *= weight
            total += value if m * (n - 1) % 2 == 0 else -value  # the nodes turn, too
        total *= z.prod(axis=0) ** (n // 2)  # the denominator's lowest exponent is -(n // 2)
        return total.real


def _differences(coefficients: np.ndarray, z: np.ndarray) -> np.ndarray:
    """f[z_0..z_b] for f = sum_e coefficients[.., e] z^e, |e| <= most, at nodes z (n, pairs): (.., b, pairs).

    The coefficients are real, with two leading axes. On the circle z^-e[z_0..z_b] = (-1)^b conj(z_0 .. z_b
    z^(e-1+b)[z_0..z_b]), which spares the negative powers.
    """
    n, pairs = z.shape
    parts, functions, terms = coefficients.shape
    most = terms // 2
    powers = np.empty((most + n, n, pairs), dtype=complex)
    powers[0] = 0
    powers[0, 0] = 1
    for e in range(most + n - 1):
        np.multiply(z, powers[e], out=powers[e + 1])
        powers[e + 1, 1:] += powers[e, :-1]
    result = np.empty((parts, functions, n, pairs), dtype=complex)
    product = z[0]
    for b in range(n):
        both = np.zeros((2, parts, functions, most + max(b, 1)))
        both[0, ..., : most + 1] = coefficients[..., most:]
        both[1, ..., b : b + most] = coefficients[..., :most][..., ::-1]
        if b:
            product = -product * z[b]
        # real coefficients: the complex numbers are pairs of columns
        flat = both.reshape(-1, both.shape[-1]) @ powers[: both.shape[-1], b].view(float)
        ahead, mirrored = flat.view(complex).reshape(2, parts, functions, pairs)
        mirrored *= product
        np.conj(mirrored, out=mirrored)
        np.add(ahead, mirrored, out=result[:, :, b])
    return result
