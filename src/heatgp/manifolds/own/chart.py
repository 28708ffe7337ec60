"""Manifolds given by coordinates and a metric tensor."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from ...arguments import is_number
from ...array import Array, namespace
from ...errors import InvalidInput, Unsupported
from ..checks import check_bounds, check_sequence, points_to_project, require, require_integer, require_shape
from ..contract import Manifold
from .curvature import ricci
from .differentiate import derivative, is_numpy, repeat
from .pointwise import apply, depth_in_box, dot, small_solve
from .rejection import accepted

DRIFT = 1e-9
"""If the speed changes by more than this fraction in `exp`, the geodesic is integrated again with shorter substeps."""
STEP_DRIFT = 3e-3
"""The same in a step of Brownian motion, which has a larger error anyway."""
SUBSTEPS = tuple(4**k for k in range(1, 7))
"""Numbers of substeps, tried one after the other; the last one is accepted, as next to a singularity of the metric."""
STEP_SUBSTEPS = (16,)
"""The same in a step of Brownian motion."""


@final
@dataclass(frozen=True, repr=False, init=False)
class Chart(Manifold):
    """One coordinate patch with a metric tensor G(x).

    A point is its coordinates, of shape (dim,). A tangent vector v is a change of coordinates; its squared norm is
    v'G(x)v. Geodesics are integrated numerically. There is no symmetry and there are no orbit coordinates; `separation`
    gives the squared distance of close points.

    Parameters
    ----------
    metric : function
        G, from coordinates (..., dim) to symmetric positive definite matrices (..., dim, dim).
    dim : int
        The number of coordinates, at least 1.
    periodic : tuple of float or None, default None
        For each coordinate its period, or None.
    bounds : tuple of pairs of float, default None
        (low, high) for each coordinate. A periodic coordinate may have None, which means (0, period). Volume and
        uniform points need bounds.
    wrap : function, default None
        Maps coordinates that have left the bounds to the same points inside, if the patch closes on itself in another
        way than by periods. Example: beyond the pole of a sphere (theta, phi) becomes (-theta, phi + pi). If the patch
        ends at its bounds, use a Domain of it, which reflects paths there.

    Raises
    ------
    InvalidInput
        If the metric has a wrong shape or is not positive definite, or if periods or bounds are not valid.

    Examples
    --------
    >>> import numpy as np
    >>> def metric(x):
    ...     one, r = np.ones_like(x[..., 0]), 2 + np.cos(x[..., 1])
    ...     return np.stack((np.stack((r * r, 0 * one), -1), np.stack((0 * one, one), -1)), -2)
    >>> torus = Chart(metric, 2, periodic=(2 * np.pi, 2 * np.pi))  # of revolution, radii 2 and 1
    >>> round(torus.volume / np.pi**2, 6)
    8.0
    """

    tensor: Callable[[Array], Array]
    """The metric tensor G."""
    dim: int
    periodic: tuple[float | None, ...] | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    wrap: Callable[[Array], Array] | None = None
    draws_evenly: ClassVar[bool] = True
    straight: ClassVar[bool] = True
    violation: ClassVar[str] = "the distance outside the bounds, in coordinates"
    remedy: ClassVar[str] = "Bring the coordinates into the bounds; M.project(x) gives the nearest point there."

    def __init__(
        self,
        metric: Callable[[Array], Array],
        dim: int,
        periodic: tuple[float | None, ...] | None = None,
        bounds: tuple[tuple[float, float], ...] | None = None,
        wrap: Callable[[Array], Array] | None = None,
    ) -> None:
        require(callable(metric), f"Chart needs a function of coordinates; got {metric!r}.")
        require_integer("Chart", "dim", dim, 1)
        require(wrap is None or callable(wrap), f"Chart needs a function as wrap; got {wrap!r}.")
        periods = check_sequence("Chart", "periodic", periodic, (None,) * dim)
        valid = len(periods) == dim and all(p is None or (is_number(p) and p > 0) for p in periods)
        require(valid, f"Chart needs a period or None for each of {dim} coordinates; got {periodic!r}.")
        given = check_sequence("Chart", "bounds", bounds, (None,) * dim)
        ends = [(0.0, p) if b is None and p is not None else b for b, p in zip(given, periods)]
        known = check_bounds("Chart", ends, dim) if bounds is not None or None not in ends else None
        for name, value in zip(("tensor", "dim", "periodic", "bounds", "wrap"), (metric, dim, periods, known, wrap)):
            object.__setattr__(self, name, value)
        x = np.array([0.37 * low + 0.63 * high for low, high in self.bounds or [(0.0, 0.6)] * self.dim])
        batch, shape = np.broadcast_to(x, (2, 3, self.dim)), (2, 3, self.dim, self.dim)
        require_shape("The metric of Chart", self.tensor, batch, [shape], "a symmetric matrix")
        self.factor(x)

    def __repr__(self) -> str:
        return f"Chart({getattr(self.tensor, '__name__', 'metric')}, {self.dim})"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.dim,)

    @property
    def box(self) -> np.ndarray:
        """Low and high corner of the bounds, (2, dim); Unsupported where there are none."""
        if self.bounds is None:
            raise Unsupported(f"{self!r} has no bounds: pass bounds=((low, high), ...) for its coordinates.")
        return np.array(self.bounds).T

    def canonical(self, x: Array) -> Array:
        """The same points, with coordinates moved into the bounds by `wrap` and by the periods."""
        x = x if self.wrap is None else self.wrap(x)
        if self.bounds is None or not any(self.periodic or ()):
            return x
        xp, lows = namespace(x), [low for low, _ in self.bounds]
        return self._periodic_columns(x, lambda i, p: lows[i] + xp.remainder(x[..., i] - lows[i], p))

    def _periodic_columns(self, x: Array, change: Callable[[int, float], Array]) -> Array:
        """x with the columns of periodic coordinates i, of period p, replaced by change(i, p)."""
        return namespace(x).stack(
            [change(i, p) if p else x[..., i] for i, p in enumerate(self.periodic or ())], axis=-1
        )

    def factor(self, x: Array) -> Array:
        """The lower triangular L with L L' = G(x), or an error that says where G is not positive definite."""
        G = self.tensor(x)
        if not is_numpy(G):
            return namespace(x).linalg.cholesky(G)
        symmetric = np.abs(G - np.swapaxes(G, -1, -2)).max(initial=0.0) <= 1e-8 * np.abs(G).max(initial=0.0)
        if symmetric:
            with suppress(np.linalg.LinAlgError):
                return np.linalg.cholesky(G)
        finite = np.isfinite(G).all(axis=(-2, -1))
        least = np.linalg.eigvalsh(np.where(finite[..., None, None], G, 0.0))[..., 0]
        where = np.unravel_index(np.argmin(np.where(finite, least, -np.inf)), least.shape)
        remedy = "Check its formula, or keep singular coordinates (the poles of a sphere) out of the points."
        raise InvalidInput(
            f"The metric of {self!r} is not positive definite at x = {np.round(x[where], 6).tolist()}: "
            f"G = {np.round(G[where], 6).tolist()} has the eigenvalue {least[where]:.1e}. "
            + (remedy if symmetric else "It must be finite and symmetric as well.")
        )

    def acceleration(self, x: Array, v: Array, quick: bool = False) -> Array:
        """-Γ(v, v), the right-hand side of the geodesic equation.

        Γ(v, v) = G^-1 (D_v G v - grad (v'Gv) / 2). With `quick`, derivatives are accurate to 1e-8 only.
        """
        axes = namespace(x).eye(self.dim, dtype=x.dtype)
        G = self.tensor(x)
        known = G if quick else None
        slopes = [apply(derivative(self.tensor, x, axes[k], self._scale, known), v) for k in range(self.dim)]
        along = sum(slopes[k] * v[..., k, None] for k in range(self.dim))
        across = namespace(x).stack([dot(slope, v) for slope in slopes], axis=-1)
        return small_solve(G, across / 2 - along)

    def square(self, x: Array, v: Array) -> Array:
        """v'G(x)v."""
        return self.metric(x, v, v)

    @cached_property
    def _scale(self) -> float:
        return 1.0 if self.bounds is None else float(np.min(np.diff(self.box, axis=0)))

    # The contract.

    def noise(self, x: Array, z: Array) -> Array:
        """L'^-1 z with L L' = G: covariance G^-1."""
        return small_solve(namespace(x).swapaxes(self.factor(x), -1, -2), z)

    def metric(self, x: Array, u: Array | None = None, v: Array | None = None) -> Array:
        """u'G(x)v; without tangent vectors G(x)."""
        G = self.tensor(x)
        return G if u is None or v is None else dot(apply(G, u), v)

    def to_tangent(self, x: Array, v: Array) -> Array:
        return v + 0 * x

    def gradient(self, x: Array, slope: Array) -> Array:
        """G^-1 slope."""
        return small_solve(self.tensor(x), slope)

    def exp(self, x: Array, v: Array) -> Array:
        """The geodesic by the classical Runge-Kutta method, its speed corrected after every substep.

        Where the speed changes too much, as next to singular coordinates, the substeps are made shorter.
        """
        return self.canonical(self.geodesic(x, v)[0])

    def step(self, x: Array, z: Array, time: float) -> Array:
        v = self._random_tangent(x, z, time)
        return self.canonical(self.geodesic(x, v, STEP_DRIFT, STEP_SUBSTEPS, quick=True)[0])

    def polish(self, x: Array) -> Array:
        """x itself, or an error if a walk has left the patch."""
        if is_numpy(x) and self.defect(x).max(initial=0.0) > 0:
            place = x[np.unravel_index(np.argmax(self.defect(x)), x.shape[:-1])]
            raise InvalidInput(
                f"Brownian motion has left the bounds of {self!r} at x = {np.round(place, 4).tolist()}. Say how the "
                "coordinates close (periodic, wrap), or take Domain(chart, inside) for a reflecting boundary."
            )
        return x

    def project(self, x: Any) -> np.ndarray:
        """The point of the bounds with the nearest coordinates."""
        points = np.asarray(self.canonical(points_to_project(self, x)))
        return points if self.bounds is None else np.clip(points, *self.box)

    def geodesic(
        self, x: Array, v: Array, drift: float = DRIFT, finer: tuple[int, ...] = SUBSTEPS, quick: bool = False
    ) -> tuple[Array, Array]:
        """Position, without wrapping, and velocity of the geodesic after time one; the speed is conserved exactly."""
        x, v = x + 0 * v, v + 0 * x
        shape, x, v = x.shape, x.reshape(-1, self.dim), v.reshape(-1, self.dim)
        y, w, change = self.integrate(x, v, 1, quick)
        for substeps in finer if is_numpy(x) else finer[:4]:
            again = ~(change <= drift)
            if is_numpy(x):
                if not again.any():
                    break
                y[again], w[again], change[again] = self.integrate(x[again], v[again], substeps, False)
            else:  # compiled code cannot branch: it integrates all points again, with fewer substeps to be fast
                where, new = namespace(x).where, self.integrate(x, v, substeps, False)
                y, w = (where(again[:, None], a, b) for a, b in zip(new[:2], (y, w)))
                change = where(again, new[2], change)
        return y.reshape(shape), w.reshape(shape)

    def integrate(self, x: Array, v: Array, substeps: int, quick: bool) -> tuple[Array, Array, Array]:
        """Position, velocity, and the largest relative change of the squared speed before its correction.

        The classical Runge-Kutta method with `substeps` equal steps.
        """
        xp = namespace(x)
        h = 1 / substeps
        start = self.square(x, v)
        still = start == 0

        def substep(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            x, v, change = state
            u = a = total_u = total_a = 0.0
            for part, weight in ((0, 1), (1 / 2, 2), (1 / 2, 2), (1, 1)):
                place, u = x + part * h * u, v + part * h * a
                a = self.acceleration(place, u, quick)
                total_u, total_a = total_u + weight * u, total_a + weight * a
            x, v = x + h / 6 * total_u, v + h / 6 * total_a
            ratio = xp.where(still, 1.0, self.square(x, v) / xp.where(still, 1.0, start))
            return x, v / xp.sqrt(ratio)[..., None], xp.maximum(change, xp.abs(ratio - 1))

        with np.errstate(all="ignore"):  # a singular metric gives nan; `geodesic` then tries shorter substeps
            return repeat(substeps, substep, (x, v, 0 * start))

    def defect(self, x: Array) -> Array:
        """How far outside the bounds the coordinates without a period are; 0 without bounds."""
        free = (-math.inf, math.inf)
        limits = [free if p else bound for p, bound in zip(self.periodic or (), self.bounds or (free,) * self.dim)]
        return namespace(x).maximum(-depth_in_box(x, np.array(limits).T), 0.0)

    def separation(self, x: Array, y: Array) -> Array:
        """Squared distance of close points, up to terms of sixth order.

        It is E / (1 + C/E), where E is the energy of the straight line in coordinates (Simpson's rule). The energy of
        the geodesic is less by C = |Γ(d, d)|²/12. Next to the pole of a sphere the error is up to a third.
        """
        xp = namespace(x)
        d = self.difference(x, y)
        m = x + d / 2
        energy = (self.square(x, d) + 4 * self.square(m, d) + self.square(y, d)) / 6
        with np.errstate(all="ignore"):
            saving = self.square(m, self.acceleration(m, d)) / 12
        usable = (energy > 0) & xp.isfinite(saving)
        safe = xp.where(usable, energy, 1.0)
        return xp.where(usable, safe / (1 + xp.where(usable, saving, 0.0) / safe), energy)

    def rough_separation(self, x: Array, y: Array) -> Array:
        """The same up to terms of fourth order, enough to find the nearest point: the mean of d'Gd at both ends."""
        d = self.difference(x, y)
        return (self.square(x, d) + self.square(y, d)) / 2

    def difference(self, x: Array, y: Array) -> Array:
        """y - x; for periodic coordinates the shorter of the two ways."""
        xp, d = namespace(x), y - x
        return self._periodic_columns(d, lambda i, p: d[..., i] - p * xp.round(d[..., i] / p))

    def embed(self, x: Array) -> Array:
        """The coordinates; a periodic one becomes a point of the circle of that length in the plane."""
        xp = namespace(x)
        columns = []
        for i, p in enumerate(self.periodic or ()):
            angle = x[..., i] * (2 * math.pi / (p or 1.0))
            columns += [p / (2 * math.pi) * f(angle) for f in (xp.cos, xp.sin)] if p else [x[..., i]]
        return xp.stack(columns, axis=-1)

    # Curvature.

    def ricci(self, x: Array) -> Array:
        """The Ricci tensor in coordinates, (..., dim, dim), from second differences of the metric; accurate to 1e-6."""
        return ricci(self.tensor, x, self._scale)

    @cached_property
    def step_limit(self) -> float:
        """The step at which the rate of motion is wrong by 1 %: Ricci curvature x step / 6, with its 99 % quantile."""
        x = self.random(np.random.default_rng(2), 2000)
        size = np.abs(np.linalg.eigvals(np.linalg.solve(self.tensor(x), self.ricci(x)))).max(axis=-1)
        return 0.06 / max(float(np.quantile(size, 0.99)), 1e-9)

    # Volume and the uniform law.

    def density(self, x: Array) -> Array:
        """sqrt(det G): the volume element in the coordinates."""
        xp = namespace(x)
        return xp.sqrt(xp.maximum(xp.linalg.det(self.tensor(x)), 0.0))

    @cached_property
    def _sample(self) -> np.ndarray:
        """The volume element at points spread evenly over the bounds."""
        from scipy.stats import qmc  # slow to import

        u = qmc.Sobol(self.dim, rng=0).random(1 << 17)
        return self.density(self.box[0] + u * (self.box[1] - self.box[0]))

    @cached_property
    def volume(self) -> float:
        """Riemannian volume of the bounds: the mean volume element at 2^17 points of a Sobol sequence."""
        return float(self._sample.mean() * np.prod(np.diff(self.box, axis=0)))

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n points of the uniform law, by rejection under the largest volume element in the bounds."""
        most = 1.05 * self._sample.max()

        def keep(u: np.ndarray) -> np.ndarray:
            x = self.box[0] + u[:, :-1] * (self.box[1] - self.box[0])
            return x[u[:, -1] * most < self.density(x)]

        remedy = f"the volume element of {self!r} is far larger somewhere than elsewhere. Pass tighter bounds."
        return accepted(rng, n, self.dim + 1, keep, 2 * n + 64, remedy)
