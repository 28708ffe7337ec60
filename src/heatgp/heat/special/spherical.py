"""Functions of the orbit coordinates of a symmetric space: integrals over the chamber, and the modes of heat in it.

The spherical functions are the orthogonal polynomials of omega: Gram-Schmidt applied to the waves of the weights
lambda, in the order of <lambda, lambda + 2 rho>, which is the eigenvalue of -Laplace.

Reference: Helgason (1984), ch. V, Theorem 4.1; Heckman and Opdam (1987), Compositio Math. 64, 329-352.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, permutations

import numpy as np
from scipy.stats import chi2

from ...manifolds.contract import Symmetric

NODES = {1: 160, 2: 48, 3: 26}
"""Nodes in each orbit coordinate, by the rank: enough for a bell ten widths long."""
MISSING = 1e-5
"""The part of p_t(x, x) that the modes may miss."""


def chamber_nodes(manifold: Symmetric, reach: float, least: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n, coordinates) and weights (n,) that integrate invariant functions over |theta_i| <= reach.

    omega is smooth on the box where its exponents are even; where they are odd, on the sorted angles only.
    """
    rank = manifold.rank
    number = max(NODES[rank], least)
    if is_signed(manifold):  # eigenangles: a whole period, or a whole bell
        unit, weight = (2 * np.arange(number) + 1) / number - 1, np.full(number, 2 / number)
    else:
        unit, weight = (0.5 * a + b for a, b in zip(np.polynomial.legendre.leggauss(number), (0.5, 0.0)))
    grids = (np.stack(np.meshgrid(*[a] * rank, indexing="ij"), axis=-1).reshape(-1, rank) for a in (unit, weight))
    theta, weights = next(grids), np.prod(next(grids), axis=1) * reach**rank
    if any(m % 2 for m in manifold.roots.multiplicity):
        weights = weights * math.factorial(rank) * np.prod(theta ** np.arange(rank - 1, -1, -1), axis=1)
        theta = np.cumprod(theta, axis=1)
    theta = with_last_angle(manifold, theta * reach)
    return theta, weights * np.exp(manifold.log_strip(theta))


def with_last_angle(manifold: Symmetric, theta: np.ndarray) -> np.ndarray:
    """All orbit coordinates from `rank` of them: the eigenangles of SU(n) add up to zero."""
    if manifold.rank == len(manifold.chamber):
        return theta
    return np.concatenate([theta, -theta.sum(axis=-1, keepdims=True)], axis=-1)


def is_signed(manifold: Symmetric) -> bool:
    """Whether the orbit coordinates are eigenangles, with signs."""
    return manifold.chamber[0][0] < 0


@dataclass(frozen=True, eq=False)
class Modes:
    """Orthonormal eigenfunctions of the radial Laplacian in the uniform probability, the constant first."""

    manifold: Symmetric
    weights: np.ndarray
    """Highest weights (modes, coordinates)."""
    eigenvalue: np.ndarray
    mixing: np.ndarray
    """The waves times this matrix are the eigenfunctions."""
    volume: float
    """Of the component of the origin."""

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """(n, coordinates) -> (n, modes)."""
        return waves(self.manifold, self.weights, theta) @ self.mixing


@lru_cache(maxsize=16)
def heat_modes(manifold: Symmetric, time: float) -> Modes:
    """The modes that make all but MISSING of p_t(x, x) at this time, and of p_s at every later s.

    p_t(x, x) is the sum of exp(-eigenvalue t/2) over the dimensions of all modes: at short times the eigenvalues have
    in it the law of chi-square/t with dim degrees of freedom.
    """
    unit, turn = manifold.roots.unit, math.pi / manifold.chamber[0][1]
    alpha = np.array(manifold.roots.alpha).reshape(-1, len(manifold.chamber))
    rho = np.array(manifold.roots.multiplicity) @ alpha / 2
    largest = float(chi2.isf(MISSING, manifold.dim)) / time
    special = manifold.rank < len(rho)  # a weight (l, .., 0) less its mean is at least l/√2 long
    weights = _dominant(manifold, math.floor(math.sqrt(largest * (2 if special else 1)) * unit / turn))
    high = turn * (weights - weights.mean(axis=1, keepdims=True) if special else weights)
    eigenvalue = np.sum(high * (high + 2 * rho), axis=1) / unit**2
    order = np.argsort(eigenvalue, kind="stable")
    order = order[eigenvalue[order] <= largest]
    weights, eigenvalue = weights[order], eigenvalue[order]
    theta, volume = chamber_nodes(manifold, manifold.chamber[0][1], least=2 * int(weights.max()) + 8)
    values = waves(manifold, weights, theta) * np.sqrt(volume / volume.sum())[:, None]
    triangle = np.linalg.qr(values, mode="r")
    triangle *= np.sign(np.diagonal(triangle))[:, None]
    return Modes(manifold, weights, eigenvalue, np.linalg.inv(triangle), float(volume.sum()))


def _dominant(manifold: Symmetric, degree: int) -> np.ndarray:
    """Decreasing integer vectors with entries up to the degree, one of each pair of complex conjugates.

    Eigenangles have weights with signs; where their sum is zero weights count up to a common shift.
    """
    coordinates = len(manifold.chamber)
    special = manifold.rank < coordinates
    entries = range(degree, -degree - 1 if is_signed(manifold) and not special else -1, -1)
    weights = np.array(list(combinations_with_replacement(entries, manifold.rank)))
    if special:
        weights = np.column_stack([weights, np.zeros(len(weights), dtype=int)])
    if not is_signed(manifold):
        return weights
    dual = (weights[:, :1] if special else 0) - weights[:, ::-1]
    return np.array([w for w, d in zip(weights.tolist(), dual.tolist()) if w >= d])


def waves(manifold: Symmetric, weights: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Orbit sums (n, weights): over permutations, the product of cos(w_i theta_i), for eigenangles cos of the sum."""
    turn = math.pi / manifold.chamber[0][1]
    integers = weights.astype(int)
    low, high = integers.min(), integers.max()
    phase = np.exp(1j * turn * theta[:, :, None])
    table = phase ** np.arange(low, high + 1)
    table = table if is_signed(manifold) else table.real
    orders = list(permutations(range(theta.shape[1])))
    total = np.zeros((len(theta), len(weights)))
    for order in orders:
        term = table[:, order[0], integers[:, 0] - low]
        for i, column in enumerate(order[1:], start=1):
            term = term * table[:, column, integers[:, i] - low]
        total += term.real
    return total / len(orders)
