"""Optimisation on manifolds: `minimize` and `Optimizer` for expensive functions, `descend` for smooth ones."""

from .descent import descend
from .minimum import minimize
from .optimizer import Optimizer

__all__ = ["Optimizer", "descend", "minimize"]
