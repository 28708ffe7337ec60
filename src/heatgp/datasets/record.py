"""What every loader returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..manifolds import Manifold


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Points with targets, and where they come from.

    Attributes
    ----------
    X : ndarray (N, *manifold.shape)
        Points. X of a tract has an axis of sites after the first: X[:, site] are points.
    y : ndarray (N,)
        Targets.
    manifold : Manifold
    description : str
    groups : ndarray (N,) or None
        Labels of what belongs together, such as subjects.
    X_test, y_test : ndarray or None
        Of simulated regressions: test points and the true function there, without noise.
    details : mapping
        Whatever else the loader's docstring names.
    """

    X: np.ndarray
    y: np.ndarray
    manifold: Manifold
    description: str
    groups: np.ndarray | None = None
    X_test: np.ndarray | None = None
    y_test: np.ndarray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Dataset of {len(self.y)} on {self.manifold!r}: {self.description}>"
