"""Data in Dask arrays: the statistics of each block are computed by the worker that has it, and only these travel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any

import dask
import dask.array
import numpy as np

from ..arguments import is_number
from ..covariance import Array
from ..errors import InvalidInput
from ..gp.sparse.fit import Collect
from ..gp.sparse.inducing import Inducing
from ..gp.sparse.source import Chunk, Source, collected
from ..gp.sparse.statistics import Statistics

BRANCHES = 8
"""Statistics that are added up in one task: a worker has so many of them in memory for each level of the tree."""
GRAPH = "1GiB"
"""The size of a task graph at which Dask warns: statistics of thousands of inducing points are meant to travel."""


def aligned(X: Any, given: dict[str, Any]) -> list[Any]:
    """X and arguments with a row for each point, in blocks of the same rows, or InvalidInput."""
    _check_blocks("X", X)
    return [X, *(each if each is None or is_number(each) else _like(X, name, each) for name, each in given.items())]


def _like(X: Any, name: str, each: Any) -> Any:
    """An argument in blocks of the rows of X."""
    if not dask.is_dask_collection(each):
        each = np.asarray(each)
        chunks = (X.chunks[0] if each.shape[:1] == X.shape[:1] else -1, *(-1,) * (each.ndim - 1))
        return dask.array.from_array(each, chunks=chunks) if each.ndim else each
    _check_blocks(name, each)
    if each.shape[0] == X.shape[0] and each.chunks[0] != X.chunks[0]:
        raise InvalidInput(
            f"the blocks of X have {_shown(X.chunks[0])} rows, those of {name} {_shown(each.chunks[0])}: each worker "
            f"needs the same rows of both. Give {name}.rechunk({{0: X.chunks[0]}})."
        )
    return each


def _check_blocks(name: str, x: Any) -> None:
    """InvalidInput unless x is an array in blocks of known numbers of whole rows."""
    if not isinstance(x, dask.array.Array):
        raise InvalidInput(
            f"{name} is a {type(x).__name__} of Dask; needed is a Dask array. That of a table of Dask is "
            f"{name}.to_dask_array(lengths=True)."
        )
    if np.isnan(x.shape).any():
        raise InvalidInput(
            f"{name} has blocks of unknown size, shape {x.shape}. Call {name}.compute_chunk_sizes() first."
        )
    if not x.ndim:
        raise InvalidInput(f"{name} is one number in a Dask array; needed is a row for each point.")
    if any(number != 1 for number in x.numblocks[1:]):
        rest = ", ".join(f"{axis}: -1" for axis in range(1, x.ndim))
        raise InvalidInput(
            f"{name} has {x.numblocks} blocks: a block must have whole rows. Give {name}.rechunk({{{rest}}})."
        )


def _shown(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:3])) + (", ..." if len(sizes) > 3 else "")


def some(data: Any, numbers: Array) -> Any:
    """These rows of a table of Dask arrays, in memory."""
    arrays = [each for each in data if isinstance(each, dask.array.Array)]
    found = iter(dask.compute(*(each[numbers] for each in arrays)))
    return type(data)(*(next(found) if isinstance(each, dask.array.Array) else each for each in data))


def streamed(data: Any, chunk: Callable[[Any, Any], Chunk]) -> tuple[Source, Collect]:
    """Data as the core reads them, and how it collects their statistics; `chunk` makes rows what the core takes."""
    kept: dict[bytes, Chunk] = {}  # samples, which are asked for more than once

    def read(which: Any) -> Chunk:
        numbers = np.arange(len(data.X))[which]
        key = numbers.tobytes()
        if key not in kept:
            kept[key] = chunk(some(data, numbers), numbers)
        return kept[key]

    def collect(source: Source, inducing: Inducing, start: Array) -> Statistics:
        shared = dask.delayed((chunk, type(data), inducing, start), traverse=False)
        blocks = zip(data.X.chunks[0], _firsts(data.X), _blocks(data))
        totals = [dask.delayed(_of_block)(shared, first, *block) for size, first, block in blocks if size]
        while len(totals) > 1:
            totals = [dask.delayed(_total)(totals[i : i + BRANCHES]) for i in range(0, len(totals), BRANCHES)]
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": GRAPH}):
            return totals[0].compute()

    return Source(len(data.X), read), collect


def _firsts(X: Any) -> list[int]:
    """The number of the first row of each block."""
    return [0, *accumulate(X.chunks[0])][:-1]


def _blocks(arrays: Any) -> list[tuple[Any, ...]]:
    """The blocks of several arrays, as tasks; what is no array is the same for each."""
    number = next(each.numblocks[0] for each in arrays if isinstance(each, dask.array.Array))
    columns = [
        each.to_delayed().ravel().tolist() if isinstance(each, dask.array.Array) else [each] * number for each in arrays
    ]
    return list(zip(*columns))


def _of_block(shared: tuple[Any, ...], first: int, *block: Any) -> Statistics:
    """The statistics of one block, on the worker that has it, in parts that are small enough."""
    chunk, table, inducing, start = shared
    rows = table(*block)

    def read(which: slice) -> Chunk:
        return chunk(rows.some(which), first + which.start)

    return collected(Source(len(rows.X), read), inducing, start)


def _total(parts: Sequence[Statistics]) -> Statistics:
    return reduce(add, parts)


def mapped(model: Any, method: str, X: Any, whole: dict[str, Any], options: dict[str, Any]) -> Any:
    """What a method of a fitted model returns, as Dask arrays: each block is predicted where it is.

    Parameters
    ----------
    model : estimator.
    method : str, its name.
    X : Dask array of points.
    whole : arrays that have a row for each point, by name.
    options : other arguments.
    """
    X, *others = aligned(X, whole)
    whole = dict(zip(whole, others))
    for name, each in whole.items():
        if each.shape[:1] != X.shape[:1]:
            raise InvalidInput(f"{name} has shape {each.shape} and X {len(X):,} points: one row for each is needed.")
    one = {name: np.ones((1, *each.shape[1:])) for name, each in whole.items()}
    example = getattr(model, method)(model.posterior_.X[:1], **options, **one)  # tells what is returned
    shared, how = _on_all_workers(model), (method, options, tuple(whole))
    blocks, firsts = _blocks([X, *whole.values()]), _firsts(X)
    found = [dask.delayed(_predicted)(shared, how, first, *block) for first, block in zip(firsts, blocks)]

    def array(parts: list[Any], like: Array) -> Any:
        pieces = [
            dask.array.from_delayed(part, (size, *like.shape[1:]), like.dtype) for part, size in zip(parts, X.chunks[0])
        ]
        return dask.array.concatenate(pieces)

    if not isinstance(example, tuple):
        return array(found, example)
    return tuple(array([part[k] for part in found], like) for k, like in enumerate(example))


def _on_all_workers(model: Any) -> Any:
    """The model as a task can take it: each worker of a cluster gets it now, and graphs stay small."""
    try:
        from dask.distributed import get_client

        client = get_client()
    except (ImportError, ValueError):  # no cluster
        return dask.delayed(model, traverse=False)
    if client.asynchronous or not client.ncores():
        return dask.delayed(model, traverse=False)
    return client.scatter(model, broadcast=True, hash=False)


def _predicted(model: Any, how: tuple[Any, ...], first: int, X: Array, *others: Any) -> Any:
    from ..estimators.streams import located

    method, options, names = how
    with located(first):
        return getattr(model, method)(X, **options, **dict(zip(names, others)))
