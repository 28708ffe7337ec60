"""Manifolds made of other manifolds: products, quotients, scaled ones."""
