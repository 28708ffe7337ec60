"""Gaussian processes for any kernel with a time: regression, classification, learning of the parameters."""
