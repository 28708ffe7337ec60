"""Cells kept on disk: those of four hundred reference points take some seconds, and a second kernel needs the same."""

from contextlib import suppress
from pathlib import Path

import numpy as np

from ...errors import Unsupported
from ...manifolds import Manifold
from ...manifolds.parse import can_be_named
from ...paths.disk import StoredArrays
from ...paths.kept import digest, stored_file
from ...paths.simulation import Seed, entropy
from .cells import POOL, SAMPLE, Cells, make_cells


def kept_cells(
    manifold: Manifold, number: int, coarse: int, seed: tuple[int, ...], cache: bool | str | Path
) -> tuple[Cells, Cells]:
    """`make_cells` with this seed: read where they are kept, else made.

    For a manifold made of functions, random points name the file too: they depend on all that the functions use.
    """
    file = _file(manifold, number, coarse, seed, cache)
    stored = file.read() if file else None
    if stored is not None:
        parts = (
            Cells(manifold, stored[f"nodes {i}"], stored[f"volumes {i}"], *stored[f"numbers {i}"].tolist())
            for i in range(2)
        )
        return next(parts), next(parts)
    made = make_cells(manifold, number, coarse, np.random.default_rng(seed))
    if file:
        with suppress(Unsupported):
            _ = manifold.volume  # where it is estimated, `make_cells` warns: each time, so nothing is kept
            arrays: dict[str, np.ndarray] = {}
            for i, cells in enumerate(made):
                arrays |= {f"nodes {i}": cells.nodes, f"volumes {i}": cells.volumes}
                arrays[f"numbers {i}"] = np.array([cells.width, cells.volume_error])
            file.write(arrays)
    return made


def are_cells_kept(manifold: Manifold, number: int, coarse: int, rng: Seed, cache: bool | str | Path) -> bool:
    """Whether `kept_cells` would read the cells of this seed from a file."""
    if not isinstance(rng, (int, np.integer, tuple)):  # a Generator must not be used up
        return False
    file = _file(manifold, number, coarse, (*entropy(rng), 1), cache)
    return file is not None and file.path("npz").exists()


def _file(
    manifold: Manifold, number: int, coarse: int, seed: tuple[int, ...], cache: bool | str | Path
) -> StoredArrays | None:
    points = "" if can_be_named(manifold) or cache is False else _random_points(manifold, number, seed)
    what = {"cells": [number, coarse, *seed], "points": points}
    work = 6 * SAMPLE * number  # the cell of each random point is looked for three times, for small and large cells
    return stored_file(manifold, cache, work, what)


def _random_points(manifold: Manifold, number: int, seed: tuple[int, ...]) -> str:
    with suppress(Unsupported):
        return digest(np.asarray(manifold.random(np.random.default_rng(seed), POOL * number)))
    return ""
