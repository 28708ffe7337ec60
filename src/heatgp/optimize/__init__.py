"""Optimisation on manifolds."""
