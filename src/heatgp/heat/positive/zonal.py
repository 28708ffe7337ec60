"""Kernels that are positive definite by construction, from estimates that are not.

At rank one a function of the distance is positive definite on every set of points if and only if its coefficients in
the zonal polynomials are not negative: those that are get dropped. Anywhere else, p_t(x, y) is the integral of
p_(t/2)(x, z) p_(t/2)(z, y) over z: a sum over sample points z is a Gram matrix, however noisy p_(t/2) is.

Reference: Schoenberg (1942), Duke Math. J. 9, 96-108; Bochner (1941) and Godement (1957) for homogeneous spaces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import roots_jacobi
from scipy.stats import chi2

from ...array import Array
from ...errors import InvalidInput, Unsupported
from ...manifolds.checks import check_points
from ...manifolds.contract import Homogeneous, Symmetric
from ..counting.coordinates import Coordinates
from ..kernel import HeatKernel, HeatPairs, OrbitKernel, Profile, Slice
from ..special.cubic_table import CubicTable
from .modes import ModeProfile

REFERENCES = 1000
"""Reference points where nobody says how many: the features of a Gaussian process linear in its data."""
FADE = 1.5
"""Terms fade out between the rate whose loss is a thousandth of p_t(x, x) and this multiple of it."""


def positive_definite(kernel: OrbitKernel) -> HeatKernel:
    """Negative coefficients dropped, up to rank three; else the kernel through reference points at half the time."""
    manifold = kernel.manifold
    if isinstance(kernel.profile, (PositiveProfile, ModeProfile)):
        return kernel
    if manifold.rank == 1:
        return replace(kernel, profile=PositiveProfile(manifold, kernel.profile))
    if isinstance(manifold, Symmetric) and manifold.rank <= 3:
        return replace(kernel, profile=ModeProfile(manifold, kernel.profile))
    return half_time_kernel(kernel)


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
        """R_k, one at distance 0, and its derivative in the distance: two arrays (terms, ...).

        The recurrence is that of the differences R_(k+1) - R_k. Reference: Koekoek et al. (2010), eq. (9.8.4).
        """
        nu, half = self.alpha + self.beta + 1, self.speed * np.asarray(distance) / 2
        gap, slope = 2 * np.sin(half) ** 2, self.speed * np.sin(2 * half)  # 1 - x and its derivative
        value, rise = np.ones((terms, *gap.shape)), np.zeros((terms, *gap.shape))
        step, bend = np.zeros_like(gap), np.zeros_like(gap)
        for k in range(terms - 1):
            if k:
                up = 2 * (k + nu) * (k + self.alpha + 1) / ((2 * k + nu) * (2 * k + nu + 1))
                down = 2 * k * (k + self.beta) / ((2 * k + nu - 1) * (2 * k + nu))
            else:
                up, down = 2 * (self.alpha + 1) / (nu + 1), 0.0
            step = (down * step - gap * value[k]) / up
            bend = (down * bend - gap * rise[k] - slope * value[k]) / up
            value[k + 1], rise[k + 1] = value[k] + step, rise[k] + bend
        return value, rise


def zonal(manifold: Homogeneous) -> Zonal:
    """The zonal functions, read off omega: the roots along a geodesic and the distance of its farthest point."""
    if manifold.rank != 1 or not math.isfinite(manifold.volume):
        raise Unsupported(
            f"{manifold!r}: zonal polynomials are those of compact manifolds of rank one. A Euclidean kernel is exact "
            "(method='exact'); at higher rank use half_time_kernel."
        )
    coordinates = Coordinates(manifold)
    end = float(coordinates.bounds[1][0])
    roots = getattr(manifold, "roots", None)
    along = abs(roots.values(coordinates.direction)) if roots is not None and roots.alpha else np.zeros(0)
    multiplicity = np.array(roots.multiplicity if roots is not None else ())
    single = float(multiplicity[np.isclose(along, math.pi / (2 * end))].sum())
    double = float(multiplicity[np.isclose(along, math.pi / end)].sum())
    return Zonal((single + double - 1) / 2, (double - 1) / 2, math.pi / end)


@dataclass(frozen=True, eq=False)
class PositiveProfile:
    """An estimated profile on a space of rank one with its negative zonal coefficients dropped.

    c_k(t) = integral of p_t R_k, which for the heat kernel is exp(-lambda_k t/2), by Gauss-Jacobi quadrature; then
    p_t = (1/volume) sum of max(c_k, 0) d_k R_k, d_k the dimension of the k-th eigenspace.
    """

    manifold: Homogeneous
    profile: Profile

    def __post_init__(self) -> None:
        zonal(self.manifold)  # says what cannot be done before any work

    def __repr__(self) -> str:
        return f"<{self.profile!r}, negative coefficients dropped>"

    @property
    def times(self) -> tuple[float, float]:
        """The times that it can be asked for."""
        return getattr(self.profile, "times", (0.0, math.inf))

    @cached_property
    def zonal(self) -> Zonal:
        return zonal(self.manifold)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates(self.manifold)

    def at(self, time: float) -> PositiveSlice:
        """The kernel at one time, prepared once."""
        return _slice(self, time)

    def coefficients(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Weights d_k c_k / volume of the R_k at a time and their derivatives in it.

        High terms carry noise only: they fade out where exp(-lambda t/2) times their number is negligible at distance
        0, which in flat space is a tail of the chi-square distribution.
        """
        full = chi2.isf(1e-3, self.manifold.dim)  # in units of lambda t
        terms = self.zonal.terms(FADE * full / time)
        distance, weight, values = _quadrature(self.zonal, terms)
        estimate = self.profile.at(time)
        theta = distance[:, None] * self.coordinates.direction
        scale = values**2 @ weight  # 1 / d_k
        c, dc = (values @ (weight * part) / scale for part in (estimate(theta), estimate.slope(theta)))
        speed = self.zonal.eigenvalues(terms)
        fade = np.clip((FADE - speed * time / full) / (FADE - 1), 0, 1)
        dfade = np.where((fade > 0) & (fade < 1), -speed / (full * (FADE - 1)), 0.0)
        kept = c > 0
        return kept * c * fade, kept * (dc * fade + c * dfade)


