"""Walks, kernels and fits with fixed seeds, to compare between versions of NumPy, processors and numbers of threads.

OMP_NUM_THREADS=1 python benchmarks/compare_bits.py one.npz      # write, in one environment
OMP_NUM_THREADS=2 python benchmarks/compare_bits.py two.npz      # and in another
python benchmarks/compare_bits.py one.npz two.npz                # the largest difference over the largest value
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import heatgp as hg


def equation(x: np.ndarray) -> np.ndarray:
    return x[..., 0] ** 2 + x[..., 1] ** 2 + x[..., 2] ** 2 / 2 - 1


SPACES = (
    hg.Sphere(2),
    hg.SpecialOrthogonal(3),
    hg.SpecialOrthogonal(5),
    hg.ComplexProjective(4),
    hg.Grassmann(5, 2),
    hg.Unitary(3),
    hg.Stiefel(5, 2),
    hg.Torus(2),
    hg.Euclidean(3),
)
OWN = (
    hg.Implicit(equation, 2, 3, bounds=((-1.1, 1.1), (-1.1, 1.1), (-1.5, 1.5))),
    hg.Domain(hg.Euclidean(2), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]),
)
STARTS = (np.array([1.0, 0, 0]), np.array([0.5, 0.5]))


def values() -> dict[str, np.ndarray]:
    """What is compared, by name."""
    found: dict[str, np.ndarray] = {}
    for M, start in [*((M, M.origin) for M in SPACES), *zip(OWN, STARTS)]:
        found[f"random points, {M!r}"] = np.asarray(M.random(np.random.default_rng(1), 30))
        found[f"walk, {M!r}"] = np.asarray(hg.walk(M, start, [0.1, 0.3], paths=2000, step=0.01, rng=0))
    S2, planes = SPACES[0], SPACES[4]
    estimates = {"strip": S2, "ball": S2, "smooth": planes}
    for M in SPACES:
        if M not in (SPACES[4], SPACES[6]):
            found[f"exact kernel, {M!r}"] = hg.heat_kernel(M, "exact")(M.random(np.random.default_rng(1), 30), time=0.2)
    for method, M in estimates.items():
        design = {} if method == "smooth" else {"times": [0.2], "step": 0.02}
        kernel = hg.heat_kernel(M, method, paths=5000, cache=False, **design)
        found[f"{method} kernel, {M!r}"] = kernel(M.random(np.random.default_rng(1), 30), time=0.2)
    for M in OWN:
        kernel = hg.heat_kernel(M, "reference", references=60, paths=12_000, cache=False)
        found[f"reference kernel, {M!r}"] = kernel(M.random(np.random.default_rng(1), 30), time=2.0)
    for M in (SPACES[0], SPACES[1], SPACES[3]):
        X = M.random(np.random.default_rng(2), 60)
        flat = np.real(X.reshape(60, -1))
        y = flat[:, 0] * flat[:, 1] + 0.05 * np.random.default_rng(3).standard_normal(60)
        gp = hg.GPRegressor(M).fit(X, y)
        found[f"parameters of a fit, {M!r}"] = np.array([gp.time_, gp.amplitude_, gp.noise_])
        found[f"log evidence, {M!r}"] = np.array(gp.log_marginal_likelihood())
        found[f"predictions, {M!r}"] = np.array(gp.predict(X[:20], return_std=True))
    X = S2.random(np.random.default_rng(2), 60)
    found[f"probabilities, {S2!r}"] = hg.GPClassifier(S2).fit(X, X[:, 0] > 0.2).predict_proba(X[:20])
    return found


def main() -> None:
    if len(sys.argv) == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hg.errors.AccuracyWarning)
            np.savez(sys.argv[1], **values())  # type: ignore[arg-type]
        return
    one, two = (np.load(file) for file in sys.argv[1:3])
    for name in one.files:
        same = np.array_equal(one[name], two[name])
        difference = np.abs(one[name] - two[name]).max() / np.abs(one[name]).max()
        print(f"{name:50} {'same bits' if same else f'{difference:.1e}'}")


if __name__ == "__main__":
    main()
