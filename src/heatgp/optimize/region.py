"""The trust region: a ball about the best point, in which local models are believed.

Reference: Eriksson, Pearce, Gardner, Turner and Poloczek (2019), Scalable Global Optimization via Local Bayesian
Optimization, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

GROWS = 2
"""Improvements in a row after which the radius doubles."""
LEAST = 1e-7
"""The least radius, over the size of the space: there the minimum is known to the rounding of its values."""


@dataclass(frozen=True)
class Region:
    """A radius, and how the latest local evaluations went.

    Parameters
    ----------
    size : float, that of the space.
    patience : int, evaluations in a row without improvement after which the radius is halved.
    radius : float
    improved, failed : int, how many of the latest evaluations in a row improved on the best value, or did not.

    Examples
    --------
    >>> region = Region.of(size=4.0, dim=2)
    >>> region.radius, region.after(False).after(False).radius, region.after(True).after(True).radius
    (1.0, 0.5, 2.0)
    """

    size: float
    patience: int
    radius: float
    improved: int = 0
    failed: int = 0

    @classmethod
    def of(cls, size: float, dim: int) -> Region:
        """The first region of a space."""
        return cls(size, dim // 2 + 1, size / 4)

    def after(self, improvement: bool) -> Region:
        """The region after one more local evaluation."""
        if improvement:
            grows = self.improved + 1 == GROWS
            radius = min(2 * self.radius, self.size / 2) if grows else self.radius
            return replace(self, radius=radius, improved=0 if grows else self.improved + 1, failed=0)
        if self.failed + 1 < self.patience:
            return replace(self, improved=0, failed=self.failed + 1)
        radius = self.radius / 2
        return replace(self, radius=radius if radius > LEAST * self.size else self.size / 4, improved=0, failed=0)

    def moved(self, distance: float) -> Region:
        """The region about a better point that was found elsewhere, at this distance from the last one."""
        return replace(self, radius=max(self.radius, min(distance, self.size / 4)), improved=0, failed=0)
