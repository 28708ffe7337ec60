"""Regression of many data by near neighbors: each datum, and each new point, is predicted from a few near data."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...covariance import Array, Kernel, TimeFunction
from ...errors import NotConverged, NotPositiveDefinite, Unsupported, caught_warnings, warn_again
from ..exact import evidence
from ..factors import JITTER, Dense
from ..normal import Normal
from ..objective import Objective, best_of
from ..parameters import Given, Params, Priors, checked_priors, is_weak
from ..posterior import Posterior
from ..prior import MeanBasis, Prior, Targets, targets
from ..search import Bounds, Fit, exact_objective, fit_from
from ..smoothness import Family, Smoothness, Tried, best_of_tried, climbed, log_prior, try_on_grid
from ..sparse.fit import SUBSET, Problem, candidates_of, guessed
from ..sparse.source import random_rows
from ..structure import Structure
from .factor import NeighborFactor, Neighborhoods, covariances
from .nearest import NONE, Places

SIZE = 30
"""Neighbors that the density of a datum is conditioned on."""
SIZES = (15, 30, 60, 120, 240)
"""Neighbors that a prediction is made from: the first number at which it does not change any more."""
MEANS = 10.0
"""Times the tolerance of standard deviations: the change of a mean, in these, at which it has enough neighbors."""
CHOOSING = 2000
"""Data whose densities choose a kernel."""
LEARNED = 10_000
"""Data whose densities parameters are learned from, at most."""
TWO = ((0.5, 1.5), (0.5, 0.5), (1.5, 0.5))
"""The smoothness of two summands, the one with the longer times first."""
RATIO = 30.0
"""The longer times over the best times of one kernel, with which a search of two begins."""
CLEAR = 3.0
"""The logarithm of the ratio of posterior densities from which two lengths are better than one."""
LOOKS = 200
"""Data whose predictions from others are compared."""
GAP = 120
"""Data around each of them that are left out too, as if it were in a gap."""
AT_ONCE = 4096
"""New points whose neighbors are looked for at one time."""
JOINTLY = 60
"""Neighbors of each of some points that their covariance is computed from."""
JOINT = 3000
"""Data near some new points up to which their covariance is computed: some seconds."""


@dataclass(frozen=True)
class NeighborsApproximation:
    """What predictions are made from.

    Attributes
    ----------
    neighbors : float, the mean number of near data that some of the data are predicted from.
    unsettled : float, the share of these predictions that still changed with the last of them.
    unsettled_in_gaps : float, the same where the nearest data are left out.
    tolerance : float, the relative change of a standard deviation at which a prediction has enough neighbors.
    """

    structure: ClassVar[str] = "neighbors"

    neighbors: float = np.nan
    unsettled: float = np.nan
    unsettled_in_gaps: float = np.nan
    tolerance: float = 1e-2

    @property
    def words(self) -> str:
        """The model in words."""
        return f"predictions from {self.neighbors:.0f} nearest neighbors"


@dataclass(frozen=True)
class NeighborData(Structure):
    """Data, and which of them are near each other."""

    model: Kernel
    X: Array
    y: Array
    data: Targets
    basis: MeanBasis
    order: Array  # (N,)
    time: Any  # at which nearest means nearest
    size: int = SIZE
    terms: int | None = None  # the number of data whose densities are taken; None: all
    on_device: bool = False  # whether covariances are computed by JAX

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))  # without what was computed

    @cached_property
    def places(self) -> Places:
        return (self._device.DevicePlaces if self.on_device else Places)(self.model, self.X, self.time)

    @cached_property
    def sets(self) -> Neighborhoods:
        number = len(self.X)
        rows = np.arange(number) if self.terms is None else random_rows(number, self.terms, 5)
        return Neighborhoods(rows, self.places.before(self.order, rows, min(self.size, max(1, number - 1))), number)

    @cached_property
    def prior(self) -> Prior:
        """The covariance of the data as a function of time."""
        return self.prior_of(self.sets)

    def prior_of(self, sets: Neighborhoods) -> Prior:
        """The same for neighborhoods of another kernel."""
        function = self.covariances(self.X, sets)
        return Prior(function, getattr(function, "form", NeighborFactor))

    def covariances(self, X: Array, sets: Neighborhoods) -> TimeFunction:
        """Those of neighborhoods among the points X: the data, and maybe others."""
        return (self._device.covariances if self.on_device else covariances)(self.model, X, sets)

    @property
    def _device(self) -> Any:
        from . import device  # it imports JAX, which is there

        return device

    @property
    def targets(self) -> Targets:
        """The targets, of which only the densities of some may count."""
        return replace(self.data, repeats=len(self.sets.rows) - len(self.X))

    def count(self, posterior: Posterior) -> int:
        return len(self.X)

    def approximation(self, posterior: Any) -> NeighborsApproximation:
        return posterior.predictions

    def again(self, posterior: Any, kernel: Kernel, params: Params, pairs: Any, likelihood: Any) -> Posterior:
        data = self if kernel is self.model else replace(self, model=kernel)
        found = condition_neighbors(data, params, posterior.noise_is_known)
        return replace(found, predictions=posterior.predictions)

    def objective(
        self, posterior: Posterior, bounds: Bounds, given: Given, priors: Any, pairs: Any, likelihood: Any
    ) -> tuple[Objective, Array]:
        objective = neighbors_objective(self, bounds, given, priors).at("curvature")
        return objective, objective.box


def neighbors_objective(data: NeighborData, bounds: Bounds, given: Given, priors: Priors | str | None) -> Objective:
    """The log evidence of the data as a function of the logs of what is learned."""
    objective = exact_objective(data.model, data.X, data.prior, data.data, bounds, given, priors)
    return replace(objective, y=data.targets)


@dataclass(frozen=True)
class NeighborsPosterior(Posterior):
    """A Gaussian process that has seen many data. A prediction is made from those that are nearest to its point."""

    columns: Array = field(kw_only=True)  # (N, 1 + q), y less its mean, and the basis of the mean
    noise: Array = field(kw_only=True)  # (N,), the variance of the noise of each datum
    predictions: NeighborsApproximation = NeighborsApproximation()

    def latent_mean(self, Xnew: Any) -> Array:
        return self.latent(Xnew)[0]

    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        mean, variance, _ = self._settled(Xnew)
        return mean, variance

    def _settled(self, Xnew: Any, without: Array | None = None) -> tuple[Array, Array, Array]:
        """Mean and variance of f at each point, from as many near data as it takes, and their numbers.

        The number of a point that needs more than there may be is `np.inf`. Some data may be left out, (M, count).
        """
        without = np.empty((len(Xnew), 0), int) if without is None else without
        columns = self.basis.at(Xnew)
        mean, variance, sizes = np.full(len(Xnew), np.inf), np.ones(len(Xnew)), np.zeros(len(Xnew))
        for start in range(0, len(Xnew), AT_ONCE):
            left = np.arange(start, min(start + AT_ONCE, len(Xnew)))
            for size in SIZES:
                if not len(left):
                    break
                near = self.structure.places.among(Xnew[left], size, without[left])
                near = near[:, (near != NONE).any(axis=0)]
                found = self._given(Xnew[left], near, columns[left])
                change = np.abs(found[0] - mean[left])
                deviations = np.sqrt(np.stack([found[1], variance[left]]))
                mean[left], variance[left], sizes[left] = *found, near.shape[1]
                limit = self.predictions.tolerance * deviations[0]
                settled = (change <= MEANS * limit) & (np.abs(np.subtract(*deviations)) <= limit)
                left = left[~settled] if near.shape[1] == size else left[:0]  # else all data are near
            sizes[left] = np.inf
        return mean, variance, sizes

    def _given(self, Xnew: Any, near: Array, columns: Array) -> tuple[Array, Array]:
        """Mean and variance of f given these data, (M, m); `columns` are the basis of the mean."""
        number, a = len(self.X), self.params.amplitude
        sets = Neighborhoods(number + np.arange(len(Xnew)), near, number + len(Xnew))
        values = self.structure.covariances(np.concatenate([self.X, Xnew]), sets).at(self.params.time).value
        weights, variances = (a * values).conditionals(np.append(self.noise, np.zeros(len(Xnew))))
        projected = np.einsum("mn,mnc->mc", weights, self.columns[near])
        of_basis = np.square(self._whitened_basis(columns - projected[:, 1:])).sum(axis=0)
        mean = self.offset + columns @ self.inner + projected[:, 0]
        return mean, np.maximum(variances, 0.0) + of_basis

    def near(self, points: Any) -> Posterior:
        """The dense model of all data that are near some points, with the mean of all data."""
        rows = np.unique(self.structure.places.among(points, JOINTLY))
        rows = rows[rows != NONE]
        if len(rows) > JOINT:
            raise Unsupported(
                f"{len(rows):,} data are near {len(points):,} points, too many for their covariance. Ask for fewer "
                "points, or for standard deviations."
            )
        K = self.params.amplitude * self.kernel.pairs(self.X[rows]).at(self.params.time).value
        factor = Dense.of(K, 1.0 / self.noise[rows])
        names = ("kernel", "params", "likelihood", "log_marginal_likelihood", "offset", "basis", "inner", "lower")
        own = {name: getattr(self, name) for name in names}
        weights = factor.solve(self.columns[rows])
        own |= {"X": self.X[rows], "y": self.y[rows], "weights": weights[:, 0], "solved": weights[:, 1:]}
        return Posterior(factor=factor, **own)

    def latent_covariance(self, Xnew: Any) -> Array:
        """That of the data near any of the points, with the variances of `latent`."""
        if not len(Xnew):
            return np.empty((0, 0))
        covariance = self.near(Xnew).latent_covariance(Xnew)
        own = np.diagonal(covariance)
        ratio = np.sqrt(self.latent(Xnew)[1] / np.where(own > 0, own, 1.0))
        return covariance * np.outer(ratio, ratio)

    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        if not len(Xnew):
            return np.empty(0), np.empty(0), *np.empty((2, *np.shape(Xnew)))
        values = self.basis.values
        found = []
        for i in range(len(Xnew)):
            model = self.near(Xnew[i : i + 1])
            model = model if values is None else model.with_basis(values[i : i + 1])
            found.append(model.gradients(Xnew[i : i + 1], of_basis[i : i + 1]))
        mean, variance, of_mean, of_variance = map(np.concatenate, zip(*found))
        return mean, variance, of_mean, of_variance

    def resolved(self, tolerance: float) -> NeighborsPosterior:
        """The same with what is said of predictions: of some of the data, from others, and from those farther away."""
        looks = np.random.default_rng(4).permutation(len(self.X))[:LOOKS]
        own, around = looks[:, None], self.structure.places.among(self.X[looks], GAP)[:, : len(self.X) // 10]
        model = replace(self, predictions=NeighborsApproximation(tolerance=tolerance)).with_basis_of(looks)
        sizes, far = (model._settled(self.X[looks], out)[2] for out in (own, np.hstack([own, around])))
        unsettled, in_gaps = (float(np.mean(np.isinf(each))) for each in (sizes, far))
        number = float(np.minimum(sizes, SIZES[-1]).mean())
        stated = NeighborsApproximation(number, unsettled, in_gaps, tolerance)
        return replace(self, predictions=stated)

    def with_basis_of(self, rows: Array) -> NeighborsPosterior:
        """For new points that are some of the data."""
        return self.with_basis(np.linalg.solve(self.basis.transform.T, self.columns[rows, 1:].T).T)


def condition_neighbors(data: NeighborData, params: Params, noise_is_known: bool = False) -> NeighborsPosterior:
    """The posterior of f at known parameters."""
    known = data.targets
    noise = np.maximum(params.noise * known.noise, JITTER * params.amplitude)
    factor = data.prior.form.of(params.amplitude * data.prior.at(params.time)[0], 1.0 / noise)
    found = evidence(factor, noise, known, 1.0)
    columns = np.column_stack([known.y - known.basis @ found.coefficients, known.basis])
    return NeighborsPosterior(
        data.model,
        data.X,
        data.y,
        params,
        Normal(None if noise_is_known else params.noise),
        replace(factor, values=None),  # which is of no use any more, and large
        found.weights[:, 0],
        found.value,
        known.known,
        data.basis,
        known.start + found.coefficients,
        found.lower,
        found.weights[:, 1:],
        structure=data,
        columns=columns,
        noise=noise,
    )


def runs_on_device(kernel: Kernel, time: Any) -> bool:
    """Whether JAX can compute the covariances of a kernel; it is there where data are in its arrays."""
    from ..device import runs_on_device

    return runs_on_device(kernel, time)


def fit_neighbors(
    problem: Problem, tolerance: float = 1e-2, noise_is_known: bool = False, guess: Params | None = None
) -> tuple[NeighborsPosterior, Fit | None]:
    """The posterior of data in memory, and the search for what is learned; it starts from the guess if there is one."""
    given, tried = problem.given, problem.tried
    some = problem.source.read(slice(None))
    known, basis = targets(some.X, some.y, some.mean, some.noise, problem.coefficient_scale)
    known, basis = replace(known, known=problem.known), replace(basis, function=problem.function)
    first = given.params or guess or (None if tried is None else tried.params)
    if first is None:
        guesses = guessed(problem, problem.source.sample(SUBSET), candidates_of(problem.source))
    else:
        guesses = [first]
    order = np.random.default_rng(0).permutation(len(some.X))
    data = NeighborData(problem.kernel, some.X, some.y + problem.known, known, basis, order, guesses[0].time)
    number, bounds = len(some.X), problem.bounds
    if problem.family is not None and tried is not None:
        part = replace(data, terms=min(CHOOSING, number))
        data, best = chosen_kernel(part, problem.family, given, problem.priors, replace(tried, params=guesses[0]))
        bounds, guesses = problem.family.bounds(data.model), [best.params]
        given = given_of(data.model, given)
    on_device = problem.source.on_device and runs_on_device(data.model, guesses[0].time)
    data = replace(data, terms=None, on_device=on_device)
    if given.params:
        return condition_neighbors(data, given.params, noise_is_known).resolved(tolerance), None
    few, fit = None, None
    for terms in (CHOOSING, LEARNED):
        part = replace(data, terms=terms if terms < number else None, time=guesses[0].time)
        objective = neighbors_objective(part, bounds, given, problem.priors)
        with caught_warnings() as caught:
            fit = fit_from(part.model, objective, objective.box, guesses, few)
        guesses, few = [fit.params], objective
        if part.terms is None:
            break
    assert fit is not None
    warn_again(caught)  # of the last search alone
    fit = replace(fit, data=min(LEARNED, number))
    return condition_neighbors(replace(part, terms=None), fit.params, noise_is_known).resolved(tolerance), fit


def given_of(kernel: Kernel, given: Given) -> Given:
    """What is given of another kernel, whose times are all learned if there are more of them."""
    return given if kernel.parameters == len(given.time) else Given.of(kernel, None, given.amplitude, given.noise)


def chosen_kernel(
    data: NeighborData, family: Family, given: Given, priors: Any, first: Tried
) -> tuple[NeighborData, Tried]:
    """The kernel with the largest posterior density of some of the data: its smoothness, and one length or two.

    Measured fields often vary over two lengths: rough ones over long distances, and smoother ones over short ones. So
    the sum of two kernels is tried, where all times are learned. A first smoothness is known from few data.

    Returns the data with this kernel, and what was tried.
    """
    tried: list[Tried] = []

    def log_posterior(smoothness: Smoothness, starts: list[Params]) -> float:
        kernel = family.kernel(smoothness)
        prior = replace(data, model=kernel).prior_of(data.sets)
        own = family.bounds(kernel), given_of(kernel, given), priors
        objective = replace(exact_objective(kernel, data.X, prior, data.data, *own), y=data.targets)
        with caught_warnings():
            try:
                value, z = best_of(climbed(objective, objective.coordinates(start)) for start in starts)
            except (NotPositiveDefinite, NotConverged):
                return -np.inf
        value += float(np.mean([log_prior(each) for each in np.atleast_1d(smoothness)]))
        tried.append(Tried(value, smoothness, objective.params(z)))
        return value

    def of_one(smoothness: float) -> float:
        return log_posterior(smoothness, [best_of_tried(tried or [first]).params])

    try_on_grid(of_one, float(np.min(first.smoothness)))
    one = best_of_tried(tried)
    of_times = checked_priors(priors)
    if given.free == list(range(len(given.time))) and is_weak(of_times.time) and of_times.time_bounds is None:
        for smoothness in TWO:
            log_posterior(smoothness, [two_lengths(one.params)])
    best = best_of_tried(tried)
    best = best if best.log_posterior > one.log_posterior + CLEAR else one
    return replace(data, model=family.kernel(best.smoothness)), best


def two_lengths(params: Params) -> Params:
    """A start for the sum of two kernels: longer times and shorter ones, whose summands have the same weight."""
    times = np.atleast_1d(params.time)
    return replace(params, time=(*(times * RATIO).tolist(), *(times / np.sqrt(RATIO)).tolist(), 1.0))
