"""The short-time expansion of the heat kernels of real Grassmannians, to any order.

With roots e_i ± e_j of multiplicity one and e_i of multiplicity m, rho half their sum, dimension d and z_i = theta_i²,

    p_t(theta) = (2 pi t)^(-d/2) exp(-|theta|²/2t) times the product over the roots a of (a / sin a)^(m_a / 2)
                 times exp(F(z, t)),

where the heat equation leaves for F, with L the Laplacian of flat space in these coordinates,

    dF/dt + <theta, grad F> / t = (L F + |grad F|²) / 2 - U(z),
    U = sum over roots of m_a (m_a - 2) / 8 |a|² (1 / sin² a - 1 / a²) - |rho|² / 2.

F is a sum of t^k times polynomials F_k(z), which follow one after the other. Since z is of the size t where the kernel
matters, terms t^k z^j with k + j = 1, 2, .. are the orders of the expansion. Other geodesics are left out.

Reference: Minakshisundaram and Pleijel (1949); Helgason (1984), ch. II, Proposition 3.11, for L.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import binom, zeta

from ..special.cosines import contract
from ..special.polynomials import derivative, product, quotient, times_variable

ORDERS = 12
"""Of the expansion."""
SCALE = 2.0
"""Polynomials are kept in z over this: their coefficients are then of one size."""
LAST = 1e-11
"""How small a bound of the last order must be, as part of the peak; the order itself is a thousand times smaller."""
LONGEST = 0.025
"""The longest time: other geodesics than the shortest are longer than pi/2, and add less than exp(-49)."""


@dataclass(frozen=True)
class RootExpansion:
    """F for roots e_i ± e_j (1) and e_i (short)."""

    rank: int
    short: int

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Of t^k and of powers of z / SCALE: (ORDERS + 1, ..) with an axis of ORDERS + 1 for each coordinate."""
        degree = self._degree
        F = np.zeros((ORDERS + 1, *degree.shape))
        slopes = np.zeros((ORDERS + 1, self.rank, *degree.shape))
        for k in range(1, ORDERS + 1):
            right = self._laplacian(F[k - 1]) / 2
            for earlier in range(1, k - 1):
                for i in range(self.rank):
                    right += 2 / SCALE * times_variable(product(slopes[earlier, i], slopes[k - 1 - earlier, i]), i)
            if k == 1:
                right -= self._potential
            F[k] = np.where(degree <= ORDERS - k, right / (k + 2 * degree), 0.0)
            slopes[k] = [derivative(F[k], i) for i in range(self.rank)]
        return F

    @cached_property
    def longest(self) -> float:
        """The longest time at which the last order is negligible, by t^k |z|^j exp(-|z|/2t) at its largest, |z| = 2jt.

        A halving of LONGEST.
        """
        k = np.arange(1, ORDERS + 1)
        j = ORDERS - k
        last = np.array([np.abs(self.coefficients[i][self._degree == ORDERS - i]).sum() for i in k])
        peak = (2 * np.maximum(j, 1) / (math.e * SCALE)) ** j
        size = float((last * peak).max()) ** (1 / ORDERS)
        return LONGEST * 0.5 ** max(0, math.ceil(math.log2(LONGEST * size / LAST ** (1 / ORDERS))))

    def log(self, theta: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """F and its derivative in time at theta (n, rank)."""
        k = np.arange(ORDERS + 1)
        powers = [np.square(theta[:, i, None]) / SCALE for i in range(self.rank)]
        factors = [z ** np.arange(ORDERS + 1) for z in powers]
        rows = time**k, k * time ** np.maximum(k - 1, 0)
        value, slope = (contract(np.tensordot(row, self.coefficients, 1), factors) for row in rows)
        return value, slope

    def height(self, time: float) -> float:
        """F at theta = 0."""
        return float(time ** np.arange(ORDERS + 1) @ self.coefficients.reshape(ORDERS + 1, -1)[:, 0])

    @cached_property
    def _degree(self) -> np.ndarray:
        """The degree of each power of z."""
        return np.indices((ORDERS + 1,) * self.rank).sum(axis=0)

    @property
    def _potential(self) -> np.ndarray:
        """Coefficients of U."""
        q = np.arange(1, ORDERS + 2)
        series = 2 * (2 * q - 1) * zeta(2 * q) / math.pi ** (2 * q)  # of 1 / sin² x - 1 / x² in powers of x²
        c, d = np.indices((ORDERS + 1, ORDERS + 1))
        pair = -np.where(c + d <= ORDERS, series[np.minimum(c + d, ORDERS)] * binom(2 * (c + d), 2 * c), 0.0) / 2
        out = np.zeros(self._degree.shape)
        for i in range(self.rank):
            out[self._powers_of(i)] += self.short * (self.short - 2) / 8 * series
            for j in range(i):
                out[self._powers_of(i, j)] += pair
        rho = self.short / 2 + np.arange(self.rank)
        out[(0,) * self.rank] -= rho @ rho / 2
        return out * SCALE**self._degree

    def _powers_of(self, *axes: int) -> Any:
        """The places of powers of these variables alone."""
        return tuple(slice(None) if i in axes else 0 for i in range(self.rank))

    def _laplacian(self, f: np.ndarray) -> np.ndarray:
        """L f = sum of 4 z f'' + (2 + 2 short) f' + sum over pairs of 4 (z_i df/dz_i - z_j df/dz_j) / (z_i - z_j)."""
        out = np.zeros_like(f)
        scaled = [times_variable(derivative(f, i), i) for i in range(self.rank)]
        for i in range(self.rank):
            slope = derivative(f, i)
            out += 4 * times_variable(derivative(slope, i), i) + (2 + 2 * self.short) * slope
            for j in range(i):
                out += 4 * quotient(scaled[i] - scaled[j], i, j)
        return out / SCALE
