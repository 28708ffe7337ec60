"""Learning the parameters of many data: which points carry the covariance, one pass over the data, and the search."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...covariance import Array, Kernel
from ...errors import BoundWarning, NotPositiveDefinite, caught_warnings, warn_again
from ..factors import JITTER
from ..objective import TOUCHING
from ..parameters import Given, Params, Priors, Time
from ..posterior import condition
from ..prior import targets, typical_noise
from ..search import Bounds, Fit, fit, fit_from, free_times, near_rows
from .inducing import SAFE, Inducing
from .regression import SparseData, resolved_box, sparse_objective
from .source import Chunk, Source, collected
from .statistics import Statistics

SUBSET = 1000
"""Data from which a dense fit learns where to start: some seconds at most."""
CANDIDATES = 20_000
"""Data among which points are chosen."""
SHORTER = 2.0
"""How much shorter than the time to be learned the shortest time is, at first."""
LIKELIER = 10.0
"""How much greater, in nats, the evidence of near data is with parameters that count."""
STEPS = 8
"""Steps from there to that time, of which the first one is taken that does not need too many points."""
FEW = 5000
"""Candidates that tell which one that is."""
ROUNDS = 4
"""Passes over the data at most."""
STRICT = 0.1
"""What the points may leave, as part of the tolerance times the posterior variance of f."""
MEANS = 100.0
"""Times a tolerance below 0.01: means are wrong by the root of what is left, so that the square of it counts."""
MOST = 3000
"""Points at most: a value of the evidence then takes some seconds."""
ROUGH = 2000
"""Points at most where a local model can take the place of a sparse one: with more, it takes less time."""
SHARE = 0.1
"""The share of all data that a prediction of a local model may be made from."""
NEAR_DATA = 2000
"""Data that it may be made from in any case where the model cannot be dense: a tenth of a second."""
LARGEST_OF_32 = 2.4
"""The largest of 32 normal errors over their root mean square, on average: local models state the largest of 32."""
CORRELATED = 0.2
"""The correlation from which on data are near, for all kernels: rough ones need no others."""
CENTRES = 50
"""Data whose near data are counted."""
DENSE = 6000
"""Data up to which a dense model is made where as many as half of them would be inducing points."""
DENSE_AT_LAST = 8000
"""The same where inducing points are too few, and a local model would need too many data or is not accurate enough."""
NEAR = 1.05
"""A learned time so near to the shortest one is looked for at shorter times."""
WORK = 4e12
"""N m², in operations, up to which points are added: a pass of one or two minutes on a core."""

Collect = Callable[[Source, Inducing, Array], Statistics]


@dataclass(frozen=True)
class SparseOptions:
    """What a user may say of the approximation."""

    tolerance: float = 1e-2  # the error of a standard deviation of f, relative
    limit: int | None = None  # how many points at most
    points: Array | None = None  # points by hand
    always: bool = False  # whether the model is sparse where a dense one would be faster, too
    local: bool = False  # whether a local model may take its place where points are too few
    cores: float = 1.0  # how many times faster than one core a pass over the data is


DEFAULT = SparseOptions()


def largest_number(count: int, options: SparseOptions) -> int:
    """How many points are chosen at most.

    >>> largest_number(1_000_000, SparseOptions()), largest_number(10_000, SparseOptions())
    (2000, 3000)
    """
    limit = options.limit or min(ROUGH if options.local else MOST, int(np.sqrt(WORK * options.cores / count)))
    return max(1, min(limit, count, CANDIDATES))


def allowed(tolerance: float, ratio: float, count: int) -> float:
    """The share of a prior variance that a point may leave, of `count` data with noise over amplitude = `ratio`."""
    return STRICT * min(tolerance, MEANS * tolerance**2) * ratio / count


class NotSparse(Exception):
    """So many inducing points are needed that a dense model is faster, or more accurate and as fast."""


class TooRough(Exception):
    """More inducing points are needed than there may be.

    `params` are a start for another model; `fitted` is what `fit_sparse` has found with these points, if anything.
    """

    def __init__(self, params: Params, fitted: tuple[SparseData, Params, Fit | None] | None = None) -> None:
        super().__init__()
        self.params, self.fitted = params, fitted


def check_is_sparse(inducing: Inducing, count: int, options: SparseOptions) -> None:
    """Raise NotSparse where points were chosen freely, and half as many as there are data, which are not too many."""
    free = options.limit is None and options.points is None and not options.always
    if free and len(inducing) > count / 2 and count <= DENSE:
        raise NotSparse


def fit_sparse(
    kernel: Kernel,
    source: Source,
    bounds: Bounds,
    given: Given,
    known: float = 0.0,
    priors: Priors | str | None = None,
    coefficient_scale: ArrayLike | None = None,
    options: SparseOptions = DEFAULT,
    function: Callable[[Any], Array] | None = None,
    collect: Collect = collected,
) -> tuple[SparseData, Params, Fit | None]:
    """The data as few points see them, and the parameters of the greatest lower bound of the evidence.

    A dense fit of a random subset says where times are. Points are chosen for half that time, and the statistics of all
    data are collected in one pass. Where the best time turns out to be as short as that, this is done again with
    shorter times; where points are too few, with the best time itself.

    Raises
    ------
    InvalidInput : if an argument is not possible.
    NotSparse : if the model should be dense.
    TooRough : if the points are too few, and `options.local`.
    """
    subset = source.sample(SUBSET)
    start = _start(subset, coefficient_scale)
    params = given.params
    candidates = candidates_of(source)
    guesses = [params] if params else guessed(kernel, subset, candidates, bounds, given, priors, coefficient_scale)
    guess = guesses[0]
    # where many data are near, a local model is the last resort: it takes more time
    many = options.local and near_share(kernel, candidates.X, guess.time) * source.count > near_data(source.count)
    try_local, options = options.local, replace(options, local=options.local and not many)
    tolerance = allowed(options.tolerance, noise_ratio(guess, subset), source.count)
    limit = largest_number(source.count, options)
    times, low = np.atleast_1d(guess.time).astype(float), np.atleast_1d(guess.time).astype(float)
    lowest, learned = bounds.times(kernel.parameters)[:, 0], free_times(kernel, given)
    for k in learned:
        low[k] = max(times[k] / SHORTER, lowest[k])
    data, fit, last, short = None, None, low, []
    grown = False  # whether shorter times were found to need too many points
    for _ in range(ROUNDS):
        inducing = _inducing(kernel, candidates.X, candidates.noise, low, times, tolerance, limit, options)
        s = np.atleast_1d(inducing.time).astype(float)
        full = is_full(inducing, limit, tolerance, options)
        starved = full or np.any(s[learned] > low[learned])
        check_is_sparse(inducing, source.count, options)
        if data is not None and not grown and np.all((s * (1.0 + TOUCHING) >= last)[learned]):
            assert fit is not None  # and no shorter time is possible
            if options.local:
                raise TooRough(guess, (replace(data, limited=tuple(short)), guess, fit))
            break
        if many and full and source.count <= DENSE_AT_LAST:
            raise NotSparse
        if try_local and full:
            raise TooRough(guess)
        data = SparseData(inducing, collect(source, inducing, start), start, known, coefficient_scale, function)
        if params is not None:
            return data, params, None
        last, low = s, s.copy()
        with caught_warnings() as caught:
            fit = searched(data, bounds, given, priors, guesses)
        times = np.atleast_1d(fit.params.time).astype(float)
        near = 1.0 + TOUCHING if starved else NEAR  # a maximum above s is one, and shorter times need too many points
        short = shortest_times(data, fit.params, bounds, given, near)
        if options.local and short and starved:
            raise TooRough(fit.params, (replace(data, limited=tuple(short)), fit.params, fit))
        # with too few points the interpolant at s is right for functions of the time s alone
        long = [k for k in learned if full and times[k] > NEAR * low[k]]
        if not long and (not short or starved or grown):
            break
        guess, grown = fit.params, grown or bool(long)
        weights = slice(kernel.parameters - kernel.weight_parameters, None)
        low[weights] = times[weights]
        guesses = [guess]
        for k in long:
            low[k] = times[k]
        for k in [] if starved else short:
            low[k] = max(low[k] / SHORTER, lowest[k])
    assert data is not None
    assert fit is not None
    warn_again(caught)  # of the last search alone
    if not grown and (limited := shortest_times(data, fit.params, bounds, given)):
        data = replace(data, limited=tuple(limited))
    return data, fit.params, fit


def is_full(inducing: Inducing, limit: int, tolerance: float, options: SparseOptions) -> bool:
    """Whether there are as many points as there may be; or, of points by hand, too few for their own time."""
    if options.points is None:
        return len(inducing) >= limit
    left, _ = inducing.unexplained(inducing.time, inducing.covariances.at(inducing.time).value)
    return left > max(tolerance * len(inducing), SAFE)


def shortest_times(
    data: SparseData, params: Params, bounds: Bounds, given: Given, near: float = 1.0 + TOUCHING
) -> list[int]:
    """The numbers of learned times that are the shortest which the points carry, and not the shortest of the search."""
    kernel, low, times = data.inducing.kernel, np.atleast_1d(data.inducing.time), np.atleast_1d(params.time)
    lowest = bounds.times(kernel.parameters)[:, 0]
    return [k for k in free_times(kernel, given) if times[k] < near * low[k] and low[k] > NEAR * lowest[k]]


def candidates_of(source: Source) -> Chunk:
    """Data among which points are chosen, in random order."""
    candidates = source.sample(CANDIDATES, 1)
    return candidates.some(np.random.default_rng(2).permutation(len(candidates.X)))


def noise_ratio(params: Params, data: Chunk) -> float:
    """The variance of the noise over that of f, not zero."""
    return max(params.noise * typical_noise(data.noise) / params.amplitude, JITTER)


def near_data(count: int) -> float:
    """How many of so many data a prediction of a local model may be made from, where other models are possible.

    >>> near_data(5000), near_data(9000), near_data(100_000)
    (500.0, 2000, 10000.0)
    """
    return SHARE * count if count <= DENSE_AT_LAST else max(SHARE * count, NEAR_DATA)


def error_of_points(kernel: Kernel, source: Source, params: Params, options: SparseOptions) -> float:
    """The error of a mean, over the prior standard deviation of y, with as many points as may be; 0 if they suffice.

    It is the root of what they leave of the prior variance, as the largest of 32. At the points nothing is left.
    """
    candidates, limit = candidates_of(source), largest_number(source.count, options)
    ratio = noise_ratio(params, candidates)
    tolerance = allowed(options.tolerance, ratio, source.count)
    inducing = Inducing.of(kernel, candidates.X, params.time, tolerance, limit, candidates.noise)
    if len(inducing) < limit:
        return 0.0
    left, _ = inducing.unexplained(params.time, inducing.covariances.at(params.time).value)
    others = max(1.0 - len(inducing) / len(candidates.X), 0.1)
    return LARGEST_OF_32 * float(np.sqrt(left / others / (1.0 + ratio)))


def near_share(kernel: Kernel, candidates: Array, time: Time) -> float:
    """The share of data that are near to a datum."""
    return float(np.mean(kernel.pairs(candidates[:CENTRES], candidates).at(time).value > CORRELATED))


def inducing_of(kernel: Kernel, points: Array, params: Params, noise: float, options: SparseOptions) -> Inducing:
    """Inducing points of many data at known parameters, whose observations have so much normal noise."""
    rows = np.random.default_rng(1).permutation(len(points))[:CANDIDATES]
    ratio = max(noise / params.amplitude, JITTER)
    tolerance = allowed(options.tolerance, ratio, len(points))
    time, limit = np.atleast_1d(params.time).astype(float), largest_number(len(points), options)
    found = _inducing(kernel, points[rows], None, time, time, tolerance, limit, options)
    check_is_sparse(found, len(points), options)
    return found


def _inducing(
    kernel: Kernel,
    candidates: Array,
    noise: Array | None,
    low: Array,
    times: Array,
    tolerance: float,
    limit: int,
    options: SparseOptions,
) -> Inducing:
    """Points for the shortest times that `limit` points can carry, from `low` up to `times`."""
    if options.points is not None:
        return Inducing.of(kernel, candidates, _time(low), 0.0, len(options.points), noise, options.points)

    @cache
    def chosen(step: int, number: int) -> Inducing:
        time, some = _time(low * (times / low) ** (step / STEPS)), slice(number)
        return Inducing.of(kernel, candidates[some], time, tolerance, limit, None if noise is None else noise[some])

    def is_possible(step: int) -> bool:
        return len(chosen(step, min(FEW, len(candidates)))) < limit

    step = STEPS if np.all(low >= times) else 0
    if step == 0 and not is_possible(0):
        step = bisect_left(range(STEPS), True, lo=1, key=is_possible)
    while len(found := chosen(step, len(candidates))) >= limit and step < STEPS:
        step += 1
    return found


def searched(data: SparseData, bounds: Bounds, given: Given, priors: Priors | str | None, guesses: list[Params]) -> Fit:
    """The best maximum near some guesses, at times that are not shorter than those of the inducing points."""
    kernel = data.inducing.kernel
    objective, intervals = sparse_objective(data, bounds, given, priors)
    return fit_from(kernel, objective, intervals, resolved_box(objective, intervals, data.inducing), guesses)


def rough_params(
    kernel: Kernel,
    subset: Chunk,
    bounds: Bounds,
    given: Given,
    priors: Priors | str | None,
    coefficient_scale: ArrayLike | None,
) -> Params:
    """Parameters from a dense fit of some data."""
    mean = subset.basis if subset.basis.shape[1] else "zero"
    with caught_warnings(BoundWarning):  # of the subset alone
        return fit(
            kernel,
            subset.X,
            subset.y,
            bounds,
            given,
            mean,
            priors=priors,
            noise_scale=subset.noise,
            coefficient_scale=coefficient_scale,
        ).params


def guessed(
    kernel: Kernel,
    subset: Chunk,
    candidates: Chunk,
    bounds: Bounds,
    given: Given,
    priors: Priors | str | None,
    coefficient_scale: ArrayLike | None,
) -> list[Params]:
    """Parameters from dense fits, those with the shortest times first.

    One is of random data. These are far from each other and see nothing of short lengths. So another one is of data
    near each other. It counts where times are shorter and its own data are much more likely with it.
    """
    learn = partial(rough_params, bounds=bounds, given=given, priors=priors, coefficient_scale=coefficient_scale)
    guess = learn(kernel, subset)
    if len(candidates.y) < 2 * SUBSET or not given.free:
        return [guess]
    near = candidates.some(near_rows(kernel, candidates.X, guess.time, SUBSET)[0])
    try:
        other = learn(kernel, near)
        there = [evidence_of(kernel, near, params, coefficient_scale) for params in (guess, other)]
    except NotPositiveDefinite:  # a column of the mean may be constant there
        return [guess]
    return [other, guess] if is_shorter(kernel, given, other, guess) and there[1] > there[0] + LIKELIER else [guess]


def is_shorter(kernel: Kernel, given: Given, params: Params, other: Params) -> bool:
    """Whether a learned time is much shorter than that of other parameters."""
    times = (np.atleast_1d(each.time)[free_times(kernel, given)] for each in (other, params))
    return bool(np.any(np.divide(*times) > SHORTER))


def evidence_of(kernel: Kernel, data: Chunk, params: Params, coefficient_scale: ArrayLike | None) -> float:
    """The log evidence of some data, by a dense model."""
    mean = data.basis if data.basis.shape[1] else "zero"
    found = condition(kernel, data.X, data.y, params, mean, noise_scale=data.noise, coefficient_scale=coefficient_scale)
    return found.log_marginal_likelihood


def _start(chunk: Chunk, coefficient_scale: ArrayLike | None) -> Array:
    """Coefficients of the basis, those with flat priors, that take most of y out, so that digits are kept."""
    data, _ = targets(chunk.X, chunk.y, chunk.basis, chunk.noise, coefficient_scale)
    flat, start = data.precision == 0, np.zeros(chunk.basis.shape[1])
    start[flat] = np.linalg.lstsq(chunk.basis[:, flat], chunk.y, rcond=None)[0]
    return start


def _time(values: Array) -> Time:
    return float(values[0]) if len(values) == 1 else tuple(values.tolist())
