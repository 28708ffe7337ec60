"""Simulations kept on disk: read if they are there, continued where an earlier run was stopped, else computed.

What determines a simulation (manifold, times, paths, step, seed, what is read of the paths) names its file. Blocks of
paths have a random stream each, so that one that is continued ends with the same numbers.
"""

import hashlib
import json
import math
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..cost import check_memory
from ..errors import HeatGPWarning, warn
from ..manifolds.contract import Manifold
from ..manifolds.fingerprint import fingerprint
from ..manifolds.parse import can_be_named
from .disk import StoredArrays, cache_folder
from .simulation import Simulation
from .walk import BLOCK, simulate, simulation_cost

Chunks = Iterator[tuple[int, np.ndarray]]
VERSION = 1
"""Goes up whenever a seed gives other paths than before."""
TRIVIAL = 2_000_000
"""Path-steps that take well under a second: not worth a file unless a folder is named."""
STORE_SECONDS = 3.0
"""At most so much of an interrupted simulation is lost, even when the process is killed."""


def simulation_file(manifold: Manifold, simulation: Simulation, **what: Any) -> StoredArrays | None:
    """The file of a simulation, of which `what` tells all that manifold, steps, paths and seed do not.

    None where nothing is to be kept, see `stored_file`.
    """
    plan, paths = simulation.plan, int(simulation.paths)
    steps = {"times": [t.hex() for t in plan.times], "step": plan.step.hex(), "paths": paths}
    work = paths * sum(plan.counts)
    return stored_file(manifold, simulation.cache, work, {**steps, "entropy": simulation.root, **what})


def stored_file(manifold: Manifold, cache: bool | str | Path, work: int, what: dict[str, Any]) -> StoredArrays | None:
    """The file of what is computed from a manifold and all that `what` tells.

    None where nothing is to be kept: the work, in path-steps, takes but a moment and no folder was named, or the
    manifold has functions whose values cannot be read (see `fingerprint`).
    """
    if cache is False or (cache is True and work < TRIVIAL):
        return None
    name = fingerprint(manifold)
    description = {"table": VERSION, "manifold": name, **what}
    return None if name is None else StoredArrays(cache_folder(cache), json.dumps(description))


def digest(*arrays: np.ndarray) -> str:
    """A text that changes with every bit of the arrays, for `what` of a simulation's file."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(repr((array.shape, array.dtype.str)).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def kept_visits(
    manifold: Manifold,
    starts: np.ndarray,
    simulation: Simulation,
    visit: Callable[[np.ndarray], np.ndarray],
    kind: np.dtype,
    shape: tuple[int, ...] = (),
    **what: Any,
) -> np.ndarray:
    """`visit` of the positions of all paths, (times, paths, *shape).

    Parameters
    ----------
    manifold, starts, simulation, visit : as in `simulate`; `visit` returns (times, paths of the chunk, *shape).
    kind : dtype of the result.
    shape : what `visit` returns for each path.
    what : as in `simulation_file`.
    """
    work, remedy = f"Brownian motion on {manifold!r}", "Take fewer `paths`, longer steps, or more cores (`n_jobs`)."
    result = (len(simulation.plan.times), simulation.paths, *shape)
    check_memory(2.0 * math.prod(result) * kind.itemsize, work, remedy)
    out = np.empty(result, kind)
    file = simulation_file(manifold, simulation, **what)

    def chunks(done: int) -> Chunks:
        simulation_cost(manifold, starts, simulation, visit).accept(work, remedy)
        return simulate(manifold, starts, simulation, visit, done // BLOCK)

    return kept(file, out, chunks, lambda stored: _is_repeated(manifold, starts, simulation, visit, stored))


def kept(
    file: StoredArrays | None,
    out: np.ndarray,
    chunks: Callable[[int], Chunks],
    is_right: Callable[[np.ndarray], bool] = lambda stored: True,
) -> np.ndarray:
    """`out` (times, paths, ...) filled with what the file has, then with chunks of paths, each of which is appended.

    Parameters
    ----------
    file : None keeps nothing.
    out : the array to fill.
    chunks : from the number of paths that are there to (first path, chunk (times, some paths, ...)) of the others.
    is_right : whether stored paths are to be used.
    """
    whole = file.read() if file else None
    if whole is not None and is_right(whole["theta"]):
        return whole["theta"]
    done = 0
    for first, data in file.parts() if file else ():
        part = np.frombuffer(data, out.dtype).reshape(len(out), -1, *out.shape[2:])
        if first <= done < first + part.shape[1]:  # two processes may have stored the same paths
            done = first + part.shape[1]
            out[:, first:done] = part
    if file and not (done and is_right(out[:, :done])):
        done = 0
        file.remove_parts()
    stored, last = done, clock.monotonic()
    try:
        for first, part in chunks(done):
            done = max(done, first + part.shape[1])
            out[:, first : first + part.shape[1]] = part
            if file and done > stored and clock.monotonic() - last > STORE_SECONDS:
                file = file if file.append(stored, out[:, stored:done]) else None
                stored, last = done, clock.monotonic()
    except BaseException:
        if file and done > stored:
            file.append(stored, out[:, stored:done])
        raise
    if file:
        file.write({"theta": out})
    return out


def kept_sum(file: StoredArrays | None, total: np.ndarray, chunks: Callable[[int], Chunks]) -> np.ndarray:
    """`total`, zeros, plus all chunks: counts of paths. The sum so far is stored; it is as large as the whole one.

    Parameters are those of `kept`; a chunk has the shape of the total.
    """
    whole = file.read() if file else None
    if whole is not None:
        return whole["theta"]
    done = 0
    for first, data in file.parts() if file else ():
        done, total = first, np.frombuffer(data, total.dtype).reshape(total.shape).copy()
    last = clock.monotonic()
    for first, part in chunks(done):
        if file and first > done and clock.monotonic() - last > STORE_SECONDS:
            file = file if file.replace(first, total) else None
            last = clock.monotonic()
        total += part
    if file:
        file.write({"theta": total})
    return total


def _is_repeated(
    manifold: Manifold,
    starts: np.ndarray,
    simulation: Simulation,
    visit: Callable[[np.ndarray], np.ndarray],
    stored: np.ndarray,
) -> bool:
    """Whether the first block of paths comes out as it is stored.

    A manifold of the library is what its name says. A function of a user may read a file or a clock, of which its code
    tells nothing: its first block is simulated again.
    """
    if can_be_named(manifold):
        return True
    first = min(BLOCK, stored.shape[1], simulation.paths)
    few = replace(simulation, paths=first, n_jobs=None, progress=False)
    own = starts if starts.ndim == len(manifold.shape) else starts[:first]
    if all(np.array_equal(part, stored[:, :first]) for _, part in simulate(manifold, own, few, visit)):
        return True
    warn(
        f"The paths stored for {manifold!r} are not those that it has now, though the code of its functions is the "
        "same: they are simulated again. Pass cache=False where functions depend on files, clocks or chance.",
        HeatGPWarning,
    )
    return False
