"""Positive definite matrices, real and complex, with the affine-invariant and with the log-Euclidean metric."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from ...array import (
    Array,
    adjoint,
    from_eigen,
    hermitian,
    matmul,
    namespace,
    norm,
    polynomial,
    real_inner,
    sinhc,
    stack_last,
    step_tolerance,
    taylor_degree,
    to_complex,
)
from ...errors import InvalidInput
from ..checks import points_to_project, refuse, require_integer, unchecked
from ..contract import Homogeneous, Manifold, Symmetric, along_ways
from ..roots import Roots, axis_pairs
from .all_pairs import log_eigenvalue_orbits, log_orbits
from .euclidean import Euclidean
from .spectral import SAME

METRICS = ("affine-invariant", "log-euclidean")
SMALL = 4.0
"""Norms of a step up to which its exponential is taken by its series."""
CLOSE = 0.05
"""Distance below which differences of logarithms are integrals of their derivative."""


def SPD(n: int, metric: str = "affine-invariant") -> Manifold:
    """Symmetric positive definite n x n matrices, such as covariances and diffusion tensors.

    The affine-invariant metric tr(x^-1 u x^-1 v) does not change when all matrices x become a x a', with any invertible
    a. The distance is the norm of the logarithms of the eigenvalues of x^-1 y. The space has negative curvature. The
    heat kernel is exact for n = 2 and 3, and up to time 1 for n = 4 and 5.

    The log-Euclidean metric is that of the logarithms of the matrices: the distance is |log x - log y|, and the space
    is flat. The heat kernel is exact. It changes with a x a' unless a is orthogonal.

    Parameters
    ----------
    n : int
        The size of the matrices, at least 2.
    metric : "affine-invariant" (default) or "log-euclidean"

    Returns
    -------
    Manifold
        Points and tangent vectors, which are symmetric, have shape (n, n).

    Raises
    ------
    InvalidInput
        If n is no integer of at least 2, or the metric is not known.

    References
    ----------
    Pennec, Fillard & Ayache (2006), Int. J. Computer Vision 66, 41-66; Arsigny, Fillard, Pennec & Ayache (2006),
    Magnetic Resonance in Medicine 56, 411-421.

    Examples
    --------
    >>> M = SPD(2)
    >>> M.distance(np.eye(2), np.diag([np.exp(3.0), np.exp(4.0)])).round(12)
    np.float64(5.0)
    >>> SPD(3, "log-euclidean")
    SPD(3, 'log-euclidean')
    """
    if not (isinstance(metric, str) and metric in METRICS):
        raise InvalidInput(f"SPD needs a metric, one of {', '.join(map(repr, METRICS))}; got metric = {metric!r}.")
    return SymmetricPD(n) if metric == METRICS[0] else LogEuclideanPD(n)


class PositiveDefinite(Homogeneous):
    """Hermitian matrices with positive eigenvalues, with any metric."""

    n: int
    volume: ClassVar[float] = math.inf
    farthest: ClassVar[float] = 20.0  # eigenvalues then are up to exp(20 √2) apart, and rounding hides the least one
    violation: ClassVar[str] = "|x - x*| / |x|, or 1 where an eigenvalue is not positive,"
    remedy: ClassVar[str] = (
        "Points are symmetric matrices, complex ones Hermitian, with positive eigenvalues. Covariances of too few data "
        "are singular: add a small multiple of the identity. M.project(x) removes asymmetry."
    )

    def __post_init__(self) -> None:
        require_integer("HermitianPD" if self.is_complex else "SPD", "n", self.n, 2)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    @property
    def dim(self) -> int:
        return self.n**2 if self.is_complex else self.n * (self.n + 1) // 2

    def polish(self, x: Array) -> Array:
        return hermitian(x)

    def project(self, x: Any) -> np.ndarray:
        """(x + x*)/2, where that is positive definite."""
        points = hermitian(points_to_project(self, x))
        refuse(self, _is_singular(points), "its least eigenvalue is not positive")
        return np.asarray(points)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """n points, the ends of geodesics from the identity with normal velocities of mean square 2."""
        z = rng.standard_normal((n, *self.step_shape))
        start = np.broadcast_to(self.origin, (n, *self.shape))
        return np.asarray(self.step(start, z, 2 / self.dim))

    def defect(self, x: Array) -> Array:
        """|x - x*| over |x|, of the largest entries; one more where an eigenvalue is not positive."""
        xp = namespace(x)
        size, off = (xp.max(xp.abs(part), axis=(-2, -1)) for part in (x, x - adjoint(x)))
        return off / xp.where(size > 0, size, 1.0) + xp.where(_is_singular(hermitian(x)), 1.0, 0.0)

    def to_tangent(self, x: Array, v: Array) -> Array:
        return hermitian(v) + 0 * x

    @property
    def origin(self) -> np.ndarray:
        return np.eye(self.n, dtype=complex if self.is_complex else float)

    def _white(self, z: Array) -> Array:
        """White noise z (..., n, n) to that of Hermitian matrices with the norm of their entries."""
        return hermitian(z)


def _is_singular(x: Array) -> Array:
    """Whether the least eigenvalue of a Hermitian matrix is not positive, beyond rounding."""
    xp = namespace(x)
    values = xp.linalg.eigvalsh(x)
    return ~(values[..., 0] > x.shape[-1] * xp.finfo(values.dtype).eps * xp.abs(values[..., -1]))


class AffineInvariant(PositiveDefinite, Symmetric):
    """The metric Re tr(x^-1 u x^-1 v).

    The isometries are x -> a x a* with invertible matrices a. Orbit coordinates are the logarithms h of the eigenvalues
    of x^-1 y, increasing. The distance is their norm.
    """

    log_chamber_integral: ClassVar[float] = math.inf

    def noise(self, x: Array, z: Array) -> Array:
        """L S L*, with x = L L* and white noise S."""
        root = namespace(x).linalg.cholesky(x)
        return matmul(root, matmul(self._white(z), adjoint(root)))

    def exp(self, x: Array, v: Array) -> Array:
        """L exp(L^-1 v L*^-1) L*; for short v as x plus a small matrix, whose rounding errors are small."""
        xp = namespace(x)
        root = xp.linalg.cholesky(x)
        values, vectors = xp.linalg.eigh(hermitian(_carried(xp.linalg.inv(root), v)))
        axes = matmul(root, vectors)
        short = x + hermitian(matmul(axes * xp.expm1(values)[..., None, :], adjoint(axes)))
        far = hermitian(_square(axes * xp.exp(values / 2)[..., None, :]))
        return xp.where(xp.max(xp.abs(values), axis=-1)[..., None, None] < 0.5, short, far)

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        back = namespace(x).linalg.inv(namespace(x).linalg.cholesky(x))
        return real_inner(_carried(back, u), _carried(back, v))

    def log(self, x: Array, y: Array) -> Array:
        """L log(L^-1 y L*^-1) L*, with x = L L*; of close points from L^-1 (y - x) L*^-1, whose errors are small."""
        xp = namespace(x)
        root = xp.linalg.cholesky(x)
        back = xp.linalg.inv(root)
        change, vectors = xp.linalg.eigh(hermitian(_carried(back, y - x)))
        short = from_eigen(xp.log1p(xp.maximum(change, xp.full_like(change, -0.5))), vectors)
        far = logm(hermitian(_carried(back, y)))
        is_short = xp.max(xp.abs(change), axis=-1)[..., None, None] < 0.5
        return hermitian(_carried(root, xp.where(is_short, short, far)))

    def step(self, x: Array, z: Array, time: float) -> Array:
        """A normal step at the identity, carried to x."""
        xp = namespace(x)
        half = self._white(to_complex(z) if self.is_complex else z) * (math.sqrt(time) / 2)
        # the norm of a Hermitian matrix of white noise concentrates at √(2n) or √n times √2
        radius = math.sqrt(time) / 2 * (math.sqrt(2 * self.n) + 7)
        if radius > SMALL:
            values, vectors = xp.linalg.eigh(half)
            grown = from_eigen(xp.exp(values), vectors)
        else:
            degree = taylor_degree(radius, step_tolerance(x))
            grown = polynomial(half, [1 / math.factorial(j) for j in range(degree + 1)])
        return hermitian(_square(matmul(xp.linalg.cholesky(x), grown)))

    def to_origin(self, x: Array, y: Array) -> Array:
        xp = namespace(x)
        return hermitian(_carried(xp.linalg.inv(xp.linalg.cholesky(x)), y))

    def gradient(self, x: Array, slope: Array) -> Array:
        return matmul(x, matmul(hermitian(slope), x))

    def orbit(self, x: Array, y: Array) -> Array:
        """Logarithms of the eigenvalues 1 + e of x^-1 y, from those e of x^-1 (y - x): relative to the distance.

        Negative ones are minus those of y^-1 x.
        """
        return _logarithms(_relative_eigenvalues, x, y)

    def orbits(self, X: Array, Y: Array) -> Array:
        if not isinstance(X, np.ndarray):
            return super().orbits(X, Y)
        orbit = partial(_logarithms, _relative_eigenvalues_of_two) if self.n == 2 else self.orbit
        return log_eigenvalue_orbits(X, Y, orbit)

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        """-L q(L^-1 y L*^-1) L*, with x = L L* and q = slope at the eigenvalue exp theta; linear in y where n = 2."""
        xp, derivatives = namespace(X), slopes()
        if self.n == 2:
            values, x = xp.exp(theta), X[:, None]
            gap, rise = (part[..., 1] - part[..., 0] for part in (values, derivatives))
            apart = xp.abs(gap) > SAME * xp.max(values, axis=-1)
            rate = xp.where(apart, rise, 0.0) / xp.where(apart, gap, 1.0)
            first, value = (part[..., 0][..., None, None] for part in (derivatives, values))
            return -first * x - rate[..., None, None] * (Y - value * x)
        root = xp.linalg.cholesky(X)[:, None]
        _, vectors = xp.linalg.eigh(hermitian(_carried(xp.linalg.inv(root), Y)))
        ordered = xp.take_along_axis(derivatives, xp.argsort(theta, axis=-1), axis=-1)
        return -hermitian(_carried(root, from_eigen(ordered, vectors)))

    @property
    def roots(self) -> Roots:
        table = [(form, self._beta) for form in axis_pairs(self.n, (-1,), 0.5)]
        return Roots.of(table, coordinates=self.n, half_period=math.inf, signed=True)

    @property
    def log_strip_factor(self) -> float:
        """The chamber has all orders of the coordinates. Reference: Mehta (2004), Random Matrices, eq. (17.6.7)."""
        n, half = self.n, self._beta / 2
        log = (self.dim - n) / 2 * math.log(2 * math.pi) + self._beta * n * (n - 1) / 2 * math.log(2)
        return log + sum(math.lgamma(1 + half) - math.lgamma(1 + j * half) for j in range(1, n + 1))


def _logarithms(relative: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """Logarithms of the eigenvalues of x^-1 y, with a function for the eigenvalues of x^-1 v."""
    ways = [relative(a, b - a) for a, b in ((x, y), (y, x))]
    xp = namespace(x)
    up, down = (xp.log1p(xp.maximum(e, xp.zeros_like(e))) for e in ways)
    return up - xp.flip(down, axis=-1)


def _relative_eigenvalues(x: Array, v: Array) -> Array:
    """Eigenvalues (..., n), increasing, of x^-1 v."""
    xp = namespace(x)
    return xp.linalg.eigvalsh(hermitian(_carried(xp.linalg.inv(xp.linalg.cholesky(x)), v)))


def _relative_eigenvalues_of_two(x: Array, v: Array) -> Array:
    """The same for 2 x 2 matrices, entry by entry: those of L^-1 v L*^-1, x = L L*. x must be positive definite."""
    xp = namespace(x)
    first = xp.real(x[..., 0, 0])
    turn = x[..., 1, 0] / first  # L has the rows (√first, 0) and √first (turn, ..)
    rest = xp.real(x[..., 1, 1]) - xp.abs(turn) ** 2 * first
    corner = xp.real(v[..., 0, 0])
    a = corner / first
    c = (v[..., 1, 0] - turn * corner) / xp.sqrt(first * rest)
    b = (xp.real(v[..., 1, 1]) - 2 * xp.real(xp.conj(turn) * v[..., 1, 0]) + xp.abs(turn) ** 2 * corner) / rest
    mean, spread = (a + b) / 2, xp.sqrt(((a - b) / 2) ** 2 + xp.abs(c) ** 2)
    return stack_last((mean - spread, mean + spread))


def _carried(a: Array, y: Array) -> Array:
    """a y a*."""
    return matmul(a, matmul(y, adjoint(a)))


def _square(a: Array) -> Array:
    """a a*."""
    return matmul(a, adjoint(a))


@final
@dataclass(frozen=True, repr=False)
class SymmetricPD(AffineInvariant):
    """What SPD(n) returns."""

    n: int

    def __repr__(self) -> str:
        return f"SPD({self.n})"


@final
@dataclass(frozen=True, repr=False)
class HermitianPD(AffineInvariant):
    """Hermitian positive definite n x n matrices with the affine-invariant metric Re tr(x^-1 u x^-1 v).

    Points and tangent vectors, which are Hermitian, are complex and have shape (n, n). The metric does not change when
    all matrices x become a x a*, with any invertible a. Orbit coordinates of a pair are the logarithms of the
    eigenvalues of x^-1 y, the distance is their norm. The heat kernel has a closed form for every n.

    Parameters
    ----------
    n : int
        The size of the matrices, at least 2.

    Examples
    --------
    >>> M = HermitianPD(2)
    >>> M.distance(np.eye(2) + 0j, np.diag([np.exp(3.0), np.exp(4.0)]) + 0j).round(12)
    np.float64(5.0)
    """

    n: int
    is_complex: ClassVar[bool] = True


@final
@dataclass(frozen=True, repr=False)
class LogEuclideanPD(PositiveDefinite):
    """What SPD(n, "log-euclidean") returns: the flat space of the logarithms of the matrices.

    With x = U diag(exp a) U' the derivative of the exponential at log x multiplies the entries of U'vU by
    (exp(a_i) - exp(a_j)) / (a_i - a_j). The orbit coordinate of a pair is the distance.
    """

    n: int
    scalar_curvature: ClassVar[float] = 0.0

    def __repr__(self) -> str:
        return f"SPD({self.n}, 'log-euclidean')"

    @property
    def _flat(self) -> Euclidean:
        return Euclidean(self.dim)

    @property
    def chamber(self) -> tuple[tuple[float, float], ...]:
        return self._flat.chamber

    def log_strip(self, theta: Array) -> Array:
        return self._flat.log_strip(theta)

    def length(self, theta: Array) -> Array:
        return theta[..., 0]

    def orbit_gradients(self, X: Array, Y: Array, theta: Array, slopes: Callable[[], Array]) -> Array:
        return along_ways(unchecked(self.log)(X[:, None], Y[None]), theta[..., 0], slopes()[..., 0])

    def noise(self, x: Array, z: Array) -> Array:
        return _differential(x, self._white(z), 1.0)

    def exp(self, x: Array, v: Array) -> Array:
        return expm(logm(x) + _differential(x, hermitian(v), -1.0))

    def metric(self, x: Array, u: Array, v: Array) -> Array:
        return real_inner(_differential(x, u, -1.0), _differential(x, v, -1.0))

    def log(self, x: Array, y: Array) -> Array:
        return _differential(x, logm(y) - logm(x), 1.0)

    def step(self, x: Array, z: Array, time: float) -> Array:
        return expm(logm(x) + math.sqrt(time) * self._white(z))

    def to_origin(self, x: Array, y: Array) -> Array:
        return expm(logm(y) - logm(x))

    def gradient(self, x: Array, slope: Array) -> Array:
        return _differential(x, hermitian(slope), 2.0)

    def embed(self, x: Array) -> Array:
        """The entries of the logarithm, those beside the diagonal times √2: distances are those of R^dim."""
        xp = namespace(x)
        logs, (i, j) = logm(x), np.triu_indices(self.n, 1)
        return xp.concat([xp.linalg.diagonal(logs), math.sqrt(2) * logs[..., i, j]], axis=-1)

    def orbit(self, x: Array, y: Array) -> Array:
        """|log x - log y|; of close points by the integral of the derivative of the logarithm between them."""
        xp = namespace(x)
        far, d = norm(logm(x) - logm(y), 2), hermitian(y - x)
        places, weights = np.polynomial.legendre.leggauss(4)
        parts = [w / 2 * _differential(x + (1 + s) / 2 * d, d, -1.0) for s, w in zip(places.tolist(), weights.tolist())]
        return xp.where(far < CLOSE, norm(sum(parts[1:], parts[0]), 2), far)[..., None]

    def orbits(self, X: Array, Y: Array) -> Array:
        if not isinstance(X, np.ndarray):
            return super().orbits(X, Y)
        return log_orbits(self.embed(X), self.embed(Y), X, Y, self.orbit, CLOSE)


def logm(x: Array) -> Array:
    """The logarithm of a positive definite matrix."""
    xp = namespace(x)
    values, vectors = xp.linalg.eigh(x)
    return from_eigen(_log(values), vectors)


def _log(values: Array) -> Array:
    """Logarithms; LinAlgError of NumPy arrays, as by its Cholesky factors, where there is none."""
    if isinstance(values, np.ndarray) and not (values > 0).all():
        raise np.linalg.LinAlgError("a matrix is not positive definite")
    return namespace(values).log(values)


def expm(x: Array) -> Array:
    """The exponential of a Hermitian matrix."""
    xp = namespace(x)
    values, vectors = xp.linalg.eigh(x)
    return hermitian(from_eigen(xp.exp(values), vectors))


def _differential(x: Array, v: Array, power: float) -> Array:
    """The derivative of the exponential at log x in the direction v; with the power -1 its inverse, and so on."""
    xp = namespace(x)
    values, vectors = xp.linalg.eigh(x)
    half = _log(values) / 2
    sums, gaps = half[..., :, None] + half[..., None, :], half[..., :, None] - half[..., None, :]
    factor = xp.exp(power * sums) * sinhc(gaps) ** power
    return matmul(vectors, matmul(factor * matmul(adjoint(vectors), matmul(v, vectors)), adjoint(vectors)))
