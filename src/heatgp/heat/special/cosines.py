"""Spherical functions of compact symmetric spaces as sums of cosines with positive coefficients.

On a flat torus the spherical function of the highest weight w is a sum over weights v <= w of c_v exp(i f <v, theta>),
f = pi / half_period, with c_w = 1. The radial Laplacian makes of it Freudenthal's recursion, for any multiplicities m:

    (E(w) - E(v)) c_v = 2 sum over roots a and j >= 1 of m_a <f v + 2 j a, a> c_(v + 2 j a / f),
    E(v) = <f v, f v + 2 rho>.

For decreasing v all terms are positive, so that no digits cancel. The sums are even and symmetric in the coordinates:
c_v is needed for decreasing v >= 0 only.

Reference: Heckman and Opdam (1987), Compositio Math. 64, 329-352; Humphreys (1972), section 22.3, for multiplicities 2;
Vretare (1976), Math. Scand. 39, 343-358, for the dimensions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, permutations

import numpy as np
from scipy.special import chdtri, gammaln

from ...manifolds.roots import Roots

MISSING = 1e-15
"""The part of p_t(x, x) that the functions may miss."""


@dataclass(frozen=True, eq=False)
class CosineModes:
    """Spherical functions, one at the origin, of a space without double roots whose coordinates have no signs."""

    roots: Roots
    weights: np.ndarray
    """Highest weights (modes, rank): decreasing, in the order of the eigenvalues."""
    eigenvalue: np.ndarray
    """Of -Laplace."""
    log_dimension: np.ndarray
    """Logarithms of the dimensions of the eigenspaces."""

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Coefficients (weights, modes) of the orbit sums, each divided by the number of its waves."""
        found = freudenthal(self.roots, self.weights, self.eigenvalue)
        found *= self._orbit[:, None]
        found /= found.sum(axis=0)
        return found

    @cached_property
    def _orbit(self) -> np.ndarray:
        """How many waves the permutations and signs of a weight make."""
        orders = list(permutations(range(self.roots.rank)))
        fixed = sum((self.weights[:, order] == self.weights).all(axis=1) for order in orders)
        return len(orders) / fixed * 2.0 ** np.count_nonzero(self.weights, axis=1)

    def tensor(self, parts: np.ndarray) -> np.ndarray:
        """The sum of the spherical functions times `parts` (modes,) as coefficients of products of cosines."""
        rank = self.roots.rank
        size = int(self.weights.max()) + 1
        sums = self.coefficients @ parts / math.factorial(rank)
        out = np.zeros((size,) * rank)
        for order in permutations(range(rank)):
            out[tuple(self.weights[:, order].T)] += sums
        return out


def cosine_modes(roots: Roots, dim: int, time: float) -> CosineModes:
    """The modes that make all but MISSING of p_t(x, x) at this time, and at every later one.

    In flat space the eigenvalues have in it the law of chi-square/t; with positive curvature they are smaller.
    """
    turn, rank = math.pi / roots.half_period, roots.rank
    largest = float(chdtri(dim, MISSING / 10)) / time
    degree = math.floor(math.sqrt(largest) / turn)
    weights = np.array(list(combinations_with_replacement(range(degree, -1, -1), rank)))
    eigenvalue = np.sum(turn * weights * (turn * weights + 2 * roots.rho), axis=1)
    order = np.argsort(eigenvalue, kind="stable")
    order = order[eigenvalue[order] <= largest]
    weights, eigenvalue = weights[order], eigenvalue[order]
    dimension = log_dimensions(roots, weights)
    logs = dimension - eigenvalue * time / 2
    missed = np.cumsum(np.exp(logs - logs.max())[::-1])[::-1]
    number = int(np.flatnonzero(missed > MISSING * missed[0])[-1]) + 1
    return CosineModes(roots, weights[:number], eigenvalue[:number], dimension[:number])


def log_dimensions(roots: Roots, weights: np.ndarray) -> np.ndarray:
    """Logarithms of the dimensions of the eigenspaces of highest weights.

    Without roots e_i the last entry of a weight may have either sign, and both make one function of the coordinates.
    """
    out = np.zeros(len(weights))
    for alpha, m in zip(roots.array, roots.multiplicity):
        length = alpha @ alpha
        low = roots.rho @ alpha / length
        high = low + math.pi / roots.half_period * (weights @ alpha) / length
        for x, sign in ((high, 1), (low, -1)):
            out += sign * (np.log(x) + gammaln(x + m / 2) - gammaln(x + 1 - m / 2))
    both_signs = roots.rho[-1] == 0
    return out + math.log(2) * (both_signs & (weights[:, -1] > 0))


def freudenthal(roots: Roots, weights: np.ndarray, eigenvalue: np.ndarray) -> np.ndarray:
    """The coefficients c_v (v, w) of all the weights in all the spherical functions, by the recursion from above."""
    number, size = len(weights), int(weights.max()) + 1
    turn = math.pi / roots.half_period
    place = np.full((size,) * roots.rank, -1)
    place[tuple(weights.T)] = np.arange(number)
    j = np.arange(1, 2 * size)[:, None]
    c = np.eye(number)
    for v in range(number - 1, -1, -1):
        factors = np.zeros(number)
        for alpha, m in zip(roots.array, roots.multiplicity):
            above = weights[v] + (2 / turn) * j * alpha
            dominant = np.sort(np.abs(np.rint(above).astype(int)), axis=1)[:, ::-1]
            inside = (dominant < size).all(axis=1)
            found = place[tuple(dominant[inside].T)]
            terms = 2 * m * turn * (above[inside] @ alpha)
            np.add.at(factors, found[found >= 0], terms[found >= 0])
        later = int(np.searchsorted(eigenvalue, eigenvalue[v] + 1e-9))
        above = np.flatnonzero(factors)
        c[v, later:] += factors[above] @ c[above, later:] / (eigenvalue[later:] - eigenvalue[v])
    return c


def contract(tensor: np.ndarray, factors: Sequence[np.ndarray]) -> np.ndarray:
    """Sums over all axes of tensor (l, .., l) times one factor (n, l) for each axis: (n,)."""
    first, *others = factors
    out = first @ tensor.reshape(len(tensor), -1)
    for factor in others:
        out = np.matmul(factor[:, None], out.reshape(*factor.shape, -1))[:, 0]
    return out[:, 0]
