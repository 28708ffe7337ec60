"""The common members of Stiefel manifolds and Grassmannians: their points are orthonormal frames."""

from abc import abstractmethod
from typing import Literal

from ...array import Array, adjoint, matmul, namespace
from ..checks import require, require_integer
from .orthonormal import OrthonormalColumns

Field = Literal["real", "complex"]


class Frames(OrthonormalColumns):
    """Matrices (n, k), 1 <= k <= n - 1, with orthonormal columns in R^n or C^n, as frames or as bases of subspaces."""

    n: int
    k: int
    field: Field

    @property
    @abstractmethod
    def full(self) -> str:
        """What frames with k = n are, for messages."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_integer(name, "n", self.n, 2)
        require_integer(name, "k", self.k, 1)
        known = isinstance(self.field, str) and self.field in ("real", "complex")
        require(known, f"{name} needs field = 'real' or 'complex'; got {self.field!r}.")
        require(self.k < self.n, f"{name} needs 1 <= k <= n - 1; got n = {self.n}, k = {self.k}. {self.full}")

    @property
    def is_complex(self) -> bool:
        return self.field == "complex"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n, self.k)

    def to_origin(self, x: Array, y: Array) -> Array:
        return matmul(adjoint(completed(x)), y)


def completed(x: Array) -> Array:
    """A square matrix with orthonormal columns that begins with the columns of x."""
    xp = namespace(x)
    q, _ = xp.linalg.qr(x, mode="complete")
    return xp.concat((x, q[..., x.shape[-1] :]), axis=-1)
