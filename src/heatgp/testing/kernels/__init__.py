"""The property suite of a heat kernel: our own tests run it over every manifold and method, users over theirs."""

import numpy as np

from ...arguments import check_count, check_flag, generator
from ...errors import AccuracyWarning, InvalidInput, Unsupported, caught_warnings
from ...heat.kernel import HeatKernel
from ..sample import checked_tolerance, problems_of
from . import calls, laws
from .integrals import BLOCKS
from .sample import KernelSample

DIMENSIONS = 50
"""Dimensions in which integrals over thousands of random points still tell a right kernel from a wrong one."""


def check_kernel(
    kernel: HeatKernel,
    rng: int | np.random.Generator = 0,
    *,
    draws: int = 4096,
    tolerance: float = 1e-12,
    reproducible: bool = True,
) -> list[str]:
    """Check the laws of a heat kernel, and say what is wrong in a list of sentences.

    The laws: values are the same in every kind of call, after pickling and from a file; the kernel is symmetric and,
    converted, positive definite; its mass is one; Brownian motion over s and then over t is Brownian motion over
    s + t (Chapman-Kolmogorov); long times are uniform; the derivative is that of the values; the stated standard
    error covers the distance from the exact kernel, where there is one. What besides values the kernel or its
    manifold does not offer (it raises Unsupported) is not checked. Integrals are means over random points, and may
    be five of their standard errors off; a simulated kernel may be five of its own stated errors off.

    Parameters
    ----------
    kernel : HeatKernel
        The kernel: of `heatgp.heat_kernel`, or an instance of your own subclass of `HeatKernel`.
    rng : int or numpy.random.Generator, default 0
        Seed of the random points.
    draws : int, default 4096
        Random points in an integral, at least 32. Take fewer where each value of the kernel is costly; below 160, the
        matrices whose eigenvalues are computed are smaller too.
    tolerance : float, default 1e-12
        The largest rounding error, relative to the kernel's largest value.
    reproducible : bool, default True
        Whether a pair of points has the same value in every call. False is for kernels that simulate paths anew in
        each call, as method "ball" does where there is no symmetry: their values then agree within stated errors.

    Returns
    -------
    list of str
        What is wrong, one sentence each, which begins with the name of the property; empty when all laws hold.

    Raises
    ------
    InvalidInput : if an argument is not possible.
    Unsupported : on manifolds of more than 50 dimensions, where means over random points say little.

    Examples
    --------
    >>> from heatgp import Sphere, heat_kernel
    >>> from heatgp.testing import check_kernel
    >>> check_kernel(heat_kernel(Sphere(2)))
    []
    """
    if isinstance(kernel, type):
        return [f"{kernel.__name__} is a class: pass an instance, such as heatgp.heat_kernel(Sphere(2)) makes."]
    if not isinstance(kernel, HeatKernel):
        return [f"{type(kernel).__name__} is not a HeatKernel, such as heatgp.heat_kernel(Sphere(2)) makes."]
    if check_count("draws", draws) < BLOCKS:
        raise InvalidInput(f"draws = {draws} must be at least {BLOCKS}: errors of integrals come from so many means.")
    check_flag("reproducible", reproducible)
    if kernel.manifold.dim > DIMENSIONS:
        raise Unsupported(
            f"{kernel.manifold!r} has {kernel.manifold.dim} dimensions, and the laws of a kernel are checked by means "
            f"over random points, which say little in so many. Check a smaller member of its family, up to "
            f"{DIMENSIONS} dimensions."
        )
    with caught_warnings(AccuracyWarning):  # the stated error says the same, and that is checked
        sample = KernelSample(kernel, generator(rng), draws, checked_tolerance(tolerance), reproducible)
        try:
            sample.accepts(max(kernel.times[0], min(1.0, kernel.times[1])))
        except Unsupported as error:
            return [f"values: raised Unsupported: {error}"]
        return problems_of([*calls.PROPERTIES, *laws.PROPERTIES], sample)