@lru_cache(maxsize=32)
def _slice(profile: PositiveProfile, time: float) -> PositiveSlice:
    weights = np.stack(profile.coefficients(time))
    end = float(profile.coordinates.bounds[1][0])
    values, rises = profile.zonal.polynomials(np.linspace(0, end, CubicTable.INTERVALS + 1), weights.shape[1])
    p, slope = (CubicTable(end, w @ values, w @ rises, float(w @ values[:, -1])) for w in weights)
    return PositiveSlice(profile.coordinates, p, slope, profile.profile.at(time))


@lru_cache(maxsize=32)
def _quadrature(functions: Zonal, terms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distances, probabilities and R_k there; four nodes a term, as an estimate is rougher than its expansion."""
    x, w = roots_jacobi(4 * terms, functions.alpha, functions.beta)
    distance = np.arccos(x) / functions.speed
    return distance, w / w.sum(), functions.polynomials(distance, terms)[0]


@dataclass(frozen=True, eq=False)
class PositiveSlice:
    """p_t as a positive definite function of the distance, for one t."""

    coordinates: Coordinates
    p: CubicTable
    dp: CubicTable
    estimate: Slice

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        return self._read(self.p, theta)

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t."""
        return self._read(self.dp, theta)

    def error(self, theta: np.ndarray) -> np.ndarray:
        """The error of the estimate, and the change that made it positive definite."""
        return np.hypot(self.estimate.error(theta), self(theta) - self.estimate(theta))

    def _read(self, table: CubicTable, theta: np.ndarray) -> np.ndarray:
        distance = self.coordinates.read(theta)[..., 0]
        reachable = np.isfinite(distance)  # the other component of O(n) is not
        return reachable * table(np.where(reachable, distance, 0.0))


def half_time_kernel(kernel: HeatKernel, points: int | Array = REFERENCES, rng: Any = 0) -> HalfTimeKernel:
    """The kernel through reference points at half the time: positive definite, and linear in the data.

    K = Phi Phi' with features phi_j(x) = p_(t/2)(x, z_j) sqrt(volume / M) of M uniform points z_j; `points` is M, or
    the points themselves. Its error has a part that falls with M: take M well above volume / (2 pi t)^(dim/2), the
    number of patches that the kernel at time t tells apart.
    """
    manifold = kernel.manifold
    if not math.isfinite(manifold.volume):
        raise Unsupported(
            f"{manifold!r} is not compact: there are no uniform reference points. Use method='exact', or 'reference' "
            "on a compact part."
        )
    if isinstance(points, (int, np.integer)):
        if points < 1:
            raise InvalidInput(f"half_time_kernel needs one or more reference points; got {points}.")
        z = np.asarray(manifold.random(np.random.default_rng(rng), int(points)))
    else:
        z = np.asarray(check_points(manifold, points, "points"))
    return HalfTimeKernel(manifold, kernel.method, kernel, z)


@dataclass(frozen=True, eq=False)
class HalfTimeKernel(HeatKernel):
    """A kernel as the Gram matrix of its half-time features."""

    manifold: Any
    method: str
    half: HeatKernel
    points: np.ndarray

    def __repr__(self) -> str:
        return f"<{self.half!r} through {len(self.points)} reference points>"

    @property
    def times(self) -> tuple[float, float]:
        low, high = self.half.times
        return 2 * low, 2 * high

    def features(self, X: Array, time: Any) -> np.ndarray:
        """Phi (N, M) with K = Phi Phi'."""
        return math.sqrt(self.manifold.volume / len(self.points)) * self.half.pairs(X, self.points)(time / 2)

    def pairs(self, X: Array, Y: Array | None = None) -> HalfTimePairs:
        left = self.half.pairs(X, self.points)
        right = left if Y is None else self.half.pairs(Y, self.points)
        return HalfTimePairs(left, right, self.manifold.volume / len(self.points), len(self.points))

    def diag(self, X: Array, time: Any) -> np.ndarray:
        return (self.features(X, time) ** 2).sum(axis=1)

    def replicates(self, number: int) -> list[HeatKernel]:
        return [replace(self, half=part) for part in self.half.replicates(number)]


@dataclass(frozen=True, eq=False)
class HalfTimePairs:
    """Half-time kernels of two point sets with the reference points."""

    left: HeatPairs
    right: HeatPairs
    weight: float
    number: int

    def __call__(self, time: float) -> np.ndarray:
        a = self.left(time / 2)
        return self.weight * a @ (a if self.right is self.left else self.right(time / 2)).T

    def slope(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """K and its derivative in log time; the logarithms of t and of t/2 have the same differential."""
        a, da = self.left.slope(time / 2)
        b, db = (a, da) if self.right is self.left else self.right.slope(time / 2)
        return self.weight * a @ b.T, self.weight * (da[0] @ b.T + a @ db[0].T)[None]

    def error(self, time: float) -> np.ndarray:
        """The spread of the mean over the reference points, and the errors of the features as if independent."""
        a, b = self.left(time / 2), self.right(time / 2)
        ea, eb = self.left.error(time / 2), self.right.error(time / 2)
        mean = a @ b.T / self.number
        spread = np.maximum((a**2) @ (b**2).T / self.number - mean**2, 0) / self.number
        noise = ((ea**2) @ (b**2).T + (a**2) @ (eb**2).T) / self.number**2
        return self.weight * self.number * np.sqrt(spread + noise)
