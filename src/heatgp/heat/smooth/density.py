"""The density that the smooth estimate fits: a log-density around the short-time expansion, carried on by its modes.

Up to the horizon of the expansion

    log p_t(theta) = expansion + Σ c_jk t^j y^k,   y an invariant function like the squared distance, j >= 2;

beyond it the radial heat equation takes over: the modes of p at the horizon decay like exp(-lambda t/2). What is
wrong there can only become less: a relative error never grows under the heat equation.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...array import wrap
from ...errors import InvalidInput
from ...manifolds.contract import Symmetric
from ..kernel import Profile, Slice
from ..special.spherical import MISSING, MOST, Modes, chamber_nodes, heat_modes, mode_values
from ..special.spline import SplineTable, SymmetricGrid
from .expansion import Expansion

PRIOR = (1 / 720, 1 / 4, 1 / 15)
"""Expected sizes of the coefficients: of t², of the next power of y and of the next power of t, in curvatures."""
POWERS = ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1))
"""The powers (j, k) of the features t^j y^k."""
INTERPOLATION = {1: 1e-7, 2: 1e-5, 3: 1e-4}
"""Error of the tables as a part of p_t(x, x), by the rank."""


@dataclass(frozen=True)
class Features:
    """The functions t^j y^k, each multiplied by the size that its coefficient may be expected to have."""

    manifold: Symmetric

    @cached_property
    def sizes(self) -> np.ndarray:
        """Prior standard deviations: |Ric|²/720 for t², and what is usual on spheres from one power to the next.

        The next power of y has a quarter of the largest sectional curvature more, the next power of t a fifteenth of
        the Ricci curvature. No curvature, no features.
        """
        scalar, dim = self.manifold.scalar_curvature, self.manifold.dim
        if not scalar:
            return np.zeros(0)
        first, in_distance, in_time = PRIOR
        bend, rate = float(Expansion(self.manifold).squares.max()) * in_distance, scalar / dim * in_time
        return np.array([scalar**2 / dim * first * bend**k * rate ** (j - 2) for j, k in POWERS])

    def __call__(self, theta: np.ndarray, time: float) -> np.ndarray:
        """(..., coordinates) -> (..., features)."""
        roots = self.manifold.roots
        turn = math.pi / roots.half_period
        y = 2 * np.sum(1 - np.cos(turn * theta), axis=-1) * (roots.unit / turn) ** 2
        columns = [size * time**j * y**k for size, (j, k) in zip(self.sizes, POWERS)]
        return np.stack(columns, axis=-1) if columns else np.zeros((*y.shape, 0))


@dataclass(frozen=True, eq=False)
class SmoothProfile(Profile):
    """The fitted heat kernel: coefficients of the features and their covariance."""

    manifold: Symmetric
    coefficients: np.ndarray
    covariance: np.ndarray

    @property
    def times(self) -> tuple[float, float]:
        """All; up to the horizon where there are too many modes to go on with."""
        return 0.0, self._end

    @cached_property
    def _end(self) -> float:
        return math.inf if has_few_modes(self.manifold) else self.expansion.horizon

    @property
    def is_positive_definite(self) -> bool:
        return False

    @property
    def expands_short_times(self) -> bool:
        return True

    def short(self, time: float) -> Slice:
        """p_t at a short time, without tables: the expansion around one geodesic, times the fitted factor."""

        scale = float(self.expansion.log_single(self.origin, time)[0])

        def relative(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
            theta = np.asarray(theta, dtype=float)
            reachable = np.isfinite(theta).all(axis=-1)  # the other component of O(n) is not
            theta = np.where(reachable[..., None], theta, 0.0)
            log, slope = self.expansion.log_single(theta, time)
            features = self.features(theta, time)
            order = np.array([j for j, _ in POWERS[: features.shape[-1]]])
            p = reachable * np.exp(log - scale + features @ self.coefficients)
            return p, slope, features, features @ (order * self.coefficients) / time

        def value(theta: np.ndarray) -> np.ndarray:
            return relative(theta)[0]

        def slope(theta: np.ndarray) -> np.ndarray:
            p, slope, _, fitted = relative(theta)
            return p * (slope + fitted)

        def error(theta: np.ndarray) -> np.ndarray:
            p, _, features, _ = relative(theta)
            rest = np.isfinite(theta).all(axis=-1) * (INTERPOLATION[1] * value(self.origin))  # other geodesics
            return p * np.sqrt(np.maximum(np.sum(features @ self.covariance * features, axis=-1), 0.0)) + rest

        return Slice(value, slope, error, scale)

    def prepare(self, time: float) -> Slice:
        if not (math.isfinite(time) and time > 0):
            raise InvalidInput(f"time must be positive and finite; got {time!r}.")
        if time <= self.expansion.single:
            return self.short(float(time))
        tables = SmoothTables(self, float(time))
        return Slice(tables.value, tables.slope, tables.error)

    @cached_property
    def expansion(self) -> Expansion:
        return Expansion(self.manifold)

    @cached_property
    def features(self) -> Features:
        return Features(self.manifold)

    @property
    def origin(self) -> np.ndarray:
        """The orbit coordinates of a point with itself."""
        return np.zeros(self.manifold.roots.coordinates)

    def early(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """p_t up to the horizon, its derivatives in the coefficients and what may come by other geodesics."""
        log, others = self.expansion.log_density(theta, time)
        features = self.features(theta, time)
        p = np.exp(log + features @ self.coefficients)
        return p, p[..., None] * features, np.exp(others)

    @cached_property
    def modes(self) -> Modes:
        return heat_modes(self.manifold, self.expansion.horizon)

    @cached_property
    def horizon_modes(self) -> np.ndarray:
        """Coefficients, in the modes, of the columns of `early` at the horizon; the density has mass one."""
        theta, volume = chamber_nodes(self.manifold, self.manifold.roots.half_period)
        p, gradient, others = self.early(theta, self.expansion.horizon)
        columns = self.modes(theta).T @ (np.column_stack([p, gradient, others]) * volume[:, None])
        density = columns[:, 0] / columns[0, 0]
        return np.column_stack([density, columns[:, 1:-1] - np.outer(density, columns[0, 1:-1]), columns[:, -1]])

    def late(self, modes: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same beyond the horizon, from the values (n, number) of the modes: each decays like exp(-lambda t/2)."""
        decay = np.exp(-self.modes.eigenvalue * (time - self.expansion.horizon) / 2)
        now = decay[:, None] * self.horizon_modes
        now[0, -1] *= decay[1]  # an error of a density has no constant mode: it decays like the first
        columns = modes @ now / self.modes.volume
        # The modes left out are a small part of p_t(x, x) at the horizon and decay faster than those kept.
        missing = MISSING * decay[-1] * self.early(self.origin, self.expansion.horizon)[0]
        return columns[:, 0], columns[:, 1:-1], np.abs(columns[:, -1]) + missing

    @cached_property
    def modes_on_grid(self) -> np.ndarray:
        """Beyond the horizon the grid is the whole chamber: one table of modes serves all times."""
        return self.modes(self.manifold.roots.complete(self.grid(self.manifold.roots.half_period).points))

    def grid(self, reach: float) -> SymmetricGrid:
        """The points of tables over |theta_i| <= reach."""
        return SymmetricGrid(self.manifold.rank, reach, self.manifold.roots.signed)


