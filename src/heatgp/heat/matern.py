"""Matern kernels: heat kernels averaged over a random time, on every manifold and from every method.

    k(x, y) = mean of p_(s time)(x, y),   s ~ Gamma(smoothness + dim/2) / smoothness,

up to that constant the integral of t^(smoothness + dim/2 - 1) exp(-smoothness t / time) p_t(x, y) over t. Its spectral
density is (1 + lambda time / (2 smoothness))^-(smoothness + dim/2), since that of p_t is exp(-lambda t / 2).

Reference: Whittle (1963), Bull. Inst. Internat. Statist. 40, 974-994; Lindgren, Rue, Lindström (2011), J. R. Statist.
Soc. B 73, 423-498; Borovitskiy et al. (2020), "Matérn Gaussian processes on Riemannian manifolds".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from scipy.special import gammainccinv

from ..arguments import is_number, shown
from ..array import Array
from ..covariance import Gradients, TimeFunction
from ..errors import InvalidInput
from ..manifolds import Euclidean, Manifold, Stiefel, Torus
from .averaged.all_times import Powers, extended, volume_of
from .averaged.euclidean import BESSEL, EuclideanMatern
from .averaged.sums import Average, Leaf, OrbitAverage
from .averaged.table import MaternProfile, has_table
from .composed import ProductKernel, QuotientKernel, ScaledKernel, WrappedKernel
from .exact.fibre import FibreKernel, lift
from .exact.flat import EuclideanProfile, TorusProfile
from .kernel import HeatKernel, OrbitKernel
from .methods import Method, heat_kernel
from .stretched import StretchedKernel
from .sums import FactorsKernel, SumKernel

BEYOND = 1e-3
"""The part of k(x, x) that may come from heat kernels beyond their longest time."""
ROUGHEST = 0.1
"""The least smoothness: the number of times in the sum is inversely proportional to it."""


def matern_kernel(
    manifold: Manifold, smoothness: Any = 2.5, method: str | Method = "auto", **options: Any
) -> HeatKernel:
    """The Matern kernel of a manifold: functions with as many derivatives as `smoothness` says.

    k(x, y) is the heat kernel averaged over a random time, s `time` with s ~ Gamma(smoothness + dim/2) / smoothness; in
    other words, up to a constant, the integral of t^(smoothness + dim/2 - 1) exp(-smoothness t / time) p_t(x, y). With
    this constant the kernel is a density, like the heat kernel: its mass is one, and for large `smoothness` it tends to
    p_time. In R^n, k(x, y) / k(x, x) is the usual Matern correlation with length scale √time.

    Parameters
    ----------
    manifold : Manifold
    smoothness : number, default 2.5
        At least 0.1. Random functions with this covariance have derivatives up to any order below it: 1/2 is rough, 5/2
        usual for smooth data, and inf is the heat kernel itself.
    method : str or Method, default "auto"
        How the heat kernels are made, as in `heat_kernel`.
    options : those of the method.

    Returns
    -------
    HeatKernel, with the same calls as `heat_kernel` returns.

    Raises
    ------
    InvalidInput : for a smoothness below 0.1, an unknown method or option.
    Unsupported : where the method does not work on the manifold.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> kernel = matern_kernel(Sphere(2), smoothness=1.5)
    >>> kernel
    matern_kernel(heat_kernel(Sphere(2), method='exact'), smoothness=1.5)
    >>> kernel([[1.0, 0, 0]], [[1.0, 0, 0], [0, 0, 1.0]], time=0.1).round(4)
    array([[1.6185, 0.0037]])
    """
    smoothness = check_smoothness(smoothness)
    return with_smoothness(heat_kernel(manifold, method, **options), smoothness)


def check_smoothness(smoothness: Any) -> float:
    """A number from `ROUGHEST` on, or inf."""
    infinite = isinstance(smoothness, (float, np.floating)) and smoothness == math.inf
    if not (infinite or (is_number(smoothness) and smoothness >= ROUGHEST)):
        raise InvalidInput(
            f"smoothness must be a number from {ROUGHEST:g} on, such as 0.5, 1.5 or 2.5, or inf for the heat kernel; "
            f"got {shown(smoothness)}."
        )
    return float(smoothness)


def with_smoothness(kernel: HeatKernel, smoothness: float) -> HeatKernel:
    """The Matern kernel of a heat kernel; the heat kernel itself where the smoothness is infinite.

    Of a sum each summand, and of a kernel of some factors that of these.
    """
    if isinstance(kernel, SumKernel):
        return replace(kernel, summands=tuple(with_smoothness(summand, smoothness) for summand in kernel.summands))
    if isinstance(kernel, FactorsKernel):
        return replace(kernel, base=with_smoothness(kernel.base, smoothness))
    return kernel if math.isinf(smoothness) else MaternKernel(kernel.manifold, kernel, smoothness)


@dataclass(frozen=True, repr=False)
class MaternKernel(WrappedKernel):
    """A heat kernel averaged over its time; `matern_kernel` says how.

    A kernel with several times takes s times each of them: in R x R x .. the Matern kernel with a length scale for each
    coordinate.
    """

    smoothness: float

    def __post_init__(self) -> None:
        if not isinstance(self.base, HeatKernel) or isinstance(self.base, MaternKernel):
            raise InvalidInput(f"a Matern kernel is made of a heat kernel; got {self.base!r}.")
        object.__setattr__(self, "smoothness", check_smoothness(self.smoothness))

    def __repr__(self) -> str:
        return f"matern_kernel({self.base!r}, smoothness={self.smoothness:g})"

    @property
    def parameters(self) -> int:
        return self.base.parameters

    @property
    def times(self) -> tuple[float, float]:
        """Those of the heat kernel.

        Where it ends at a long time and the volume is infinite, up to when a thousandth of k(x, x) is beyond that.
        """
        low, high = self.base.times
        if math.isinf(high) or math.isfinite(volume_of(self.manifold)):
            return low, high
        last = self.base.profile.averaged_times[1] if isinstance(self.base, OrbitKernel) else high
        return low, min(high, last * self.smoothness / float(gammainccinv(self.smoothness, BEYOND)))

    def check_time(self, time: Any) -> Any:
        time, high = self.base.check_time(time), self.times[1]
        if high < self.base.times[1] and np.max(time) > high * (1 + 1e-9):
            raise InvalidInput(f"time = {time!r} is beyond the times of {self!r}, up to {high:.3g}. {self.advice}")
        return time

    def with_times(self, which: str | None) -> HeatKernel:
        """In R^n the coordinates are stretched, and the average over the time stays one of a known formula."""
        if isinstance(self.manifold, Euclidean):
            return super().with_times(which)
        base = self.base.with_times(which)
        return self if base is self.base else replace(self, base=base)

    def time_parts(self, X: np.ndarray) -> list[tuple[HeatKernel, np.ndarray]]:
        return [(with_smoothness(part, self.smoothness), x) for part, x in self.base.time_parts(X)]

    def tabulated(self, time: Any) -> tuple[Any, list[Any]]:
        return self._averaged.tabulated(time)

    def read_table(self, numbers: Any, X: Array, Y: Array) -> Array:
        return self._averaged.read_table(numbers, X, Y)

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._averaged.pairs(X, Y)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        return self._averaged.paired(X, Y)

    @property
    def has_constant_variance(self) -> bool:
        return self.base.has_constant_variance

    def with_gradients(self, X: Array, Y: Array, time: Any) -> Gradients:
        return self._averaged.with_gradients(X, Y, time)

    @cached_property
    def _averaged(self) -> HeatKernel:
        """The kernel that computes: averages over time go into sums, scales and functions of one coordinate."""
        base, smoothness = self.base, self.smoothness
        if math.isinf(smoothness):
            return base
        if isinstance(base, (QuotientKernel, ScaledKernel, StretchedKernel)):
            return replace(base, base=with_smoothness(base.base, smoothness))
        if isinstance(base, OrbitKernel) and isinstance(base.profile, EuclideanProfile) and smoothness <= BESSEL:
            return replace(base, profile=EuclideanMatern(base.profile.dim, smoothness))
        if isinstance(base, OrbitKernel) and has_table(base.manifold, base.profile):
            return replace(base, profile=MaternProfile(base.manifold, base.profile, smoothness))
        if isinstance(base, FibreKernel) and base.fibre is None and has_table(base.group.manifold, base.group.profile):
            profile = MaternProfile(base.group.manifold, base.group.profile, smoothness)
            return replace(base, group=replace(base.group, profile=profile))
        leaves = tuple(leaves_of(base))
        if leaves:
            return OrbitAverage(base.manifold, base, smoothness, leaves)
        return Average(base.manifold, base, smoothness, partial(at_all_times, base))


def leaves_of(kernel: HeatKernel, points: Callable[[Array], Array] = np.asarray, parameter: int = 0) -> list[Leaf]:
    """The functions of orbit coordinates whose product a kernel is; none where it is no such product."""
    if isinstance(kernel, OrbitKernel) and isinstance(kernel.profile, TorusProfile):
        circle = replace(kernel, manifold=Torus(1), profile=TorusProfile(1))
        columns = [partial(coordinate_of, i, points) for i in range(kernel.profile.dim)]
        return [Leaf(circle, column, parameter) for column in columns]
    if isinstance(kernel, OrbitKernel):
        if isinstance(kernel.manifold, Stiefel):  # whose distance is no function of orbit coordinates
            return []
        return [Leaf(kernel, points, parameter, is_gaussian=isinstance(kernel.profile, EuclideanProfile))]
    if isinstance(kernel, StretchedKernel):
        if not (isinstance(kernel.base, OrbitKernel) and isinstance(kernel.base.profile, EuclideanProfile)):
            return []
        line = replace(kernel.base, manifold=Euclidean(1), profile=EuclideanProfile(1))
        columns = [partial(coordinate_of, i, points) for i in range(kernel.parameters)]
        return [Leaf(line, column, parameter + i, is_gaussian=True) for i, column in enumerate(columns)]
    if isinstance(kernel, ScaledKernel):
        return [
            replace(leaf, scale=leaf.scale * kernel.manifold.scale)
            for leaf in leaves_of(kernel.base, points, parameter)
        ]
    if isinstance(kernel, FibreKernel) and kernel.fibre is None:
        return [Leaf(kernel.group, partial(lifted, kernel, points), parameter)]
    if not isinstance(kernel, ProductKernel):
        return []
    found = []
    for i, factor in enumerate(kernel.factors):
        before = sum(f.parameters for f in kernel.factors[:i]) if kernel.own_times else 0
        own = leaves_of(factor, partial(part_of, kernel, i, points), parameter + before)
        if not own:
            return []
        found += own
    return found


def lifted(kernel: FibreKernel, points: Callable[[Array], Array], X: Array) -> Array:
    """The group elements of points."""
    return lift(kernel.manifold, points(X))


def coordinate_of(number: int, points: Callable[[Array], Array], X: Array) -> Array:
    """One coordinate of points of R^n, as points of R."""
    return points(X)[..., number, None]


def part_of(kernel: ProductKernel, number: int, points: Callable[[Array], Array], X: Array) -> Array:
    """The points of one factor."""
    return kernel.manifold.split(points(X))[number]


def at_all_times(kernel: HeatKernel, X: Array, Y: Array | None, paired: bool) -> TimeFunction:
    """The kernel at the pairs of points, or at paired points, at times beyond its own too."""
    if isinstance(kernel, ProductKernel):
        return kernel.product_of(lambda factor, x, y: at_all_times(factor, x, y, paired), X, Y)
    function = kernel.paired(X, Y) if paired else kernel.pairs(X, Y)
    if kernel.times == (0.0, math.inf):
        return function

    left, right = kernel.paired(X), kernel.paired(X if Y is None else Y)

    @cache
    def correlations() -> np.ndarray:
        low = kernel.times[0]
        found, rows, columns = function.at(low), left.at(low), right.at(low)
        if not paired:
            return found.normalized(rows, columns).relative_value
        shift = math.exp(found.log_scale - (rows.log_scale + columns.log_scale) / 2)
        return shift * found.relative_value / np.sqrt(rows.relative_value * columns.relative_value)

    return extended(function.at, Powers(correlations), kernel.manifold, kernel.times)
