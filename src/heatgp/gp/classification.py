"""Gaussian process classification into two classes, -1 and 1, and into more, jointly or one against the rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import InvalidInput
from .approximation import Approximation
from .inference import LatentPosterior, condition_latent
from .latent import CHUNK
from .multinomial import Multinomial
from .params import Params
from .prior import Pairs
from .probit import WITHOUT_NOISE, Probit
from .threads import of_posterior


class ClassPosterior(LatentPosterior):
    """A Gaussian process f that has seen labels y = -1 or 1, P(y = 1) = Phi(f), but for label noise."""

    likelihood: Probit

    def probability(self, Xnew: Any) -> Array:
        """P(y = 1), with the uncertainty of f. Reference: Rasmussen & Williams (2006), Alg. 3.6, line 7."""
        return self.likelihood.probability(*self.moments(Xnew))

    def loo(self) -> Array:
        """P(y_i = 1) given all other labels, from the approximation of all: the prediction of the cavity."""
        return self.likelihood.probability(*self.approximation.cavities)


def condition_classifier(
    kernel: Kernel,
    X: Any,
    y: ArrayLike,
    params: Params,
    inference: str = "ep",
    pairs: Pairs = None,
    *,
    likelihood: Probit = WITHOUT_NOISE,
    constant: bool = False,
    start: Array | None = None,
) -> ClassPosterior:
    """The posterior of f given labels -1 or 1 at X; parameters as in `condition_latent`.

    Raises
    ------
    InvalidInput : if y holds other values, or the inference is not known.
    NotConverged : if the inference does not converge.
    """
    found = condition_latent(kernel, X, labels(X, y), params, likelihood, inference, constant, pairs, start)
    return ClassPosterior(**vars(found))


@dataclass(frozen=True)
class JointPosterior:
    """One Gaussian process f_c for each class, with the same prior, that have seen which class has the largest value.

    Reference: Riihimaki, Jylanki & Vehtari (2013), section 3.
    """

    kernel: Kernel
    X: Any
    y: Array
    params: Params
    likelihood: Multinomial
    approximation: Approximation

    @property
    def count(self) -> int:
        """How many data it has seen."""
        return len(self.X)

    @property
    def log_marginal_likelihood(self) -> float:
        """The approximate log evidence."""
        return self.approximation.log_evidence

    @of_posterior
    def moments(self, Xnew: Any) -> tuple[Array, Array]:
        """Mean, (M, classes), and covariance, (M, classes, classes), of all f_c at each point."""
        classes, size = len(self.approximation.mean), max(1, CHUNK // self.approximation.mean.size)
        means, covariances = [np.empty((0, classes))], [np.empty((0, classes, classes))]
        for start in range(0, len(Xnew), size):
            points = Xnew[start : start + size]
            cross = self.params.amplitude * self.kernel.pairs(points, self.X).at(self.params.time).value
            prior = self.params.amplitude * self.kernel.diag(points, self.params.time)
            mean, covariance = self._given(cross, prior)
            means.append(mean)
            covariances.append(covariance)
        return np.concatenate(means), np.concatenate(covariances)

    def probabilities(self, Xnew: Any, label_noise: bool = True) -> Array:
        """The probability of each class, (M, classes); that of the largest f_c + u_c without `label_noise`."""
        likelihood = self.likelihood if label_noise else Multinomial(self.likelihood.classes)
        return likelihood.probabilities(*self.moments(Xnew))

    @of_posterior
    def loo(self) -> Array:
        """The probabilities at X, (N, classes), each from all labels but its own: the sites of a point are taken out.

        The level is integrated out of the sites with precisions p and shifts q, which leaves a normal factor of f with
        precision diag(p) - p p' / sum(p) and shift q - p sum(q) / sum(p).
        """
        factor, shift = self.approximation.factor, self.approximation.shift.T
        size = max(1, CHUNK // shift.size)
        found = []
        for start in range(0, len(shift), size):
            part = slice(start, start + size)
            mean, covariance = self._given(factor.K[part], np.diagonal(factor.K)[part])
            p, q = factor.precision.T[part], shift[part]
            share = p / p.sum(axis=1, keepdims=True)
            precision = p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * share[:, None]
            left = np.eye(p.shape[1]) - covariance @ precision
            pull = mean - (covariance @ (q - share * q.sum(axis=1, keepdims=True))[..., None])[..., 0]
            center, spread = np.linalg.solve(left, pull[..., None])[..., 0], np.linalg.solve(left, covariance)
            found.append(self.likelihood.probabilities(center, (spread + spread.swapaxes(1, 2)) / 2))
        return np.concatenate(found)

    def _given(self, cross: Array, prior: Array) -> tuple[Array, Array]:
        """Mean and covariance at M points; `cross`, (M, N), are their covariances with the data, `prior` variances."""
        explained, of_level = self.approximation.factor.explained(cross)
        alone = np.maximum(prior - explained, 0.0).T
        return cross @ self.approximation.weights.T, of_level + alone[:, :, None] * np.eye(alone.shape[1])


def condition_joint(
    kernel: Kernel,
    X: Any,
    y: Array,
    params: Params,
    likelihood: Multinomial,
    constant: bool = False,
    pairs: Pairs = None,
    start: Array | None = None,
) -> JointPosterior:
    """The posterior of one function for each class given class numbers at X; parameters as in `condition_latent`.

    Raises
    ------
    NotConverged : if the inference does not converge.
    """
    found = condition_latent(kernel, X, y, params, likelihood, "ep", constant, pairs, start)
    return JointPosterior(found.kernel, X, y, params, likelihood, found.approximation)


def labels(X: Any, y: ArrayLike) -> Array:
    """Checked labels, one for each point."""
    signs = np.asarray(y, dtype=float)
    if signs.shape != (len(X),) or not len(X):
        raise InvalidInput(f"y has shape {signs.shape} and X {len(X)} points: one label for each of N >= 1 points.")
    for where in np.flatnonzero(np.abs(signs) != 1):
        raise InvalidInput(f"y[{where}] = {signs[where]} is not a label. Labels are -1 and 1.")
    return signs


def one_against_rest(probabilities: Array) -> Array:
    """Class probabilities (N, classes) from P(class against the rest): each row divided by its sum.

    >>> one_against_rest(np.array([[0.6, 0.3, 0.3]]))
    array([[0.5 , 0.25, 0.25]])
    """
    probabilities = np.maximum(probabilities, np.finfo(float).tiny)  # where all are zero, all classes are equal
    return probabilities / probabilities.sum(axis=1, keepdims=True)
