"""Positive definite kernels at rank one, as sums of zonal polynomials with positive coefficients."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import chdtri, roots_jacobi

from ...manifolds.contract import Symmetric
from ..kernel import Function, Profile, Slice
from ..special.cubic_table import CubicTable
from ..special.jacobi import difference_recurrence

FADE = 1.5
"""Terms fade out between the rate whose loss is a thousandth of p_t(x, x) and this multiple of it."""


MOST_TERMS = 400
"""Terms beyond which an estimate with a short-time expansion is used as it is."""
BLEND = 1.25
"""The sum replaces a short-time expansion gradually, from some time to this multiple of it."""


@dataclass(frozen=True)
class Zonal:
    """The zonal functions of a compact space of rank one: Jacobi polynomials in x = cos(speed * distance).

    omega is a constant times sin(speed d/2)^(2 alpha + 1) cos(speed d/2)^(2 beta + 1), the eigenvalues of -Laplace are
    speed² k (k + alpha + beta + 1). Reference: Helgason (1984), ch. V, section 4.
    """

    alpha: float
    beta: float
    speed: float

    def eigenvalues(self, terms: int) -> np.ndarray:
        k = np.arange(terms)
        return self.speed**2 * k * (k + self.alpha + self.beta + 1)

    def terms(self, rate: float) -> int:
        """How many eigenvalues lie below."""
        nu = self.alpha + self.beta + 1
        return 2 + int((math.sqrt(nu**2 + 4 * rate / self.speed**2) - nu) / 2)

    def polynomials(self, distance: np.ndarray, terms: int) -> tuple[np.ndarray, np.ndarray]:
        """R_k, one at distance 0, and its derivative in the distance: two arrays (terms, ...)."""
        half = self.speed * np.asarray(distance) / 2
        gap, slope = 2 * np.sin(half) ** 2, self.speed * np.sin(2 * half)  # 1 - x and its derivative
        value, rise = np.ones((terms, *gap.shape)), np.zeros((terms, *gap.shape))
        step, bend = np.zeros_like(gap), np.zeros_like(gap)
        for k in range(terms - 1):
            up, down = difference_recurrence(self.alpha, self.beta, k)
            step = (down * step - gap * value[k]) / up
            bend = (down * bend - gap * rise[k] - slope * value[k]) / up
            value[k + 1], rise[k + 1] = value[k] + step, rise[k] + bend
        return value, rise


def zonal(manifold: Symmetric) -> Zonal:
    """The zonal functions of a compact space of rank one, from its roots along a geodesic."""
    roots = manifold.roots
    end = farthest(manifold)
    along, multiplicity = abs(roots.values(roots.direction)), np.array(roots.multiplicity)
    single = float(multiplicity[np.isclose(along, math.pi / (2 * end))].sum())
    double = float(multiplicity[np.isclose(along, math.pi / end)].sum())
    return Zonal((single + double - 1) / 2, (double - 1) / 2, math.pi / end)


def farthest(manifold: Symmetric) -> float:
    """The largest distance of two points, at rank one."""
    return manifold.roots.half_period / float(np.abs(manifold.roots.direction).max())


@dataclass(frozen=True, eq=False)
class PositiveProfile(Profile):
    """An estimated profile on a space of rank one with its negative zonal coefficients dropped.

    c_k(t) = integral of p_t R_k, which for the heat kernel is exp(-lambda_k t/2), by Gauss-Jacobi quadrature; then
    p_t = (1/volume) sum of max(c_k, 0) d_k R_k, d_k the dimension of the k-th eigenspace.
    """

    manifold: Symmetric
    profile: Profile

    @property
    def times(self) -> tuple[float, float]:
        return self.profile.times

    @property
    def estimate(self) -> Profile:
        return self.profile

    @cached_property
    def zonal(self) -> Zonal:
        return zonal(self.manifold)

    def prepare(self, time: float) -> Slice:
        shortest = self._shortest if self.profile.expands_short_times else 0.0
        if time <= shortest:
            return self.profile.at(time)
        weights = np.stack(self.coefficients(time))
        end = farthest(self.manifold)
        values, rises = self.zonal.polynomials(np.linspace(0, end, CubicTable.INTERVALS + 1), weights.shape[1])

        def reader(w: np.ndarray) -> Function:
            table = CubicTable(end, w @ values, w @ rises, float(w @ values[:, -1]))

            def read(theta: np.ndarray) -> np.ndarray:
                distance = np.asarray(self.manifold.length(np.asarray(theta, dtype=float)))
                reachable = np.isfinite(distance)  # the other component of O(n) is not
                return reachable * table(np.where(reachable, distance, 0.0))

            return read

        return made_positive(reader(weights[0]), reader(weights[1]), self.profile.at(time), time, shortest)

    @property
    def _full(self) -> float:
        """The rate lambda from which on terms fade out, times t."""
        return float(chdtri(self.manifold.dim, 1e-3))

    @property
    def _shortest(self) -> float:
        """The time from which on MOST_TERMS are enough."""
        return FADE * self._full / float(self.zonal.eigenvalues(MOST_TERMS)[-1])

    def _terms(self, time: float) -> int:
        return self.zonal.terms(FADE * self._full / time)

    def coefficients(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Weights d_k c_k / volume of the R_k at a time and their derivatives in it.

        High terms carry noise only: they fade out where exp(-lambda t/2) times their number is negligible at distance
        0, which in flat space is a tail of the chi-square distribution.
        """
        full, terms = self._full, self._terms(time)
        distance, weight, values = _quadrature(self.zonal, terms)
        estimate = self.profile.at(time)
        theta = distance[:, None] * self.manifold.roots.direction
        scale = values**2 @ weight  # 1 / d_k
        c, dc = (values @ (weight * part) / scale for part in (estimate(theta), estimate.slope(theta)))
        speed = self.zonal.eigenvalues(terms)
        fade = np.clip((FADE - speed * time / full) / (FADE - 1), 0, 1)
        dfade = np.where((fade > 0) & (fade < 1), -speed / (full * (FADE - 1)), 0.0)
        kept = c > 0
        return kept * c * fade, kept * (dc * fade + c * dfade)


