"""Cross entropy of GPClassifier on tasks with and without signal, beside the shares of the classes and plain evidence.

    OMP_NUM_THREADS=1 HEATGP_DATA=folder python benchmarks/classification_tasks.py [--quick]

"plain" is the model without weak priors, label noise and constant. Differences are means over splits or
seeds, with their standard errors. Real data are left out where the folder does not hold them.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np

import heatgp as hg
from heatgp.datasets import DataMissing, drill, dti, gorillas
from heatgp.errors import BoundWarning
from heatgp.gp.scores import cross_entropy

PLAIN = {"priors": None, "label_noise": 0.0, "mean": "zero"}
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def labels(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random classes, one for each row of probabilities."""
    return (rng.uniform(size=(len(probabilities), 1)) > np.cumsum(probabilities, axis=1)).sum(axis=1)


def simulated(M: hg.Manifold, law: Callable[[np.ndarray], np.ndarray], number: int, seeds: int) -> Iterator[Split]:
    """Points of the uniform law, with classes from probabilities that depend on them."""
    for seed in range(1000, 1000 + seeds):
        rng = np.random.default_rng(seed)
        X = M.random(rng, number + 500)
        y = labels(law(X), rng)
        yield X[:number], y[:number], X[number:], y[number:]


def random_splits(X: np.ndarray, y: np.ndarray, training: int, seeds: int) -> Iterator[Split]:
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        a, b = order[:training], order[training:]
        yield X[a], y[a], X[b], y[b]


def left_out(X: np.ndarray, y: np.ndarray, groups: np.ndarray, most: int) -> Iterator[Split]:
    for group in np.unique(groups)[:most]:
        out = groups == group
        yield X[~out], y[~out], X[out], y[out]


def two(p: np.ndarray) -> np.ndarray:
    return np.stack([1 - p, p], axis=1)


def same(*shares: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: np.tile(shares, (len(X), 1))


def nearest(corners: np.ndarray, sharpness: float) -> Callable[[np.ndarray], np.ndarray]:
    """Classes whose probability grows with |<x, corner>|²."""

    def law(X: np.ndarray) -> np.ndarray:
        close = np.exp(sharpness * np.abs(X.reshape(len(X), -1) @ corners.conj().T) ** 2)
        return close / close.sum(axis=1, keepdims=True)

    return law


def tasks(quick: bool) -> Iterator[tuple[str, hg.Manifold, Iterator[Split]]]:
    seeds = 2 if quick else 8
    S2, CP2, SO3, T2, G = (
        hg.Sphere(2),
        hg.ComplexProjective(2),
        hg.SpecialOrthogonal(3),
        hg.Torus(2),
        hg.Grassmann(4, 2),
    )
    yield "S², no signal", S2, simulated(S2, same(0.5, 0.5), 80, seeds)
    yield "CP², no signal, 15 %", CP2, simulated(CP2, same(0.85, 0.15), 80, seeds)
    yield "SO(3), no signal, 3 classes", SO3, simulated(SO3, same(0.4, 0.3, 0.3), 90, seeds)
    yield "T², no signal, N = 300", T2, simulated(T2, same(0.5, 0.5), 300, seeds)
    yield "complex Gr(4, 2), no signal, N = 40", G, simulated(G, same(0.7, 0.3), 40, seeds)
    yield "S², separated", S2, simulated(S2, lambda X: two((X[:, 0] > 0.2).astype(float)), 80, seeds)
    yield "CP², 10 % at random", CP2, simulated(CP2, lambda X: two(0.05 + 0.9 * (np.abs(X[:, 0]) > 0.6)), 120, seeds)
    yield "SO(3), weak signal", SO3, simulated(SO3, lambda X: two(0.5 + 0.2 * X[:, 0, 0]), 120, seeds)
    yield "T², smooth", T2, simulated(T2, lambda X: two(0.5 + 0.45 * np.sin(X[:, 0] + X[:, 1])), 150, seeds)
    yield "CP², 3 classes", CP2, simulated(CP2, nearest(np.eye(3), 8.0), 120, seeds)
    try:
        for kind in ("shape", "raw", "unit"):
            d = gorillas(representation=kind)
            yield f"gorillas, {kind}", d.manifold, random_splits(d.X, d.y, 50, 2 * seeds)
        d = dti(log=True)
        for site in (0, 30, 60):
            yield f"connectomes, site {site}", d.manifold, random_splits(d.X[:, site], d.y, 70, seeds)
        d = drill()
        yield "drill", d.manifold, left_out(d.X, d.y, d.groups, seeds)
    except DataMissing as error:
        print(f"left out: {error}")


def scores(M: hg.Manifold, split: Split) -> tuple[float, float, float]:
    """Cross entropy of the model, of the plain one and of the shares of the classes."""
    X, y, X_test, y_test = split
    classes, counts = np.unique(y, return_counts=True)
    truth = np.searchsorted(classes, y_test)
    found = [hg.GPClassifier(M, **options).fit(X, y).predict_proba(X_test) for options in ({}, PLAIN)]
    found.append(np.tile((counts + 1) / (counts.sum() + len(classes)), (len(truth), 1)))
    now, plain, shares = (cross_entropy(truth, p, floor=1e-15) for p in found)
    return now, plain, shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds")
    warnings.simplefilter("ignore", BoundWarning)
    print("| task | cross entropy | less shares | plain | less plain |\n| --- | --- | --- | --- | --- |")
    for name, M, splits in tasks(parser.parse_args().quick):
        table = np.array([scores(M, split) for split in splits])
        gains = table[:, :1] - table[:, 1:]
        errors = gains.std(axis=0, ddof=1) / len(gains) ** 0.5
        less_plain, less_shares = (f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(gains.mean(axis=0), errors))
        plain = f"{table[:, 1].mean():.4f} ± {table[:, 1].std(ddof=1) / len(table) ** 0.5:.4f}"
        print(f"| {name} | {table[:, 0].mean():.4f} | {less_shares} | {plain} | {less_plain} |", flush=True)


if __name__ == "__main__":
    main()
