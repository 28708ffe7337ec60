"""The argument `smoothness` of a model: what it may be, and whether it is learned."""

from __future__ import annotations

import math
from typing import Any

from ..arguments import shown
from ..errors import InvalidInput
from ..gp.parameters import Given
from ..heat.kernel import HeatKernel
from ..heat.matern import check_smoothness
from .kernels import simple_parts, smoothness_of

LEARNED = ("auto", "learn")
"""What `smoothness` of a model may be beside numbers."""


def check_model_smoothness(smoothness: Any, kernel: Any) -> None:
    """Raise InvalidInput for a smoothness that no model has, or not one with this `kernel`, before any work."""
    if isinstance(smoothness, str):
        if smoothness not in LEARNED:
            raise InvalidInput(
                f"smoothness = {smoothness!r} is not known. Give a number, inf for the heat kernel, 'learn' or 'auto', "
                "which learns it where the heat kernel is exact."
            )
        if smoothness == "auto":
            return
    elif check_smoothness(smoothness) == math.inf:
        return
    if isinstance(kernel, str) and kernel == "precomputed":
        raise InvalidInput(f"smoothness = {smoothness!r}, but a precomputed kernel has its own. Leave it out.")
    for simple in own_smoothness(kernel):
        advice = "Leave one of them out, or give its heat kernel."
        if simple.smoothness_given_by:
            advice = f"Leave it out, and give it where the kernel is made: {simple.smoothness_given_by}."
        raise InvalidInput(f"smoothness = {shown(smoothness)}, but {simple!r} has its own. {advice}")


def own_smoothness(kernel: Any) -> list[Any]:
    """The parts of the argument `kernel` of a model that have a smoothness of their own."""
    parts = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    simple = [each for part in parts if isinstance(part, HeatKernel) for each in simple_parts(part)]
    return [each for each in simple if each.smoothness_given_by or smoothness_of(each) < math.inf]


def is_learned(smoothness: Any, kernel: HeatKernel, given: Given) -> bool:
    """Whether the argument `smoothness` of a model asks for the best one of this kernel.

    A time that is given is that of a kernel which the user knows: by default it is the heat kernel.
    """
    if isinstance(smoothness, str) and smoothness == "auto":
        return kernel.is_exact and not own_smoothness(kernel) and len(given.free) == len(given.time)
    return isinstance(smoothness, str)
