"""Symmetry as data: a symmetric space is a finite table of roots and multiplicities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ..array import Array, namespace, sinc


@dataclass(frozen=True)
class Roots:
    """Linear forms alpha on the orbit coordinates, with multiplicities m.

    `unit` is the length of a unit vector of orbit coordinates: 1, or 1/√2 for the eigenangles of unitary matrices.
    """

    alpha: tuple[tuple[float, ...], ...]
    multiplicity: tuple[int, ...]
    unit: float = 1.0

    def values(self, theta: Array) -> Array:
        """<alpha, theta>: (..., r) -> (..., number of roots)."""
        xp = namespace(theta)
        return xp.matmul(theta, xp.asarray(np.array(self.alpha).T, dtype=theta.dtype))

    def log_sines(self, theta: Array) -> Array:
        """Σ m log |sin <alpha, theta>|, -inf on the walls."""
        xp = namespace(theta)
        if not self.alpha:
            return xp.zeros(theta.shape[:-1], dtype=theta.dtype)
        sines = xp.abs(xp.sin(self.values(theta)))
        tiny = xp.finfo(theta.dtype).smallest_normal
        logs = xp.where(sines > 0, xp.log(xp.maximum(sines, tiny)), -math.inf)
        return xp.sum(xp.asarray(self.multiplicity, dtype=theta.dtype) * logs, axis=-1)

    def log_short_time(self, theta: Array) -> Array:
        """log of the leading short-time factor, the product over the roots of (<a,theta>/sin <a,theta>)^(m/2)."""
        xp = namespace(theta)
        if not self.alpha:
            return xp.zeros(theta.shape[:-1], dtype=theta.dtype)
        ratios = sinc(self.values(theta))
        return -xp.sum(xp.asarray(self.multiplicity, dtype=theta.dtype) / 2 * xp.log(ratios), axis=-1)

    def scalar_curvature(self, dim: int, rank: int) -> float:
        """Ricci is Σ m <a, h>² on unit h: a constant off the flat part, on every space of the library."""
        if not self.alpha:
            return 0.0
        alpha = np.array(self.alpha) / self.unit
        ricci = np.linalg.eigvalsh((alpha.T * self.multiplicity) @ alpha)
        curved = ricci[ricci > 1e-9]
        if not curved.size:
            return 0.0
        return float(curved.mean()) * (dim - (rank - len(curved)))


def axis_pairs(r: int, signs: tuple[int, ...], factor: float = 1.0) -> list[tuple[float, ...]]:
    """The forms factor * (e_i + sign e_j), i < j, for each sign."""
    forms = []
    for i in range(r):
        for j in range(i + 1, r):
            for sign in signs:
                form = [0.0] * r
                form[i], form[j] = factor, sign * factor
                forms.append(tuple(form))
    return forms


def axes(r: int, factor: float = 1.0) -> list[tuple[float, ...]]:
    """The forms factor * e_i."""
    return [tuple(factor if i == j else 0.0 for j in range(r)) for i in range(r)]


def log_selberg(r: int, a: float, b: float, c: float) -> float:
    """log of the integral over [0, 1]^r of Π u^(a-1) (1-u)^(b-1) Π |u_i - u_j|^(2c).

    Reference: Selberg (1944); Mehta (2004), Random Matrices, eq. (17.1.3).
    """
    return sum(
        float(
            gammaln(a + j * c)
            + gammaln(b + j * c)
            + gammaln(1 + (j + 1) * c)
            - gammaln(a + b + (r + j - 1) * c)
            - gammaln(1 + c)
        )
        for j in range(r)
    )


def log_sphere_volume(dim: int) -> float:
    """log of the volume 2 π^((d+1)/2) / Γ((d+1)/2) of the unit sphere S^d."""
    return math.log(2) + (dim + 1) / 2 * math.log(math.pi) - float(gammaln((dim + 1) / 2))
