"""Gaussian processes on manifolds whose covariance is the heat kernel."""

from .estimators import GPClassifier, GPRegressor
from .heat.kernel import HeatKernel
from .heat.methods import heat_kernel
from .heat.store import load_kernel
from .heat.walk import walk
from .manifolds import (
    Chart,
    ComplexProjective,
    Domain,
    Euclidean,
    Grassmann,
    Implicit,
    Manifold,
    Orthogonal,
    Product,
    Quotient,
    RealProjective,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Torus,
    TorusKnot,
    Unitary,
)

__version__ = "0.1.0"

__all__ = [
    "Chart",
    "ComplexProjective",
    "Domain",
    "Euclidean",
    "GPClassifier",
    "GPRegressor",
    "Grassmann",
    "Implicit",
    "Manifold",
    "Orthogonal",
    "Product",
    "Quotient",
    "RealProjective",
    "Scaled",
    "SpecialOrthogonal",
    "SpecialUnitary",
    "Sphere",
    "Stiefel",
    "Torus",
    "TorusKnot",
    "Unitary",
    "HeatKernel",
    "heat_kernel",
    "load_kernel",
    "walk",
]
