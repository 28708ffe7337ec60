"""Logarithms of the heat kernels of rank one at any distance, to the last digit.

The series of Jacobi polynomials has terms of both signs: far from the diagonal, where p_t is below rounding of its
peak, nothing is left of it. But there is a sum of positive terms. With y = cos²(speed r / 2), nu = alpha + beta + 1 and
T = speed² t,

    volume p_t = sum_m q_m(T) (nu + 1)_m / (beta + 1)_m y^m,

where q_m is the probability that a process that starts at infinity and falls from k to k - 1 at the rate
k (k + nu) / 2 is at m after the time T. Its Laplace transform in T is a product of those of exponential waiting times,

    2 Γ(m + nu/2 + kappa) Γ(m + nu/2 - kappa) / (Γ(m + 1) Γ(m + 1 + nu)),   kappa² = nu²/4 - 2s,

which is inverted along a line through its saddle point: no digits cancel there.

Reference: Griffiths (1979), Adv. Appl. Probab. 11, 310-325; Ethier and Griffiths (1993), "The transition function of a
Fleming-Viot process"; Daniels (1954) for saddle points.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import digamma, ive, loggamma

WIDTHS = 9.0
"""Standard deviations after which the terms of a sum are below rounding: exp(-40)."""
ALIASED = 45.0
"""exp(-45) is the part of the result that the step of the inversion may add, and that terms left out may have."""
MANY = 150.0
"""Terms m up to here are summed one by one; beyond, where they vary slowly, in steps of half a standard deviation."""
STIRLING = 12.0
"""|z| from which Stirling's series to z^-13 is right to 1e-17."""
LARGE = 1e3
"""The same for saddles, which need four digits, by the first terms of the series."""
SHORTEST = 1e-8
"""T (nu + 4) below which the leading terms of the short-time expansion are right to 1e-12 of the logarithm."""
CHUNK = 4096
"""Distances at once."""
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@dataclass(frozen=True)
class FarLog:
    """log(volume p_t) of the space of rank one with these parameters, at one time."""

    alpha: float
    beta: float
    speed: int
    time: float

    def __call__(self, r: np.ndarray) -> np.ndarray:
        """At distances r of any shape; at 0 and near it the series is better."""
        distinct, place = np.unique(np.asarray(r, dtype=float), return_inverse=True)
        parts = [self._at(distinct[i : i + CHUNK]) for i in range(0, len(distinct), CHUNK)]
        return np.concatenate([np.empty(0), *parts])[place].reshape(np.shape(r))

    @property
    def nu(self) -> float:
        return self.alpha + self.beta + 1

    @property
    def period(self) -> float:
        """T."""
        return self.speed**2 * self.time

    def _at(self, r: np.ndarray) -> np.ndarray:
        if self.period * (self.nu + 4) < SHORTEST:
            return self._leading(r)
        phi = self.speed * r / 2
        # log cos² by the complement where it is small: at the far end y is 0, and the term m = 0 is all
        far = np.cos(phi) ** 2
        with np.errstate(divide="ignore"):
            log_y = np.where(phi < 0.7, np.log1p(-(np.sin(phi) ** 2)), np.log(far))
        m, decay, spread = self._saddles
        place = np.log(np.maximum(-log_y, 1e-300))
        depth, width = (np.exp(np.interp(place, np.log(decay), np.log(x))) for x in (1 - m / self._last, spread))
        middle = self._last * (1 - depth)
        out = np.empty(len(r))
        few = (middle < MANY) | (middle < WIDTHS * width)
        if few.any():
            out[few] = self._one_by_one(log_y[few])
        if not few.all():
            out[~few] = self._in_steps(log_y[~few], middle[~few], width[~few])
        return out

    def _in_steps(self, log_y: np.ndarray, middle: np.ndarray, width: np.ndarray) -> np.ndarray:
        """The sum as an integral over m, around its largest term, which is near `middle`."""
        for _ in range(3):  # Newton's method
            middle = middle + width**2 * (self._decay(middle, self._rate(middle)) + log_y)
        reach = WIDTHS * width
        before, rate, after = (self._rate(middle + shift) for shift in (-reach, 0.0, reach))
        x = np.linspace(-1, 1, int(4 * WIDTHS) + 1)
        rates = rate[:, None] + np.outer(after - before, x) / 2 + np.outer(after + before - 2 * rate, x**2) / 2
        m = middle[:, None] + np.outer(reach, x)
        logs = self._log_weight(m, rates, self._width(middle, rate)[:, None]) + m * log_y[:, None]
        return _log_sum(logs) + np.log(width / 2)

    def _leading(self, r: np.ndarray) -> np.ndarray:
        """The short-time expansion to first order, with the Bessel function that joins the two geodesics at the end.

        x is half of the difference of both exponents. From x = 1000 on the Bessel function is its own expansion.
        """
        a, b, t = self.alpha + 0.5, self.beta + 0.5, self.time
        phi = np.maximum(self.speed * r / 2, 1e-150)
        rest = np.maximum(math.pi / self.speed - r, 1e-150)
        x = math.pi / self.speed * rest / t
        joined = np.where(x < 1e3, np.log(ive(self.beta, np.minimum(x, 1e3))) + 0.5 * np.log(2 * math.pi * x), 0.0)
        powers = a * np.log(phi / np.sin(phi)) - b * np.log(np.sin(self.speed * rest / 2)) + joined
        odd = np.where(phi < 1e-2, phi / 3 + phi**3 / 45, 1 / phi - 1 / np.tan(phi))
        slope = a * (a - 1) * (odd - phi) + b * (b - 1) * (np.tan(phi) - phi) - (2 * a * b + a + b) * phi
        first = np.where(x < 1e3, 0.0, -(self.speed**2) / (8 * phi) * slope * t)
        log_volume = (self.alpha + 1) * math.log(4 * math.pi / self.speed**2)
        log_volume += math.lgamma(self.beta + 1) - math.lgamma(self.nu + 1)
        return log_volume - (self.alpha + 1) * math.log(2 * math.pi * t) - r**2 / (2 * t) + powers + first

    def _one_by_one(self, log_y: np.ndarray) -> np.ndarray:
        """The sum over m = 0, 1, .. until the terms vanish at the nearest distance."""
        terms = 32
        while True:
            terms *= 2
            m = np.arange(terms)
            rate = self._rate(m)
            weight = self._log_weight(m, rate, self._width(m, rate))
            logs = weight + np.concatenate([np.zeros((len(log_y), 1)), log_y[:, None] * m[1:]], axis=1)
            if (logs[:, -1] < logs.max(axis=1) - ALIASED).all():
                return _log_sum(logs)

    @cached_property
    def _saddles(self) -> tuple[np.ndarray, ...]:
        """On a grid of m: m, -log y of the distance at which its term is the largest, and the width of the terms there.

        It is dense at the diagonal, where m comes to its end `last` like the square of the distance.
        """
        depth = np.geomspace(1e-3 * self.period, 0.9, 300)
        m = np.append(self._last * (1 - depth), np.geomspace(0.1 * self._last, 1e-2, 100)[1:])
        decay = np.maximum(self._decay(m, self._rate(m)), 1e-300)
        spread = np.sqrt(np.maximum(-np.gradient(m) / np.maximum(np.gradient(decay), 1e-300), 1e-2))
        return m, decay, spread

    @cached_property
    def _last(self) -> float:
        """The m whose term is the largest on the diagonal, by secants; at least one."""

        def decay(m: np.ndarray) -> np.ndarray:
            return self._decay(m, self._rate(m))

        m = np.geomspace(1.0, 4 / self.period + 10, 100)
        while decay(m[-1:])[0] > 0:
            m = m * 2
        after = max(int(np.argmax(decay(m) <= 0)), 1)
        low, high = m[after - 1 : after], m[after : after + 1]
        for _ in range(12):
            at_low, at_high = decay(low), decay(high)
            if at_low == at_high or abs(high - low)[0] < 1e-14 * high[0]:
                break
            low, high = high, np.maximum(high - at_high * (high - low) / (at_high - at_low), 1.0)
        return float(high[0])

    def _width(self, m: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """The standard deviation of the time at a saddle."""
        later, sooner = self._mean_time(m, rate * (1 - 1e-4)), self._mean_time(m, rate * (1 + 1e-4))
        return np.sqrt(np.abs(later - sooner) / (2e-4 * rate))

    def _arguments(self, m: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """m + nu/2 ± kappa, where rate = s + m (m + nu) / 2 is half their product."""
        a = m + self.nu / 2
        first = a + np.sqrt(np.asarray(a * a - 2 * rate, dtype=complex))
        return first, 2 * rate / first

    def _decay(self, m: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """-log y of the distance at which the term m is the largest: the derivative of the log transform in m."""
        first, second = self._arguments(m, rate)
        b = m + 1
        exact = (digamma(first) + digamma(second)).real - digamma(b) - digamma(b + self.beta)
        large = np.log(2 * rate / (b * (b + self.beta))) - (m + self.nu / 2) / (2 * rate)
        large += 0.5 / b + 0.5 / (b + self.beta)
        return np.where(second.real > LARGE, large, exact)

    def _mean_time(self, m: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """The mean of the waiting times, tilted by s: minus the derivative of the log transform in s."""
        first, second = self._arguments(m, rate)
        a, kappa = m + self.nu / 2, (first - second) / 2
        kappa = np.where(np.abs(kappa) < 1e-8 * np.abs(first), 1e-8 * np.abs(first), kappa)
        exact = (digamma(first) - digamma(second)) / kappa
        large = second.real > LARGE
        with np.errstate(divide="ignore", invalid="ignore"):
            stirling = 2 * np.arctanh(kappa / a) / kappa + 0.5 / rate + a / (12 * rate**2)
        return np.where(large, stirling, exact).real

    def _rate(self, m: np.ndarray) -> np.ndarray:
        """s + m (m + nu) / 2 of the saddle: where the mean time is T. By bisection of its logarithm."""
        low = np.full(m.shape, 0.5 / self.period)
        high = 8 * (math.pi**2 / (2 * self.period**2) + (m + self.nu / 2) ** 2 + 1)
        for _ in range(60):
            middle = np.sqrt(low * high)
            late = self._mean_time(m, middle) > self.period
            low, high = np.where(late, middle, low), np.where(late, high, middle)
        return np.sqrt(low * high)

    def _log_weight(self, m: np.ndarray, rate: np.ndarray, width: np.ndarray) -> np.ndarray:
        """log(q_m (nu + 1)_m / (beta + 1)_m), m real: the sum over equal steps u on a parabola through the saddle.

        s = -m (m + nu) / 2 + rate (1 + iu)² leaves all poles to its left, the first at u = i. The step is a part of the
        distance to it, and of the width of the integrand.
        """
        s = rate - m * (m + self.nu) / 2
        step = np.minimum(2 * math.pi / ALIASED, math.pi * math.sqrt(2 / ALIASED) / (2 * rate * width))
        origin = self._log_transform(m, s.astype(complex)).real
        total, number = np.full(m.shape, 0.5), 0
        while True:
            number += 1
            u = number * step
            shift = rate * (2j * u - u * u)
            term = np.exp(self._log_transform(m, s + shift) - origin + shift * self.period) * (1 + 1j * u)
            total += term.real
            if np.abs(term).max() < 1e-17:
                return origin + s * self.period + np.log(total * step * (2 * rate / math.pi))

    def _log_transform(self, m: np.ndarray, s: np.ndarray) -> np.ndarray:
        """log of 2 Γ(m + nu/2 + kappa) Γ(m + nu/2 - kappa) / (Γ(m + 1) Γ(m + beta + 1)) Γ(beta + 1) / Γ(nu + 1)."""
        m = np.broadcast_to(m, s.shape)
        first, second = self._arguments(m, s + m * (m + self.nu) / 2)
        large = (second.real > STIRLING) & (m > STIRLING)
        out = np.empty(s.shape, dtype=complex)
        small = ~large
        gammas = loggamma(first[small]) + loggamma(second[small])
        out[small] = gammas - loggamma(m[small] + 1) - loggamma(m[small] + self.beta + 1)
        out[large] = self._by_stirling(m[large], s[large])
        return out + (math.log(2) + math.lgamma(self.beta + 1) - math.lgamma(self.nu + 1))

    def _by_stirling(self, m: np.ndarray, s: np.ndarray) -> np.ndarray:
        """The same by Stirling's series, with the large parts, which cancel, taken out: b log b with b = m + 1."""
        a, b, square = m + self.nu / 2, m + 1, self.nu**2 / 4 - 2 * s
        kappa = np.sqrt(square)
        u = ((self.nu - 2) * b + (self.nu / 2 - 1) ** 2 - square) / b**2
        log_product = 0.5 * np.log1p(2 * u.real + np.abs(u) ** 2) + 1j * np.arctan2(u.imag, 1 + u.real)
        main = (self.alpha - 1) * (np.log(b) - 1) + (a - 0.5) * log_product + 2 * kappa * np.arctanh(kappa / a)
        main -= (b + self.beta - 0.5) * np.log1p(self.beta / b)
        return main + _correction(a + kappa) + _correction(a - kappa) - _correction(b) - _correction(b + self.beta)


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """The logarithm of the sum over the last axis."""
    largest = logs.max(axis=-1)
    return largest + np.log(np.exp(logs - largest[..., None]).sum(axis=-1))


def _correction(z: np.ndarray) -> np.ndarray:
    """log Γ(z) - (z - 1/2) log z + z - log(2π)/2, for large z."""
    inverse, out = 1 / z, np.zeros_like(z)
    for coefficient in reversed(_SERIES):
        out = out * inverse**2 + coefficient
    return out * inverse
