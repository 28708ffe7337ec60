"""Geometry only: nothing here knows of time, kernels or Gaussian processes."""

from .composed.product import Product as Product
from .composed.quotient import Quotient as Quotient
from .composed.scaled import Scaled as Scaled
from .composed.special_euclidean import SpecialEuclidean as SpecialEuclidean
from .contract import Homogeneous as Homogeneous
from .contract import Manifold as Manifold
from .contract import Symmetric as Symmetric
from .own.chart import Chart as Chart
from .own.domain import Domain as Domain
from .own.implicit import Implicit as Implicit
from .roots import Roots as Roots
from .spaces.euclidean import Euclidean as Euclidean
from .spaces.grassmann import Grassmann as Grassmann
from .spaces.hyperbolic import Hyperbolic as Hyperbolic
from .spaces.knot import TorusKnot as TorusKnot
from .spaces.orthogonal import Orthogonal as Orthogonal
from .spaces.orthogonal import SpecialOrthogonal as SpecialOrthogonal
from .spaces.positive_definite import SPD as SPD
from .spaces.positive_definite import HermitianPD as HermitianPD
from .spaces.projective import ComplexProjective as ComplexProjective
from .spaces.projective import RealProjective as RealProjective
from .spaces.sphere import Sphere as Sphere
from .spaces.stiefel import Stiefel as Stiefel
from .spaces.torus import Torus as Torus
from .spaces.unitary import SpecialUnitary as SpecialUnitary
from .spaces.unitary import Unitary as Unitary
