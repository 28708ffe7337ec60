"""Time and error of Gram matrices: heatgp's exact kernels beside GeometricKernels with each of its installed backends.

    OMP_NUM_THREADS=1 python benchmarks/bench_gram.py [--sizes 1000 2000] [--kappa 0.1 0.3]

Conventions: GeometricKernels' heat kernel with length-scale kappa, one on the diagonal, is ours at t = kappa² on
spheres, hyperbolic spaces and SO(n), and at t = kappa²/2 on SU(n), whose metric is tr(X*X) there. On hyperbolic spaces
it is an average over random phases, by default 3,000. Errors are the largest over a few pairs from the diagonal to far
away, against series in 60 digits (mpmath). Times are the best of a few calls after one that compiles. GeometricKernels
and its backends are optional.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import time
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

import heatgp as hg
from heatgp.manifolds.parse import parse

logging.disable(logging.INFO)

SPACES = (
    hg.Sphere(2),
    hg.Sphere(9),
    hg.SpecialOrthogonal(3),
    hg.SpecialUnitary(2),
    hg.SpecialUnitary(3),
    hg.SpecialOrthogonal(5),
    hg.Hyperbolic(2),
    hg.Hyperbolic(3),
    hg.Hyperbolic(5),
)
DIGITS = 60
CHECKED = 8  # points whose pairs are computed in high precision


def our_time(M: hg.Manifold, kappa: float) -> float:
    return kappa**2 / (2 if isinstance(M, hg.SpecialUnitary) else 1)


def reference(M: hg.Manifold, X: np.ndarray, t: float) -> np.ndarray:
    """p_t / p_t(x, x) of all pairs of X in high precision."""
    with mp.workdps(DIGITS):
        theta = M.orbit(X[:, None], X[None])
        zero = _density(M, [mp.mpf(0)] * theta.shape[-1], t)
        out = np.eye(len(X))
        for i in range(len(X)):
            for j in range(i):
                out[i, j] = out[j, i] = float(_density(M, [mp.mpf(float(a)) for a in theta[i, j]], t) / zero)
        return out


def _density(M: hg.Manifold, theta: list[Any], t: float) -> Any:
    """Spheres: Gegenbauer series. Groups: images of the Gaussian (Poisson's form of the character sum).

    Hyperbolic spaces: derivatives of the Gaussian in cosh r; McKean's integral on H².
    """
    if isinstance(M, hg.Hyperbolic):
        return _hyperbolic(M.n, theta[0], mp.mpf(t))
    if isinstance(M, hg.Sphere):
        return _sphere(M.dim, theta[0], t)
    if isinstance(M, hg.SpecialUnitary) and M.n == 2:
        return _sphere(3, abs(theta[0]), t)
    if isinstance(M, hg.SpecialOrthogonal) and M.n == 3:  # the unit S^3 at half the angle and a quarter of the time
        half = theta[0] / 2
        return _sphere(3, half, t / 4) + _sphere(3, mp.pi - half, t / 4)
    return _character_sum(M, _separated(theta), t)


def _hyperbolic(n: int, r: Any, t: Any) -> Any:
    """(-d/du)^m exp(-r²/2t), u = cosh r, for n = 2m + 1, and its integral for n = 2, up to a constant."""
    m, u = n // 2, mp.cosh(r)

    def derivative(at: Any) -> Any:
        return (-1) ** m * mp.re(mp.diff(lambda x: mp.exp(-(mp.acosh(x) ** 2) / (2 * t)), at, m))

    if n % 2:
        return derivative(u)
    end = mp.asinh(mp.sqrt(mp.cosh(mp.sqrt(r**2 + 200 * t)) - u))
    return mp.quad(lambda y: derivative(u + mp.sinh(y) ** 2) * mp.cosh(y), mp.linspace(0, end, 9))


def _separated(theta: list[Any]) -> list[Any]:
    """Coinciding angles moved by 1e-20: the quotient of determinants is smooth, and 60 digits can afford it."""
    shift = mp.mpf(10) ** -20
    moved = [a + (k + 1) * shift for k, a in enumerate(theta)]
    return moved


def _sphere(d: int, r: Any, t: float) -> Any:
    """Σ (2k + d - 1)/(d - 1) C_k^((d-1)/2)(cos r) exp(-k(k+d-1)t/2), up to a constant."""
    a, x, t = mp.mpf(d - 1) / 2, mp.cos(r), mp.mpf(t)
    before, now, total = mp.mpf(1), 2 * a * x, mp.mpf(1)
    for k in range(1, int(mp.sqrt(400 / t)) + 10):
        total += (k + a) / a * now * mp.exp(-k * (k + 2 * a) * t / 2)
        before, now = now, (2 * (k + a) * x * now - (k + 2 * a - 1) * before) / (k + 1)
    return total


def _character_sum(M: hg.Manifold, theta: list[Any], t: float) -> Any:
    """det[F_a(theta_b)] / det[e_a(theta_b)], up to a constant. SU(3): weights modulo the common shift."""
    t = mp.mpf(t)
    most = int(mp.sqrt(250 / t)) + 6
    if isinstance(M, hg.SpecialOrthogonal):  # SO(5)
        rho = [mp.mpf(3) / 2, mp.mpf(1) / 2]
        sums = [
            [
                mp.fsum(
                    (k + mp.mpf(1) / 2) ** (2 * a + 1)
                    * mp.sin((k + mp.mpf(1) / 2) * b)
                    * mp.exp(-t * (k + mp.mpf(1) / 2) ** 2 / 2)
                    for k in range(most)
                )
                for b in theta
            ]
            for a in (1, 0)
        ]
        return mp.det(mp.matrix(sums)) / mp.det(mp.matrix([[mp.sin(r * b) for b in theta] for r in rho]))
    # SU(3): average over the centre of U(3)'s phase, restricted to sum zero: three classes of weights
    theta = [*theta[:2], -theta[0] - theta[1]]
    total = mp.mpf(0)
    for residue in range(3):
        shift = mp.mpf(residue) / 3
        rows = [
            [
                mp.fsum(
                    (k - shift) ** a * mp.expj((k - shift) * b) * mp.exp(-t * (k - shift) ** 2)
                    for k in range(-most, most + 1)
                )
                for b in theta
            ]
            for a in (2, 1, 0)
        ]
        total += mp.det(mp.matrix(rows))
    return mp.re(total / mp.det(mp.matrix([[mp.expj(r * b) for b in theta] for r in (1, 0, -1)])))


def rivals(M: hg.Manifold, kappa: float) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """GeometricKernels' Gram function in each installed backend."""
    try:
        import geometric_kernels.spaces as spaces
        from geometric_kernels.kernels import MaternGeometricKernel
    except ImportError:
        return {}
    if isinstance(M, hg.Sphere):
        space = spaces.Hypersphere(M.dim)
    else:
        space = getattr(spaces, type(M).__name__)(M.n)
    kernel = MaternGeometricKernel(space, **({"key": np.random.RandomState(0)} if isinstance(M, hg.Hyperbolic) else {}))

    def gram(convert: Callable[[Any], Any]) -> Callable[[np.ndarray], np.ndarray]:
        params = {"nu": convert(np.array([np.inf])), "lengthscale": convert(np.array([kappa]))}
        return lambda X: np.asarray(kernel.K(params, convert(X), convert(X)))

    found = {"numpy": gram(np.asarray)}
    for name, module, array in (("jax", "jax.numpy", "asarray"), ("torch", "torch", "tensor")):
        try:
            importlib.import_module(f"geometric_kernels.{name}")
            library = importlib.import_module(module)
        except ImportError:
            continue
        if name == "jax":
            importlib.import_module("jax").config.update("jax_enable_x64", True)
        found[name] = gram(getattr(library, array))
    return found


def best(function: Callable[[], Any], turns: int) -> float:
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000])
    parser.add_argument("--kappa", type=float, nargs="+", default=[0.3])
    parser.add_argument("--backends", nargs="+", default=["numpy", "jax", "torch"])
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--spaces", nargs="+", default=[repr(M) for M in SPACES])
    options = parser.parse_args()
    print(f"{'space':22}{'kappa':>6}{'n':>6}  {'library':24}{'seconds':>9}{'/ours':>8}{'error':>10}")
    for M in map(parse, options.spaces):
        for kappa in options.kappa:
            t = our_time(M, kappa)
            X = M.random(np.random.default_rng(0), max(options.sizes))
            near = M.exp(X[:1], 0.3 * kappa * M.noise(X[:1], X[1:CHECKED] + 0 * X[:1]))
            checked = np.concatenate((X[:1], near))
            truth = reference(M, checked, t)
            kernel = hg.heat_kernel(M, "exact")
            at_zero = float(kernel.diag(X[:1], t)[0])
            own_error = np.abs(kernel(checked, time=t) / at_zero - truth).max()
            for n in options.sizes:
                own = best(lambda n=n, X=X, t=t, k=kernel: k(X[:n], time=t), 5)
                print(f"{M!r:22}{kappa:6g}{n:6d}  {'heatgp':24}{own:9.3f}{1:8.0f}{own_error:10.1e}", flush=True)
                for name, gram in rivals(M, kappa).items():
                    if name not in options.backends:
                        continue
                    error = np.abs(gram(checked) - truth).max()
                    gram(X[:n])
                    taken = best(lambda n=n, X=X, g=gram: g(X[:n]), options.turns)
                    label = f"GeometricKernels {name}"
                    print(f"{'':34}  {label:24}{taken:9.3f}{taken / own:8.0f}{error:10.1e}", flush=True)


if __name__ == "__main__":
    main()
