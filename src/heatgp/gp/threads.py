"""Linear algebra on one thread where more would be slower: small matrices, and busy machines.

The threads of a BLAS wait for each other by spinning. On matrices of some hundred rows that costs more than the threads
gain, and beside another busy process it costs many times the whole work.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache, wraps
from threading import Lock, local
from typing import Any, ParamSpec, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

SMALL = 2000
"""Data up to which one thread is used: beyond, the cubic part of the work is shared well, on a quiet machine."""
LARGE = 1e9
"""Operations of factorisations from which several threads are used, for just these: a tenth of a second."""
PROBE = 200
"""Rows of the matrices whose products tell whether the machine is quiet."""
SECONDS = 0.1
"""How long they are multiplied, on each thread."""
TRIALS = 3
"""How often that is done before the machine is called busy: BLAS threads spin for a while after their work."""
SHARE = 0.9
"""The share of a core that each thread has on a quiet machine."""
FRESH = 30.0
"""Seconds after which that is asked again."""

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


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
            _INSIDE.enter_context(_libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                _INSIDE.close()


@contextmanager
def all_threads(operations: float) -> Iterator[None]:
    """For one large piece of work inside `one_thread` the threads from before, where the machine is quiet."""
    if operations < LARGE or not _inside or _before == 1 or not machine_is_quiet(_before):
        yield
        return
    with _libraries().limit(limits=_before, user_api="blas"):
        yield


def on_all_threads(function: Callable[[Any], R], items: Iterable[Any], operations: float) -> Iterator[R]:
    """`function` of each item, in order: several at once, each with one BLAS thread, where the work is large.

    Items are taken one by one, in the calling thread. On a busy machine one is done after the other.

    Examples
    --------
    >>> list(on_all_threads(abs, [-2, 1], 1e12))
    [2, 1]
    """
    number = 1 if _HERE.at_work else _before if _inside else _threads()
    if operations < LARGE or number == 1:
        yield from map(function, items)
        return
    number = number if machine_is_quiet(number) else 1
    with one_thread(), ThreadPoolExecutor(number, initializer=lambda: setattr(_HERE, "at_work", True)) as threads:
        at_work: deque[Any] = deque()
        for item in items:
            at_work.append(threads.submit(function, item))
            if len(at_work) > number:
                yield at_work.popleft().result()
        yield from (each.result() for each in at_work)


def _threads() -> int:
    return max((library["num_threads"] for library in _libraries().info()), default=1)


def machine_is_quiet(threads: int) -> bool:
    """Whether each of so many threads gets a core: measured now, or some seconds ago."""
    return threads == 1 or _measured(threads, int(time.monotonic() / FRESH))


@lru_cache(maxsize=1)
def _measured(number: int, period: int) -> bool:
    matrix = np.ones((PROBE, PROBE))

    def share(_: int) -> float:
        """The processor time of one thread over the time that passes, while all multiply matrices."""
        start, spent = time.perf_counter(), time.thread_time()
        while time.perf_counter() < start + SECONDS:
            matrix @ matrix
        return (time.thread_time() - spent) / (time.perf_counter() - start)

    with one_thread(), ThreadPoolExecutor(number) as threads:
        return any(min(threads.map(share, range(number))) > SHARE for _ in range(TRIALS))


def on_one_thread(size: Callable[..., int]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function has one BLAS thread where `size` of its arguments, the number of data, is small.

    It has one for more data too, where others keep the machine so busy that more threads are slower.

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
            if size(*arguments, **options) > SMALL and machine_is_quiet(_threads()):
                return function(*arguments, **options)
            with one_thread():
                return function(*arguments, **options)

        return limited

    return decorate


of_data = on_one_thread(lambda kernel, X, *others, **options: len(X))
"""For functions of a kernel, points and more."""
of_posterior = on_one_thread(lambda posterior, *others, **options: len(posterior.X))
"""For the methods of what has seen data."""
