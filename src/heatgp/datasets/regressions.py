"""The paper's simulated regressions: quadratic forms on a knotted circle and on a complex projective space."""

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ..arguments import as_array, check_count, check_number, generator
from ..cost import check_memory
from ..errors import InvalidInput
from ..manifolds import ComplexProjective, Manifold, TorusKnot
from .record import Dataset

Points = tuple[np.ndarray, np.ndarray]
"""Of training and of test."""


def quadratic_form(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """x* M x, real for Hermitian M."""
    return np.real(np.sum(np.conj(x) * (x @ matrix.T), axis=-1))


def regression(
    manifold: Manifold, points: Points, vectors: Points, matrix: np.ndarray, noise: float, rng: Generator, name: str
) -> Dataset:
    """The data set of x* M x at training and test points; `vectors` holds x for both of them."""
    y, y_test = (quadratic_form(x, matrix) for x in vectors)
    y = y + noise * rng.standard_normal(len(y))
    details = {"matrix": matrix, "noise": noise}
    return Dataset(points[0], y, manifold, name, X_test=points[1], y_test=y_test, details=details)


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
    M = _positive_definite(matrix)
    manifold = TorusKnot(p, q)
    check_memory(64.0 * check_count("n_test", n_test, 0), f"{n_test} test points", "Ask for fewer.")
    noise = check_number("noise", noise)
    if noise < 0:
        raise InvalidInput(f"noise = {noise} is a standard deviation and must be 0 or positive.")
    rng = generator(seed, "seed")
    angles = manifold.random(rng, n_train), np.linspace(-math.pi, math.pi, n_test, endpoint=False)[:, None]
    unit, unit_test = (np.concatenate((np.cos(s), np.sin(s)), axis=-1) for s in angles)
    name = f"x' M x on the ({p}, {q}) torus knot, M = {M.tolist()}, noise {noise:g}, {n_train} points"
    return regression(manifold, angles, (unit, unit_test), M, noise, rng, name)


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
    check_memory(64.0 * (dim + 1) ** 2, f"A matrix of {dim + 1} rows", "Take a smaller dim.")
    snr_db = check_number("snr_db", snr_db)
    rng = generator(seed, "seed")
    N = dim + 1
    g = rng.standard_normal((2, N, N))
    G = g[0] + 1j * g[1]
    M = G @ G.conj().T
    variance = float(np.real(np.trace(M @ M)) - np.real(np.trace(M)) ** 2 / N) / (N * (N + 1))
    noise = math.sqrt(variance) * 10 ** (-snr_db / 20)
    points = manifold.random(rng, n), manifold.random(rng, n_test)
    return regression(manifold, points, points, M, noise, rng, f"x* M x on CP^{dim}, {snr_db:g} dB, {n} points")


def _positive_definite(matrix: ArrayLike) -> np.ndarray:
    """The matrix as an array, or an error where it is not a symmetric positive definite 2 x 2 matrix."""
    M = as_array(matrix, "matrix")
    if M.dtype.kind not in "iuf" or M.shape != (2, 2) or not np.allclose(M, M.T):
        raise InvalidInput(f"matrix must be a symmetric 2 x 2 matrix; got {M.tolist()}.")
    least = np.linalg.eigvalsh(M)[0]
    if least <= 0:
        raise InvalidInput(f"matrix must be positive definite; its least eigenvalue is {least:.1e} <= 0.")
    return M.astype(float)
