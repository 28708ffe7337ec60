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

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ..kernel import Profile, Slice
from ..special.cubic_table import CubicTable
from ..special.determinant import NEGLIGIBLE, blocks, determinant, eliminate
from ..special.jacobi import difference_recurrence

SHORT = 1e-7
"""Below this time the series has tens of thousands of terms, and the expansion an error of 1e-14 times curvature²."""
_LONG = np.longdouble  # the series is made once for each time, and its derivatives amplify rounding errors


@dataclass(frozen=True)
class JacobiProfile(Profile):
    """The heat kernel of a space with the radial part above; theta in [0, pi / speed]^rank."""

    rank: int
    alpha: float
    beta: float
    speed: int
    volume: float

    def prepare(self, time: float) -> Slice:
        if time < SHORT:
            return short_time(self, float(time))
        series = JacobiSeries(self, float(time))
        return Slice(series.value, series.slope)


def short_time(c: JacobiProfile, t: float) -> Slice:
    """p_t for times below SHORT, by the short-time expansion: its next term is of the relative size t².

    omega has the roots speed/2 and speed, times each axis, with multiplicities 2 (alpha - beta) and 2 beta + 1, and
    the roots speed/2 (e_i ± e_j), twice, whose part of the second term vanishes: see `smooth.expansion`.
    """
    half = c.speed / 2
    short, long = 2 * (c.alpha - c.beta), 2 * c.beta + 1
    rho = c.speed * ((c.alpha + c.beta + 1) / 2 + np.arange(c.rank))
    bend = short * (short - 2 + 2 * long) / 8 * half**2 + long * (long - 2) / 8 * c.speed**2
    rate = rho @ rho / 2 - c.rank * bend / 3  # at theta = 0, from which it differs by O(t)
    dim = c.rank * (2 * c.alpha + 2 * c.rank)

    def value(theta: np.ndarray) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        square = np.sum(theta**2, axis=-1)
        near = np.where((square < 4 * NEGLIGIBLE * t)[..., None], theta, 0.0)  # beyond it the Gaussian is negligible
        log = sum(m / 2 * np.sum(_log_ratio(x), axis=-1) for x, m in ((half * near, short), (c.speed * near, long)))
        for i, j in combinations(range(c.rank), 2):
            log = log + sum(_log_ratio(half * (near[..., i] + sign * near[..., j])) for sign in (1, -1))
        return (2 * np.pi * t) ** (-dim / 2) * np.exp(log + t * rate - square / (2 * t))

    def slope(theta: np.ndarray) -> np.ndarray:
        square = np.sum(np.asarray(theta, dtype=float) ** 2, axis=-1)
        return value(theta) * (square / (2 * t**2) - dim / (2 * t) + rate)

    return Slice(value, slope)


def _log_ratio(x: np.ndarray) -> np.ndarray:
    """log(x / sin x) for small x."""
    return x**2 / 6 + x**4 / 180


