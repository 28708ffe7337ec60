"""Euclidean kernels with known derivatives and data, for the tests of the Gaussian process layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

import heatgp as hg
from heatgp.covariance import Evaluation, Kernel, TimeFunction, gram


@dataclass(frozen=True)
class RBF(Kernel):
    """exp(-|x - y|^2 / 2 time): the heat kernel of Euclidean space, 1 on the diagonal; length-scale sqrt(time)."""

    def pairs(self, X, Y=None):
        squared = cdist(X, X if Y is None else Y, "sqeuclidean")

        def at(time):
            K = Evaluation(
                lambda: np.exp(squared * (-0.5 / time)),
                lambda: (K.value * squared * (0.5 / time))[None],
            )
            return K

        return TimeFunction(at)


@dataclass(frozen=True)
class ARD(Kernel):
    """The product of one RBF for each coordinate, each with its own time."""

    dim: int

    @property
    def parameters(self):
        return self.dim

    def pairs(self, X, Y=None):
        squared = (X.T[:, :, None] - (X if Y is None else Y).T[:, None, :]) ** 2

        def at(time):
            K = Evaluation(
                lambda: np.exp(-0.5 * np.tensordot(1 / np.asarray(time), squared, axes=1)),
                lambda: K.value * squared / (2 * np.asarray(time)[:, None, None]),
            )
            return K

        return TimeFunction(at)


@dataclass(frozen=True)
class Cosines(Kernel):
    """A kernel of low rank on the line, features cos(j x) and sin(j x); its variance depends on x and on time."""

    frequencies: int = 6

    def features(self, X):
        j = np.arange(1, self.frequencies + 1)
        waves = np.hstack([np.cos(X * j), 0.5 * np.sin(X * j)])

        def at(time):
            Phi = Evaluation(
                lambda: waves * np.tile(np.exp(-0.25 * time * j**2), 2),
                lambda: (Phi.value * np.tile(-0.25 * time * j**2, 2))[None],
            )
            return Phi

        return TimeFunction(at)

    def pairs(self, X, Y=None):
        left, right = self.features(X), self.features(X if Y is None else Y)
        return TimeFunction(lambda time: gram(left.at(time), right.at(time)))


@dataclass(frozen=True)
class Full(Kernel):
    """Any kernel without its features: the dense route."""

    kernel: Kernel

    @property
    def parameters(self):
        return self.kernel.parameters

    def pairs(self, X, Y=None):
        return self.kernel.pairs(X, Y)


def log_time_slopes(function, time, step=1e-4):
    """The derivatives of an array in each log time, by central differences."""
    times = np.atleast_1d(np.asarray(time, dtype=float))

    def moved(k, by):
        changed = np.where(np.arange(len(times)) == k, times * np.exp(by), times)
        return function(changed[0] if np.ndim(time) == 0 else tuple(changed))

    return np.stack([(moved(k, step) - moved(k, -step)) / (2 * step) for k in range(len(times))])


def wavy(n, seed=0, dim=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, dim))
    return X, np.sin(2 * X[:, 0]) + X[:, -1] + 3.0 + 0.1 * rng.normal(size=n)


def points_of(manifold, rng, number):
    """Random points, normal ones of Euclidean space."""
    if isinstance(manifold, hg.Product):
        return np.column_stack([points_of(factor, rng, number) for factor in manifold.factors])
    return rng.normal(size=(number, *manifold.shape)) if manifold.volume == np.inf else manifold.random(rng, number)
