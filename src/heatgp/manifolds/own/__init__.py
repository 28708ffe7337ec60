"""Manifolds that users define: by an equation, by a metric, or as a domain of another manifold."""
