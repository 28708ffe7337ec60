"""Nearest neighbours in geodesic distance: the one baseline that knows the geometry."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.checks import check_points

MOST = 25
"""The largest number of neighbours that is tried."""
CHUNK = 2**21
"""Numbers in one block of differences of points: 16 MB."""


def distances(manifold: Manifold, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Geodesic distances (N, M), computed in blocks of rows; Unsupported where the manifold has no distance."""
    rows = max(1, CHUNK // max(1, Y.size))
    blocks = [manifold.distance(X[i : i + rows, None], Y[None]) for i in range(0, len(X), rows)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(Y)))


def neighbour_sums(order: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Sums (N, k, columns) of the targets of the first 1, 2, ..., k of the neighbours in `order` (N, k)."""
    return np.cumsum(targets[order], axis=1)


class NearestRegressor(RegressorMixin, BaseEstimator):
    """The mean of the nearest neighbours' y; their number, if not given, has the least leave-one-out squared error."""

    def __init__(self, manifold: Manifold, neighbours: int | None = None) -> None:
        self.manifold = manifold
        self.neighbours = neighbours

    def fit(self, X: ArrayLike, y: ArrayLike) -> NearestRegressor:
        self.X_ = check_points(self.manifold, X)
        self.y_ = np.asarray(y, dtype=float)
        sums = left_out_sums(self.manifold, self.X_, self.y_[:, None], self.neighbours)
        means = sums[..., 0] / np.arange(1, sums.shape[1] + 1)
        self.neighbours_ = self.neighbours or best(np.mean((means - self.y_[:, None]) ** 2, axis=0))
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        order = np.argsort(distances(self.manifold, check_points(self.manifold, X), self.X_), axis=1, kind="stable")
        return self.y_[order[:, : self.neighbours_]].mean(axis=1)


class NearestClassifier(ClassifierMixin, BaseEstimator):
    """Votes of the nearest neighbours, (votes + 1) / (k + classes) by Laplace's rule; k as in `NearestRegressor`.

    The rule keeps a unanimous vote from claiming certainty; k has the least leave-one-out cross entropy.
    """

    def __init__(self, manifold: Manifold, neighbours: int | None = None) -> None:
        self.manifold = manifold
        self.neighbours = neighbours

    def fit(self, X: ArrayLike, y: ArrayLike) -> NearestClassifier:
        self.X_ = check_points(self.manifold, X)
        self.classes_, index = np.unique(np.asarray(y), return_inverse=True)
        self.votes_ = np.eye(len(self.classes_))[index]
        votes = left_out_sums(self.manifold, self.X_, self.votes_, self.neighbours)
        proba = (votes + 1) / (votes.sum(axis=-1, keepdims=True) + len(self.classes_))
        entropy = -np.log(np.sum(proba * self.votes_[:, None], axis=-1))
        self.neighbours_ = self.neighbours or best(entropy.mean(axis=0))
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        order = np.argsort(distances(self.manifold, check_points(self.manifold, X), self.X_), axis=1, kind="stable")
        votes = self.votes_[order[:, : self.neighbours_]].sum(axis=1)
        return (votes + 1) / (votes.sum(axis=1, keepdims=True) + len(self.classes_))

    def predict(self, X: ArrayLike) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def left_out_sums(manifold: Manifold, X: np.ndarray, targets: np.ndarray, given: int | None) -> np.ndarray:
    """`neighbour_sums` of each training point over the others, up to MOST neighbours."""
    n = len(X)
    if given is not None and not 1 <= given <= n:
        raise InvalidInput(f"neighbours must be from 1 to the number of training points, {n}; got {given}.")
    between = np.array(distances(manifold, X, X))
    np.fill_diagonal(between, np.inf)
    order = np.argsort(between, axis=1, kind="stable")[:, : min(MOST, n - 1)]
    return neighbour_sums(order, targets)


def best(losses: np.ndarray) -> int:
    """The number of neighbours with the least loss; one where there was nothing to try."""
    return int(np.argmin(losses)) + 1 if losses.size else 1
