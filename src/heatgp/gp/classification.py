"""Gaussian process classification into two classes, -1 and 1, and more classes one against the rest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import InvalidInput
from .inference import LatentPosterior, condition_latent
from .params import Params
from .prior import Pairs
from .probit import Probit


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
    likelihood: Probit = Probit(),  # noqa: B008
    constant: bool = False,
) -> ClassPosterior:
    """The posterior of f given labels -1 or 1 at X; parameters as in `condition_latent`.

    Raises
    ------
    InvalidInput : if y holds other values, or the inference is not known.
    NotConverged : if the inference does not converge.
    """
    found = condition_latent(kernel, X, labels(X, y), params, likelihood, inference, constant, pairs)
    return ClassPosterior(**vars(found))


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