def has_few_modes(manifold: Symmetric) -> bool:
    """Whether the modes of heat at the horizon can be computed: not in many dimensions at ranks two and three."""
    return manifold.rank == 1 or mode_values(manifold, Expansion(manifold).horizon) <= MOST


@dataclass(frozen=True, eq=False)
class SmoothTables:
    """p_t at one time, as a function of orbit coordinates, tabulated when first asked for."""

    profile: SmoothProfile
    time: float

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self._look_up(self._density, theta)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t."""
        return self._look_up(self._slope, theta)

    def error(self, theta: np.ndarray) -> np.ndarray:
        """The standard error of p_t."""
        return self._look_up(self._error, theta)

    @cached_property
    def _density(self) -> SplineTable:
        return self._tabulate(self._parts(self.time)[0])

    @cached_property
    def _slope(self) -> SplineTable:
        change = 1e-4 * self.time
        return self._tabulate((self._parts(self.time + change)[0] - self._parts(self.time - change)[0]) / (2 * change))

    @cached_property
    def _error(self) -> SplineTable:
        _, gradient, others = self._parts(self.time)
        variance = np.sum(gradient @ self.profile.covariance * gradient, axis=-1)
        table = INTERPOLATION[self.profile.manifold.rank] * self.value(self.profile.origin)
        return self._tabulate(np.sqrt(np.maximum(variance, 0) + (others + table) ** 2))

    @property
    def _early(self) -> bool:
        return self.time <= self.profile.expansion.horizon

    @cached_property
    def _grid(self) -> SymmetricGrid:
        half_period = self.profile.manifold.roots.half_period
        return self.profile.grid(self.profile.expansion.reach(self.time) if self._early else half_period)

    @cached_property
    def _theta(self) -> np.ndarray:
        return self.profile.manifold.roots.complete(self._grid.points)

    def _parts(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._early:
            return self.profile.early(self._theta, time)
        return self.profile.late(self.profile.modes_on_grid, time)

    def _bell(self, theta: np.ndarray) -> np.ndarray | float:
        """What a table need not resolve: exp(-distance²/2t) up to the horizon, nothing beyond."""
        if not self._early:
            return 1.0
        lift = self.profile.manifold.roots.lift(np.where(np.isfinite(theta), theta, 0.0))
        return np.exp(np.sum(lift**2, axis=-1) * (self.profile.manifold.roots.unit**2 / (-2 * self.time)))

    def _tabulate(self, values: np.ndarray) -> SplineTable:
        return self._grid.table(values / self._bell(self._theta))

    def _look_up(self, table: SplineTable, theta: np.ndarray) -> np.ndarray:
        theta = np.asarray(theta, dtype=float)
        values = table(theta)
        if self.profile.manifold.roots.sum_zero:  # one angle is left out: both ways give the same for (x, y) and (y, x)
            values = (values + table(-wrap(theta)[..., ::-1])) / 2
        return values * self._bell(theta)
