"""Heat kernels of positive definite matrices with the affine-invariant metric, by sums of positive terms.

h are the logarithms of the eigenvalues of x^-1 y. Hermitian matrices have a closed form,

    p_t = (2 pi t)^(-n²/2) exp(-n(n² - 1) t/24 - |h|²/2t) times the product over i < j of a / sinh a, a = (h_i - h_j)/2.

Real symmetric matrices are the line of determinants times a space of negative curvature. For n = 2 this is the
hyperbolic plane with distances times √2. For n = 3, with e(h) = diag(exp h), its kernel is an integral over the group
of complex orthogonal matrices k of determinant one,

    p_t(h) = c t^-4 exp(-t/4) times the integral of G(log of the eigenvalues of k e(h/2) k*) dk,
    G(s) = exp(-2 |s|²/t) times the product over i < j of b / sinh b, b = (s_i - s_j)/2:

the kernel of the complex space at a quarter of the time. G does not change with unitary factors, so that k = exp(iY)
with real skew-symmetric Y is enough, and dk is (sinh |y| / |y|)² dy, y the axis vector of Y. The integrand is positive,
analytic, even in each of the three coordinates of y, and falls like a normal density: sums over equal steps of |y| and
of one angle, and Gauss's rule in the other one, converge exponentially.

Reference: Gangolli (1968), Acta Math. 121, 151-192, for complex groups; Flensted-Jensen (1978), J. Functional Analysis
30, 106-146, for the integral; Trefethen and Weideman (2014), SIAM Review 56, 385-458.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dctn
from scipy.optimize import brentq

from ...array import log_sinhc, sinhc
from ...manifolds.spaces.positive_definite import HermitianPD, SymmetricPD
from ..kernel import Function, Profile, Slice, no_error
from .hyperbolic import NEGLIGIBLE, HyperbolicProfile, r_coth
from .short_time_matrices import matrix_expansion

NARROW = 3.0
"""What the width of the integrand is at most, at long times, is the root of one over this."""
RULES = (
    (2.0, 6, 0.6, 1e-13),
    (4.0, 8, 0.6, 1e-12),
    (8.0, 8, 0.6, 1e-10),
    (16.0, 10, 0.6, 1e-9),
    (1e300, 12, 0.6, 1e-7),
)
"""Up to a time: how many nodes in each of the two angles of y, the step of |y| in widths, the error over p_t(0)."""
SHORT = 0.5
"""The time up to which the expansion is taken for n = 3: it is right to 2e-13 of p_t(0) there."""
LONGEST = 1.0
"""The longest time for n > 3: for n = 3 the expansion is right to 1e-9 of p_t(0) there."""
ROUGHLY = 4.0
"""The same in averages over times: there it is right to 4e-4 of p_t(0)."""
NEAR = 6.0
"""|h|² up to which logarithms are those of the expansion for n = 3."""
CURVED = 3.0
"""Differences of h are tabulated in arsinh of the difference over this: functions vary over this length or √t."""
CHUNK = 1 << 18
"""Numbers at once."""
TRIALS = 40
"""Random places at which a series is compared with the integral."""
MOST = 60
"""Chebyshev nodes in each of two coordinates at most."""
Function2 = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class HermitianProfile(Profile):
    """Hermitian positive definite n x n matrices; theta are the logarithms h, in any order."""

    n: int

    @cached_property
    def space(self) -> HermitianPD:
        return HermitianPD(self.n)

    def prepare(self, time: float) -> Slice:
        def log(theta: np.ndarray) -> np.ndarray:
            h = np.asarray(theta, dtype=float)
            return -np.square(h).sum(axis=-1) / (2 * time) + self.space.roots.log_short_time(h)

        def slope(theta: np.ndarray) -> np.ndarray:
            h = np.asarray(theta, dtype=float)
            change = np.square(h).sum(axis=-1) / (2 * time**2) - self.space.dim / (2 * time) - self.space.decay
            return np.exp(log(h)) * change

        scale = -self.space.dim / 2 * math.log(2 * math.pi * time) - self.space.decay * time
        return Slice(lambda theta: np.exp(log(theta)), slope, no_error, scale, log)


@dataclass(frozen=True)
class SymmetricProfile(Profile):
    """Symmetric positive definite n x n matrices, n = 2 to 5; theta are the logarithms h, in any order.

    At short times the expansion is right to rounding for any n; beyond, sizes 2 and 3 have formulas.
    """

    n: int
    limit: ClassVar[str] = "No method goes further for n > 3; SPD(n, 'log-euclidean') has a kernel at all times."

    @property
    def times(self) -> tuple[float, float]:
        return 0.0, math.inf if self.n <= 3 else LONGEST

    @property
    def averaged_times(self) -> tuple[float, float]:
        return 0.0, math.inf if self.n <= 3 else ROUGHLY

    def prepare(self, time: float) -> Slice:
        if self.n > 3 or (self.n == 3 and time < SHORT):
            return self._expanded(time)
        return self._with_line(time)

    def _expanded(self, time: float) -> Slice:
        """By the short-time expansion, where the kernel is above rounding."""
        space, expansion = SymmetricPD(self.n), matrix_expansion(self.n)
        height, half = expansion.height(time), SymmetricPD(self.n).dim / 2

        def read(theta: np.ndarray, function: Function2, elsewhere: Function, is_log: bool = False) -> np.ndarray:
            """A function of the logarithm and of its derivative in time, where the expansion is right and matters."""
            h = np.asarray(theta, dtype=float)
            flat = h.reshape(-1, self.n)
            square = np.square(flat).sum(axis=-1)
            leading = space.roots.log_short_time(flat) - square / (2 * time)
            out = np.empty(len(flat))
            matters = square < NEAR if is_log else leading > -NEGLIGIBLE
            near = np.flatnonzero(matters)
            for start in range(0, len(near), CHUNK // 64):
                own = near[start : start + CHUNK // 64]
                log, rate = expansion(flat[own], time)
                change = rate + square[own] / (2 * time**2) - half / time
                out[own] = function(leading[own] + log - height, change)
            out[~matters] = elsewhere(flat[~matters])
            return out.reshape(h.shape[:-1])

        def value(theta: np.ndarray) -> np.ndarray:
            return read(theta, lambda log, change: np.exp(log), no_error)

        def slope(theta: np.ndarray) -> np.ndarray:
            return read(theta, lambda log, change: np.exp(log) * change, no_error)

        def log(theta: np.ndarray) -> np.ndarray:
            """Far away by the integral, which there does not need small differences of eigenvalues."""
            return read(theta, lambda log, change: log, lambda h: self._with_line(time).relative_log(h), is_log=True)

        scale = height - half * math.log(2 * math.pi * time)
        return Slice(value, slope, no_error, scale, log if self.n == 3 else None)

    def _with_line(self, time: float) -> Slice:
        """The part of determinant one times the line of determinants."""
        curved = (_plane if self.n == 2 else _three)(time)
        scale = curved.log_scale - 0.5 * math.log(2 * math.pi * time)

        def line(h: np.ndarray) -> np.ndarray:
            return -np.square(h.sum(axis=-1)) / (2 * self.n * time)

        def value(theta: np.ndarray) -> np.ndarray:
            h = np.asarray(theta, dtype=float)
            return np.exp(line(h)) * curved.relative_value(h)

        def slope(theta: np.ndarray) -> np.ndarray:
            h = np.asarray(theta, dtype=float)
            change = curved.relative_slope(h) - curved.relative_value(h) * (line(h) + 0.5) / time
            return np.exp(line(h)) * change

        def log(theta: np.ndarray) -> np.ndarray:
            h = np.asarray(theta, dtype=float)
            return line(h) + curved.relative_log(h)

        def gradient(of_curved: Function, theta: np.ndarray) -> np.ndarray:
            h = np.asarray(theta, dtype=float)
            along = h.sum(axis=-1, keepdims=True) * (curved.relative_value(h)[..., None] / (-self.n * time))
            return np.exp(line(h))[..., None] * (along + of_curved(h))

        own = curved.relative_gradient
        return Slice(value, slope, no_error, scale, log, None if own is None else partial(gradient, own))


def _plane(time: float) -> Slice:
    """The part of determinant one for n = 2: the hyperbolic plane with distances times √2."""
    p = HyperbolicProfile(2).at(time / 2)

    def on(function: Function, factor: float = 1.0) -> Function:
        return lambda h: factor * function(np.abs(h[..., :1] - h[..., 1:]) / 2)

    def gradient(h: np.ndarray) -> np.ndarray:
        gap = h[..., :1] - h[..., 1:]
        assert p.relative_gradient is not None
        return p.relative_gradient(np.abs(gap) / 2) * np.sign(gap) * [0.5, -0.5]

    return Slice(
        on(p.relative_value),
        on(p.relative_slope, 0.5),
        no_error,
        p.log_scale - math.log(2),
        on(p.relative_log),
        gradient,
    )


def _three(time: float) -> Slice:
    """The part of determinant one for n = 3."""
    p = ThreeSeries(float(time))
    return Slice(p.value, p.slope, no_error, p.log_scale, p.log)


@dataclass(frozen=True)
class ThreeSeries:
    """p_t / p_t(0) on symmetric 3 x 3 matrices of determinant one as a function of h (..., 3), for one t.

    Over the leading term of the short-time expansion, exp(-|h|²/2t) and the product of (a / sinh a)^(1/2), it is a
    smooth function of the two differences of sorted h. Its logarithm and the derivative of that in log t are series of
    Chebyshev polynomials in these.
    """

    time: float

    def value(self, h: np.ndarray) -> np.ndarray:
        return self._read(h, lambda log, rate: np.exp(log))

    def slope(self, h: np.ndarray) -> np.ndarray:
        return self._read(h, lambda log, rate: np.exp(log) * rate / self.time)

    def log(self, h: np.ndarray) -> np.ndarray:
        """The logarithm of the ratio at any distance."""
        h = _centred(h)
        found = self._integrals(h.reshape(-1, 3))[0].reshape(h.shape[:-1])
        return found - self._height + self._leading(h)

    @property
    def log_scale(self) -> float:
        return self._height - 2.5 * math.log(2 * math.pi * self.time) - self.time / 4

    def _leading(self, h: np.ndarray) -> np.ndarray:
        return -np.square(h).sum(axis=-1) / (2 * self.time) + SymmetricPD(3).roots.log_short_time(h)

    @cached_property
    def _height(self) -> float:
        return float(self._integrals(np.zeros((1, 3)))[0][0])

    @cached_property
    def end(self) -> float:
        """The difference of two h beyond which p_t is below rounding."""

        def excess(gap: float) -> float:
            h = _centred(np.array([0.0, 0.0, gap]))
            return -float(self._leading(h)) - NEGLIGIBLE

        return float(brentq(excess, 0.0, min(20 * math.sqrt(self.time), 200.0)))

    def _read(self, h: np.ndarray, function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """A function of the logarithm of the ratio and of its derivative in log t."""
        h = _centred(h)
        flat = np.sort(h.reshape(-1, 3), axis=-1)
        out = np.zeros(len(flat))
        gaps = np.diff(flat, axis=-1)
        inside = np.flatnonzero(gaps.max(axis=-1) < self.end)
        size = max(1, CHUNK // self.series.shape[1])
        for k in range(0, len(inside), size):
            rows = inside[k : k + size]
            log, rate = self._summed(self.series, gaps[rows])
            lead = self._leading(flat[rows])
            rate = rate + np.square(flat[rows]).sum(axis=-1) / (2 * self.time) - 2.5 - self.time / 4
            out[rows] = function(log + lead, rate)
        return out.reshape(h.shape[:-1])

    @cached_property
    def series(self) -> np.ndarray:
        """Coefficients (2, terms, terms) of the logarithm and of its derivative in log t.

        Nodes are added until the kernel at other places is right.
        """
        length = math.asinh(self.end / CURVED)
        places = _centred_gaps(self.end * np.random.default_rng(0).uniform(0, 1, (TRIALS, 2)) ** 2)
        exact = self._integrals(places)
        weight = np.exp(exact[0] - self._height + self._leading(places))
        nodes = 6 + math.ceil(11 * length)
        while True:
            x = CURVED * np.sinh(length * (1 + chebyshev.chebpts1(nodes)) / 2)
            i, j = np.triu_indices(nodes)  # h and -h have the same kernel: both differences may be exchanged
            values = np.empty((2, nodes, nodes))
            values[:, i, j] = values[:, j, i] = self._integrals(_centred_gaps(np.stack([x[i], x[j]], axis=-1)))
            values[0] -= self._height
            series = dctn(values[:, ::-1, ::-1], axes=(1, 2)) / nodes**2
            series[:, 0] /= 2
            series[:, :, 0] /= 2
            found = self._summed(series, np.diff(places, axis=-1))
            error = np.abs(found[0] + self._height - exact[0]) + np.abs(found[1] - exact[1])
            if (error * weight).max() < self._rule[-1] or nodes >= MOST:
                return series
            nodes = nodes * 4 // 3

    def _summed(self, series: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Both series at differences (n, 2) of sorted h, (2, n)."""
        place = 2 * np.arcsinh(gaps / CURVED) / math.asinh(self.end / CURVED) - 1
        first, second = (chebyshev.chebvander(x, series.shape[1] - 1) for x in place.T)
        return np.stack([np.einsum("pi,pi->p", first @ part, second) for part in series])

    @property
    def _rule(self) -> tuple[float, int, float, float]:
        return next(rule for rule in RULES if self.time <= rule[0])

    def _integrals(self, h: np.ndarray) -> np.ndarray:
        """Logarithms of p_t over (2 pi t)^-5/2 exp(-t/4) times the leading term, and their derivatives in log t."""
        size = max(1, CHUNK // 4000)
        parts = [self._some_integrals(h[k : k + size]) for k in range(0, len(h), size)]
        return np.concatenate([np.empty((2, 0)), *parts], axis=1)

    def _some_integrals(self, h: np.ndarray) -> np.ndarray:
        """The same for some h, (2, n)."""
        t = self.time
        gaps = np.abs(h[:, [1, 0, 0]] - h[:, [2, 2, 1]])
        rise = 16 / t * r_coth(gaps / 4)  # the exponent is rise y² + 3|y|/2 at least
        _, number, step, _ = self._rule
        directions, areas = octant(number)
        directions = directions / np.sqrt(2 * rise + NARROW)[:, None]
        square = (np.square(directions) @ rise[..., None])[..., 0]
        linear = 1.5 * np.sqrt(np.square(directions).sum(axis=-1))
        end = (2 * NEGLIGIBLE / (linear + np.sqrt(linear**2 + 4 * square * NEGLIGIBLE))).max()
        radius = step * np.arange(1, math.ceil(end / step) + 1)
        y = radius[:, None] * np.moveaxis(directions, -1, 0)[:, :, None]  # (3, n, radii, directions)
        s = _log_eigenvalues(y, h.T[:, :, None, None] / 2)
        energy = 2 * np.square(s).sum(axis=0) / t
        size = np.sqrt(np.square(y).sum(axis=0))
        sines = HermitianPD(3).roots.log_short_time(np.moveaxis(s, 0, -1))
        terms = 2 * log_sinhc(size) - energy + sines - self._leading(h)[:, None, None]
        terms = np.exp(terms) * np.multiply.outer(radius**2, areas)
        total, mean = (part.sum(axis=(1, 2)) for part in (terms, terms * energy))
        log = np.log(total * step) - 0.5 * np.log(2 * rise + NARROW).sum(axis=-1) - 1.5 * math.log(math.pi * t / 16)
        return np.stack([log, mean / total - 1.5 - np.square(h).sum(axis=-1) / (2 * t)])


@cache
def octant(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors (number², 3) of the octant x, y, z > 0 and weights: integrals over the sphere of even functions."""
    z, weight = (part[number:] for part in np.polynomial.legendre.leggauss(2 * number))
    angle = (np.arange(number) + 0.5) * (math.pi / 2 / number)
    sine = np.sqrt(1 - z**2)
    parts = np.outer(sine, np.cos(angle)), np.outer(sine, np.sin(angle)), np.repeat(z[:, None], number, axis=1)
    return np.stack(parts, axis=-1).reshape(-1, 3), np.repeat(weight * (4 * math.pi / number), number)


def _centred_gaps(gaps: np.ndarray) -> np.ndarray:
    """Sorted h (n, 3), adding up to zero, from their differences (n, 2)."""
    return _centred(np.stack([np.zeros(len(gaps)), gaps[:, 0], gaps.sum(axis=1)], axis=-1))


def _centred(h: np.ndarray) -> np.ndarray:
    h = np.asarray(h, dtype=float)
    return h - h.mean(axis=-1, keepdims=True)


def _log_eigenvalues(y: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Logarithms (3, ...) of the eigenvalues of A = k diag(exp h) k*, k = exp(iY), of axis vectors y (3, ...).

    h adds up to zero. The traces of A and of its inverse, whose determinant is one, are sums of exp(±h_j) times the
    diagonal of k*k = exp(2iY). The largest eigenvalue is that of A, the least one that of its inverse. Where
    eigenvalues coincide, two of them are wrong by the root of rounding, and their mean is right.
    """
    square = np.square(y)
    r = np.sqrt(square.sum(axis=0))
    # exp(2iY) = cosh 2r + i Y sinh(2r)/r - y y' (cosh(2r) - 1)/r²
    diagonal = np.cosh(2 * r) - 2 * sinhc(r) ** 2 * square
    traces = [(np.exp(sign * h) * diagonal).sum(axis=0) for sign in (1, -1)]
    up, down = (np.log(_largest(*pair)) for pair in (traces, traces[::-1]))
    return np.stack([-down, down - up, up])


def _largest(trace: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """The largest root of z³ - trace z² + inverse z - 1, all of whose roots are positive.

    Reference: Smith (1961), Comm. ACM 4, 168.
    """
    mean = trace / 3
    square = np.maximum(mean * mean - inverse / 3, 0.0)
    half = mean**3 - mean * inverse / 2 + 0.5
    safe = np.where(square > 0, square, 1.0)
    angle = np.arccos(np.clip(half / safe**1.5, -1.0, 1.0))
    return mean + 2 * np.sqrt(square) * np.cos(angle / 3)
