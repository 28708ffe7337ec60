"""Checks that all conversions share: they name the first value that is wrong."""

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import as_array
from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.checks import check_points

RANK = 1e-10
"""Singular values below this fraction of the largest count as zero: data with ten digits cannot say otherwise."""


def reject(bad: np.ndarray, values: np.ndarray, name: str, problem: str) -> None:
    """Raise InvalidInput for the first True of `bad`: "name[index] problem", with {value} the value there."""
    if bad.any():
        index = np.unravel_index(np.argmax(bad), bad.shape)
        place = f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name
        raise InvalidInput(f"{place} {problem.format(value=values[index])}")


def numbers(x: ArrayLike, name: str, *tail: int) -> np.ndarray:
    """x as an array of finite numbers, doubles or complex, whose last axes have the lengths `tail`."""
    x = as_array(x, name)
    x = x.astype(complex if x.dtype.kind == "c" else float)
    if tail and x.shape[-len(tail) :] != tail:
        raise InvalidInput(f"{name} has shape {x.shape}; it must have shape (..., {', '.join(map(str, tail))}).")
    reject(~np.isfinite(x), x, name, "is {value}. Remove or impute it first.")
    return x


def real_numbers(x: ArrayLike, name: str, *tail: int) -> np.ndarray:
    """`numbers` that are not complex."""
    x = numbers(x, name, *tail)
    if x.dtype.kind == "c":
        raise InvalidInput(f"{name} is complex; pass {name}.real if the imaginary part is 0.")
    return x


def check(manifold: Manifold, x: ArrayLike, name: str) -> np.ndarray:
    """x as checked points of the manifold, in an array of its own: SciPy's rotations need one that can be written."""
    return np.array(check_points(manifold, x, name))
