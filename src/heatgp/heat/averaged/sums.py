"""Averages over time of any heat kernel, as sums over times of its values at the pairs of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce
from typing import Any

import numpy as np

from ...array import Array
from ...covariance import Evaluation, Gradients, TimeFunction, product
from ...errors import Unsupported
from ...manifolds import Homogeneous, Manifold
from ..kernel import CHUNK, HeatKernel, OrbitKernel, Profile, Recent, Slice, coordinate_slopes
from .all_times import Gaussian, extended, shortest_time
from .gamma_times import COARSE, FINE, GammaTimes, summed
from .table import STEP, TabulatedHeat, has_table, heat_table

NEGLIGIBLE = 45.0
"""exp(-45): pairs that are further apart at a time count for nothing there."""
KEPT = 1 << 28
"""Bytes of heat kernels that are kept for other times of the average."""
SLICES = 192
"""Times at which the heat kernel of each factor is kept prepared."""


Block = tuple[slice, slice, tuple[int, ...]]
"""Rows and columns of a matrix of pairs, and its shape."""


@dataclass(frozen=True, repr=False)
class Average(HeatKernel):
    """The average over time of a kernel that is no function of orbit coordinates.

    `at_all_times` gives the base's values at the pairs of points (or at paired points) at all times.
    """

    manifold: Manifold
    base: HeatKernel
    smoothness: float
    at_all_times: Callable[[Array, Array | None, bool], TimeFunction]

    @property
    def parameters(self) -> int:
        return self.base.parameters

    @property
    def detail(self) -> float:
        return self.base.detail

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._sum(self.at_all_times(X, Y, False), (len(X), len(X if Y is None else Y)))

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._sum(self.at_all_times(X, Y, True), (len(X),))

    def _sum(self, function: TimeFunction, shape: tuple[int, ...]) -> TimeFunction:
        law = GammaTimes(self.smoothness, self.manifold.dim, COARSE, self.manifold.decay)
        if self.parameters == 1:  # the times of the sum are the same for all times of the average
            kept = Recent(function.at, max(2, KEPT // (16 * max(1, math.prod(shape)))))
            return TimeFunction(lambda time: summed(law, time, kept, shape))

        def at(times: tuple[float, ...]) -> Evaluation:
            def node(s: float) -> Evaluation:
                found = function.at(tuple(s * t for t in times))
                return Evaluation(
                    lambda: found.relative_value,
                    lambda: found.relative_slopes[1:],
                    lambda: found.relative_error,
                    found.log_scale,
                )

            return summed(law, 1.0, node, shape, len(times))

        return TimeFunction(at)


@dataclass(frozen=True, eq=False)
class Leaf:
    """A function of orbit coordinates among the factors of a product."""

    kernel: OrbitKernel
    points: Callable[[Array], Array]
    """From points of the product to those of this factor."""
    parameter: int = 0
    """Which of the times of the product is its own."""
    scale: float = 1.0
    """By which its distances are multiplied in the product."""
    is_gaussian: bool = False
    """Whether it is the heat kernel of Euclidean space."""

    @property
    def manifold(self) -> Homogeneous:
        return self.kernel.manifold


@dataclass(frozen=True, repr=False, eq=False)
class OrbitAverage(HeatKernel):
    """The average over time of a product of functions of orbit coordinates, or of one of several coordinates.

    Pairs that are too far apart at a time count for nothing there, and are left out.
    """

    manifold: Manifold
    base: HeatKernel
    smoothness: float
    leaves: tuple[Leaf, ...]

    @property
    def parameters(self) -> int:
        return self.base.parameters

    @property
    def detail(self) -> float:
        return self.base.detail

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        shape = (len(X), len(X if Y is None else Y))
        coordinates = sum(len(leaf.manifold.chamber) for leaf in self.leaves)
        self.check_pairs(*shape, 4 + coordinates)
        lists = list(self._lists(np.asarray(X), None if Y is None else np.asarray(Y)))

        def at(time: Any) -> Evaluation:
            found = [(blocks, function.at(time)) for blocks, function in lists]

            def matrix(read: Callable[[Evaluation], np.ndarray], *leading: int) -> np.ndarray:
                out = np.empty((*leading, *shape))
                for blocks, evaluation in found:
                    values, start = read(evaluation), 0
                    for rows, columns, size in blocks:
                        block = values[..., start : start + math.prod(size)].reshape(*leading, *size)
                        out[..., rows, columns] = block
                        if Y is None:
                            out[..., columns, rows] = np.swapaxes(block, -1, -2)
                        start += math.prod(size)
                return out

            return Evaluation(
                lambda: matrix(lambda e: e.relative_value),
                lambda: matrix(lambda e: e.relative_slopes, self.parameters),
                lambda: matrix(lambda e: e.relative_error),
                found[0][1].log_scale if found else 0.0,
                lambda: matrix(lambda e: e.log - e.log_scale),
            )

        return TimeFunction(at)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        if Y is None:
            origins = [leaf.manifold.origin for leaf in self.leaves]
            one = self._list([np.asarray(leaf.manifold.orbit(o, o))[None] for leaf, o in zip(self.leaves, origins)])
            return TimeFunction(lambda time: one.at(time).mapped(lambda values: np.repeat(values, len(X), axis=-1)))
        return self._list([np.asarray(leaf.manifold.orbit(leaf.points(X), leaf.points(Y))) for leaf in self.leaves])

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        """Of one leaf by differences in its coordinates, of several along geodesics."""
        leaf = self.leaves[0]
        if leaf.kernel is not self.base:
            return super().with_gradients(X, Y, time)
        X, Y, M = np.asarray(X), np.asarray(Y), leaf.manifold
        theta = np.asarray(M.orbits(X, Y))

        def value(theta: np.ndarray) -> np.ndarray:
            found = self._list([theta.reshape(-1, theta.shape[-1])]).at(time)
            return found.relative_value.reshape(theta.shape[:-1])

        slopes = partial(coordinate_slopes, value, theta, M, self.step_of_differences(time))
        try:
            gradient = M.orbit_gradients(X, Y, theta, slopes)
        except Unsupported:
            return super().with_gradients(X, Y, time)
        return Gradients(value(theta), np.asarray(gradient), self.paired(X[:1]).at(time).log_scale)

    def _lists(self, X: np.ndarray, Y: np.ndarray | None) -> Iterator[tuple[list[Block], TimeFunction]]:
        """Blocks of pairs, joined to long lists, and the averages at each list."""
        kept = Kept(KEPT)
        columns = max(1, len(X if Y is None else Y))
        rows = max(1, CHUNK // (columns * math.ceil(math.prod(self.manifold.shape) / 16)))
        parts = [
            leaf.kernel.orbit_blocks(leaf.points(X), None if Y is None else leaf.points(Y), rows)
            for leaf in self.leaves
        ]
        blocks: list[Block] = []
        thetas: list[list[np.ndarray]] = []
        for part in zip(*parts):
            own, others, first = part[0]
            blocks.append((own, others, first.shape[:2]))
            thetas.append([theta.reshape(-1, theta.shape[-1]) for _, _, theta in part])
            if sum(math.prod(size) for _, _, size in blocks) > CHUNK // 2:
                yield blocks, self._list([np.concatenate(leaf) for leaf in zip(*thetas)], kept)
                blocks, thetas = [], []
        if blocks:
            yield blocks, self._list([np.concatenate(leaf) for leaf in zip(*thetas)], kept)

    @cached_property
    def _slices(self) -> Recent:
        return Recent(self._slice, SLICES * len(self.leaves))

    def _slice(self, number: int, time: float) -> Slice:
        return self._profiles[number].prepare(time)

    @cached_property
    def _leader(self) -> Leaf:
        """The leaf at whose times the sum is: the first that is tabulated, if any."""
        return next((leaf for leaf in self.leaves if has_table(leaf.manifold, leaf.kernel.profile)), self.leaves[0])

    @cached_property
    def _profiles(self) -> list[Profile | TabulatedHeat]:
        """Of each leaf; those of one coordinate are tabulated at the times of the sum, or at many times."""
        step, leader = GammaTimes(self.smoothness, self.manifold.dim, FINE).step, self._leader

        def own_step(leaf: Leaf) -> float:
            return step if (leaf.parameter, leaf.scale) == (leader.parameter, leader.scale) else STEP

        return [
            TabulatedHeat(heat_table(leaf.manifold, leaf.kernel.profile, own_step(leaf)))
            if has_table(leaf.manifold, leaf.kernel.profile)
            else leaf.kernel.profile
            for leaf in self.leaves
        ]

    @cached_property
    def _limits(self) -> list[tuple[float, float]]:
        """The times between which each leaf is asked; before, the leading term of its expansion is right."""
        return [
            (profile.heat.first, math.inf)
            if isinstance(profile, TabulatedHeat)
            else (max(profile.times[0], shortest_time(leaf.manifold)), profile.averaged_times[1])
            for leaf, profile in zip(self.leaves, self._profiles)
        ]

    def _list(self, thetas: list[np.ndarray], kept: Kept | None = None) -> TimeFunction:
        """The averages at a list of pairs, whose orbit coordinates in each leaf are given."""
        squares = [np.asarray(leaf.manifold.length(theta)) ** 2 for leaf, theta in zip(self.leaves, thetas)]
        coordinates = [self._coordinates(i, thetas[i]) for i in self._curved]
        law = GammaTimes(self.smoothness, self.manifold.dim, FINE, self.manifold.decay)
        several, number = self.parameters > 1, len(squares[0])
        by_distance = None if several else SortedPairs.of(coordinates, squares, self._units(1.0))
        keep = (kept or Kept()).of_list()

        def at(time: Any) -> Evaluation:
            units = self._units(time if several else 1.0)
            leading = units[self.leaves.index(self._leader)]
            pairs = by_distance or SortedPairs.of(coordinates, squares, units)
            gaussian = self._gaussian(units, pairs.squares)

            def node(moment: float) -> Evaluation:
                t = moment / leading
                near = slice(pairs.number_within(2 * t * (NEGLIGIBLE + self.manifold.dim)))
                factors = [
                    self._leaf_at(i, t * units[i], own[near], pairs.squares[i][near])
                    for i, own in zip(self._curved, pairs.coordinates)
                ]
                if self._flat:
                    factors.append(gaussian(t, near))
                found = product(factors)
                if several:
                    return Evaluation(
                        lambda: found.relative_value,
                        lambda: self._other_slopes(factors),
                        lambda: found.relative_error,
                        found.log_scale,
                    )
                return Evaluation(
                    lambda: keep(moment, lambda: found.relative_value),
                    None,
                    lambda: found.relative_error,
                    found.log_scale,
                )

            own_time = leading if several else time * leading
            average = summed(law, own_time, node, (number,), self.parameters, self._leader.parameter)
            return average.mapped(lambda values: values[..., pairs.places])

        return TimeFunction(at)

    def _coordinates(self, number: int, theta: np.ndarray) -> np.ndarray:
        """Orbit coordinates as a prepared leaf takes them: places in its table where it has one."""
        profile = self._profiles[number]
        return profile.heat.place(theta) if isinstance(profile, TabulatedHeat) else theta

    @cached_property
    def _flat(self) -> list[int]:
        """The leaves that are Gaussian; together they are one factor."""
        return [i for i, leaf in enumerate(self.leaves) if leaf.is_gaussian]

    @cached_property
    def _curved(self) -> list[int]:
        """The other leaves."""
        return [i for i, leaf in enumerate(self.leaves) if not leaf.is_gaussian]

    def _gaussian(self, units: list[float], squares: list[np.ndarray]) -> Callable[[float, slice], Evaluation]:
        """The product of the Gaussian leaves at some of the pairs and times `units` t, and its slopes in each time."""
        parts = [(units[i], squares[i], self.leaves[i].manifold.dim / 2) for i in self._flat]
        whole = reduce(np.add, [square * (-0.5 / unit) for unit, square, _ in parts]) if parts else np.zeros(0)
        halves = sum(half for _, _, half in parts)
        height = sum(half * math.log(unit * self.leaves[i].scale ** 2) for i, (unit, _, half) in zip(self._flat, parts))

        def at(t: float, near: slice) -> Evaluation:
            value = cache(lambda: np.exp(whole[near] / t))

            def slopes() -> np.ndarray:
                return np.stack([(square[near] * (0.5 / (unit * t)) - half) * value() for unit, square, half in parts])

            return Evaluation(
                value, slopes, lambda: np.zeros(whole[near].shape), -height - halves * math.log(2 * math.pi * t)
            )

        return at

    def _units(self, times: Any) -> list[float]:
        """The time of each leaf at the time, or times, of the average."""
        return [float(np.atleast_1d(times)[leaf.parameter]) / leaf.scale**2 for leaf in self.leaves]

    def _leaf_at(self, number: int, time: float, theta: np.ndarray, squares: np.ndarray) -> Evaluation:
        """One factor of the heat kernel at some pairs, at any time."""
        leaf = self.leaves[number]

        def known(time: float) -> Evaluation:
            prepared = self._slices(number, time)
            return Evaluation(
                lambda: prepared.relative_value(theta),
                lambda: (time * prepared.relative_slope(theta))[None],
                lambda: prepared.relative_error(theta),
                prepared.log_scale,
            )

        low, high = self._limits[number]
        if low <= time <= high:
            found = known(time)
        else:
            found = extended(known, Gaussian(lambda: squares, low), leaf.manifold, (low, high)).at(time)
        return found if leaf.scale == 1 else found.shifted(-leaf.manifold.dim * math.log(leaf.scale))

    def _other_slopes(self, factors: list[Evaluation]) -> np.ndarray:
        """Derivatives of the product of the leaves in all parameters but the leader's; the Gaussian leaves are last."""
        own = self._leader.parameter
        places = [[i] for i in self._curved] + [self._flat] * bool(self._flat)
        out = np.zeros((self.parameters, *factors[0].relative_value.shape))
        for number, (leaves, factor) in enumerate(zip(places, factors)):
            if all(self.leaves[i].parameter == own for i in leaves):
                continue
            rest = [other.relative_value for k, other in enumerate(factors) if k != number]
            slopes = reduce(np.multiply, rest, factor.relative_slopes)
            for i, slope in zip(leaves, slopes):
                out[self.leaves[i].parameter] += slope
        return np.delete(out, own, axis=0)


