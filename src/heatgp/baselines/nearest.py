"""Nearest neighbours in geodesic distance: the one baseline that knows the geometry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.checks import unchecked
from .targets import class_targets, points_of, real_targets

MOST = 25
"""The largest number of neighbours that is tried."""
CHUNK = 2**21
"""Numbers in one block of differences of points: 16 MB."""


def distances(manifold: Manifold, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Geodesic distances (N, M), computed in blocks of rows; Unsupported where the manifold has no distance."""
    rows = max(1, CHUNK // max(1, Y.size))
    blocks = [unchecked(manifold.distance)(X[i : i + rows, None], Y[None]) for i in range(0, len(X), rows)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(Y)))


@dataclass(eq=False, repr=False)
class NearestNeighbours(BaseEstimator, ABC):
    """What regression and classification by nearest neighbours share: both average `targets_` (N, columns)."""

    manifold: Manifold
    neighbours: int | None = None

    @abstractmethod
    def _losses(self, sums: np.ndarray) -> np.ndarray:
        """Losses (N, k) at the training points, from sums (N, k, columns) of targets of 1, 2, ..., k neighbours."""

    def _learn(self, X: np.ndarray, targets: np.ndarray) -> None:
        """Keep the data, and choose the number of neighbours of the least leave-one-out loss if none is given."""
        self.X_, self.targets_ = X, targets
        n = len(self.X_)
        if self.neighbours is not None and not 1 <= self.neighbours <= n:
            raise InvalidInput(
                f"neighbours must be from 1 to the number of training points, {n}; got {self.neighbours}."
            )
        between = np.array(distances(self.manifold, self.X_, self.X_))
        np.fill_diagonal(between, np.inf)
        order = np.argsort(between, axis=1, kind="stable")[:, : min(MOST, n - 1)]
        losses = self._losses(np.cumsum(targets[order], axis=1)).mean(axis=0)
        self.neighbours_ = self.neighbours or (int(np.argmin(losses)) + 1 if losses.size else 1)

    def _sums(self, X: ArrayLike) -> np.ndarray:
        """Sums (N, columns) of the neighbours' targets."""
        between = distances(self.manifold, points_of(self.manifold, X), self.X_)
        order = np.argsort(between, axis=1, kind="stable")[:, : self.neighbours_]
        return self.targets_[order].sum(axis=1)


class NearestRegressor(RegressorMixin, NearestNeighbours):
    """The mean of the nearest neighbours' y.

    Parameters
    ----------
    manifold : Manifold
        It must have a distance.
    neighbours : int, optional
        By default the number with the least leave-one-out squared error.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> X = Sphere(2).random(np.random.default_rng(0), 30)
    >>> NearestRegressor(Sphere(2), neighbours=1).fit(X, X[:, 2]).score(X, X[:, 2])
    1.0
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> NearestRegressor:
        X = points_of(self.manifold, X)
        self._learn(X, real_targets(y, len(X))[:, None])
        return self

    def _losses(self, sums: np.ndarray) -> np.ndarray:
        return (sums[..., 0] / np.arange(1, sums.shape[1] + 1) - self.targets_) ** 2

    def predict(self, X: ArrayLike) -> np.ndarray:
        return self._sums(X)[:, 0] / self.neighbours_


class NearestClassifier(ClassifierMixin, NearestNeighbours):
    """Votes of the k nearest neighbours: (votes + 1) / (k + classes), Laplace's rule.

    The rule keeps a unanimous vote from claiming certainty.

    Parameters
    ----------
    manifold : Manifold
        It must have a distance.
    neighbours : int, optional
        By default the number with the least leave-one-out cross entropy.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> NearestClassifier:
        X = points_of(self.manifold, X)
        self.classes_, index = np.unique(class_targets(y, len(X)), return_inverse=True)
        self._learn(X, np.eye(len(self.classes_))[index])
        return self

    def _losses(self, sums: np.ndarray) -> np.ndarray:
        return -np.log(np.sum(self._laplace(sums) * self.targets_[:, None], axis=-1))

    def _laplace(self, votes: np.ndarray) -> np.ndarray:
        return (votes + 1) / (votes.sum(axis=-1, keepdims=True) + len(self.classes_))

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        return self._laplace(self._sums(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
