"""Curvature of a metric tensor given as a function of coordinates, by differences."""

from collections.abc import Callable

from ...array import Array, namespace
from .differentiate import gradient


def christoffel(metric: Callable[[Array], Array], x: Array, scale: float) -> Array:
    """Γ^k_ij, (..., k, i, j)."""
    xp = namespace(x)
    G = metric(x)
    slopes = gradient(metric, x, scale)  # (..., i, j, k): dg_ij / dx_k
    one, other, last = (xp.einsum(f"...{order}->...kij", slopes) for order in ("jki", "ikj", "ijk"))
    lower = (one + other - last) / 2
    return xp.linalg.solve(G, lower.reshape(*G.shape[:-1], -1)).reshape(lower.shape)


def ricci(metric: Callable[[Array], Array], x: Array, scale: float) -> Array:
    """The Ricci tensor in coordinates, (..., i, j)."""
    C = christoffel(metric, x, scale)
    D = gradient(lambda place: christoffel(metric, place, scale), x, scale)
    parts = ("...kijk", D), ("...kikj", -D), ("...kkl,...lij", C, C), ("...kjl,...lik", -C, C)
    return sum(namespace(x).einsum(f"{indices}->...ij", *terms) for indices, *terms in parts)
