"""The contract of a manifold, and the two kinds of symmetry that a heat kernel can use.

Leading axes of a point array are batch, the trailing axes are ``shape``; everything broadcasts as in NumPy and nothing
is squeezed. Concrete classes are final frozen dataclasses. Methods are pure functions over the namespace of the array
they get, so that NumPy computes and JAX compiles the same lines.

Six members are required of every manifold. All others have a default; each one that a class defines enables more
methods, or makes them faster or more accurate. No code of the library uses a member that is not in this table.

========================  ================================  =========================================================
member                    default                           what it enables
========================  ================================  =========================================================
shape, dim                required                          -
noise, exp                required                          Brownian motion
random, defect            required                          checks of points, starting points, property tests
is_complex                False                             points that are complex arrays
violation, remedy         "defect", "Use M.project(x)..."   error messages that name what is wrong and what to do
metric                    from `noise`                      inner products of tangent vectors
tangent_basis             from `noise`                      gradients in the points
to_tangent                from `tangent_basis`, `metric`    checks of tangent vectors
gradient                  from `tangent_basis`              gradients from partial derivatives
log                       raises Unsupported                ways between points; `orbit_gradients` of one coordinate
distance                  raises Unsupported                the ball method, nearest neighbours, search intervals
within                    distance(x, y) < radius           the ball method where the distance is expensive
separation                distance², else from `noise`      reference kernels that are accurate at short times
rough_separation          separation                        faster reference kernels
volume, volume_error      raises Unsupported, 0             normalised kernels, honest errors
decay                     0                                 Matern kernels where paths leave for ever
scalar_curvature          raises Unsupported                volumes of balls
step_shape, step          exp(x, noise(x, √time z))         faster Brownian motion
step_limit                inf                               a step of time that suits the curvature
curvature_step_limit      step_limit                        the same without the boundary of a domain
covering                  None                              Brownian motion simulated on a simpler manifold
polish                    x                                 points on the manifold after millions of steps
project                   polish, repeated                  data with few digits
converter                 ""                                error messages that name a function of `heatgp.points`
farthest                  inf                               checks that do not ask for points which arrays cannot hold
draws_evenly              False                             quasi-random points for reference kernels
embed                     the coordinates of x              methods that use no geometry; plots
straight, difference,     False, y - x,                     domains of it see a boundary between two points and
canonical                 x                                 mirror paths at it
box, periodic             None, None                        domains of it know where its coordinates end or repeat
open_way, channel_width   True, inf                         warnings where cells are too large for a domain
------------------------  --------------------------------  ---------------------------------------------------------
origin, orbit, chamber,   required of `Homogeneous`         one simulation for all pairs: the methods strip and smooth
log_strip
orbits, to_origin         orbit of all pairs, Unsupported   faster Gram matrices; averages over fibres
length                    raises Unsupported                the strip method
orbit_gradients           from `log`, if one coordinate     fast gradients of kernels
rank, einstein_constant   from chamber, scalar_curvature    methods chosen by rank; corrected times of simulations
------------------------  --------------------------------  ---------------------------------------------------------
roots,                    required of `Symmetric`           chamber, rank, log_strip, length, distance and curvature;
log_chamber_integral                                        the short-time expansion, modes of heat
log_strip_factor          volume / that integral            log_strip where both are infinite
========================  ================================  =========================================================
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import getattr_static
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..array import Array, namespace, real_vector, to_complex
from ..errors import Unsupported
from ..html_table import html_table
from .checks import CHECKED, TOLERANCE, points_to_project, refuse, unchecked
from .roots import Roots


@dataclass(frozen=True)
class Cover:
    """A Riemannian covering: `manifold`, with distances multiplied by `scale`, is locally the manifold below.

    Parameters
    ----------
    manifold : Manifold
        The covering manifold.
    scale : float
        Distances above times this are distances below.
    up : function
        Points below, as NumPy arrays, to one of the points above them.
    down : function
        Points above to the point below them.
    """

    manifold: Manifold
    scale: float
    up: Callable[[np.ndarray], np.ndarray]
    down: Callable[[Array], Array]


def forwarded(path: str) -> Any:
    """A property that is the member at this path, such as "roots.rank"."""
    return property(attrgetter(path))


class Manifold(ABC):
    """A Riemannian manifold: six members are required, the others have defaults.

    Required are `shape`, `dim`, `noise`, `exp`, `random` and `defect`. The table at the top of this module lists all
    members, their defaults, and what each optional one enables.

    Points have shape `shape`, with any number of batch axes in front. A tangent vector at x has the shape of x. The
    metric is given by `noise`, the geodesics by `exp`.

    Examples
    --------
    The line, with the six members only:

    >>> class Line(Manifold):
    ...     shape, dim = (1,), 1
    ...
    ...     def noise(self, x, z):
    ...         return z
    ...
    ...     def exp(self, x, v):
    ...         return x + v
    ...
    ...     def random(self, rng, n):
    ...         return rng.standard_normal((n, 1))
    ...
    ...     def defect(self, x):
    ...         return 0 * x[..., 0]
    >>> Line().separation(np.array([1.0]), np.array([3.0]))
    np.float64(4.0)
    """

    violation: ClassVar[str] = "defect"
    """What `defect` measures, for messages."""
    remedy: ClassVar[str] = "Use M.project(x), the nearest point, for data with few digits; models take project=True."
    """What to do with points off the manifold, for messages."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Check the arguments of the members that users call by hand, in every class, also of users."""
        super().__init_subclass__(**options)
        for name, checked in CHECKED.items():
            own = getattr_static(cls, name, None)  # its own, or that of a class that is no manifold
            known = own is vars(Manifold)[name] or (name not in vars(cls) and hasattr(own, "unchecked"))
            if not known and (callable(own) or isinstance(own, classmethod)):
                setattr(cls, name, checked(own))

    @property
    def is_complex(self) -> bool:
        """Whether points are complex arrays."""
        return False

    # Required.

    if TYPE_CHECKING:  # at run time a dataclass field, a class variable or a property may provide them

        @property
        def shape(self) -> tuple[int, ...]:
            """Array shape of one point."""

        @property
        def dim(self) -> int:
            """Real dimension."""

    @abstractmethod
    def noise(self, x: Array, z: Array) -> Array:
        """White noise z, of the shape of x, to a tangent vector at x whose covariance in the metric is the identity.

        Where points are complex, z is complex with independent N(0, 1) real and imaginary parts.
        """

    @abstractmethod
    def exp(self, x: Array, v: Array) -> Array:
        """Exponential map: where the geodesic from x with velocity v is at time one."""

    @abstractmethod
    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n points of the uniform law where the manifold is compact, else of a stated law."""

    @abstractmethod
    def defect(self, x: Array) -> Array:
        """How far x violates the constraints, 0 on the manifold."""

    def __repr__(self) -> str:
        """The constructor call, without arguments that have their default value."""
        if not is_dataclass(self):
            return object.__repr__(self)
        values = [(attrgetter(f.name)(self), f.default) for f in fields(self)]
        while values and values[-1][0] == values[-1][1]:
            values.pop()
        return f"{type(self).__name__}({', '.join(repr(value) for value, _ in values)})"

    def _repr_html_(self) -> str:
        """What notebooks show: the dimension, and what a point is."""
        kind = "complex" if self.is_complex else "real"
        rows = [("dimension", str(self.dim)), ("a point", f"{kind} array of shape {self.shape}")]
        words = (type(self).__doc__ or "").strip().partition("\n")[0]
        described = not words.startswith(f"{type(self).__name__}(")  # what dataclasses have in place of a docstring
        return html_table(repr(self), rows, notes=[words] if words and described else [])

    @property
    def _beta(self) -> int:
        """The real dimension of the numbers that points are made of: 2 where they are complex, else 1."""
        return 2 if self.is_complex else 1

    # Tangent vectors.

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        """The inner product of tangent vectors u and v at x; by default of the metric that `noise` defines.

        Examples
        --------
        >>> from heatgp import SpecialOrthogonal
        >>> turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])
        >>> SpecialOrthogonal(3).metric(np.eye(3), turn, turn)  # one radian for each unit of time
        np.float64(1.0)
        """
        xp = namespace(x)
        u, v = (Manifold.embed(self, w) for w in (u, v))
        return xp.sum(u * xp.matmul(self._metric_matrix(x), v[..., None])[..., 0], axis=-1)

    def tangent_basis(self, x: Array) -> Array:
        """Tangent vectors at x, (..., dim, *shape), that are orthonormal in the metric; any such ones.

        By default from the singular vectors of `noise`, as a function of z.

        Examples
        --------
        >>> from heatgp import Sphere
        >>> Sphere(2).tangent_basis(np.array([[1.0, 0, 0]])).shape
        (1, 2, 3)
        """
        xp = namespace(x)
        vectors, sizes, _ = xp.linalg.svd(self._noise_matrix(x), full_matrices=False)
        rows = xp.swapaxes(vectors * sizes[..., None, :], -1, -2)[..., : self.dim, :]
        if self.is_complex:
            half = rows.shape[-1] // 2
            rows = rows[..., :half] + 1j * rows[..., half:]
        return xp.reshape(rows, (*rows.shape[:-1], *self.shape))

    @CHECKED["to_tangent"]
    def to_tangent(self, x: Array, v: Array) -> Array:
        """The tangential part at x of arrays v of the shape of points; a tangent vector is its own.

        By default from `tangent_basis` and `metric`.

        Examples
        --------
        >>> from heatgp import Sphere
        >>> Sphere(2).to_tangent(np.array([1.0, 0, 0]), np.array([0.5, 0.2, 0.0]))
        array([0. , 0.2, 0. ])
        """
        xp, axes = namespace(x), len(self.shape)
        x = x + xp.zeros(v.shape, dtype=x.dtype)
        basis = self.tangent_basis(x)
        parts = self.metric(xp.expand_dims(x, axis=-1 - axes), xp.expand_dims(v, axis=-1 - axes), basis)
        return xp.sum(xp.reshape(parts, (*parts.shape, *(1,) * axes)) * basis, axis=-1 - axes)

    def log(self, x: Array, y: Array) -> Array:
        """The shortest tangent vector v at x with exp(x, v) = y; one of them where there are several.

        Examples
        --------
        >>> from heatgp import Sphere
        >>> Sphere(2).log([1.0, 0, 0], [0, 1.0, 0]) / np.pi
        array([0. , 0.5, 0. ])
        """
        raise Unsupported(f"{self!r} has no logarithm in closed form. Define log(x, y).")

    def _noise_matrix(self, x: Array) -> Array:
        """noise(x, .) as a matrix (..., size, size) of real coordinates."""
        xp = namespace(x)
        size, batch = math.prod(self.shape), (1,) * (x.ndim - len(self.shape))
        one = xp.reshape(xp.eye(size, dtype=x.dtype), (size, *batch, *self.shape))
        unit = xp.concat((one, 1j * one)) if self.is_complex else one
        return xp.moveaxis(Manifold.embed(self, self.noise(x, unit)), 0, -1)

    def _metric_matrix(self, x: Array) -> Array:
        """The metric (..., size, size) on flattened real coordinates; that of the coordinates normal to the manifold.

        The normal part is of fourth order for close points. It keeps far points apart, such as antipodes of a sphere.
        """
        xp, N = namespace(x), self._noise_matrix(x)
        square = xp.matmul(N, xp.swapaxes(N, -1, -2))
        inverse = xp.linalg.pinv(square, rtol=1e-8)
        return inverse + xp.eye(square.shape[-1], dtype=square.dtype) - xp.matmul(inverse, square)

    # Distances.

    def distance(self, x: Array, y: Array) -> Array:
        """Geodesic distance of x and y; Unsupported if it cannot be computed."""
        raise Unsupported(f"{self!r} has no distance in closed form. Use method='reference' or define distance(x, y).")

    def within(self, x: Array, y: Array, radius: float) -> Array:
        """Whether y lies in the ball of this radius around x."""
        return unchecked(self.distance)(x, y) < radius

    def separation(self, x: Array, y: Array) -> Array:
        """Squared distance of close points, up to terms of fourth order: what short-time kernels need.

        The square of `distance` where there is one, else d'Gd, the mean of both ends, with d = `difference(x, y)` and
        the metric G that `noise` defines: with N the matrix of noise(x, .), G is the pseudoinverse of NN'. This assumes
        that coordinates are smooth and that points are close: at distance r the relative error is of the order of r²
        times the curvature. A class with a better formula defines its own.
        """
        try:
            d = unchecked(self.distance)(x, y)
        except Unsupported:
            xp = namespace(x)
            d = Manifold.embed(self, self.difference(x, y))
            G = self._metric_matrix(x) + self._metric_matrix(y)
            return xp.sum(d * xp.matmul(G, d[..., None])[..., 0], axis=-1) / 2
        return d * d

    def rough_separation(self, x: Array, y: Array) -> Array:
        """A cheaper squared distance, accurate enough to tell near points from far points."""
        return self.separation(x, y)

    # Volume and curvature.

    @property
    def volume(self) -> float:
        """Riemannian volume, inf where not compact."""
        raise Unsupported(f"{self!r} does not know its volume. Define the property `volume`.")

    @property
    def volume_error(self) -> float:
        """The relative standard error of the volume, where that is estimated."""
        return 0.0

    @property
    def decay(self) -> float:
        """The rate c with which p_t(x, x) falls like exp(-ct) at long times: half the lowest eigenvalue of -Laplace.

        It is zero on compact manifolds and in flat space.
        """
        return 0.0

    @property
    def scalar_curvature(self) -> float:
        """Scalar curvature, where it is constant and known."""
        raise Unsupported(f"{self!r} does not know its scalar curvature. Define `scalar_curvature`.")

    # Brownian motion: by default the paper's Algorithm 1; a manifold that can step faster overrides it.

    @property
    def step_shape(self) -> tuple[int, ...]:
        """Shape of the real white noise that one step of Brownian motion takes."""
        return (*self.shape, 2) if self.is_complex else self.shape

    def step(self, x: Array, z: Array, time: float) -> Array:
        """One step of Brownian motion over a short time, driven by real white noise z of shape `step_shape`.

        Ye, Niu, Cheung, Dai, Liu (2024), Algorithm 1: exp_x of a normal vector of variance `time`.
        """
        return unchecked(self.exp)(x, self._random_tangent(x, z, time))

    def _random_tangent(self, x: Array, z: Array, time: float) -> Array:
        """A normal tangent vector at x of variance `time`, from real white noise z of shape (*shape, 2) or `shape`."""
        return self.noise(x, math.sqrt(time) * (to_complex(z) if self.is_complex else z))

    @property
    def step_limit(self) -> float:
        """The longest step of time for which curvature and boundary cause an error of about 1 %."""
        return math.inf

    @property
    def curvature_step_limit(self) -> float:
        """The longest step of time that the curvature allows, without regard to the boundary of a domain."""
        return self.step_limit

    @property
    def covering(self) -> Cover | None:
        """A covering manifold on which the same Brownian motion is faster to simulate; None if there is none."""
        return None

    def polish(self, x: Array) -> Array:
        """x without the rounding errors that have moved it off the manifold."""
        return x

    def project(self, x: Any) -> np.ndarray:
        """The nearest point of the manifold, in the distance of the array's entries.

        Data written with three or four digits are not on a curved manifold. Their nearest points are: polar factors of
        frames and of matrices of groups, vectors divided by their norm, coordinates in their usual range. Signs of
        columns do not change. By default `polish` until there is no defect left.

        Parameters
        ----------
        x : array or nested list of shape (..., *shape)
            Any finite numbers.

        Returns
        -------
        array of shape (..., *shape), in double precision

        Raises
        ------
        InvalidInput
            If x is not numeric or has another shape.
        OffManifold
            If a point is not finite or has no nearest point, as the zero vector has none on a sphere.

        Examples
        --------
        >>> from heatgp import Sphere
        >>> Sphere(1).project([[3.0, 4.0]])
        array([[0.6, 0.8]])
        """
        points = points_to_project(self, x)
        for _ in range(30):
            if np.max(self.defect(points), initial=0.0) <= 1e-14:
                break
            points = np.asarray(self.polish(points))
        refuse(self, ~(np.asarray(self.defect(points)) <= TOLERANCE), "`polish` does not lead to one")
        return points

    def converter(self, shape: tuple[int, ...]) -> str:
        """A sentence for messages: the function of `heatgp.points` that makes points of data of this shape, or none."""
        return ""

    farthest: ClassVar[float] = math.inf
    """The distance from usual points beyond which arrays do not hold a point."""

    draws_evenly: ClassVar[bool] = False
    """Whether `random` asks its generator for all its numbers in one call.

    Quasi-random numbers, which fill a cube more evenly than random ones, may then replace them.
    """

    # Coordinates.

    def embed(self, x: Array) -> Array:
        """Coordinates (..., d) in a Euclidean space, for methods that use no geometry, and for plots.

        By default the flattened array: real parts, then imaginary parts where points are complex.
        """
        return real_vector(x, len(self.shape), self.is_complex)

    straight: ClassVar[bool] = False
    """Whether the points between close x and y are canonical(x + s difference(x, y)), 0 < s < 1, up to curvature."""

    def difference(self, x: Array, y: Array) -> Array:
        """y - x in coordinates; for a periodic coordinate the shorter of the two ways."""
        return y - x

    def canonical(self, x: Array) -> Array:
        """The same points with coordinates in their usual range."""
        return x

    @CHECKED["gradient"]
    def gradient(self, x: Array, slope: Array) -> Array:
        """The gradient, a tangent vector, of a function whose partial derivatives in the entries of x are `slope`.

        The derivative along a tangent vector v is `metric(x, gradient, v)`. By default the gradient is computed from
        `tangent_basis`.

        Parameters
        ----------
        x : array (..., *shape) of points.
        slope : array (..., *shape)
            Where points are complex, the derivative in the real part plus i times that in the imaginary part.

        Returns
        -------
        array (..., *shape)

        Examples
        --------
        >>> from heatgp import SpecialOrthogonal
        >>> SpecialOrthogonal(2).gradient(np.eye(2), np.array([[0.0, 0.0], [1.0, 0.0]]))
        array([[ 0., -1.],
               [ 1.,  0.]])
        """
        xp, axes = namespace(x), len(self.shape)
        basis = self.tangent_basis(x)
        rows, slope = Manifold.embed(self, basis), Manifold.embed(self, slope)
        parts = xp.sum(rows * slope[..., None, :], axis=-1)
        return xp.sum(xp.reshape(parts, (*parts.shape, *(1,) * axes)) * basis, axis=-1 - axes)

    @property
    def periodic(self) -> tuple[float | None, ...] | None:
        """The period of each coordinate, None for one that has none; None where no coordinate has one."""
        return None

    @property
    def box(self) -> np.ndarray | None:
        """Low and high corner (2, d) of the coordinates where the manifold ends there; None where it does not."""
        return None

    # Boundaries.

    def open_way(self, x: Array, y: Array, number: int = 3) -> Array:
        """Whether `number` points between close x and y, evenly spaced, are all on the manifold."""
        batch = np.broadcast_shapes(x.shape, y.shape)[: -len(self.shape)]
        return namespace(x).ones(batch, dtype=bool)

    @property
    def channel_width(self) -> float:
        """About the width of the narrowest channels between boundaries; inf where there is no boundary."""
        return math.inf


class Homogeneous(Manifold):
    """A manifold whose isometries carry any point to any other: p_t(x, y) depends on the orbit of the pair."""

    @property
    @abstractmethod
    def origin(self) -> np.ndarray:
        """The point from which one simulation serves all pairs."""

    @abstractmethod
    def orbit(self, x: Array, y: Array) -> Array:
        """Orbit coordinates theta (..., r): a complete invariant of the pair under the isometries."""

    @property
    @abstractmethod
    def chamber(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of each orbit coordinate."""

    @abstractmethod
    def log_strip(self, theta: Array) -> Array:
        """Logarithm of omega(theta), the volume of the orbit: its integral over the chamber is the volume."""

    @property
    def rank(self) -> int:
        """How many orbit coordinates are free; one is the paper's condition "a function of the distance"."""
        return len(self.chamber)

    def length(self, theta: Array) -> Array:
        """Distance of a pair whose orbit coordinates are theta."""
        raise Unsupported(f"{self!r}: strips need the distance as a function of the orbit; use method='auto'.")

    def distance(self, x: Array, y: Array) -> Array:
        return self.length(self.orbit(x, y))

    @property
    def einstein_constant(self) -> float | None:
        """The constant c of Ric = c * metric: 0 where flat, None where there is no such constant or it is not known."""
        try:
            return 0.0 if self.scalar_curvature == 0 else None
        except Unsupported:
            return None

    def to_origin(self, x: Array, y: Array) -> Array:
        """Where an isometry that carries x to the origin carries y."""
        raise Unsupported(f"{self!r} does not know the isometry that carries x to its origin. Define to_origin(x, y).")

    def orbits(self, X: Array, Y: Array) -> Array:
        """Orbit coordinates of all pairs, (N, M, r).

        Their errors must be small relative to the distance, so that kernels of very short times can be computed from
        them. They may differ from `orbit` in the order of coordinates, and those of far pairs by 1e-8 near the walls of
        the chamber, which changes no smooth invariant function by more than rounding.
        """
        return self.orbit(X[:, None, ...], Y[None, ...])

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """Gradients in x, (N, M, *shape), of an invariant function of all pairs, from its partial derivatives.

        Parameters
        ----------
        X, Y : arrays (N, *shape) and (M, *shape) of points.
        theta : array (N, M, r), `orbits(X, Y)`.
        slopes : function of no arguments, to the partial derivatives (N, M, r) of the function at theta. They are zero
            at the walls of the chamber, and equal where coordinates are.

        Raises
        ------
        Unsupported : by default.
        """
        raise Unsupported(f"{self!r} has no gradients of orbit coordinates. Define orbit_gradients.")


