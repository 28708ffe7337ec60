"""Heat kernels of the compact symmetric spaces whose radial part is a Jacobi ensemble.

Spheres and projective spaces (rank one), SO(n) and the complex Grassmannians share one formula. Let theta be the orbit
coordinates, x = cos(speed * theta), R_k the Jacobi polynomial (alpha, beta) scaled to R_k(1) = 1, lambda_k = speed^2 k
(k + alpha + beta + 1), and d_k = 1 / |R_k|^2 in the invariant probability on [-1, 1]. Then

    p_t(theta) = C exp(t/2 sum_{k<r} lambda_k) det[g_a(x_b)] / prod_{a<b} (x_b - x_a),   a, b = 0..r-1,
    g_a(x) = sum_k d_k q_a(lambda_k) exp(-lambda_k t/2) R_k(x),   q_a any monic polynomial of degree a,

which is the transition density of r Jacobi diffusions that never meet. Three choices make it safe everywhere:

- q_a vanishes on lambda_0..lambda_{a-1}, so that no row is drowned by the slowest modes at long times; then d/dt g_a is
  a multiple of g_{a+1}, hence the time derivative of the determinant only touches its last row;
- the quotient is the determinant of the divided differences g_a[x_0..x_b], and those of Chebyshev polynomials obey the
  three-term recurrence itself (Leibniz' rule), without any division: coinciding angles are no special case;
- each g_a is expanded once for a time, on the interval where the kernel matters, which bounds the number of terms.

Reference: Karlin and McGregor (1959), "Coincidence probabilities"; Helgason (1984), ch. V; Koekoek et al. (2010), 9.8.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...array import Array
from ..kernel import Profile, Slice, no_error
from ..special.cubic_table import CubicTable, read_cubic
from ..special.determinant import NEGLIGIBLE, blocks, determinant, eliminate
from ..special.jacobi import difference_recurrence
from .far import FarLog
from .short_time import short_time

NEAR = 1e-3
"""Ratios to the peak from which the series gives their logarithm to 1e-13."""
_LONG = np.longdouble  # the series is made once for each time, and its derivatives amplify rounding errors


@dataclass(frozen=True)
class JacobiProfile(Profile):
    """The heat kernel of a space with the radial part above; theta in [0, pi / speed]^rank."""

    rank: int
    alpha: float
    beta: float
    speed: int
    log_volume: float

    @property
    def volume(self) -> float:
        return math.exp(self.log_volume)

    def prepare(self, time: float) -> Slice:
        series = JacobiSeries(self, float(time))
        log, gradient = (series.log, series.gradient) if self.rank == 1 else (None, None)
        return Slice(series.value, series.slope, no_error, series.log_scale, log, gradient)

    def few(self, time: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """At rank one the series itself: a table would be more work."""
        if self.rank > 1:
            return super().few(time, theta)
        series = JacobiSeries(self, float(time))
        return series.ratio(theta[..., 0]), no_error(theta), series.log_scale

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        if self.rank > 1:
            return super().tabulated(time)
        series = JacobiSeries(self, float(time))
        value, slope = series.tables
        return value.numbers, slope.slope_numbers(time), series.log_scale

    def read_table(self, numbers: Any, theta: Array) -> Array:
        return read_cubic(numbers, theta[..., 0])


@dataclass(frozen=True)
class JacobiSeries:
    """p_t / p_t(identity) as a function of theta (..., rank), for one t; p_t(identity) is exp(log_scale)."""

    profile: JacobiProfile
    time: float

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self._evaluate(theta, 0)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t, over p_t(identity)."""
        return self._evaluate(theta, 1)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Rank one: the derivative in theta."""
        return self.table.derivative(theta)

    @property
    def table(self) -> CubicTable:
        """Rank one: p_t / p_t(identity) as a function of theta."""
        return self.tables[0]

    def ratio(self, theta: np.ndarray) -> np.ndarray:
        """Rank one: p_t / p_t(identity) without a table."""
        out = np.zeros(theta.shape)
        near = self._whole | (theta <= self.reach)
        out[near] = divided_differences(self.series[:1], self._coordinate(theta[near])[None])[0, 0]
        return out

    def log(self, theta: np.ndarray) -> np.ndarray:
        """Rank one: the logarithm of the ratio at any distance, by the series near the diagonal."""
        c, r = self.profile, np.asarray(theta, dtype=float)[..., 0]
        flat = r.reshape(-1)
        inside = np.minimum(flat, self.reach)
        ratio = divided_differences(self.series, self._coordinate(inside)[None])[0, 0]
        near = (flat <= self.reach) & (ratio > NEAR)
        out = np.log(np.where(near, ratio, 1.0))
        if not near.all():
            far = FarLog(c.alpha, c.beta, c.speed, self.time)
            out[~near] = far(flat[~near]) - (self.log_scale + c.log_volume)
        return out.reshape(r.shape)

    @property
    def log_scale(self) -> float:
        """log p_t at the identity."""
        return self._series[1]

    @cached_property
    def reach(self) -> float:
        """The angle beyond which p_t is below rounding, by its leading short-time term; at most the chamber's end."""
        c = self.profile
        phi, log_sine, log_cosine = _angles(min(math.sqrt(self.time), 1e-2))
        near = c.alpha + 0.5 + 2 * (c.rank - 1)
        decay = (2 * phi / c.speed) ** 2 / (2 * self.time) + near * log_sine + (c.beta + 0.5) * log_cosine
        beyond = int(np.flatnonzero(decay < NEGLIGIBLE)[-1]) + 1
        return float(2 * phi[beyond] / c.speed) if beyond < phi.size else np.pi / c.speed

    @property
    def _whole(self) -> bool:
        return self.reach == np.pi / self.profile.speed

    @property
    def _half_range(self) -> float:
        """v = 1 - x runs over [0, 2 * half_range] as theta runs over [0, reach]."""
        return np.sin(self.profile.speed * self.reach / 2) ** 2

    @property
    def series(self) -> np.ndarray:
        """Chebyshev coefficients (rank + 1, terms) of g_0..g_{r-1} and of the time derivative of g_{r-1}.

        The variable is Y = 2 cos, running from 2 at theta = 0 to -2 at the reach; the rows carry every constant, so
        that the ratio to p_t at the identity is their determinant.
        """
        return self._series[0]

    @cached_property
    def _series(self) -> tuple[np.ndarray, float]:
        """The coefficients, and log p_t at the identity, where the determinant is the product of its diagonal."""
        c = self.profile
        sums = self._short_time if self.is_short else self._sums
        nodes = 64
        while True:
            middle = (np.arange(nodes, dtype=_LONG) + 0.5) * (4 * np.arctan(_LONG(1)) / nodes)
            values, logs, most = sums(self._half_range * 2 * np.sin(middle / 2) ** 2)
            rows = values @ _cosines(nodes) * (_LONG(2) / nodes)
            rows[:, 0] /= 2
            terms = min(_degree(rows, c.rank - 1), most)
            if terms < nodes:
                break
            nodes *= 2
        order = [*range(c.rank), c.rank - 1]
        taylor = _taylor(c.rank, terms)
        rows = eliminate(rows[:, :terms], taylor, before=order)
        # a divided difference in v is (-2 / half_range)^order times that in Y
        diagonal = (rows[:-1] * taylor).sum(axis=1)
        lengths = np.log(np.abs(diagonal)) + np.arange(c.rank) * np.log(2 / _LONG(self._half_range))
        log_scale = float(lengths.sum() + logs.sum() - c.log_volume)
        return (rows / diagonal[order, None]).astype(float), log_scale

    @cached_property
    def is_short(self) -> bool:
        """Whether the short-time expansion is right to rounding on half of the chamber at least."""
        c = self.profile
        return self.reach < np.pi / (2 * c.speed) and short_time(c.alpha, c.beta, c.speed).is_accurate(self.time)

    def _sums(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """g_0.. at 1 - v and the derivative of the last over exp(logs), and the number of their polynomials."""
        weights, logs = self._weights
        return _jacobi_sums(self.profile, weights, v), logs, weights.shape[1]

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        return _weights(self.profile, self.time)

    def _short_time(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """The same by the short-time expansion of g_0 and of its derivatives in time, without any polynomials.

        g_a is the product over j < a of (-2 d/dt - lambda_j) / (lambda_a - lambda_j), applied to g_0, and constants.
        """
        c, t = self.profile, _LONG(self.time)
        theta = np.arcsin(np.sqrt(v / 2)) * (_LONG(2) / c.speed)
        jet, height = short_time(c.alpha, c.beta, c.speed).jet(theta, self.time, c.rank)
        jet *= np.cumprod([_LONG(1), *range(1, c.rank + 1)])[:, None]  # t^i times the i-th derivatives
        k = np.arange(c.rank, dtype=_LONG)
        eigenvalue, log_dimension = _eigenvalues(c, k), _log_dimensions(c, max(c.rank, 2))
        rows, logs, operator = [], [], np.ones(1, dtype=_LONG)
        first = height - (c.alpha + 1) * np.log(2 * np.pi * self.time) + log_volume(c.alpha, c.beta, c.speed)
        for a in range(c.rank):
            rows.append(operator @ jet[: a + 1])
            constant = np.log(np.abs(_leading(c, a) * np.prod(t * (eigenvalue[a] - eigenvalue[:a]))))
            logs.append(first + eigenvalue[a] * t / 2 - log_dimension[a] - constant)
            slope = np.convolve(operator, [t * eigenvalue[a] / 2, 1])  # in units of 1/t
            operator = np.convolve(operator, [-t * eigenvalue[a], -2])
        rows.append(slope @ jet / t)
        return np.array(rows), np.array(logs), np.iinfo(int).max

    def _coordinate(self, theta: np.ndarray) -> np.ndarray:
        return 2.0 - (4.0 / self._half_range) * np.sin(0.5 * self.profile.speed * theta) ** 2

    @cached_property
    def tables(self) -> tuple[CubicTable, CubicTable]:
        """Rank one: the ratio and its slope in time, tabulated over [0, reach]."""
        coarse = np.linspace(0.0, self.reach, 257)
        matters = np.flatnonzero(np.abs(self._with_gradient(coarse)[0][0]) > 1e-15)[-1] + 1
        upper = float(coarse[min(matters, 256)])  # in high dimension the ratio falls sooner than its bound
        values, gradient = self._with_gradient(np.linspace(0.0, upper, CubicTable.INTERVALS + 1))
        beyond = values[:, -1] * (self._whole and upper == self.reach)
        p, slope = (CubicTable(upper, *columns) for columns in zip(values, gradient, beyond))
        return p, slope

    def _with_gradient(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rank one: the ratio and its slope in time, (2, n), and the derivatives of both in theta."""
        y = self._coordinate(theta)
        values = divided_differences(self.series, np.stack([y, y]))  # coinciding nodes: the derivative
        speed = self.profile.speed
        return values[:, 0], values[:, 1] * (-2.0 * speed / self._half_range) * np.sin(speed * theta)

    def _evaluate(self, theta, derivative: int) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        rank = self.profile.rank
        if rank == 1:
            return self.tables[derivative](theta[..., 0])
        rows = self.series[np.r_[0 : rank - 1, rank - 1 + derivative]]

        def kernel(angles: np.ndarray) -> np.ndarray:
            result = np.zeros(angles.shape[1])
            near = (self._whole | (np.abs(angles) <= self.reach)).all(axis=0)
            result[near] = determinant(divided_differences(rows, self._coordinate(angles[:, near])))
            return result

        return blocks(kernel, theta)


@lru_cache(maxsize=4)
def _angles(shortest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles phi up to 0.4 pi, and the logarithms of sin(phi) / phi and cos(phi)."""
    phi = np.geomspace(shortest, 0.4 * np.pi, 2000)
    return phi, np.log(np.sin(phi) / phi), np.log(np.cos(phi))


def _cosines(nodes: int) -> np.ndarray:
    """cos((i + 1/2) k pi / nodes) of all i, k < nodes: these are only 4 nodes different angles."""
    cosines = np.cos(np.arange(4 * nodes, dtype=_LONG) * (2 * np.arctan(_LONG(1)) / nodes))
    return cosines[np.outer(2 * np.arange(nodes) + 1, np.arange(nodes)) % (4 * nodes)]


def divided_differences(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """f_a[y_0..y_b] for f_a = sum_k rows[a, k] T_k(y / 2) and nodes y (r, n): shape (a, b, n).

    Leibniz: (y f)[y_0..y_b] = y_b f[y_0..y_b] + f[y_0..y_{b-1}] turns T_{k+1} = y T_k - T_{k-1} into a recurrence for
    the divided differences that holds for any nodes, coinciding or not.

    Reference: de Boor (2005), "Divided differences".
    """
    count = rows.shape[1]
    table = np.empty((max(count, 2), *y.shape))
    table[:2] = 0.0
    table[0, 0] = 1.0
    table[1, 0] = 0.5 * y[0]
    table[1, 1:2] = 0.5
    for k in range(1, count - 1):
        np.multiply(y, table[k], out=table[k + 1])
        table[k + 1] -= table[k - 1]
        table[k + 1, 1:] += table[k, :-1]
    return (rows @ table[:count].reshape(count, y.size)).reshape(len(rows), *y.shape)


def log_volume(alpha: float, beta: float, speed: int) -> float:
    """The logarithm of the volume of the space of rank one."""
    return (alpha + 1) * math.log(4 * math.pi / speed**2) + math.lgamma(beta + 1) - math.lgamma(alpha + beta + 2)


def _eigenvalues(c: JacobiProfile, k: np.ndarray) -> np.ndarray:
    return c.speed**2 * k * (k + c.alpha + c.beta + 1)


def _log_dimensions(c: JacobiProfile, terms: int) -> np.ndarray:
    """log d_k."""
    nu, k = c.alpha + c.beta + 1, np.arange(1, terms, dtype=_LONG)
    ratio = (2 * k + 2 + nu) / (2 * k + nu) * (k + nu) * (k + c.alpha + 1) / ((k + 1) * (k + c.beta + 1))
    first = [_LONG(1), _LONG((nu + 2) * (c.alpha + 1) / (c.beta + 1))]
    return np.cumsum(np.log(np.concatenate([first, ratio[:-1]])))


def _leading(c: JacobiProfile, a: int) -> float:
    """The coefficient of v^a in R_a(1 - v)."""
    nu = c.alpha + c.beta + 1
    return math.prod(-(a + nu + i) / (2 * (c.alpha + 1 + i)) for i in range(a))


def _weights(c: JacobiProfile, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (rank + 1, terms) of R_k in g_a and in d/dt g_{r-1}, and the logs (rank,) of their scales.

    With these scales the g_a at long times are monic in v = 1 - x, up to a sign: then their determinant tends to one,
    and volume * p_t is nothing but the determinant.
    """
    terms = 32
    while True:
        terms *= 2
        eigenvalue = _eigenvalues(c, np.arange(terms, dtype=_LONG))
        log_dimension = _log_dimensions(c, terms)
        rows, logs = [], []
        for a in range(c.rank):
            newton = np.ones(terms, dtype=_LONG)
            for j in range(a):
                newton *= (eigenvalue - eigenvalue[j]) / (eigenvalue[a] - eigenvalue[j])
            log = log_dimension - log_dimension[a] - np.maximum(eigenvalue - eigenvalue[a], 0) * _LONG(time) / 2
            logs.append(log.max() - np.log(abs(_leading(c, a))))
            rows.append(newton * np.exp(log - log.max()))
        rows.append(rows[-1] * (eigenvalue[c.rank - 1] - eigenvalue) / 2)
        table = np.array(rows)
        kept = np.flatnonzero((np.abs(table) > 1e-22 * np.abs(table).max(axis=1, keepdims=True)).any(axis=0))
        if kept[-1] < terms - 1:
            return table[:, : kept[-1] + 1], np.array(logs)


def _jacobi_sums(c: JacobiProfile, weights: np.ndarray, v: np.ndarray) -> np.ndarray:
    """sum_k weights[:, k] R_k(1 - v), by the recurrence in differences R_{k+1} - R_k, which keeps small v accurate."""
    total = np.zeros((weights.shape[0], v.size), dtype=_LONG)
    value, step = np.ones_like(v), np.zeros_like(v)
    for k in range(weights.shape[1]):
        total += weights[:, k, None] * value
        up, down = difference_recurrence(c.alpha, c.beta, k)
        step = (down * step - v * value) / up
        value = value + step
    return total


def _taylor(order: int, terms: int) -> np.ndarray:
    """T_k^(j)(1) / j! / 2^j, the divided differences of T_k(y / 2) at y = 2, for j < order and k < terms."""
    k, j = np.arange(terms, dtype=_LONG), np.arange(order - 1, dtype=_LONG)[:, None]
    return np.cumprod(np.vstack([np.ones_like(k), (k**2 - j**2) / (2 * (j + 1) * (2 * j + 1))]), axis=0)


def _degree(rows: np.ndarray, order: int) -> int:
    """How many coefficients matter to the divided differences up to that order: neither rounding nor negligible."""
    size = np.abs(rows)
    weight = (1.0 + np.arange(rows.shape[1])) ** (2 * order)
    noise = size > 16 * np.finfo(_LONG).eps * size.max(axis=1, keepdims=True)
    small = size * weight > 1e-17 * (size * weight).max(axis=1, keepdims=True)
    return int(np.flatnonzero((noise & small).any(axis=0))[-1]) + 1
