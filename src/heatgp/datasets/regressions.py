"""The paper's simulated regressions: quadratic forms on a knotted circle and on a complex projective space."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..manifolds import ComplexProjective, TorusKnot
from .record import Dataset


def quadratic_form(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """x* M x, real for Hermitian M."""
    return np.real(np.sum(np.conj(x) * (x @ matrix.T), axis=-1))


def torus_knot(
    p: int,
    q: int,
    seed: int = 0,
    *,
    n_train: int = 50,
    n_test: int = 200,
    noise: float = 0.2,
    matrix: ArrayLike = ((8.0, 1.0), (1.0, 2.0)),
) -> Dataset:
    """A quadratic form f = x' M x on a circle that is tied into a torus knot.

    x is the unit vector of the angle. Angles and y depend on the seed alone: intrinsically every knot is the same
    regression. The paper does not give M, the noise or the number of points.

    Parameters
    ----------
    p, q : int
        Of the knot.
    seed : int, default 0
    n_train : int, default 50
        Training points at uniform angles.
    n_test : int, default 200
        Test points on an even grid.
    noise : float, default 0.2
        Standard deviation of the noise of y.
    matrix : array_like (2, 2), default ((8, 1), (1, 2))
        M, symmetric and positive definite.

    Returns
    -------
    Dataset
        `y_test` is the true function.

    Raises
    ------
    InvalidInput
        If M is not symmetric and positive definite.

    References
    ----------
    Ye, Niu, Cheung, Dai, Liu (2024), section "Torus knots".

    Examples
    --------
    >>> (torus_knot(2, 3).y == torus_knot(9, 8).y).all()
    np.True_
    """
    M = _positive_definite(matrix, 2)
    manifold = TorusKnot(p, q)
    rng = np.random.default_rng(seed)
    X, X_test = manifold.random(rng, n_train), np.linspace(-math.pi, math.pi, n_test, endpoint=False)[:, None]

    def truth(s: np.ndarray) -> np.ndarray:
        return quadratic_form(np.concatenate((np.cos(s), np.sin(s)), axis=-1), M)

    return Dataset(
        X=X,
        y=truth(X) + noise * rng.standard_normal(n_train),
        manifold=manifold,
        description=f"x' M x on the ({p}, {q}) torus knot, M = {M.tolist()}, noise {noise:g}, {n_train} points",
        X_test=X_test,
        y_test=truth(X_test),
        details={"matrix": M, "noise": noise},
    )


def projective_regression(
    seed: int = 0, *, n: int = 50, snr_db: float = 30.0, n_test: int = 500, dim: int = 4
) -> Dataset:
    """A quadratic form f = x* M x on CP^dim at uniform points, with noise at a signal-to-noise ratio.

    M = G G* with G of complex normals. The ratio is 10 log10 of var f / noise^2, where var f, the variance over the
    whole space, is (tr M^2 - (tr M)^2 / N) / (N (N + 1)) with N = dim + 1. The ratio changes the size of the noise
    and nothing else.

    Parameters
    ----------
    seed : int, default 0
    n : int, default 50
        Training points.
    snr_db : float, default 30
        Signal-to-noise ratio in decibels.
    n_test : int, default 500
        Test points.
    dim : int, default 4
        Complex dimension.

    Returns
    -------
    Dataset
        `y_test` is the true function.

    References
    ----------
    Ye, Niu, Cheung, Dai, Liu (2024), appendix "Projective spaces".

    Examples
    --------
    >>> projective_regression().X.shape
    (50, 5)
    """
    manifold = ComplexProjective(dim)
    rng = np.random.default_rng(seed)
    N = dim + 1
    g = rng.standard_normal((2, N, N))
    G = g[0] + 1j * g[1]
    M = G @ G.conj().T
    variance = float(np.real(np.trace(M @ M)) - np.real(np.trace(M)) ** 2 / N) / (N * (N + 1))
    noise = math.sqrt(variance) * 10 ** (-snr_db / 20)
    X, X_test = manifold.random(rng, n), manifold.random(rng, n_test)
    return Dataset(
        X=X,
        y=quadratic_form(X, M) + noise * rng.standard_normal(n),
        manifold=manifold,
        description=f"x* M x on CP^{dim}, {snr_db:g} dB, {n} points",
        X_test=X_test,
        y_test=quadratic_form(X_test, M),
        details={"matrix": M, "noise": noise},
    )


def _positive_definite(matrix: ArrayLike, size: int) -> np.ndarray:
    M = np.asarray(matrix, dtype=float)
    if M.shape != (size, size) or not np.allclose(M, M.T):
        raise InvalidInput(f"matrix must be a symmetric {size} x {size} matrix; got {M.tolist()}.")
    least = np.linalg.eigvalsh(M)[0]
    if least <= 0:
        raise InvalidInput(f"matrix must be positive definite; its least eigenvalue is {least:.1e} <= 0.")
    return M
