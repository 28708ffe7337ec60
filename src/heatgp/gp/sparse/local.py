"""Regression of many data whose functions are so rough that no few points carry them: each prediction is local.

Where correlations are short, f at a point depends on the data near it alone. New points are taken in groups of near
ones. Each group is predicted from all data whose correlation with its centre is above a small number, by a dense or a
sparse model. Parameters maximise the evidence of some neighbourhoods that count as independent. What a sparse model of
all data knows of the coefficients of the mean is the prior of each local model.

References: Stein, Chi & Welty (2004), Varin, Reid & Firth (2011) for the evidence of parts of the data; Gramacy & Apley
(2015) for local predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import linalg

from ...covariance import Array, Evaluation, Kernel, TimeFunction
from ...errors import Unsupported
from ..fit import Bounds, Fit, Interval, box_of, objective_of
from ..latent import Latent
from ..linalg import JITTER, Dense, draw
from ..objective import RegressionObjective
from ..params import Given, Params, Time
from ..prior import Prior
from ..priors import Priors
from ..regression import condition, evidence
from ..targets import targets
from ..threads import on_all_threads
from .blocks import Blocks
from .fit import STRICT, climbed
from .inducing import Inducing
from .regression import SparseData, SparsePosterior, condition_sparse
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
"""The change of predictions from a window to the next one at which that is wide enough, as part of the tolerance."""
LEAST = 32
"""Near data from which on windows are compared."""
MORE = 1.1
"""The growth of their number from one window that is looked at to the next."""
LOOKS = 12
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
    error : float, what predictions at the edges of groups change with the last data that were added: the larger of two
        root mean squares, of means over the standard deviation of y and of relative standard deviations of f.
    """

    data: float
    window: tuple[float, float]
    error: float


