"""Properties of random points and steps that hold on average."""

import math
from collections.abc import Iterator

import numpy as np

from .sample import REACH, SIGMAS, Sample

DRAWS = 2000


def uniformity(s: Sample) -> Iterator[str]:
    """Geodesics with isotropic directions leave the uniform law unchanged, whatever their length (Liouville)."""
    m = s.manifold
    if not m.volume > 0:
        yield f"volume must be positive; it is {m.volume}"
    if not math.isfinite(m.volume):
        return
    x = m.random(s.rng, DRAWS)
    y = s.exp(x, s.tangents(x, DRAWS) / math.sqrt(m.dim))
    before, after = np.asarray(m.embed(x)), np.asarray(m.embed(y))
    directions = s.rng.standard_normal((before.shape[-1], 6)) / math.sqrt(before.shape[-1])
    p, q = before @ directions, after @ directions
    yield from s.biased("random is not uniform: a geodesic step moves its mean", q - p)
    moved = q[:, :3] * q[:, 3:] - p[:, :3] * p[:, 3:]
    yield from s.biased("random is not uniform: a geodesic step moves its second moments", moved)


def stepping(s: Sample) -> Iterator[str]:
    """One step has the law of exp(noise)."""
    m, x, time = s.manifold, s.x[0], 0.05
    y = m.step(x, s.rng.standard_normal((DRAWS, *m.step_shape)), time)
    if y.shape != (DRAWS, *m.shape) or y.dtype != x.dtype:
        yield f"step has shape {y.shape}, dtype {y.dtype}; needs {(DRAWS, *m.shape)}, {x.dtype}"
        return
    yield from s.above("defect of step", m.defect(y))
    other = s.exp(x, math.sqrt(time) * s.tangents(x, DRAWS))
    directions = s.rng.standard_normal((s.row(x).size, 8)) / math.sqrt(s.row(x).size)
    p, q = ((s.row(u) - s.row(x)) @ directions for u in (y, other))
    for what, a, b in (("mean", p, q), ("second moments", p * p, q * q)):
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / DRAWS) + s.tolerance
        off = (a.mean(axis=0) - b.mean(axis=0)) / error
        yield from s.above(f"{what} of step and of exp(noise) differ, in standard errors", off, SIGMAS)


def variation(s: Sample) -> Iterator[str]:
    m, time = s.manifold, (REACH / 10) ** 2 / s.manifold.dim
    y = m.step(s.x[0], s.rng.standard_normal((DRAWS // 2, *m.step_shape)), time)
    squares = np.asarray(s.distance(s.x[0], y)) ** 2
    yield from s.biased("the mean squared length of a step is not dim * time", squares / time, m.dim)


PROPERTIES = (uniformity, stepping, variation)
