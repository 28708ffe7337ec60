"""What Stiefel manifolds and Grassmannians share: their points are orthonormal frames."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ...array import Array, adjoint, matmul, namespace, newton_schulz, orthonormality_defect
from ..checks import require, require_integer
from ..contract import Homogeneous
from .matrix_group import random_matrices

Field = Literal["real", "complex"]


class Frames(Homogeneous):
    """Matrices (n, k), 1 <= k <= n - 1, with orthonormal columns in R^n or C^n: each itself, or up to its span."""

    violation: ClassVar[str] = "|x*x - I|"
    remedy: ClassVar[str] = "Orthonormalise with numpy.linalg.qr."
    draws_evenly: ClassVar[bool] = True
    n: int
    k: int
    field: Field

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_integer(name, "n", self.n, 2)
        require_integer(name, "k", self.k, 1)
        require(self.field in ("real", "complex"), f"{name} needs field = 'real' or 'complex'; got {self.field!r}.")
        require(
            self.k < self.n,
            f"{name} needs 1 <= k <= n - 1; got n = {self.n}, k = {self.k}. {self._full}",
        )

    @property
    def _full(self) -> str:
        """What frames with k = n are, for messages."""
        raise NotImplementedError

    @property
    def is_complex(self) -> bool:  # type: ignore[override]
        return self.field == "complex"

    @property
    def beta(self) -> int:
        """Real dimension of the field."""
        return 2 if self.is_complex else 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.k)

    def polish(self, x: Array) -> Array:
        return newton_schulz(x)

    def random(self, rng: np.random.Generator, n: int) -> Array:
        """The first k columns of a Haar matrix."""
        return np.ascontiguousarray(random_matrices(rng, n, self.n, self.is_complex)[:, :, : self.k])

    def defect(self, x: Array) -> Array:
        return orthonormality_defect(x)

    @property
    def origin(self) -> np.ndarray:
        return np.eye(self.n, self.k, dtype=complex if self.is_complex else float)

    def to_origin(self, x: Array, y: Array) -> Array:
        return matmul(adjoint(completed(x)), y)


def completed(x: Array) -> Array:
    """A square matrix with orthonormal columns, the first of which are those of x."""
    xp = namespace(x)
    q, _ = xp.linalg.qr(x, mode="complete")
    return xp.concat((x, q[..., x.shape[-1] :]), axis=-1)
