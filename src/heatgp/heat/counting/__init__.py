"""Estimates by counting paths in balls and strips."""