@dataclass(frozen=True)
class SortedPairs:
    """Pairs sorted by distance, in units of the root of time: those near enough at a time are the first ones.

    They are sorted up to a hundredth only, by `distance_class`, which takes a tenth of the time.
    """

    coordinates: list[np.ndarray]
    squares: list[np.ndarray]
    classes: np.ndarray
    places: np.ndarray
    """Where each pair is in this order."""

    @classmethod
    def of(cls, coordinates: list[np.ndarray], squares: list[np.ndarray], units: list[float]) -> SortedPairs:
        classes = distance_class(reduce(np.add, [square / unit for square, unit in zip(squares, units)]))
        order = np.argsort(classes, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return cls([part[order] for part in coordinates], [part[order] for part in squares], classes[order], places)

    def number_within(self, reach: float) -> int:
        """The number of pairs up to this sum of squares over times, and a few more."""
        return int(np.searchsorted(self.classes, distance_class(np.array(reach)), side="right"))


def distance_class(squares: np.ndarray) -> np.ndarray:
    """The first 16 bits of squared distances in single precision, which keep their order and are sorted fast."""
    with np.errstate(over="ignore", under="ignore"):
        return (squares.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


class Kept:
    """Heat kernels at the times of a sum, kept for other times of the average as long as there is room."""

    def __init__(self, room: int = 0) -> None:
        self.room = room

    def of_list(self) -> Callable[[float, Callable[[], np.ndarray]], np.ndarray]:
        """A function that looks up a time in the memory of a list of pairs, or computes and keeps it."""
        known: dict[float, np.ndarray] = {}

        def keep(time: float, compute: Callable[[], np.ndarray]) -> np.ndarray:
            if time in known:
                return known[time]
            values = compute()
            if values.nbytes <= self.room:
                self.room -= values.nbytes
                known[time] = values
            return values

        return keep
