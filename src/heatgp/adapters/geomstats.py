"""Spaces of geomstats as manifolds, and manifolds as spaces of geomstats.

`from_geomstats` finds the manifold that a space and its metric are, and converts points both ways. `GeomstatsManifold`
makes a manifold of any other space from its exponential map. geomstats must compute with NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from .quiet import quiet_import

with quiet_import():
    import geomstats.backend as gs
    from geomstats.geometry._hyperbolic import _Hyperbolic
    from geomstats.geometry.base import VectorSpace as LinearSpace
    from geomstats.geometry.base import VectorSpaceOpenSet
    from geomstats.geometry.complex_manifold import ComplexManifold
    from geomstats.geometry.complex_poincare_disk import ComplexPoincareDisk, ComplexPoincareDiskMetric
    from geomstats.geometry.euclidean import CanonicalEuclideanMetric
    from geomstats.geometry.euclidean import Euclidean as VectorSpace
    from geomstats.geometry.grassmannian import Grassmannian, GrassmannianCanonicalMetric
    from geomstats.geometry.hpd_matrices import HPDAffineMetric, HPDMatrices
    from geomstats.geometry.hyperboloid import Hyperboloid, HyperboloidMetric
    from geomstats.geometry.hypersphere import Hypersphere, HypersphereMetric
    from geomstats.geometry.invariant_metric import BiInvariantMetric
    from geomstats.geometry.manifold import Manifold as Space
    from geomstats.geometry.matrices import Matrices, MatricesMetric
    from geomstats.geometry.nfold_manifold import NFoldManifold, NFoldMetric
    from geomstats.geometry.poincare_ball import PoincareBall, PoincareBallMetric
    from geomstats.geometry.poincare_half_space import PoincareHalfSpace, PoincareHalfSpaceMetric
    from geomstats.geometry.poincare_polydisk import PoincarePolydiskMetric
    from geomstats.geometry.pre_shape import KendallShapeMetric, PreShapeMetric, PreShapeSpace
    from geomstats.geometry.product_manifold import ProductManifold, ProductRiemannianMetric
    from geomstats.geometry.scalar_product_metric import ScalarProductMetric
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices
    from geomstats.geometry.special_euclidean import (
        SpecialEuclideanMatricesCanonicalLeftMetric,
        _SpecialEuclideanMatrices,
        _SpecialEuclideanVectors,
    )
    from geomstats.geometry.special_orthogonal import SpecialOrthogonal as RotationSpace
    from geomstats.geometry.special_orthogonal import _SpecialOrthogonal3Vectors, _SpecialOrthogonalMatrices
    from geomstats.geometry.stiefel import Stiefel as FrameSpace
    from geomstats.geometry.stiefel import StiefelCanonicalMetric
    from geomstats.geometry.symmetric_matrices import SymmetricMatrices
    from geomstats.information_geometry.base import InformationManifoldMixin

from ..arguments import is_number
from ..array import Array
from ..errors import InvalidInput, Unsupported
from ..manifolds import (
    SPD,
    ComplexProjective,
    Euclidean,
    Grassmann,
    HermitianPD,
    Hyperbolic,
    Manifold,
    Product,
    Scaled,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
)
from ..manifolds.checks import TOLERANCE, check_points, unchecked
from ..points.checks import numbers, reject
from ..points.hyperbolic import (
    ball_to_hyperboloid,
    half_space_to_hyperboloid,
    hyperboloid_to_ball,
    hyperboloid_to_half_space,
)
from ..points.rigid_motions import product_to_rigid, rigid_to_product
from ..points.rotations import matrix_to_rotation_vector, rotation_vector_to_matrix
from ..points.subspaces import subspace_to_projector

Convert = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, repr=False)
class Correspondence:
    """A manifold and a space of geomstats that are the same, and their points in both forms.

    Parameters
    ----------
    manifold : Manifold
    space : a space of geomstats, with its metric.
    convert, convert_back : functions
        Arrays of points of the space to points of the manifold, and back, without checks.

    Examples
    --------
    >>> from geomstats.geometry.grassmannian import Grassmannian
    >>> planes = from_geomstats(Grassmannian(5, 2))
    >>> planes.manifold
    Scaled(Grassmann(5, 2), 1.4142135623730951)
    >>> x = planes.to_points(planes.space.random_point(3))
    >>> x.shape, planes.from_points(x).shape
    ((3, 5, 2), (3, 5, 5))
    """

    manifold: Manifold
    space: Any
    convert: Convert
    convert_back: Convert

    def __repr__(self) -> str:
        return f"Correspondence({self.manifold!r}, {_named(self.space)})"

    def to_points(self, X: ArrayLike) -> np.ndarray:
        """Points of the space (..., *space.shape) as points of the manifold (..., *manifold.shape).

        Parameters
        ----------
        X : array (..., *space.shape)

        Returns
        -------
        array (..., *manifold.shape)

        Raises
        ------
        InvalidInput
            If X is not numeric or has another shape.
        OffManifold
            If a point is not in the space.
        """
        X = self.real(numbers(X, "X", *self.space.shape))
        return np.asarray(check_points(self.manifold, self.convert(X), "X"))

    def from_points(self, x: ArrayLike) -> np.ndarray:
        """Points of the manifold as points of the space.

        Parameters
        ----------
        x : array (..., *manifold.shape)

        Returns
        -------
        array (..., *space.shape)

        Raises
        ------
        InvalidInput
            If x is not numeric or has another shape.
        OffManifold
            If a point is not on the manifold.
        """
        return self.convert_back(np.asarray(check_points(self.manifold, x, "x")))

    def real(self, X: np.ndarray) -> np.ndarray:
        """X as real numbers where the points of the space are real: in products all are complex if some are."""
        if X.dtype.kind != "c" or _is_complex(self.space):
            return X
        if X.imag.any():
            raise InvalidInput(f"X is complex, but the points of {_named(self.space)} are real. Pass X.real.")
        return X.real


def from_geomstats(space: Any) -> Correspondence:
    """The manifold that a space of geomstats and its metric are.

    Parameters
    ----------
    space : a space of geomstats with a metric
        A hypersphere, rotations (matrices, or rotation vectors of SO(3)), frames (`Stiefel`), subspaces
        (`Grassmannian`), pre-shapes, shapes in the plane (the quotient of `PreShapeSpace(k, 2)`), positive definite
        matrices (affine-invariant, real ones also log-Euclidean), hyperbolic spaces (hyperboloid, ball, half-space,
        complex disk), rigid motions, vectors, matrices, and products of these. Metrics times a number are known too.

    Returns
    -------
    Correspondence
        With `manifold`, `space`, and the functions `to_points` and `from_points`.

    Raises
    ------
    Unsupported
        For other spaces or metrics, and if geomstats does not compute with NumPy.

    Examples
    --------
    >>> from geomstats.geometry.spd_matrices import SPDMatrices
    >>> tensors = from_geomstats(SPDMatrices(3))
    >>> tensors.manifold
    SPD(3)
    >>> tensors.to_points(tensors.space.random_point(4)).shape
    (4, 3, 3)
    """
    _require_numpy()
    if not isinstance(space, (Space, ComplexManifold)):
        raise InvalidInput(f"from_geomstats needs a space of geomstats; got {space!r}.")
    metric = getattr(space, "metric", None)
    if metric is None:
        raise Unsupported(f"{_named(space)} has no distances. Give it its metric: space.equip_with_metric().")
    scale = 1.0
    if isinstance(metric, ScalarProductMetric):
        metric, scale = metric.underlying_metric, math.sqrt(metric.scale)
    for Class, Metric, rule in RULES:
        if isinstance(space, Class) and type(metric) is Metric and (found := rule(space, metric)) is not None:
            manifold, *conversions = found
            return Correspondence(_scaled(manifold, scale), space, *conversions)
    known = ", ".join(f"{Class.__name__.lstrip('_')} with {Metric.__name__}" for Class, Metric, _ in RULES)
    raise Unsupported(
        f"{_named(space)} is none of the spaces whose heat kernels are known: {known}. If it has an exponential map "
        "and is compact, GeomstatsManifold(space) is a manifold, whose heat kernels are simulated."
    )


def to_geomstats(manifold: Manifold) -> Correspondence:
    """The space of geomstats that a manifold is, with a metric of the same distances.

    Parameters
    ----------
    manifold : Manifold
        Sphere, SpecialOrthogonal, real Stiefel and Grassmann, ComplexProjective, SPD, HermitianPD, Hyperbolic,
        Euclidean, Torus; Scaled and Product of these.

    Returns
    -------
    Correspondence
        Points of `ComplexProjective(n)` are shapes of n + 2 landmarks there, those of a torus pairs (cos, sin), and
        those of products flat arrays.

    Raises
    ------
    Unsupported
        For other manifolds, and if geomstats does not compute with NumPy.

    Examples
    --------
    >>> from heatgp import Grassmann
    >>> planes = to_geomstats(Grassmann(5, 2))
    >>> P = planes.from_points(planes.manifold.random(0, 2))
    >>> float(planes.space.metric.dist(P[0], P[1]) - planes.manifold.distance(*planes.to_points(P))) < 1e-12
    True
    """
    _require_numpy()
    if not isinstance(manifold, Manifold):
        raise InvalidInput(
            f"to_geomstats takes a manifold of heatgp, such as Sphere(2); got {type(manifold).__name__}. A space of "
            "geomstats goes to from_geomstats."
        )
    if isinstance(manifold, Product):
        parts = [to_geomstats(factor) for factor in manifold.factors]
        space = _flat_product([part.space for part in parts])
        return Correspondence(manifold, space, *_side_by_side(space, manifold, parts))
    if isinstance(manifold, Torus):
        return Correspondence(manifold, ProductManifold([Hypersphere(1)] * manifold.dim), _angles, _circles)
    if isinstance(manifold, Scaled):
        found = to_geomstats(manifold.base)
        return Correspondence(manifold, _rescaled(found.space, manifold.scale), found.convert, found.convert_back)
    if type(manifold) not in SPACES or (manifold.is_complex and isinstance(manifold, (Stiefel, Grassmann))):
        raise Unsupported(
            f"geomstats has no space for {manifold!r}. It has spaces for Sphere, SpecialOrthogonal, real Stiefel and "
            "Grassmann, ComplexProjective, SPD, HermitianPD, Hyperbolic, Euclidean, Torus, and for Scaled and Product "
            "of these."
        )
    space = SPACES[type(manifold)](manifold)
    found = from_geomstats(space)
    return Correspondence(manifold, space, found.convert, found.convert_back)


# Points.


def _same(X: np.ndarray) -> np.ndarray:
    return X


def _flat(X: np.ndarray, axes: int) -> np.ndarray:
    """The last axes as one."""
    start = X.ndim - axes
    return X.reshape(*X.shape[:start], math.prod(X.shape[start:]))


def _to_subspace(k: int, P: np.ndarray) -> np.ndarray:
    """A basis (..., n, k) of the subspace onto which P projects."""
    x = np.linalg.eigh((P + P.swapaxes(-1, -2)) / 2)[1][..., -k:]
    off = np.abs(P - x @ x.swapaxes(-1, -2)).max(axis=(-2, -1))
    problem = f"is no orthogonal projector of rank {k}: it is {{value:.1e}} > {TOLERANCE:.0e} away from one."
    reject(off > TOLERANCE, off, "X", problem)
    return x


def _contrasts(X: np.ndarray) -> np.ndarray:
    """Centred landmarks (..., k, m) of unit size without their position, (..., k - 1, m)."""
    centre = np.abs(X.mean(axis=-2)).max(axis=-1)
    off = np.maximum(centre, np.abs(np.linalg.norm(X, axis=(-2, -1)) - 1))
    problem = f"is not centred and of unit size, by {{value:.1e}} > {TOLERANCE:.0e}. Use space.projection(X)."
    reject(off > TOLERANCE, off, "X", problem)
    return helmert(X.shape[-2]) @ X


def _to_sphere(X: np.ndarray) -> np.ndarray:
    return _flat(_contrasts(X), 2)


def _from_sphere(ambient: int, x: np.ndarray) -> np.ndarray:
    rows = x.reshape(*x.shape[:-1], x.shape[-1] // ambient, ambient)
    return helmert(rows.shape[-2] + 1).T @ rows


def _to_shape(X: np.ndarray) -> np.ndarray:
    z = _contrasts(X)
    return z[..., 0] + 1j * z[..., 1]


def _from_shape(x: np.ndarray) -> np.ndarray:
    return helmert(x.shape[-1] + 1).T @ np.stack((x.real, x.imag), axis=-1)


def _disk_to_hyperboloid(z: np.ndarray) -> np.ndarray:
    return ball_to_hyperboloid(np.concatenate((z.real, z.imag), axis=-1))


def _hyperboloid_to_disk(x: np.ndarray) -> np.ndarray:
    b = hyperboloid_to_ball(x)
    return b[..., :1] + 1j * b[..., 1:]


def _angles(X: np.ndarray) -> np.ndarray:
    """Points (..., d, 2) of d circles as angles."""
    off = np.abs(np.linalg.norm(X, axis=-1) - 1).max(axis=-1)
    reject(off > TOLERANCE, off, "X", f"is off the circles by {{value:.1e}} > {TOLERANCE:.0e}.")
    return np.arctan2(X[..., 1], X[..., 0])


def _circles(x: np.ndarray) -> np.ndarray:
    return np.stack((np.cos(x), np.sin(x)), axis=-1)


def _side_by_side(space: Any, product: Product, parts: Sequence[Correspondence]) -> tuple[Convert, Convert]:
    """How points of a product convert: geomstats writes them one after the other, in a row or stacked."""
    ends = _ends([part.space for part in parts])

    def convert(X: np.ndarray) -> np.ndarray:
        rows = np.split(_flat(X, len(space.shape)), ends[:-1], axis=-1)
        own = [row.reshape(*row.shape[:-1], *part.space.shape) for row, part in zip(rows, parts)]
        return product.join(*(part.convert(part.real(x)) for x, part in zip(own, parts)))

    def convert_back(x: np.ndarray) -> np.ndarray:
        own = [part.convert_back(y) for y, part in zip(product.split(x), parts)]
        row = np.concatenate([_flat(X, len(part.space.shape)) for X, part in zip(own, parts)], axis=-1)
        return row.reshape(*row.shape[:-1], *space.shape)

    return convert, convert_back


# Which space with which metric is which manifold.

Rule = Callable[[Any, Any], tuple[Manifold, Convert, Convert] | None]


def _sphere(space: Any, metric: Any) -> Any:
    if space.intrinsic:
        raise Unsupported(
            f"{_named(space)} has intrinsic coordinates. Take Hypersphere({space.dim}), and its points by "
            "space.intrinsic_to_extrinsic_coords(X)."
        )
    return Sphere(space.dim), _same, _same


def _subspaces(space: Any, metric: Any) -> Any:
    """Distances of projectors are √2 times those that the principal angles give."""
    manifold = Scaled(Grassmann(space.n, space.p), math.sqrt(2))
    return manifold, partial(_to_subspace, space.p), subspace_to_projector


def _log_euclidean(space: Any, metric: Any) -> Any:
    image = metric.image_space
    usual = isinstance(image, SymmetricMatrices) and type(image.metric) is MatricesMetric
    return (SPD(space.n, "log-euclidean"), _same, _same) if usual else None


def _preshapes(space: Any, metric: Any) -> Any:
    return Sphere(space.dim), _to_sphere, partial(_from_sphere, space.ambient_dim)


def _planar_shapes(space: Any, metric: Any) -> Any:
    if space.ambient_dim != 2:
        raise Unsupported(
            f"{_named(space)} has shapes in {space.ambient_dim} dimensions; heat kernels of Kendall's metric are known "
            "in the plane. In space take the pre-shapes, and heatgp.shape_kernel, which removes rotations."
        )
    return ComplexProjective(space.k_landmarks - 2), _to_shape, _from_shape


def _rigid_motions(space: Any, metric: Any) -> Any:
    """The metric is that of the matrices, in which a rotation by an angle has twice its square."""
    rotations = Scaled(SpecialOrthogonal(space.n), math.sqrt(2))
    return Product(Euclidean(space.n), rotations), rigid_to_product, product_to_rigid


def _matrices(space: Any, metric: Any) -> Any:
    if space.dim != math.prod(space.shape):  # a subspace, such as that of symmetric matrices
        return None
    return Euclidean(space.dim), partial(_flat, axes=2), lambda x: x.reshape(*x.shape[:-1], *space.shape)


def _product(space: Any, metric: Any) -> Any:
    parts = [from_geomstats(factor) for factor in space.factors]
    product = Product(*(part.manifold for part in parts))
    return product, *_side_by_side(space, product, parts)


def _copies(space: Any, metric: Any) -> Any:
    one = from_geomstats(space.base_manifold)
    scales = np.ones(space.n_copies) if metric.scales is None else metric.scales
    product = Product(*(_scaled(one.manifold, math.sqrt(scale)) for scale in scales))
    return product, *_side_by_side(space, product, [one] * space.n_copies)


RULES: tuple[tuple[type, type, Rule], ...] = (
    (Hypersphere, HypersphereMetric, _sphere),
    (_SpecialOrthogonalMatrices, BiInvariantMetric, lambda s, _: (SpecialOrthogonal(s.n), _same, _same)),
    (
        _SpecialOrthogonal3Vectors,
        BiInvariantMetric,
        lambda s, _: (SpecialOrthogonal(3), rotation_vector_to_matrix, matrix_to_rotation_vector),
    ),
    (FrameSpace, StiefelCanonicalMetric, lambda s, _: (Stiefel(s.n, s.p), _same, _same)),
    (Grassmannian, GrassmannianCanonicalMetric, _subspaces),
    (PreShapeSpace, PreShapeMetric, _preshapes),
    (PreShapeSpace, KendallShapeMetric, _planar_shapes),
    (SPDMatrices, SPDAffineMetric, lambda s, _: (SPD(s.n), _same, _same)),
    (SPDMatrices, SPDLogEuclideanMetric, _log_euclidean),
    (HPDMatrices, HPDAffineMetric, lambda s, _: (HermitianPD(s.n), _same, _same)),
    (Hyperboloid, HyperboloidMetric, lambda s, _: (Hyperbolic(s.dim), _same, _same)),
    (
        PoincareBall,
        PoincareBallMetric,
        lambda s, _: (Hyperbolic(s.dim), ball_to_hyperboloid, hyperboloid_to_ball),
    ),
    (
        PoincareHalfSpace,
        PoincareHalfSpaceMetric,
        lambda s, _: (Hyperbolic(s.dim), half_space_to_hyperboloid, hyperboloid_to_half_space),
    ),
    (
        ComplexPoincareDisk,
        ComplexPoincareDiskMetric,
        lambda s, _: (Scaled(Hyperbolic(2), 0.5), _disk_to_hyperboloid, _hyperboloid_to_disk),
    ),
    (VectorSpace, CanonicalEuclideanMetric, lambda s, _: (Euclidean(s.dim), _same, _same)),
    (Matrices, MatricesMetric, _matrices),
    (_SpecialEuclideanMatrices, SpecialEuclideanMatricesCanonicalLeftMetric, _rigid_motions),
    (ProductManifold, ProductRiemannianMetric, _product),
    (NFoldManifold, NFoldMetric, _copies),
    (NFoldManifold, PoincarePolydiskMetric, _copies),
)
"""Class of the space, class of its metric, and what it is. Subclasses of a metric may be other metrics."""


def _planar_shape_space(k: int) -> Any:
    """Kendall's shapes of k landmarks in the plane."""
    return PreShapeSpace(k, 2).equip_with_group_action("rotations").equip_with_quotient()


