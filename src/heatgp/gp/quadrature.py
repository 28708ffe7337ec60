"""Integrals over one normal variable f: the defaults of likelihoods.

All functions work on arrays of data at once: entry i of every array belongs to observation i.
"""

from collections.abc import Callable

import numpy as np

from ..covariance import Array

Function = Callable[[Array], Array]  # values of f, of any shape that ends with that of the data, to values

NODES = 64  # of Gauss and Legendre, on each side of the mode
DROP = 40.0  # the integral ends where the integrand is e^-40 of its maximum: less than rounding
REACH = 9.0  # in standard deviations of f: a log-concave function falls by DROP < REACH^2 / 2 within it


def tilted_moments(
    log_function: Function, mean: Array, variance: Array, mode: Array | None = None
) -> tuple[Array, Array, Array]:
    """log Z, d log Z / d mean, -d^2 log Z / d mean^2 of Z = the integral of exp(log_function(f)) N(f; mean, variance).

    For functions whose logarithm is concave. The integrand then has one maximum and falls from there at least as fast
    as the normal density, however much narrower the function is, or however different its two sides are. Each side,
    from the maximum to where nothing is left, is integrated by Gauss and Legendre's rule, whose nodes are dense at its
    ends. With m and s the mean and variance of the tilted distribution, the derivatives are (m - mean) / variance and
    (variance - s) / variance^2. Where the caller knows the f of the maximum, `mode`, it is not searched for.
    """
    mean, variance = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(variance, dtype=float))
    scale = np.sqrt(variance)

    def log_value(z: Array) -> Array:
        """The log of the integrand at mean + scale z; -inf where the function is zero or not defined."""
        with np.errstate(all="ignore"):
            value = log_function(mean + scale * z) - 0.5 * z**2
        return np.where(np.isnan(value), -np.inf, value)

    place = _maximum(log_value, mean.shape) if mode is None else (mode - mean) / scale
    top = log_value(place)
    top = np.where(np.isfinite(top), top, 0.0)  # a function that is zero has log Z = -inf
    left = _width(lambda z: log_value(place - z) - top, mean.shape)
    right = _width(lambda z: log_value(place + z) - top, mean.shape)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    node, weight = ((column / 2).reshape(-1, *(1,) * mean.ndim) for column in (node + 1.0, weight))
    z = np.concatenate([place - left * node, place + right * node])
    mass = np.concatenate([left * weight, right * weight]) * np.exp(log_value(z) - top)
    total = mass.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_z = top + np.log(total) - 0.5 * np.log(2 * np.pi)
        center = (mass * z).sum(axis=0) / total
        spread = (mass * (z - center) ** 2).sum(axis=0) / total
    return log_z, center / scale, (1.0 - spread) / variance


def _maximum(log_value: Function, shape: tuple[int, ...]) -> Array:
    """Where a concave function is greatest: among powers of four, then by golden section between the neighbours."""
    powers = 4.0 ** np.arange(-5, 16)
    grid = np.concatenate([-powers[::-1], [0.0], powers])
    best = np.argmax(np.stack([log_value(np.full(shape, z)) for z in grid]), axis=0)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    golden = (np.sqrt(5.0) - 1.0) / 2
    for _ in range(30):
        inner = golden * (high - low)
        rises = log_value(high - inner) < log_value(low + inner)
        low, high = np.where(rises, high - inner, low), np.where(rises, high, low + inner)
    return (low + high) / 2


def _width(fall: Function, shape: tuple[int, ...]) -> Array:
    """The distance at which a decreasing function of it, 0 at distance 0, has fallen by DROP; at most REACH."""
    low, high = np.full(shape, np.log(1e-9)), np.full(shape, np.log(REACH))
    for _ in range(20):
        middle = (low + high) / 2
        gone = fall(np.exp(middle)) < -DROP
        low, high = np.where(gone, low, middle), np.where(gone, middle, high)
    return np.exp(high)


def average(function: Function, mean: Array, variance: Array) -> Array:
    """The mean of a smooth function of f ~ N(mean, variance), by Gauss and Hermite's rule.

    >>> bool(abs(average(np.exp, np.array(1.0), np.array(4.0)) - np.exp(3.0)) < 1e-10)
    True
    """
    node, weight = np.polynomial.hermite_e.hermegauss(NODES)
    node = node.reshape(-1, *(1,) * np.ndim(mean))
    return np.tensordot(weight / weight.sum(), function(mean + np.sqrt(variance) * node), axes=1)


def quantile(distribution: Callable[[Array], Array], p: float, start: Array, scale: Array, integer: bool) -> Array:
    """The least y with distribution(y) >= p, for a distribution function that increases from 0 to 1.

    A bracket grows from `start` by doubled steps of `scale` and is then halved: to rounding, or to the integer.
    """
    low, high = (_beyond(distribution, p, start, scale, side) for side in (-1.0, 1.0))
    if integer:
        low, high = np.maximum(np.floor(low), -1.0), np.ceil(np.maximum(high, 0.0))
    while True:
        middle = (low + high) / 2
        middle = np.floor(middle) if integer else middle
        open_ = (middle > low) & (middle < high)
        if not open_.any():
            return high
        below = distribution(middle) < p
        low, high = np.where(open_ & below, middle, low), np.where(open_ & ~below, middle, high)


def _beyond(distribution: Callable[[Array], Array], p: float, start: Array, scale: Array, side: float) -> Array:
    """A place below (side -1) or above (side 1) the quantile; infinite where 2^1000 times the scale is not enough."""
    place, step = start + side * scale, scale
    for _ in range(1000):
        beyond = (distribution(place) < p) == (side < 0)
        if beyond.all():
            break
        with np.errstate(over="ignore", invalid="ignore"):
            step = 2 * step
            place = np.where(beyond, place, place + side * step)
    return place
