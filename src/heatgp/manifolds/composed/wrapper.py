"""The transparent wrapper: a manifold that is another one, except in what it overrides."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..contract import Manifold


def forwarded(name: str) -> Any:
    """A property that is the member of this name of the wrapped manifold."""
    return property(attrgetter(f"base.{name}"))


class Wrapper(Manifold):
    """A manifold made of another one, `base`, whose members it has unless it overrides them.

    Every member of the contract is forwarded here, so that a wrapper overrides what it changes and forgets nothing.
    `within` alone follows from the wrapper's own distance.
    """

    if TYPE_CHECKING:

        @property
        def base(self) -> Manifold:
            """The wrapped manifold."""

    shape = forwarded("shape")
    dim = forwarded("dim")
    is_complex = forwarded("is_complex")
    violation = forwarded("violation")
    remedy = forwarded("remedy")
    noise = forwarded("noise")
    exp = forwarded("exp")
    random = forwarded("random")
    defect = forwarded("defect")
    distance = forwarded("distance")
    within = Manifold.within
    separation = forwarded("separation")
    rough_separation = forwarded("rough_separation")
    volume = forwarded("volume")
    volume_error = forwarded("volume_error")
    scalar_curvature = forwarded("scalar_curvature")
    step_shape = forwarded("step_shape")
    step = forwarded("step")
    step_limit = forwarded("step_limit")
    curvature_step_limit = forwarded("curvature_step_limit")
    covering = forwarded("covering")
    polish = forwarded("polish")
    draws_evenly = forwarded("draws_evenly")
    embed = forwarded("embed")
    straight = forwarded("straight")
    difference = forwarded("difference")
    canonical = forwarded("canonical")
    gradient = forwarded("gradient")
    box = forwarded("box")
    periodic = forwarded("periodic")
    open_way = forwarded("open_way")
    channel_width = forwarded("channel_width")
