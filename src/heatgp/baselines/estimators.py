"""The usual methods as scikit-learn estimators that take points of a manifold."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from ..errors import InvalidInput, Unsupported
from ..manifolds import Manifold
from ..manifolds.checks import check_points
from ..manifolds.composed.product import flatten
from .nearest import NearestClassifier, NearestRegressor
from .recipes import CLASSIFIERS, REGRESSORS

Coordinates = Literal["embedding", "raw"]
Task = Literal["regression", "classification"]

NAMES = (*(f"{method}{kind}" for method in REGRESSORS for kind in ("", " raw", " untuned")), "nearest")
"""The baselines by name: tuned on the embedding; "raw" tuned on the numbers as they come; "untuned" on the same."""


def coordinates(manifold: Manifold, X: ArrayLike, kind: Coordinates) -> np.ndarray:
    """Points to rows of real numbers: the manifold's embedding, or the arrays as they are, flattened.

    Raw coordinates depend on the representative where points have several: a line's unit vector, a subspace's basis.
    """
    X = check_points(manifold, X)
    return np.asarray(manifold.embed(X) if kind == "embedding" else flatten(manifold, X))


def fitted(
    recipes: dict[str, Any], estimator: BaselineRegressor | BaselineClassifier, X: ArrayLike, y: ArrayLike
) -> Any:
    """The recipe's model on the estimator's coordinates, its arguments checked."""
    if estimator.method not in recipes:
        raise InvalidInput(f"method must be one of {', '.join(map(repr, recipes))}; got {estimator.method!r}.")
    if estimator.coordinates not in ("embedding", "raw"):
        raise InvalidInput(f"coordinates must be 'embedding' or 'raw'; got {estimator.coordinates!r}.")
    Z = coordinates(estimator.manifold, X, estimator.coordinates)
    with warnings.catch_warnings():
        # Bounds of the search and steps of a solver are the recipe's business: the scores say how well it did.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return recipes[estimator.method](Z, np.asarray(y), estimator.tuned, estimator.random_state)


class BaselineRegressor(RegressorMixin, BaseEstimator):
    """RBF Gaussian process ("rbf"), support vectors ("svm") or ridge regression ("linear") on coordinates.

    >>> from heatgp import Sphere
    >>> X = Sphere(2).random(np.random.default_rng(0), 30)
    >>> BaselineRegressor(Sphere(2), "rbf").fit(X, X[:, 2]).score(X, X[:, 2]) > 0.99
    True
    """

    def __init__(
        self,
        manifold: Manifold,
        method: str = "rbf",
        *,
        coordinates: Coordinates = "embedding",
        tuned: bool = True,
        random_state: int = 0,
    ) -> None:
        self.manifold = manifold
        self.method = method
        self.coordinates = coordinates
        self.tuned = tuned
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> BaselineRegressor:
        self.model_ = fitted(REGRESSORS, self, X, np.asarray(y, dtype=float))
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """The mean, and with return_std the standard deviation of new observations (method "rbf" only)."""
        if return_std and self.method != "rbf":
            raise Unsupported(f"method {self.method!r} has no predictive standard deviation; 'rbf' has.")
        Z = coordinates(self.manifold, X, self.coordinates)
        return self.model_.predict(Z, return_std=True) if return_std else self.model_.predict(Z)


class BaselineClassifier(ClassifierMixin, BaseEstimator):
    """RBF Gaussian process ("rbf"), support vectors ("svm") or logistic regression ("linear") on coordinates."""

    def __init__(
        self,
        manifold: Manifold,
        method: str = "rbf",
        *,
        coordinates: Coordinates = "embedding",
        tuned: bool = True,
        random_state: int = 0,
    ) -> None:
        self.manifold = manifold
        self.method = method
        self.coordinates = coordinates
        self.tuned = tuned
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> BaselineClassifier:
        self.classes_ = np.unique(np.asarray(y))
        if len(self.classes_) < 2:
            raise InvalidInput(f"y has one class only, {self.classes_[0]!r}; a classifier needs two or more.")
        self.model_ = fitted(CLASSIFIERS, self, X, y)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        return self.model_.predict_proba(coordinates(self.manifold, X, self.coordinates))

    def predict(self, X: ArrayLike) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def baseline(name: str, manifold: Manifold, task: Task, *, random_state: int = 0) -> Any:
    """The estimator of one of NAMES.

    >>> from heatgp import Sphere
    >>> baseline("svm untuned", Sphere(2), "classification").get_params()["tuned"]
    False
    """
    if name not in NAMES:
        raise InvalidInput(f"There is no baseline {name!r}; there are {', '.join(map(repr, NAMES))}.")
    regression = task == "regression"
    if name == "nearest":
        return NearestRegressor(manifold) if regression else NearestClassifier(manifold)
    method, _, kind = name.partition(" ")
    make = BaselineRegressor if regression else BaselineClassifier
    where: Coordinates = "raw" if kind else "embedding"
    return make(manifold, method, coordinates=where, tuned=kind != "untuned", random_state=random_state)
