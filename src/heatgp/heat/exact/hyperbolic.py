"""Heat kernels of hyperbolic spaces H^n, by sums and integrals of positive terms: no digits cancel at any distance.

Odd n = 2m + 1. With u = cosh r,

    p_t(r) = exp(-m² t/2) (2 pi)^-m (-d/du)^m (2 pi t)^(-1/2) exp(-r²/2t).

Since r / sinh r is the integral of 1 / (s² + 2us + 1) over s > 0, its derivatives F_k = (-d/du)^k (r / sinh r) are all
positive, and

    (u² - 1) F_(k+1) = (2k + 1) u F_k - k² F_(k-1).

The derivatives of the exponential are polynomials in the F_k with positive coefficients (Bell's).

Even n, from the odd dimension above: with cosh(s/2) = cosh(r/2) cosh(y), the sides of a right triangle,

    p_t^n(r) = 2 exp((2n - 1) t/8) cosh(r/2) times the integral over all y of p_t^(n+1)(s) cosh(y) dy.

The integrand is positive, analytic for |Im y| < pi/2, and falls like a normal density: the sum over equal steps of y
(the trapezoid rule) converges exponentially.

Reference: Grigor'yan and Noguchi (1998), Bull. London Math. Soc. 30, 643-650; Davies and Mandouvalos (1988), Proc.
London Math. Soc. 57, 182-208; Trefethen and Weideman (2014), SIAM Review 56, 385-458.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct
from scipy.optimize import brentq

from ...array import Array, log_sinhc
from ..kernel import Profile, Slice, no_error
from ..special.cubic_table import CubicTable, read_cubic

NEGLIGIBLE = 42.0
"""exp(-42) is below the rounding of p_t(x, x), also if something is 100 times as large."""
FAR = 2.5
"""Distance up to which ratios of the F_k are computed from large k down, and beyond which from k = 1 up; at least."""
GROWTH = 30.0
"""What errors may grow by on the way up."""
STEP = 0.5
"""Step of y in widths of the integrand; the error of the sum is exp(-40) at 0.7."""
LONGEST_STEP = 0.2
"""The same in units of y: the integrand is analytic up to pi/2 only."""
CHUNK = 1 << 12
"""Distances at once."""
ROUNDING = 8e-15
"""Chebyshev coefficients below this are rounding errors."""
MOST = 2048
"""Nodes of a series at most."""
WIDTHS = 10
"""Widths of the kernel for which one `CubicTable` has the intervals of rounding errors."""


@dataclass(frozen=True)
class HyperbolicProfile(Profile):
    """H^dim of curvature -1; theta is the distance r."""

    dim: int

    @property
    def reach(self) -> float:
        return reach(self.dim, math.inf)

    def prepare(self, time: float) -> Slice:
        p = HyperbolicSeries(self.dim, float(time))
        return Slice(p.value, p.slope, no_error, p.log_scale, p.log, p.gradient)

    def few(self, time: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Without a table, which would be more work."""
        p = HyperbolicSeries(self.dim, float(time))
        return p.without_table(theta), no_error(theta), p.log_scale

    def tabulated(self, time: float) -> tuple[Any, Any, float]:
        p = HyperbolicSeries(self.dim, float(time))
        return p.tables[0].numbers, p.tables[1].slope_numbers(time), p.log_scale

    def read_table(self, numbers: Any, theta: Array) -> Array:
        return read_cubic(numbers, theta[..., 0])


