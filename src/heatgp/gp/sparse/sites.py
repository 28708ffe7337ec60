"""Many observations that are not normal: parameters from some, then all of them in the features of inducing points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...covariance import Array, Kernel
from ...errors import caught_warnings, warn_again
from ...threads import of_data
from ..classes import ClassesPosterior
from ..coupled_low_rank import CoupledFeatures, CoupledLowRank
from ..ep import expectation_propagation
from ..factors import LowRank
from ..inference import coefficient_prior
from ..likelihood import Likelihood
from ..parameters import Given, Params
from ..pivoted import Root
from ..posterior import Posterior, condition
from ..prior import Mean, observations
from ..structure import Forgotten
from .fit import Learned, SparseOptions, inducing_of, learned_from_some, should_be_dense
from .inducing import InducedKernel
from .regression import SparseApproximation

TOLERANCE = 1e-4
"""The change of a site, in standard deviations of f, at which the inference of many labels ends."""
LEARNED = 2000
"""Data from which parameters are learned: some ten seconds."""
INFORMED = 0.9
"""The share of the observations that carry no more information than inducing points are chosen for."""
NEIGHBORS = 1000
"""Data near each other that are looked at: some seconds."""


def noise_of(posterior: Posterior) -> float:
    """The variance of a normal observation of f that carries as much information as one of these.

    Most observations carry less: it is that of the `INFORMED` quantile of the precisions of their sites.
    """
    assert posterior.inferred is not None
    return 1.0 / max(float(np.quantile(posterior.inferred.precision, INFORMED)), 1e-100)


def fit_sites(
    kernel: Kernel,
    X: Any,
    y: Array,
    given: Given,
    few: Array,
    near: Array | None,
    learn: Callable[[Array], Learned],
    sparse: SparseOptions,
    **options: Any,
) -> Learned | None:
    """Parameters from some of the data, and the posterior given all of them; None where the model should be dense.

    Parameters
    ----------
    few, near : arrays of the numbers of random data, and of data near each other; no near ones are None.
    learn : function of such numbers, as in `learned_from_some`.
    sparse : SparseOptions
    options : `mean`, `coefficient_scale` and `offset` of `condition_sparse_sites`.
    """
    with caught_warnings() as caught:  # they are not true of a model that becomes dense
        some, fit = learned_from_some(kernel, given, learn, few, lambda _: near)[0]
    params, noise = some.params, noise_of(some)
    inducing = inducing_of(kernel, X, params, noise, sparse)
    if should_be_dense(inducing, len(X), sparse):
        return None
    warn_again(caught)
    posterior = condition_sparse_sites(InducedKernel(inducing), X, y, params, likelihood=some.likelihood, **options)
    left, number = float(inducing.unexplained(params.time)), len(inducing)
    variance = min(noise * number / len(X), params.amplitude)  # of the order of the posterior variance
    approximation = SparseApproximation(number, inducing.time, np.nan, np.nan, left, variance, params.amplitude)
    return replace(posterior, structure=Forgotten(len(X), approximation)), fit


@of_data
def condition_sparse_sites(
    kernel: InducedKernel,
    X: Any,
    y: Array,
    params: Params,
    likelihood: Likelihood,
    mean: Mean,
    coefficient_scale: ArrayLike | None = None,
    offset: Any = 0.0,
) -> Posterior:
    """The posterior given many observations as the likelihood takes them, as `condition`; the data are not kept."""
    kept: dict[str, Any] = {"X": kernel.inducing.points, "y": y[:0], "inferred": None, "structure": Forgotten(len(y))}
    if likelihood.functions is None:
        own = {"coefficient_scale": coefficient_scale, "offset": offset}
        found = condition(kernel, X, y, params, mean, likelihood=likelihood, **own)
        factor = found.factor
        if not factor.of_features:  # there are as many features as data
            features = found.kernel.features(X)
            assert features is not None
            factor = LowRank.of(np.sqrt(params.amplitude) * features.at(params.time).value, factor.precision)
        rank, weights, solved = len(factor.lower), factor.reduced(found.weights), factor.reduced(found.solved)
        factor = LowRank(np.eye(rank), np.ones(rank), factor.lower)
        return replace(found, factor=factor, weights=weights, solved=solved, **kept)
    data, basis = observations(X, y, mean)
    variances = 1.0 / coefficient_prior(likelihood, data, params.amplitude)[0]
    features = kernel.features(X)
    assert features is not None
    values = np.sqrt(params.amplitude) * features.at(params.time).value
    values = np.hstack([values, data.basis * np.sqrt(variances)])
    root = Root(np.empty((0, 0)), values, np.empty(0, int))
    joint = expectation_propagation(
        lambda precision: CoupledLowRank.of(root, precision, y), likelihood, y, tolerance=TOLERANCE
    )
    return ClassesPosterior(
        kernel,
        params=params,
        likelihood=likelihood,
        factor=CoupledFeatures(joint.factor.lower),
        weights=root.F.T @ joint.weights.T,
        inner=np.empty((0, likelihood.functions)),
        log_marginal_likelihood=joint.log_evidence,
        options={"mean": mean},
        trend=basis,
        columns=data.basis[:0],
        variances=variances,
        **kept,
    )
