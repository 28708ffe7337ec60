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
analytic, even in each of the three coordinates of y, and falls like a normal density: sums over equal steps of
arsinh |y| and of one angle, and Gauss's rule in the other one, converge exponentially.

Reference: Gangolli (1968), Acta Math. 121, 151-192, for complex groups; Flensted-Jensen (1978), J. Functional Analysis
30, 106-146, for the integral; Trefethen and Weideman (2014), SIAM Review 56, 385-458.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from threading import Lock
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

NARROW = (1.0, 7.0, 8.0)
"""At long times the width of the integrand is the root of one over this: where two of h coincide, where they are far
apart, and the difference at which it is half-way."""
STRETCHED = 6.0
"""Up to this many widths steps of |y| are equal, beyond they grow with |y|."""
RULES = (
    (0.5, 2.0, 6, 0.6, 1e-13),
    (2.0, 8.0, 8, 0.6, 1e-11),
    (8.0, 16.0, 10, 0.6, 1e-10),
    (16.0, 64.0, 14, 0.6, 1e-8),
    (64.0, 1e300, 12, 0.6, 2e-6),
)
"""Quadratures for n = 3, see Rule."""
SHORT = 0.5
"""The time up to which the expansion is taken for n = 3: it is right to 2e-13 of p_t(0) there."""
LEAST_REACH = 2.0
"""Differences of h up to which every series goes; each next one goes twice as far."""
NODES = 11
"""Chebyshev nodes for a unit of arsinh at first."""
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
KEPT = 1 << 28
"""Bytes of quadratures that are kept for n = 3; a search over all times where h differ by up to 32 needs half of it."""
TRIALS = 40
"""Random places at which a series is compared with the integral."""
MOST = 60
"""Chebyshev nodes in each of two coordinates at most."""
Function2 = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Rule:
    """A quadrature for n = 3 whose places serve all times of an interval."""

    shortest: float
    longest: float
    number: int  # of nodes in each of the two angles of y
    step: float  # of |y|, in widths at the shortest time
    error: float  # over p_t(0)


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
        return _plane_and_line(time) if self.n == 2 else _three(time)

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
            return read(theta, lambda log, change: log, lambda h: ThreeSeries(float(time)).log(h), is_log=True)

        scale = height - half * math.log(2 * math.pi * time)
        return Slice(value, slope, no_error, scale, log if self.n == 3 else None)


def _plane_and_line(time: float) -> Slice:
    """The part of determinant one times the line of determinants, for n = 2."""
    plane = _plane(time)

    def line(h: np.ndarray) -> np.ndarray:
        return -np.square(h.sum(axis=-1)) / (4 * time)

    def value(theta: np.ndarray) -> np.ndarray:
        h = np.asarray(theta, dtype=float)
        return np.exp(line(h)) * plane.relative_value(h)

    def slope(theta: np.ndarray) -> np.ndarray:
        h = np.asarray(theta, dtype=float)
        change = plane.relative_slope(h) - plane.relative_value(h) * (line(h) + 0.5) / time
        return np.exp(line(h)) * change

    def log(theta: np.ndarray) -> np.ndarray:
        h = np.asarray(theta, dtype=float)
        return line(h) + plane.relative_log(h)

    def gradient(theta: np.ndarray) -> np.ndarray:
        h = np.asarray(theta, dtype=float)
        assert plane.relative_gradient is not None
        along = h.sum(axis=-1, keepdims=True) * (plane.relative_value(h)[..., None] / (-2 * time))
        return np.exp(line(h))[..., None] * (along + plane.relative_gradient(h))

    return Slice(value, slope, no_error, plane.log_scale - 0.5 * math.log(2 * math.pi * time), log, gradient)


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
    p = ThreeSeries(float(time))
    return Slice(p.value, p.slope, no_error, p.log_scale, p.log)


