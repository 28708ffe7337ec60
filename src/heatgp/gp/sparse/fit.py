"""Learning the parameters of many data: which points carry the covariance, one pass over the data, and the search."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...covariance import Array, Kernel
from ...errors import BoundWarning, InvalidInput, NotConverged, NotPositiveDefinite, caught_warnings, warn_again
from ..factors import JITTER
from ..objective import TOUCHING
from ..parameters import Given, Params, Priors, Time
from ..posterior import Posterior, condition
from ..prior import targets, typical_noise
from ..search import Bounds, Fit, fit, fit_from, free_times, near_rows
from ..smoothness import Family, Tried
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
"""Candidates from which this step is found."""
ROUNDS = 4
"""Passes over the data at most."""
STRICT = 0.1
"""What the points may leave, as part of the tolerance times the posterior variance of f."""
MEANS = 100.0
"""Times a tolerance below 0.01: means are wrong by the root of what is left, so that the square of it counts."""
MOST = 3000
"""Points at most: a value of the evidence then takes some seconds."""
ROUGH = 2000
"""Points at most where near neighbors can take their place: with more, these take less time."""
DENSE = 6000
"""Data up to which a dense model is made where as many as half of them would be inducing points."""
AT_SHORTEST = 1.05
"""A learned time up to so many times the shortest one is looked for at shorter times."""
WORK = 4e12
"""N m², in operations, up to which points are added: a pass of one or two minutes on a core."""

Collect = Callable[[Source, Inducing, Array], Statistics]
Learned = tuple[Posterior, Fit | None]
"""A model, and the search for its parameters; None where they are given."""


@dataclass(frozen=True)
class SparseOptions:
    """What a user may say of the approximation."""

    tolerance: float = 1e-2  # the error of a standard deviation of f, relative
    limit: int | None = None  # how many points at most
    points: Array | None = None  # points by hand
    always: bool = False  # whether the model is sparse where a dense one would be faster, too
    neighbors: bool = False  # whether near neighbors may take their place where points are too few
    cores: float = 1.0  # how many times faster than one core a pass over the data is


DEFAULT = SparseOptions()


def largest_number(count: int, options: SparseOptions) -> int:
    """How many points are chosen at most.

    >>> largest_number(1_000_000, SparseOptions()), largest_number(10_000, SparseOptions())
    (2000, 3000)
    """
    limit = options.limit or min(ROUGH if options.neighbors else MOST, int(np.sqrt(WORK * options.cores / count)))
    return max(1, min(limit, count, CANDIDATES))


def allowed(tolerance: float, ratio: float, count: int) -> float:
    """The share of a prior variance that a point may leave, of `count` data with noise over amplitude = `ratio`."""
    return STRICT * min(tolerance, MEANS * tolerance**2) * ratio / count


@dataclass(frozen=True)
class Choice:
    """How inducing points are chosen."""

    kernel: Kernel
    candidates: Array  # points in random order
    noise: Array | None  # their relative variances of the noise
    tolerance: float  # the share of a prior variance that a point may leave
    limit: int  # how many points at most
    points: Array | None  # points by hand

    @classmethod
    def of(
        cls, kernel: Kernel, candidates: Array, noise: Array | None, ratio: float, count: int, options: SparseOptions
    ) -> Choice:
        """For so many data, with noise over amplitude = `ratio`."""
        tolerance, limit = allowed(options.tolerance, ratio, count), largest_number(count, options)
        return cls(kernel, candidates, noise, tolerance, limit, options.points)

    def at(self, time: Time, number: int) -> Inducing:
        """Points among the first candidates, for this shortest time."""
        noise = None if self.noise is None else self.noise[:number]
        return Inducing.of(self.kernel, self.candidates[:number], time, self.tolerance, self.limit, noise)

    def between(self, low: Array, times: Array) -> Inducing:
        """Points for the shortest times that `limit` points can carry, from `low` up to `times`."""
        if self.points is not None:
            number = len(self.points)
            return Inducing.of(self.kernel, self.candidates, _time(low), 0.0, number, self.noise, self.points)

        @cache
        def chosen(step: int, number: int) -> Inducing:
            return self.at(_time(low * (times / low) ** (step / STEPS)), number)

        def is_possible(step: int) -> bool:
            return len(chosen(step, min(FEW, len(self.candidates)))) < self.limit

        step = STEPS if np.all(low >= times) else 0
        if step == 0 and not is_possible(0):
            step = bisect_left(range(STEPS), True, lo=1, key=is_possible) if is_possible(STEPS) else STEPS
        while len(found := chosen(step, len(self.candidates))) >= self.limit and step < STEPS:
            step += 1
        return found

    def is_full(self, inducing: Inducing) -> bool:
        """Whether there are as many points as there may be; or, of points by hand, too few for their own time."""
        if self.points is None:
            return len(inducing) >= self.limit
        return inducing.unexplained(inducing.time) > max(self.tolerance * len(inducing), SAFE)


def should_be_dense(inducing: Inducing, count: int, options: SparseOptions) -> bool:
    """Whether points were chosen freely, and half as many as there are data, which are not too many."""
    free = options.limit is None and options.points is None and not options.always
    return free and len(inducing) > count / 2 and count <= DENSE


@dataclass(frozen=True)
class Problem:
    """Data, and what is known of the parameters that are learned from them."""

    kernel: Kernel
    source: Source
    bounds: Bounds
    given: Given
    known: float = 0.0  # the mean that was subtracted from y
    priors: Priors | str | None = None
    coefficient_scale: ArrayLike | None = None
    function: Callable[[Any], Array] | None = None  # the basis functions of points, where they are no more than that
    collect: Collect = collected
    family: Family | None = None  # of the kernel, where its smoothness is learned
    tried: Tried | None = None  # the best smoothness for few data

    def dense_model(self, some: Chunk) -> Learned:
        """A dense model of some data."""
        options: dict[str, Any] = {"noise_scale": some.noise, "coefficient_scale": self.coefficient_scale}
        with caught_warnings(BoundWarning):  # of some data alone
            found = fit(self.kernel, some.X, some.y, self.bounds, self.given, some.mean, priors=self.priors, **options)
        return condition(self.kernel, some.X, some.y, found.params, some.mean, **options), found

    def sparse_data(self, inducing: Inducing, start: Array) -> SparseData:
        """All data as points see them, in one pass; `start` are coefficients of the basis, to be subtracted from y."""
        found = self.collect(self.source, inducing, start)
        return SparseData(inducing, found, start, self.known, self.coefficient_scale, self.function)


@dataclass(frozen=True)
class SparseFit:
    """What `fit_sparse` has found: data as few points see them, and the parameters of the greatest lower bound."""

    data: SparseData | None  # None where more points are needed than there may be, and neighbors may take their place
    params: Params
    fit: Fit | None = None  # None where parameters are given


def fit_sparse(problem: Problem, options: SparseOptions = DEFAULT) -> SparseFit | None:
    """The data as few points see them, and the parameters learned from them; None where the model should be dense.

    A dense fit of a random subset says where times are. Points are chosen for half that time, and the statistics of all
    data are collected in one pass. Where the best time turns out to be as short as that, this is done again with
    shorter times; where points are too few, with the best time itself. With `options.neighbors` the fit ends where
    points are too few.
    """
    kernel, source, bounds, given = problem.kernel, problem.source, problem.bounds, problem.given
    subset = source.sample(SUBSET)
    start = _start(subset, problem.coefficient_scale)
    candidates = candidates_of(source)
    guesses = [given.params] if given.params else guessed(problem, subset, candidates)
    guess = guesses[0]
    choice = Choice.of(kernel, candidates.X, candidates.noise, noise_ratio(guess, subset), source.count, options)
    times, learned = np.atleast_1d(guess.time).astype(float), free_times(kernel, given)
    low, lowest = times.copy(), bounds.times(kernel.parameters)[:, 0]
    low[learned] = np.maximum(times / SHORTER, lowest)[learned]
    data, fit, last = None, None, low
    grown = False  # whether shorter times were found to need too many points
    for _ in range(ROUNDS):
        inducing = choice.between(low, times)
        if should_be_dense(inducing, source.count, options):
            return None
        s = np.atleast_1d(inducing.time).astype(float)
        full = choice.is_full(inducing)
        starved = full or np.any(s[learned] > low[learned])
        no_shorter = data is not None and not grown and np.all((s * (1.0 + TOUCHING) >= last)[learned])
        if options.neighbors and (full or no_shorter):
            return SparseFit(None, guess)
        if no_shorter:
            break
        data = problem.sparse_data(inducing, start)
        if given.params:
            return SparseFit(data, given.params)
        last, low = s, s.copy()
        with caught_warnings() as caught:
            fit = searched(data, bounds, given, problem.priors, guesses)
        guess, guesses = fit.params, [fit.params]
        times = np.atleast_1d(guess.time).astype(float)
        near = 1.0 + TOUCHING if starved else AT_SHORTEST  # above s is a maximum, and shorter times need more points
        short = shortest_times(data, guess, bounds, given, near)
        if options.neighbors and short and starved:
            return SparseFit(None, guess)
        # with too few points the interpolant at s is right for functions of the time s alone
        long = [k for k in learned if full and times[k] > AT_SHORTEST * low[k]]
        if not long and (not short or starved or grown):
            break
        grown = grown or bool(long)
        weights = slice(kernel.parameters - kernel.weight_parameters, None)
        low[weights] = times[weights]
        low[long] = times[long]
        if not starved:
            low[short] = np.maximum(low / SHORTER, lowest)[short]
    assert data is not None
    warn_again(caught)  # of the last search alone
    if not grown and (limited := shortest_times(data, guess, bounds, given)):
        data = replace(data, limited=tuple(limited))
    return SparseFit(data, guess, fit)


def shortest_times(
    data: SparseData, params: Params, bounds: Bounds, given: Given, near: float = 1.0 + TOUCHING
) -> list[int]:
    """The numbers of learned times that are the shortest which the points carry, and not the shortest of the search."""
    kernel, low, times = data.inducing.kernel, np.atleast_1d(data.inducing.time), np.atleast_1d(params.time)
    lowest = bounds.times(kernel.parameters)[:, 0]
    return [k for k in free_times(kernel, given) if times[k] < near * low[k] and low[k] > AT_SHORTEST * lowest[k]]


def candidates_of(source: Source) -> Chunk:
    """Data among which points are chosen, in random order."""
    candidates = source.sample(CANDIDATES, 1)
    return candidates.some(np.random.default_rng(2).permutation(len(candidates.X)))


def noise_ratio(params: Params, data: Chunk) -> float:
    """The variance of the noise over that of f, not zero."""
    return max(params.noise * typical_noise(data.noise) / params.amplitude, JITTER)


def inducing_of(kernel: Kernel, points: Array, params: Params, noise: float, options: SparseOptions) -> Inducing:
    """Inducing points of many data at known parameters, whose observations have so much normal noise."""
    rows = np.random.default_rng(1).permutation(len(points))[:CANDIDATES]
    ratio, time = max(noise / params.amplitude, JITTER), np.atleast_1d(params.time).astype(float)
    return Choice.of(kernel, points[rows], None, ratio, len(points), options).between(time, time)


def searched(data: SparseData, bounds: Bounds, given: Given, priors: Priors | str | None, guesses: list[Params]) -> Fit:
    """The best maximum near some guesses, at times that are not shorter than those of the inducing points."""
    kernel = data.inducing.kernel
    objective = sparse_objective(data, bounds, given, priors)
    return fit_from(kernel, objective, resolved_box(objective, data.inducing), guesses)


def guessed(problem: Problem, subset: Chunk, candidates: Chunk) -> list[Params]:
    """Parameters from dense models of some data, those with the shortest times first: see `learned_from_some`."""
    kernel = problem.kernel

    def near(params: Params) -> Chunk | None:
        if len(candidates.y) < 2 * SUBSET:
            return None
        return candidates.some(near_rows(kernel, candidates.X, params.time, SUBSET)[0])

    found = learned_from_some(kernel, problem.given, problem.dense_model, subset, near)
    return [model.params for model, _ in found]


def learned_from_some(
    kernel: Kernel, given: Given, learn: Callable[[Any], Learned], some: Any, near: Callable[[Params], Any]
) -> list[Learned]:
    """What `learn` finds from random data, and before it what it finds from data near each other, where that counts.

    Random data are far from each other and see nothing of short lengths. What is learned from near ones counts where
    times are shorter and these data are much more likely with it.

    Parameters
    ----------
    learn : function of data, or of their numbers.
    some : random data.
    near : function of the parameters learned from these. It returns data near each other, or None if all are few.
    """
    model, fit = learn(some)
    others = near(model.params) if free_times(kernel, given) else None
    if others is None:
        return [(model, fit)]
    # a column of the mean may be constant there, and a prior of times may have no mass within the bounds of near data
    with caught_warnings() as caught, suppress(NotConverged, NotPositiveDefinite, InvalidInput):
        other = learn(others)
        same = other[0].again(kernel, model.params, likelihood=model.likelihood)
        gain = other[0].log_marginal_likelihood - same.log_marginal_likelihood
        if gain > LIKELIER and is_shorter(kernel, given, other[0].params, model.params):
            warn_again(caught)
            return [other, (model, fit)]
    return [(model, fit)]


def is_shorter(kernel: Kernel, given: Given, params: Params, other: Params) -> bool:
    """Whether a learned time is much shorter than that of other parameters."""
    times = (np.atleast_1d(each.time)[free_times(kernel, given)] for each in (other, params))
    return bool(np.any(np.divide(*times) > SHORTER))


def _start(chunk: Chunk, coefficient_scale: ArrayLike | None) -> Array:
    """Coefficients of the basis, those with flat priors, that take most of y out, so that digits are kept."""
    data, _ = targets(chunk.X, chunk.y, chunk.basis, chunk.noise, coefficient_scale)
    flat, start = data.precision == 0, np.zeros(chunk.basis.shape[1])
    start[flat] = np.linalg.lstsq(chunk.basis[:, flat], chunk.y, rcond=None)[0]
    return start


def _time(values: Array) -> Time:
    return float(values[0]) if len(values) == 1 else tuple(values.tolist())
