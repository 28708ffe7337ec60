"""Symmetry as data: a symmetric space is a finite table of roots and multiplicities.

Also here: the volumes and integrals in closed form from which the volumes of the spaces are made.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..array import Array, log_sinhc, namespace, norm, sinc, wrap
from ..errors import Unsupported


@dataclass(frozen=True)
class Roots:
    """The roots of a symmetric space: linear forms on its orbit coordinates, with multiplicities.

    The orbit coordinates theta of a pair of points are angles on a maximal flat torus. The volume density in them is
    a constant times the product over the roots alpha of |sin <alpha, theta>|^m. A space of negative curvature has the
    roots of a compact one: its flats are infinite, and sines become hyperbolic sines.

    Parameters
    ----------
    alpha : tuple of tuples of float
        The roots, one tuple of `coordinates` numbers each; empty for a flat torus.
    multiplicity : tuple of int
        The multiplicity m of each root.
    unit : float, default 1
        The distance of a pair whose orbit coordinates have norm one; 1/√2 for the eigenangles of unitary matrices.
    coordinates : int, default 1
        The number of orbit coordinates.
    half_period : float, default pi
        The largest value of each coordinate. A geodesic along one coordinate closes after twice this angle; inf where
        it never does, in negative curvature.
    signed : bool, default False
        Whether coordinates are eigenangles in (-half_period, half_period]; otherwise they are in [0, half_period].
    sum_zero : bool, default False
        Whether the coordinates add up to zero modulo 2 half_period, so that all but the last determine the last.

    Examples
    --------
    >>> sphere = Roots(((1.0,),), (1,))  # S^2
    >>> sphere.rank, sphere.chamber, sphere.einstein_constant
    (1, ((0.0, 3.141592653589793),), 1.0)
    """

    alpha: tuple[tuple[float, ...], ...]
    multiplicity: tuple[int, ...]
    unit: float = 1.0
    coordinates: int = 1
    half_period: float = math.pi
    signed: bool = False
    sum_zero: bool = False

    @classmethod
    def of(cls, table: Iterable[tuple[tuple[float, ...], int]], **properties: Any) -> Roots:
        """From pairs (root, multiplicity), without those of multiplicity zero; `properties` are the other fields."""
        kept = [(alpha, m) for alpha, m in table if m]
        return cls(tuple(alpha for alpha, _ in kept), tuple(m for _, m in kept), **properties)

    @property
    def rank(self) -> int:
        """The dimension of the flat torus: the number of coordinates that are free."""
        return self.coordinates - self.sum_zero

    @property
    def is_compact(self) -> bool:
        """Whether geodesics close: the curvature is then not negative, else not positive."""
        return math.isfinite(self.half_period)

    @property
    def chamber(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of each coordinate."""
        return ((-self.half_period if self.signed else 0.0, self.half_period),) * self.coordinates

    @cached_property
    def array(self) -> np.ndarray:
        """The roots as an array (number, coordinates)."""
        return np.array(self.alpha).reshape(-1, self.coordinates)

    @cached_property
    def rho(self) -> np.ndarray:
        """Half the sum of the roots with their multiplicities, (coordinates,)."""
        return np.array(self.multiplicity) @ self.array / 2

    @cached_property
    def ricci(self) -> np.ndarray:
        """Eigenvalues (rank,), increasing, of the Ricci curvature on the flat torus.

        In the direction of a unit vector h it is the sum of m <alpha, h>², with the sign of the curvature. Reference:
        Helgason (1984), ch. I.5.
        """
        alpha = self.array / self.unit
        values = np.linalg.eigvalsh((alpha.T * self.multiplicity) @ alpha)
        values = values[self.coordinates - self.rank :]  # with sum zero, (1, .., 1) is no direction of the flat torus
        return values if self.is_compact else -values[::-1]

    @property
    def einstein_constant(self) -> float | None:
        """The constant c of Ric = c * metric; None where there is none, as on U(n), whose centre is flat."""
        return float(self.ricci.mean()) if np.ptp(self.ricci) < 1e-9 else None

    def scalar_curvature(self, dim: int) -> float:
        """The scalar curvature of a space of dimension `dim` that is a flat torus times one irreducible space."""
        curved = self.ricci[np.abs(self.ricci) > 1e-9]
        return float(curved.mean()) * (dim - self.rank + len(curved)) if curved.size else 0.0

    def complete(self, theta: Array) -> Array:
        """All coordinates (..., coordinates) from the first `rank` of them, not wrapped."""
        if not self.sum_zero:
            return theta
        xp = namespace(theta)
        return xp.concat([theta, -xp.sum(theta, axis=-1, keepdims=True)], axis=-1)

    def lift(self, theta: Array) -> Array:
        """Representatives modulo the periods whose norm, times `unit`, is the distance of the pair."""
        if not self.sum_zero:
            return theta
        # Eigenangles with sum 2 pi k are lifted to sum 0 with the smallest norm: the k largest lose 2 pi.
        xp = namespace(theta)
        theta = xp.sort(xp.where(xp.abs(theta) > math.pi, wrap(theta), theta), axis=-1)
        n = theta.shape[-1]
        turns = xp.round(xp.sum(theta, axis=-1, keepdims=True) / (2 * math.pi))
        index = xp.asarray(np.arange(n), dtype=theta.dtype)
        return theta + xp.where(index < -turns, 2 * math.pi, 0.0) - xp.where(index >= n - turns, 2 * math.pi, 0.0)

    def length(self, theta: Array) -> Array:
        """Distance of a pair whose orbit coordinates are theta."""
        return self.unit * norm(self.lift(theta))

    @cached_property
    def generators(self) -> np.ndarray:
        """The shortest closed geodesics of the flat torus in orbit coordinates, (number, coordinates)."""
        if not self.is_compact:
            return np.empty((0, self.coordinates))
        one = 2 * self.half_period * np.eye(self.coordinates)
        return np.array([a - b for i, a in enumerate(one) for b in one[:i]]) if self.sum_zero else one

    @cached_property
    def direction(self) -> np.ndarray:
        """At rank one: the coordinates of a pair at unit distance; those at another distance are a multiple."""
        theta = self.complete(np.ones(1))
        return theta / (self.unit * norm(theta))

    def values(self, theta: Array) -> Array:
        """<alpha, theta>: (..., coordinates) -> (..., number of roots)."""
        xp = namespace(theta)
        return xp.matmul(theta, xp.asarray(self.array.T, dtype=theta.dtype))

    def log_sines(self, theta: Array) -> Array:
        """Σ m log |sin <alpha, theta>|, or of sinh in negative curvature; -inf where a sine vanishes."""
        xp = namespace(theta)
        values = xp.abs(self.values(theta))
        # sinh x = exp(x) (1 - exp(-2x)) / 2
        sines = xp.abs(xp.sin(values)) if self.is_compact else -xp.expm1(-2 * values) / 2
        tiny = xp.finfo(theta.dtype).smallest_normal
        logs = xp.where(sines > 0, xp.log(xp.maximum(sines, tiny)), -math.inf) + (0.0 if self.is_compact else values)
        return xp.sum(xp.asarray(self.multiplicity, dtype=theta.dtype) * logs, axis=-1)

    def log_short_time(self, theta: Array) -> Array:
        """log of the leading short-time factor, the product over the roots of (<a,theta>/sin <a,theta>)^(m/2).

        With sinh in negative curvature.
        """
        xp = namespace(theta)
        values = self.values(theta)
        logs = xp.log(sinc(values)) if self.is_compact else log_sinhc(xp.abs(values))
        return -xp.sum(xp.asarray(self.multiplicity, dtype=theta.dtype) / 2 * logs, axis=-1)


