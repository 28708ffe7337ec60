"""Kernels that several models use: the folds of a cross-validation, the candidates of a search, the rows of a table.

Models are copied and fitted again and again, each with a method, not with a kernel. Here the latest are kept, so
that each is simulated once in a process.
"""

import threading

import numpy as np

from ..manifolds import Manifold
from ..manifolds.fingerprint import fingerprint
from .kernel import HeatKernel
from .methods import Method

MOST = 4
"""Kernels that are kept: those of a product of four manifolds of one's own."""

_latest: dict[tuple[str, str], HeatKernel] = {}
_lock = threading.RLock()


def shared_kernel(method: Method, manifold: Manifold) -> HeatKernel:
    """The positive definite kernel of a manifold by a method; one object for all calls that ask for the same.

    Kernels without a fixed seed (a Generator goes on, None is chance), those with cache=False and those of manifolds
    whose functions cannot be read (see `manifolds.fingerprint`) are made anew each time.

    Parameters
    ----------
    method : Method
    manifold : Manifold

    Returns
    -------
    HeatKernel

    Examples
    --------
    >>> from heatgp import Smooth, Sphere
    >>> shared_kernel(Smooth(paths=500), Sphere(2)) is shared_kernel(Smooth(paths=500), Sphere(2))
    True
    """
    options = vars(method)
    repeatable = isinstance(options.get("rng"), (int, np.integer, tuple)) and options.get("cache", False)
    name = fingerprint(manifold) if repeatable else None
    if name is None:
        return method.kernel(manifold).as_positive_definite()
    key = name, repr(method)
    with _lock:  # a thread that asks for what another one simulates waits for it
        if key not in _latest:
            made = method.kernel(manifold).as_positive_definite()
            while len(_latest) >= MOST:
                del _latest[next(iter(_latest))]
            _latest[key] = made
        return _latest[key]


def forget_kernels() -> None:
    """Let the kernels go that are kept."""
    with _lock:
        _latest.clear()
