"""What the paper compares with, for any manifold here, and the comparison itself."""

from .comparison import Comparison, Row, compare, evaluate
from .estimators import NAMES, BaselineClassifier, BaselineRegressor, baseline
from .nearest import NearestClassifier, NearestRegressor

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
