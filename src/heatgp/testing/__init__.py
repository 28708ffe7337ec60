"""The property suites of manifolds and kernels: our own tests run them over the whole library, users over theirs."""

import numpy as np

from ..arguments import generator
from ..errors import Unsupported
from ..manifolds import Homogeneous, Manifold
from . import geometry, law, symmetry
from .compiled import under_jax
from .kernels import check_kernel
from .sample import Sample, checked_tolerance, problems_of

__all__ = ["check_kernel", "check_manifold"]

DIMENSIONS = 100
"""Dimensions up to which the covariance of Brownian steps is estimated in seconds."""
REQUIRED = ("shape", "dim", "noise", "exp", "random", "defect")


def check_manifold(manifold: Manifold, rng: int | np.random.Generator = 0, tolerance: float = 1e-8) -> list[str]:
    """What is wrong with a manifold: a list of sentences, empty when every property holds.

    The six required members are enough; what a manifold does not offer (it raises Unsupported) is not checked.
    Statistical properties may be five standard errors off. Distances are checked between points up to 0.1 apart, which
    must be within the injectivity radius: scale a smaller manifold.

    Parameters
    ----------
    manifold : an instance of a subclass of heatgp.Manifold.
    rng : seed or numpy Generator.
    tolerance : the largest rounding or truncation error, absolute.

    Raises
    ------
    InvalidInput : if an argument is not possible.
    Unsupported : on manifolds of more than 100 dimensions.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> check_manifold(Sphere(2))
    []
    """
    name = type(manifold).__name__
    if isinstance(manifold, type):
        return [f"{manifold.__name__} is a class: pass an instance of it, such as {manifold.__name__}(...)"]
    if not isinstance(manifold, Manifold):
        return [f"{name} is not a subclass of heatgp.Manifold, which has the defaults of all but {', '.join(REQUIRED)}"]
    missing = [f"{name} lacks the required member {member!r}" for member in REQUIRED if not hasattr(manifold, member)]
    if missing:
        return missing
    sample = Sample(manifold, generator(rng), checked_tolerance(tolerance))
    wrong = problems_of([geometry.declaration], sample)
    if wrong:  # nothing else can be checked
        return wrong
    if manifold.dim > DIMENSIONS:
        raise Unsupported(
            f"{manifold!r} has {manifold.dim} dimensions: the check of its Brownian motion would take too many points. "
            f"Check a smaller member of its family, up to {DIMENSIONS} dimensions."
        )
    checks = [*geometry.PROPERTIES, *law.PROPERTIES, under_jax]
    checks += symmetry.PROPERTIES if isinstance(manifold, Homogeneous) else ()
    return problems_of(checks, sample)
