"""The contract of a manifold, and the two kinds of symmetry that a heat kernel can use.

Leading axes of a point array are batch, the trailing axes are ``shape``; everything broadcasts as in NumPy and
nothing is squeezed. Concrete classes are final frozen dataclasses; methods are pure functions over the
namespace of the array they get, so that NumPy computes and JAX compiles the same lines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..array import Array, inner, namespace, norm, to_complex
from ..errors import InvalidInput, OffManifold, Unsupported
from .roots import Roots

TOLERANCE = 1e-6
"""How far a point may violate its constraints: data written with seven digits pass, wrong data do not."""


@dataclass(frozen=True)
class Cover:
    """A Riemannian covering: `manifold`, with distances multiplied by `scale`, is locally the manifold below."""

    manifold: Manifold
    scale: float
    up: Callable[[np.ndarray], np.ndarray]
    down: Callable[[Array], Array]


class Manifold(ABC):
    """A Riemannian manifold: six members are required, the others have defaults.

    Required: `shape`, `dim`, `noise`, `exp`, `random`, `defect`.
    """

    is_complex: ClassVar[bool] = False
    violation: ClassVar[str] = "defect"
    """What `defect` measures, for messages."""
    remedy: ClassVar[str] = "Project the points onto the manifold first."

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
        values = [(getattr(self, f.name), f.default) for f in fields(self)]
        while values and values[-1][0] == values[-1][1]:
            values.pop()
        return f"{type(self).__name__}({', '.join(repr(value) for value, _ in values)})"

    def distance(self, x: Array, y: Array) -> Array:
        """Geodesic distance, where one can compute it."""
        raise Unsupported(
            f"{self!r} has no distance in closed form. Use method='reference', which needs none, "
            "or define distance(x, y)."
        )

    def within(self, x: Array, y: Array, radius: float) -> Array:
        """Whether y lies in the ball of this radius around x."""
        return self.distance(x, y) < radius

    def separation(self, x: Array, y: Array) -> Array:
        """Squared distance of close points, up to terms of fourth order: what short-time kernels need."""
        d = self.distance(x, y)
        return d * d

    @property
    def step_limit(self) -> float:
        """The longest step of time that the geometry bears with an error of about a per cent."""
        return math.inf

    @property
    def volume(self) -> float:
        """Riemannian volume, inf where not compact."""
        raise Unsupported(f"{self!r} does not know its volume. Define the property `volume`.")

    @property
    def volume_error(self) -> float:
        """The relative standard error of the volume, where that is estimated."""
        return 0.0

    @property
    def scalar_curvature(self) -> float:
        """Scalar curvature, where it is constant and known."""
        raise Unsupported(f"{self!r} does not know its scalar curvature. Define `scalar_curvature`.")

    # What the simulation uses: by default the paper's Algorithm 1; a manifold that can step faster overrides it.

    @property
    def step_shape(self) -> tuple[int, ...]:
        """Shape of the real white noise that one step of Brownian motion takes."""
        return (*self.shape, 2) if self.is_complex else self.shape

    def step(self, x: Array, z: Array, time: float) -> Array:
        """One step of Brownian motion over a short time, driven by real white noise z of shape `step_shape`.

        Ye, Niu, Cheung, Dai, Liu (2024), Algorithm 1: exp_x of a normal vector of variance `time`.
        """
        white = to_complex(z) if self.is_complex else z
        return self.exp(x, self.noise(x, math.sqrt(time) * white))

    @property
    def walked_above(self) -> Cover | None:
        """A covering manifold on which the same Brownian motion is faster to simulate, None where there is none."""
        return None

    def polish(self, x: Array) -> Array:
        """Remove what rounding has moved x off the manifold."""
        return x

    def embed(self, x: Array) -> Array:
        """Coordinates (..., d) in a Euclidean space, for methods that know no geometry."""
        xp = namespace(x)
        flat = xp.reshape(x, (*x.shape[: x.ndim - len(self.shape)], math.prod(self.shape)))
        return xp.concat((xp.real(flat), xp.imag(flat)), axis=-1) if self.is_complex else flat


class Homogeneous(Manifold):
    """A manifold whose isometries carry any point to any other: p_t(x, y) depends on the orbit of the pair."""

    @property
    @abstractmethod
    def origin(self) -> np.ndarray:
        """The point from which one simulation serves all."""

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
        """How many orbit coordinates there are; one is the paper's condition "a function of the distance"."""
        return len(self.chamber)

    @property
    def einstein_constant(self) -> float | None:
        """The constant c of Ric = c * metric: 0 where flat, None where there is no such constant or it is not known."""
        try:
            return 0.0 if self.scalar_curvature == 0 else None
        except Unsupported:
            return None

    def to_origin(self, x: Array, y: Array) -> Array:
        """Where an isometry that carries x to the origin carries y."""
        raise Unsupported(
            f"{self!r} does not say which isometry carries a point to its origin. Define to_origin(x, y)."
        )

    def orbits(self, X: Array, Y: Array) -> Array:
        """Orbit coordinates of all pairs, (N, M, r), for functions that are smooth on the manifold.

        The same as `orbit` on the broadcast points, but for what smooth invariant functions cannot see and speed may
        cost: digits of a coordinate next to a wall of the chamber, and the order of coordinates.
        """
        return self.orbit(X[:, None, ...], Y[None, ...])


