"""Functions drawn from a posterior that stay the same from call to call."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from ..arguments import generator
from ..covariance import Array
from ..threads import on_one_thread
from .mixture import Mixture
from .pivoted import triangular_root

DETERMINED = 1e-12
"""Part of the prior variance below which a value is known from the others: rounding of a covariance is near 1e-14."""


class Functions:
    """Functions of one posterior, each given by its values at points where it was asked so far.

    The values at new points are drawn given all earlier ones, so calls with parts of a set of points have the
    distribution of one call with all of them. With C the posterior covariance at the points kept and L L' = C, their
    values are mean + L e with standard normal e. New points have the mean W' e, W = L^-1 C(kept, new), beside their
    own, and the covariance C(new, new) - W' W, which a Cholesky factorisation with pivots extends L by. Points whose
    values are determined by the others are not kept, so that L stays small and well conditioned where functions are
    smooth.

    Reference: Rasmussen & Williams (2006), eq. A.6; Higham (2002), section 10.3, for the pivots.
    """

    def __init__(self, posterior: Any, rng: np.random.Generator, size: int) -> None:
        self.posterior, self.rng = posterior, rng
        self.points: Any = posterior.X[:0]
        self.lower, self.normals = np.empty((0, 0)), np.empty((size, 0))

    def __call__(self, new: Any) -> Array:
        """The values (size, M) at new points."""
        posterior, known = self.posterior, len(self.points)
        covariance = posterior.latent_covariance(np.concatenate((self.points, new)))
        given = linalg.solve_triangular(self.lower, covariance[:known, known:], lower=True, check_finite=False)
        left = covariance[known:, known:] - given.T @ given
        scale = posterior.params.amplitude * np.max(posterior.kernel.diag(new, posterior.params.time), initial=0.0)
        root, pivots = triangular_root(left, DETERMINED * max(scale, np.max(np.diagonal(covariance), initial=0.0)))
        normals = self.rng.standard_normal((len(self.normals), len(pivots)))
        values = posterior.latent_mean(new) + self.normals @ given + normals @ root.T
        self.points = np.concatenate((self.points, new[pivots]))
        self.lower = np.block(
            [[self.lower, np.zeros((known, len(pivots)))], [given[:, pivots].T, np.tril(root[pivots])]]
        )
        self.normals = np.hstack((self.normals, normals))
        return values


def sampled_functions(mixture: Mixture, random_state: Any, size: int) -> Callable[[Any], Array]:
    """A function of points that returns the values (size, M) of functions drawn from a mixture.

    Points that were asked before, to the last digit, have their values to the last digit.
    """
    rng = generator(random_state, "random_state")
    numbers = mixture.numbers(rng, size)
    groups = {int(g): Functions(mixture.posteriors[g], rng, int(np.sum(numbers == g))) for g in np.unique(numbers)}
    known: dict[bytes, Array] = {}

    @on_one_thread(len)
    def values(points: Any) -> Array:
        keys = [np.ascontiguousarray(point).tobytes() for point in points]
        first = {key: place for place, key in enumerate(keys) if key not in known}  # of equal points one is drawn
        new = points[np.array(list(first.values()), int)]
        drawn = np.empty((len(numbers), len(new)))
        for g, functions in groups.items():
            drawn[numbers == g] = mixture.posteriors[g].likelihood.expected(functions(new))
        known.update(zip(first, drawn.T))
        return np.stack([known[key] for key in keys], axis=1) if keys else np.empty((len(numbers), 0))

    return values