SPACES: dict[type, Callable[[Any], Any]] = {
    Sphere: lambda M: Hypersphere(M.dim),
    SpecialOrthogonal: lambda M: RotationSpace(M.n),
    Stiefel: lambda M: FrameSpace(M.n, M.k),
    Grassmann: lambda M: _rescaled(Grassmannian(M.n, M.k), math.sqrt(0.5)),
    ComplexProjective: lambda M: _planar_shape_space(M.shape[0] + 1),
    type(SPD(2)): lambda M: SPDMatrices(M.n),
    type(SPD(2, "log-euclidean")): lambda M: SPDMatrices(M.n, equip=False).equip_with_metric(SPDLogEuclideanMetric),
    HermitianPD: lambda M: HPDMatrices(M.n),
    Hyperbolic: lambda M: Hyperboloid(M.n),
    Euclidean: lambda M: VectorSpace(M.n),
}


def _ends(spaces: Sequence[Any]) -> list[int]:
    """Where the entries of each factor end in a flat point of a product."""
    return list(accumulate(math.prod(space.shape) for space in spaces))


def _flat_product(spaces: Sequence[Any]) -> Any:
    """The product whose points are flat arrays."""
    space = ProductManifold(spaces, point_ndim=1)
    space._cum_index = space.metric._cum_index = _ends(spaces)[:-1]  # geomstats counts dimensions, not entries
    return space


