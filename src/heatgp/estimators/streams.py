"""Data that are read in parts: memory-mapped files, Dask arrays, JAX arrays. They need not fit into memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arguments import is_list, is_number
from ..array import is_jax
from ..covariance import Array
from ..errors import HeatGPError, InputWarning, InvalidInput, Unsupported, caught_warnings, renumbered, warn
from ..gp.prior import noise_scale, targets
from ..gp.sparse.fit import SUBSET, Collect
from ..gp.sparse.source import Chunk, Source, collected, random_rows
from ..manifolds import Manifold
from ..manifolds.checks import check_shape
from ..manifolds.rows import from_rows, shaped
from ..progress import heartbeat
from .data import MeanModel, Rows, check_lengths, chosen_manifold, dask, in_parts, is_dask, on_manifold, plain, rows
from .sparse_regression import check_positive

LONG = 1000
"""Points from which on predictions say that they are at work."""
ROWS = 1 << 16
"""Points of a memory-mapped file that are predicted at one time."""


@dataclass(frozen=True)
class Reader:
    """What rows as users give them are to a model: checked points of a manifold, a basis of the mean."""

    manifold: Manifold
    project: bool
    mean: MeanModel
    known: float  # the mean that is subtracted from y

    def chunk(self, data: Rows, where: int | Array = 0) -> Chunk:
        """Some rows, in memory; errors name their numbers in all data: those given, or from the one given on."""
        X, y = np.asarray(data.X), np.asarray(data.y)
        numbers = where + np.arange(len(X)) if isinstance(where, int) else where
        with located(numbers):
            points, _ = on_manifold(self.manifold, X, self.project)
            if data.weights is not None and not np.any(data.weights):
                return Chunk(points[:0], np.empty(0), np.empty((0, len(self.mean.names))), np.empty(0))
            kept, noise = noise_scale(len(points), data.variances, data.weights)
        which = slice(None) if kept is None else kept
        points, y = points[which], y[which]
        with located(numbers[which]):
            basis = self.mean.values(points, rows(data.covariates, which))
            targets(points, y, basis, noise, np.ones(basis.shape[1]))  # checks them
            check_positive(noise)
        return Chunk(points, y.astype(float) - self.known, basis, noise)


def first_look(data: Rows, manifold: Any) -> tuple[Rows, Array]:
    """Some random rows, in memory, and their numbers; the first that is asked of data."""
    check_lengths(data)
    numbers = random_rows(data.X.shape[0], SUBSET)
    found = dask().some(data, numbers) if is_dask(data.X) else data.some(numbers)
    X = np.asarray(found.X)
    like = np.broadcast_to(np.empty((), X.dtype), data.X.shape)  # errors name the shape of all data
    chosen = chosen_manifold(manifold, like)
    if from_rows(chosen, X) is X:  # else they are flattened points, of the right shape
        check_shape(chosen, shaped(chosen, like, "X").shape, "X")
    if found.weights is None or is_number(found.weights):
        return found, numbers
    kept = np.asarray(found.weights) != 0
    if not kept.any():
        raise InvalidInput(
            f"sample_weight is zero for all of {len(numbers):,} random observations. Leave out those of weight 0."
        )
    return found.some(kept), numbers[kept]


def streamed(data: Rows, reader: Reader) -> tuple[Source, Collect]:
    """Data as the core reads them, and how it collects their statistics."""
    check_lengths(data)
    if is_dask(data.X):
        return dask().streamed(data, reader.chunk)

    def read(which: Any) -> Chunk:
        where = (which.start or 0) if isinstance(which, slice) else which
        with caught_warnings(InputWarning):  # the first look has warned
            return reader.chunk(data.some(which), where)

    if is_jax(data.X):
        from ..adapters import jax  # it imports JAX, which is there

        return Source(data.X.shape[0], read, jax.cores(), True), jax.collector(data, reader)
    return Source(data.X.shape[0], read), collected


@contextmanager
def located(where: int | Array) -> Iterator[None]:
    """Errors and warnings inside name rows by their numbers in all data: those given, or from the one given on."""
    try:
        with caught_warnings() as given:
            yield
    except HeatGPError as error:
        raise type(error)(*(renumbered(each, where) for each in error.args)) from None
    for warning in given:
        warn(renumbered(warning.message, where), warning.category)


def of_rows(*names: str, but: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of a method of X that predicts points one by one: X that is read in parts is predicted in parts.

    Parameters
    ----------
    names : arguments that have a row for each point, if they are arrays.
    but : an argument that asks for something of all points.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        signature, name = inspect.signature(method), method.__name__

        @wraps(method)
        def predicted(self: Any, X: Any, *others: Any, **options: Any) -> Any:
            if not in_parts(X):
                shape = getattr(X, "shape", ())
                number = shape[0] if isinstance(shape, tuple) and shape else 0
                if number < LONG:
                    return method(self, X, *others, **options)
                with heartbeat(f"Predictions of {number:,} points"):
                    return method(self, X, *others, **options)
            given = dict(signature.bind(self, X, *others, **options).arguments)
            del given["self"], given["X"]
            if but and given.get(but):
                if is_dask(X):
                    raise Unsupported(f"{but} is of all pairs of points, and X a Dask array. Give X.compute().")
                return method(self, X, *others, **options)
            check_is_fitted(self, "posterior_")
            whole = {key: given.pop(key) for key in names if is_list(given.get(key))}
            if is_dask(X):
                return dask().mapped(self, name, X, whole, given)
            whole = {key: plain(each, key) for key, each in whole.items()}
            for key, each in whole.items():
                if len(each) != len(X):
                    raise InvalidInput(f"{key} has {len(each)} rows and X {len(X)} points: one for each is needed.")
            found = []
            for start in range(0, max(1, len(X)), ROWS):
                part = slice(start, start + ROWS)
                own = {key: rows(each, part) for key, each in whole.items()}
                with located(start):
                    found.append(method(self, np.asarray(X[part]), **given, **own))
            return tuple(map(np.concatenate, zip(*found))) if isinstance(found[0], tuple) else np.concatenate(found)

        return predicted

    return decorate
