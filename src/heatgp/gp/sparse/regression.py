"""Regression of many data by a lower bound of the evidence, from statistics alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from ...covariance import Array, Evaluation, Kernel, TimeFunction
from ...threads import on_one_thread
from ..exact import evidence
from ..factors import JITTER, Dense, LowRank
from ..normal import Normal
from ..objective import Objective
from ..parameters import Given, Params, Priors, Time
from ..posterior import Posterior
from ..prior import MeanBasis, Prior, Targets, targets
from ..search import Bounds, exact_objective, free_times
from ..structure import Structure
from .compressed import Compressed, CompressedFactor, Explained
from .inducing import InducedKernel, Inducing
from .statistics import Statistics


@dataclass(frozen=True)
class SparseApproximation:
    """How good a sparse approximation is.

    Attributes
    ----------
    inducing : int, the number of inducing points.
    shortest_time : the shortest time, or times, that they were chosen for.
    lower, upper : float, bounds of the log evidence of all data; nan where the noise is not normal.
    gap : float, their difference.
    residual : float, the mean share of the prior variance of f that the inducing points leave unexplained.
    variance : float, the mean posterior variance of f at the data, of what the inducing points explain. Where the noise
        is not normal, the order of it.
    residual_share : float, what is left unexplained over the posterior variance.
    amplitude : float, the prior variance.
    """

    inducing: int
    shortest_time: Time
    lower: float
    upper: float
    residual: float
    variance: float
    amplitude: float

    structure: ClassVar[str] = "sparse"

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def words(self) -> str:
        """The model in words."""
        return f"sparse, {self.inducing:,} inducing points"

    @property
    def residual_share(self) -> float:
        """What is left unexplained over the posterior variance."""
        return self.amplitude * self.residual / self.variance


@dataclass(frozen=True)
class SparseData(Structure):
    """Data as points Z see them, and the basis of their mean."""

    inducing: Inducing
    statistics: Statistics
    start: Array  # (q,), coefficients of the basis that were subtracted from y
    known: float = 0.0  # the mean that was subtracted from y
    coefficient_scale: ArrayLike | None = None
    function: Callable[[Any], Array] | None = None  # the basis functions of points, where they are no more than that
    limited: tuple[int, ...] = ()  # the numbers of learned times below which the points are too few

    keeps_data: ClassVar[bool] = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))  # without what was computed

    def count(self, posterior: Posterior) -> int:
        return self.statistics.count

    def points(self, posterior: Posterior) -> Any:
        return self.inducing.sample

    def kernel(self, posterior: Posterior) -> Kernel:
        return self.inducing.kernel

    def approximation(self, posterior: Posterior) -> SparseApproximation:
        """How good the approximation is."""
        inducing, params, factor = self.inducing, posterior.params, posterior.factor
        left = inducing.unexplained(params.time)
        bound = LowRank.of(factor.values, 1.0 / _noise(params, len(factor.values)))
        variance = float(np.square(bound.whiten(bound.values)).sum()) / self.statistics.weight
        ends = posterior.log_marginal_likelihood, upper_bound(self, params)
        return SparseApproximation(len(inducing), inducing.time, *ends, left, variance, params.amplitude)

    def again(
        self, posterior: Posterior, kernel: Kernel, params: Params, pairs: Any = None, likelihood: Any = None
    ) -> Posterior:
        """The posterior at other parameters, or with another kernel.

        The inner products of the data are kept, not the data. So another kernel gives the covariance of f at the
        inducing points, and between them and new points; from there to the data f is interpolated as before.
        """
        data, inducing = self, self.inducing
        if kernel is not inducing.kernel:
            first = inducing.seen_with or inducing.kernel
            data = replace(data, inducing=replace(inducing, kernel=kernel, seen_with=first))
        return condition_sparse(data, params, posterior.noise_is_known)

    def objective(
        self, posterior: Posterior, bounds: Bounds, given: Given, priors: Any, pairs: Any, likelihood: Any
    ) -> tuple[Objective, Array]:
        objective = sparse_objective(self, bounds, given, priors).at("curvature")
        return objective, resolved_box(objective, self.inducing)

    @cached_property
    def rows(self) -> tuple[Array, Targets, MeanBasis]:
        """Rows of the features, (r, m), and the compressed targets: the last row is that of all that is left."""
        m = len(self.inducing)
        features, others, rest = self.statistics.compressed(m)
        features = np.vstack([features, np.zeros((1, m))])
        others = np.vstack([others, np.zeros((1, others.shape[1]))])
        y, H = others[:, -1].copy(), others[:, :-1]
        y[-1] = np.sqrt(rest)
        data, basis = targets(y, y, H if H.shape[1] else "zero", None, self.coefficient_scale)
        basis = replace(basis, function=self.function)
        statistics, flat = self.statistics, np.flatnonzero(data.precision == 0)
        weighted = statistics.gram[m : m + H.shape[1], m : m + H.shape[1]]
        sizes = [np.linalg.slogdet(gram[np.ix_(flat, flat)])[1] for gram in (statistics.basis, weighted)]
        data = replace(
            data,
            repeats=statistics.count - len(y),
            log_volume=0.5 * float(sizes[0] - sizes[1] - statistics.log_noise),
            start=data.start + np.linalg.solve(basis.transform, self.start),
            known=self.known,
        )
        return features, data, basis

    @cached_property
    def prior(self) -> Prior:
        """The covariance of the rows as a function of time."""
        features, inducing = self.rows[0], self.inducing
        # from f(Z) to rows: R L^-1
        to_rows = linalg.solve_triangular(inducing.lower, features.T, lower=True, trans=1, check_finite=False).T

        def at(time: Any) -> Evaluation:
            own, cross = inducing.covariances.at(time), inducing.cross.at(time)

            def value() -> Any:
                left = inducing.unexplained_of(own.value, cross.value)
                return Explained(to_rows @ own.value @ to_rows.T, left)

            def slopes() -> Any:
                changes = zip(own.slopes, cross.slopes)  # asked before the values: some kernels compute both
                positive = found.value.left > 0
                return [
                    Explained(to_rows @ dK @ to_rows.T, positive * inducing.beside_prior(dK, dk)) for dK, dk in changes
                ]

            found: Any = Evaluation(value, slopes)
            return found

        form = Compressed(self.statistics.weight, self.statistics.count - len(features))
        return Prior(TimeFunction(at), form)


def sparse_objective(data: SparseData, bounds: Bounds, given: Given, priors: Priors | str | None = None) -> Objective:
    """The lower bound of the evidence as a function of the logs of what is learned."""
    inducing, compressed = data.inducing, data.rows[1]
    return exact_objective(inducing.kernel, inducing.points, data.prior, compressed, bounds, given, priors)


def resolved_box(objective: Objective, inducing: Inducing) -> Array:
    """The box of the search, without times that are shorter than those of the inducing points."""
    box, given, kernel = objective.box, objective.given, inducing.kernel
    low = np.log(np.atleast_1d(inducing.time))
    for row, k in enumerate(given.free):  # times come first
        if k in free_times(kernel, given):
            box[row, 0] = low[k]
    return box


@on_one_thread(lambda data, *others: len(data.inducing))
def condition_sparse(data: SparseData, params: Params, noise_is_known: bool = False) -> Posterior:
    """The posterior of f at known parameters, with a lower bound of the log evidence.

    Reference: Titsias (2009), eq. 6 and 10.
    """
    features, compressed, basis = data.rows
    inducing, kernel = data.inducing, InducedKernel(data.inducing)
    ratio = _noise(params, len(features))
    lower = evidence(_bound(data, params, ratio), ratio, compressed, 1.0)
    Phi = np.sqrt(params.amplitude) * features @ kernel.root(params.time)
    found = evidence(LowRank.of(Phi, 1.0 / ratio), ratio, compressed, 1.0)
    # the mean is that of the bound; the spread is that of noise which includes what the points miss
    wider = ratio + params.amplitude * inducing.missed_as_noise(params.time, data.statistics.count)
    factor = LowRank.of(Phi, 1.0 / wider)
    spread = evidence(factor, wider, compressed, 1.0)
    return Posterior(
        kernel,
        inducing.points,
        compressed.y,
        params,
        Normal(None if noise_is_known else params.noise),
        factor,
        found.weights[:, 0],
        lower.value,
        compressed.known,
        basis,
        compressed.start + found.coefficients,
        spread.lower,
        spread.weights[:, 1:],
        structure=data,
    )


def upper_bound(data: SparseData, params: Params) -> float:
    """An upper bound of the log evidence.

    Reference: Titsias (2014), Variational inference for Gaussian and determinantal point processes.
    """
    features, compressed, _ = data.rows
    ratio = _noise(params, len(features))
    bound = _bound(data, params, ratio)
    # the determinant without what is lost; the quadratic form with all of it as noise
    total = evidence(replace(bound, left=0.0), ratio, compressed, 1.0)
    largest = ratio * (1.0 + bound.lost)
    of_largest = evidence(Dense.of(bound.values, 1.0 / largest), largest, compressed, 1.0)
    return float(total.value - 0.5 * (_quadratic(of_largest, compressed) - _quadratic(total, compressed)))


def _bound(data: SparseData, params: Params, ratio: Array) -> CompressedFactor:
    """The covariance of the rows, whose evidence is a lower bound of that of the data."""
    return data.prior.form.of(params.amplitude * data.prior.at(params.time)[0], 1.0 / ratio)


def _noise(params: Params, rows: int) -> Array:
    """The noise of each of so many rows of compressed data."""
    return np.full(rows, max(params.noise, JITTER * params.amplitude))


def _quadratic(found: Any, data: Targets) -> float:
    """What the targets add to -2 log p(y)."""
    residual = data.y - data.basis @ found.coefficients
    return float(residual @ found.weights[:, 0] + found.coefficients**2 @ data.precision)
