"""The short-time expansion of the heat kernel of a symmetric space, from its table of roots alone.

With m = dim, d the distance and x_a = <alpha, theta>, in one geodesic

    log p_t = -m/2 log(2 pi t) - d²/2t + Σ m_a/2 log(x_a / sin x_a) + t a_1(theta) + O(t²),
    a_1 = |rho|²/2 - Σ k_a |alpha|² g(x_a),  g(x) = (1/x - cot x)/x,  k_a = m_a (m_a - 2 + 2 m_2a) / 8,

rho half the sum of the roots with multiplicity. Conjugating the radial Laplacian with the square root of omega leaves
the potential |rho|²/2 - Σ k_a |alpha|² (1/sin² - 1/x²), whose mean along the geodesic is a_1; a_1(0) is scal/12.

Reference: Helgason (1984), ch. II.3; Berger, Gauduchon, Mazet (1971), III.E; Camporesi (1990), Physics Reports 196, 1.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtrc, chdtri, ive, logsumexp, zeta

from ...array import sinc
from ...manifolds.contract import Symmetric

HORIZON_TAIL = 1e-3
"""Share of the paths that may have left the ball without cut points, at the last time of the expansion."""


@dataclass(frozen=True)
class Expansion:
    """log p_t up to and with the term t a_1(theta), summed over the shortest geodesics to the point."""

    manifold: Symmetric

    @property
    def alpha(self) -> np.ndarray:
        """Roots (number, coordinates), as forms on the orbit coordinates."""
        return self.manifold.roots.array

    @cached_property
    def multiplicity(self) -> np.ndarray:
        return np.array(self.manifold.roots.multiplicity, dtype=float)

    @cached_property
    def squares(self) -> np.ndarray:
        """|alpha|² in the metric: sectional curvatures, the largest among them."""
        return np.sum(self.alpha**2, axis=1) / self.manifold.roots.unit**2

    @cached_property
    def potential(self) -> tuple[float, np.ndarray]:
        """|rho|²/2 and the k_a |alpha|²."""
        m = self.multiplicity
        rho = self.manifold.roots.rho / self.manifold.roots.unit
        doubled = np.array([m @ np.isclose(self.alpha, 2 * a).all(axis=1) for a in self.alpha])
        return float(rho @ rho) / 2, self.squares * m * (m - 2 + 2 * doubled) / 8

    @cached_property
    def on_line(self) -> np.ndarray:
        """The multiplicities of all roots that are multiples of this one, summed."""
        unit = self.alpha / np.linalg.norm(self.alpha, axis=1, keepdims=True)
        return np.isclose(unit @ unit.T, 1) @ self.multiplicity

    @property
    def radius(self) -> float:
        """A ball of this radius is free of cut points: half of the shortest closed geodesic."""
        return float(np.linalg.norm(self.manifold.roots.generators, axis=1).min()) / 2 * self.manifold.roots.unit

    def reach(self, time: float) -> float:
        """Orbit coordinates beyond this have probability 1e-13, as in flat space; at most half a period."""
        return min(
            self.manifold.roots.half_period,
            math.sqrt(time * chdtri(self.manifold.dim, 1e-13)) / self.manifold.roots.unit,
        )

    @cached_property
    def horizon(self) -> float:
        """The time up to which paths (one in a thousand excepted) have not seen that the manifold is closed."""
        return self.radius**2 / float(chdtri(self.manifold.dim, HORIZON_TAIL))

    def unseen(self, time: float) -> float:
        """The fraction of paths beyond the cut-free ball, at most."""
        return float(chdtrc(self.manifold.dim, self.radius**2 / time))

    @cached_property
    def single(self) -> float:
        """The time up to which one geodesic is enough: others add 2e-9 of p_t(x, x) at most, at the cut locus.

        Also the series of Bessel functions must have small terms: at x = 0 they are those of (m - 1)² |alpha|² t / 8π².
        """
        largest = float(np.max(self.squares * (self.multiplicity - 1) ** 2, initial=0.0))
        return min(self.radius**2 / 40, 1 / largest if largest else math.inf)

    def log_single(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """log p_t by the shortest geodesic alone, and its derivative in t: the first part of `log_density`.

        Both are accurate to rounding for points that are as close as one likes. The Bessel functions of `_geodesic` are
        their asymptotic series here: in places where they are not, p_t is negligible.
        """
        theta = self.manifold.roots.lift(theta)
        square = np.sum(theta**2, axis=-1) * self.manifold.roots.unit**2
        log = -self.manifold.dim / 2 * math.log(2 * math.pi * time) - square / (2 * time)
        slope = square / (2 * time**2) - self.manifold.dim / (2 * time)
        if not len(self.alpha):
            return log, slope
        rho, k = self.potential
        m = self.multiplicity
        x = np.minimum(np.abs(theta @ self.alpha.T), 3.0)
        pole = 1 / (math.pi * (math.pi - x)) @ (self.squares * m * (m - 2) / 8)
        first = rho - _potential_mean(x) @ k + pole
        # I_((m-1)/2)(z) with its leading factor taken out is a polynomial in u = 1/8z, u like t + bend t².
        bend = self.on_line * self.squares / (2 * math.pi**2)
        u = self.squares * time * (1 + bend * time) / (8 * math.pi * (math.pi - x))
        bessel, rise = _bessel_series((m - 1) ** 2, u)
        bessel = np.maximum(bessel, -0.9)  # only where p_t is negligible
        log = log - np.log(sinc(x)) @ (m / 2) + np.sum(np.log1p(bessel), axis=-1) + time * first
        growth = (1 + 2 * bend * time) / (1 + bend * time) / time
        return log, slope + np.sum(rise * u / (1 + bessel) * growth, axis=-1) + first

    def log_density(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """log p_t, and the logarithm of what other geodesics than the shortest may bring."""
        theta = self.manifold.roots.lift(theta)
        main, _ = self._geodesic(theta, time)
        ways = [
            np.where(theta @ period < 0, -1.0, 1.0)[..., None] * period for period in self.manifold.roots.generators
        ]
        others, own = (np.array(part) for part in zip(*[self._geodesic(theta - way, time) for way in ways]))
        more = np.sum(own * np.exp(np.minimum(others - main, 3)), axis=0)
        return main + np.log1p(more), logsumexp(others, axis=0)

    def _geodesic(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """log of one geodesic's part, and whether it is one of its own: no conjugate point was passed.

        Geodesics that meet in a conjugate point are one family there: (x / sin x)^(m/2) takes the factor
        sqrt(2 pi z) exp(-z) I_((m-1)/2)(z) with z = pi (pi - x) / (|alpha|² t), whose own part of a_1, a pole at
        x = pi, is left out of a_1. The slightly smaller z of the code has the next pole, of the t² term, right as well.
        """
        log = -self.manifold.dim / 2 * math.log(2 * math.pi * time)
        log = log - np.sum(theta**2, axis=-1) * self.manifold.roots.unit**2 / (2 * time)
        if not len(self.alpha):
            return log, np.ones(log.shape)
        rho, k = self.potential
        m = self.multiplicity
        x = np.abs(theta @ self.alpha.T)
        own = (x < math.pi - 1e-9).all(axis=-1)
        # Beyond the conjugate point only the size matters; within 1e-4 of a pole its neighbourhood does.
        y = np.clip(np.where(x > math.pi, np.maximum(2 * math.pi - x, 0.3), x), 1e-4, math.pi - 1e-4)
        gap = math.pi - y
        scale = math.pi / (self.squares * time) / (1 + self.on_line * self.squares * time / (2 * math.pi**2))
        z = scale * gap
        log = log + np.log(np.maximum(x, y) * z / np.sin(y)) @ (m / 2) + np.sum(_log_bessel((m - 1) / 2, z), axis=-1)
        g = (1 / y - 1 / np.tan(y)) / y @ k
        pole = 1 / (math.pi * gap) @ (self.squares * m * (m - 2) / 8)
        return log + time * (rho - g + pole), own


def _potential_mean(x: np.ndarray) -> np.ndarray:
    """g(x) = (1/x - cot x)/x for 0 <= x <= 3: where it cancels, by its series of 2 zeta(2k) x^(2k-2) / pi^(2k)."""
    coefficients = [2 * float(zeta(2 * k)) / math.pi ** (2 * k) for k in range(1, 14)]
    y = np.clip(x, 0.5, None)
    return np.where(x < 0.5, np.polynomial.polynomial.polyval(x * x, coefficients), (1 / y - 1 / np.tan(y)) / y)


def _bessel_series(mu: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sqrt(2 pi z) exp(-z) I(z) - 1 of order √mu/2 at u = 1/8z, and its derivative in u; four terms."""
    coefficient, total, rise = np.ones(mu.shape), np.zeros(u.shape), np.zeros(u.shape)
    for k in range(1, 5):
        coefficient = coefficient * ((2 * k - 1) ** 2 - mu) / k
        total, rise = total + coefficient * u**k, rise + k * coefficient * u ** (k - 1)
    return total, rise


def _log_bessel(order: np.ndarray, z: np.ndarray) -> np.ndarray:
    """log of sqrt(2 pi) z^-order exp(-z) I_order(z), z > 0; beyond 1e6 by two terms of its asymptotic series."""
    scaled = np.log(ive(order, np.minimum(z, 1e6))) + math.log(2 * math.pi) / 2
    return np.where(z < 1e6, scaled, -np.log(z) / 2 - (order**2 - 0.25) / (2 * z)) - order * np.log(z)
