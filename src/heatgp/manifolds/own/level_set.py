"""What has to be found out about a level set before anything is done on it: where it is, and that it is smooth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidInput
from ..contract import require

if TYPE_CHECKING:
    from .implicit import Implicit


def check_bounds(owner: str, bounds: object, n: int) -> tuple[tuple[float, float], ...]:
    """Bounds as n pairs of finite numbers, low < high."""
    pairs = np.asarray(bounds, dtype=float)
    if pairs.shape != (n, 2) or not np.isfinite(pairs).all() or not (pairs[:, 0] < pairs[:, 1]).all():
        raise InvalidInput(f"{owner} needs bounds of {n} pairs (low, high), finite, low < high; got {bounds!r}.")
    return tuple((float(low), float(high)) for low, high in pairs)


def find_points(manifold: Implicit) -> np.ndarray:
    """Points of the manifold from all sides: Newton's method from normal points, ever better centred and scaled."""
    rng = np.random.default_rng(0)
    starts = 1.5 * rng.standard_normal((8, 512, manifold.ambient))
    low, high = np.array(manifold.bounds or [(-1.0, 1.0)] * manifold.ambient).T
    found = np.empty((0, manifold.ambient))
    for k, start in enumerate(starts):
        x = manifold.project((low + high) / 2 + np.max(high - low) / 2 * start)
        x = x[np.isfinite(x).all(axis=1)]
        if manifold.bounds is not None:
            x = x[((x >= low) & (x <= high)).all(axis=1)]
        elif len(x):
            extent = np.max(high - low)
            low, high = (x.min(0), x.max(0)) if k == 0 else (np.minimum(low, x.min(0)), np.maximum(high, x.max(0)))
            if k == len(starts) - 1 and np.max(high - low) > 1.2 * extent:
                raise InvalidInput(
                    f"{manifold!r} seems to be unbounded: points were found up to {np.abs(x).max():.1e} away. "
                    "Pass bounds that hold it, or cut it off with Domain."
                )
        found = np.concatenate((found, x)) if k else x
    require(
        len(found) >= 16,
        f"{manifold!r}: hardly a point with g(x) = 0 was found near the origin. Check that g changes sign and that its "
        "gradient does not vanish where g does ((|x|² - 1)² is wrong, |x|² - 1 right), or pass bounds.",
    )
    check_regular(manifold, found, rng)
    return found


def check_regular(manifold: Implicit, x: np.ndarray, rng: np.random.Generator) -> None:
    """Search for a point of the manifold where the Jacobian loses rank: random moves that shrink around the worst."""

    def least(points: np.ndarray) -> np.ndarray:
        return np.linalg.svd(manifold.normals(points), compute_uv=False)[..., -1]

    steepness = least(x)
    usual = np.median(steepness)
    off = np.median(least(x + 0.1 * np.ptp(x, axis=0).max() * rng.standard_normal(x.shape)))
    worst, value = x[np.argmin(steepness)], steepness.min()
    size = np.ptp(x, axis=0).max()
    reach = 0.3 * size
    for _ in range(200):
        near = manifold.project(worst + reach * rng.standard_normal((64, manifold.ambient)), iterations=20)
        near = near[np.isfinite(near).all(axis=1)]
        if manifold.bounds is not None:
            low, high = np.array(manifold.bounds).T
            near = near[((near >= low) & (near <= high)).all(axis=1)]
        steepness = least(near)
        if len(near) and steepness.min() < 0.9 * value:
            worst, value = near[np.argmin(steepness)], steepness.min()
        else:
            reach /= 2
        if reach < 1e-7 * size or value < 1e-5 * max(usual, off):
            break
    if not value > 1e-5 * max(usual, off):
        raise InvalidInput(
            f"{manifold!r}: the gradient of the constraint vanishes at x = {np.round(worst, 4).tolist()} "
            f"(|g'| = {value:.1e}, usually {max(usual, off):.1e}), where g(x) = 0 is no manifold. Move the level, cut "
            "the point off with bounds, or use an equation whose gradient vanishes nowhere on it."
        )
