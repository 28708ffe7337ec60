"""Many observations that are not normal: parameters from some, then all of them in the features of inducing points."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...covariance import Array, Kernel
from ...errors import InvalidInput, NotConverged, NotPositiveDefinite, caught_warnings, warn_again
from ...threads import of_data
from ..classes import ClassesPosterior
from ..coupled_low_rank import CoupledFeatures, CoupledLowRank
from ..ep import expectation_propagation
from ..factors import LowRank
from ..inference import constant_variance
from ..likelihood import Likelihood
from ..parameters import Given, Params
from ..pivoted import Root
from ..posterior import Posterior, condition
from ..prior import Mean, observations
from ..search import Fit, free_times
from ..structure import Forgotten
from .fit import LIKELIER, SparseOptions, inducing_of, is_shorter, should_be_dense
from .inducing import InducedKernel, Inducing

TOLERANCE = 1e-4
"""The change of a site, in standard deviations of f, at which the inference of many labels ends."""
LEARNED = 2000
"""Data from which parameters are learned: some ten seconds."""
INFORMED = 0.9
"""The share of the observations that carry no more information than inducing points are chosen for."""
NEAR = 1000
"""Data near each other that are looked at: some seconds."""

Learned = tuple[Posterior, Fit | None]
"""A model, and the search for its parameters."""


@dataclass(frozen=True)
class SitesApproximation:
    """How good a sparse approximation is.

    Attributes
    ----------
    inducing : int, the number of inducing points.
    residual : float, the mean share of the prior variance of f that they leave unexplained.
    residual_share : float, the same over the order of the posterior variance.
    """

    inducing: int
    residual: float
    residual_share: float

    @classmethod
    def of(cls, inducing: Inducing, learned: Posterior, count: int) -> SitesApproximation:
        """From the inducing points of `count` data, and the model of the data that parameters were learned from."""
        params = learned.params
        left = inducing.unexplained(params.time)
        size = min(noise_of(learned) / params.amplitude * len(inducing) / count, 1.0)
        return cls(len(inducing), float(left), float(left / size))

    @property
    def words(self) -> str:
        """The model in words."""
        return f"sparse, {self.inducing:,} inducing points"


def noise_of(posterior: Posterior) -> float:
    """The variance of a normal observation of f that carries as much information as one of these.

    Most observations carry less: it is that of the `INFORMED` quantile of the precisions of their sites.
    """
    assert posterior.inferred is not None
    return 1.0 / max(float(np.quantile(posterior.inferred.precision, INFORMED)), 1e-100)


def learned_from_some(
    kernel: Kernel, given: Given, few: Array, near: Array | None, learn: Callable[[Array], Learned]
) -> tuple[Learned, Array]:
    """What `learn` finds from random data, or from data near each other, and the numbers of these data.

    Random data are far from each other and see nothing of short lengths. What is learned from near ones counts where
    times are shorter and these data are much more likely with it.

    Parameters
    ----------
    few, near : arrays of the numbers of data; no near ones are None.
    learn : function of such numbers.
    """
    found = learn(few)
    if near is None or not free_times(kernel, given):
        return found, few
    # a prior of times may have no mass within the bounds of near data
    failures = NotConverged, NotPositiveDefinite, InvalidInput
    with caught_warnings() as caught, contextlib.suppress(*failures):
        other = learn(near)
        new, old = other[0], found[0]
        same = new.again(kernel, old.params, likelihood=old.likelihood)
        gain = new.log_marginal_likelihood - same.log_marginal_likelihood
        if gain > LIKELIER and is_shorter(kernel, given, new.params, old.params):
            warn_again(caught)
            return other, near
    return found, few


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
) -> tuple[Posterior, Fit | None, SitesApproximation] | None:
    """Parameters from some of the data, and the posterior given all of them; None where the model should be dense.

    Parameters
    ----------
    few, near, learn : as in `learned_from_some`.
    sparse : SparseOptions
    options : `mean`, `coefficient_scale` and `offset` of `condition_sparse_sites`.
    """
    with caught_warnings() as caught:  # they are not true of a model that becomes dense
        (some, fit), _ = learned_from_some(kernel, given, few, near, learn)
    inducing = inducing_of(kernel, X, some.params, noise_of(some), sparse)
    if should_be_dense(inducing, len(X), sparse):
        return None
    warn_again(caught)
    induced = InducedKernel(inducing)
    posterior = condition_sparse_sites(induced, X, y, some.params, likelihood=some.likelihood, **options)
    return posterior, fit, SitesApproximation.of(inducing, some, len(X))


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
    data, _ = observations(X, y, mean)
    constant = constant_variance(likelihood, data, params.amplitude)
    features = kernel.features(X)
    assert features is not None
    values = np.sqrt(params.amplitude) * features.at(params.time).value
    values = np.hstack([values, np.full((len(values), 1), np.sqrt(constant))])
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
        constant=constant,
        **kept,
    )