@dataclass(frozen=True)
class JacobiSeries:
    """p_t as a function of theta (..., rank), for one t."""

    profile: JacobiProfile
    time: float

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self._evaluate(theta, 0)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t."""
        return self._evaluate(theta, 1)

    @cached_property
    def reach(self) -> float:
        """The angle beyond which p_t is below rounding, by its leading short-time term; at most the chamber's end."""
        c = self.profile
        phi = np.geomspace(1e-6, 0.4 * np.pi, 2000)
        near = c.alpha + 0.5 + 2 * (c.rank - 1)
        decay = (2 * phi / c.speed) ** 2 / (2 * self.time) - near * np.log(phi / np.sin(phi))
        decay += (c.beta + 0.5) * np.log(np.cos(phi))
        beyond = int(np.flatnonzero(decay < NEGLIGIBLE)[-1]) + 1
        return float(2 * phi[beyond] / c.speed) if beyond < phi.size else np.pi / c.speed

    @property
    def _whole(self) -> bool:
        return self.reach == np.pi / self.profile.speed

    @property
    def _half_range(self) -> float:
        """v = 1 - x runs over [0, 2 * half_range] as theta runs over [0, reach]."""
        return np.sin(self.profile.speed * self.reach / 2) ** 2

    @cached_property
    def series(self) -> np.ndarray:
        """Chebyshev coefficients (rank + 1, terms) of g_0..g_{r-1} and of the time derivative of g_{r-1}.

        The variable is Y = 2 cos, running from 2 at theta = 0 to -2 at the reach; the rows carry every constant, so
        that p_t is their determinant.
        """
        c = self.profile
        weights = _weights(c, self.time)
        nodes = 64
        while True:
            middle = (np.arange(nodes, dtype=_LONG) + 0.5) * (4 * np.arctan(_LONG(1)) / nodes)
            values = _jacobi_sums(c, weights, self._half_range * 2 * np.sin(middle / 2) ** 2)
            rows = values @ np.cos(middle[:, None] * np.arange(nodes)) * (_LONG(2) / nodes)
            rows[:, 0] /= 2
            terms = min(_degree(rows, c.rank - 1), weights.shape[1])
            if terms < nodes:
                break
            nodes *= 2
        order = [*range(c.rank), c.rank - 1]
        rows = eliminate(rows[:, :terms], _taylor(c.rank, terms), before=order)
        # a divided difference in v is (-2 / half_range)^order times that in Y
        rows *= (-2 / _LONG(self._half_range)) ** np.array(order)[:, None]
        rows[-2:] /= c.volume  # the last row or its derivative: one of them is in every determinant
        return rows.astype(float)

    def _coordinate(self, theta: np.ndarray) -> np.ndarray:
        return 2.0 - (4.0 / self._half_range) * np.sin(0.5 * self.profile.speed * theta) ** 2

    @cached_property
    def _tables(self) -> tuple[CubicTable, CubicTable]:
        """Rank one: p_t and its slope in time, tabulated over [0, reach]."""
        theta = np.linspace(0.0, self.reach, CubicTable.INTERVALS + 1)
        y = self._coordinate(theta)
        values = divided_differences(self.series, np.stack([y, y]))  # coinciding nodes: the derivative
        speed = self.profile.speed
        gradient = values[:, 1] * (-2.0 * speed / self._half_range) * np.sin(speed * theta)
        beyond = values[:, 0, -1] * self._whole
        p, slope = (CubicTable(self.reach, *columns) for columns in zip(values[:, 0], gradient, beyond))
        return p, slope

    def _evaluate(self, theta, derivative: int) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        rank = self.profile.rank
        if rank == 1:
            return self._tables[derivative](theta[..., 0])
        rows = self.series[np.r_[0 : rank - 1, rank - 1 + derivative]]

        def kernel(angles: np.ndarray) -> np.ndarray:
            result = np.zeros(angles.shape[1])
            near = (self._whole | (np.abs(angles) <= self.reach)).all(axis=0)
            result[near] = determinant(divided_differences(rows, self._coordinate(angles[:, near])))
            return result

        return blocks(kernel, theta)


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


def _weights(c: JacobiProfile, time: float) -> np.ndarray:
    """Coefficients (rank + 1, terms) of R_k in g_a and in d/dt g_{r-1}, scaled so that at long times the g_a are monic.

    Monic in v = 1 - x: then their determinant tends to one, and volume * p_t is nothing but the determinant.
    """
    nu = c.alpha + c.beta + 1
    terms = 32
    while True:
        terms *= 2
        k = np.arange(terms, dtype=_LONG)
        ratio = (2 * k[1:] + 2 + nu) / (2 * k[1:] + nu) * (k[1:] + nu) * (k[1:] + c.alpha + 1)
        ratio /= (k[1:] + 1) * (k[1:] + c.beta + 1)
        first = [_LONG(1), _LONG((nu + 2) * (c.alpha + 1) / (c.beta + 1))]
        dimension = np.cumprod(np.concatenate([first, ratio[:-1]]))
        eigenvalue = c.speed**2 * k * (k + nu)
        rows = []
        for a in range(c.rank):
            newton = np.ones(terms, dtype=_LONG)
            for j in range(a):
                newton *= (eigenvalue - eigenvalue[j]) / (eigenvalue[a] - eigenvalue[j])
            leading = np.prod([-(a + nu + i) / (2 * (c.alpha + 1 + i)) for i in range(a)])
            decay = np.exp(-np.maximum(eigenvalue - eigenvalue[a], 0) * _LONG(time) / 2)
            rows.append(newton * decay * dimension / dimension[a] / leading)
        rows.append(rows[-1] * (eigenvalue[c.rank - 1] - eigenvalue) / 2)
        table = np.array(rows)
        kept = np.flatnonzero((np.abs(table) > 1e-22 * np.abs(table).max(axis=1, keepdims=True)).any(axis=0))
        if kept[-1] < terms - 1:
            return table[:, : kept[-1] + 1]


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
