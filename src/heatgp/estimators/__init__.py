"""GPRegressor and GPClassifier: scikit-learn's interface over the functional core of `gp`."""

from .classifier import GPClassifier
from .files import load_model
from .plan import Neighbors, Sparse
from .regressor import GPRegressor
from .scorer import nlpd_scorer

__all__ = ["GPClassifier", "GPRegressor", "Neighbors", "Sparse", "load_model", "nlpd_scorer"]
