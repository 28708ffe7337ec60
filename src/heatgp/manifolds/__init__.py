"""Geometry only: nothing here knows of time, kernels or Gaussian processes."""

from .base import Homogeneous, Manifold, Symmetric
from .chart import Chart
from .domain import Domain
from .euclidean import Euclidean
from .grassmann import Grassmann
from .implicit import Implicit
from .knot import TorusKnot
from .orthogonal import Orthogonal, SpecialOrthogonal
from .product import Product
from .projective import ComplexProjective, RealProjective
from .quotient import Quotient, Scaled
from .roots import Roots
from .sphere import Sphere
from .stiefel import Stiefel
from .torus import Torus
from .unitary import SpecialUnitary, Unitary

__all__ = [
    "Chart",
    "ComplexProjective",
    "Domain",
    "Euclidean",
    "Grassmann",
    "Homogeneous",
    "Implicit",
    "Manifold",
    "Orthogonal",
    "Product",
    "Quotient",
    "RealProjective",
    "Roots",
    "Scaled",
    "SpecialOrthogonal",
    "SpecialUnitary",
    "Sphere",
    "Stiefel",
    "Symmetric",
    "Torus",
    "TorusKnot",
    "Unitary",
]