@dataclass(frozen=True)
class HyperbolicSeries:
    """p_t / p_t(0) as a function of theta (..., 1), for one t; p_t(0) is exp(log_scale)."""

    dim: int
    time: float

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self.tables[0](np.asarray(theta)[..., 0])

    def slope(self, theta: np.ndarray) -> np.ndarray:
        """The derivative of p_t in t, over p_t(0)."""
        return self.tables[1](np.asarray(theta)[..., 0])

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """The derivative in theta."""
        return self.tables[0].derivative(theta)

    def log(self, theta: np.ndarray) -> np.ndarray:
        """The logarithm of the ratio at any distance."""
        r = np.asarray(theta, dtype=float)[..., 0]
        distinct, place = np.unique(r, return_inverse=True)
        parts = [self._smooth(distinct[i : i + CHUNK])[0] for i in range(0, len(distinct), CHUNK)]
        logs = np.concatenate([np.empty(0), *parts]) - self._height - distinct**2 / (2 * self.time)
        return logs[place].reshape(r.shape)

    @cached_property
    def log_scale(self) -> float:
        power = self.dim // 2 + 0.5
        return self._height + self._growth * self.time - power * math.log(2 * math.pi * self.time)

    @property
    def _growth(self) -> float:
        """The constant c of the factor exp(ct)."""
        m = self.dim // 2
        return -m * m / 2 if self.dim % 2 else (4 * m - 1) / 8 - m * m / 2

    def _smooth(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p_t + r²/2t without what does not depend on r, and its derivative in log t."""
        return (odd if self.dim % 2 else even)(self.dim // 2, r, self.time)

    @cached_property
    def _height(self) -> float:
        """The former at r = 0."""
        return float(self._smooth(np.zeros(1))[0][0])

    @cached_property
    def tables(self) -> tuple[CubicTable, CubicTable]:
        """The ratio and its slope in time, tabulated as far as they are above rounding."""
        n, t, end = self.dim, self.time, self.end
        width = 1 / math.sqrt(1 / t + (n - 1) / 6)
        r = np.linspace(0.0, end, CubicTable.INTERVALS * math.ceil(end / (WIDTHS * width)) + 1)
        place, inner = 2 * (r / end) ** 2 - 1, 4 * r / end**2
        log, rate = chebyshev.chebval(place, self.series)
        log_rise, rate_rise = inner * chebyshev.chebval(place, chebyshev.chebder(self.series))
        log_rise = log_rise - r / t - (n - 1) / 2 * langevin(r)
        rate = rate + r**2 / (2 * t) + self._growth * t - (n // 2 + 0.5)
        p = np.exp(log + self._leading(r))
        slope_rise = p * (rate * log_rise + rate_rise + r / t)
        return CubicTable(end, p, p * log_rise, 0.0), CubicTable(end, p * rate / t, slope_rise / t, 0.0)

    def without_table(self, theta: np.ndarray) -> np.ndarray:
        """p_t / p_t(0) at coordinates of which a table would be more work."""
        r = np.asarray(theta, dtype=float)[..., 0]
        inside = np.minimum(r, self.end)
        log = chebyshev.chebval(2 * (inside / self.end) ** 2 - 1, self.series[:, 0]) + self._leading(inside)
        return np.where(r > self.end, 0.0, np.exp(log))

    @property
    def end(self) -> float:
        """The distance beyond which p_t is zero up to rounding."""
        return reach(self.dim, self.time)

    def _leading(self, r: np.ndarray) -> np.ndarray:
        """The logarithm of the leading term of the short-time expansion, over its value at r = 0."""
        return -(r**2) / (2 * self.time) - (self.dim - 1) / 2 * log_sinhc(r)

    @cached_property
    def series(self) -> np.ndarray:
        """Chebyshev coefficients (terms, 2) of log p_t / p_t(0) over its leading term, and of its derivative in log t.

        Both are smooth functions of r²; the variable is 2 (r/end)² - 1.
        """
        nodes = 16
        while True:
            nodes *= 2
            r = self.end * np.sqrt((1 + chebyshev.chebpts1(nodes)) / 2)
            log, rate = self._smooth(r)
            series = coefficients(np.stack([log - self._height + (self.dim - 1) / 2 * log_sinhc(r), rate], axis=1))
            size = max(10.0, np.abs(log).max(), self.dim / 2 * self.end) / 10  # of what is added up in logarithms
            above = np.flatnonzero(np.abs(series).max(axis=1) > ROUNDING * size)
            terms = above[-1] + 1 if above.size else 1
            if terms < 0.9 * nodes or nodes >= MOST:
                return series[:terms]


def reach(n: int, time: float) -> float:
    """The distance beyond which p_t is below rounding, by its leading short-time term; at all times where t is inf.

    That term is (r / sinh r)^((n - 1)/2) exp(-r²/2t). On H² p_t is larger by the root of r at long times.
    """
    unit = min(math.sqrt(time), 10.0)

    def excess(x: float) -> float:
        r = x * unit
        return r**2 / (2 * time) + (n - 1) / 2 * float(log_sinhc(np.array(r))) - NEGLIGIBLE

    return unit * float(brentq(excess, 0.0, 10.0))


def coefficients(values: np.ndarray) -> np.ndarray:
    """Chebyshev coefficients of functions from their values (nodes, functions) at `chebpts1`."""
    found = dct(values[::-1], axis=0) / len(values)
    found[0] /= 2
    return found


def odd(m: int, r: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """log of (2 pi t)^(m + 1/2) exp(m² t/2 + r²/2t) p_t of H^(2m+1), and its derivative in log t.

    With e_j = (t u)^j times the j-th derivative of the exponential, over j! and the exponential, Bell's recurrence is
    j e_j = Σ i b_i e_(j-i), where b_i = u^i F_(i-1) t^(i-1) / i!. At long times both are divided by t^i, t^j.
    """
    unit = max(time, 1.0)
    b = [r_coth(r) / unit]
    for i, ratio in enumerate(ratios(m - 1, r), 1):
        b.append(b[-1] * ratio * (time / unit / (i + 1)))
    e, slope = [np.ones_like(r)], [np.zeros_like(r)]  # slopes are derivatives in log t
    for j in range(1, m + 1):
        e.append(sum(i * b[i - 1] * e[j - i] for i in range(1, j + 1)) / j)
        slope.append(sum(i * b[i - 1] * ((i - 1) * e[j - i] + slope[j - i]) for i in range(1, j + 1)) / j)
    return np.log(e[m]) - m * log_cosh(r) + (math.lgamma(m + 1) + m * math.log(unit)), slope[m] / e[m]


def ratios(number: int, r: np.ndarray) -> np.ndarray:
    """u F_k / F_(k-1) for k = 1 .. number, (number, ...).

    The other solution of the recurrence grows faster by tanh(r/2)^-2 in each step: near r = 0 only the way from large k
    down is stable, and far from it the way up is. Between them errors of the way up grow to `GROWTH` of rounding.
    """
    out = np.empty((number, *r.shape))
    far = max(FAR, 2 * math.atanh(GROWTH ** (-0.5 / max(number, 1))))
    back = math.ceil(NEGLIGIBLE / -math.log(math.tanh(far / 2) ** 2))
    near = r < far
    square = np.tanh(r[near]) ** 2
    ratio = (number + back + 1) / (1 + 1 / np.cosh(r[near]))  # k u / (u + 1): the limit for large k
    for k in range(number + back, 0, -1):
        ratio = k * k / (2 * k + 1 - square * ratio)
        if k <= number:
            out[k - 1, near] = ratio
    coth = 1 / np.tanh(r[~near])
    ratio = coth * (coth - 1 / r[~near])
    for k in range(1, number + 1):
        out[k - 1, ~near] = ratio
        ratio = coth**2 * (2 * k + 1 - k * k / ratio)
    return out


def even(m: int, r: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    """log of (2 pi t)^(m + 1/2) exp(m² t/2 - (4m - 1) t/8 + r²/2t) p_t of H^(2m), and its derivative in log t."""
    width = 1 / np.sqrt(2 * m + 1 + 4 * r_coth(r / 2) / time)
    step = np.minimum(STEP * width, LONGEST_STEP)
    farthest = np.sqrt(r**2 + 2 * NEGLIGIBLE * time)
    ratio = np.clip(log_cosh(farthest / 2) - log_cosh(r / 2), 0.0, 2 * NEGLIGIBLE)  # log cosh of y there
    end = np.minimum(np.arccosh(np.exp(ratio)), 2 + NEGLIGIBLE / (2 * m - 1))  # it falls like exp(-(2m - 1) y) at least
    y = step * np.arange(math.ceil(float(np.max(end / step, initial=0.0))) + 1)[:, None]
    s = 2 * np.arcsinh(np.hypot(np.sinh(r / 2), np.cosh(r / 2) * np.sinh(y)))
    log, slope = odd(m, s, time)
    gap = (s - r) * (s + r) / (2 * time)
    log = log - gap + log_cosh(y)
    largest = log.max(axis=0)
    terms = np.exp(log - largest)
    terms[0] /= 2
    total = terms.sum(axis=0)
    return largest + np.log(4 * step * total) + log_cosh(r / 2), (terms * (slope + gap)).sum(axis=0) / total


def log_cosh(x: np.ndarray) -> np.ndarray:
    """log cosh x of x >= 0, which does not overflow."""
    return x + np.log1p(np.exp(-2 * x)) - math.log(2)


def r_coth(r: np.ndarray) -> np.ndarray:
    """r coth r, 1 at 0."""
    safe = np.where(r > 0, r, 1.0)
    return np.where(r > 0, safe / np.tanh(safe), 1.0)


def langevin(x: np.ndarray) -> np.ndarray:
    """coth x - 1/x, the derivative of `log_sinhc`."""
    small = x < 1e-2
    safe = np.where(small, 1.0, x)
    return np.where(small, x / 3 - x**3 / 45, 1 / np.tanh(safe) - 1 / safe)
