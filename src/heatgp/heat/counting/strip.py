"""The strip algorithm: paths that end in a strip of orbit coordinates, over the volume of the strip.

Reference: Ye, Niu, Cheung, Dai, Liu (2024), "Strip algorithm"; its condition is rank one, where the strip is
{z : |d(x, z) - d0| < epsilon}. At higher rank the same counts are made in boxes of orbit coordinates.
"""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.spatial import cKDTree

from ...errors import AccuracyWarning, InvalidInput, Unsupported, warn
from ...manifolds import Manifold
from ...paths.samples import Samples
from .coordinates import Coordinates
from .counted import ENOUGH, CountedProfile, CountedTable

FEWEST = 100
"""Paths below which no estimate is useful."""
NODES = {1: 2000, 2: 64, 3: 20}
"""Most nodes of the table along an axis, by the number of coordinates."""
QUADRATURE = {1: 24, 2: 12, 3: 6}
"""Gauss points along an axis of a strip or box, by the number of coordinates."""
COUNTABLE = 100
"""Dimensions in which paths are counted at most."""
TOLERATED = 0.1
"""Errors above this part of the kernel's largest value are worth a warning."""


def strip_profile(samples: Samples, *, epsilon: float | None = None, distance: bool = False) -> CountedProfile:
    """The heat kernel by the strip algorithm, p_t = k / (N Vol(strip)), from one simulation for all times and pairs.

    Parameters
    ----------
    samples : from `orbit_samples`; its times are those of the table, its step enters as `effective_times`.
    epsilon : half the width of a strip in orbit coordinates, the same everywhere: the paper's algorithm; a strip that
        meets an end of the chamber ends there. By default a width for each time that minimises the mean over the paths
        of the squared relative error, 1/k + bias², and wherever such a strip holds fewer than 30 paths, the
        width that holds at least 30. The bias is that of averaging exp(-d²/2t) over the strip.
    distance : count in strips of the distance on a manifold of higher rank, too. Its kernel is not a function of the
        distance there, and the result is its average over all points at that distance, not a heat kernel.

    Returns
    -------
    A profile, whose errors are sqrt(k + 1)/(N Vol) and the bias: a strip that holds nothing shows p < 1/(N Vol) only.
    """
    check_counting(samples.paths, epsilon)
    coordinates = Coordinates(samples.manifold, distance)
    tables = tuple(
        strip_table(coordinates, theta, float(time), epsilon)
        for time, theta in zip(samples.effective_times, samples.theta)
    )
    warn_where_poor(coordinates, tables, samples.paths, "strips")
    return CountedProfile(coordinates, tables, float(samples.times[0]))


def check_counting(paths: int, epsilon: float | None) -> None:
    """Enough paths to count and a sensible width, or a clear error."""
    if paths < FEWEST:
        raise InvalidInput(f"paths = {paths} say nothing when counted; use at least {FEWEST}, better 20,000.")
    check_epsilon(epsilon)


def refuse_to_count(manifold: Manifold) -> None:
    """An error in so many dimensions that volumes of balls and strips leave the range of numbers."""
    if manifold.dim > COUNTABLE:
        raise Unsupported(
            f"{manifold!r} has {manifold.dim} dimensions: in more than {COUNTABLE} no path ends near a given point, "
            "and there is nothing to count. Use method='auto', the best there is."
        )


def check_epsilon(epsilon: float | None) -> None:
    """A positive number or None, or a clear error."""
    number = isinstance(epsilon, (int, float, np.number)) and not isinstance(epsilon, bool)
    if epsilon is not None and not (number and 0 < epsilon < math.inf):
        raise InvalidInput(f"epsilon must be a positive number, or None to choose it from the paths; got {epsilon!r}.")


