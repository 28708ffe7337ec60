"""Properties of the orbit coordinates of homogeneous manifolds."""

import math
from collections.abc import Iterator

import numpy as np

from ..manifolds import Homogeneous
from .sample import REACH, SIGMAS, Sample

DRAWS = 4000

EFFECTIVE = 1000
"""Equally weighted draws, Kish's effective number, below which an integral over the chamber is not trusted."""


def orbits(s: Sample) -> Iterator[str]:
    m = s.manifold
    assert isinstance(m, Homogeneous)
    x0 = np.asarray(m.origin)
    if x0.shape != m.shape:
        yield f"origin has shape {x0.shape} instead of {m.shape}"
        return
    yield from s.above("defect of the origin", m.defect(x0))
    y = s.exp(s.x, REACH / math.sqrt(m.dim) * s.v)
    theta = np.asarray(m.orbit(s.x, y))
    bounds = np.array(m.chamber)
    if theta.shape != (len(s.x), len(bounds)):
        yield f"orbit has shape {theta.shape}; the chamber has {len(bounds)} coordinates"
        return
    outside = np.maximum(np.maximum(bounds[:, 0] - theta, theta - bounds[:, 1]), 0)
    yield from s.above("orbit leaves the chamber by", outside)
    every, each = m.orbits(s.x, y), m.orbit(s.x[:, None], y[None])
    # A coordinate next to a wall may have half the digits, and their order is free: invariant functions see neither.
    cosines = (np.sort(np.cos(np.minimum(t, 1e3)), axis=-1) for t in (every, each))
    yield from s.apart("cos(orbits) differs from cos(orbit)", *cosines)


def lengths(s: Sample) -> Iterator[str]:
    """Every orbit, near or far, has the length of its distance."""
    m = s.manifold
    assert isinstance(m, Homogeneous)
    y = m.random(s.rng, len(s.x))
    yield from s.apart("length(orbit) is not the distance", m.length(m.orbit(s.x, y)), s.distance(s.x, y))


def strip(s: Sample) -> Iterator[str]:
    """omega = exp(log_strip) integrates to the volume, and is the density of the orbits of uniform points."""
    m = s.manifold
    assert isinstance(m, Homogeneous)
    bounds = np.array(m.chamber)
    r = len(bounds)
    if r != m.rank or not np.isfinite(bounds).all():
        return
    # theta = -cos(phi) on each axis: roots of poles at the ends of the chamber are integrable at equal steps.
    if r <= 2:
        steps = 2000 if r == 1 else 300
        axis = (np.arange(steps) + 0.5) * math.pi / steps
        phi = np.stack(np.meshgrid(*[axis] * r), axis=-1).reshape(-1, r)
    else:
        phi = s.rng.uniform(0, math.pi, (10 * DRAWS, r))
    middle, half = bounds.mean(axis=1), (bounds[:, 1] - bounds[:, 0]) / 2
    theta = middle - half * np.cos(phi)
    weight = np.exp(m.log_strip(theta)) * np.prod(math.pi * half * np.sin(phi), axis=-1) / m.volume
    if r > 3 and weight.sum() ** 2 <= EFFECTIVE * (weight**2).sum():  # the peak of omega is missed, or hardly seen
        return
    far = np.asarray(m.orbit(np.asarray(m.origin), m.random(s.rng, DRAWS)))

    def features(t: np.ndarray) -> np.ndarray:
        """Symmetric in the coordinates, which may be sorted; zero where the pair is in two components."""
        finite = np.isfinite(t).all(axis=-1, keepdims=True)
        u = np.where(finite, (t - middle) / half, 0)
        return finite * np.stack([u[:, 0] ** 0, *(np.mean(u**p, axis=-1) for p in (1, 2, 4))], axis=-1)

    integrand, sample = features(theta) * weight[:, None], features(far)
    noise = sample.var(axis=0) / len(sample) + (integrand.var(axis=0) / len(integrand) if r > 2 else 1e-7)
    off = (integrand.mean(axis=0) - sample.mean(axis=0)) / np.sqrt(noise)
    for name, value in zip(("volume", "mean", "second moment", "fourth moment"), off):
        yield from s.above(f"{name} of orbits: omega and random differ, in standard errors", value, SIGMAS)


PROPERTIES = (orbits, lengths, strip)
