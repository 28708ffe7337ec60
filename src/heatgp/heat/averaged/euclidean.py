"""Matern kernels of Euclidean space, by Bessel functions, which are tabulated.

Reference: Rasmussen and Williams (2006), eq. 4.14.
"""

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, kve

from ...array import Array
from ..kernel import Function, Profile, Slice
from ..special.cubic_table import CubicTable, read_cubic

BESSEL = 30.0
"""The largest smoothness: beyond, Bessel functions overflow."""
POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}
"""By nu, in powers of z: 2^(1-nu) / Gamma(nu) z^nu K_nu(z) exp(z)."""
POINTS = 4096
"""Intervals of the tables of other nu."""
NOTHING = -45.0
"""The logarithm of correlations at the end of a table; beyond they are zero."""


@dataclass(frozen=True)
class EuclideanMatern(Profile):
    """R^dim: k(x, y) / k(x, x) = 2^(1-nu) / Gamma(nu) z^nu K_nu(z), z = √(2 nu / time) r; theta is the distance r."""

    dim: int
    smoothness: float

    def prepare(self, time: float) -> Slice:
        nu, unit = self.smoothness, math.sqrt(2 * self.smoothness / time)

        correlation: Function = partial(bessel_correlation, nu)
        decrease: Function = partial(bessel_slope, nu)
        if nu not in POLYNOMIALS:
            correlation, decrease = tables(nu)

        def argument(theta: np.ndarray) -> np.ndarray:
            return unit * np.asarray(theta, dtype=float)[..., 0]

        def slope(theta: np.ndarray) -> np.ndarray:
            z = argument(theta)
            return (decrease(z) - self.dim / 2 * correlation(z)) / time

        def log(theta: np.ndarray) -> np.ndarray:
            return log_bessel_correlation(nu, argument(theta))

        def gradient(theta: np.ndarray) -> np.ndarray:
            """Zero at zero, also where nu <= 1/2 makes a cusp there."""
            z = argument(theta)[..., None]
            return np.where(z > 0, -2 * unit * decrease(z) / np.where(z > 0, z, 1.0), 0.0)

        return Slice(
            lambda theta: correlation(argument(theta)),
            slope,
            log_scale=self._height(time),
            log_relative=log,
            relative_gradient=gradient,
        )

    def _height(self, time: float) -> float:
        """log k(x, x)."""
        nu, half = self.smoothness, self.dim / 2
        return float(gammaln(nu) - gammaln(nu + half) - half * math.log(2 * math.pi * time / nu))

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        """A table, and what the root of r has as factor in the x of the table."""
        correlation, decrease = tables(self.smoothness)
        root = np.array((math.sqrt(2 * self.smoothness / time) / correlation.end) ** (1 / correlation.grade))
        value, change = correlation.table.numbers[0], decrease.table.numbers[0]
        slope, still = change - self.dim / 2 * value, np.zeros(())
        return (correlation.table.numbers, root), ((slope, still), still), self._height(time)

    def read_table(self, numbers: Any, theta: Array) -> Array:
        table, root = numbers
        return read_cubic(table, root * theta[..., 0] ** (1 / grade(self.smoothness)))


def grade(nu: float) -> int:
    """The power of x in the tables."""
    return max(4, math.ceil(2 / nu))


@dataclass(frozen=True)
class GradedTable:
    """A function of z = end x^grade, from a table in x: near zero it may have the powers |z|^(2 nu)."""

    table: CubicTable
    end: float
    grade: int

    def __call__(self, z: np.ndarray) -> np.ndarray:
        x = z / self.end
        return self.table(np.sqrt(np.sqrt(x)) if self.grade == 4 else x ** (1 / self.grade))


@lru_cache(maxsize=32)
def tables(nu: float) -> tuple[GradedTable, GradedTable]:
    """`bessel_correlation` and `bessel_slope`, tabulated.

    With the correlation c and s = -z c' / 2, Bessel's equation is z s' = 2 nu s - z² c / 2.
    """
    power = grade(nu)
    end = brentq(lambda z: float(log_bessel_correlation(nu, np.array(z))) - NOTHING, 1.0, 1e4)
    x = np.linspace(0.0, 1.0, POINTS + 1)
    z = end * x**power
    values, slopes = bessel_correlation(nu, z), bessel_slope(nu, z)
    per_log = power / np.where(x > 0, x, np.inf)  # dx of log z; at zero both functions are flat in x
    correlation = CubicTable(1.0, values, -2 * slopes * per_log, 0.0)
    decrease = CubicTable(1.0, slopes, (2 * nu * slopes - z**2 * values / 2) * per_log, 0.0)
    return GradedTable(correlation, end, power), GradedTable(decrease, end, power)


def bessel_correlation(nu: float, z: np.ndarray) -> np.ndarray:
    """2^(1-nu) / Gamma(nu) z^nu K_nu(z); for nu = 1/2, 3/2, 5/2 a polynomial times exp(-z)."""
    if nu in POLYNOMIALS:
        return np.polynomial.polynomial.polyval(z, POLYNOMIALS[nu]) * np.exp(-z)
    return np.exp(log_bessel_correlation(nu, z))


def bessel_slope(nu: float, z: np.ndarray) -> np.ndarray:
    """-z/2 times the derivative, which is 2^(1-nu) / Gamma(nu) z^(nu+1) K_(nu-1)(z) / 2."""
    if nu == 0.5:
        return z / 2 * np.exp(-z)
    if nu - 1 in POLYNOMIALS:
        return z**2 / (4 * (nu - 1)) * bessel_correlation(nu - 1, z)
    if nu > 1:
        return z**2 / (4 * (nu - 1)) * np.exp(log_bessel_correlation(nu - 1, z))
    small = np.maximum(z, 1e-150)
    log = (1 - nu) * math.log(2) - gammaln(nu) + (nu + 1) * np.log(small) - small
    return np.exp(log) * kve(nu - 1, small) / 2


def log_bessel_correlation(nu: float, z: np.ndarray) -> np.ndarray:
    """Its logarithm. Near zero, where the Bessel function overflows, by the first terms of its series."""
    if nu in POLYNOMIALS:
        return np.log(np.polynomial.polynomial.polyval(z, POLYNOMIALS[nu])) - z
    tiny = z < (1e-6 if nu > 1.5 else 1e-150)
    inside = np.where(tiny, 1.0, z)
    log = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(inside) - inside + np.log(kve(nu, inside))
    return np.where(tiny, -(z**2) / (4 * (nu - 1)) if nu > 1.5 else 0.0, log)