def axis_pairs(r: int, signs: tuple[int, ...], factor: float = 1.0) -> list[tuple[float, ...]]:
    """The forms factor * (e_i + sign e_j), i < j, for each sign."""
    one = factor * np.eye(r)
    return [tuple((one[i] + sign * one[j]).tolist()) for i in range(r) for j in range(i + 1, r) for sign in signs]


def axes(r: int, factor: float = 1.0) -> list[tuple[float, ...]]:
    """The forms factor * e_i."""
    return [tuple(row) for row in (factor * np.eye(r)).tolist()]


def log_selberg(r: int, a: float, b: float, c: float) -> float:
    """log of the integral over [0, 1]^r of Π u^(a-1) (1-u)^(b-1) Π |u_i - u_j|^(2c).

    Reference: Selberg (1944); Mehta (2004), Random Matrices, eq. (17.1.3).
    """
    log = math.lgamma
    return sum(
        log(a + j * c) + log(b + j * c) + log(1 + (j + 1) * c) - log(a + b + (r + j - 1) * c) - log(1 + c)
        for j in range(r)
    )


def log_sphere_volume(dim: int) -> float:
    """log of the volume 2 π^((d+1)/2) / Γ((d+1)/2) of the unit sphere S^d."""
    return math.log(2) + (dim + 1) / 2 * math.log(math.pi) - math.lgamma((dim + 1) / 2)


def log_unit_ball_volume(dim: int) -> float:
    """log of the volume π^(d/2) / Γ(d/2 + 1) of the unit ball of R^d."""
    return dim / 2 * math.log(math.pi) - math.lgamma(dim / 2 + 1)


def as_volume(manifold: Any, log_volume: float) -> float:
    """The volume of a manifold from its logarithm; Unsupported where floating point numbers do not reach so far."""
    if log_volume == math.inf or abs(log_volume) < math.log(sys.float_info.max):
        return math.exp(log_volume)
    raise Unsupported(
        f"the volume of {manifold!r} is exp({log_volume:.6g}), beyond floating point numbers: paths and reference "
        "points cannot resolve so many dimensions. Use method='exact' where there is one."
    )