def strip_table(coordinates: Coordinates, theta: np.ndarray, time: float, epsilon: float | None) -> CountedTable:
    """Counts, volumes and errors at one time; theta (N, n) are the orbits of the paths."""
    images = coordinates.images(theta)
    copies, paths, number = images.shape
    points = images.reshape(-1, number)
    tree = _tree(coordinates, points)
    width = epsilon or chosen_width(coordinates, images, tree, time)
    axes = _axes(coordinates, points, width, given=epsilon is not None)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    flat = nodes.reshape(-1, number)
    if epsilon is None:
        coarsest = max(float(np.diff(axis).max()) for axis in axes)
        widths = widened(coordinates, flat, max(width, 2 * coarsest), tree, copies, time)
    else:
        widths = np.full(len(flat), width)
    count = tree.query_ball_point(_circled(coordinates, flat), widths, p=np.inf, return_length=True) / copies
    volume, ratio = strip_volumes(coordinates, flat, widths, time)
    p = count / (paths * volume)
    noise = np.sqrt(count * _overlap(coordinates, flat, widths, copies) * (1 - count / paths) + 1) / (paths * volume)
    error = np.hypot(noise, p * abs(1 / ratio - 1))
    shape = nodes.shape[:-1]
    return CountedTable(time, axes, p.reshape(shape), error.reshape(shape), count.reshape(shape))


