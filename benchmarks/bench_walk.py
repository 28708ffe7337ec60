"""Path-steps a second, one thread, double precision: heatgp, a plain NumPy loop and geomstats' exponential maps.

    OMP_NUM_THREADS=1 python benchmarks/bench_walk.py [--paths 10000] [--seconds 2]

Every contender simulates the same geodesic random walk from one point, in turn and several times; the best of its turns
counts. geomstats is optional (`pip install geomstats`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation

import heatgp as hg

STEP = 1e-3
ROOT = np.sqrt(STEP)
Step = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def plain_sphere(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    v = ROOT * rng.standard_normal(x.shape)
    v -= np.einsum("ni,ni->n", x, v)[:, None] * x
    r = np.sqrt(np.einsum("ni,ni->n", v, v))[:, None]
    return np.cos(r) * x + np.sin(r) / r * v


def plain_quaternion(q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """SO(3) as unit quaternions, scalar first."""
    v = ROOT / 2 * rng.standard_normal((len(q), 3))
    r = np.sqrt(np.einsum("ni,ni->n", v, v))
    s = np.sin(r) / r
    w, x, y, z = np.cos(r), s * v[:, 0], s * v[:, 1], s * v[:, 2]
    a, b, c, d = q.T
    return np.stack(
        (
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ),
        axis=-1,
    )


def plain_rotation(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The paper's step: the exponential through an eigendecomposition of the skew matrix."""
    n = x.shape[-1]
    z = rng.standard_normal(x.shape)
    w, u = np.linalg.eigh(-1j * (ROOT / np.sqrt(2)) * (z - z.swapaxes(-1, -2)))
    return x @ ((u * np.exp(1j * w)[:, None, :]) @ np.conj(u.swapaxes(-1, -2))).real.reshape(-1, n, n)


def plain_grassmann(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The paper's step: singular values of the tangent vector."""
    z = ROOT * rng.standard_normal(x.shape)
    v = z - x @ (x.swapaxes(-1, -2) @ z)
    u, s, wt = np.linalg.svd(v, full_matrices=False)
    w = wt.swapaxes(-1, -2)
    return (x @ w * np.cos(s)[:, None, :] + u * np.sin(s)[:, None, :]) @ wt


def plain_stiefel(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The paper's step: QR of the normal part and the exponential of a 2k x 2k skew matrix."""
    k = x.shape[-1]
    z = ROOT * rng.standard_normal(x.shape)
    s = x.swapaxes(-1, -2) @ z
    a = (s - s.swapaxes(-1, -2)) / np.sqrt(2)
    q, r = np.linalg.qr(z - x @ s)
    m = np.zeros((len(x), 2 * k, 2 * k))
    m[:, :k, :k], m[:, k:, :k], m[:, :k, k:] = a, r, -r.swapaxes(-1, -2)
    w, u = np.linalg.eigh(-1j * m)
    e = ((u * np.exp(1j * w)[:, None, :]) @ np.conj(u.swapaxes(-1, -2))).real
    return x @ e[:, :k, :k] + q @ e[:, k:, :k]


def geomstats_steps() -> dict[str, Step]:
    """The same walks with geomstats' exponential maps, empty where it is not installed."""
    try:
        from geomstats.geometry.grassmannian import Grassmannian
        from geomstats.geometry.hypersphere import Hypersphere
        from geomstats.geometry.special_orthogonal import SpecialOrthogonal
        from geomstats.geometry.stiefel import Stiefel
    except ImportError:
        return {}

    def walk_with(space: object, tangent: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Step:
        return lambda x, rng: space.metric.exp(tangent(x, rng), x)

    def sphere(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        v = ROOT * rng.standard_normal(x.shape)
        return v - np.sum(x * v, axis=-1, keepdims=True) * x

    def rotation(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = ROOT * rng.standard_normal(x.shape)
        return x @ ((z - z.swapaxes(-1, -2)) / np.sqrt(2))

    def stiefel(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = ROOT * rng.standard_normal(x.shape)
        s = x.swapaxes(-1, -2) @ z
        return z + x @ ((s - s.swapaxes(-1, -2)) / np.sqrt(2) - s)

    def grassmann(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Projectors: tangent vectors are [[p, skew]]."""
        z = ROOT * rng.standard_normal(p.shape)
        h = (np.eye(p.shape[-1]) - p) @ z @ p
        return h + h.swapaxes(-1, -2)

    return {
        "Sphere(2)": walk_with(Hypersphere(2), sphere),
        "Sphere(9)": walk_with(Hypersphere(9), sphere),
        "SpecialOrthogonal(3)": walk_with(SpecialOrthogonal(3), rotation),
        "SpecialOrthogonal(5)": walk_with(SpecialOrthogonal(5), rotation),
        "Grassmann(4, 2)": walk_with(Grassmannian(4, 2), grassmann),
        "Stiefel(5, 2)": walk_with(Stiefel(5, 2), stiefel),
    }


PLAIN: dict[hg.Manifold, Step] = {
    hg.Sphere(2): plain_sphere,
    hg.Sphere(9): plain_sphere,
    hg.SpecialOrthogonal(3): plain_quaternion,
    hg.SpecialOrthogonal(5): plain_rotation,
    hg.Grassmann(4, 2): plain_grassmann,
    hg.Stiefel(5, 2): plain_stiefel,
}


def loop_rate(step: Step, x: np.ndarray, seconds: float) -> float:
    rng = np.random.default_rng(0)
    x = step(x, rng)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        x = step(x, rng)
        count += 1
    return count * len(x) / (time.perf_counter() - begin)


def own_rate(manifold: hg.Manifold, paths: int, seconds: float) -> float:
    hg.walk(manifold, manifold.origin, [STEP], paths=paths, step=STEP, rng=0)
    steps = 10
    while True:  # as many steps as fill the time
        begin = time.perf_counter()
        hg.walk(manifold, manifold.origin, [STEP * steps], paths=paths, step=STEP, rng=0)
        taken = time.perf_counter() - begin
        if taken > seconds / 2:
            return paths * steps / taken
        steps *= 2


def start(manifold: hg.Manifold, paths: int, kind: str) -> np.ndarray:
    x = manifold.origin
    if isinstance(manifold, hg.SpecialOrthogonal) and manifold.n == 3 and kind == "plain":
        x = Rotation.from_matrix(x).as_quat(scalar_first=True)
    if isinstance(manifold, hg.Grassmann) and kind == "geomstats":
        x = x @ x.T
    return np.repeat(x[None], paths, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1.0, help="of one turn")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    peers = geomstats_steps()
    print(f"path-steps a second, {options.paths} paths, one thread, best of {options.turns} turns")
    print(f"{'manifold':24}{'heatgp':>12}{'plain':>12}{'geomstats':>12}{'/plain':>9}{'/geomstats':>12}")
    for manifold, plain in PLAIN.items():
        peer = peers.get(repr(manifold))
        own, loop, other = 0.0, 0.0, float("nan")
        for _ in range(options.turns):
            own = max(own, own_rate(manifold, options.paths, options.seconds))
            loop = max(loop, loop_rate(plain, start(manifold, options.paths, "plain"), options.seconds))
            if peer:
                x = start(manifold, options.paths, "geomstats")
                other = np.fmax(other, loop_rate(peer, x, options.seconds))
        print(f"{manifold!r:24}{own:12.3g}{loop:12.3g}{other:12.3g}{own / loop:9.2f}{own / other:12.1f}", flush=True)


if __name__ == "__main__":
    main()
