"""The posterior of a latent function for any likelihood: expectation propagation, or Laplace's approximation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..covariance import Array, Kernel
from ..errors import InvalidInput, NotConverged
from .approximation import Approximation, Factorise
from .ep import expectation_propagation
from .kernels import PlusConstant
from .laplace import laplace
from .latent import Latent
from .latent_objective import LatentObjective
from .likelihood import Likelihood, NormalMixture
from .params import Given, Params
from .prior import Pairs, Prior
from .threads import of_data
from .variational import variational


def converging_ep(
    factorise: Factorise, likelihood: Likelihood, y: Array, start: Array | None = None, **options: Any
) -> Approximation:
    """Expectation propagation; where it does not converge, a variational approximation, if the likelihood has one."""
    try:
        return expectation_propagation(factorise, likelihood, y, start, **options)
    except NotConverged:
        if not isinstance(likelihood, NormalMixture):
            raise
    return variational(factorise, likelihood, y)


INFERENCE: dict[str, Callable[..., Approximation]] = {"ep": converging_ep, "laplace": laplace}


@dataclass(frozen=True)
class LatentPosterior(Latent):
    """A Gaussian process f that has seen observations of any law. The evidence is approximate.

    Reference: Rasmussen & Williams (2006), Alg. 3.6, lines 4 to 6, and Alg. 3.2 for the moments of f.
    """

    likelihood: Likelihood = field(kw_only=True)
    approximation: Approximation = field(kw_only=True)


@of_data
def condition_latent(
    kernel: Kernel,
    X: Any,
    y: Array,
    params: Params,
    likelihood: Likelihood,
    inference: str = "ep",
    constant: bool = False,
    pairs: Pairs = None,
    start: Array | None = None,
) -> LatentPosterior:
    """The posterior of f given observations at X.

    Parameters
    ----------
    kernel : Kernel, the covariance. Its features are used, in time linear in N, where it has fewer than N.
    X : array of N points, the first axis.
    y : array (N,) of observations as the likelihood takes them.
    params : Params; the noise is not used.
    likelihood : Likelihood, all of whose parameters have a value.
    inference : "ep" (default), expectation propagation, or "laplace".
    constant : bool, default False. Whether f has a constant added, of variance 1 + prior variance.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.
    start : array, default None. The sites where the inference starts, from a fit or from a similar prior.

    Returns
    -------
    LatentPosterior.

    Raises
    ------
    InvalidInput : if the inference is not known.
    NotConverged : if the inference does not converge.
    """
    prior = Prior.of(kernel, X, params.time, pairs, dense=likelihood.functions is not None)
    times = tuple(np.atleast_1d(params.time).tolist())
    given = Given(times, params.amplitude, 0.0)
    approximate = chosen(inference)
    if likelihood.functions is not None and start is not None:
        approximate = partial(approximate, tolerance=1e-4)  # as in the fit; probabilities are right to 5e-4
    objective = LatentObjective(prior, y, given, likelihood, approximate, constant)
    if start is not None:
        objective.last[:] = [start]
    found = objective.approximation(np.empty(0))
    if constant:
        variance = params.amplitude * prior.height(prior.at(params.time)[0])
        kernel = PlusConstant(kernel, (1 + variance) / params.amplitude)
    return LatentPosterior(
        kernel,
        X,
        y,
        params,
        found.factor,
        found.weights[..., None],
        found.log_evidence,
        likelihood=likelihood,
        approximation=found,
    )


def chosen(inference: str) -> Callable[..., Approximation]:
    """The function of this name."""
    if not (isinstance(inference, str) and inference in INFERENCE):
        raise InvalidInput(f'inference = "{inference}" is not known. Use "ep" or "laplace".')
    return INFERENCE[inference]
