"""Regression of many data whose functions are so rough that no few points carry them: each prediction is local.

Where correlations are short, f at a point depends on the data near it alone. New points are taken in groups of near
ones. Each group is predicted from all data whose correlation with its centre is above a small number, by a dense or a
sparse model. Parameters maximise the evidence of some neighbourhoods that count as independent. What these know of the
coefficients of the mean is the prior of each local model.

References: Stein, Chi & Welty (2004), Varin, Reid & Firth (2011) for the evidence of parts of the data; Gramacy & Apley
(2015) for local predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...covariance import Array, Evaluation, Kernel, TimeFunction
from ...errors import Unsupported
from ...threads import on_all_threads
from ..exact import Evidence, evidence
from ..factors import JITTER, Dense, draw
from ..normal import Normal
from ..objective import Objective
from ..parameters import Given, Params, Priors, Time
from ..posterior import Posterior, condition
from ..prior import MeanBasis, Prior, Targets, targets, typical_noise
from ..search import Bounds, Fit, exact_objective, fit_from
from .blocks import Blocks
from .fit import Problem, allowed, noise_ratio
from .inducing import Inducing
from .regression import SparseData, condition_sparse
from .source import Chunk, Source, statistics_of

WINDOWS = (
    (0.99, 0.9), (0.98, 0.8), (0.95, 0.7), (0.9, 0.5), (0.8, 0.2), (0.6, 0.05), (0.4, 1e-2), (0.3, 1e-3), (0.2, 1e-4),
    (0.2, 1e-6), (0.2, 1e-8), (0.2, 1e-10), (0.5, 1e-12),
)  # fmt: skip
"""Correlations with the centre of a group: down to the first new points belong to it, down to the second data count.

