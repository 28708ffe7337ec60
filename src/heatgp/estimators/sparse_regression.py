"""GPRegressor with many data: what is sparse, and its fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..covariance import Array
from ..errors import AccuracyWarning, InvalidInput, OfRow, caught_warnings, warn, warn_again
from ..gp.neighbors.posterior import SIZES, NeighborsApproximation, fit_neighbors
from ..gp.parameters import Given
from ..gp.posterior import Posterior
from ..gp.prior import NO_WEIGHT
from ..gp.search import Bounds
from ..gp.sparse.fit import Collect, Learned, Problem, SparseOptions, fit_sparse, searched, shortest_times
from ..gp.sparse.inducing import SAMPLE
from ..gp.sparse.regression import SparseApproximation, condition_sparse
from ..gp.sparse.source import Chunk, Source, collected, random_rows

NOTHING = 1e-8
"""The share of the prior variance that may be left unexplained without a word: 1e-4 of the prior standard deviation."""
UNSETTLED = 0.05
"""The share of predictions that may need more neighbors than there are."""
MOSTLY = 0.5
"""The share of such predictions from which a dense model of not too many data is worth its time."""
DENSE_AT_LAST = 8000
"""Data up to which a model is dense where neither inducing points nor neighbors are enough."""
MORE_POINTS = "Give more points, or a larger tolerance, by inference=Sparse(inducing=..., tolerance=...)"
DENSE_IS_POSSIBLE = 20_000
"""Data up to which a message names dense models as a remedy: 3 GB for a matrix, and many minutes."""


def sparse_fit(
    problem: Problem, options: SparseOptions, noise_is_known: bool, neighbors: bool = False
) -> Learned | None:
    """The posterior and the result of the search; None where the model should be dense.

    It is of near neighbors with `neighbors` = True, and where the inducing points are too few and `options` allow it.
    An AccuracyWarning says what is lost.
    """
    guess, count = None, problem.source.count
    if not neighbors:
        found = fit_sparse(problem, options)
        if found is None:
            return None
        if found.data is not None:
            posterior: Posterior = condition_sparse(found.data, found.params, noise_is_known)
            warn_of_loss(posterior, options)
            return posterior, found.fit
        guess = found.params
    with caught_warnings() as caught:
        posterior, fit = fit_neighbors(problem, options.tolerance, noise_is_known, guess)
    if not neighbors and count <= DENSE_AT_LAST and posterior.approximation.unsettled > MOSTLY:
        return None
    warn_again(caught)
    warn_of_few_neighbors(posterior.approximation, count)
    return posterior, fit


def warn_of_few_neighbors(found: NeighborsApproximation, count: int) -> None:
    """An AccuracyWarning where predictions need more near data than they are made from."""
    if found.unsettled > UNSETTLED:
        other = "dense" if count <= DENSE_IS_POSSIBLE else "sparse"
        warn(
            f"{found.unsettled:.0%} of predictions still change with the last of {SIZES[-1]} neighbors by more than "
            f"the tolerance, {found.tolerance:g}. Smooth kernels need many: where f is rough, give smoothness=0.5 or "
            f'"learn". Else compare with inference="{other}", or give a larger tolerance: '
            "inference=Neighbors(tolerance=...).",
            AccuracyWarning,
        )


def check_positive(noise: Array | None) -> None:
    """Raise InvalidInput where an observation has no noise."""
    for where in [] if noise is None else np.flatnonzero(noise == 0).tolist():
        text = '] = 0, and a sparse model needs positive variances. Give a small one, or inference="dense".'
        raise InvalidInput(OfRow("noise[", where, text))


def warn_of_loss(posterior: Posterior, options: SparseOptions, neighbors: bool = True) -> None:
    """An AccuracyWarning where the points were too few for the tolerance, or for shorter times than those learned.

    `neighbors` says whether near neighbors are a remedy.
    """
    data, found = posterior.structure, posterior.approximation
    if found.residual > NOTHING and found.residual_share > options.tolerance and found.gap > 1.0:
        what = (
            f"leave {found.residual:.1e} of the prior variance of f unexplained, {found.residual_share:.2g} of its "
            "posterior variance: f may be rougher than its predictions. Intervals of f are wide at parameters that are "
            "given, and may be too narrow at a time that is learned"
        )
    elif data.limited:
        time = np.atleast_1d(posterior.params.time)[data.limited[0]]
        what = (
            f"are too few for times below {time:.3g}, the learned one: f may be rougher than its predictions, and "
            "intervals of f too narrow"
        )
    else:
        return
    also = ', or inference="neighbors" of arrays in memory' if neighbors else ""
    warn(f"{len(data.inducing)} inducing points {what}. {MORE_POINTS}{also}.", AccuracyWarning)


def extended(
    posterior: Posterior,
    source: Source,
    bounds_of: Callable[[Array, int], Bounds],
    given: Given,
    priors: Any,
    options: SparseOptions,
    collect: Collect = collected,
) -> Learned:
    """The posterior of more data, and the search for what is learned; statistics of data add up.

    The search has the bounds that `bounds_of` gives for a random sample of all data and their number.
    """
    data, old = posterior.structure, posterior.structure.inducing
    added = collect(source, old, data.start)
    if not added.count:
        raise InvalidInput(NO_WEIGHT)
    total = data.statistics + added
    size = min(SAMPLE, total.count)
    new = source.sample(max(1, round(size * source.count / total.count)))
    seen = replace(old, sample=new.X, noise=np.ones(len(new.X)) if new.noise is None else new.noise)
    kept = random_rows(len(old.sample), size - len(new.X))
    sample = np.concatenate([new.X, old.sample[kept]])
    inducing = replace(old, sample=sample, noise=np.concatenate([seen.noise, old.noise[kept]]))
    data = replace(data, statistics=total, inducing=inducing)
    params, fit = given.params, None
    if params is None:
        bounds = bounds_of(sample, total.count)
        fit = searched(data, bounds, given, priors, [posterior.params])
        params = fit.params
        if data.limited:
            data = replace(data, limited=tuple(shortest_times(data, params, bounds, given)))
    found = condition_sparse(data, params, posterior.noise_is_known)
    left, variance = seen.unexplained(params.time), found.approximation.variance
    if params.amplitude * left > variance:
        warn(
            f"the inducing points leave {left:.1e} of the prior variance of f at the new data unexplained, more than "
            "the posterior variance: they are those of the first data. Fit a new model to a random part of all data, "
            "and add the rest.",
            AccuracyWarning,
        )
    else:
        warn_of_loss(found, options, neighbors=False)
    return found, fit


def warn_of_residual(found: SparseApproximation, tolerance: float) -> None:
    """An AccuracyWarning where inducing points of observations that are not normal are too few."""
    if found.residual_share > tolerance and found.residual > NOTHING:
        warn(
            f"{found.inducing} inducing points leave {found.residual:.1e} of the prior variance of f unexplained: f "
            f"may be rougher than its predictions, and these nearer to those of no knowledge. {MORE_POINTS}, or fewer "
            "data.",
            AccuracyWarning,
        )


def of_memory(chunk: Chunk) -> Source:
    """Data in memory."""
    check_positive(chunk.noise)
    return Source(len(chunk.X), chunk.some)
