"""Many observations that are not normal: parameters from some, then all of them in the features of inducing points."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...covariance import Array, Kernel
from ...errors import InvalidInput, NotConverged, NotPositiveDefinite, caught_warnings, warn_again
from ...threads import of_data
from ..classes import ClassesPosterior
from ..coupled_low_rank import CoupledFeatures, CoupledLowRank
from ..ep import expectation_propagation
from ..factors import LowRank
from ..kernels import PlusConstant
from ..likelihood import Likelihood
from ..parameters import Given, Params
from ..pivoted import Root
from ..posterior import Forgotten, Posterior, condition
from ..search import Fit, free_times
from .fit import LIKELIER, is_shorter
from .inducing import InducedKernel

TOLERANCE = 1e-4
"""The change of a site, in standard deviations of f, at which the inference of many labels ends."""
LEARNED = 2000
"""Data from which parameters are learned: some ten seconds."""
INFORMED = 0.9
"""The share of the observations that carry no more information than inducing points are chosen for."""
NEAR = 1000
"""Data near each other that are looked at: some seconds."""

Learned = list[tuple[Posterior, Fit | None]]
"""One or several models, and the searches for their parameters."""


@dataclass(frozen=True)
class SitesApproximation:
    """How good a sparse approximation is, of one or several models.

    Attributes
    ----------
    inducing : int, the number of inducing points; the least of several models.
    residual : float, the mean share of the prior variance of f that they leave unexplained; the largest.
    residual_share : float, the same over the order of the posterior variance; the largest.
    learned_from : int, the number of data that the parameters were learned from.
    """

    inducing: int
    residual: float
    residual_share: float
    learned_from: int

    @classmethod
    def of(
        cls, kernels: Sequence[InducedKernel], learned: Sequence[Posterior], count: int, learned_from: int
    ) -> SitesApproximation:
        """From models of some data, and the inducing points of `count` data for each of them."""
        models = [(kernel.inducing, each) for kernel, each in zip(kernels, learned)]
        left = []
        for points, each in models:
            time = each.params.time
            left.append(points.unexplained(time, points.covariances.at(time).value)[0])
        size = [min(noise_of(each) / each.params.amplitude * len(points) / count, 1.0) for points, each in models]
        shares = [part / whole for part, whole in zip(left, size)]
        return cls(min(len(points) for points, _ in models), float(max(left)), float(max(shares)), learned_from)

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
        both = [(new, old) for (new, _), (old, _) in zip(other, found)]
        known = (new.again(kernel, old.params, likelihood=old.likelihood) for new, old in both)
        gain = sum(new.log_marginal_likelihood - same.log_marginal_likelihood for (new, _), same in zip(both, known))
        if gain > LIKELIER and any(is_shorter(kernel, given, new.params, old.params) for new, old in both):
            warn_again(caught)
            return other, near
    return found, few


@of_data
def condition_sparse_sites(
    kernel: InducedKernel, X: Any, y: Array, params: Params, likelihood: Likelihood, mean: str
) -> Posterior:
    """The posterior given many observations as the likelihood takes them, as `condition`; the data are not kept."""
    kept: dict[str, Any] = {"X": kernel.inducing.points, "y": y[:0], "inferred": None, "structure": Forgotten(len(y))}
    if likelihood.functions is None:
        found = condition(kernel, X, y, params, mean, likelihood=likelihood)
        factor = found.factor
        if not factor.of_features:  # there are as many features as data
            features = found.kernel.features(X)
            assert features is not None
            factor = LowRank.of(np.sqrt(params.amplitude) * features.at(params.time).value, factor.precision)
        rank, weights = len(factor.lower), factor.reduced(found.weights)
        return replace(found, factor=LowRank(np.eye(rank), np.ones(rank), factor.lower), weights=weights, **kept)
    full: Kernel = kernel
    if mean == "constant":
        full = PlusConstant(kernel, (likelihood.unit**2 + params.amplitude) / params.amplitude)
    features = full.features(X)
    assert features is not None
    root = Root(np.empty((0, 0)), np.sqrt(params.amplitude) * features.at(params.time).value, np.empty(0, int))
    joint = expectation_propagation(
        lambda precision: CoupledLowRank.of(root, precision, y), likelihood, y, tolerance=TOLERANCE
    )
    return ClassesPosterior(
        full,
        params=params,
        likelihood=likelihood,
        factor=CoupledFeatures(joint.factor.lower),
        weights=joint.weights @ root.F,
        log_marginal_likelihood=joint.log_evidence,
        options={"mean": mean, "method": "ep"},
        **kept,
    )
