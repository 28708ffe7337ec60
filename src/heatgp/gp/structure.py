"""How a posterior carries its data: the interface of a structure, and the structure that keeps nothing of them.

`posterior.AllData` keeps all points, and their covariance as a matrix or as features. `sparse.regression.SparseData`
keeps inner products of the data with the features of inducing points, `neighbors.posterior.NeighborData` all points and
which of them are near each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..covariance import Array, Kernel
from ..errors import Unsupported
from .parameters import Given, Params
from .prior import Pairs

if TYPE_CHECKING:
    from .objective import Objective
    from .posterior import Posterior
    from .search import Bounds


class Structure(ABC):
    """What a posterior asks of the data that it was conditioned on."""

    keeps_data: ClassVar[bool] = True
    """Whether X and y of the posterior are the data."""
    keeps_evidence: ClassVar[bool] = True
    """Whether `again` and `objective` are possible."""

    @abstractmethod
    def count(self, posterior: Posterior) -> int:
        """How many data there are."""

    def points(self, posterior: Posterior) -> Any:
        """The points of the data, or of a random part of them."""
        return posterior.X

    def kernel(self, posterior: Posterior) -> Kernel:
        """The kernel of f."""
        return posterior.kernel

    @abstractmethod
    def approximation(self, posterior: Posterior) -> Any:
        """How good the approximation is; None where there is none."""

    @abstractmethod
    def again(self, posterior: Posterior, kernel: Kernel, params: Params, pairs: Pairs, likelihood: Any) -> Posterior:
        """The posterior of the same data with another kernel, other parameters or another likelihood."""

    @abstractmethod
    def objective(
        self, posterior: Posterior, bounds: Bounds, given: Given, priors: Any, pairs: Pairs, likelihood: Any
    ) -> tuple[Objective, Array]:
        """The log posterior density of the parameters, and the box of its coordinates: see `Posterior.objective`."""


@dataclass(frozen=True)
class Forgotten(Structure):
    """Data that are not kept, nor anything that another model could be made from."""

    number: int
    stated: Any = None  # how good the approximation is

    keeps_data: ClassVar[bool] = False
    keeps_evidence: ClassVar[bool] = False

    def count(self, posterior: Posterior) -> int:
        return self.number

    def approximation(self, posterior: Posterior) -> Any:
        return self.stated

    def again(self, posterior: Posterior, kernel: Kernel, params: Params, pairs: Pairs, likelihood: Any) -> Posterior:
        raise without_data("a model with other parameters")

    def objective(
        self, posterior: Posterior, bounds: Bounds, given: Given, priors: Any, pairs: Pairs, likelihood: Any
    ) -> tuple[Objective, Array]:
        raise without_data("the evidence at other parameters")


def without_data(what: str) -> Unsupported:
    """The error for what needs data that a model does not keep."""
    return Unsupported(f"{what} needs all data, which a sparse model does not keep. Use fewer data, dense.")