def _scaled(manifold: Manifold, scale: float) -> Manifold:
    return manifold if scale == 1 else Scaled(manifold, scale)


def _rescaled(space: Any, scale: float) -> Any:
    """The space with distances times a number."""
    metric = float(scale) ** 2 * space.metric
    metric.shape, metric.point_ndim = space.shape, space.point_ndim  # which products of geomstats ask for
    return space.equip_with_metric(metric)


def _is_complex(space: Any) -> bool:
    if isinstance(space, ProductManifold):
        return any(map(_is_complex, space.factors))
    if isinstance(space, NFoldManifold):
        return _is_complex(space.base_manifold)
    return isinstance(space, ComplexManifold)


def _named(space: Any) -> str:
    metric = getattr(space, "metric", None)
    return f"{type(space).__name__.lstrip('_')} with {'no metric' if metric is None else type(metric).__name__}"


def _require_numpy() -> None:
    name = gs.__name__.rpartition(".")[2]
    if name != "numpy":
        raise Unsupported(
            f"geomstats computes with {name}; heatgp needs its NumPy backend. Set GEOMSTATS_BACKEND=numpy before "
            "Python starts."
        )


# Any other space.

NOT_COMPACT = (
    LinearSpace,
    VectorSpaceOpenSet,
    InformationManifoldMixin,
    _Hyperbolic,
    _SpecialEuclideanMatrices,
    _SpecialEuclideanVectors,
)
"""Classes of geomstats, such as open sets of vector spaces, whose spaces are not compact."""


