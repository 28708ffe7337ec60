"""Positive definite kernels from estimates that are not."""
