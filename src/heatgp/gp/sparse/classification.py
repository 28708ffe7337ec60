"""Classes of many data: expectation propagation in the features of inducing points, linear in N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...covariance import Array, Kernel
from ..classes import ClassesPosterior, condition_classes
from ..coupled_low_rank import CoupledFeatures, CoupledLowRank
from ..ep import expectation_propagation
from ..kernels import PlusConstant
from ..linalg import LowRank
from ..multinomial import Multinomial
from ..params import Params
from ..pivoted import Root
from ..posterior import Forgotten, Posterior
from ..probit import Probit
from ..threads import of_data
from .fit import LABEL
from .inducing import InducedKernel

TOLERANCE = 1e-4
"""The change of a site, in standard deviations of f, at which the inference of many labels ends."""


@dataclass(frozen=True)
class SparseClassApproximation:
    """How good a sparse approximation is, of the models of all classes.

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
        cls, kernels: Sequence[InducedKernel], params: Sequence[Params], count: int, learned_from: int
    ) -> SparseClassApproximation:
        """From the models of all classes, `count` labels each."""
        models = [(kernel.inducing, each) for kernel, each in zip(kernels, params)]
        left = [points.unexplained(each.time, points.covariances.at(each.time).value)[0] for points, each in models]
        size = [min(LABEL / each.amplitude * len(points) / count, 1.0) for points, each in models]
        shares = [part / whole for part, whole in zip(left, size)]
        return cls(min(len(points) for points, _ in models), float(max(left)), float(max(shares)), learned_from)

    @property
    def words(self) -> str:
        """The model in words."""
        return f"sparse, {self.inducing:,} inducing points"


@of_data
def condition_sparse_classes(
    kernel: InducedKernel, X: Any, y: Array, params: Params, likelihood: Probit | Multinomial, mean: str
) -> Posterior:
    """The posterior given many labels -1 or 1, or numbers of classes, as `condition_classes`; the data are not kept."""
    kept: dict[str, Any] = {"X": kernel.inducing.points, "y": y[:0], "inferred": None, "structure": Forgotten(len(y))}
    if likelihood.functions is None:
        found = condition_classes(kernel, X, y, params, likelihood, mean=mean)
        factor = found.factor
        if not factor.of_features:  # there are as many features as labels
            features = found.kernel.features(X)
            assert features is not None
            factor = LowRank.of(np.sqrt(params.amplitude) * features.at(params.time).value, factor.precision)
        rank, weights = len(factor.lower), factor.reduced(found.weights)
        return replace(found, factor=LowRank(np.eye(rank), np.ones(rank), factor.lower), weights=weights, **kept)
    full: Kernel = kernel
    if mean == "constant":
        full = PlusConstant(kernel, (1 + params.amplitude) / params.amplitude)
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
