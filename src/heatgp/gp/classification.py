"""Gaussian process classification into two classes, -1 and 1, and more classes one against the rest."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import InvalidInput
from .ep import expectation_propagation
from .laplace import laplace
from .latent import Latent
from .params import Params
from .prior import Pairs, Prior
from .probit import Approximation, cavity, probability
from .threads import of_data

INFERENCE: dict[str, Callable[..., Approximation]] = {"ep": expectation_propagation, "laplace": laplace}


@dataclass(frozen=True)
class ClassPosterior(Latent):
    """A Gaussian process f that has seen labels y = -1 or 1, P(y = 1) = Phi(f). The evidence is approximate.

    Reference: Rasmussen & Williams (2006), Alg. 3.6, lines 4 to 6, and Alg. 3.2 for the moments of f.
    """

    approximation: Approximation = field(kw_only=True)

    def probability(self, Xnew: Any) -> Array:
        """P(y = 1), with the uncertainty of f. Reference: Rasmussen & Williams (2006), Alg. 3.6, line 7."""
        return probability(*self.moments(Xnew))

    def loo(self) -> Array:
        """P(y_i = 1) given all other labels, from the approximation of all: the prediction of the cavity."""
        found = self.approximation
        return probability(*cavity(found.mean, found.variance, *found.sites))


@of_data
def condition_classifier(
    kernel: Kernel, X: Any, y: ArrayLike, params: Params, inference: str = "ep", pairs: Pairs = None
) -> ClassPosterior:
    """The posterior of f given labels -1 or 1 at X.

    Parameters
    ----------
    kernel : Kernel, the covariance. Its features are used, in time linear in N, where it has fewer than N.
    X : array of N points, the first axis.
    y : array (N,) of labels -1 and 1.
    params : Params; the noise is not used.
    inference : "ep" (default), expectation propagation, or "laplace".
    pairs : `kernel.pairs(X)` where the caller has it already, default None.

    Returns
    -------
    ClassPosterior.

    Raises
    ------
    InvalidInput : if y holds other values, or the inference is not known.
    NotConverged : if the inference does not converge.
    """
    signs = labels(X, y)
    approximate = chosen(inference)
    prior = Prior.of(kernel, X, params.time, pairs)
    values = params.amplitude**prior.form.power * prior.at(params.time)[0]
    found = approximate(lambda precision: prior.form.of(values, precision), signs)
    factor, weights = found.factor, found.weights[:, None]
    return ClassPosterior(kernel, X, signs, params, factor, weights, found.log_evidence, approximation=found)


def chosen(inference: str) -> Callable[..., Approximation]:
    """The function of this name."""
    if not (isinstance(inference, str) and inference in INFERENCE):
        raise InvalidInput(f'inference = "{inference}" is not known. Use "ep" or "laplace".')
    return INFERENCE[inference]


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
