"""Linear algebra on one thread where more would be slower: small matrices.

The threads of a BLAS wait for each other by spinning. On matrices of some hundred rows that costs more than the threads
gain, and beside another busy process it costs many times the whole work. Large work has the threads that the BLAS has:
OMP_NUM_THREADS and threadpoolctl limit them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from threading import Lock, local
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

SMALL = 2000
"""Data up to which one thread is used: beyond, the cubic part of the work is shared well."""
LARGE = 1e9
"""Operations of factorisations from which several threads are used, for just these: a tenth of a second."""

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


_LOCK, _INSIDE = Lock(), ExitStack()
_inside = 0
_before = 1  # the threads of the BLAS before `one_thread`


class _Here(local):
    at_work = False  # whether this thread is one of `on_all_threads`, which makes no more of them


_HERE = _Here()


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread for the process: the first of several Python threads to enter sets it, the last restores it."""
    global _inside, _before
    with _LOCK:
        _inside += 1
        if _inside == 1:
            _before = _threads()
            _INSIDE.enter_context(_blas().limit(limits=1))
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                _INSIDE.close()


@contextmanager
def all_threads(operations: float) -> Iterator[None]:
    """For one large piece of work inside `one_thread` the threads from before."""
    if operations < LARGE or not _inside:
        yield
        return
    with _blas().limit(limits=_before):
        yield


def on_all_threads(function: Callable[[Any], R], items: Iterable[Any], operations: float) -> Iterator[R]:
    """`function` of each item, in order: several at once, each with one BLAS thread, where the work is large.

    Items are taken one by one, in the calling thread.

    Examples
    --------
    >>> list(on_all_threads(abs, [-2, 1], 1e12))
    [2, 1]
    """
    number = 1 if _HERE.at_work else _before if _inside else _threads()
    if operations < LARGE or number == 1:
        yield from map(function, items)
        return
    with one_thread(), ThreadPoolExecutor(number, initializer=lambda: setattr(_HERE, "at_work", True)) as threads:
        at_work: deque[Any] = deque()
        for item in items:
            at_work.append(threads.submit(function, item))
            if len(at_work) > number:
                yield at_work.popleft().result()
        yield from (each.result() for each in at_work)


def _threads() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


def on_one_thread(size: Callable[..., int]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function has one BLAS thread where `size` of its arguments, the number of data, is small.

    Examples
    --------
    >>> @on_one_thread(len)
    ... def total(values):
    ...     return sum(values)
    >>> total([1, 2, 3])
    6
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def limited(*arguments: P.args, **options: P.kwargs) -> R:
            if size(*arguments, **options) > SMALL:
                return function(*arguments, **options)
            with one_thread():
                return function(*arguments, **options)

        return limited

    return decorate


of_data = on_one_thread(lambda kernel, X, *others, **options: len(X))
"""For functions of a kernel, points and more."""
of_posterior = on_one_thread(lambda posterior, *others, **options: len(posterior.X))
"""For the methods of what has seen data."""
