"""Gaussian processes on manifolds whose covariance is the heat kernel.

Public names are imported when they are first asked for, so that `import heatgp` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .baselines import compare
    from .estimators import GPClassifier, GPRegressor, Neighbors, Sparse, load_model, nlpd_scorer
    from .gp.parameters import LogNormal, Priors
    from .gp.poisson import Poisson
    from .gp.regression_likelihood import RegressionLikelihood
    from .gp.student import StudentT
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
    from .optimize import Optimizer, minimize
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
    "LogNormal",
    "Manifold",
    "Method",
    "Neighbors",
    "Optimizer",
    "Orthogonal",
    "Poisson",
    "Priors",
    "Product",
    "Quotient",
    "RealProjective",
    "Reference",
    "RegressionLikelihood",
    "Scaled",
    "Smooth",
    "Sparse",
    "SpecialEuclidean",
    "SpecialOrthogonal",
    "SpecialUnitary",
    "Sphere",
    "Stiefel",
    "Strip",
    "StudentT",
    "Symmetric",
    "Torus",
    "TorusKnot",
    "Unitary",
    "compare",
    "heat_kernel",
    "landmarks_to_shape",
    "load_kernel",
    "load_model",
    "matern_kernel",
    "minimize",
    "nlpd_scorer",
    "product_to_spd",
    "shape_kernel",
    "spd_to_product",
    "walk",
]

_HOMES = {
    "baselines": ("compare",),
    "estimators": ("GPClassifier", "GPRegressor", "Neighbors", "Sparse", "load_model", "nlpd_scorer"),
    "gp.parameters": ("LogNormal", "Priors"),
    "gp.poisson": ("Poisson",),
    "gp.regression_likelihood": ("RegressionLikelihood",),
    "gp.student": ("StudentT",),
    "heat.files": ("load_kernel",),
    "heat.kernel": ("HeatKernel",),
    "heat.matern": ("matern_kernel",),
    "heat.methods": ("Auto", "Ball", "Exact", "FibreAverage", "Method", "Reference", "Smooth", "Strip", "heat_kernel"),
    "heat.shapes": ("shape_kernel",),
    "optimize": ("Optimizer", "minimize"),
    "paths.walk": ("walk",),
    "points": ("landmarks_to_shape", "product_to_spd", "spd_to_product"),
}
"""The modules of the public names; all others are manifolds."""
_PACKAGES = ("baselines", "datasets", "errors", "estimators", "manifolds", "optimize", "plots", "points", "testing")
"""The modules that are attributes too: heatgp.points is there without an import of its own."""


if not TYPE_CHECKING:  # which would take every name for a public one

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return import_module(f"{__name__}.{name}")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = next((module for module, names in _HOMES.items() if name in names), "manifolds")
        value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
