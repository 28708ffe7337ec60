"""Functions of the orbit coordinates of a symmetric space: integrals over the chamber, and the modes of heat in it.

The spherical functions are the orthogonal polynomials of omega: Gram-Schmidt applied to the waves of the weights
lambda, in the order of <lambda, lambda + 2 rho>, which is the eigenvalue of -Laplace.

Reference: Helgason (1984), ch. V, Theorem 4.1; Heckman and Opdam (1987), Compositio Math. 64, 329-352.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, permutations

import numpy as np
from scipy.special import chdtri

from ...cost import Cost
from ...manifolds.contract import Symmetric
from ...manifolds.roots import Roots

NODES = {1: 160, 2: 48, 3: 26}
"""Nodes in each orbit coordinate, by the rank: enough for a bell ten widths long."""
MISSING = 1e-5
"""The part of p_t(x, x) that the modes may miss."""
MOST = 1 << 27
"""Values of modes at nodes that are computed at most: 1 GB, and some minutes at rank three."""
SECONDS = (40e-9, 0.1e-9)
"""Of one value of a mode: for each permutation, and for each mode that it is made orthogonal to."""


def chamber_nodes(manifold: Symmetric, reach: float, least: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n, coordinates) and weights (n,) that integrate invariant functions over |theta_i| <= reach.

    omega is smooth on the box where its exponents are even; where they are odd, on the sorted angles only.
    """
    rank = manifold.rank
    number = max(NODES[rank], least)
    if manifold.roots.signed:  # a whole period, or a whole bell
        unit, weight = (2 * np.arange(number) + 1) / number - 1, np.full(number, 2 / number)
    else:
        unit, weight = (0.5 * a + b for a, b in zip(np.polynomial.legendre.leggauss(number), (0.5, 0.0)))
    grids = (np.stack(np.meshgrid(*[a] * rank, indexing="ij"), axis=-1).reshape(-1, rank) for a in (unit, weight))
    theta, weights = next(grids), np.prod(next(grids), axis=1) * reach**rank
    if any(m % 2 for m in manifold.roots.multiplicity):
        weights = weights * math.factorial(rank) * np.prod(theta ** np.arange(rank - 1, -1, -1), axis=1)
        theta = np.cumprod(theta, axis=1)
    theta = manifold.roots.complete(theta * reach)
    return theta, weights * np.exp(manifold.log_strip(theta))


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
        return waves(self.manifold.roots, self.weights, theta) @ self.mixing


@lru_cache(maxsize=16)
def heat_modes(manifold: Symmetric, time: float) -> Modes:
    """The modes that make all but MISSING of p_t(x, x) at this time, and of p_s at every later s.

    p_t(x, x) is the sum of exp(-eigenvalue t/2) over the dimensions of all modes: at short times the eigenvalues have
    in it the law of chi-square/t with dim degrees of freedom.
    """
    work = mode_values(manifold, time)
    weights, eigenvalue = heat_weights(manifold, time) if work < math.inf else (np.zeros(0), np.zeros(0))
    rank, (permutation, other) = manifold.rank, SECONDS
    seconds = 3 * work * (math.factorial(rank) * permutation + len(weights) * other)  # for modes, times and tables
    Cost(seconds, 32.0 * work).accept(
        f"The spherical functions of {manifold!r} down to time {time:.2g}",
        "Only shorter times, or fewer dimensions, are possible.",
    )
    theta, volume = whole_chamber(manifold, weights)
    values = waves(manifold.roots, weights, theta) * np.sqrt(volume / volume.sum())[:, None]
    triangle = np.linalg.qr(values, mode="r")
    triangle *= np.sign(np.diagonal(triangle))[:, None]
    return Modes(manifold, weights, eigenvalue, np.linalg.inv(triangle), float(volume.sum()))


@lru_cache(maxsize=16)
def heat_weights(manifold: Symmetric, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights and eigenvalues of the modes of `heat_modes`, in the order of the eigenvalues."""
    largest = float(chdtri(manifold.dim, MISSING)) / time
    roots = manifold.roots
    weights = _dominant(roots, highest_degree(manifold, time))
    turn = math.pi / roots.half_period
    high = turn * (weights - weights.mean(axis=1, keepdims=True) if roots.sum_zero else weights)
    eigenvalue = np.sum(high * (high + 2 * roots.rho), axis=1) / roots.unit**2
    order = np.argsort(eigenvalue, kind="stable")
    order = order[eigenvalue[order] <= largest]
    return weights[order], eigenvalue[order]


def highest_degree(manifold: Symmetric, time: float) -> int:
    """The largest entry of a weight whose eigenvalue may count at this time."""
    roots, largest = manifold.roots, float(chdtri(manifold.dim, MISSING)) / time
    # With sum zero, a weight (l, .., 0) less its mean is at least l/√2 long.
    return math.floor(math.sqrt(largest * (2 if roots.sum_zero else 1)) * roots.unit / math.pi * roots.half_period)


def mode_values(manifold: Symmetric, time: float) -> float:
    """How many values of modes at nodes `heat_modes` computes; infinite where there are too many even to be listed."""
    if math.comb(highest_degree(manifold, time) + manifold.rank, manifold.rank) > 1e6:
        return math.inf
    weights, _ = heat_weights(manifold, time)
    return float(len(weights) * nodes(manifold, weights) ** manifold.rank)


def whole_chamber(manifold: Symmetric, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the whole chamber that integrate products of two of the waves."""
    return chamber_nodes(manifold, manifold.roots.half_period, least=nodes(manifold, weights))


def nodes(manifold: Symmetric, weights: np.ndarray) -> int:
    """Nodes in each orbit coordinate that integrate products of two of the waves."""
    return max(NODES[manifold.rank], 2 * int(weights.max()) + 8)


def _dominant(roots: Roots, degree: int) -> np.ndarray:
    """Decreasing integer vectors with entries up to the degree, one of each pair of complex conjugates.

    Eigenangles have weights with signs; where their sum is zero weights count up to a common shift.
    """
    lowest = -degree if roots.signed and not roots.sum_zero else 0
    weights = np.array(list(combinations_with_replacement(range(degree, lowest - 1, -1), roots.rank)))
    if roots.sum_zero:
        weights = np.column_stack([weights, np.zeros(len(weights), dtype=int)])
    if not roots.signed:
        return weights
    dual = (weights[:, :1] if roots.sum_zero else 0) - weights[:, ::-1]
    return np.array([w for w, d in zip(weights.tolist(), dual.tolist()) if w >= d])


def waves(roots: Roots, weights: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Orbit sums (n, weights): over permutations, the product of cos(w_i theta_i), for eigenangles cos of the sum."""
    integers = weights.astype(int)
    low, high = integers.min(), integers.max()
    phase = np.exp(1j * math.pi / roots.half_period * theta[:, :, None])
    powers = phase ** np.arange(low, high + 1)
    powers = powers if roots.signed else powers.real
    orders = list(permutations(range(theta.shape[1])))
    total = np.zeros((len(theta), len(weights)))
    for order in orders:
        term = powers[:, order[0], integers[:, 0] - low]
        for i, column in enumerate(order[1:], start=1):
            term = term * powers[:, column, integers[:, i] - low]
        total += term.real
    return total / len(orders)
