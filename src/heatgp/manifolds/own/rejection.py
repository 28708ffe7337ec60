"""Uniform points by rejection."""

from collections.abc import Callable

import numpy as np

from ...errors import InvalidInput


def counted(
    dim: int, keep: Callable[[np.ndarray], int], enough: int, most: int, batch: int = 1 << 17
) -> tuple[int, int]:
    """How many points were kept of how many tried, from a Sobol sequence that fills the unit cube evenly.

    Points are drawn batch by batch, until `enough` of them are kept or `most` were tried; `keep` counts those to keep.
    """
    from scipy.stats import qmc  # slow to import

    kept, tried, points = 0, 0, qmc.Sobol(dim, rng=0)
    while kept < enough and tried < most:
        kept, tried = kept + keep(points.random(batch)), tried + batch
    return kept, tried


def accepted(
    rng: np.random.Generator, n: int, width: int, keep: Callable[[np.ndarray], np.ndarray], batch: int, remedy: str
) -> np.ndarray:
    """n points by rejection: `keep` maps rows of `width` uniform numbers, drawn batch by batch, to points to keep.

    A quasi-random generator continues one sequence over all batches, so that together they fill the cube evenly.
    """
    draw = rng.stream(width) if hasattr(rng, "stream") else lambda size: rng.random((size, width))
    found: list[np.ndarray] = []
    kept = tried = 0
    while kept < n or not found:
        found.append(keep(draw(batch)))
        kept, tried = kept + len(found[-1]), tried + batch
        if tried > 1e6 and kept < 1e-5 * tried:
            raise InvalidInput(f"Of {tried} points drawn at random {kept} are kept: {remedy}")
    return np.concatenate(found)[:n]
