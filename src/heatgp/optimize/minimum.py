"""The minimum of an expensive function on a manifold, in one call."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import repeat, takewhile
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ..arguments import EXTREME, check_count, check_flag, check_jobs, is_list, shown
from ..array import Array
from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.checks import require
from ..progress import tracked
from ..whole_file import check_path
from .optimizer import INITIAL, Optimizer

SAME_VALUE = 1e-6
"""The largest difference of two values of a function without noise, over their size or their spread: rounding."""
DEVIATIONS = 5.0
"""How many standard deviations two values with noise at the same point may differ."""
UNKNOWN_NOISE = 0.25
"""The variance of a noise that is not given, over the variance of all values: large, so that no search is refused."""
COMPARED = 3
"""Points of a file that are evaluated again at most."""


class Minimum(OptimizeResult):
    """The result of `minimize`: an OptimizeResult of SciPy whose `values` are those of the function."""

    @property
    def values(self) -> Array:  # type: ignore[override]
        """The values of all evaluations; in a dictionary the name is taken."""
        return self["values"]


def minimize(
    function: Callable[[Array], float],
    manifold: Manifold,
    evaluations: int = 100,
    *,
    bounds: Any = None,
    x0: Any = None,
    noise: float | None = 0.0,
    batch: int = 1,
    n_jobs: int | None = None,
    file: Any = None,
    callback: Callable[[Any], Any] | None = None,
    show_progress: bool | None = None,
    kernel: Any = "auto",
    smoothness: Any = math.inf,
    initial: int = INITIAL,
    rng: Any = 0,
) -> Minimum:
    """The minimum of a function on a manifold, for functions that take long: Bayesian optimisation.

    Parameters
    ----------
    function : from one point, an array of the shape `manifold.shape`, to a number. nan and numbers beyond 1e100 say
        that the evaluation failed.
    manifold : Manifold, also a Product: of rotations and R^3, for a pose.
    evaluations : int, default 100. How often the function is called, calls of earlier runs in `file` included.
    bounds : list of pairs (low, high), one for each coordinate of a Euclidean factor, default None.
    x0 : array (n, *shape) of points to begin with, default None: random ones.
    noise : number, default 0. The variance of the noise of the values; None learns it.
    batch : int, default 1. How many points are chosen before their values are known.
    n_jobs : int, default None. Processes that evaluate the points of a batch, as in joblib.
    file : path, default None. Where all evaluations are kept as they come. A run that was interrupted goes on from
        there, when it is called again with the same file and the same arguments; `rng` is then that of the first call,
        and `x0` may be left out. The first point of the file is evaluated once more, to see that it is the same
        function; with noise, or where this fails, up to two more points.
    callback : function of the Optimizer, called after each batch, default None. The search ends where it returns True.
    show_progress : bool, default None: a bar on a terminal, and lines of the log elsewhere.
    kernel, smoothness, initial : as in `Optimizer`.
    rng : seed or numpy Generator, default 0.

    Returns
    -------
    scipy.optimize.OptimizeResult
        x, fun : the best point and its value (with noise, the mean of the model there); nfev : int, evaluations;
        points, values : arrays (nfev, *shape) and (nfev,), all evaluations, nan for those that failed; model :
        GPRegressor of all values; success : bool; message : str.

    Raises
    ------
    InvalidInput : if an argument is not possible, `function` does not return a number, or `file` is of another search.

    Examples
    --------
    A rotation, from the angles to it:

    >>> import heatgp as hg
    >>> rotations = hg.SpecialOrthogonal(3)
    >>> goal = rotations.random(np.random.default_rng(0), 1)[0]
    >>> found = hg.minimize(lambda x: rotations.distance(x, goal) ** 2, rotations, evaluations=20)
    >>> found.fun < 0.01, found.nfev
    (True, 20)
    """
    require(callable(function), f"function must be a function of one point; got {function!r}.")
    known = callback is None or callable(callback)
    require(known, f"callback must be a function of the Optimizer, or None; got {callback!r}.")
    if show_progress is not None:
        check_flag("show_progress", show_progress)
    evaluations, batch = check_count("evaluations", evaluations), check_count("batch", batch)
    evaluate = _evaluator(function, check_jobs(n_jobs))
    model = {"kernel": kernel, "smoothness": smoothness, "noise": noise}
    optimizer = Optimizer(manifold, bounds=bounds, initial=initial, rng=rng, **model)
    if x0 is not None:
        optimizer.x0 = optimizer.points(x0, "x0")
    if file is not None and os.path.exists(check_path(file, "file")):
        given = optimizer.x0
        optimizer.load(file)
        require(
            x0 is None or np.array_equal(given, optimizer.x0),
            f"{file} is of a search that began with another x0, of {len(optimizer.x0)} point(s). Leave x0 out to go on "
            "with it, or give another file.",
        )
        _check_same_function(optimizer, evaluate, file)
    save = (lambda: None) if file is None else partial(optimizer.save, file)
    save()  # a file that cannot be written is found out now
    starts, failed, ending = optimizer.x0, list[float](), "evaluations were made."
    rounds = takewhile(lambda _: len(optimizer.y) < evaluations, repeat(None))
    number = math.ceil(max(0, evaluations - len(optimizer.y)) / batch)
    for _ in tracked(rounds, number, "Evaluations" if batch == 1 else "Batches of evaluations", show_progress):
        done = len(optimizer.y)
        left = min(batch, evaluations - done)
        points = starts[done : done + left] if done < len(starts) else optimizer.pending[:left]
        if not len(points):  # else they were asked for by a run that was interrupted
            points = optimizer.ask(left)
            save()
        for x, value in zip(points, evaluate(points)):
            optimizer.tell(x, value)
            if not abs(value) <= EXTREME:
                failed.append(value)
            save()
        answer = None if callback is None else callback(optimizer)
        if isinstance(answer, (bool, np.bool_)) and answer:
            ending = "evaluations were made, and callback ended the search."
            break
    number = int(np.isfinite(optimizer.y).sum())
    return Minimum(
        x=optimizer.x if number else None,
        fun=optimizer.fun if number else np.nan,
        nfev=len(optimizer.y),
        points=optimizer.X,
        values=optimizer.y,
        model=optimizer.model() if number > 1 else None,
        success=number > 0,
        message=f"{len(optimizer.y)} {ending}" if number else _no_value(len(optimizer.y), failed),
    )


def _check_same_function(optimizer: Optimizer, evaluate: Callable[[Array], Iterator[float]], file: Any) -> None:
    """Raise InvalidInput where the function has other values than a file at its points."""
    y = optimizer.y
    finite = np.flatnonzero(np.isfinite(y))
    if not len(finite) or (optimizer.noise is None and len(finite) < 2):
        return
    variance = UNKNOWN_NOISE * np.var(y[finite], ddof=1) if optimizer.noise is None else optimizer.noise
    for number in finite[:COMPARED]:
        (value,) = evaluate(optimizer.X[number : number + 1])
        rounding = SAME_VALUE * max(abs(y[number]), float(np.std(y[finite])))
        if abs(value - y[number]) <= DEVIATIONS * math.sqrt(2 * variance) + rounding:
            return
        if optimizer.noise == 0 and abs(value) <= EXTREME:
            break  # else noise or a failure may be the reason, and another point decides
    raise InvalidInput(
        f"{file} is of a search of another function: at its point {number} it has the value {y[number]:g}, and this "
        f"function {value:g}. Give another file, or the function of the first call; if its values are noisy, begin "
        "again with noise=None."
    )


def _no_value(number: int, failed: list[float]) -> str:
    """What is wrong with a function none of whose values can be used."""
    kinds = Counter("a number beyond 1e100" if math.isfinite(value) else str(value) for value in failed)
    counts = [f"{kind} at {kinds[kind]}" for kind in ("nan", "-inf", "inf", "a number beyond 1e100") if kinds[kind]]
    why = f" function returned {', '.join(counts)} of them." if counts else ""
    return (
        f"none of {number} evaluations had a value between -1e100 and 1e100.{why} A minimum needs finite values: check "
        "the function at one of `points`."
    )


def _evaluator(function: Callable[[Array], float], n_jobs: int | None) -> Callable[[Array], Iterator[float]]:
    """From points (n, *shape) to their values, as they come, with several processes where these are asked for."""

    def value(x: Array) -> float:
        found = function(x.copy())  # what the user does to it is not the search's concern
        with suppress(TypeError, ValueError, OverflowError):
            if not isinstance(found, (str, bytes)) and not is_list(found) and not np.iscomplexobj(found):
                return float(found)
        raise InvalidInput(
            f"function must return a number, or nan where it fails; it returned {shown(found)}. "
            "Of an array with one entry, return array.item()."
        )

    if n_jobs in (None, 1):
        return lambda points: map(value, points)
    from joblib import Parallel, delayed

    return lambda points: Parallel(n_jobs=n_jobs, return_as="generator")(delayed(value)(x) for x in points)
