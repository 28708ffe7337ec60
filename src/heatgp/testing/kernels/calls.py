"""Properties of calls: whichever way a value is asked for, it is the same."""

from __future__ import annotations

import math
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

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
    for time in s.times:
        y = s.near_and_far(time)
        K, both = s.values(s.x, None, time), s.values(s.x, y, time)
        yield from s.beyond(f"kernel(X) at time {time:.3g}", K, K.T, s.tolerance * s.largest(time))
        yield from s.beyond(f"kernel(X, X) at time {time:.3g}", s.values(s.x, s.x, time), K, s.slack(s.x, s.x, time))
        swapped = s.values(y, s.x, time).T
        yield from s.beyond(f"kernel(Y, X) at time {time:.3g}", swapped, both, s.slack(s.x, y, time))


def diagonal(s: KernelSample) -> Iterator[str]:
    """diag(X, t) is the diagonal of kernel(X, time=t)."""
    for time in s.times:
        K, limit = s.values(s.x, None, time), s.slack(s.x, None, time)
        found = s.kernel.diag(s.x, s.given(time))
        yield from s.beyond(f"diag at time {time:.3g}", found, np.diag(K), np.diag(limit + 0 * K))


def batches(s: KernelSample) -> Iterator[str]:
    """The axes of a result are those of the times, of X and of Y; a batch gives what a loop gives."""
    time, shape = s.times[-1], s.manifold.shape
    x, y = s.x[:4], s.near_and_far(time)[:6]
    K, limit = s.values(x, y, time), s.slack(x, y, time) + np.zeros((4, 6))
    calls = {
        "one point and one": (x[0], y[0], K[0, 0], limit[0, 0]),
        "one point and many": (x[0], y, K[0], limit[0]),
        "no points": (x[:0], y, K[:0], limit[:0]),
        "grids": (x.reshape(2, 2, *shape), y.reshape(3, 2, *shape), K.reshape(2, 2, 3, 2), limit.reshape(2, 2, 3, 2)),
    }
    for what, (a, b, expected, slack) in calls.items():
        yield from s.beyond(f"kernel of {what}", s.values(a, b, time), expected, slack)
    square, slack = s.values(x, None, time), s.slack(x, None, time) + np.zeros((4, 4))
    grid = s.values(x.reshape(2, 2, *shape), None, time)
    yield from s.beyond("kernel of a grid with itself", grid, square.reshape(2, 2, 2, 2), slack.reshape(2, 2, 2, 2))
    if s.kernel.parameters == 1:
        loop = np.stack([s.values(x, y, t) for t in s.times])
        slacks = np.stack([s.slack(x, y, t) + np.zeros((4, 6)) for t in s.times])
        yield from s.beyond("kernel of several times", s.kernel(x, y, time=s.times), loop, slacks)


def order(s: KernelSample) -> Iterator[str]:
    """Points in another order give the same values in that order."""
    for time in s.times:
        y = s.near_and_far(time)
        K, limit = s.values(s.x, y, time), s.slack(s.x, y, time)
        i, j = s.rng.permutation(len(s.x)), s.rng.permutation(len(y))
        limit = (limit + 0 * K)[i][:, j]
        yield from s.beyond(f"another order at time {time:.3g}", s.values(s.x[i], y[j], time), K[i][:, j], limit)


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
