"""Manifolds with all distances multiplied by a number."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, final

from ...arguments import is_number
from ...array import Array
from ..checks import require, unchecked
from ..contract import Cover, Manifold
from ..roots import as_volume
from .wrapper import Wrapper

SCALES = 1e50
"""Scales up to this, and their inverses, have squares that times and distances can hold."""


def times_scale(power: int, name: str) -> Any:
    """The member of this name of the base, a number or a function of points, times scale^power."""

    def member(self: Scaled) -> Any:
        def scaled(value: Any) -> Any:
            return self.scale**power * value if power > 0 else value / self.scale**-power

        value = attrgetter(name)(self.base)
        return (lambda *points, **named: scaled(value(*points, **named))) if callable(value) else scaled(value)

    return property(member)


@final
@dataclass(frozen=True, repr=False)
class Scaled(Wrapper):
    """A manifold M with all distances multiplied by `scale`: p_t becomes scale^-dim p_(t/scale²).

    Points, tangent vectors and geodesics are those of M; the norm of a tangent vector is `scale` times its norm in M.
    Heat kernels use the orbit coordinates of M.

    Parameters
    ----------
    base : Manifold
        The manifold M.
    scale : float
        Positive and finite.

    Examples
    --------
    >>> from heatgp import SpecialOrthogonal
    >>> trace_metric = Scaled(SpecialOrthogonal(3), 2**0.5)  # tr(X'Y) instead of tr(X'Y)/2
    >>> round(trace_metric.volume / SpecialOrthogonal(3).volume, 6)  # 2^(3/2)
    2.828427
    """

    base: Manifold
    scale: float

    def __post_init__(self) -> None:
        require(isinstance(self.base, Manifold), f"Scaled needs a manifold; got {self.base!r}.")
        valid = is_number(self.scale) and 1 / SCALES < self.scale < SCALES
        require(valid, f"Scaled needs a positive scale between {1 / SCALES:g} and {SCALES:g}; got {self.scale!r}.")

    noise = times_scale(-1, "noise")
    metric = times_scale(2, "metric")
    tangent_basis = times_scale(-1, "tangent_basis")
    separation = times_scale(2, "separation")
    rough_separation = times_scale(2, "rough_separation")
    embed = times_scale(1, "embed")
    scalar_curvature = times_scale(-2, "scalar_curvature")
    decay = times_scale(-2, "decay")
    farthest = times_scale(1, "farthest")
    step_limit = times_scale(2, "step_limit")
    curvature_step_limit = times_scale(2, "curvature_step_limit")
    channel_width = times_scale(1, "channel_width")

    @property
    def volume(self) -> float:
        growth = self.dim * math.log(self.scale)
        return as_volume(self, math.log(self.base.volume) + growth) if growth else self.base.volume

    def gradient(self, x: Array, slope: Array) -> Array:
        return unchecked(self.base.gradient)(x, slope) / self.scale**2

    def distance(self, x: Array, y: Array) -> Array:
        return self.scale * unchecked(self.base.distance)(x, y)

    def within(self, x: Array, y: Array, radius: float) -> Array:
        return self.base.within(x, y, radius / self.scale)

    def step(self, x: Array, z: Array, time: float) -> Array:
        return self.base.step(x, z, time / self.scale**2)

    @property
    def covering(self) -> Cover | None:
        cover = self.base.covering
        return cover and replace(cover, scale=self.scale * cover.scale)
