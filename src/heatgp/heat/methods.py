"""heat_kernel: which method, with which defaults."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInput
from ..manifolds import Manifold
from .exact import exact_kernel, find_exact
from .kernel import HeatKernel

METHODS = ("auto", "exact", "ball", "strip", "smooth", "reference")


def heat_kernel(manifold: Manifold, method: str = "auto", *, rng: Any = 0, n_jobs: int | None = None) -> HeatKernel:
    """The heat kernel of a manifold."""
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    found = find_exact(manifold)
    if method == "auto" and found is not None:
        return found
    return exact_kernel(manifold)
