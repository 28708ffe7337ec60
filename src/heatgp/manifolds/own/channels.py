"""How wide the channels of a domain are, and how long the steps of a path in them may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..contract import require
from ..spaces.euclidean import Euclidean

if TYPE_CHECKING:
    from .domain import Domain


def width(domain: Domain) -> float:
    """About the width of the channels, parts of less than a per cent of the volume aside; read a third low.

    In the middle of a channel of width w, after the time (2 w)², one of two opposite steps stays inside in a fifth of
    the cases. The shortest time after which that is so for a per cent of the points is looked for: in corners of a
    right angle it is half of the cases, after however long.
    """
    require(math.isfinite(domain.volume), f"{domain!r} has infinite volume; cut it off.")
    x, z = _trials(domain)
    time = domain.volume ** (2 / domain.dim) / (1 if isinstance(domain.base, Euclidean) else 16)
    for _ in range(40):
        ends = [domain.base.step(x, way, time) for way in (z, -z)]
        ahead, back = (domain.contains(y) & domain.open_way(x, y) for y in ends)
        if ((ahead | back).mean(axis=0) < 0.2).mean() < 0.01:
            break
        time /= 2**0.5
    return math.sqrt(time) / 2


def step_limit(domain: Domain) -> float:
    """So short that channels are wide, and that hardly a step of ten thousand crosses land unnoticed."""
    share = 5 if domain._polygon else 10 if domain._signed else 40
    limit = min(domain.base.step_limit, (domain.width / share) ** 2)
    if domain._polygon:
        return limit
    x, z = _trials(domain)
    for _ in range(12):
        y = domain.base.step(x, z, limit)
        if (domain.contains(y) & domain.open_way(x, y) & ~domain.open_way(x, y, 15)).mean() < 1e-4:
            break
        limit /= 2
    return limit


def _trials(domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    """Points of the domain, and white noise for steps from each: fewer where steps are dear."""
    rng = np.random.default_rng(0)
    steps, points = (192, 500) if isinstance(domain.base, Euclidean) else (64, 200)
    x = np.broadcast_to(domain.random(rng, points), (steps, points, *domain.shape))
    return x, rng.standard_normal((steps, points, *domain.step_shape))
