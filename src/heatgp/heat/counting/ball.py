"""The ball algorithm: paths that end in a small ball around a point, over the volume of the ball.

Reference: Ye, Niu, Cheung, Dai, Liu (2024), "Ball algorithm"; Niu et al. (2019). It needs nothing but exp and distance.
"""

import math
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ...array import Array
from ...cost import Cost, check_memory
from ...errors import AccuracyWarning, NotConverged, Unsupported, warn
from ...manifolds.checks import check_points, unchecked
from ...manifolds.contract import Homogeneous, Manifold, Symmetric
from ...manifolds.roots import log_unit_ball_volume
from ...paths.kept import Chunks, digest, kept, kept_sum, simulation_file
from ...paths.samples import effective_times
from ...paths.simulation import Simulation
from ...paths.walk import BLOCK, simulate, simulation_cost
from ...progress import tracked
from .coordinates import Coordinates
from .counted import CountedProfile, CountedTable
from .strip import TOLERATED, check_counting, strip_volumes, warn_where_poor

PAIRS = 20_000
"""Pairs of ball and path whose distances are computed at once."""
SOME = 64
"""Balls on which the time of counting is measured."""
REMEDY = "Take fewer points or `paths`, longer steps, or more cores (`n_jobs`)."
NODES = 48
"""Balls along a geodesic: the kernel's bell, some seven standard deviations, in steps of a seventh of one."""


def ball_volume(manifold: Manifold, radius: float | np.ndarray) -> np.ndarray:
    """Volume of geodesic balls: exact where the area of distance spheres is known, else by its expansion.

    vol(B^m) r^m (1 - scal r² / (6 (m + 2)) + O(r⁴)). Reference: Gray (2004), Tubes, Theorem 9.12.

    >>> from heatgp import Sphere
    >>> round(float(ball_volume(Sphere(2), np.pi / 2)) / np.pi, 9)
    2.0
    """
    m, r = manifold.dim, np.asarray(radius, dtype=float)
    if isinstance(manifold, Homogeneous):
        with suppress(Unsupported):  # the distance is not a function of the orbit
            coordinates = Coordinates(manifold, by_distance=True)
            return strip_volumes(coordinates, np.zeros((r.size, 1)), r.reshape(-1), 1.0)[0].reshape(r.shape)
    flat = math.exp(log_unit_ball_volume(m)) * r**m
    try:
        change = manifold.scalar_curvature * r**2 / (6 * (m + 2))
    except Unsupported:
        _warn(f"{manifold!r} does not know its scalar curvature: its balls of radius {r.max():.2g} are taken as flat.")
        return flat
    if (abs(change) > 0.1).any():
        _warn(f"Balls of radius {r.max():.2g} on {manifold!r} are too large for the expansion of their volume.")
    return flat * (1 - change)


def chosen_radius(manifold: Manifold, time: float, paths: int) -> float:
    """The radius that minimises 1/k + bias² at the peak of the kernel, taken to be Gaussian or, later, flat.

    The mean of exp(-d²/2t) over a ball around the peak is 1 - c r² with c = m / (2 (m + 2) t), and k = r^m / a. At most
    half the radius of a flat ball with the volume of the manifold.
    """
    m, unit = manifold.dim, math.exp(log_unit_ball_volume(manifold.dim))
    a, c = 1 / (unit * paths * _peak(manifold, time)), m / (2 * (m + 2) * time)
    return min((m * a / (4 * c**2)) ** (1 / (m + 4)), 0.5 * (_volume(manifold) / unit) ** (1 / m))