class Symmetric(Homogeneous):
    """A symmetric space: omega is a constant times the product over the roots of |sin <alpha, theta>|^m.

    Reference: Helgason (1984), Groups and Geometric Analysis, Theorem I.5.10.
    """

    @property
    @abstractmethod
    def roots(self) -> Roots:
        """The roots and their multiplicities: all that the derived members need."""

    @property
    @abstractmethod
    def log_chamber_integral(self) -> float:
        """log of the integral of the product over the roots of |sin <alpha, theta>|^m over the chamber."""

    @property
    def chamber(self) -> tuple[tuple[float, float], ...]:
        return self.roots.chamber

    @property
    def rank(self) -> int:
        return self.roots.rank

    def log_strip(self, theta: Array) -> Array:
        return math.log(self.volume) - self.log_chamber_integral + self.roots.log_sines(theta)

    def length(self, theta: Array) -> Array:
        """Distance of a pair whose orbit coordinates are theta."""
        return self.roots.length(theta)

    def distance(self, x: Array, y: Array) -> Array:
        return self.length(self.orbit(x, y))

    @property
    def scalar_curvature(self) -> float:
        return self.roots.scalar_curvature(self.dim)

    @property
    def einstein_constant(self) -> float | None:
        return self.roots.einstein_constant


def angle(x: Array, y: Array) -> Array:
    """Angle between unit vectors, accurate at 0 and at pi, as an array (..., 1).

    Reference: Kahan (2006), "How futile are mindless assessments of roundoff", section 12.
    """
    return 2 * namespace(x).atan2(norm(x - y), norm(x + y))[..., None]


def line_angle(x: Array, y: Array) -> Array:
    """Angle between the lines through unit vectors, real or complex, in [0, pi/2], as an array (..., 1)."""
    xp = namespace(x)
    c = inner(x, y)
    size = xp.abs(c)
    phase = xp.where(size == 0, 1.0, c / xp.where(size == 0, 1.0, size))
    return angle(phase * x, y)


def normalized(x: Array) -> Array:
    return x / norm(x)[..., None]


def require(condition: bool, message: str) -> None:
    """Raise InvalidInput with the message unless the condition holds."""
    if not condition:
        raise InvalidInput(message)


def require_integer(owner: str, name: str, value: object, least: int) -> None:
    valid = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)
    require(valid, f"{owner} needs an integer {name} >= {least}; got {name} = {value!r}.")


def check_points(manifold: Manifold, x: Array, name: str = "X", tolerance: float = TOLERANCE) -> Array:
    """x as a floating array of points of the manifold, or an error that names the first offender.

    Arrays of other libraries pass through with their type; lists and integers become NumPy doubles.
    """
    if not hasattr(x, "__array_namespace__"):
        x = np.asarray(x)
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu":
        x = x.astype(float)
    if not hasattr(x.dtype, "kind") or x.dtype.kind not in "fc":
        raise InvalidInput(f"{name} must be a numeric array of points of {manifold!r}; its dtype is {x.dtype}.")
    if x.ndim < len(manifold.shape) or x.shape[x.ndim - len(manifold.shape) :] != manifold.shape:
        raise InvalidInput(
            f"{name} has shape {tuple(x.shape)}; points of {manifold!r} have shape {manifold.shape}, "
            f"so {name} must have shape (..., {', '.join(map(str, manifold.shape))})."
        )
    if x.dtype.kind == "c" and not manifold.is_complex:
        raise InvalidInput(
            f"{name} is complex, but the points of {manifold!r} are real. Pass {name}.real if the imaginary part is 0."
        )
    xp = namespace(x)
    if manifold.is_complex and x.dtype.kind == "f":
        x = x + 0j
    axes = tuple(range(x.ndim - len(manifold.shape), x.ndim))
    finite = np.asarray(xp.all(xp.isfinite(x), axis=axes))
    if not finite.all():
        raise OffManifold(
            f"{_first(name, ~finite)} is not finite (NaN or infinity). Remove or impute it before the fit."
        )
    single = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) < 8
    limit = max(tolerance, 1e-4) if single else tolerance
    defect = np.asarray(manifold.defect(x))
    if (defect > limit).any():
        value = defect.flat[np.argmax(defect > limit)]
        raise OffManifold(
            f"{_first(name, defect > limit)} is not on {manifold!r}: "
            f"{manifold.violation} = {value:.1e} > {limit:.0e}. {manifold.remedy}"
        )
    return x


def _first(name: str, bad: np.ndarray) -> str:
    """`name[3]`, the place of the first True; plain `name` for a single point."""
    index = ", ".join(str(int(i)) for i in np.unravel_index(np.argmax(bad), bad.shape))
    return f"{name}[{index}]" if index else name