The first window that is wide enough is taken.
"""
BLOCKS = 64
"""Neighbourhoods from which parameters are learned."""
EACH = 256
"""Data of each of them."""
CLOSE = 0.25
"""The largest change of a prediction from a window to the next at which that is wide enough, over the tolerance."""
LEAST = 32
"""Near data from which on a window may be wide enough."""
SAME = 1.0 - 1e-10
"""The correlation from which on two data are at one place."""
MORE = 1.1
"""The growth of their number from one window that is looked at to the next."""
LOOKS = 32
"""Points on which errors are estimated."""
SMALL = 500
"""Data up to which a local model is dense at once."""
DENSE = 3000
"""Data up to which a local model may be dense: some seconds."""
WORK = 1e10
"""Operations of a local model at most, n m² of m inducing points: a second."""
CANDIDATES = 5000
"""Data among which these are chosen."""


@dataclass(frozen=True)
class LocalApproximation:
    """What local predictions are made from.

    Attributes
    ----------
    data : float, the mean number of data near a group of new points.
    window : tuple of two floats, correlations with the centre of a group: down to the first new points belong to it,
        down to the second data count.
    error : float, the most that a prediction of some data changed with the last data that were added: its mean over
        the prior standard deviation of y, or its standard deviation of f relative to itself.
    error_of_means : float, the same of means alone.
    """

    data: float
    window: tuple[float, float]
    error: float
    error_of_means: float = np.inf

    structure: ClassVar[str] = "local"

    @property
    def words(self) -> str:
        """The model in words."""
        return f"local, predictions from {self.data:,.0f} near data each"


@dataclass(frozen=True)
class LocalPosterior(Posterior):
    """A Gaussian process that has seen many data, and keeps them."""

    data: Chunk = field(kw_only=True)
    rows: Array = field(kw_only=True)  # (b, n), the neighbourhoods whose evidence is maximised
    tolerance: float = field(kw_only=True)
    coefficient_scale: ArrayLike | None = field(kw_only=True)
    window: LocalApproximation = LocalApproximation(0.0, WINDOWS[0], np.inf)

    @property
    def approximation(self) -> LocalApproximation:
        return self.window

    def again(self, kernel: Kernel, params: Params, pairs: Any = None, likelihood: Any = None) -> LocalPosterior:
        """The posterior of the same data at other parameters."""
        likelihood = self.likelihood if self.noise_is_known else Normal(params.noise)
        moved = replace(self, kernel=kernel, params=params, likelihood=likelihood)
        found, data, basis = local_evidence(moved)
        return replace(
            moved,
            log_marginal_likelihood=found.value,
            basis=replace(basis, function=self.basis.function),
            inner=data.start + found.coefficients,
            lower=found.lower,
        )

    def objective(
        self, bounds: Bounds, given: Given, priors: Any = None, pairs: Any = None, likelihood: Any = None
    ) -> tuple[Objective, Array]:
        objective = local_objective(self, bounds, given, priors).at("curvature")
        return objective, objective.box

    def latent_mean(self, Xnew: Any) -> Array:
        return self.latent(Xnew)[0]

    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        variance = np.empty(len(Xnew))
        mean, columns = self._mean_of_y(self.basis.at(Xnew))
        mean = self.offset + mean
        window, near = self.window.window, self.window.data
        groups = list(grouped(self.kernel, Xnew, self.params.time, window[0]))

        def predicted(group: Array) -> tuple[Array, Array]:
            points = Xnew[group]
            return self.near(points[:1]).with_basis(columns[group]).latent(points)

        operations = len(groups) * (self.count + min(near**3 / 3, WORK))
        for group, found in zip(groups, on_all_threads(predicted, groups, operations)):
            mean[group] += found[0]
            variance[group] = found[1]
        return mean, variance

    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        """Those of the model of each group of points, with the data that are near it now."""
        mean, columns = self._mean_of_y(self.basis.at(Xnew))
        of_columns = np.einsum("mq...,qr->mr...", of_basis, self.basis.transform)
        of_mean = np.einsum("mq...,q->m...", of_columns, self.inner)
        inverse = self._whitened_basis(np.eye(len(self.lower)))
        of_columns = np.einsum("rq,mq...->mr...", inverse, of_columns)
        variance, of_variance = np.empty(len(Xnew)), np.empty_like(of_mean)
        for group in grouped(self.kernel, Xnew, self.params.time, self.window.window[0]):
            points = Xnew[group]
            found = self.near(points[:1]).with_basis(columns[group]).gradients(points, of_columns[group])
            mean[group] += found[0]
            variance[group] = found[1]
            of_mean[group] += found[2]
            of_variance[group] = found[3]
        return self.offset + mean, variance, of_mean, of_variance

    def latent_covariance(self, Xnew: Any) -> Array:
        return self._jointly(Xnew)[1]

    def sample(self, Xnew: Any, rng: Any, size: int = 1) -> Array:
        return draw(*self._jointly(Xnew), rng, size)

    def _jointly(self, Xnew: Any) -> tuple[Array, Array]:
        """Mean and covariance of all points, from the data near any of them."""
        if self.is_large(Xnew):
            raise Unsupported(
                f"{len(self._near(Xnew).y):,} data are near {len(Xnew)} points, too many for their covariance in a "
                "local model. Ask for points that are near each other, or for standard deviations."
            )
        mean, columns = self._mean_of_y(self.basis.at(Xnew))
        model = self.near(Xnew).with_basis(columns)
        return self.offset + mean + model.latent_mean(Xnew), model.latent_covariance(Xnew)

    def loo(self) -> tuple[Array, Array]:
        raise Unsupported(
            "leave-one-out predictions are not known for local models. Hold data out and predict them, or use "
            'inference="dense".'
        )

    def near(self, points: Any, without: Array | None = None) -> Posterior:
        """The model of all data near some points: in few points where these carry the covariance, else dense.

        It is that of f and of the mean less what is known of it; `without` are numbers of data that are left out.
        """
        data, params = self._near(points, without), self.params
        if len(data.y) > SMALL:
            inducing = self._inducing(data)
            if len(inducing) < _largest(len(data.y)) or len(data.y) > DENSE:
                chunks, none = Source(len(data.y), data.some).chunks(len(inducing)), np.zeros(data.basis.shape[1])
                found = reduce(add, (statistics_of(chunk, inducing, none) for chunk in chunks))
                return condition_sparse(SparseData(inducing, found, none, coefficient_scale=1.0), params)
        return condition(self.kernel, data.X, data.y, params, data.basis, noise_scale=data.noise, coefficient_scale=1.0)

    def is_large(self, points: Any) -> bool:
        """Whether the model of the data near some points takes more time than there is for it."""
        data = self._near(points)
        return len(data.y) > DENSE and len(self._inducing(data)) >= _largest(len(data.y))

    def _near(self, points: Any, without: Array | None = None) -> Chunk:
        """All data near some points, or the nearest one; y less its mean, and a basis with coefficients N(0, 1)."""
        correlation = self._correlations(points)
        if without is not None:
            correlation[without] = -np.inf
        rows = np.flatnonzero(correlation > self.window.window[1])
        data = self.data.some(rows if len(rows) else np.array([correlation.argmax()]))
        mean, columns = self._mean_of_y(data.basis @ self.basis.transform)
        return data._replace(y=data.y - mean, basis=columns)

    def _mean_of_y(self, values: Array) -> tuple[Array, Array]:
        """The mean for these values of its basis, and the columns of one with coefficients N(0, 1) about it."""
        return values @ self.inner, self._whitened_basis(values).T

    def _inducing(self, data: Chunk) -> Inducing:
        number, params = len(data.y), self.params
        candidates = data.some(np.random.default_rng(0).permutation(number)[:CANDIDATES])
        tolerance = allowed(self.tolerance, noise_ratio(params, data), number)
        return Inducing.of(self.kernel, candidates.X, params.time, tolerance, _largest(number), candidates.noise)

    def _correlations(self, points: Any) -> Array:
        """Those of the data with the nearest of some points, (N,)."""
        columns = (self.kernel.pairs(self.X, points[k : k + 1]) for k in range(len(points)))
        values = (column.at(self.params.time).value[:, 0] for column in columns)
        return reduce(np.maximum, values, np.full(self.count, -np.inf))

    def resolved(self, most: float) -> LocalPosterior:
        """The same with a window at which predictions do not change any more.

        They are predictions of some data from others, anywhere in a group. A window has so many data at most.
        """
        rng = np.random.default_rng(4)
        looks = rng.permutation(self.count)[:LOOKS]
        correlations = [self._correlations(self.X[row : row + 1]) for row in looks]
        same = [np.flatnonzero(each > SAME) for each in correlations]
        scale = np.sqrt(self.params.amplitude + self.params.noise * typical_noise(self.data.noise))
        resolved, before, number = self, None, 0.0
        for window in WINDOWS:
            model = replace(self, window=LocalApproximation(0.0, window, np.inf))
            members = [int(rng.choice(np.flatnonzero(each > window[0]))) for each in correlations]
            centres = [self.X[member : member + 1] for member in members]
            more = float(np.mean([len(model._near(centre).y) for centre in centres]))
            if more < MORE * number and window != WINDOWS[-1]:
                continue  # hardly new data
            if before is not None and (more > most or any(map(model.is_large, centres))):
                break
            found = np.empty((len(looks), 2))
            for k, row in enumerate(looks):
                columns = self._mean_of_y(self.data.basis[row : row + 1] @ self.basis.transform)[1]
                near = model.near(centres[k], same[k]).with_basis(columns)
                mean, variance = near.latent(self.X[row : row + 1])
                found[k] = mean[0] / scale, 0.5 * np.log(variance[0] + JITTER * self.params.amplitude)
            error = of_means = 0.0 if more == self.count else np.inf
            if before is not None:
                of_means, of_deviations = np.abs(found - before).max(axis=0).tolist()
                error = max(of_means, of_deviations)
            resolved = replace(self, window=LocalApproximation(more, window, error, of_means))
            if error < CLOSE * self.tolerance and (number >= LEAST or more == self.count):
                break
            before, number = found, more
        return resolved


def _largest(number: int) -> int:
    """How many inducing points a local model of so many data may have."""
    return number // 3 if number <= DENSE else int(np.sqrt(WORK / number))


def grouped(kernel: Kernel, points: Array, time: Time, least: float) -> Iterator[Array]:
    """The numbers of points whose correlation with the first of them, the centre of the group, is above the least."""
    left = np.arange(len(points))
    while len(left):
        near = kernel.pairs(points[left], points[left[:1]]).at(time).value[:, 0] > least
        near[0] = True
        yield left[near]
        left = left[~near]


def neighbourhoods(kernel: Kernel, X: Array, bounds: Bounds) -> Array:
    """The numbers of data that are near each other, (b, n), none of them twice.

    Nearest are those of the largest correlation at times in the middle of the bounds, the same for all parameters.
    """
    middle = np.exp(np.log(bounds.times(kernel.parameters)).mean(axis=1))
    time = float(middle[0]) if len(middle) == 1 else tuple(middle.tolist())
    left, size = np.random.default_rng(3).permutation(len(X)), min(EACH, len(X))
    rows: list[Array] = []
    while len(left) >= size and len(rows) < BLOCKS:
        correlation = kernel.pairs(X[left], X[left[:1]]).at(time).value[:, 0]
        nearest = np.argpartition(-correlation, size - 1)[:size]
        rows.append(left[nearest])
        left = np.delete(left, nearest)
    return np.array(rows)


def local_objective(
    posterior: LocalPosterior, bounds: Bounds, given: Given, priors: Priors | str | None = None
) -> Objective:
    """The evidence of the neighbourhoods as a function of the logs of what is learned."""
    prior, (data, _) = _prior(posterior), _targets(posterior)
    return exact_objective(posterior.kernel, posterior.X[posterior.rows.ravel()], prior, data, bounds, given, priors)


def local_evidence(posterior: LocalPosterior) -> tuple[Evidence, Targets, MeanBasis]:
    """The evidence of the neighbourhoods, and their targets."""
    params, (data, basis) = posterior.params, _targets(posterior)
    ratio = np.maximum(params.noise * data.noise, JITTER * params.amplitude)
    K = params.amplitude * _prior(posterior).at(params.time)[0]
    return evidence(Blocks.of(K, 1.0 / ratio), ratio, data, 1.0), data, basis


def _targets(posterior: LocalPosterior) -> tuple[Targets, MeanBasis]:
    some = posterior.data.some(posterior.rows.ravel())
    return targets(some.X, some.y, some.mean, some.noise, posterior.coefficient_scale)


def _prior(posterior: LocalPosterior) -> Prior:
    pairs = [posterior.kernel.pairs(posterior.X[rows]) for rows in posterior.rows]

    def at(time: Time) -> Evaluation:
        found = [each.at(time) for each in pairs]
        return Evaluation(
            lambda: np.stack([each.value for each in found]), lambda: np.stack([each.slopes for each in found], axis=1)
        )

    return Prior(TimeFunction(at), Blocks)


def fit_local(
    problem: Problem, guess: Params, tolerance: float, most: float = np.inf, noise_is_known: bool = False
) -> tuple[LocalPosterior, Fit | None]:
    """The local model of data in memory, and the parameters of the greatest evidence of its neighbourhoods.

    New points are predicted from so many near data at most.
    """
    kernel, bounds, given = problem.kernel, problem.bounds, problem.given
    data = problem.source.read(slice(None))
    posterior = LocalPosterior(
        kernel,
        data.X,
        data.y,
        guess,
        Normal(None if noise_is_known else guess.noise),
        Dense(np.empty((0, 0)), np.empty(0), np.empty((0, 0))),
        np.empty(0),
        np.nan,
        problem.known,
        MeanBasis(np.eye(data.basis.shape[1]), problem.function),
        data=data,
        rows=neighbourhoods(kernel, data.X, bounds),
        tolerance=tolerance,
        coefficient_scale=problem.coefficient_scale,
    )
    fit = None
    if given.params is None:
        objective = local_objective(posterior, bounds, given, problem.priors)
        guesses = [guess, replace(guess, time=_shorter(kernel, guess.time))] if given.free else [guess]
        fit = fit_from(kernel, objective, objective.box, guesses)
        fit = replace(fit, data=posterior.rows.size)
        guess = fit.params
    return posterior.again(kernel, guess).resolved(most), fit


def _shorter(kernel: Kernel, time: Time) -> Time:
    """A quarter of each time; weights stay."""
    values = np.atleast_1d(time).astype(float)
    values[: kernel.parameters - kernel.weight_parameters] /= 4.0
    return float(values[0]) if np.ndim(time) == 0 else tuple(values.tolist())