class Symmetric(Homogeneous):
    """A symmetric space: omega is a constant times the product over the roots of |sin <alpha, theta>|^m.

    In negative curvature sines are hyperbolic, and the volume is infinite.

    Reference: Helgason (1984), Groups and Geometric Analysis, Theorem I.5.10.
    """

    @property
    @abstractmethod
    def roots(self) -> Roots:
        """The roots and their multiplicities, from which the members below are derived."""

    @property
    @abstractmethod
    def log_chamber_integral(self) -> float:
        """log of the integral of the product over the roots of |sin <alpha, theta>|^m over the chamber."""

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """With v = log(x, y), as long as theta times `roots.unit`: -v/|v| times the derivative in the distance."""
        if self.roots.coordinates > 1 or self.roots.signed:
            return super().orbit_gradients(X, Y, theta, slopes)
        ways = unchecked(self.log)(X[:, None], Y[None])
        return along_ways(ways, theta[..., 0] * self.roots.unit**2, slopes()[..., 0])

    chamber = forwarded("roots.chamber")
    rank = forwarded("roots.rank")
    length = forwarded("roots.length")
    einstein_constant = forwarded("roots.einstein_constant")

    @property
    def log_strip_factor(self) -> float:
        """log of the constant of omega: the volume over the chamber's integral; of infinite ones, by the class."""
        return math.log(self.volume) - self.log_chamber_integral

    def log_strip(self, theta: Array) -> Array:
        return self.log_strip_factor + self.roots.log_sines(theta)

    @property
    def scalar_curvature(self) -> float:
        return self.roots.scalar_curvature(self.dim)

    @property
    def decay(self) -> float:
        """Half of |rho|² in negative curvature. Reference: Helgason (1984), ch. IV.5."""
        roots = self.roots
        return 0.0 if roots.is_compact else float(roots.rho @ roots.rho) / (2 * roots.unit**2)


def along_ways(ways: Array, sizes: Array, slopes: Array) -> Array:
    """Vectors (N, M, *shape) times -slopes / sizes, (N, M); zero where they have no size."""
    xp = namespace(ways)
    factor = xp.where(sizes > 0, -slopes / xp.where(sizes > 0, sizes, 1.0), 0.0)
    return xp.reshape(factor, (*factor.shape, *(1,) * (ways.ndim - factor.ndim))) * ways
