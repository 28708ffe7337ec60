"""Integrals over a random time with a gamma law, which turn heat kernels into Matern kernels.

With a = smoothness + dim/2 the Matern kernel is the mean of p_(s time) over s with the law of Gamma(a) / smoothness:

    k(x, y) = integral over s > 0 of c s^(a-1) exp(-smoothness s) p_(s time)(x, y) ds.

In u = log(s time) the integrand is analytic for |Im u| < pi/2, and falls exponentially at both ends, so that the sum
over equal steps of u (the trapezoid rule) converges exponentially. All weights are positive. Steps are counted from
u = 0, whatever the time: the same heat kernels serve all times, and only the weights change.

Reference: Trefethen and Weideman (2014), SIAM Review 56, 385-458.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaincinv

from ...covariance import Evaluation
from ...errors import InvalidInput

FINE = 1e-10
"""Error of sums over times, in units of k(x, x), of functions of orbit coordinates."""
COARSE = 1e-6
"""The same of other kernels, each value of which is more work and has an error of its own."""
SHARED = 4.0
"""Smoothness up to which the steps of the sum are the same."""


@dataclass(frozen=True)
class GammaTimes:
    """Times and weights of the sum, whose error is some `tolerance` of k(x, x)."""

    smoothness: float
    dim: int
    tolerance: float
    decay: float = 0.0
    """The rate with which p_t(x, x) falls exponentially at long times."""

    @property
    def power(self) -> float:
        """a."""
        return self.smoothness + self.dim / 2

    @cached_property
    def step(self) -> float:
        """The step h of u, whose error is exp(-2 pi y / h) cos(y)^-a with any y; the best is tan y = 2 pi / (h a).

        cos(y)^-a is how much larger the integral over Im u = y can be: |p_t| at a complex time is at most p at its real
        part, on the diagonal. Up to the smoothness `SHARED` it is that of `SHARED`, so that the same heat kernels serve
        all of these.
        """
        power = max(self.smoothness, SHARED) + self.dim / 2

        def excess(h: float) -> float:
            y = math.atan2(2 * math.pi, h * power)
            return -2 * math.pi * y / h - power * math.log(math.cos(y)) - math.log(self.tolerance)

        return float(brentq(excess, 1e-9, 10.0, xtol=1e-12))

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The s between which the sum runs.

        But for `decay`, p_s on the diagonal is at least about s^(-dim/2) of p_1: what is left out below is its part of
        the mean of s^(-dim/2), the distribution function of Gamma(smoothness); what is left out above is at most its
        part of the mass.
        """
        low = gammaincinv(self.smoothness, self.tolerance)
        if low < 1e-290:  # the leading term of the distribution function, in logarithms
            low = math.exp((math.log(self.tolerance) + math.lgamma(self.smoothness + 1)) / self.smoothness)
        return float(low) / self.smoothness, float(gammainccinv(self.power, self.tolerance)) / self.smoothness

    def places(self, time: float) -> range:
        """The steps j that count at a time: the heat kernels are taken at the times exp(j step).

        exp(-decay t) shifts the mean towards shorter times, as if the rate of the gamma law were larger.
        """
        low, high = self.reach
        low *= self.smoothness / (self.smoothness + self.decay * time)
        return range(math.floor(math.log(low * time) / self.step), math.ceil(math.log(high * time) / self.step) + 1)

    def times(self, places: range) -> np.ndarray:
        return np.exp(self.step * np.array(places))

    def weights(self, time: float, places: range) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the weights, and their derivatives in the logarithm of the time.

        The weights are divided by their sum, which is one but for the tolerance: so the mass of the kernel is one.
        """
        s = self.times(places) / time
        rate, a = self.smoothness, self.power
        logs = a * np.log(rate * s / a) - (rate * s - a)  # the largest is about 0
        logs = logs - math.log(np.exp(logs).sum())
        change = rate * s - a
        return logs, change - np.exp(logs) @ change


def summed(
    law: GammaTimes,
    time: float,
    node: Callable[[float], Evaluation],
    shape: tuple[int, ...],
    parameters: int = 1,
    own: int = 0,
) -> Evaluation:
    """The mean over the law of evaluations at single times, of this shape; those of fewer columns are zero at the rest.

    `time` is that one of the parameters whose number is `own`; the others are given in units of it. The derivative of
    the mean in all log times together is that of the weights. With several parameters the evaluations have the
    derivatives in all but `own`, which is what remains. Errors at different times are of one simulation: at worst they
    add.
    """
    places = law.places(time)
    moments = law.times(places)
    logs, change = law.weights(time, places)
    logs = logs + np.array([node(t).log_scale for t in moments])
    scale = float(logs.max())
    weights = np.exp(logs - scale)
    known: list[np.ndarray] = []

    def total(read: Callable[[Evaluation], np.ndarray]) -> np.ndarray:
        out = np.zeros(shape)
        for t, weight in zip(moments, weights):
            part = read(node(t))
            out[..., : part.shape[-1]] += weight * part
        return out

    def slopes() -> np.ndarray:
        """The slopes, and the values, which come with them."""
        value, whole, others = np.zeros(shape), np.zeros(shape), np.zeros((parameters - 1, *shape))
        for t, weight, rate in zip(moments, weights, change):
            found = node(t)
            part = weight * found.relative_value
            count = part.shape[-1]
            value[..., :count] += part
            whole[..., :count] += rate * part
            if parameters > 1:
                others[..., :count] += weight * found.relative_slopes
        known.append(value)
        return np.insert(others, own, whole - others.sum(axis=0), axis=0)

    def value() -> np.ndarray:
        return known[0] if known else total(lambda e: e.relative_value)

    result = Evaluation(
        value,
        slopes,
        lambda: total(lambda e: e.relative_error),
        scale,
        lambda: resolved_log(result.relative_value, float(weights.sum()), law.tolerance),
    )
    return result


def resolved_log(values: np.ndarray, largest: float, tolerance: float) -> np.ndarray:
    """The logarithm of values right to `tolerance` of the largest, or InvalidInput where that leaves no four digits."""
    least = 1e4 * tolerance
    if (values < least * largest).any():
        raise InvalidInput(
            f"a value of the Matern kernel is {values.min(initial=0.0) / largest:.1e} of the largest one; below "
            f"{least:g} of it there are no four digits. Ask for its logarithm at a longer time, or for closer points."
        )
    return np.log(values)
