"""The density that the smooth estimate fits: a log-density around the short-time expansion, carried on by its modes.

Up to the horizon of the expansion

    log p_t(theta) = expansion + Σ c_jk t^j y^k,   y an invariant function like the squared distance, j >= 2;

beyond it the radial heat equation takes over: the modes of p at the horizon decay like exp(-lambda t/2). What is
wrong there can only become less: a relative error never grows under the heat equation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InvalidInput
from ..manifolds.base import Symmetric
from .expansion import Expansion
from .radial import MISSING, chamber_nodes, heat_modes, is_signed, with_last_angle
from .spline import SplineTable

POWERS = ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1))
"""The powers (j, k) of the features t^j y^k."""
CHUNK = 1 << 14


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
        bend = float(Expansion(self.manifold).squares.max()) / 4
        return np.array([scalar**2 / dim / 720 * bend**k * (scalar / dim / 15) ** (j - 2) for j, k in POWERS])

    def __call__(self, theta: np.ndarray, time: float) -> np.ndarray:
        """(..., coordinates) -> (..., features)."""
        turn = math.pi / self.manifold.chamber[0][1]
        y = 2 * np.sum(1 - np.cos(turn * theta), axis=-1) * (self.manifold.roots.unit / turn) ** 2
        columns = [size * time**j * y**k for size, (j, k) in zip(self.sizes, POWERS)]
        return np.stack(columns, axis=-1) if columns else np.zeros((*y.shape, 0))


@dataclass(frozen=True, eq=False)
class SmoothProfile:
    """The fitted heat kernel: coefficients of the features and their covariance."""

    manifold: Symmetric
    coefficients: np.ndarray
    covariance: np.ndarray

    def at(self, time: float) -> SmoothSlice:
        """The kernel at one time, any positive one."""
        if not (math.isfinite(time) and time > 0):
            raise InvalidInput(f"time must be positive and finite; got {time!r}.")
        recent = self._recent
        if time not in recent:
            while len(recent) >= 32:
                del recent[next(iter(recent))]
            recent[time] = SmoothSlice(self, float(time))
        return recent[time]

    @cached_property
    def _recent(self) -> dict[float, SmoothSlice]:
        return {}

    @cached_property
    def expansion(self) -> Expansion:
        return Expansion(self.manifold)

    @cached_property
    def features(self) -> Features:
        return Features(self.manifold)

    def early(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """p_t up to the horizon, its derivatives in the coefficients and what may come by other geodesics."""
        log, others = self.expansion.log_density(theta, time)
        features = self.features(theta, time)
        p = np.exp(log + features @ self.coefficients)
        return p, p[..., None] * features, np.exp(others)

    @cached_property
    def horizon_modes(self) -> np.ndarray:
        """Coefficients, in the modes, of the columns of `early` at the horizon; the density has mass one."""
        modes = heat_modes(self.manifold, self.expansion.horizon)
        theta, volume = chamber_nodes(self.manifold, self.expansion.half_period)
        p, gradient, others = self.early(theta, self.expansion.horizon)
        columns = modes(theta).T @ (np.column_stack([p, gradient, others]) * volume[:, None])
        density = columns[:, 0] / columns[0, 0]
        return np.column_stack([density, columns[:, 1:-1] - np.outer(density, columns[0, 1:-1]), columns[:, -1]])

    def late(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same beyond the horizon: every mode decays like exp(-lambda t/2)."""
        modes = heat_modes(self.manifold, self.expansion.horizon)
        decay = np.exp(-modes.eigenvalue * (time - self.expansion.horizon) / 2)
        columns = modes(theta) @ (decay[:, None] * self.horizon_modes) / self.manifold.volume
        # The modes left out are a small part of p_t(x, x) at the horizon and decay faster than those kept.
        missing = MISSING * decay[-1] * self.early(theta[:1] * 0, self.expansion.horizon)[0]
        return columns[:, 0], columns[:, 1:-1], np.abs(columns[:, -1]) + missing


@dataclass(frozen=True, eq=False)
class SmoothSlice:
    """p_t at one time, as a function of orbit coordinates."""

    profile: SmoothProfile
    time: float

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self._evaluate("density", theta)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t."""
        return self._evaluate("derivative", theta)

    def error(self, theta: np.ndarray) -> np.ndarray:
        """The standard error of p_t."""
        return self._evaluate("deviation", theta)

    def density(self, theta: np.ndarray, factor: float = 1.0) -> np.ndarray:
        return self._parts(theta, self.time * factor)[0]

    def derivative(self, theta: np.ndarray, change: float = 1e-4) -> np.ndarray:
        difference = self.density(theta, 1 + change) - self.density(theta, 1 - change)
        return difference / (2 * change * self.time)

    def deviation(self, theta: np.ndarray) -> np.ndarray:
        _, gradient, others = self._parts(theta, self.time)
        variance = np.sum(gradient @ self.profile.covariance * gradient, axis=-1)
        return np.sqrt(np.maximum(variance, 0) + others**2)

    def _parts(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        early = self.time <= self.profile.expansion.horizon
        return self.profile.early(theta, time) if early else self.profile.late(theta, time)

    def _evaluate(self, name: str, theta: np.ndarray) -> np.ndarray:
        if name not in self._tables:
            manifold, function = self.profile.manifold, getattr(self, name)

            def along(angles: np.ndarray) -> np.ndarray:
                theta = with_last_angle(manifold, angles)
                return np.concatenate([function(theta[i : i + CHUNK]) for i in range(0, len(theta), CHUNK)])

            reach = self.profile.expansion.reach(self.time)
            self._tables[name] = SplineTable(along, manifold.rank, reach, is_signed(manifold))
        return self._tables[name](np.asarray(theta, dtype=float))

    @cached_property
    def _tables(self) -> dict[str, SplineTable]:
        return {}
