"""Submanifolds of R^n given by an equation."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from ...array import Array, namespace, norm, sinc
from ...errors import InvalidInput, NotConverged
from ..checks import check_bounds, points_to_project, refuse, require, require_integer, require_shape
from ..contract import Manifold
from ..roots import log_unit_ball_volume
from .differentiate import derivative, gradient, is_numpy, largest, repeat
from .pointwise import depth_in_box, dot, lift, normal, row_solve, small_solve, tangent
from .rejection import accepted, counted

_HALF = (0.39216144400731414, 0.33259913678935944, -0.70624617255763936, 0.08221359629355080)
SHARES = (*_HALF, 1 - 2 * sum(_HALF), *reversed(_HALF))
"""Lengths of nine steps of a symmetric method of order two; together they have order six. Kahan and Li (1997)."""
TURN = 1 / 12
"""The largest angle by which a geodesic turns in nine such steps; its error is then 2e-9 of this angle."""
TUBE = 0.05
"""Radius of the tube that `random` draws from, in units of the smallest radius of curvature."""
BATCH, KEPT, TRIED = 1 << 17, 150_000, 100 << 17
"""To compute the volume, points are drawn in batches of BATCH until KEPT lie in the tube or TRIED were drawn."""

HALVINGS = 6
"""How often the steps of second differences are halved where the constraint bends most."""
EDGE = 8.0
"""By how much second derivatives then grow if the constraint is not smooth: at an edge by 2^HALVINGS."""


@final
@dataclass(frozen=True, repr=False)
class Implicit(Manifold):
    """The points x of R^ambient with g(x) = 0, such as an ellipsoid or a torus of revolution.

    A point has shape (ambient,). Tangent vectors are orthogonal to the gradients of g; their norm is that of R^ambient.
    Geodesics are integrated numerically. There is no symmetry and there are no orbit coordinates; `separation` gives
    the squared distance of close points.

    Parameters
    ----------
    constraint : function
        g, from points (..., ambient) to (..., ambient - dim); if there is one equation, (...) is allowed too.
    dim : int
        The dimension of the manifold, at least 1.
    ambient : int
        The dimension of the surrounding space, larger than `dim`.
    jacobian : function, default None
        The derivative of g, from points to (..., ambient - dim, ambient). By default JAX differentiates JAX arrays, and
        finite differences are used for NumPy arrays.
    bounds : tuple of pairs of float, default None
        (low, high) for each coordinate: a box that contains the manifold. By default it is searched for.

    Raises
    ------
    InvalidInput
        If the shapes do not fit; later, when points are needed, if none are found or the gradient of g vanishes.

    Examples
    --------
    >>> sphere = Implicit(lambda x: (x * x).sum(-1) - 1, 2, 3)
    >>> sphere.exp(np.array([1.0, 0, 0]), np.array([0, np.pi / 2, 0])).round(8) + 0.0
    array([0., 1., 0.])
    """

    constraint: Callable[[Array], Array]
    dim: int
    ambient: int
    jacobian: Callable[[Array], Array] | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    draws_evenly: ClassVar[bool] = True
    straight: ClassVar[bool] = True
    violation: ClassVar[str] = "the distance |g(x)|/|g'(x)|"

    def __post_init__(self) -> None:
        require(callable(self.constraint), f"Implicit needs a function of points; got {self.constraint!r}.")
        valid = self.jacobian is None or callable(self.jacobian)
        require(valid, f"Implicit needs a function as jacobian; got {self.jacobian!r}.")
        require_integer("Implicit", "dim", self.dim, 1)
        require_integer("Implicit", "ambient", self.ambient, self.dim + 1)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", check_bounds("Implicit", self.bounds, self.ambient))
        x = np.full((2, 3, self.ambient), 0.3)
        shapes = [(2, 3, self.codim), *([(2, 3)] if self.codim == 1 else [])]
        needed = f"{self.ambient} - {self.dim} = {self.codim} equation(s)"
        require_shape("The constraint of Implicit", self.constraint, x, shapes, needed)
        if self.jacobian is not None:
            needed = f"{self.codim} row(s) of {self.ambient} derivatives"
            require_shape(
                "The jacobian of Implicit", self.jacobian, x, [(*shape, self.ambient) for shape in shapes], needed
            )

    def __repr__(self) -> str:
        return f"Implicit({getattr(self.constraint, '__name__', 'g')}, {self.dim}, {self.ambient})"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.ambient,)

    @property
    def codim(self) -> int:
        """How many equations there are."""
        return self.ambient - self.dim

    # The equation and its derivative.

    def value(self, x: Array) -> Array:
        """g(x), (..., codim)."""
        g = self.constraint(x)
        return g[..., None] if g.ndim < x.ndim else g

    def normals(self, x: Array) -> Array:
        """The Jacobian of g, (..., codim, ambient); its rows span the space of normal vectors."""
        if self.jacobian is None:
            return gradient(self.value, x, self._scale)
        rows = self.jacobian(x)
        return rows[..., None, :] if rows.ndim == x.ndim else rows

    @cached_property
    def _scale(self) -> float:
        """The scale of finite differences: half the size of the bounds if given, else 1."""
        return 1.0 if self.bounds is None else max(high - low for low, high in self.bounds) / 2

    # The contract.

    def noise(self, x: Array, z: Array) -> Array:
        """z projected onto the tangent space."""
        return tangent(self.normals(x), z)

    def to_tangent(self, x: Array, v: Array) -> Array:
        return tangent(self.normals(x), v)

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return dot(u, v)

    def step(self, x: Array, z: Array, time: float) -> Array:
        """One step of Brownian motion: along the circle that fits the geodesic best, then back along the normals.

        Exact on spheres. The curvature of the circle comes from two values of g: |g(x+v) + g(x-v)| / |g'|.
        """
        x = x + 0 * z
        rows = self.normals(x)
        v = tangent(rows, math.sqrt(time) * z)
        bend = -normal(rows, self.value(x + v) + self.value(x - v))
        turn = norm(bend)[..., None] / namespace(x).where(norm(v) > 0, norm(v), 1.0)[..., None]
        y = x + sinc(turn) * v + 0.5 * sinc(turn / 2) ** 2 * bend
        y, missed = self._return(y, rows)
        if is_numpy(y) and missed.any():  # steps as long as the radius of curvature follow the geodesic in substeps
            y[missed] = self.geodesic(x[missed], v[missed])[0]
        return y

    def exp(self, x: Array, v: Array) -> Array:
        """The geodesic by RATTLE, a method of order six that stays on the manifold and conserves the speed.

        Reference: Andersen (1983); Hairer, Lubich, Wanner (2006), Geometric Numerical Integration, VII.1.4.
        """
        return self.geodesic(x, v)[0]

    def geodesic(self, x: Array, v: Array, substeps: int | None = None) -> tuple[Array, Array]:
        """Position and velocity of the geodesic after time one.

        Parameters
        ----------
        x, v : arrays of shape (..., ambient)
            Points, and their tangent vectors.
        substeps : int, default None
            By default as many as the curvature requires.

        Raises
        ------
        NotConverged
            If a substep is too long to return to the manifold.
        """
        count = substeps or max(1, math.ceil(largest(norm(v), math.pi / self.curvature) * self.curvature / TURN))
        x, v = x + 0 * v, v + 0 * x

        def substep(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            x, v, rows = state
            for share in SHARES:
                h = share / count
                y, missed = self._return(x + h * v, rows)
                if is_numpy(y) and missed.any():
                    raise NotConverged(
                        f"{self!r}: a geodesic of length {norm(v)[missed][0]:.2g}, cut into {count} substeps, misses "
                        f"the manifold at x = {np.round(x[missed][0], 3).tolist()}. Take more substeps, "
                        "or check that the gradient of the constraint does not vanish there."
                    )
                rows = self.normals(y)
                x, v = y, tangent(rows, (y - x) / h)
            return x, v, rows

        return repeat(count, substep, (x, v, self.normals(x)))[:2]

    def _return(self, y: Array, rows: Array) -> tuple[Array, Array]:
        """y moved along the given normals onto the manifold, and where that failed.

        Newton's method. The derivative is the most expensive part; it is computed in every third iteration only.
        """
        xp = namespace(y)
        size, eps = norm(y), float(xp.finfo(y.dtype).eps)
        with np.errstate(all="ignore"):  # where the method fails, the result is nan
            for k in range(12 if is_numpy(y) else 6):
                if k % 3 == 0:
                    slopes = xp.stack([self._along(y, rows[..., i, :]) for i in range(self.codim)], axis=-1)
                move = lift(rows, small_solve(slopes, self.value(y)))
                y = y - move
                if is_numpy(y) and (norm(move) <= 50 * eps * size).all():
                    break
            return y, ~(norm(move) <= 1e6 * eps * size)

    def _along(self, x: Array, v: Array) -> Array:
        if self.jacobian is None:
            return derivative(self.value, x, v, self._scale)
        return namespace(x).sum(self.normals(x) * v[..., None, :], axis=-1)

    def polish(self, x: Array) -> Array:
        return x - normal(self.normals(x), self.value(x))

    def project(self, x: Any, iterations: int = 60) -> np.ndarray:
        """The nearest point of the manifold, by Newton's method.

        Parameters
        ----------
        x : array of shape (..., ambient)
        iterations : int, default 60
            At most this many.

        Returns
        -------
        array of shape (..., ambient)

        Raises
        ------
        OffManifold
            If the method does not converge: x is too far away.
        """
        x = points_to_project(self, x)
        y = x
        with np.errstate(all="ignore"):
            for _ in range(iterations):
                rows, before = self.normals(y), y
                y = x - normal(rows, self.value(y) + np.sum(rows * (x - y)[..., None, :], axis=-1))
                change = norm(y - before)
                if not (change > 1e-14 * norm(y)).any():
                    break
        y = self._newton(y.reshape(-1, self.ambient)).reshape(x.shape)
        far = ~((change <= 1e-9 * norm(y)) & np.isfinite(y).all(axis=-1))
        refuse(self, far, "Newton's method does not converge, it is too far away")
        return y

    def _newton(self, x: Array, iterations: int = 60) -> Array:
        """A point of the manifold close to x, nan where the method does not converge."""
        with np.errstate(all="ignore"):
            for _ in range(iterations):
                x = self.polish(x)
                if is_numpy(x) and np.nanmax(self.defect(x), initial=0.0) < 1e-14 * np.nanmax(np.abs(x), initial=0.0):
                    break
            return namespace(x).where(self.defect(x)[..., None] < 1e-9 * norm(x)[..., None], x, math.nan)

    def defect(self, x: Array) -> Array:
        """Distance to the manifold, to first order."""
        return norm(normal(self.normals(x), self.value(x)))

    def separation(self, x: Array, y: Array) -> Array:
        """Squared distance of close points, up to terms of fifth order: c² + |n|²/3.

        c is the chord and n its normal part at x. A curve of curvature k leaves its tangent by |n| = k c²/2, and is
        longer than its chord by k² c³/24.
        """
        chord = y - x
        rows = self.normals(x)
        across = namespace(x).sum(rows * chord[..., None, :], axis=-1)
        return self.rough_separation(x, y) + dot(across, row_solve(rows, across)) / 3

    def rough_separation(self, x: Array, y: Array) -> Array:
        """The squared chord, enough to find the nearest point."""
        return namespace(x).sum((x - y) ** 2, axis=-1)

    # Computed once for each surface.

    @cached_property
    def _points(self) -> np.ndarray:
        """Some hundred points from all sides of the manifold, or an error about the equation.

        Newton's method from normal points; each round is better centred and scaled than the one before.
        """
        rng = np.random.default_rng(0)
        starts = 1.5 * rng.standard_normal((8, 512, self.ambient))
        low, high = np.array(self.bounds or [(-1.0, 1.0)] * self.ambient).T
        found = np.empty((0, self.ambient))
        for k, start in enumerate(starts):
            x = self._usable(self._newton((low + high) / 2 + np.max(high - low) / 2 * start))
            if self.bounds is None and len(x):
                extent = np.max(high - low)
                low, high = (x.min(0), x.max(0)) if k == 0 else (np.minimum(low, x.min(0)), np.maximum(high, x.max(0)))
                if k == len(starts) - 1 and np.max(high - low) > 1.2 * extent:
                    raise InvalidInput(
                        f"{self!r} seems to be unbounded: points were found up to {np.abs(x).max():.1e} away. "
                        "Pass bounds that contain it, or cut it off with Domain."
                    )
            found = np.concatenate((found, x))
        require(
            len(found) >= 16,
            f"{self!r}: hardly a point with g(x) = 0 was found near the origin. Check that g changes sign and that its "
            "gradient does not vanish where g does ((|x|² - 1)² is wrong, |x|² - 1 right), or pass bounds.",
        )
        self._check_regular(found, rng)
        return found

    def _usable(self, x: np.ndarray) -> np.ndarray:
        """The points (k, ambient) that are finite and within the bounds."""
        x = x[np.isfinite(x).all(axis=1)]
        return x if self.bounds is None else x[depth_in_box(x, np.array(self.bounds).T) >= 0]

    def _check_regular(self, x: np.ndarray, rng: np.random.Generator) -> None:
        """Raise InvalidInput if the Jacobian loses rank somewhere: random moves that shrink around the worst point."""

        def least(points: np.ndarray) -> np.ndarray:
            return np.linalg.svd(self.normals(points), compute_uv=False)[..., -1]

        steepness, size = least(x), np.ptp(x, axis=0).max()
        usual = max(np.median(steepness), np.median(least(x + 0.1 * size * rng.standard_normal(x.shape))))
        worst, value, reach = x[np.argmin(steepness)], steepness.min(), 0.3 * size
        for _ in range(200):
            near = self._usable(self._newton(worst + reach * rng.standard_normal((64, self.ambient)), iterations=20))
            steepness = least(near)
            if len(near) and steepness.min() < 0.9 * value:
                worst, value = near[np.argmin(steepness)], steepness.min()
            else:
                reach /= 2
            if reach < 1e-7 * size or value < 1e-5 * usual:
                break
        if not value > 1e-5 * usual:
            raise InvalidInput(
                f"{self!r}: the gradient of the constraint vanishes at x = {np.round(worst, 4).tolist()} "
                f"(|g'| = {value:.1e}, usually {usual:.1e}), where g(x) = 0 is no manifold. Move the level, exclude "
                "the point by bounds, or use an equation whose gradient vanishes nowhere on it."
            )

    @cached_property
    def _search_box(self) -> np.ndarray:
        """Low and high corner, (2, ambient), of a box that contains the manifold and the tube around it."""
        low, high = np.array(self.bounds).T if self.bounds else (self._points.min(0), self._points.max(0))
        margin = self._radius + (0 if self.bounds else 0.05 * (high - low))
        return np.stack((low - margin, high + margin))

    @cached_property
    def curvature(self) -> float:
        """The largest normal curvature found: the inverse radius of the sharpest bend."""
        x = self._points
        v = tangent(self.normals(x), np.random.default_rng(1).standard_normal((8, *x.shape)))
        v = v * (float(np.ptp(x, axis=0).max()) / norm(v)[..., None])
        rows = self.normals(np.broadcast_to(x, v.shape))
        for halvings in (5, 0):  # few points lie so near a valley with an edge that short steps cross it
            h = 1e-3 * 2**halvings * v
            bend = norm(normal(rows, self.value(x + h) + self.value(x - h) - 2 * self.value(x))) / norm(h) ** 2
            worst = np.unravel_index(np.argmax(bend), bend.shape)
            self._check_smooth(x[worst[1]], h[worst], halvings)
        return max(float(bend[worst]), 1e-6 / float(np.ptp(x, axis=0).max()))

    def _check_smooth(self, x: np.ndarray, v: np.ndarray, before: int) -> None:
        """Raise InvalidInput if second differences of g near x ± v grow without limit where the steps are shorter.

        The steps are halved `before` times, where differences may still grow, and then HALVINGS times.
        """
        first = norm(self.value(x + v) + self.value(x - v) - 2 * self.value(x))
        for k in range(before + HALVINGS):
            v = v / 2
            middles = np.stack([x - v, x, x + v])
            second = norm(self.value(middles + v) + self.value(middles - v) - 2 * self.value(middles))
            x = middles[np.argmax(second)]
            first = second.max() if k + 1 == before else first
        values = self.value(x)
        noise = 100 * np.finfo(values.dtype).eps * max(1.0, norm(x)) * np.max(norm(self.normals(x), 1))
        if (second.max() - noise) * 4**HALVINGS > EDGE * first:
            raise InvalidInput(
                f"{self!r}: the constraint is not smooth near x = {np.round(x, 4).tolist()}, where its gradient jumps "
                "(as at an edge or a corner). Brownian motion would need steps of length 0. Use a smooth equation, "
                "such as (x**4).sum(-1) - 1 in place of abs(x).max(-1) - 1, or sqrt(u**2 + 0.01) in place of abs(u)."
            )

    @property
    def step_limit(self) -> float:
        """The step at which the rate of motion is wrong by 1 %: Ricci curvature x step / 6, at the sharpest bend."""
        return 0.06 / self.curvature**2 / max(1, self.dim - 1)

    @cached_property
    def _counts(self) -> tuple[int, int]:
        """How many points lie in the tube, and how many were drawn evenly from the box."""
        return counted(self.ambient, lambda u: len(self._tube(u)), KEPT, TRIED, BATCH)

    @property
    def volume(self) -> float:
        """Riemannian volume by Monte Carlo: the volume of a thin tube divided by that of its fibres."""
        kept, tried = self._counts
        fibre = math.exp(log_unit_ball_volume(self.codim)) * self._radius**self.codim
        return float(np.prod(np.diff(self._search_box, axis=0))) * kept / tried / fibre

    @property
    def volume_error(self) -> float:
        """The binomial error of the count, and the effect of the curvature on the tube, (radius x curvature)² / 3.

        It is an upper bound: the count uses Sobol points, which are at least as accurate as random points.
        """
        kept, tried = self._counts
        return math.hypot(math.sqrt((1 - kept / tried) / max(kept, 1)), TUBE**2 / 3)

    @property
    def _radius(self) -> float:
        return TUBE / self.curvature

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n points, uniform up to (radius of the tube x curvature)² / 3, less than 0.1 %.

        Points are drawn uniformly from the box; those in a thin tube around the manifold are projected onto it.
        Reference: Weyl (1939), On the volume of tubes: fibres have equal volume up to the square of the radius.
        """
        remedy = f"{self!r} fills hardly any of the box {self._search_box.T.tolist()}. Pass tighter bounds."
        return accepted(rng, n, self.ambient, self._tube, BATCH if n > 1000 else 1 << 13, remedy)

    def _tube(self, u: np.ndarray) -> np.ndarray:
        """Stretch points u of the unit cube to the box, keep those in the tube, and project them onto the manifold."""
        x = self._search_box[0] + u * (self._search_box[1] - self._search_box[0])
        steep = 2 * float(np.max(norm(self.normals(self._points), 2)))
        x = x[norm(self.value(x)) < 2 * steep * self._radius]
        x = x[self.defect(x) < 2 * self._radius]
        y = self._newton(x)
        return y[norm(x - y) < self._radius]