@dataclass(frozen=True)
class LocalPosterior(Latent):
    """A Gaussian process that has seen many data, and keeps them. y are the targets less their mean."""

    noise: Array | None = field(kw_only=True)  # (N,), relative variances; None where all are one
    columns: Array = field(kw_only=True)  # (N, q), a basis of the mean whose coefficients have the variance one
    rows: Array = field(kw_only=True)  # (b, n), the neighbourhoods whose evidence is maximised
    tolerance: float = field(kw_only=True)
    approximation: LocalApproximation = LocalApproximation(0.0, WINDOWS[0], np.inf)

    def mean(self, Xnew: Any) -> Array:
        return self.moments(Xnew)[0]

    def moments(self, Xnew: Any, noise: Any = False) -> tuple[Array, Array]:
        added = self._noise(Xnew, noise)
        mean, columns = self._mean_of_y(Xnew)
        variance = np.empty(len(Xnew))
        groups = list(grouped(self.kernel, Xnew, self.params.time, self.approximation.window[0]))
        operations = float(len(groups)) * len(self.X) ** 2  # so many that threads are used

        def predicted(group: Array) -> tuple[Array, Array]:
            points = Xnew[group]
            return self.near(points[:1]).with_basis(columns[group]).moments(points)

        for group, found in zip(groups, on_all_threads(predicted, groups, operations)):
            mean[group] += found[0]
            variance[group] = found[1]
        return mean, variance + added

    def covariance(self, Xnew: Any, noise: Any = False) -> Array:
        return self._jointly(Xnew, noise)[1]

    def sample(self, Xnew: Any, rng: Any, size: int = 1, noise: Any = False) -> Array:
        return draw(*self._jointly(Xnew, noise), rng, size)

    def _jointly(self, Xnew: Any, noise: Any) -> tuple[Array, Array]:
        """Mean and covariance of all points, from the data near any of them."""
        added = np.broadcast_to(self._noise(Xnew, noise), len(Xnew))
        mean, columns = self._mean_of_y(Xnew)
        model = self.near(Xnew).with_basis(columns)
        return mean + model.mean(Xnew), model.covariance(Xnew) + np.diag(added)

    def near(self, points: Any) -> Latent:
        """The model of all data near some points: in few points where these carry the covariance, else dense."""
        data, params = self._near(points), self.params
        if len(data.y) > SMALL:
            inducing = self._inducing(data)
            if len(inducing) < _largest(len(data.y)) or len(data.y) > DENSE:
                chunks, none = Source(len(data.y), data.some).chunks(len(inducing)), np.zeros(data.basis.shape[1])
                found = reduce(add, (statistics_of(chunk, inducing, none) for chunk in chunks))
                return condition_sparse(SparseData(inducing, found, none, coefficient_scale=1.0), params)
        return condition(self.kernel, data.X, data.y, params, data.basis, noise_scale=data.noise, coefficient_scale=1.0)

    def _near(self, points: Any) -> Chunk:
        """All data near some points, or the nearest one."""
        correlation = self._correlations(points)
        rows = np.flatnonzero(correlation > self.approximation.window[1])
        rows = rows if len(rows) else np.array([correlation.argmax()])
        return Chunk(self.X, self.y, self.columns, self.noise).some(rows)

    def _inducing(self, data: Chunk) -> Inducing:
        number, params = len(data.y), self.params
        candidates = data.X[np.random.default_rng(0).permutation(number)[:CANDIDATES]]
        tolerance = STRICT * self.tolerance * max(params.noise / params.amplitude, JITTER) / number
        return Inducing.of(self.kernel, candidates, params.time, tolerance, _largest(number))

    def _correlations(self, points: Any) -> Array:
        """Those of the data with the nearest of some points, (N,)."""
        columns = (self.kernel.pairs(self.X, points[k : k + 1]) for k in range(len(points)))
        return reduce(np.maximum, (column.at(self.params.time).value[:, 0] for column in columns))

    def again(self, kernel: Kernel, params: Params, pairs: Any = None) -> LocalPosterior:
        """The posterior of the same data at other parameters."""
        moved = replace(self, kernel=kernel, params=params)
        return replace(moved, log_marginal_likelihood=local_evidence(moved)[0])

    def resolved(self, share: float) -> LocalPosterior:
        """The same with a window at which predictions of some data, at the edges of groups, do not change any more.

        A window has at most a share of all data.
        """
        rows, before, number = self.rows[:LOOKS, 0], None, 0.0
        correlations = [self._correlations(self.X[row : row + 1]) for row in rows]
        scale, error, resolved = np.sqrt(self.params.amplitude + self.params.noise), np.inf, self
        for window in WINDOWS:
            model = replace(self, approximation=LocalApproximation(0.0, window, error))
            edges = [int(np.argmin(np.where(each > window[0], each, np.inf))) for each in correlations]
            centres = [self.X[edge : edge + 1] for edge in edges]
            more = float(np.mean([len(model._near(centre).y) for centre in centres]))
            if more < max(LEAST, MORE * number) and window != WINDOWS[-1]:
                continue  # too few data, or hardly new ones, to compare
            if before is not None and (more > share * self.count or model.is_large(centres[0])):
                break
            models = [model.near(at).with_basis(self.columns[row : row + 1]) for at, row in zip(centres, rows)]
            moments = [each.moments(self.X[row : row + 1]) for each, row in zip(models, rows)]
            found = np.array([(mean[0] / scale, 0.5 * np.log(variance[0])) for mean, variance in moments])
            if before is not None:
                error = float(np.sqrt(np.square(found - before).mean(axis=0)).max())
            resolved = replace(self, approximation=LocalApproximation(more, window, error))
            if error < CLOSE * self.tolerance or more == self.count:
                break
            before, number = found, more
        return resolved

    def is_large(self, points: Any) -> bool:
        """Whether the model of the data near some points takes more time than there is for it."""
        data = self._near(points)
        return len(data.y) > DENSE and len(self._inducing(data)) >= _largest(len(data.y))

    def loo(self) -> tuple[Array, Array]:
        raise Unsupported(
            "leave-one-out predictions are not known for local models. Hold data out and predict them, or use "
            'inference="dense".'
        )

    def _mean_of_y(self, Xnew: Any) -> tuple[Array, Array]:
        """The mean of y, and the columns of the basis at new points, (M, q)."""
        values = self.basis.at(Xnew)
        return self.offset + values @ self.inner, self._whitened_basis(values).T


def grouped(kernel: Kernel, points: Array, time: Time, least: float) -> Iterator[Array]:
    """The numbers of points whose correlation with the first of them, the centre of the group, is above the least."""
    left = np.arange(len(points))
    while len(left):
        near = kernel.pairs(points[left], points[left[:1]]).at(time).value[:, 0] > least
        near[0] = True
        yield left[near]
        left = left[~near]


def _largest(number: int) -> int:
    """How many inducing points a local model of so many data may have."""
    return number // 3 if number <= DENSE else int(np.sqrt(WORK / number))