def strip_volumes(
    coordinates: Coordinates, nodes: np.ndarray, widths: np.ndarray, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """Volumes of strips (boxes) around nodes (G, r), and the mean of exp(-d²/2t) over each, relative to the node's."""
    number = nodes.shape[-1]
    x, w = leggauss(QUADRATURE[number])
    offsets = np.stack(np.meshgrid(*(x,) * number, indexing="ij"), axis=-1).reshape(-1, number)
    weights = np.prod(np.meshgrid(*(w,) * number, indexing="ij"), axis=0).reshape(-1)
    lower, upper = coordinates.bounds
    volumes, ratios = [], []
    for part in range(0, len(nodes), 4096):
        c, e = nodes[part : part + 4096], widths[part : part + 4096, None]
        if coordinates.circular:
            low, high = c - np.minimum(e, math.pi), c + np.minimum(e, math.pi)
        else:
            low, high = np.maximum(c - e, lower), np.minimum(c + e, upper)
        half = (high - low) / 2
        at = low[:, None] + half[:, None] * (1 + offsets)
        mass = np.exp(coordinates.log_density(at)) * weights * half.prod(axis=-1, keepdims=True)
        decay = (coordinates.length(c)[:, None] ** 2 - coordinates.length(at) ** 2) / (2 * time)
        volumes.append(mass.sum(axis=1))
        ratios.append((mass * np.exp(np.minimum(decay, 700))).sum(axis=1) / volumes[-1])
    return np.concatenate(volumes), np.concatenate(ratios)


def chosen_width(coordinates: Coordinates, images: np.ndarray, tree: cKDTree, time: float) -> float:
    """The width that minimises the mean over paths of 1/k + bias², with k ~ width^r and bias ~ width².

    Both are measured at a pilot width, at 200 paths' ends: a/w^r + c² w^4 is least at w^(r+4) = r a / (4 c²).
    """
    copies, paths, r = images.shape
    ends = images[0, :200]
    spread = float(np.sqrt(np.mean(np.var(images, axis=(0, 1)))))
    pilot = spread * paths ** (-1 / (r + 4))
    widths = np.full(len(ends), pilot)
    count = tree.query_ball_point(_circled(coordinates, ends), widths, p=np.inf, return_length=True) / copies
    _, ratio = strip_volumes(coordinates, ends, widths, time)
    a, c2 = np.mean(1 / count) * pilot**r, np.mean(np.minimum((ratio - 1) ** 2, 1)) / pilot**4
    return float(min((r * a / (4 * c2)) ** (1 / (r + 4)), spread))


def widened(
    coordinates: Coordinates, nodes: np.ndarray, width: float, tree: cKDTree, copies: int, time: float
) -> np.ndarray:
    """Widths that hold ENOUGH paths at every node, and more where the noise of so few still outweighs the bias.

    Strips with too few paths are mostly small balls at the ends of the chamber, whose counts grow like width^dim.
    """
    dim = coordinates.manifold.dim
    far, _ = tree.query(_circled(coordinates, nodes), k=[ENOUGH * copies], p=np.inf)
    widths = np.maximum(width, np.nextafter(far[:, 0], np.inf))
    poor = widths > width
    if poor.any():
        _, ratio = strip_volumes(coordinates, nodes[poor], widths[poor], time)
        gain = dim / (4 * ENOUGH * np.maximum((1 / ratio - 1) ** 2, 1e-9))
        widths[poor] *= np.clip(gain ** (1 / (dim + 4)), 1, 3)
    return widths


def _axes(coordinates: Coordinates, points: np.ndarray, width: float, given: bool) -> tuple[np.ndarray, ...]:
    """Nodes half a width apart: as far as paths went; one coordinate from its lower bound on, and to a finite end."""
    (lower, upper), number = coordinates.bounds, points.shape[-1]
    low, high = np.maximum(points.min(axis=0) - width, lower), np.minimum(points.max(axis=0) + width, upper)
    if number == 1:
        low, high = lower, upper if math.isfinite(upper[0]) else high
    sizes = np.ceil((high - low) / (width / 2)).astype(int)
    if given and sizes.max() > 2 * NODES[number]:
        least = 2 * float((high - low).max()) / (2 * NODES[number])
        raise InvalidInput(
            f"epsilon = {width:g} makes a table of {sizes.max()} nodes along an axis, more than {2 * NODES[number]}. "
            f"Use at least {least:.2g}, or None to choose it from the paths."
        )
    sizes = sizes if given else np.minimum(sizes, NODES[number])
    return tuple(np.linspace(a, b, n + 1) for a, b, n in zip(low, high, sizes))


def _tree(coordinates: Coordinates, points: np.ndarray) -> cKDTree:
    return cKDTree(_circled(coordinates, points), boxsize=2 * math.pi if coordinates.circular else None)


def _circled(coordinates: Coordinates, c: np.ndarray) -> np.ndarray:
    """Angles in [0, 2 pi) where the coordinates are circular."""
    return np.mod(np.mod(c, 2 * math.pi), 2 * math.pi) if coordinates.circular else c


def _overlap(coordinates: Coordinates, nodes: np.ndarray, widths: np.ndarray, copies: int) -> np.ndarray | float:
    """How much of one path a box can count at most: the part of its images that fit into the box together."""
    if copies == 1:
        return 1.0
    full = coordinates.completed(nodes)
    gaps = abs(coordinates.images(full) - nodes)
    gaps = np.minimum(gaps, 2 * math.pi - gaps) if coordinates.circular else gaps
    return np.mean(gaps.max(axis=-1) < 2 * widths, axis=0)


def warn_where_poor(coordinates: Coordinates, tables: tuple[CountedTable, ...], paths: int, what: str) -> None:
    """An AccuracyWarning that says at which times and distances the counts do not carry the kernel."""
    poor = []
    for table in tables:
        largest = float(table.p.max()) or 1e-300
        bad = table.error > TOLERATED * largest
        if bad.any():
            lengths = coordinates.length(np.stack(np.meshgrid(*table.axes, indexing="ij"), axis=-1))[bad]
            share = min(float(table.error[bad].max()) / largest, 1.0)
            poor.append((table.time, float(lengths.min()), float(lengths.max()), share, float(table.count[bad].min())))
    if poor:
        time, near, far, share, count = max(poor, key=lambda entry: entry[3])
        warn(
            f"{what} on {coordinates.manifold!r} count too few of {paths} paths at {len(poor)} of {len(tables)} times: "
            f"at time {time:.3g}, distances {near:.2g} to {far:.2g}, as few as {count:.0f}, with an error of "
            f"{'at least ' if share == 1 else ''}{share:.0%} of the kernel's largest value. "
            "Use method='exact' or 'smooth', more paths, or a wider epsilon.",
            AccuracyWarning,
        )
