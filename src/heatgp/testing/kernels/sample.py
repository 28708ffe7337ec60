"""What the properties of kernels share: points, times, and ways to say what is wrong."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...array import Array
from ...errors import InvalidInput, Unsupported
from ...heat.kernel import HeatKernel
from ...manifolds import Manifold
from ..sample import SIGMAS, Sample

PEAKS = (64.0, 8.0, 1.0)
"""Peaks of the kernel, in units of the uniform density, at the times that are checked."""

INSIGNIFICANT = 1e-5
"""The part of a stated error that digits need not show: orbit coordinates near zero have half the digits of others."""


@dataclass(frozen=True)
class KernelSample:
    """A kernel with the times and points at which its properties are checked."""

    kernel: HeatKernel
    rng: np.random.Generator
    draws: int
    tolerance: float
    reproducible: bool

    @property
    def manifold(self) -> Manifold:
        return self.kernel.manifold

    @cached_property
    def geometry(self) -> Sample:
        """The manifold's own sample: its random points and tangent vectors."""
        return Sample(self.manifold, self.rng, self.tolerance)

    @cached_property
    def x(self) -> np.ndarray:
        return self.manifold.random(self.rng, 5)

    def around(self, x: Array, length: float) -> np.ndarray:
        """A point near each x: a geodesic step with this standard deviation in every direction."""
        return np.asarray(self.geometry.exp(x, length * self.geometry.tangents(x, len(x))))

    def near_and_far(self, time: float) -> np.ndarray:
        """The points x themselves, points where Brownian motion from them is after this time, and any points."""
        steps = [self.around(self.x, share * math.sqrt(time)) for share in (0.3, 1.0)]
        return np.concatenate([self.x[:2], *steps, self.manifold.random(self.rng, 3)])

    @cached_property
    def times(self) -> list[float]:
        """Times at which the kernel's peak is 64, 8 and once the uniform density, as far as the kernel allows them.

        Where its shortest time is later, three times from there on, which a table of times must interpolate.
        """
        found = self.allowed([peak_time(self.manifold, peak) for peak in PEAKS])
        low = self.kernel.times[0]
        return found if len(found) > 1 or low == 0 else self.allowed([1.02 * low, 1.7 * low, 2.4 * low])

    def allowed(self, times: list[float]) -> list[float]:
        """The times moved into the kernel's range, without repetitions and without those that it refuses."""
        low, high = self.kernel.times
        inside = dict.fromkeys(min(max(t, 1.02 * low), 0.98 * high) for t in times)
        return [t for t in inside if self.accepts(t)]

    def accepts(self, time: float) -> bool:
        """Whether the kernel, and each factor of a product with a time of its own, can be asked for this time."""
        try:
            self.kernel(self.x[:1], time=self.given(time))
        except InvalidInput:
            return False
        return True

    def given(self, time: float) -> Any:
        """The time as the kernel takes it: repeated for each factor where a product has several."""
        return time if self.kernel.parameters == 1 else (time,) * self.kernel.parameters

    def values(self, X: Array, Y: Array | None, time: float) -> np.ndarray:
        return self.kernel(X, Y, time=self.given(time))

    def error(self, X: Array, Y: Array | None, time: float) -> np.ndarray:
        return self.kernel.standard_error(X, Y, time=self.given(time))

    def largest(self, time: float) -> float:
        """The largest value between a few points, themselves included."""
        if time not in self._largest:
            self._largest[time] = float(np.abs(self.values(self.x, None, time)).max()) or 1.0
        return self._largest[time]

    @cached_property
    def _largest(self) -> dict[float, float]:
        return {}

    def differ(
        self, what: str, found: Array, expected: Array, time: float, error: Callable[[], Array]
    ) -> Iterator[str]:
        """A problem when two calls for the same pairs differ by more than rounding.

        Digits far below the standard error of a pair, which `error` computes, mean nothing either; nor does anything
        within it where each call has a simulation of its own.
        """
        rounding = self.tolerance * self.largest(time)
        if any(self.beyond(what, found, expected, rounding)):
            part = INSIGNIFICANT if self.reproducible else SIGMAS * math.sqrt(2)
            yield from self.beyond(what, found, expected, rounding + part * np.asarray(error()))

    def beyond(self, what: str, found: Array, expected: Array, limit: Array | float) -> Iterator[str]:
        """A problem when arrays differ in shape, or anywhere by more than the limit there, or are not finite."""
        found, expected = np.asarray(found), np.asarray(expected)
        if found.shape != expected.shape:
            yield f"{what}: shape {found.shape} instead of {expected.shape}"
            return
        gap, limit = np.abs(found - expected), np.broadcast_to(limit, found.shape)
        bad = ~(gap <= limit)
        if bad.any():
            worst = np.unravel_index(np.argmax(np.where(bad, gap / np.maximum(limit, 1e-300), -1)), gap.shape)
            values = f"{found[worst]:.6g} instead of {expected[worst]:.6g}"
            yield f"{what}: {values}, off by {gap[worst]:.2g} > {limit[worst]:.2g}"


def volume_of(manifold: Manifold) -> float:
    """The volume, infinite where the manifold does not know it."""
    try:
        return manifold.volume
    except Unsupported:
        return math.inf


def peak_time(manifold: Manifold, peak: float) -> float:
    """The time t with (2 pi t)^(-dim/2) = peak / volume; with a volume of one where that is not finite."""
    volume = volume_of(manifold)
    return ((volume if math.isfinite(volume) else 1.0) / peak) ** (2 / manifold.dim) / (2 * math.pi)
