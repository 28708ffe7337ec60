"""Polynomials in several variables as arrays of coefficients, one axis for the powers of each variable.

Results have the shape of their arguments: powers that are too high are left out.
"""

import numpy as np


def derivative(f: np.ndarray, axis: int) -> np.ndarray:
    """In one of the variables.

    >>> derivative(np.array([5.0, 3.0, 2.0]), 0)  # of 5 + 3x + 2x²
    array([3., 4., 0.])
    """
    f = np.moveaxis(f, axis, -1)
    out = np.zeros_like(f)
    out[..., :-1] = f[..., 1:] * np.arange(1, f.shape[-1])
    return np.moveaxis(out, -1, axis)


def times_variable(f: np.ndarray, axis: int) -> np.ndarray:
    """Times one of the variables."""
    out = np.roll(f, 1, axis)
    np.moveaxis(out, axis, 0)[0] = 0
    return out


def product(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Of two polynomials of one shape."""
    if not (f.any() and g.any()):
        return np.zeros(f.shape)
    from scipy.signal import fftconvolve  # slow to import

    return fftconvolve(f, g)[tuple(map(slice, f.shape))]


def quotient(f: np.ndarray, i: int, j: int) -> np.ndarray:
    """f / (z_i - z_j) of a polynomial that vanishes where both variables are equal, power by power of z_j.

    >>> quotient(np.array([[0.0, 0, -1], [0, 0, 0], [1, 0, 0]]), 0, 1)  # (x² - y²) / (x - y)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    f = np.moveaxis(f, (i, j), (0, 1))
    out = np.zeros_like(f)
    for b in range(f.shape[1]):
        out[:-1, b] = f[1:, b]
        if b:
            out[:-1, b] += out[1:, b - 1]
    return np.moveaxis(out, (0, 1), (i, j))
