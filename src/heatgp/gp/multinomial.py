"""Several classes: that of the largest function, after noise is added, where a class may be overlooked."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import qmc

from ..covariance import Array
from .label_noise import LabelLikelihood, with_label_noise
from .probit import hazard

NODES = 1024
"""Nodes of the integral over several functions: its root mean square error is about 5e-4."""
NEGLIGIBLE = 1e-6
"""The probability that so many classes are overlooked that it does not matter which."""
CHUNK = 2**21
"""Values of functions at nodes in memory at one time: a few arrays of 16 MB."""


@dataclass(frozen=True)
class Multinomial(LabelLikelihood):
    """p(y = c | f) = P(f_c + u_c is the largest), u_j independent and standard normal, but for label noise.

    With s = f_y + u_y that is the integral over s of

        N(s - f_y; 0, 1) times the product over the other classes of Phi(s - f_j),

    so that in g_c = f_c - s every factor has one variable. Label noise keeps this form: each class is overlooked with
    probability e, independently, and the label is the largest of the others. The factors are then (1 - e) Phi + e, and
    1 - label_noise = (1 - e)^classes is the probability that none is overlooked. For two classes this is the label
    noise of `Probit`. That all are overlooked, with probability e^classes, is left out.

    Parameters
    ----------
    classes : int, the number of classes; labels are 0, ..., classes - 1.
    label_noise : number from 0 to 1, default 0; None to learn it.

    Reference: Girolami & Rogers (2006), eq. 4 to 7; Riihimaki, Jylanki & Vehtari (2013), eq. 19 and section 3.
    """

    classes: int
    label_noise: float | None = 0.0

    @property
    def functions(self) -> int:
        return self.classes

    @property
    def overlooked(self) -> float:
        """The probability e that a class is overlooked."""
        assert self.label_noise is not None  # inference is done at known parameters
        return float(-np.expm1(np.log1p(-self.label_noise) / self.classes))

    def tilted(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Of independent g_c ~ N(mean, variance), (classes, N); the normal factor of the class y is in `Coupled`."""
        scale = np.sqrt(1.0 + variance)
        z = -mean / scale
        h = hazard(z)
        terms = with_label_noise(log_ndtr(z), -h / scale, h * (z + h) / scale**2, self.overlooked, 1)
        other = np.arange(self.classes)[:, None] != y
        log_z, first, curvature = (other * term for term in terms)
        return log_z.sum(axis=0) + np.log1p(-self.overlooked), first, curvature

    def probabilities(self, mean: Array, covariance: Array) -> Array:
        """The probability of each class, (N, classes), for f ~ N(mean, covariance), (N, classes) and its matrices."""
        return largest(mean, covariance + np.eye(self.classes), self.overlooked)


def probits(probabilities: Array) -> Array:
    """Phi^-1(P) of the rows, (N, classes), of which each adds up to one; without loss where P is near one.

    >>> probits(np.array([[1.0, 1e-20]])).round(2)
    array([[ 9.26, -9.26]])
    """
    probabilities = np.maximum(probabilities, np.finfo(float).tiny)
    total = probabilities.sum(axis=1, keepdims=True)
    rest = np.stack([np.delete(probabilities, c, axis=1).sum(axis=1) for c in range(probabilities.shape[1])], axis=1)
    return np.where(probabilities < rest, ndtri(probabilities / total), -ndtri(rest / total))


def largest(mean: Array, covariance: Array, overlooked: float = 0.0) -> Array:
    """P(w_c is the largest), (N, classes), for w ~ N(mean, covariance), by integration over fixed quasi-random nodes.

    At each node w_c is integrated in closed form given the others, so that small probabilities are not lost. The nodes
    are the same for all points: the result is a smooth function of mean and covariance, without random noise.

    Parameters
    ----------
    mean : array (N, classes).
    covariance : array (N, classes, classes), positive definite.
    overlooked : number from 0 to 1, default 0. Each w_c is left out with this probability, but never all of them.

    Examples
    --------
    >>> largest(np.array([[0.0, 0.0]]), np.eye(2)[None])
    array([[0.5, 0.5]])
    """
    found = np.empty_like(mean)
    size = max(1, CHUNK // (NODES * mean.shape[1]))
    for start in range(0, len(mean), size):
        part = slice(start, start + size)
        found[part] = _largest(mean[part], covariance[part], overlooked)
    return found / found.sum(axis=1, keepdims=True)


def _largest(mean: Array, covariance: Array, overlooked: float) -> Array:
    classes = mean.shape[1]
    moved = np.linalg.cholesky(covariance) @ nodes(classes)
    inverse = np.linalg.inv(covariance)
    precision = np.diagonal(inverse, axis1=1, axis2=2)[..., None]  # that of w_c given the others
    center = mean[..., None] + moved - inverse @ moved / precision
    moved += mean[..., None]
    ordered = -np.sort(-moved, axis=1)  # the largest first
    found, weight = np.zeros_like(mean), 1.0
    for rank in range(classes - 1):  # c is larger than this one of the others, and all above are overlooked
        others = np.where(moved < ordered[:, rank, None], ordered[:, rank, None], ordered[:, rank + 1, None])
        found += weight * (1 - overlooked) * ndtr((center - others) * np.sqrt(precision)).mean(axis=-1)
        weight *= overlooked
        if weight < NEGLIGIBLE:
            return found
    return found + weight


@cache
def nodes(dimensions: int) -> Array:
    """Quasi-random standard normal points, (dimensions, NODES): half of them, and their mirror images."""
    half = ndtri(qmc.Sobol(dimensions, scramble=True, rng=0).random(NODES // 2)).T
    return np.hstack([half, -half])
