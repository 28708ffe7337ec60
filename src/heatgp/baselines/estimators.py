"""The usual methods as scikit-learn estimators that take points of a manifold."""

from __future__ import annotations

from abc import ABC
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from ..arguments import check_count
from ..errors import InvalidInput, Unsupported, without_warnings_of_others
from ..manifolds import Manifold
from ..manifolds.checks import require
from ..manifolds.composed.product import flatten
from .nearest import NearestClassifier, NearestRegressor
from .recipes import CLASSIFIERS, REGRESSORS
from .targets import class_targets, points_of, real_targets

Coordinates = Literal["embedding", "raw"]
Task = Literal["regression", "classification"]

NAMES = (*(f"{method}{kind}" for method in REGRESSORS for kind in ("", " raw", " untuned")), "nearest")
"""Names of the baselines: tuned on the embedding; "raw", tuned on the numbers as they are; "untuned" on those too."""


@dataclass(eq=False, repr=False)
class Baseline(BaseEstimator, ABC):
    """What the regressor and the classifier share: coordinates of the points, and a recipe that fits them."""

    recipes: ClassVar[dict[str, Any]]
    manifold: Manifold
    method: str = "rbf"
    _: KW_ONLY
    coordinates: Coordinates = "embedding"
    tuned: bool = True
    random_state: int = 0

    def _coordinates(self, X: ArrayLike) -> np.ndarray:
        """Points to rows of real numbers: the manifold's embedding, or the arrays as they are, flattened.

        Raw coordinates depend on the representative where points have several: a line's unit vector, a subspace's
        basis.
        """
        X = points_of(self.manifold, X)
        if not len(X):
            raise InvalidInput("X has no point. Give at least one.")
        return np.asarray(self.manifold.embed(X) if self.coordinates == "embedding" else flatten(self.manifold, X))

    def _fit(self, X: ArrayLike, y: np.ndarray) -> None:
        if self.method not in self.recipes:
            raise InvalidInput(f"method must be one of {', '.join(map(repr, self.recipes))}; got {self.method!r}.")
        if self.coordinates not in ("embedding", "raw"):
            raise InvalidInput(f"coordinates must be 'embedding' or 'raw'; got {self.coordinates!r}.")
        # The recipe chooses the bounds of its search and the steps of its solver: the scores say how well it did.
        with without_warnings_of_others(ConvergenceWarning):
            self.model_ = self.recipes[self.method](self._coordinates(X), y, self.tuned, self.random_state)


class BaselineRegressor(RegressorMixin, Baseline):
    """RBF Gaussian process, support vectors or ridge regression on coordinates of the points.

    Parameters
    ----------
    manifold : Manifold
    method : {"rbf", "svm", "linear"}, default "rbf"
    coordinates : {"embedding", "raw"}, default "embedding"
        The manifold's embedding, or the numbers of the points as they are.
    tuned : bool, default True
        Choose the hyperparameters from the data; else scikit-learn's defaults, and an RBF length-scale of one.
    random_state : int, default 0

    Examples
    --------
    >>> from heatgp import Sphere
    >>> X = Sphere(2).random(np.random.default_rng(0), 30)
    >>> BaselineRegressor(Sphere(2), "rbf").fit(X, X[:, 2]).score(X, X[:, 2]) > 0.99
    True
    """

    recipes = REGRESSORS

    def fit(self, X: ArrayLike, y: ArrayLike) -> BaselineRegressor:
        X = points_of(self.manifold, X)
        self._fit(X, real_targets(y, len(X)))
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """The mean, and with return_std the standard deviation of new observations (method "rbf" only)."""
        if return_std and self.method != "rbf":
            raise Unsupported(f"method {self.method!r} has no predictive standard deviation; 'rbf' has.")
        Z = self._coordinates(X)
        return self.model_.predict(Z, return_std=True) if return_std else self.model_.predict(Z)


class BaselineClassifier(ClassifierMixin, Baseline):
    """RBF Gaussian process, support vectors or logistic regression on coordinates of the points.

    Parameters
    ----------
    manifold, method, coordinates, tuned, random_state
        As in `BaselineRegressor`.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> X = Sphere(2).random(np.random.default_rng(0), 30)
    >>> BaselineClassifier(Sphere(2), "linear").fit(X, X[:, 2] > 0).predict_proba(X).shape
    (30, 2)
    """

    recipes = CLASSIFIERS

    def fit(self, X: ArrayLike, y: ArrayLike) -> BaselineClassifier:
        X = points_of(self.manifold, X)
        labels = class_targets(y, len(X))
        self.classes_ = np.unique(labels)
        self._fit(X, labels)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        return self.model_.predict_proba(self._coordinates(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def check_task(task: Any) -> None:
    """Raise InvalidInput unless it is the name of a task."""
    if not isinstance(task, str) or task not in ("regression", "classification"):
        raise InvalidInput(f"task must be 'regression' or 'classification'; got {task!r}.")


def baseline(name: str, manifold: Manifold, task: Task, *, random_state: int = 0) -> Any:
    """Make a baseline from its name.

    Parameters
    ----------
    name : str
        One of `baselines.NAMES`.
    manifold : Manifold
    task : {"regression", "classification"}
    random_state : int, default 0

    Returns
    -------
    estimator
        A scikit-learn estimator that takes points of the manifold.

    Raises
    ------
    InvalidInput
        If there is no such baseline or task, or the manifold is none.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> baseline("svm untuned", Sphere(2), "classification").get_params()["tuned"]
    False
    """
    require(isinstance(manifold, Manifold), f"baseline needs a manifold, such as Sphere(2); got {manifold!r}.")
    check_task(task)
    check_count("random_state", random_state, 0)
    if not isinstance(name, str) or name not in NAMES:
        raise InvalidInput(f"There is no baseline {name!r}; there are {', '.join(map(repr, NAMES))}.")
    regression = task == "regression"
    if name == "nearest":
        return NearestRegressor(manifold) if regression else NearestClassifier(manifold)
    method, _, kind = name.partition(" ")
    make = BaselineRegressor if regression else BaselineClassifier
    where: Coordinates = "raw" if kind else "embedding"
    return make(manifold, method, coordinates=where, tuned=kind != "untuned", random_state=random_state)
