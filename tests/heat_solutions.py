"""Independent solutions of the heat equation, by finite volumes: what simulated kernels are compared with."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import expm_multiply

from heatgp import Reference

SMALL = {"references": 120, "paths": 48_000, "rng": 0}


def reference_kernel(manifold, **options):
    return Reference(**options).kernel(manifold)


"""Size of the reference kernels of quick tests."""


def revolution_kernel(radius, speed, length, periodic, places, time, cells=600, modes=40):
    """p_t between points (s, angle) of a surface of revolution, radius r(s) about the axis, metric speed² ds² + r² da².

    For each Fourier mode m in the angle the operator (1/(r e)) d/ds (r/e d/ds) - m²/r² is a symmetric matrix of fluxes
    between cells; its error falls with the square of their size.
    """
    h = length / cells
    s = (np.arange(cells) + 0.5) * h
    faces = np.arange(cells + 1) * h
    volume = radius(s) * speed(s) * h
    flux = radius(faces) / speed(faces) / h
    if not periodic:
        flux[0] = flux[-1] = 0.0
    L = np.diag(flux[:-1] + flux[1:]) - np.diag(flux[1:-1], 1) - np.diag(flux[1:-1], -1)
    if periodic:
        L[0, -1] -= flux[0]
        L[-1, 0] -= flux[0]
    root = np.sqrt(volume)
    index = np.clip((places[:, 0] / h).astype(int), 0, cells - 1)
    angle = places[:, 1, None] - places[None, :, 1]
    total = np.zeros((len(places), len(places)))
    for m in range(modes):
        A = L / root[:, None] / root + np.diag(m**2 / radius(s) ** 2)
        values, vectors = np.linalg.eigh(A)
        f = (vectors / root[:, None])[index]
        part = (f * np.exp(-values * time / 2)) @ f.T
        if m > 3 and np.abs(part).max() < 1e-7 * total.max():
            break
        total += part * np.cos(m * angle) * (2 if m else 1) / (2 * np.pi)
    return total, s[index]


def neumann_kernel(inside, box, h, sources, targets, time):
    """p_t between points of a domain made of squares of side h, no flux through its boundary; (sources, targets)."""
    (x0, x1), (y0, y1) = box
    nx, ny = round((x1 - x0) / h), round((y1 - y0) / h)
    centers = np.stack(np.meshgrid(x0 + (np.arange(nx) + 0.5) * h, y0 + (np.arange(ny) + 0.5) * h, indexing="ij"), -1)
    mask = inside(centers)
    number = np.full(mask.shape, -1)
    number[mask] = np.arange(mask.sum())
    rows, columns = [], []
    for a, b in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1])):
        both = (a >= 0) & (b >= 0)
        rows += [a[both], b[both]]
        columns += [b[both], a[both]]
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    links = coo_array((np.ones(len(rows)), (rows, columns)), (mask.sum(), mask.sum())).tocsr() / h**2
    laplacian = links - diags_array(links.sum(axis=1))
    points = centers[mask]

    def cell(x):
        return np.argmin(((points - x) ** 2).sum(-1))

    start = np.zeros((mask.sum(), len(sources)))
    for j, x in enumerate(sources):
        start[cell(x), j] = 1 / h**2
    density = expm_multiply(laplacian * (time / 2), start)
    return density[[cell(y) for y in targets]].T


def assert_within_error(kernel, x, truth, time, y=None, most=0.08):
    """The stated error is neither too small nor, where the kernel is not level already, many times too large."""
    error = kernel.standard_error(x, y, time=time)
    gap = np.abs(kernel(x, y, time=time) - truth)
    ratio = np.sqrt((gap**2).mean() / (error**2).mean())
    assert (gap < 5 * error + 1e-3 * truth.max()).all(), (gap / error).max()
    assert ratio < 1.3
    assert ratio > 0.2 or time > kernel.grid[-1]
    assert (gap < most * truth.max()).all(), (gap / truth.max()).max()
