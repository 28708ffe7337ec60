"""Checks of arguments that many functions take: seeds, cores, counts, flags, times, arrays.

Each returns the value in the form that the code works with, or raises InvalidInput with the value and what to pass
instead. Arrays of other libraries (JAX) are left to `manifolds.checks.check_points`.
"""

import math
from numbers import Complex, Number, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .errors import InvalidInput

EXTREME = 1e100
"""Coordinates, times and their inverses up to this have squares and quotients that floating point can hold."""
MOST = 10**15
"""Counts below this are sizes that arrays can be asked for; what memory holds is checked where it is known."""
MOST_JOBS = 1024
"""More processes than this are a mistake: they would exhaust the machine before the first of them works."""


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; truth values are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_list(value: Any) -> bool:
    """Whether a value is an array or a list, and not a number; rows of different lengths are one too.

    >>> is_list(1.0), is_list([[1], [1, 2]])
    (False, True)
    """
    return isinstance(value, (list, tuple)) or np.ndim(value) > 0


def is_number(value: Any) -> bool:
    """Whether a value is one finite real number; truth values and arrays are not."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer that no floating point number is near
        return False


def has_same_values(one: Any, other: Any) -> bool:
    """Whether two objects are of one class and have the same values, arrays among them."""

    def same(value: Any, other: Any) -> bool:
        return np.array_equal(value, other) if is_list(value) or is_list(other) else bool(value == other)

    return type(one) is type(other) and all(same(vars(one)[name], vars(other)[name]) for name in vars(one))


def shown(value: Any, most: int = 6) -> str:
    """A value for a message: of a long list or array the first entries, and how many there are.

    >>> shown((1.0, 2.0)), shown(np.arange(100))
    ('(1.0, 2.0)', '[0, 1, 2, ...] (100 values)')
    """
    entries = value.ravel() if isinstance(value, np.ndarray) else value
    if not isinstance(entries, (list, tuple, np.ndarray)) or len(entries) <= most:
        return repr(value)
    first = (entry.item() if isinstance(entry, np.generic) else entry for entry in entries[:3])
    return f"[{', '.join(map(shown, first))}, ...] ({len(entries)} values)"


def check_count(name: str, value: Any, least: int = 1) -> int:
    """An integer of at least `least`, which is 0 or 1."""
    if not is_integer(value) or not least <= value < MOST:
        kind = "a positive integer" if least else "an integer, 0 or more"
        kind += f", below {MOST:.0e}" if is_integer(value) and value >= MOST else ""
        raise InvalidInput(f"{name} must be {kind}; got {shown(value)}.")
    return int(value)


def check_number(name: str, value: Any) -> float:
    """One finite real number."""
    if not is_number(value):
        raise InvalidInput(f"{name} must be a finite number; got {shown(value)}.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False: any other value would count as one of them, and not always as the one that is meant."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"{name} must be True or False; got {shown(value)}.")
    return bool(value)


def check_jobs(n_jobs: Any) -> int | None:
    """A number of cores as in joblib: None, a positive integer, or a negative one that counts from all of them."""
    if n_jobs is None or (is_integer(n_jobs) and n_jobs != 0 and n_jobs <= MOST_JOBS):
        return None if n_jobs is None else int(n_jobs)
    raise InvalidInput(f"n_jobs must be None, -1 for all cores, or from 1 to {MOST_JOBS}; got {n_jobs!r}.")


def check_seed(rng: Any, name: str = "rng") -> Any:
    """A seed: None, an integer of at least 0, several of them as a tuple, a Generator or a SeedSequence."""
    if isinstance(rng, (list, tuple)) and rng and all(is_integer(word) and word >= 0 for word in rng):
        return tuple(int(word) for word in rng)
    if isinstance(rng, np.random.BitGenerator):
        return np.random.Generator(rng)
    # `integers` is what a Generator has and the old RandomState has not.
    draws = hasattr(rng, "integers") and not isinstance(rng, type)
    known = rng is None or isinstance(rng, np.random.SeedSequence) or draws
    if known or (is_integer(rng) and rng >= 0):
        return rng
    old = isinstance(rng, np.random.RandomState) or rng is np.random
    got = "the old RandomState" if old else repr(rng)
    raise InvalidInput(
        f"{name} must be an integer of at least 0, a numpy Generator such as numpy.random.default_rng(0), or None; "
        f"got {got}."
    )


def generator(rng: Any, name: str = "rng") -> Any:
    """The random numbers of a seed; a Generator is itself."""
    seed = check_seed(rng, name)
    return seed if hasattr(seed, "integers") else np.random.default_rng(seed)


def as_array(x: Any, name: str, kind: str = "numbers") -> np.ndarray:
    """x as a NumPy array of numbers or truth values.

    Lists, data frames and objects that are numbers are converted; half and extended precision become double, which
    linear algebra needs. Refused are masked values, sparse matrices, rows of different lengths, text, dates and
    missing values of pandas.

    >>> as_array([[1, 2], [3, 4]], "x").shape
    (2, 2)
    """
    array = as_labels(x, name, kind)
    if array.dtype.kind == "O":
        array = _of_objects(array, name, kind)
    if array.dtype.kind not in "biufc":
        raise InvalidInput(f"{name} must be {kind}; its dtype is {array.dtype}.")
    if array.dtype.kind in "fc" and array.dtype.char not in "fdFD":
        array = array.astype(complex if array.dtype.kind == "c" else float)
    return array


def as_labels(x: Any, name: str, kind: str = "labels") -> np.ndarray:
    """x as a NumPy array of anything; refused are masked values, sparse matrices and rows of different lengths."""
    refuse_masked(x, name)
    if issparse(x):
        raise InvalidInput(f"{name} is a sparse matrix; {kind} in a dense array are needed. Pass {name}.toarray().")
    try:
        array = np.asarray(x)
        mixed = array.dtype.kind in "US" and array.ndim == 1 and not isinstance(x, np.ndarray)
        if mixed and not all(isinstance(label, (str, bytes)) for label in x):
            return np.array(list(x), dtype=object)  # NumPy makes text of all: of a missing label, the text "nan"
        return array
    except Exception as error:  # an object decides itself what its conversion raises
        ragged = "inhomogeneous" in str(error)
        problem = "its rows have different lengths" if ragged else f"{type(error).__name__}: {error}"
        raise InvalidInput(f"{name} must be {kind}, but it cannot be made an array: {problem}.") from None


def refuse_missing(values: np.ndarray, name: str) -> None:
    """Raise InvalidInput for the first value (N,) that is missing (NaN, NaT, None, pandas' NA) or not finite."""
    bad = ~np.isfinite(values) if values.dtype.kind in "fc" else np.array([_is_missing(v) for v in values], bool)
    if bad.any():
        where = int(np.argmax(bad))
        raise InvalidInput(f"{name}[{where}] = {values[where]} is missing or not finite. Remove it.")


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # the missing value of pandas is neither equal nor unequal to itself
        return True


def refuse_masked(x: Any, name: str) -> None:
    """Raise InvalidInput for arrays with masked values, which a conversion would take for data."""
    parts = x if isinstance(x, (list, tuple)) else [x]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise InvalidInput(
            f"{name} has masked values, which would be used as if they were data. Leave out these points, or fill the "
            "values in: numpy.ma.filled(x, value)."
        )


def _of_objects(array: np.ndarray, name: str, kind: str) -> np.ndarray:
    """Objects that are numbers as doubles or complex numbers, or an error that names the first that is none."""
    for index, value in np.ndenumerate(array):
        if not isinstance(value, Number) or isinstance(value, (bool, np.bool_)):
            place = f"{name}[{', '.join(map(str, index))}]" if index else name
            what = repr(value) if len(repr(value)) < 40 else f"a {type(value).__name__}"
            raise InvalidInput(f"{name} must be {kind}; its dtype is object, and {place} is {what}.")
    is_complex = any(isinstance(value, Complex) and not isinstance(value, Real) for value in array.flat)
    try:
        return array.astype(complex if is_complex else float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be {kind}; they are not all floating point numbers: {error}.") from None


def as_times(times: Any, name: str = "times") -> np.ndarray:
    """Times as finite real numbers: one (no axis), or a list that is not empty (one axis)."""
    try:
        values = as_array(times, name)
    except InvalidInput:  # the message below shows the value
        values = np.empty(0)
    if values.dtype.kind not in "iuf" or values.ndim > 1 or not values.size or not np.isfinite(values).all():
        raise InvalidInput(f"{name} must be a number or a non-empty list of finite numbers; got {shown(times)}.")
    return values.astype(float)
