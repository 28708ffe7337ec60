"""Gaussian processes on manifolds whose covariance is the heat kernel."""

from .baselines import compare
from .estimators import GPClassifier, GPRegressor, nlpd_scorer
from .heat.files import load_kernel
from .heat.kernel import HeatKernel
from .heat.matern import matern_kernel
from .heat.methods import Auto, Ball, Exact, FibreAverage, Method, Reference, Smooth, Strip, heat_kernel
from .heat.shapes import shape_kernel
from .manifolds import (
    SPD,
    Chart,
    ComplexProjective,
    Domain,
    Euclidean,
    Grassmann,
    HermitianPD,
    Homogeneous,
    Hyperbolic,
    Implicit,
    Manifold,
    Orthogonal,
    Product,
    Quotient,
    RealProjective,
    Scaled,
    SpecialEuclidean,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Symmetric,
    Torus,
    TorusKnot,
    Unitary,
)
from .paths.walk import walk
from .points import landmarks_to_shape, product_to_spd, spd_to_product

__version__ = "0.1.0"

__all__ = [
    "SPD",
    "Auto",
    "Ball",
    "Chart",
    "ComplexProjective",
    "Domain",
    "Euclidean",
    "Exact",
    "FibreAverage",
    "GPClassifier",
    "GPRegressor",
    "Grassmann",
    "HeatKernel",
    "HermitianPD",
    "Homogeneous",
    "Hyperbolic",
    "Implicit",
    "Manifold",
    "Method",
    "Orthogonal",
    "Product",
    "Quotient",
    "RealProjective",
    "Reference",
    "Scaled",
    "Smooth",
    "SpecialEuclidean",
    "SpecialOrthogonal",
    "SpecialUnitary",
    "Sphere",
    "Stiefel",
    "Strip",
    "Symmetric",
    "Torus",
    "TorusKnot",
    "Unitary",
    "compare",
    "heat_kernel",
    "landmarks_to_shape",
    "load_kernel",
    "matern_kernel",
    "nlpd_scorer",
    "product_to_spd",
    "shape_kernel",
    "spd_to_product",
    "walk",
]
