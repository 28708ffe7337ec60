"""Euclidean kernels with known derivatives and data, for the tests of the Gaussian process layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist


@dataclass(frozen=True)
class RBF:
    """exp(-|x - y|^2 / 2 time): the heat kernel of Euclidean space, 1 on the diagonal; length-scale sqrt(time)."""

    parameters: int = 1

    def pairs(self, X, Y=None):
        return RBFPairs(cdist(X, X if Y is None else Y, "sqeuclidean"))

    def diag(self, X, time):
        return np.ones(len(X))


@dataclass(frozen=True)
class RBFPairs:
    squared: np.ndarray

    def __call__(self, time):
        return np.exp(self.squared * (-0.5 / time))

    def slope(self, time):
        K = self(time)
        return K, (K * self.squared * (0.5 / time))[None]


@dataclass(frozen=True)
class ARD:
    """The product of one RBF a coordinate, each with its own time."""

    parameters: int

    def pairs(self, X, Y=None):
        Y = X if Y is None else Y
        return ARDPairs((X.T[:, :, None] - Y.T[:, None, :]) ** 2)

    def diag(self, X, time):
        return np.ones(len(X))


@dataclass(frozen=True)
class ARDPairs:
    squared: np.ndarray

    def __call__(self, time):
        return np.exp(-0.5 * np.tensordot(1 / np.asarray(time), self.squared, axes=1))

    def slope(self, time):
        K = self(time)
        return K, K * self.squared / (2 * np.asarray(time)[:, None, None])


@dataclass(frozen=True)
class Cosines:
    """A kernel of low rank on the line, features cos(j x) and sin(j x); its variance depends on x and on time."""

    frequencies: int = 6
    parameters: int = 1

    def features(self, X, time):
        j = np.arange(1, self.frequencies + 1)
        root = np.exp(-0.25 * time * j**2)
        return np.hstack([root * np.cos(X * j), 0.5 * root * np.sin(X * j)])

    def pairs(self, X, Y=None):
        return CosinePairs(self, X, X if Y is None else Y)

    def diag(self, X, time):
        return np.square(self.features(X, time)).sum(axis=1)


@dataclass(frozen=True)
class CosinePairs:
    kernel: Cosines
    X: np.ndarray
    Y: np.ndarray

    def __call__(self, time):
        return self.kernel.features(self.X, time) @ self.kernel.features(self.Y, time).T

    def slope(self, time):
        j = np.arange(1, self.kernel.frequencies + 1)
        rate = np.tile(-0.5 * time * j**2, 2)
        left = self.kernel.features(self.X, time)
        return self(time), ((left * rate) @ self.kernel.features(self.Y, time).T)[None]


@dataclass(frozen=True)
class Full:
    """Any kernel without its features: the dense route."""

    kernel: object

    @property
    def parameters(self):
        return self.kernel.parameters

    def pairs(self, X, Y=None):
        return self.kernel.pairs(X, Y)

    def diag(self, X, time):
        return self.kernel.diag(X, time)


def wavy(n, seed=0, dim=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, dim))
    return X, np.sin(2 * X[:, 0]) + X[:, -1] + 3.0 + 0.1 * rng.normal(size=n)
