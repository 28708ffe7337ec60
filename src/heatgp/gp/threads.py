"""Linear algebra of small matrices on one thread.

The threads of a BLAS wait for each other by spinning. On matrices of some hundred rows that costs more than the threads
gain, and beside another busy process it costs many times the whole work.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

SMALL = 2000
"""Data up to which one thread is used: beyond, the cubic part of the work is shared well."""

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


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
            with _libraries().limit(limits=1, user_api="blas"):
                return function(*arguments, **options)

        return limited

    return decorate


of_data = on_one_thread(lambda kernel, X, *others, **options: len(X))
"""For functions of a kernel, points and more."""
of_posterior = on_one_thread(lambda posterior, *others, **options: len(posterior.X))
"""For the methods of what has seen data."""
