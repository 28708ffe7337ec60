"""The kernel of shapes of landmarks in space."""

import math
from typing import Any

from ..arguments import is_integer
from ..errors import InvalidInput
from ..manifolds import Sphere
from .exact.families import sphere
from .invariant import InvariantKernel
from .kernel import HeatKernel, OrbitKernel
from .matern import check_smoothness, with_smoothness
from .methods import Exact


def shape_kernel(landmarks: int, smoothness: Any = math.inf) -> HeatKernel:
    """The kernel of shapes of landmarks in space, for models of functions that rotations do not change.

    Position and size are removed by `heatgp.points.landmarks_to_preshape`, whose points are on a sphere. Rotations are
    removed by the kernel: the heat kernel of the sphere, or its Matern kernel, averaged over all of them. So it is
    positive definite, has mass one, and k_s composed with k_t is k_(s+t). Heat kernels are exact to 1e-10 of the
    diagonal, Matern kernels to 1e-6. Mirror images are different shapes.

    Parameters
    ----------
    landmarks : int
        The number of landmarks, at least 3. Shapes in the plane have an exact kernel of their own, that of
        `ComplexProjective`.
    smoothness : number, default inf
        That of `matern_kernel`; inf is the heat kernel.

    Returns
    -------
    HeatKernel of Sphere(3 * landmarks - 4)

    Raises
    ------
    InvalidInput : for fewer than three landmarks, or a bad smoothness.

    Notes
    -----
    This is Brownian motion of the landmarks on the sphere, seen up to rotation. Brownian motion of the metric of
    Kendall's shape space drifts a little differently, since some orbits of rotations are larger than others.

    Examples
    --------
    >>> import numpy as np
    >>> from heatgp import GPRegressor, Sphere
    >>> from heatgp.points import landmarks_to_preshape
    >>> rng = np.random.default_rng(0)
    >>> X = landmarks_to_preshape(rng.standard_normal((20, 5, 3)))
    >>> gp = GPRegressor(Sphere(11), kernel=shape_kernel(5)).fit(X, rng.standard_normal(20))
    """
    if not is_integer(landmarks) or landmarks < 3:
        raise InvalidInput(f"shape_kernel needs 3 or more landmarks; got {landmarks!r}.")
    M = Sphere(3 * int(landmarks) - 4)
    base = OrbitKernel(M, Exact(), sphere(M.dim))
    return with_smoothness(InvariantKernel(M, base), check_smoothness(smoothness))
