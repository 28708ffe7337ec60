"""Geometry only: nothing here knows of time, kernels or Gaussian processes."""

from .composed.product import Product
from .composed.quotient import Quotient
from .composed.scaled import Scaled
from .contract import Homogeneous, Manifold, Symmetric
from .own.chart import Chart
from .own.domain import Domain
from .own.implicit import Implicit
from .roots import Roots
from .spaces.euclidean import Euclidean
from .spaces.grassmann import Grassmann
from .spaces.knot import TorusKnot
from .spaces.orthogonal import Orthogonal, SpecialOrthogonal
from .spaces.projective import ComplexProjective, RealProjective
from .spaces.sphere import Sphere
from .spaces.stiefel import Stiefel
from .spaces.torus import Torus
from .spaces.unitary import SpecialUnitary, Unitary

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
