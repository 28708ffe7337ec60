"""Quasi-random numbers in place of random ones: shares of a volume come out many times more exact."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri


class Quasi:
    """What `manifold.random` needs of a Generator, with the points of a scrambled Sobol sequence.

    The longest axis runs along the sequence; every call takes new dimensions of it, so that what is drawn in several
    calls is even jointly. Anything else is the Generator's.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.taken = 0

    def stream(self, width: int) -> Callable[[int], np.ndarray]:
        """A function of n to the next n points of a sequence in `width` new dimensions."""
        from scipy.stats import qmc  # slow to import

        first, self.taken = self.taken, self.taken + width
        engine = qmc.Sobol(self.taken, rng=self.rng)
        return lambda n: engine.random(1 << max(n - 1, 1).bit_length())[:n, first:]

    def random(self, size: Any) -> np.ndarray:
        shape = tuple(np.atleast_1d(size).tolist())
        axis = int(np.argmax(shape))
        others = shape[:axis] + shape[axis + 1 :]
        points = self.stream(math.prod(others))(shape[axis])
        return np.moveaxis(points.reshape(shape[axis], *others), 0, axis)

    def uniform(self, low: Any, high: Any, size: Any) -> np.ndarray:
        return low + (np.asarray(high) - low) * self.random(size)

    def standard_normal(self, size: Any) -> np.ndarray:
        return ndtri(np.clip(self.random(size), 1e-16, 1 - 1e-16))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "rng" not in self.__dict__:  # while a copy or a pickle is being made
            raise AttributeError(name)
        return getattr(self.rng, name)
