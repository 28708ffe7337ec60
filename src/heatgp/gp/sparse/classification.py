"""Classes of many data: expectation propagation in the features of inducing points, linear in N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...covariance import Array, Kernel
from ...errors import Unsupported
from ..classification import ClassPosterior, condition_classifier
from ..coupled_low_rank import CoupledLowRank, covariances
from ..ep import expectation_propagation
from ..kernels import PlusConstant
from ..linalg import LowRank
from ..multinomial import Multinomial
from ..params import Params
from ..pivoted import Root
from ..probit import Probit
from ..threads import of_data, on_one_thread
from .fit import LABEL
from .inducing import InducedKernel

TOLERANCE = 1e-4
"""The change of a site, in standard deviations of f, at which the inference of many labels ends."""
NUMBERS = 1 << 22
"""Numbers in memory at one time where new points are predicted, 32 MB."""


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


@dataclass(frozen=True)
class SparseClassPosterior(ClassPosterior):
    """A Gaussian process that has seen many labels -1 and 1: what the features of the inducing points tell of it."""

    number: int = 0

    @property
    def count(self) -> int:
        return self.number


def condition_sparse_classifier(
    kernel: InducedKernel, X: Any, y: Array, params: Params, likelihood: Probit, constant: bool
) -> SparseClassPosterior:
    """The posterior of f given many labels -1 or 1 at X, as `condition_classifier`; the data are not kept."""
    found = condition_classifier(kernel, X, y, params, likelihood=likelihood, constant=constant)
    factor = found.factor
    if not isinstance(factor, LowRank):  # there are as many features as labels
        features = found.kernel.features(X)
        assert features is not None
        factor = LowRank.of(np.sqrt(params.amplitude) * features.at(params.time).value, factor.precision)
    rank = len(factor.lower)
    parts = vars(found) | {
        "X": kernel.inducing.points,
        "y": np.empty(0),
        "factor": LowRank(np.eye(rank), np.ones(rank), factor.lower),
        "weights": factor.reduced(found.weights),
        "approximation": None,
        "number": len(y),
    }
    return SparseClassPosterior(**parts)


@dataclass(frozen=True)
class SparseJointPosterior:
    """One Gaussian process for each class that have seen many labels; methods are those of `JointPosterior`."""

    kernel: Kernel
    X: Array  # the inducing points
    params: Params
    likelihood: Multinomial
    weights: Array  # (rank, classes), of the features
    lower: Array  # the factor of the precision of the weights of all classes
    log_marginal_likelihood: float
    count: int

    @on_one_thread(lambda posterior, Xnew, *others: len(Xnew))
    def moments(self, Xnew: Any) -> tuple[Array, Array]:
        """Mean, (M, classes), and covariance, (M, classes, classes), of all f_c at each point."""
        a, time, classes = self.params.amplitude, self.params.time, self.likelihood.classes
        size = max(1, NUMBERS // (classes * len(self.lower)))
        means, spreads = [np.empty((0, classes))], [np.empty((0, classes, classes))]
        for start in range(0, len(Xnew), size):
            points = Xnew[start : start + size]
            features = self.kernel.features(points)
            assert features is not None
            values = features.at(time).value
            left = a * self.kernel.left_out(points, time, values)
            values = np.sqrt(a) * values
            means.append(values @ self.weights)
            spreads.append(covariances(self.lower, values.T) + left[:, None, None] * np.eye(classes))
        return np.concatenate(means), np.concatenate(spreads)

    def probabilities(self, Xnew: Any, label_noise: bool = True) -> Array:
        """The probability of each class, (M, classes); that of the largest f_c + u_c without `label_noise`."""
        likelihood = self.likelihood if label_noise else Multinomial(self.likelihood.classes)
        return likelihood.probabilities(*self.moments(Xnew))


@of_data
def condition_sparse_joint(
    kernel: InducedKernel, X: Any, y: Array, params: Params, likelihood: Multinomial, constant: bool
) -> SparseJointPosterior:
    """The posterior of one function for each class given many class numbers at X; the data are not kept."""
    full: Kernel = kernel
    if constant:
        full = PlusConstant(kernel, (1 + params.amplitude) / params.amplitude)
    features = full.features(X)
    assert features is not None
    root = Root(np.empty((0, 0)), np.sqrt(params.amplitude) * features.at(params.time).value, np.empty(0, int))
    found = expectation_propagation(
        lambda precision: CoupledLowRank.of(root, precision, y), likelihood, y, tolerance=TOLERANCE
    )
    weights = (found.weights @ root.F).T
    return SparseJointPosterior(
        full, kernel.inducing.points, params, likelihood, weights, found.factor.lower, found.log_evidence, len(y)
    )


def without_data(what: str) -> Unsupported:
    """The error for what needs data that a sparse model does not keep."""
    return Unsupported(f"{what} needs all data, which a sparse model does not keep. Use fewer data, dense.")
