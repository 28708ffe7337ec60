"""Baselines that the paper compares with, for any manifold of the library, and the comparison itself."""

from .comparison import Comparison, compare, evaluate
from .estimators import NAMES, BaselineClassifier, BaselineRegressor, baseline
from .nearest import NearestClassifier, NearestRegressor
from .rows import Row

__all__ = [
    "BaselineClassifier",
    "BaselineRegressor",
    "Comparison",
    "NAMES",
    "NearestClassifier",
    "NearestRegressor",
    "Row",
    "baseline",
    "compare",
    "evaluate",
]
