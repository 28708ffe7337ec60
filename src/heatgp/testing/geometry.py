"""Properties of any manifold that hold to rounding."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..manifolds import Homogeneous
from .sample import REACH, Sample


def declaration(s: Sample) -> Iterator[str]:
    m = s.manifold
    if not (isinstance(m.shape, tuple) and m.shape and all(isinstance(n, int) and n > 0 for n in m.shape)):
        yield f"shape must be a tuple of positive integers; it is {m.shape!r}"
    if not (isinstance(m.dim, int) and m.dim > 0):
        yield f"dim must be a positive integer; it is {m.dim!r}"
    try:
        hash(m)
    except TypeError as error:
        yield f"must be hashable, for tables are cached by their manifold: {error}"


def points(s: Sample) -> Iterator[str]:
    m, kind = s.manifold, "c" if s.manifold.is_complex else "f"
    for n in (0, 7):
        x, again = (np.asarray(m.random(np.random.default_rng(1), n)) for _ in range(2))
        if x.shape != (n, *m.shape) or x.dtype.kind != kind:
            yield f"random(rng, {n}) has shape {x.shape}, dtype {x.dtype}; needs {(n, *m.shape)}, kind {kind!r}"
            return
        yield from s.apart("random differs for equal seeds", x, again)
        defect = np.asarray(m.defect(x))
        if defect.shape != (n,):
            yield f"defect of points {x.shape} has shape {defect.shape} instead of {(n,)}"
        yield from s.above("defect of random points", defect)


def tangents(s: Sample) -> Iterator[str]:
    """Noise is linear in z with dim independent directions, and is the velocity with which exp leaves x."""
    m, x, step = s.manifold, s.x[0], 1e-5
    if s.v.shape != s.x.shape or s.v.dtype != s.x.dtype:
        yield f"noise of points {s.x.shape}, {s.x.dtype} has shape {s.v.shape}, dtype {s.v.dtype}"
        return
    if not np.isfinite(s.v).all():
        yield "noise is not finite, though x and z are"
        return
    columns = s.basis(x)
    z = s.white()
    yield from s.apart("noise is not linear in z", s.row(z) @ s.row(columns), s.row(m.noise(x, z)))
    rank = int(np.linalg.matrix_rank(s.row(columns), tol=1e-6))
    if rank != m.dim:
        yield f"noise spans {rank} directions, dim is {m.dim}"
    velocity = m.difference(s.exp(s.x, -step * s.v), s.exp(s.x, step * s.v)) / (2 * step)  # angles have a seam
    yield from s.apart("noise is not tangent: exp leaves x with another velocity", velocity, s.v)


def exponential(s: Sample) -> Iterator[str]:
    m = s.manifold
    yield from s.apart("exp(x, 0) is not x", s.exp(s.x, 0 * s.v), s.x)
    for length in (0.1, 1.0, min(10.0, m.farthest / (2 * math.sqrt(m.dim)))):  # few v are longer than 2 √dim
        y = s.exp(s.x, length * s.v)
        if y.shape != s.x.shape or y.dtype != s.x.dtype:
            yield f"exp of points {s.x.shape}, {s.x.dtype} has shape {y.shape}, dtype {y.dtype}"
            return
        yield from s.above(f"defect of exp(x, {length:g} v)", m.defect(y))


def batches(s: Sample) -> Iterator[str]:
    """Leading axes are batch: grids, one against many and no points at all give what a loop gives."""
    m, x, v = s.manifold, s.x, s.v
    y = s.exp(x, REACH / 10 * v)
    y_of_first = np.stack([s.exp(x[0], REACH / 10 * share * v[0]) for share in np.linspace(0.5, 1, len(x))])  # near it
    calls: list[Any] = [(m.noise, (x, v)), (s.exp, (x, v)), (m.defect, (x,)), (m.embed, (x,)), (s.distance, (x, y))]
    calls += [(s.log, (x, y))]
    for f, args in calls + ([(m.orbit, (x, y))] if isinstance(m, Homogeneous) else []):
        name = f.__name__
        try:
            loop = np.stack([np.asarray(f(*each)) for each in zip(*args)])
        except Unsupported:
            continue
        grid = loop.reshape(2, 3, *loop.shape[1:])
        yield from s.apart(f"{name} of a batch differs from a loop", f(*args), loop)
        yield from s.apart(f"{name} of a 2-d batch", f(*(a.reshape(2, 3, *m.shape) for a in args)), grid)
        for number, count in ((0, "no points"), (1, "one point")):
            yield from s.apart(f"{name} of {count}", f(*(a[:number] for a in args)), loop[:number])
        if len(args) == 2:
            many = y_of_first if f in (s.distance, s.log) else args[1]
            loop = np.stack([np.asarray(f(x[0], each)) for each in many])
            yield from s.apart(f"{name} of one point and many differs from a loop", f(x[0], many), loop)


def inner_products(s: Sample) -> Iterator[str]:
    """`metric` is the one whose white noise is `noise`, and `tangent_basis` is orthonormal in it."""
    m, x = s.manifold, s.x
    if s.v.shape != x.shape or s.v.dtype != x.dtype or not np.isfinite(s.v).all():
        return  # `tangents` says so
    if np.linalg.matrix_rank(s.row(s.basis(x[0])), tol=1e-6) != m.dim:
        return
    basis = m.tangent_basis(x)
    if basis.shape != (len(x), m.dim, *m.shape) or basis.dtype != x.dtype:
        yield f"tangent_basis of points {x.shape}, {x.dtype} has shape {basis.shape}, dtype {basis.dtype}"
        return
    columns = s.basis(x[0])
    products = m.metric(x[0], columns[:, None], columns[None])
    # noise has the identity as covariance where the inner products of its columns are a projection of rank dim
    wrong = [*s.apart("noise is not white in the metric", products @ products, products)]
    wrong += s.above(
        f"E|noise|² = {np.trace(products):.6g} in the metric, dim = {m.dim}; off by", np.trace(products) - m.dim
    )
    yield from wrong
    if wrong:
        return
    gram = m.metric(x[:, None, None], basis[:, :, None], basis[:, None])
    yield from s.apart(
        "tangent_basis is not orthonormal in the metric", gram, np.broadcast_to(np.eye(m.dim), gram.shape)
    )
    rows, columns = s.row(basis), s.row(columns)
    yield from s.apart("tangent_basis is not a basis of the vectors of noise", rows[0].T @ rows[0], columns.T @ columns)


def logarithm(s: Sample) -> Iterator[str]:
    """exp(x, log(x, y)) is y, and the length of log(x, y) is the distance."""
    m = s.manifold
    near = s.v * (REACH / s.speed(s.x, s.v).max())
    y = s.exp(s.x, near)
    log = s.log(s.x, y)
    yield from s.apart("log does not invert exp", log, near)
    yield from s.apart("the length of log is not the distance", np.sqrt(m.metric(s.x, log, log)), s.distance(s.x, y))


def metric(s: Sample) -> Iterator[str]:
    m = s.manifold
    y = s.exp(s.x, REACH * s.v / s.speed(s.x, s.v).max())
    z = s.exp(y, REACH * s.tangents(y, len(y)) / math.sqrt(m.dim) / 2)
    xy, yz, xz = s.distance(s.x, y), s.distance(y, z), s.distance(s.x, z)
    yield from s.above("distance(x, x)", s.distance(s.x, s.x))
    yield from s.apart("distance is not symmetric", s.distance(y, s.x), xy)
    yield from s.above("triangle inequality broken by", np.maximum(xz - xy - yz, 0))


def geodesics(s: Sample) -> Iterator[str]:
    """Any two and three neighbours along exp(x, s v) are as far apart as their times: a geodesic of unit speed."""
    m = s.manifold
    unit = s.v / s.speed(s.x, s.v).reshape(-1, *(1,) * len(m.shape))
    times = np.arange(21) * REACH / 2
    path = np.stack([s.exp(s.x, t * unit) for t in times])
    for apart in (1, 2):
        yield from s.apart(
            f"distance along the geodesic exp(x, t v) is not t |v| (pieces of {apart * REACH / 2:g})",
            s.distance(path[:-apart], path[apart:]),
            np.full((len(path) - apart, len(s.x)), apart * REACH / 2),
        )


def covariance(s: Sample) -> Iterator[str]:
    """The Gram matrix of the columns of noise, by polarised distances, is a projection of rank dim.

    That is, and without a basis of the tangent space, that the covariance of noise is the identity in the metric.
    """
    m, x = s.manifold, s.x[0]
    columns = s.basis(x)
    i, j = np.triu_indices(len(columns))
    sums = s.speed(x, columns[i] + columns[j]) ** 2
    gram = np.zeros((len(columns), len(columns)))
    gram[i, j] = sums
    own = np.diagonal(gram) / 4
    gram[i, j] = gram[j, i] = (sums - own[i] - own[j]) / 2
    yield from s.above(f"E|noise|² = {own.sum():.6g}, dim = {m.dim}; off by", own.sum() - m.dim, 100 * s.tolerance)
    yield from s.above("covariance of noise is not the identity, off by", gram @ gram - gram, 100 * s.tolerance)


def polishing(s: Sample) -> Iterator[str]:
    m = s.manifold
    yield from s.apart("polish moves points of the manifold", m.polish(s.x), s.x)
    rough = s.x + 1e-7 * s.white(len(s.x))
    worse = np.asarray(m.defect(m.polish(rough))) - np.asarray(m.defect(rough))
    yield from s.above("polish increases the defect by", np.maximum(worse, 0))


PROPERTIES = (
    points,
    tangents,
    exponential,
    inner_products,
    logarithm,
    batches,
    metric,
    geodesics,
    covariance,
    polishing,
)