def ball_matrix(
    manifold: Manifold, X: Array, Y: Array, simulation: Simulation, epsilon: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """p_t(x, y) = k / (N Vol(ball)) from paths that start at x and end in the ball around y; any manifold.

    On a homogeneous manifold one simulation from the origin serves every pair; else each x has its own paths.

    Parameters
    ----------
    X, Y : points (N, *shape) and (M, *shape).
    simulation : Simulation of the paths; its times are those of the result.
    epsilon : radius of the balls; by default `chosen_radius` for each time.

    Returns
    -------
    The estimate and its standard error, both (number of times, N, M).
    """
    radii = _radii(manifold, simulation, epsilon)
    X, Y = (np.asarray(check_points(manifold, points, name)) for points, name in ((X, "X"), (Y, "Y")))
    volumes = ball_volume(manifold, np.array(radii)[:, None])
    number = len(X) * len(Y)
    arrays = Cost(bytes=8.0 * number * (5 * len(radii) + isinstance(manifold, Homogeneous) * math.prod(manifold.shape)))
    what = f"Counting paths in {number} balls on {manifold!r}"
    check_memory(arrays.bytes, what, REMEDY)
    counts = np.zeros((len(radii), len(X), len(Y)))
    if isinstance(manifold, Homogeneous):  # the isometries carry every pair to the origin
        centres = np.asarray(manifold.to_origin(X[:, None], Y)).reshape(-1, *manifold.shape)
        (arrays + _cost(manifold, manifold.origin, [centres] * len(radii), radii, simulation)).accept(what, REMEDY)
        found = _kept_count(manifold, [centres] * len(radii), radii, simulation)
        counts = np.stack(found).reshape(counts.shape)
    else:
        once = _cost(manifold, X[0], [Y] * len(radii), radii, simulation) if len(X) else Cost()
        (arrays + Cost(len(X) * once.seconds, once.bytes)).accept(what, REMEDY)
        all_paths = replace(simulation, paths=simulation.paths * len(X))
        file = simulation_file(manifold, all_paths, balls=digest(X, Y, np.array(radii)))

        def rows(done: int) -> Chunks:
            for i in tracked(range(done, len(X)), len(X) - done, what, simulation.progress):
                own = replace(simulation, root=(*simulation.root, i))
                yield i, np.stack(_count(manifold, X[i], [Y] * len(radii), radii, own))[:, None]

        counts = kept(file, counts, rows)
    lengths = np.stack([_lengths(manifold, x, Y) for x in X]) if len(X) else np.empty((0, len(Y)))
    width, clock = (np.array(values)[:, None, None] for values in (radii, simulation.plan.times))
    estimate, error = _estimate(manifold.dim, counts, simulation.paths, volumes[..., None], lengths, width, clock)
    peaks = np.array([_peak(manifold, t) for t in simulation.plan.times])[:, None, None]
    poor = error > TOLERATED * peaks
    if poor.any():
        worst = float(np.minimum((error / peaks).max(), 1))
        _warn(
            f"Balls on {manifold!r} count too few of {simulation.paths} paths for {np.mean(poor):.0%} of the pairs and "
            f"times, with errors of {'at least ' if worst == 1 else 'up to '}{worst:.0%} of the kernel's largest "
            "value. Use more paths, a wider epsilon, or another method."
        )
    return estimate, error


def ball_profile(manifold: Homogeneous, simulation: Simulation, epsilon: float | None = None) -> CountedProfile:
    """The heat kernel by the ball algorithm where it is a function of the distance: one simulation for all pairs.

    Isometries carry a pair at distance d to the origin and a point at distance d along one geodesic: the balls are
    around points of that geodesic. Parameters as in `ball_matrix`.
    """
    radii, plan = _radii(manifold, simulation, epsilon), simulation.plan
    if not isinstance(manifold, Homogeneous) or manifold.rank != 1:
        raise Unsupported(
            f"{manifold!r}: its kernel is not a function of the distance, so balls along one geodesic do not serve "
            "every pair. Use ball_matrix, which takes the points themselves."
        )
    coordinates = Coordinates(manifold)
    axes = _axes(coordinates, simulation, radii)
    balls = [_geodesic(coordinates, axis) for axis in axes]
    ball_cost(manifold, simulation, epsilon).accept(f"Counting paths in balls on {manifold!r}", REMEDY)
    counts = _kept_count(manifold, balls, radii, simulation)
    times, volumes = effective_times(manifold, plan.times, plan.step), ball_volume(manifold, np.array(radii))
    tables = []
    for time, axis, radius, volume, count in zip(times.tolist(), axes, radii, volumes, counts):
        p, error = _estimate(manifold.dim, count, simulation.paths, volume, axis, radius, time)
        tables.append(CountedTable(time, (axis,), p, error, count))
    warn_where_poor(coordinates, tuple(tables), simulation.paths, "balls")
    return CountedProfile(coordinates, tuple(tables), plan.times[0])


def ball_cost(manifold: Homogeneous, simulation: Simulation, epsilon: float | None = None) -> Cost:
    """What `ball_profile` takes."""
    radii, coordinates = _radii(manifold, simulation, epsilon), Coordinates(manifold)
    balls = [_geodesic(coordinates, axis) for axis in _axes(coordinates, simulation, radii)]
    return _cost(manifold, manifold.origin, balls, radii, simulation)


def _axes(coordinates: Coordinates, simulation: Simulation, radii: list[float]) -> list[np.ndarray]:
    """Distances of the balls along a geodesic, for each time."""
    axes = []
    for t, radius in zip(simulation.plan.times, radii):
        reach = min(math.sqrt(t) * (math.sqrt(coordinates.manifold.dim) + 6), float(coordinates.bounds[1][0]))
        axes.append(np.linspace(0, reach, min(NODES, math.ceil(2 * reach / radius)) + 1))
    return axes


def _radii(manifold: Manifold, simulation: Simulation, epsilon: float | None) -> list[float]:
    """Radii of the balls for each time, after the arguments have been checked."""
    check_counting(simulation.paths, epsilon)
    simulation.require_positive_times()
    return [epsilon or chosen_radius(manifold, t, simulation.paths) for t in simulation.plan.times]


def _kept_count(
    manifold: Homogeneous, centres: list[np.ndarray], radii: list[float], simulation: Simulation
) -> list[np.ndarray]:
    """How many paths from the origin end in the ball around each centre, for each time: kept on disk."""
    file = simulation_file(manifold, simulation, balls=digest(*centres, np.array(radii)))
    ends = np.cumsum([len(points) for points in centres])

    def chunks(done: int) -> Chunks:
        visit = partial(_hits, manifold, centres, radii)
        for first, part in simulate(manifold, manifold.origin, simulation, visit, done // BLOCK):
            yield first, np.concatenate(part)

    return np.split(kept_sum(file, np.zeros(ends[-1]), chunks), ends[:-1])


def _count(
    manifold: Manifold, start: np.ndarray, centres: list[np.ndarray], radii: list[float], simulation: Simulation
) -> list[np.ndarray]:
    """How many paths from the start end in the ball around each centre, for each time."""
    total = [np.zeros(len(points)) for points in centres]
    for _, part in simulate(manifold, start, simulation, partial(_hits, manifold, centres, radii)):
        total = [a + b for a, b in zip(total, part)]
    return total


def _cost(
    manifold: Manifold, start: np.ndarray, centres: list[np.ndarray], radii: list[float], simulation: Simulation
) -> Cost:
    """What `_count` takes: the walk, and distances to the balls, measured on some of them."""
    some = [points[:SOME] for points in centres]
    walking = simulation_cost(manifold, start, simulation, lambda positions: positions)
    both = simulation_cost(manifold, start, simulation, partial(_hits, manifold, some, radii))
    times = sum(map(len, centres)) / max(1, sum(map(len, some)))
    return walking + Cost(times * max(0.0, both.seconds - walking.seconds))


def _hits(manifold: Manifold, centres: list[np.ndarray], radii: list[float], positions: np.ndarray) -> list[np.ndarray]:
    """Paths of a chunk in each ball, for each time: a few centres at once keep the arrays in the cache."""
    return [
        np.concatenate([np.zeros(0), *(_inside(manifold, part, radius, ends) for part in _parts(points, ends))])
        for points, radius, ends in zip(centres, radii, positions)
    ]


def _parts(points: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    size = max(1, PAIRS // len(ends))
    return [points[i : i + size] for i in range(0, len(points), size)]


def _inside(manifold: Manifold, points: np.ndarray, radius: float, ends: np.ndarray) -> np.ndarray:
    """How many ends lie in the ball around each point."""
    if isinstance(manifold, Symmetric):
        inside = manifold.length(manifold.orbits(points, ends)) < radius
    else:
        inside = manifold.within(points[:, None], ends[None], radius)
    return np.count_nonzero(inside, axis=1).astype(float)


def _lengths(manifold: Manifold, x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Distances for the stated bias; those of chords where an iteration does not find them."""
    try:
        return np.asarray(unchecked(manifold.distance)(x, Y))
    except NotConverged:
        return np.linalg.norm(np.asarray(manifold.embed(Y)) - np.asarray(manifold.embed(x)), axis=-1)


def _estimate(dim, count, paths, volume, distance, radius, time) -> tuple[np.ndarray, np.ndarray]:
    """p and its error: sqrt(k + 1)/(N Vol), since an empty ball only shows p < 1/(N Vol), and the bias of the radius.

    The mean of exp(-d²/2t) over a ball around a point at distance d, over its value there, is about
    exp(r²/(2(m + 2)) (d²/t² - m/t)).
    """
    count = np.asarray(count)
    p = count / (paths * volume)
    noise = np.sqrt(count * (1 - count / paths) + 1) / (paths * volume)
    bend = radius**2 / (2 * (dim + 2)) * (distance**2 / time**2 - dim / time)
    return p, np.hypot(noise, p * abs(np.exp(-bend) - 1))


def _geodesic(coordinates: Coordinates, distances: np.ndarray) -> np.ndarray:
    """Points at the given distances from the origin along one geodesic."""
    manifold = coordinates.manifold
    z = np.random.default_rng(0).standard_normal((2, *manifold.shape))
    v = np.asarray(manifold.noise(manifold.origin, z[0] + 1j * z[1] if manifold.is_complex else z[0]))
    near = manifold.orbit(manifold.origin, unchecked(manifold.exp)(manifold.origin, 1e-2 * v))
    speed = float(coordinates.read(near)[0]) / 1e-2
    return np.stack([np.asarray(unchecked(manifold.exp)(manifold.origin, v * (d / speed))) for d in distances])


def _peak(manifold: Manifold, time: float) -> float:
    """About p_t(x, x): the Gaussian's, or 1/volume when that is more."""
    return max((2 * math.pi * time) ** (-manifold.dim / 2), 1 / _volume(manifold))


def _volume(manifold: Manifold) -> float:
    try:
        return manifold.volume
    except Unsupported:
        return math.inf


def _warn(message: str) -> None:
    warn(message, AccuracyWarning)
