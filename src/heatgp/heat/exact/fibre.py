"""Stiefel manifolds as quotients of groups: the group's kernel averaged over the fibre.

With H the rotations of the last n - k columns, p(x, y) = vol(H) times the mean over h in H of p_G(g_x^-1 g_y h), where
g_x is any group element whose first k columns are x. Reference: Ye et al. (2024), eq. (heat kernel of a quotient).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from ...array import Array
from ...covariance import Evaluation, Gradients, TimeFunction
from ...manifolds import Homogeneous, SpecialOrthogonal, Sphere, Stiefel, Unitary
from ...manifolds.spaces.frames import completed
from ...manifolds.spaces.orthogonal import log_rotation_volume
from ...manifolds.spaces.orthonormal import random_matrices
from ...manifolds.spaces.unitary import log_unitary_volume
from ...progress import tracked
from ..kernel import CHUNK, Function, MadeKernel, OrbitKernel, Profile
from ..special.determinant import NEGLIGIBLE
from .families import sphere
from .fibre_rotations import rotation_average, rule
from .find import exact_profile

if TYPE_CHECKING:
    from ..methods import Method

GOLDEN = (1 + math.sqrt(5)) / 2
ELEMENTS = 4
"""Elements to average over for each patch of the fibre that the kernel tells apart, at the shortest time."""
MARGIN = 1.1
"""Part by which the Gaussian is followed beyond rounding: other factors of the density make up for less."""
ROUNDING = 1e-14
"""Error of the trace of g_x^-1 g_y for each of its columns, at most."""
WITNESSES = 4
"""Random cosets with which the average is compared, to estimate its error."""
Fibre = Callable[[Stiefel, float], np.ndarray]
"""Elements of H, (m, n-k, n-k), to average over at a time."""


def lift(M: Stiefel, x: Array) -> np.ndarray:
    """A group element (determinant one over the reals) whose first k columns are x; of a sphere, x itself."""
    x = np.asarray(x)
    if not M.is_complex and M.k == 1:
        return x[..., 0]
    g = completed(x)
    if not M.is_complex:
        g[..., -1] *= np.sign(np.linalg.det(g))[..., None]
    return g


def circle(M: Stiefel, time: float) -> np.ndarray:
    """A cyclic group in H = SO(2) or U(1), fine enough that the trapezoid rule is exact to rounding."""
    m = circle_order(M, time)
    return turns(M, 2 * math.pi * np.arange(m) / m)


def circle_order(M: Stiefel, time: float) -> int:
    """How many elements it has.

    The mode e^(ikφ) of the kernel decays like e^(-k² t/2) on SO(2) and e^(-k² t) on U(1), whose metric is half as long;
    m elements alias the mode m, and e^(-36) is below rounding.
    """
    return max(8, math.ceil(math.sqrt(36 * (1 if M.is_complex else 2) / time)))


def rotations(M: Stiefel, time: float) -> np.ndarray:
    """Elements of H = SO(3), around the one that comes closest, or everywhere; see `rotation_average`."""
    return rule(time)[0]


def turns(M: Stiefel, angle: np.ndarray) -> np.ndarray:
    """The elements of H = SO(2) or U(1) with these angles, two more axes."""
    if M.is_complex:
        return np.exp(1j * angle)[..., None, None]
    c, s = np.cos(angle), np.sin(angle)
    return np.stack((np.stack((c, -s), axis=-1), np.stack((s, c), axis=-1)), axis=-2)


@dataclass(frozen=True)
class Cosets:
    """A finite group F of H, and `number` random elements r of H: averages run over the products r f.

    The double average over all r f is positive definite for any r, and since p_G is a class function one side needs
    the r alone: number² |F| terms for each pair.
    """

    number: int
    seed: int = 0

    def __call__(self, M: Stiefel, time: float) -> np.ndarray:
        return (self.representatives(M)[:, None] @ finite_group(M.n - M.k, M.is_complex)).reshape(
            -1, M.n - M.k, M.n - M.k
        )

    def representatives(self, M: Stiefel) -> np.ndarray:
        size, rng = M.n - M.k, np.random.default_rng(self.seed)
        if M.is_complex:
            return random_matrices(rng, self.number, size, True)
        h = random_matrices(rng, self.number, size, False)
        h[:, :, 0] *= np.linalg.det(h)[:, None]
        return h


def group_order(size: int, is_complex: bool) -> int:
    """How many elements `finite_group` has."""
    if size == 3 and not is_complex:
        return 60
    return math.factorial(size) * (4**size if is_complex else 2 ** (size - 1))


@lru_cache(maxsize=8)
def finite_group(size: int, is_complex: bool) -> np.ndarray:
    """Evenly spread elements of SO(size) or U(size) that form a group.

    SO(3): the 60 rotations of the icosahedron. Else permutation matrices with signs, of determinant one, or with
    fourth roots of unity.
    """
    if size == 3 and not is_complex:
        return _closure([_rotation((0, 0, 1), 0.5), _rotation((1, 1, 1), 1 / 3), _rotation((1, 0, GOLDEN), 0.2)])
    units = (1, 1j, -1, -1j) if is_complex else (1.0, -1.0)
    permutations = [np.eye(size)[list(p)] for p in itertools.permutations(range(size))]
    group = np.array([p * np.array(u) for p in permutations for u in itertools.product(units, repeat=size)])
    return group if is_complex else group[np.linalg.det(group) > 0]


def _rotation(axis: tuple[float, ...], turns: float) -> np.ndarray:
    vector = 2 * math.pi * turns * np.array(axis) / math.hypot(*axis)
    return Rotation.from_rotvec(vector).as_matrix()


def _closure(generators: list[np.ndarray]) -> np.ndarray:
    """All products of the generators."""
    group = [np.eye(len(generators[0]))]
    for element in group:  # grows while it is walked through
        for g in generators:
            new = element @ g
            if all(np.abs(new - old).max() > 1e-6 for old in group):
                group.append(new)
    return np.array(group)


def fibre_group(M: Stiefel) -> Homogeneous:
    """The group whose quotient by H the Stiefel manifold is."""
    return Unitary(M.n) if M.is_complex else SpecialOrthogonal(M.n)


def exact_stiefel(M: Stiefel) -> tuple[Homogeneous, Profile, Fibre | None] | None:
    """The group (or sphere), its profile and the fibre to average over, where the kernel is exact; else None.

    V(1, n) is a sphere, V(n-1, n) is SO(n); a circle is averaged over on V(n-2, n) and complex V(n-1, n), the rotations
    of three dimensions on V(n-3, n).
    """
    if not M.is_complex and M.k == 1:
        return Sphere(M.n - 1), sphere(M.n - 1), None
    group = fibre_group(M)
    profile = exact_profile(group)
    fibres: tuple[Fibre | None, ...] = (circle,) if M.is_complex else (None, circle, rotations)
    size = M.n - M.k
    if profile is None or size > len(fibres):
        return None
    return group, profile, fibres[size - 1]


@dataclass(frozen=True, repr=False)
class FibreKernel(MadeKernel):
    """p(x, y) = vol(H) times the average of the group's kernel; without a fibre, the kernel of the group itself."""

    manifold: Stiefel
    made_by: Method
    group: OrbitKernel
    fibre: Fibre | None

    @property
    def log_fibre_volume(self) -> float:
        size = self.manifold.n - self.manifold.k
        if self.fibre is None:
            return 0.0
        return log_unitary_volume(size) if self.manifold.is_complex else log_rotation_volume(size)

    @property
    def times(self) -> tuple[float, float]:
        """From when on there are four elements for each patch of the fibre that the kernel tells apart.

        There the kernel is right to a per cent or two of p_t(x, x), at a longer time to much less.
        """
        if not isinstance(self.fibre, Cosets):
            return self.group.times
        size = self.manifold.n - self.manifold.k
        dim = size * size if self.manifold.is_complex else size * (size - 1) // 2
        elements = self.fibre.number * len(finite_group(size, self.manifold.is_complex))
        return (ELEMENTS * math.exp(self.log_fibre_volume) / elements) ** (2 / dim) / (2 * math.pi), math.inf

    def pairs(self, X: Array, Y: Array | None = None) -> TimeFunction:
        gx = lift(self.manifold, X)
        gy = gx if Y is None else lift(self.manifold, Y)
        if self.fibre is None:
            return self.group.pairs(gx, None if Y is None else gy)

        self.check_pairs(len(gx), len(gy), 4)

        def at(time: float) -> Evaluation:
            p = self.group.profile.at(time)
            known: dict[str, np.ndarray] = {}

            def average(*functions: Function) -> list[np.ndarray]:
                return self._average(time, functions, gx, gy)

            def value() -> np.ndarray:
                return known["value"] if known else average(p.relative_value)[0]

            def slopes() -> np.ndarray:
                known["value"], slope = average(
                    p.relative_value, p.relative_slope
                )  # the orbit coordinates are most of the work
                return time * slope[None]

            scale = p.log_scale + self.log_fibre_volume
            found = Evaluation(value, slopes, lambda: self._error(time, found.relative_value, gx, gy), scale)
            return found.symmetrized() if Y is None else found

        return TimeFunction(at)

    def paired(self, X: Array, Y: Array | None = None) -> TimeFunction:
        """The diagonal is the same for every point, since g_x^-1 g_x is the identity."""
        if Y is not None:
            return super().paired(X, Y)
        one = self.pairs(self.manifold.origin[None])
        return TimeFunction(lambda time: one.at(time).mapped(lambda values: np.repeat(values[..., 0], len(X), axis=-1)))

    @property
    def has_constant_variance(self) -> bool:
        return True

    def with_gradients(self, X: Array, Y: Array, time: float) -> Gradients:
        """Gradients of the group's kernel at g_x, averaged, of which the first k columns are tangent to the frames.

        An average over cosets depends on g_x: its gradient is that along horizontal lifts, the geodesics of the group
        from g_x that project to those of the frames. So it does not see the jumps of the average, smaller than its
        stated error, where x is completed in another way.
        """
        M, k = self.manifold, self.manifold.k
        if self.fibre is None:
            found = self.group.with_gradients(lift(M, X), lift(M, Y), time)
            columns = found.gradient[..., None] if isinstance(self.group.manifold, Sphere) else found.gradient
            return replace(found, gradient=columns[..., :k])
        if not isinstance(self.fibre, Cosets):
            return super().with_gradients(X, Y, time)
        gx, gy = lift(M, X), lift(M, Y)
        left = [_block(k, a) for a in self.fibre.representatives(M)]
        turns = np.array([_block(k, h) for h in self.fibre(M, time)])
        shape, number = (len(gx), len(gy)), len(left) * len(turns)
        value, gradient = np.zeros(shape), np.zeros((*shape, M.n, k), dtype=gx.dtype)
        size = max(1, CHUNK // max(1, math.prod(shape) * M.n**2))
        parts = [(a, turns[i : i + size]) for a in left for i in range(0, len(turns), size)]
        for a, some in tracked(parts, len(parts), f"Averages over the fibre of {M!r}"):
            found = self.group.with_gradients(gx @ a, (gy[:, None] @ some).reshape(-1, M.n, M.n), time)
            value += found.value.reshape(*shape, len(some)).sum(axis=2)
            gradient += found.gradient[..., :k].reshape(*shape, len(some), M.n, k).sum(axis=2)
        return Gradients(value / number, gradient / number, found.log_scale + self.log_fibre_volume)

    def _error(self, time: float, value: np.ndarray, gx: np.ndarray, gy: np.ndarray) -> np.ndarray:
        """Zero for an exact average; else the distance from one-sided averages over other cosets, and their own error.

        An average over one side only is not positive definite, but its mean over all cosets is the integral: it sees
        what two sides share, the coset r F met with itself, which makes K too large at short times.
        """
        M, cosets = self.manifold, self.fibre
        if not isinstance(cosets, Cosets):
            return np.zeros(value.shape)
        p = self.group.profile.at(time)
        group = finite_group(M.n - M.k, M.is_complex)
        others = Cosets(WITNESSES, cosets.seed + 1).representatives(M)
        single = np.stack(
            [self._sum((p.relative_value,), np.eye(M.n - M.k)[None], r @ group, gx, gy)[0] for r in others]
        )
        return np.hypot(value - single.mean(axis=0), single.std(axis=0, ddof=1) / math.sqrt(WITNESSES))

    def _average(self, time: float, functions: Sequence[Function], gx: np.ndarray, gy: np.ndarray) -> list[np.ndarray]:
        M, fibre = self.manifold, self.fibre
        assert fibre is not None
        if fibre is rotations:
            return rotation_average(self.group.manifold, functions, time, gx, gy)
        reach = math.sqrt(2 * NEGLIGIBLE * time) * MARGIN
        if fibre is circle and reach < 0.5:
            return self._near_sum(functions, circle_order(M, time), gx, gy, reach)
        left = fibre.representatives(M) if isinstance(fibre, Cosets) else np.eye(M.n - M.k)[None]
        return self._sum(functions, left, fibre(M, time), gx, gy)

    def _sum(
        self, functions: Sequence[Function], left: np.ndarray, h: np.ndarray, gx: np.ndarray, gy: np.ndarray
    ) -> list[np.ndarray]:
        """The mean of each function over the elements `left` of H on one side and h on the other."""
        k, n = self.manifold.k, self.manifold.n
        out = [np.zeros((len(gx), len(gy))) for _ in functions]
        columns = max(1, min(len(gy), CHUNK // len(h)))
        rows = max(1, CHUNK // (columns * len(h)))
        turns = np.array([_block(k, b) for b in h])
        starts = [(i, j) for j in range(0, len(gy), columns) for i in range(0, len(gx), rows)]
        for i, j in tracked(starts, len(starts), f"Averages over the fibre of {self.manifold!r}"):
            turned_y = (gy[j : j + columns, None] @ turns).reshape(-1, n, n)
            for a in left:
                theta = self.group.manifold.orbits(gx[i : i + rows] @ _block(k, a), turned_y)
                for values, function in zip(out, functions):
                    terms = function(theta).reshape(len(theta), -1, len(h))
                    values[i : i + rows, j : j + columns] += terms.sum(axis=-1)
        return [values / (len(left) * len(h)) for values in out]

    def _near_sum(
        self, functions: Sequence[Function], m: int, gx: np.ndarray, gy: np.ndarray, reach: float
    ) -> list[np.ndarray]:
        """The mean of each function over the circle's m elements, from those elements that come within `reach` alone.

        With r = g_x^-1 g_y and b its last block, the square of the distance is at least n - Re tr r h, and Re tr b h is
        |b| cos(phi - phi'): so elements that count are on an arc around phi', and most pairs have none.
        """
        n, k = self.manifold.n, self.manifold.k
        out = [np.zeros((len(gx), len(gy))) for _ in functions]
        rows = max(1, CHUNK // max(1, len(gy)))
        for start in range(0, len(gx), rows):
            r = np.conj(np.swapaxes(gx[start : start + rows], -1, -2))[:, None] @ gy
            if self.manifold.is_complex:
                turning = np.conj(r[..., -1, -1])
            else:
                turning = r[..., -2, -2] + r[..., -1, -1] + 1j * (r[..., -2, -1] - r[..., -1, -2])
            fixed = np.einsum("...ii->...", r[..., :k, :k]).real
            near = np.argwhere(n - fixed - np.abs(turning) < reach**2 + n * ROUNDING)
            if gx is gy:  # the same value for (x, y) and (y, x)
                near = near[start + near[:, 0] <= near[:, 1]]
            if not len(near):
                continue
            size = np.abs(turning[tuple(near.T)])
            arc = 2 * math.asin(min(1.0, reach / math.sqrt(2 * float(size.min()))))
            step = 2 * math.pi / m
            middle = np.rint(np.angle(turning[tuple(near.T)]) / step).astype(int)
            places = np.arange(-math.ceil(arc / step), math.ceil(arc / step) + 1)
            pairs = max(1, CHUNK // len(places))
            for i in range(0, len(near), pairs):
                own = near[i : i + pairs]
                turned = np.repeat(r[tuple(own.T)][:, None], len(places), axis=1)
                turned[..., k:] = turned[..., k:] @ turns(self.manifold, step * (middle[i : i + pairs, None] + places))
                theta = np.asarray(self.group.manifold.orbit(np.eye(n, dtype=r.dtype), turned.reshape(-1, n, n)))
                for values, function in zip(out, functions):
                    sums = function(theta).reshape(len(own), len(places)).sum(axis=1) / m
                    values[start + own[:, 0], own[:, 1]] = sums
                    if gx is gy:
                        values[own[:, 1], start + own[:, 0]] = sums
        return out


def _block(k: int, b: np.ndarray) -> np.ndarray:
    """The block diagonal matrix of the identity of size k and b."""
    out = np.eye(k + len(b), dtype=b.dtype)
    out[k:, k:] = b
    return out
