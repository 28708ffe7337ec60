"""Properties of calls: whichever way a value is asked for, it is the same."""

import math
import pickle
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from ...array import Array
from ...errors import InvalidInput
from ...heat.files import load_kernel
from ...heat.kernel import HeatKernel
from .sample import KernelSample


def time_limits(s: KernelSample) -> Iterator[str]:
    """Times that are no positive numbers, and times outside `kernel.times`, raise InvalidInput."""
    low, high = s.kernel.times
    if not s.times:
        yield f"refuses every time between its limits {low:.3g} and {high:.3g}"
    outside = [0.0, -1.0, math.nan, math.inf, low / 2, 2 * high]
    for time in dict.fromkeys(outside):
        try:
            s.values(s.x[:1], None, time)
        except InvalidInput:
            continue
        yield f"time = {time:g} does not raise InvalidInput; kernel.times are {low:.3g} to {high:.3g}"


def symmetric(s: KernelSample) -> Iterator[str]:
    """p_t(x, y) = p_t(y, x), in a call with one set of points and in one with two."""

    def larger_error(x: Array, y: Array, time: float) -> np.ndarray:
        return np.maximum(s.error(x, y, time), s.error(y, x, time).T)

    for time in s.times:
        x, y = s.x, s.near_and_far(time)
        K, both = s.values(x, None, time), s.values(x, y, time)
        yield from s.beyond(f"kernel(X) at time {time:.3g}", K, K.T, s.tolerance * s.largest(time))
        for what, found, expected, other in (
            (f"kernel(X, X) and kernel(X) at time {time:.3g}", s.values(x, x, time), K, x),
            (f"kernel(Y, X) and kernel(X, Y) at time {time:.3g}", s.values(y, x, time).T, both, y),
        ):
            yield from s.differ(what, found, expected, time, partial(larger_error, x, other, time))


def diagonal(s: KernelSample) -> Iterator[str]:
    """diag(X, t) is the diagonal of kernel(X, time=t)."""

    def error(time: float) -> np.ndarray:
        return np.diag(s.error(s.x, None, time))

    for time in s.times:
        found, expected = s.kernel.diag(s.x, s.given(time)), np.diag(s.values(s.x, None, time))
        yield from s.differ(f"diag at time {time:.3g}", found, expected, time, partial(error, time))


def batches(s: KernelSample) -> Iterator[str]:
    """The axes of a result are those of the times, of X and of Y; a batch gives what a loop gives."""
    time, shape = s.times[-1], s.manifold.shape
    x, y = s.x[:4], s.near_and_far(time)[:6]
    both, square = s.values(x, y, time), s.values(x, None, time)
    grid_x, grid_y = x.reshape(2, 2, *shape), y.reshape(3, 2, *shape)
    for what, a, b, expected in (
        ("one point and one", x[0], y[0], both[0, 0]),
        ("one row and one", x[:1], y[:1], both[:1, :1]),
        ("one point and many", x[0], y, both[0]),
        ("no points and many", x[:0], y, both[:0]),
        ("two grids of points", grid_x, grid_y, both.reshape(2, 2, 3, 2)),
        ("a grid with itself", grid_x, None, square.reshape(2, 2, 2, 2)),
    ):
        found = s.values(a, b, time)
        yield from s.differ(f"kernel of {what}", found, expected, time, partial(s.error, a, b, time))
    if s.kernel.parameters == 1:
        found, expected = s.kernel(x, y, time=s.times), np.stack([s.values(x, y, t) for t in s.times])
        yield from s.differ(
            "kernel of several times", found, expected, time, lambda: np.stack([s.error(x, y, t) for t in s.times])
        )


def order(s: KernelSample) -> Iterator[str]:
    """Points in another order give the same values in that order."""
    time = s.times[0]
    y = s.near_and_far(time)
    i, j = s.rng.permutation(len(s.x)), s.rng.permutation(len(y))
    found, expected = s.values(s.x[i], y[j], time), s.values(s.x, y, time)[i][:, j]
    yield from s.differ("kernel of another order", found, expected, time, lambda: s.error(s.x[i], y[j], time))


def pickling(s: KernelSample) -> Iterator[str]:
    """A kernel of a manifold that can be pickled can be pickled, and comes back with the same values."""
    try:
        pickle.dumps(s.manifold)
    except (pickle.PicklingError, AttributeError, TypeError):
        return
    yield from _same_kernel(s, "a pickled copy", pickle.loads(pickle.dumps(s.kernel)))


def files(s: KernelSample) -> Iterator[str]:
    """A kernel that can be saved comes back from its file with the same values."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.npz"
        s.kernel.save(path)
        yield from _same_kernel(s, "a saved copy", load_kernel(path, s.manifold))


def _same_kernel(s: KernelSample, what: str, copy: HeatKernel) -> Iterator[str]:
    """Values and errors of a copy are equal to the last digit; so are its limits."""
    if copy.times != s.kernel.times:
        yield f"{what} has times {copy.times} instead of {s.kernel.times}"
    for time in s.times:
        y, t = s.near_and_far(time), s.given(time)
        yield from s.beyond(f"{what} at time {time:.3g}", copy(s.x, y, time=t), s.values(s.x, y, time), 0.0)
        found, expected = copy.standard_error(s.x, y, time=t), s.error(s.x, y, time)
        yield from s.beyond(f"standard error of {what} at time {time:.3g}", found, expected, 0.0)


PROPERTIES = (time_limits, symmetric, diagonal, batches, order, pickling, files)