def _is_compact(space: Any) -> bool:
    if isinstance(space, NOT_COMPACT):
        return False
    if isinstance(space, ProductManifold):
        return all(map(_is_compact, space.factors))
    return not isinstance(space, NFoldManifold) or _is_compact(space.base_manifold)


@contextmanager
def _global_seed(rng: np.random.Generator) -> Iterator[None]:
    """Inside, NumPy's global random numbers, which geomstats draws, follow from rng; afterwards they are as before."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(rng.integers(1 << 32))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


@final
class GeomstatsManifold(Manifold):
    """A space of geomstats as a manifold, from its exponential map: for spaces that `from_geomstats` does not know.

    Heat kernels are simulated (`method="reference"`), which needs a compact space: models refuse vector spaces and
    their open sets, hyperbolic spaces, rigid motions, distributions, and spaces in which long geodesics end farther and
    farther away. Points are those of the space.
    Random points are those of `space.random_uniform`, or of `space.random_point` where there is none; their law must be
    uniform, which `heatgp.testing.check_manifold` tests where the volume is given.

    Parameters
    ----------
    space : a real space of geomstats
        With `belongs`, `to_tangent`, `random_point`, and a metric with `inner_product` and `exp`. `projection`,
        `metric.dist` and `metric.log` are used where they are implemented.
    volume : float, optional
        The Riemannian volume; without it kernels estimate it and warn. That of a space that is not compact is inf.

    Raises
    ------
    InvalidInput
        For a volume that is no positive number, or of a space that is not compact.
    Unsupported
        If the space is complex or one of these is missing, and if geomstats does not compute with NumPy.

    Examples
    --------
    >>> from geomstats.geometry.hypersphere import Hypersphere
    >>> M = GeomstatsManifold(Hypersphere(2), volume=4 * np.pi)
    >>> M, M.shape, M.dim
    (GeomstatsManifold(Hypersphere with HypersphereMetric), (3,), 2)
    >>> M.exp([0.0, 0, 1], [np.pi / 2, 0, 0]).round(12) + 0
    array([1., 0., 0.])
    """

    violation = "the distance to space.projection(x), or 1 where space.belongs(x) is false,"

    def __init__(self, space: Any, volume: float | None = None) -> None:
        _require_numpy()
        if not isinstance(space, Space):
            kind = "is complex" if isinstance(space, ComplexManifold) else "is no space of geomstats"
            raise Unsupported(f"GeomstatsManifold needs a real space of geomstats; {type(space).__name__} {kind}.")
        if volume is not None and not (is_number(volume) and volume > 0):
            raise InvalidInput(f"volume must be a positive number or None; got {volume!r}.")
        self.space, self._volume = space, volume
        try:
            x = self.random(np.random.default_rng(0), 2)
            unchecked(self.exp)(x, self.noise(x, np.ones_like(x)))
            space.belongs(x)
        except (NotImplementedError, AttributeError) as error:
            raise Unsupported(
                f"{_named(space)} lacks what Brownian motion needs: {error or type(error).__name__}. Needed are "
                "belongs, to_tangent, random_point, and a metric with inner_product and exp."
            ) from error
        with np.errstate(all="ignore"):
            is_compact = _is_compact(space) and not self._goes_on()
        if not is_compact:
            if volume is not None:
                raise InvalidInput(f"volume = {volume!r}, but {_named(space)} is not compact. Leave it out.")
            self._volume = math.inf

    def _goes_on(self) -> bool:
        """Whether geodesics end much farther away than random points are from each other: it is not compact.

        False where geomstats has no distance.
        """
        x = self.random(np.random.default_rng(0), 16)
        try:
            usual = self._of(self.space.metric.dist, x, np.roll(x, 1, axis=0)).max()
            v = self.noise(x, np.random.default_rng(1).standard_normal(x.shape))
            v = v * 6 * usual / np.expand_dims(np.sqrt(self.metric(x, v, v)), tuple(range(1, x.ndim)))
            return bool((self._of(self.space.metric.dist, x, unchecked(self.exp)(x, v)) > 3 * usual).any())
        except (NotImplementedError, AttributeError):
            return False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(int, self.space.shape))

    @property
    def dim(self) -> int:
        return int(self.space.dim)

    def __repr__(self) -> str:
        return f"GeomstatsManifold({_named(self.space)})"

    def _of(self, function: Callable[..., Any], *arrays: Array, tail: tuple[int, ...] = ()) -> np.ndarray:
        """What a function of geomstats makes of points or tangent vectors (..., *shape): (..., *tail).

        It gets one batch axis and doubles, since its functions treat single points and several axes differently.
        """
        if not all(isinstance(a, np.ndarray) for a in arrays):
            raise Unsupported(f"{self!r} takes NumPy arrays alone: geomstats computes with NumPy.")
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(self.shape)] for a in arrays))
        if 0 in batch:
            return np.zeros((*batch, *tail))
        rows = [np.broadcast_to(a, (*batch, *self.shape)).reshape(-1, *self.shape).astype(float) for a in arrays]
        return np.reshape(function(*rows), (*batch, *tail))

    def noise(self, x: Array, z: Array) -> Array:
        """T G^(-1/2) z, where T is the projection onto the tangent space and G the Gram matrix of its columns."""
        axes, size = len(self.shape), math.prod(self.shape)
        units = np.eye(size).reshape(size, *self.shape)
        columns = self._of(self.space.to_tangent, units, np.expand_dims(x, -axes - 1), tail=self.shape)
        left, right = (np.expand_dims(columns, -axes - i) for i in (1, 2))
        gram = self._of(self.space.metric.inner_product, left, right, np.expand_dims(x, (-axes - 1, -axes - 2)))
        values, vectors = (part[..., -self.dim :] for part in np.linalg.eigh(gram))
        weights = vectors / np.sqrt(values)[..., None, :] @ vectors.swapaxes(-1, -2) @ _flat(z, axes)[..., None]
        found = (weights.swapaxes(-1, -2) @ _flat(columns, axes))[..., 0, :]
        return found.reshape(*found.shape[:-1], *self.shape).astype(x.dtype)

    def to_tangent(self, x: Array, v: Array) -> Array:
        return self._of(self.space.to_tangent, v, x, tail=self.shape).astype(x.dtype)

    def exp(self, x: Array, v: Array) -> Array:
        return self._of(self.space.metric.exp, v, x, tail=self.shape).astype(x.dtype)

    def random(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Points of the law of `space.random_uniform`, or of `space.random_point` where there is none."""
        draw = getattr(self.space, "random_uniform", self.space.random_point)
        with _global_seed(rng):
            return np.reshape(draw(n), (n, *self.shape)) if n else np.zeros((0, *self.shape))

    def defect(self, x: Array) -> Array:
        off = np.abs(x - self._projected(x)).max(axis=tuple(range(-len(self.shape), 0)))
        inside = self._of(lambda x: self.space.belongs(x, atol=TOLERANCE), x).astype(bool)
        return np.where(inside | (off > TOLERANCE), off, 1.0)

    def polish(self, x: Array) -> Array:
        return self._projected(x).astype(x.dtype)

    def _projected(self, x: Array) -> np.ndarray:
        try:
            return self._of(self.space.projection, x, tail=self.shape)
        except NotImplementedError:
            return x

    def distance(self, x: Array, y: Array) -> Array:
        try:
            return self._of(self.space.metric.dist, x, y)
        except (NotImplementedError, AttributeError):
            return super().distance(x, y)

    def log(self, x: Array, y: Array) -> Array:
        try:
            return self._of(self.space.metric.log, y, x, tail=self.shape)
        except (NotImplementedError, AttributeError):
            return super().log(x, y)

    @property
    def volume(self) -> float:
        return super().volume if self._volume is None else self._volume