@dataclass(frozen=True)
class ThreeSeries:
    """p_t / p_t(0) on symmetric positive definite 3 x 3 matrices as a function of h (..., 3), for one t.

    Over the leading term of the short-time expansion, exp(-|h|²/2t) and the product of (a / sinh a)^(1/2), it is a
    smooth function of the two differences of sorted h. Its logarithm and the derivative of that in log t are series of
    Chebyshev polynomials in these.
    """

    time: float

    def value(self, h: np.ndarray) -> np.ndarray:
        return self._read(h, 1, lambda square, lead, log: np.exp(log + lead))

    def slope(self, h: np.ndarray) -> np.ndarray:
        def slope(square: np.ndarray, lead: np.ndarray, log: np.ndarray, rate: np.ndarray) -> np.ndarray:
            change = rate + square / (2 * self.time) - SymmetricPD(3).dim / 2 - self.time / 4
            return np.exp(log + lead) * change / self.time

        return self._read(h, 2, slope)

    def log(self, h: np.ndarray) -> np.ndarray:
        """The logarithm of the ratio at any distance."""
        h = np.asarray(h, dtype=float)
        flat = h.reshape(-1, 3)
        found = self._integrals(_centred(flat))[0] + self._leading(flat)[1]
        return found.reshape(h.shape[:-1]) - self._height

    @property
    def log_scale(self) -> float:
        return self._height - SymmetricPD(3).dim / 2 * math.log(2 * math.pi * self.time) - self.time / 4

    def _leading(self, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|h|² and the logarithm of the leading term, for h (n, 3)."""
        square = np.einsum("ni,ni->n", h, h)
        return square, SymmetricPD(3).roots.log_short_time(h) - square / (2 * self.time)

    @cached_property
    def _height(self) -> float:
        return float(self._integrals(np.zeros((1, 3)))[0][0])

    @cached_property
    def end(self) -> float:
        """The difference of two h beyond which p_t is below rounding."""

        def excess(gap: float) -> float:
            h = _centred(np.array([[0.0, 0.0, gap]]))
            return -float(self._leading(h)[1][0]) - NEGLIGIBLE

        return float(brentq(excess, 0.0, min(20 * math.sqrt(self.time), 200.0)))

    def _read(self, h: np.ndarray, parts: int, function: Callable[..., np.ndarray]) -> np.ndarray:
        """A function of |h|², of the logarithm of the leading term and of one or both series."""
        h = np.asarray(h, dtype=float)
        flat = np.sort(h.reshape(-1, 3), axis=-1)
        gaps = flat[:, 1:] - flat[:, :-1]
        largest = np.maximum(gaps[:, 0], gaps[:, 1])
        inside = np.flatnonzero(largest < self.end)
        out = np.zeros(len(flat))
        if not len(inside):
            return out.reshape(h.shape[:-1])
        reach = LEAST_REACH
        while reach < largest[inside].max():
            reach *= 2
        series = self.series(reach)[:parts]
        size = max(1, CHUNK // series.shape[1])
        for k in range(0, len(inside), size):
            rows = inside[k : k + size]
            out[rows] = function(*self._leading(flat[rows]), *_summed(series, gaps[rows], reach))
        return out.reshape(h.shape[:-1])

    def series(self, reach: float) -> np.ndarray:
        """Coefficients (2, terms, terms) of the logarithm and of its derivative in log t, for differences up to reach.

        Nodes are added until the kernel at other places is right.
        """
        if reach not in self._series:
            self._series[reach] = self._fitted(reach)
        return self._series[reach]

    @cached_property
    def _series(self) -> dict[float, np.ndarray]:
        return {}

    def _fitted(self, reach: float) -> np.ndarray:
        places = trial_places(reach)
        exact = self._at(reach, 0)
        weight = np.exp(exact[0] - self._height + self._leading(places)[1])
        nodes = 6 + math.ceil(NODES * math.asinh(reach / CURVED))
        while True:
            i, j = np.triu_indices(nodes)  # h and -h have the same kernel: both differences may be exchanged
            values = np.empty((2, nodes, nodes))
            values[:, i, j] = values[:, j, i] = self._at(reach, nodes)
            values[0] -= self._height
            series = dctn(values[:, ::-1, ::-1], axes=(1, 2)) / nodes**2
            series[:, 0] /= 2
            series[:, :, 0] /= 2
            found = _summed(series, np.diff(places, axis=-1), reach)
            error = np.abs(found[0] + self._height - exact[0]) + np.abs(found[1] - exact[1])
            if (error * weight).max() < self._rule.error or nodes >= MOST:
                return series
            nodes = nodes * 4 // 3

    @property
    def _rule(self) -> Rule:
        rule = next(rule for rule in (Rule(*row) for row in RULES) if self.time <= rule.longest)
        return rule if rule.shortest <= self.time else replace(rule, shortest=self.time, longest=self.time)

    def _integrals(self, h: np.ndarray) -> np.ndarray:
        """Logarithms of p_t over (2 pi t)^-5/2 exp(-t/4) times the leading term, and their derivatives in log t."""
        return np.concatenate([np.empty((2, 0)), *(q.at(self.time) for q in quadratures(self._rule, h))], axis=1)

    def _at(self, reach: float, nodes: int) -> np.ndarray:
        """The same at the nodes of a series or, with no nodes, at the places where it is tried."""
        return np.concatenate([q.at(self.time) for q in kept_quadratures(self._rule, reach, nodes)], axis=1)


@dataclass(frozen=True)
class Quadrature:
    """The integral for several h at every time: a sum over K places y of weight * exp(-excess / t)."""

    excess: np.ndarray  # (n, K), 2 |s|² - |h|²/2
    weight: np.ndarray  # (n, K)
    log_factor: np.ndarray  # (n,)

    @property
    def nbytes(self) -> int:
        return self.excess.nbytes + self.weight.nbytes

    def at(self, t: float) -> np.ndarray:
        """Logarithms of the integrals and their derivatives in log t, (2, n), without leading terms."""
        terms = self.weight * np.exp(self.excess / -t)
        total, mean = terms.sum(axis=1), np.einsum("nk,nk->n", terms, self.excess) / t
        return np.stack([np.log(total) + self.log_factor - 1.5 * math.log(math.pi * t / 16), mean / total - 1.5])


def quadratures(rule: Rule, h: np.ndarray) -> list[Quadrature]:
    """Places y and weights for h (n, 3), in chunks, that serve all times of the rule."""
    size = max(1, CHUNK // 4000)
    return [_quadrature(rule, h[k : k + size]) for k in range(0, len(h), size)]


def kept_quadratures(rule: Rule, reach: float, nodes: int) -> list[Quadrature]:
    """Those of a series, which all times of the rule share. Those used last are kept, up to `KEPT` bytes of all."""
    key = rule, reach, nodes
    with _lock:
        found = _kept.pop(key, None)
    if found is None:
        found = quadratures(rule, node_places(reach, nodes) if nodes else trial_places(reach))
    with _lock:
        _kept[key] = found  # the last one used is the last one of the dictionary
        size = kept_bytes()
        for other in list(_kept):
            if size <= KEPT:
                break
            size -= sum(q.nbytes for q in _kept.pop(other))
    return found


_kept: dict[tuple[Rule, float, int], list[Quadrature]] = {}
_lock = Lock()


def kept_bytes() -> int:
    """The memory of all quadratures that are kept."""
    return sum(q.nbytes for found in _kept.values() for q in found)


def _quadrature(rule: Rule, h: np.ndarray) -> Quadrature:
    gaps = np.abs(h[:, [1, 0, 0]] - h[:, [2, 2, 1]])
    steep = 16 * r_coth(gaps / 4)  # the exponent is steep y²/t + 3|y|/2 at least
    least, most, middle = NARROW
    width = 1 / np.sqrt(2 * steep / rule.shortest + least + (most - least) * gaps / (middle + gaps))
    directions, areas = octant(rule.number)
    directions = directions * width[:, None]
    square = (np.square(directions) @ steep[..., None])[..., 0] / rule.longest
    linear = 1.5 * np.sqrt(np.square(directions).sum(axis=-1))
    last = 5 - math.log(rule.error)
    end = (2 * last / (linear + np.sqrt(linear**2 + 4 * square * last))).max()
    u = rule.step / STRETCHED * np.arange(1, math.ceil(math.asinh(end / STRETCHED) * STRETCHED / rule.step) + 1)
    radius = STRETCHED * np.sinh(u)
    y = radius[:, None] * np.moveaxis(directions, -1, 0)[:, :, None]  # (3, n, radii, directions)
    s = _log_eigenvalues(y, h.T[:, :, None, None] / 2)
    size = np.sqrt(np.square(y).sum(axis=0))
    excess = 2 * np.square(s).sum(axis=0) - np.square(h).sum(axis=-1)[:, None, None] / 2
    sines = sum(log_sinhc(np.abs(s[i] - s[j]) / 2) for i, j in ((0, 1), (0, 2), (1, 2)))
    log = 2 * log_sinhc(size) - sines - SymmetricPD(3).roots.log_short_time(h)[:, None, None]
    weight = np.exp(log) * np.multiply.outer(rule.step * np.cosh(u) * radius**2, areas)
    return Quadrature(excess.reshape(len(h), -1), weight.reshape(len(h), -1), np.log(width).sum(axis=-1))


def trial_places(reach: float) -> np.ndarray:
    """Random h (TRIALS, 3), more of them with small differences."""
    return _centred_gaps(reach * np.random.default_rng(0).uniform(0, 1, (TRIALS, 2)) ** 2)


def node_places(reach: float, nodes: int) -> np.ndarray:
    """The h (n, 3) of the nodes of a series; the second difference is not smaller than the first."""
    x = CURVED * np.sinh(math.asinh(reach / CURVED) * (1 + chebyshev.chebpts1(nodes)) / 2)
    i, j = np.triu_indices(nodes)
    return _centred_gaps(np.stack([x[i], x[j]], axis=-1))


def _summed(series: np.ndarray, gaps: np.ndarray, reach: float) -> np.ndarray:
    """Each of some series at differences (n, 2) of sorted h, (number of series, n)."""
    place = 2 * np.arcsinh(gaps / CURVED) / math.asinh(reach / CURVED) - 1
    first, second = (chebyshev.chebvander(x, series.shape[1] - 1) for x in place.T)
    return np.stack([np.einsum("pi,pi->p", first @ part, second) for part in series])


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
    half = mean * (mean * mean - inverse / 2) + 0.5
    root = np.sqrt(square)
    angle = np.arccos(np.clip(half / np.where(square > 0, square * root, 1.0), -1.0, 1.0))
    return mean + 2 * root * np.cos(angle / 3)
