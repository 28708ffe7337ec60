"""Manifolds of the user's own: an equation, a metric, a domain."""