def smooth_step(x: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """A function that rises from 0 for x <= 0 to 1 for x >= 1 with a continuous derivative, and this derivative."""
    x = np.clip(x, 0.0, 1.0)
    return x**2 * (3 - 2 * x), 6 * x * (1 - x)


def made_positive(value: Function, slope: Function, estimate: Slice, time: float, shortest: float) -> Slice:
    """A slice whose error is that of the estimate, and the change that made it positive definite.

    The estimate itself is used up to the time `shortest`. From there to BLEND times as long the slice is a convex
    combination of the estimate and the sum, so that the kernel is continuous in time, with a continuous derivative.
    """
    if time < BLEND * shortest:
        width = (BLEND - 1) * shortest
        w, rise = smooth_step((time - shortest) / width)
        alone, alone_slope = value, slope

        def value(theta: np.ndarray) -> np.ndarray:
            return (1 - w) * estimate(theta) + w * alone(theta)

        def slope(theta: np.ndarray) -> np.ndarray:
            change = rise / width * (alone(theta) - estimate(theta))
            return (1 - w) * estimate.slope(theta) + w * alone_slope(theta) + change

    return Slice(value, slope, lambda theta: np.hypot(estimate.error(theta), value(theta) - estimate(theta)))


@lru_cache(maxsize=32)
def _quadrature(functions: Zonal, terms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances, probabilities and R_k there; four nodes per term, as an estimate is rougher than its expansion."""
    x, w = roots_jacobi(4 * terms, functions.alpha, functions.beta)
    distance = np.arccos(x) / functions.speed
    return distance, w / w.sum(), functions.polynomials(distance, terms)[0]
