"""The one way in which tests compare a sample with what is expected."""

from __future__ import annotations

import numpy as np


def assert_mean(sample, expected, sigmas=5.0, bias=0.0):
    """The mean over the first axis is within `sigmas` standard errors, plus a stated bias, of what is expected."""
    sample = np.asarray(sample)
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    off = np.abs(sample.mean(axis=0) - expected)
    assert (off <= sigmas * error + bias + 1e-12).all(), f"off by {off.max():.2e}, standard error {error.max():.2e}"
