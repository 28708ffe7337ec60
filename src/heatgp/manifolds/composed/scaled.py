"""Manifolds with all distances multiplied by a number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from ...array import Array
from ..checks import require
from ..contract import Cover, Manifold
from .wrapper import Wrapper


@final
@dataclass(frozen=True, repr=False)
class Scaled(Wrapper):
    """M with all distances multiplied by `scale`: p_t becomes scale^-dim p_(t/scale²).

    Points, tangent vectors and geodesics are those of M; the norm of a tangent vector is `scale` times that in M.

    Parameters
    ----------
    base : Manifold
        The manifold M.
    scale : float
        Positive.

    Examples
    --------
    >>> from heatgp import SpecialOrthogonal
    >>> trace_metric = Scaled(SpecialOrthogonal(3), 2**0.5)  # tr(X'Y) instead of tr(X'Y)/2
    """

    base: Manifold
    scale: float

    def __post_init__(self) -> None:
        require(isinstance(self.base, Manifold), f"Scaled needs a manifold; got {self.base!r}.")
        require(
            isinstance(self.scale, (int, float)) and 0 < self.scale < float("inf"),
            f"Scaled needs a positive finite scale; got {self.scale!r}.",
        )

    def noise(self, x: Array, z: Array) -> Array:
        return self.base.noise(x, z) / self.scale

    def gradient(self, x: Array, slope: Array) -> Array:
        return self.base.gradient(x, slope) / self.scale**2

    def distance(self, x: Array, y: Array) -> Array:
        return self.scale * self.base.distance(x, y)

    def within(self, x: Array, y: Array, radius: float) -> Array:
        return self.base.within(x, y, radius / self.scale)

    def separation(self, x: Array, y: Array) -> Array:
        return self.scale**2 * self.base.separation(x, y)

    def rough_separation(self, x: Array, y: Array) -> Array:
        return self.scale**2 * self.base.rough_separation(x, y)

    @property
    def volume(self) -> float:
        return self.base.volume * self.scale**self.dim

    @property
    def scalar_curvature(self) -> float:
        return self.base.scalar_curvature / self.scale**2

    def step(self, x: Array, z: Array, time: float) -> Array:
        return self.base.step(x, z, time / self.scale**2)

    @property
    def step_limit(self) -> float:
        return self.scale**2 * self.base.step_limit

    @property
    def curvature_step_limit(self) -> float:
        return self.scale**2 * self.base.curvature_step_limit

    @property
    def covering(self) -> Cover | None:
        cover = self.base.covering
        return cover and replace(cover, scale=self.scale * cover.scale)

    def embed(self, x: Array) -> Array:
        return self.scale * self.base.embed(x)

    @property
    def channel_width(self) -> float:
        return self.scale * self.base.channel_width
