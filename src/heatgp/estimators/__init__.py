"""GPRegressor and GPClassifier: scikit-learn's interface over the functional core of `gp`."""

from .classifier import GPClassifier
from .regressor import GPRegressor

__all__ = ["GPClassifier", "GPRegressor"]
