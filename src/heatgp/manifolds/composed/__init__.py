"""Manifolds made of others."""
