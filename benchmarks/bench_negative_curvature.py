"""Time and error of Gram matrices on spaces of negative curvature: heatgp beside GeometricKernels.

    OMP_NUM_THREADS=1 python benchmarks/bench_negative_curvature.py [--time 0.2] [--backend torch]

GeometricKernels averages products of random waves, by default 3,000. Its backend NumPy is faster here than PyTorch.
Times are those of the processor: medians of five calls of each library in turn, every one at a time or length-scale
that is new to it. Errors are those of p_t(x, y) / p_t(x, x), the largest over 40 pairs from the nearest of all to the
farthest. The truth has 30 digits, SPD(3)'s about 13.

Conventions: both hyperboloids have x0 first, and t = kappa² there. On SPD(n) a matrix x = L L' is taken for L' L by
GeometricKernels 1.0.1, and distances are half of ours, |log eigenvalues of x^-1 y|: it has p_t of these matrices at
t = 4 kappa². The last column is its error where it is given the matrices that it takes for x.
"""

import argparse
import logging
import time

import mpmath as mp
import numpy as np
from bench_gram import _hyperbolic as hyperbolic

import heatgp as hg

logging.disable(logging.INFO)

SPACES = (hg.Hyperbolic(2), hg.Hyperbolic(3), hg.Hyperbolic(5), hg.SPD(2), hg.SPD(3))
POINTS, PAIRS, TURNS = 500, 40, 5


def rival(M, backend):
    """GeometricKernels' Gram matrix, as a function of points and of our time."""
    import geometric_kernels.spaces as spaces
    from geometric_kernels.kernels import MaternGeometricKernel

    array, key = np.asarray, np.random.RandomState(0)
    if backend == "torch":
        import geometric_kernels.torch  # noqa: F401
        import torch

        torch.set_num_threads(1)
        array, key = torch.as_tensor, torch.Generator().manual_seed(0)
    space, unit = (
        (spaces.Hyperbolic, 1) if isinstance(M, hg.Hyperbolic) else (spaces.SymmetricPositiveDefiniteMatrices, 2)
    )
    kernel = MaternGeometricKernel(space(M.n), key=key)

    def gram(X, time):
        kappa = np.sqrt(time) / unit
        params = {"nu": array(np.array([np.inf])), "lengthscale": array(np.array([kappa]))}
        return np.asarray(kernel.K(params, array(X)))

    return gram


def turned(X):
    """The matrices L L' for which x = L' L."""
    upper = np.linalg.cholesky(X[:, ::-1, ::-1])[:, ::-1, ::-1]
    return upper.swapaxes(1, 2) @ upper


def truth(M, X, Y, t):
    """p_t(x, y) / p_t(x, x) of pairs."""
    with mp.workdps(30):
        height = density(M, [mp.mpf(0)] * len(coordinates(M, X[0], Y[0])), t)
        return np.array([float(density(M, coordinates(M, x, y), t) / height) for x, y in zip(X, Y)])


def coordinates(M, x, y):
    """The distance of hyperbolic points; the logarithms of the eigenvalues of x^-1 y."""
    x, y = mp.matrix(x.tolist()), mp.matrix(y.tolist())
    if isinstance(M, hg.Hyperbolic):
        return [mp.acosh(max(mp.mpf(1), 2 * x[0] * y[0] - mp.fdot(x, y)))]
    back = mp.inverse(mp.cholesky(x))
    return [mp.log(value) for value in mp.eigsy(back * y * back.T, eigvals_only=True)]


def density(M, h, t):
    """p_t up to a constant. SPD(2) is a line times the hyperbolic plane with distances times √2."""
    t = mp.mpf(t)
    if isinstance(M, hg.Hyperbolic):
        return hyperbolic(M.n, h[0], t)
    line = mp.exp(-(mp.fsum(h) ** 2) / (2 * M.n * t))
    return line * (hyperbolic(2, abs(h[0] - h[1]) / 2, t / 2) if M.n == 2 else three(h, t))


def three(h, t):
    """3 x 3 matrices of determinant one: an integral over complex rotations exp(iY), in equal steps of the axis of Y.

    Reference: Flensted-Jensen (1978), J. Functional Analysis 30, 106-146.
    """
    h, t = np.array(h, dtype=float), float(t)
    axis = np.sqrt(t / 128) * np.arange(-20, 21)
    y = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    values, vectors = np.linalg.eigh(1j * np.cross(np.eye(3), y[:, None]))
    k = (vectors * np.exp(values)[:, None]) @ vectors.conj().swapaxes(1, 2)
    s = np.log(np.linalg.eigvalsh((k * np.exp((h - h.mean()) / 2)) @ k.conj().swapaxes(1, 2)))
    gaps = np.maximum(s[:, [1, 2, 2]] - s[:, [0, 0, 1]], 1e-9) / 2
    r = np.maximum(np.linalg.norm(y, axis=1), 1e-9)
    weight = np.prod(gaps / np.sinh(gaps), axis=1) * (np.sinh(r) / r) ** 2
    return np.sum(weight * np.exp(-2 * np.square(s).sum(axis=1) / t))


def seconds(gram, X, t):
    begin = time.process_time()
    gram(X, time=t)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", choices=["numpy", "torch"], default="numpy")
    parser.add_argument("--time", type=float, default=0.5)
    options = parser.parse_args()
    t = options.time
    print(f"{'space':16}{'ours, ms':>10}{'theirs, ms':>12}{'ratio':>7}{'our error':>12}{'theirs':>10}{'turned':>10}")
    for M in SPACES:
        X = M.random(np.random.default_rng(0), POINTS)
        ours, theirs = hg.heat_kernel(M, "exact"), rival(M, options.backend)
        turns = [[seconds(gram, X, t * (1 + 0.01 * k)) for gram in (ours, theirs)] for k in range(TURNS + 1)]
        own, other = 1000 * np.median(turns[1:], axis=0)  # the first call does not count

        i, j = np.triu_indices(POINTS, 1)
        chosen = np.argsort(M.distance(X[i], X[j]))[np.linspace(0, len(i) - 1, PAIRS).astype(int)]
        i, j = i[chosen], j[chosen]
        exact = truth(M, X[i], X[j], t)
        found = [ours(X, time=t) / ours.diag(X[:1], t)[0], theirs(X, time=t)]
        if not isinstance(M, hg.Hyperbolic):
            found.append(theirs(turned(X), time=t))
        errors = "".join(f"{np.abs(each[i, j] - exact).max():10.1e}" for each in found)
        print(f"{M!r:16}{own:10.1f}{other:12.0f}{other / own:7.0f}  {errors}", flush=True)


if __name__ == "__main__":
    main()
