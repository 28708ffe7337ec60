"""Simulated Brownian motion: it knows nothing of kernels."""
