"""Regression of many data by a lower bound of the evidence, from statistics alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...covariance import Array, Evaluation, TimeFunction
from ..fit import Bounds, Interval, objective_of
from ..latent import Latent
from ..linalg import JITTER, Dense, LowRank
from ..objective import RegressionObjective
from ..params import Given, Params
from ..prior import Prior
from ..priors import Priors
from ..regression import evidence
from ..targets import MeanBasis, Targets, targets
from .compressed import Compressed
from .inducing import InducedKernel, Inducing
from .statistics import Statistics


@dataclass(frozen=True)
class SparseData:
    """Data as points Z see them, and the basis of their mean."""

    inducing: Inducing
    statistics: Statistics
    start: Array  # (q,), coefficients of the basis that were subtracted from y
    known: float = 0.0  # the mean that was subtracted from y
    coefficient_scale: ArrayLike | None = None

    def rows(self) -> tuple[Array, Targets, MeanBasis]:
        """Rows of the features, (r, m), and the compressed targets: the last row is that of all that is left."""
        m = len(self.inducing)
        features, others, rest = self.statistics.compressed(m)
        features = np.vstack([features, np.zeros((1, m))])
        others = np.vstack([others, np.zeros((1, others.shape[1]))])
        y, H = others[:, -1].copy(), others[:, :-1]
        y[-1] = np.sqrt(rest)
        data, basis = targets(y, y, H if H.shape[1] else "zero", None, self.coefficient_scale)
        data = replace(
            data,
            repeats=self.statistics.count - len(y),
            log_volume=-0.5 * self.statistics.log_noise,
            start=data.start + np.linalg.solve(basis.transform, self.start),
            known=self.known,
        )
        return features, data, basis

    def prior(self, features: Array) -> Prior:
        """The covariance of the rows as a function of time."""
        to_rows = np.linalg.solve(self.inducing.lower.T, features.T).T  # f(Z) to rows: R L^-1
        inducing = self.inducing

        def at(time: Any) -> Evaluation:
            found = inducing.covariances.at(time)

            def slopes() -> Array:
                changes = to_rows @ found.slopes @ to_rows.T
                changes[:, -1, -1] = inducing.unexplained(time, found.value, found.slopes)[1]
                return changes

            def value() -> Array:
                K = to_rows @ found.value @ to_rows.T
                K[-1, -1] = inducing.unexplained(time, found.value)[0]
                return K

            return Evaluation(value, slopes)

        form = Compressed(self.statistics.weight, self.statistics.count - len(features))
        return Prior(TimeFunction(at), form)


def sparse_objective(
    data: SparseData, bounds: Bounds, given: Given, priors: Priors | str | None = None
) -> tuple[RegressionObjective, dict[str, Interval]]:
    """The lower bound of the evidence as a function of the logs of what is learned, and their intervals by name."""
    features, compressed, _ = data.rows()
    inducing = data.inducing
    prior = data.prior(features)
    return objective_of(inducing.kernel, inducing.points, prior, compressed, bounds, given, priors)


@dataclass(frozen=True)
class SparsePosterior(Latent):
    """A Gaussian process that has seen many data. What its features do not explain keeps its prior variance."""

    data: SparseData | None = None
    upper: float = np.inf  # an upper bound of the log evidence

    def _unexplained(self, points: Any, cross: Array) -> Array:
        assert self.data is not None
        prior = self.params.amplitude * self.data.inducing.kernel.diag(points, self.params.time)
        return np.maximum(prior - np.square(cross).sum(axis=1), 0.0)

    def _unexplained_pairs(self, points: Any, cross: Array) -> Array:
        assert self.data is not None
        prior = self.data.inducing.kernel.pairs(points).at(self.params.time).value
        return self.params.amplitude * prior - cross @ cross.T


def condition_sparse(data: SparseData, params: Params, noise_is_known: bool = False) -> SparsePosterior:
    """The posterior of f at known parameters, with a lower and an upper bound of the log evidence.

    Reference: Titsias (2009), eq. 6 and 10; Titsias (2014), Variational inference for Gaussian and determinantal point
    processes, for the upper bound.
    """
    features, compressed, basis = data.rows()
    inducing, kernel = data.inducing, InducedKernel(data.inducing)
    noise = max(params.noise, JITTER * params.amplitude)
    ratio = np.full(len(features), noise)
    prior = data.prior(features)
    K = params.amplitude * prior.at(params.time)[0]
    bound = prior.form.of(K, 1.0 / ratio)
    lower = evidence(bound, ratio, compressed, 1.0)
    # the determinant without what is lost; the quadratic form with all of it as noise
    total = evidence(replace(bound, left=0.0), ratio, compressed, 1.0)
    more = ratio + noise * bound.lost
    of_more = evidence(Dense.of(bound.values, 1.0 / more), more, compressed, 1.0)
    upper = total.value - 0.5 * (_quadratic(of_more, compressed) - _quadratic(total, compressed))
    Phi = np.sqrt(params.amplitude) * features @ kernel.root(params.time)
    factor = LowRank.of(Phi, 1.0 / ratio)
    found = evidence(factor, ratio, compressed, 1.0)
    return SparsePosterior(
        kernel,
        inducing.points,
        compressed.y,
        params,
        factor,
        found.weights,
        lower.value,
        compressed.known,
        basis,
        compressed.start + found.coefficients,
        found.lower,
        noise_is_known,
        data,
        float(upper),
    )


def _quadratic(found: Any, data: Targets) -> float:
    """What the targets add to -2 log p(y)."""
    residual = data.y - data.basis @ found.coefficients
    return float(residual @ found.weights[:, 0] + found.coefficients**2 @ data.precision)
