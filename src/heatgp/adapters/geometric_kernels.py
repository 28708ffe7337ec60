"""Kernels of GeometricKernels in our models, and our kernels as those of GeometricKernels.

Its heat kernel of length scale kappa is ours at the time kappa², and its Matern kernel is ours of the same smoothness,
on the manifold that has its metric: unitary groups carry twice our metric there, and positive definite matrices a
quarter of it. `manifold_of` returns that manifold.

Reference: Mostowsky, Dutordoir, Azangulov, Jaquier, Hutchinson, Ravuri, Rozo, Terenin, Borovitskiy (2024), "The
GeometricKernels package", arXiv:2407.08086.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .quiet import quiet_import

with quiet_import():
    import lab
    from geometric_kernels import spaces
    from geometric_kernels.kernels import MaternFeatureMapKernel, ProductGeometricKernel
    from geometric_kernels.kernels.base import BaseGeometricKernel

from ..covariance import Evaluation, TimeFunction
from ..errors import InvalidInput, Unsupported
from ..gp.kernels import Normalized
from ..heat.composed import compose
from ..heat.kernel import HeatKernel
from ..heat.matern import check_smoothness, with_smoothness
from ..heat.methods import Method, heat_kernel
from ..manifolds import (
    SPD,
    Hyperbolic,
    Manifold,
    Product,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Torus,
)
from ..manifolds.checks import check_points
from ..manifolds.gradients import WEIGHTS

PAIRS = 1 << 16
"""Pairs of points whose values are asked for at once: their functions keep an array of all levels of all pairs."""
STEP = 1e-3
"""Step of differences in the logarithm of the time: of order four, they are right to 1e-12."""

MANIFOLDS: dict[type, Callable[[Any], Manifold]] = {
    spaces.Hypersphere: lambda s: Sphere(s.dimension),
    spaces.Circle: lambda s: Torus(1),
    spaces.SpecialOrthogonal: lambda s: SpecialOrthogonal(s.n),
    spaces.SpecialUnitary: lambda s: Scaled(SpecialUnitary(s.n), math.sqrt(2)),
    spaces.Hyperbolic: lambda s: Hyperbolic(s.dimension),
    spaces.SymmetricPositiveDefiniteMatrices: lambda s: Scaled(SPD(s.n), 0.5),
    spaces.ProductDiscreteSpectrumSpace: lambda s: product_of(s.factor_spaces),
}
"""Their spaces with the metric of their Laplacian."""


def manifold_of(space: Any) -> Manifold:
    """The manifold of a space of GeometricKernels, with the metric of its Laplacian: there time is length scale².

    Parameters
    ----------
    space : Hypersphere, Circle, SpecialOrthogonal, SpecialUnitary, Hyperbolic, SymmetricPositiveDefiniteMatrices, or
        ProductDiscreteSpectrumSpace of real ones of these. Points are the same arrays.

    Raises
    ------
    Unsupported
        For other spaces, such as graphs and meshes.

    Examples
    --------
    >>> manifold_of(spaces.SpecialUnitary(3))
    Scaled(SpecialUnitary(3), 1.4142135623730951)
    """
    if type(space) not in MANIFOLDS:
        names = ", ".join(kind.__name__ for kind in MANIFOLDS)
        raise Unsupported(f"{type(space).__name__} is no space of GeometricKernels that is a manifold here: {names}.")
    return MANIFOLDS[type(space)](space)


def product_of(factors: Any) -> Product:
    """The product of spaces; points are flat real arrays in both libraries."""
    found = [manifold_of(factor) for factor in factors]
    for manifold in found:
        if manifold.is_complex:
            raise Unsupported(
                f"{manifold!r} is complex: as a factor its points are complex numbers there, and pairs of real ones "
                "here. Take a product of kernels of heatgp."
            )
    return Product(*found)


def from_geometric_kernels(kernel: Any, smoothness: float = math.inf) -> HeatKernel:
    """A kernel of GeometricKernels as one that our models take.

    Parameters
    ----------
    kernel : a kernel of GeometricKernels
        One of points of the spaces that `manifold_of` knows, such as `MaternGeometricKernel(Hypersphere(2))`, or a
        `ProductGeometricKernel` of these.
    smoothness : float, default inf
        Its parameter "nu"; inf is the heat kernel. Models take it from here: give them none.

    Returns
    -------
    HeatKernel
        Its `manifold` is `manifold_of(kernel.space)`, or the product of those of the factors, and its time the square
        of the length scale. Values are those of GeometricKernels: with `normalize=True`, k(x, x) is one or one on
        average, and not a density. Kernels of random features have no derivative in time: give models the time.

    Raises
    ------
    InvalidInput
        If it is no kernel of GeometricKernels, or for a bad smoothness.
    Unsupported
        For other spaces.

    Examples
    --------
    >>> from geometric_kernels.kernels import MaternGeometricKernel
    >>> kernel = from_geometric_kernels(MaternGeometricKernel(spaces.Hypersphere(2), num=30))
    >>> kernel([[1.0, 0, 0]], [[0, 0, 1.0]], time=0.5).round(6)  # length scale 0.707
    array([[0.106831]])
    """
    smoothness = check_smoothness(smoothness)
    if isinstance(kernel, ProductGeometricKernel):
        plain = ProductGeometricKernel(*kernel.kernels)
        if kernel.dimension_indices != plain.dimension_indices:
            raise Unsupported("dimension_indices in another order than that of the factors. Reorder the columns.")
        return compose(product_of(kernel.spaces), tuple(GeometricKernel(k, smoothness) for k in kernel.kernels))
    if not isinstance(kernel, BaseGeometricKernel):
        raise InvalidInput(f"from_geometric_kernels needs a kernel of GeometricKernels; got {kernel!r}.")
    return GeometricKernel(kernel, smoothness)


@dataclass(frozen=True, repr=False, eq=False)
class GeometricKernel(HeatKernel):
    """A kernel of GeometricKernels whose length scale is the root of the time; see `from_geometric_kernels`."""

    base: Any
    smoothness: float = math.inf
    manifold: Manifold = field(init=False)
    method: ClassVar[str] = "geometric_kernels"
    smoothness_given_by: ClassVar[str] = "from_geometric_kernels(kernel, smoothness=...)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "manifold", manifold_of(self.base.space))

    def __repr__(self) -> str:
        return (
            f"from_geometric_kernels({type(self.base).__name__} of {self.manifold!r}, smoothness={self.smoothness:g})"
        )

    def pairs(self, X: Any, Y: Any = None) -> TimeFunction:
        Y = X if Y is None else Y
        rows = max(1, PAIRS // max(1, len(Y)))

        def values(params: dict[str, np.ndarray]) -> np.ndarray:
            if not len(X) or not len(Y):
                return np.zeros((len(X), len(Y)))
            return np.concatenate([self.base.K(params, X[i : i + rows], Y) for i in range(0, len(X), rows)])

        return self._of_time(values)

    def paired(self, X: Any, Y: Any = None) -> TimeFunction:
        if Y is not None:
            return super().paired(X, Y)
        return self._of_time(lambda params: self.base.K_diag(params, X) if len(X) else np.zeros(0))

    def _of_time(self, values: Callable[[dict[str, np.ndarray]], np.ndarray]) -> TimeFunction:
        """Values of their parameters as a function of the time, and their derivative by differences."""

        def value(time: float) -> np.ndarray:
            params = {"lengthscale": np.array([math.sqrt(time)]), "nu": np.array([self.smoothness])}
            with np.errstate(all="ignore"):
                found = values(params)
            if not np.isfinite(found).all():
                raise InvalidInput(
                    f"{self!r} has values that are not finite at time {time:g}: sums of so many levels overflow. Take "
                    "fewer levels (num), or a kernel of heatgp."
                )
            return found

        def slopes(time: float) -> np.ndarray:
            if isinstance(self.base, MaternFeatureMapKernel):
                raise Unsupported(
                    f"{self!r} has no derivative in time: its random features jump. Give the model a time."
                )
            differences = (
                weight * (value(time * math.exp(k * STEP)) - value(time * math.exp(-k * STEP)))
                for k, weight in WEIGHTS.items()
            )
            return sum(differences, np.zeros(()))[None] / STEP

        return TimeFunction(lambda time: Evaluation(lambda: value(float(time)), lambda: slopes(float(time))))


def to_geometric_kernels(space: Any, method: str | Method = "auto", **options: Any) -> ExactGeometricKernel:
    """Our kernels of a space or manifold as a kernel of GeometricKernels.

    Parameters
    ----------
    space : a space of GeometricKernels that `manifold_of` knows, or any Manifold
        Of a manifold that GeometricKernels does not have, `kernel.space` is a `ManifoldSpace`.
    method : str or Method, default "auto"
        How the heat kernels are made, as in `heat_kernel`.
    options : those of the method.

    Returns
    -------
    ExactGeometricKernel
        With `init_params()`, `K(params, X, X2)`, `K_diag(params, X)` and `space`. `params` has NumPy arrays "nu" and
        "lengthscale" of shape (1,), with the meaning that they have in GeometricKernels; k(x, x) is one.

    Raises
    ------
    Unsupported
        For spaces that are no manifolds, and where the method does not work.

    Examples
    --------
    >>> from heatgp import Grassmann
    >>> kernel = to_geometric_kernels(Grassmann(5, 2))
    >>> params = kernel.init_params()
    >>> params["lengthscale"] = np.array([0.5])
    >>> _, X = kernel.space.random(np.random.RandomState(0), 4)
    >>> kernel.K(params, X).shape
    (4, 4)
    """
    manifold = space if isinstance(space, Manifold) else manifold_of(space)
    known = ManifoldSpace(manifold) if isinstance(space, Manifold) else space
    return ExactGeometricKernel(known, heat_kernel(manifold, method, **options).as_positive_definite())


class ManifoldSpace(spaces.Space):
    """A manifold as a space of GeometricKernels.

    Parameters
    ----------
    manifold : Manifold
    """

    def __init__(self, manifold: Manifold) -> None:
        self.manifold = manifold

    def __str__(self) -> str:
        return repr(self.manifold)

    @property
    def dimension(self) -> int:
        return self.manifold.dim

    @property
    def element_shape(self) -> list[int]:
        return list(self.manifold.shape)

    @property
    def element_dtype(self) -> Any:
        return lab.Complex if self.manifold.is_complex else lab.Float

    def random(self, key: Any, number: int) -> tuple[Any, np.ndarray]:
        """Random points, with a `numpy.random.RandomState` as the key, which is returned too."""
        return key, np.asarray(self.manifold.random(np.random.default_rng(key.randint(1 << 31)), number))


class ExactGeometricKernel(BaseGeometricKernel):
    """Our kernel with the interface of GeometricKernels; see `to_geometric_kernels`.

    Parameters
    ----------
    space : a space of GeometricKernels
    heat : HeatKernel of the manifold that the space is.
    """

    def __init__(self, space: Any, heat: HeatKernel) -> None:
        super().__init__(space)
        self.heat = heat

    def __repr__(self) -> str:
        return f"to_geometric_kernels({self.heat!r})"

    def init_params(self) -> dict[str, np.ndarray]:
        return {"nu": np.array([np.inf]), "lengthscale": np.array([1.0])}

    def K(self, params: dict[str, np.ndarray], X: Any, X2: Any = None, **kwargs: Any) -> np.ndarray:
        """k(x, y) of every point of X with every point of X2, or of X with itself.

        Parameters
        ----------
        params : dict with "nu" and "lengthscale", arrays of shape (1,).
        X, X2 : arrays (N, *shape) and (M, *shape) of points.

        Returns
        -------
        array (N, M)

        Raises
        ------
        InvalidInput : if a parameter is no positive number, or points have another shape.
        OffManifold : if a point is not on the manifold.
        """
        kernel, time = self._at(params)
        Y = None if X2 is None else self._points(X2, "X2")
        return kernel.pairs(self._points(X, "X"), Y).at(time).value

    def K_diag(self, params: dict[str, np.ndarray], X: Any, **kwargs: Any) -> np.ndarray:
        """k(x, x) of every point of X, which is 1; arguments and errors as those of `K`."""
        self._at(params)
        return np.ones(len(self._points(X, "X")))

    def _at(self, params: dict[str, np.ndarray]) -> tuple[Normalized, Any]:
        """The kernel of a smoothness with variance one, and the time."""
        nu, length = (_number(params, name) for name in ("nu", "lengthscale"))
        kernel = with_smoothness(self.heat, check_smoothness(nu))
        return Normalized(kernel), kernel.check_time(length**2)

    def _points(self, X: Any, name: str) -> np.ndarray:
        """Checked points (N, *shape)."""
        manifold = self.heat.manifold
        points = np.asarray(manifold.polish(np.asarray(check_points(manifold, X, name))))
        if points.ndim != 1 + len(manifold.shape):
            raise InvalidInput(f"{name} has shape {points.shape}; needed are points (N, *{manifold.shape}).")
        return points


def _number(params: Any, name: str) -> float:
    """One parameter, given as an array (1,) of NumPy as in GeometricKernels, or as a number."""
    value = params.get(name) if isinstance(params, dict) else None
    if isinstance(value, np.ndarray) and value.shape == (1,):
        value = value[0]
    if not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0:
        raise InvalidInput(
            f"params[{name!r}] must be a positive number in a NumPy array of shape (1,); got {value!r}. This kernel "
            "computes with NumPy. In GPyTorch use heatgp.adapters.gpytorch.HeatKernel."
        )
    return float(value)
