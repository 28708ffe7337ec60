"""Gaussian processes of many data, from a few points that carry the covariance: time and memory are linear in N."""