def neighbourhoods(kernel: Kernel, X: Array, time: Time) -> Array:
    """The numbers of the data nearest to some of them, (b, n), themselves first."""
    rng, size = np.random.default_rng(3), min(EACH, len(X))
    rows = []
    for centre in rng.choice(len(X), max(1, min(BLOCKS, len(X) // EACH)), replace=False):
        correlation = kernel.pairs(X, X[centre : centre + 1]).at(time).value[:, 0]
        correlation[centre] = np.inf
        nearest = np.argpartition(-correlation, size - 1)[:size]
        rows.append(nearest[np.argsort(-correlation[nearest], kind="stable")])
    return np.array(rows)


def local_objective(
    posterior: LocalPosterior, bounds: Bounds, given: Given, priors: Priors | str | None = None
) -> tuple[RegressionObjective, dict[str, Interval]]:
    """The evidence of the neighbourhoods as a function of the logs of what is learned, and their intervals by name."""
    kernel, rows = posterior.kernel, posterior.rows.ravel()
    X, y, noise = posterior.X[rows], posterior.y[rows], None if posterior.noise is None else posterior.noise[rows]
    data, _ = targets(X, y, "zero", noise)
    return objective_of(kernel, X, _prior(posterior), data, bounds, given, priors)


def _prior(posterior: LocalPosterior) -> Prior:
    pairs = [posterior.kernel.pairs(posterior.X[rows]) for rows in posterior.rows]

    def at(time: Time) -> Evaluation:
        found = [each.at(time) for each in pairs]
        return Evaluation(
            lambda: np.stack([each.value for each in found]), lambda: np.stack([each.slopes for each in found], axis=1)
        )

    return Prior(TimeFunction(at), Blocks)


def local_evidence(posterior: LocalPosterior, gradient: bool = False) -> tuple[float, Array]:
    """The evidence of the neighbourhoods, for each datum, times the number of all data; and its derivatives.

    They are those in the logs of all times, of the amplitude and of the noise, in this order.
    """
    params, rows, prior = posterior.params, posterior.rows.ravel(), _prior(posterior)
    noise = np.ones(len(rows)) if posterior.noise is None else posterior.noise[rows]
    data, _ = targets(rows, posterior.y[rows], "zero")
    values, slopes = prior.at(params.time, range(posterior.kernel.parameters) if gradient else ())
    ratio = np.maximum(params.noise * noise, JITTER * params.amplitude)
    found = evidence(Blocks.of(params.amplitude * values, 1.0 / ratio), ratio, data, 1.0)
    scale = posterior.count / len(rows)
    if not gradient:
        return scale * found.value, np.empty(0)
    changes = [params.amplitude * change for change in (*slopes, values)]
    return scale * found.value, scale * np.array([*found.in_times(changes), float(found.in_ratios.sum())])


def localised(
    whole: SparsePosterior,
    kernel: Kernel,
    data: Chunk,
    bounds: Bounds,
    given: Given,
    priors: Priors | str | None,
    tolerance: float,
    share: float = 1.0,
) -> tuple[LocalPosterior, Fit | None]:
    """The local model of all data, in memory, after a sparse one; parameters are learned again.

    New points are predicted from at most a share of all data.
    """
    params, fit = whole.params, None
    y = data.y - data.basis @ whole.coefficients
    nothing = Dense(np.empty((0, 0)), np.empty(0), np.empty((0, 0)))
    posterior = LocalPosterior(
        kernel,
        data.X,
        y,
        params,
        nothing,
        np.empty((0, 1 + len(whole.inner))),
        np.nan,
        whole.offset,
        whole.basis,
        whole.inner,
        whole.lower,
        whole.noise_is_known,
        noise=data.noise,
        columns=linalg.solve_triangular(whole.lower, (data.basis @ whole.basis.transform).T, lower=True).T,
        rows=neighbourhoods(kernel, data.X, params.time),
        tolerance=tolerance,
    )
    if given.params is None:
        objective, intervals = local_objective(posterior, bounds, given, priors)
        guesses = [params, replace(params, time=_shorter(kernel, params.time))]
        fit = climbed(kernel, objective, intervals, box_of(objective, intervals), guesses)
        params = fit.params
    return posterior.again(kernel, params).resolved(share), fit


def _shorter(kernel: Kernel, time: Time) -> Time:
    """A quarter of each time; weights stay."""
    values = np.atleast_1d(time).astype(float)
    values[: kernel.parameters - kernel.weight_parameters] /= 4.0
    return float(values[0]) if np.ndim(time) == 0 else tuple(values.tolist())
