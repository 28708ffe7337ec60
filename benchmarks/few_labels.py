"""Few labels in many dimensions: is GPClassifier too sure of itself, and does it lose to simpler models?

Simulated labels, of which settings may be chosen: points of R^20, log-normal matrices of SPD(3), shapes near a mean
shape in CP^8 and points of S^2. Two or three classes depend on nothing, on a direction in the embedding, on the square
of one, or on a function of a heat kernel; the strength is random, and in half of them a tenth of the labels are random.
"Clouds" have one centre for each class, and one covariance, whose axes have different lengths. Real data, which are
looked at once (--real): parts of data sets of scikit-learn, and the gorillas where HEATGP_DATA is given.

Printed are cross entropies of new labels (nats), their differences to the first model with one standard error over
draws, and confidence (the probability of the predicted class) less accuracy.

    OMP_NUM_THREADS=1 HEATGP_DATA=folder python benchmarks/few_labels.py [--draws 8] [--real] [--kinds linear]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import heatgp as hg
from heatgp.datasets import DataMissing, gorillas
from heatgp.gp.kernels import Normalized

NEW = 400
PLACES = ("R^20", "SPD(3)", "CP^8", "S^2")
KINDS = ("no signal", "linear", "square", "function", "clouds")


def points(place, rng, number, y=None):
    """Points of a law with many dimensions; with labels y, of clouds that have one covariance."""
    if place == "R^20" and y is None:
        return hg.Euclidean(20), rng.standard_normal((number, 20))
    if place == "R^20":
        M, start, spread = hg.Euclidean(20), np.zeros((number, 20)), 1.0
    elif place == "SPD(3)":
        M, start, spread = hg.SPD(3), np.tile(np.eye(3), (number, 1, 1)), 0.4
    elif place == "CP^8":
        M, spread = hg.ComplexProjective(8), 0.1
        start = np.tile(M.random(rng, 1), (number, 1))
    elif y is None:
        return hg.Sphere(2), hg.Sphere(2).random(rng, number)
    else:
        M, start, spread = hg.Sphere(2), np.tile([0.0, 0.0, 1.0], (number, 1)), 0.3
    size = start[0].size * (1 + np.iscomplexobj(start))
    z = rng.standard_normal((number, size))
    if y is not None:  # principal axes of decreasing lengths, and centres that need not be along the long ones
        centers = rng.standard_normal((y.max() + 1, size)) * rng.uniform(0.5, 3) / np.sqrt(size)
        z = ((z + centers[y]) * 0.8 ** np.arange(size)) @ np.linalg.qr(rng.standard_normal((size, size)))[0]
    z = z[:, : start[0].size] + (1j * z[:, start[0].size :] if np.iscomplexobj(start) else 0)
    return M, M.exp(start, spread * M.noise(start, z.reshape(start.shape)))


def task(place, kind, classes, seed):
    """Points, labels and the number to learn from."""
    rng = np.random.default_rng([seed, PLACES.index(place), KINDS.index(kind), classes])
    number = (40, 60, 90)[seed % 3]
    if kind == "clouds":
        y = rng.integers(classes, size=number + NEW)
        return *points(place, rng, number + NEW, y), y, number
    M, X = points(place, rng, number + NEW)
    H = M.embed(X).reshape(len(X), -1)
    H = H - H.mean(axis=0)
    f = H @ rng.standard_normal((H.shape[1], classes))
    if kind == "square":
        f = f**2
    if kind == "function":
        t = np.median(((H[:50, None] - H[None, :50]) ** 2).sum(axis=2)) * rng.uniform(0.3, 1.5)
        values, vectors = np.linalg.eigh(Normalized(hg.heat_kernel(M)).pairs(X).at(t).value)
        f = vectors * np.sqrt(np.maximum(values, 0)) @ rng.standard_normal((len(X), classes))
    f = (f - f.mean(axis=0)) / f.std(axis=0) * (0 if kind == "no signal" else np.sqrt(10 ** rng.uniform(-0.5, 2) / 2))
    y = (f + 0.3 * rng.standard_normal(classes) + rng.standard_normal(f.shape) * 0.5**0.5).argmax(axis=1)
    y = np.where(rng.uniform(size=len(y)) < rng.choice([0.0, 0.1]), rng.integers(classes, size=len(y)), y)
    return M, X, y, number


def simulated(draws, kinds):
    for place in PLACES:
        for kind in kinds:
            for seed in range(draws):
                M, X, y, number = task(place, kind, 3 if seed % 4 == 3 else 2, seed)
                yield f"{place}, {kind}", M, X[:number], y[:number], X[number:], y[number:]


def real(draws):
    sets = {
        "iris": datasets.load_iris(return_X_y=True),
        "wine": datasets.load_wine(return_X_y=True),
        "breast cancer": datasets.load_breast_cancer(return_X_y=True),
        "digits 3, 5, 8": datasets.load_digits(return_X_y=True),
    }
    for name, (X, y) in sets.items():
        if name.startswith("digits"):
            kept = np.isin(y, (3, 5, 8))
            X, y = X[kept], y[kept]
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            a, b = order[:60], order[60:460]
            scale = StandardScaler(with_std=not name.startswith("digits")).fit(X[a])
            yield name, hg.Euclidean(X.shape[1]), scale.transform(X[a]), y[a], scale.transform(X[b]), y[b]
    try:
        for kind in ("shape", "unit"):
            d = gorillas(representation=kind)
            for seed in range(draws):
                order = np.random.default_rng(seed).permutation(len(d.y))
                a, b = order[:30], order[30:]
                yield f"gorillas, {kind}, N = 30", d.manifold, d.X[a], d.y[a], d.X[b], d.y[b]
    except DataMissing as error:
        print(f"left out: {error}")


def library(**options):
    return lambda M, X, y, new: hg.GPClassifier(M, **options).fit(X, y).predict_proba(new)


def flat(model):
    return lambda M, X, y, new: (
        model().fit(M.embed(X).reshape(len(X), -1), y).predict_proba(M.embed(new).reshape(len(new), -1))
    )


def shares(M, X, y, new):
    counts = np.unique(y, return_counts=True)[1] + 1
    return np.tile(counts / counts.sum(), (len(new), 1))


MODELS = {
    "default": library(),
    "heat": library(smoothness=np.inf),
    "None": library(integrate=None),
    "grid": library(integrate="grid"),
    "linear": library(mean="linear"),
    "linear grid": library(mean="linear", integrate="grid"),
    "shares": shares,
    "RBF": flat(
        lambda: make_pipeline(
            StandardScaler(), GaussianProcessClassifier(ConstantKernel() * RBF(5.0), n_restarts_optimizer=2)
        )
    ),
    "logistic": flat(
        lambda: make_pipeline(
            StandardScaler(), LogisticRegressionCV(Cs=np.logspace(-4, 3, 12), scoring="neg_log_loss", cv=5)
        )
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--models", nargs="+", default=["default", "None", "linear", "shares", "RBF", "logistic"])
    parser.add_argument("--keep", help="a file for all scores")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tasks = real(options.draws) if options.real else simulated(options.draws, options.kinds)
    found, seconds, names = {}, np.zeros(len(options.models)), options.models
    for name, M, X, y, new, truth in tasks:
        known = np.unique(y)
        kept = np.isin(truth, known)
        new, truth = new[kept], np.searchsorted(known, truth[kept])
        row = []
        for k, model in enumerate(names):
            start = time.process_time()
            p = np.clip(MODELS[model](M, X, y, new), 1e-12, 1)
            seconds[k] += time.process_time() - start
            entropy = -np.log(p[np.arange(len(truth)), truth]).mean()
            row.append((entropy, p.max(axis=1).mean() - (p.argmax(axis=1) == truth).mean()))
        found.setdefault(name, []).append(row)
        if options.keep:
            np.save(options.keep, {"names": names, "found": found}, allow_pickle=True)
    print("| task |", " | ".join(names), "|\n|", " | ".join(["---"] * (1 + len(names))), "|")
    single = dict(found)
    for kind in [] if options.real else options.kinds:
        found[f"all, {kind}"] = [row for name, rows in single.items() if name.endswith(kind) for row in rows]
    found["all"] = [row for rows in single.values() for row in rows]
    for name, rows in found.items():
        entropies = np.array(rows)[..., 0]
        less = entropies - entropies[:, :1]
        means, errors = less.mean(axis=0), less.std(axis=0, ddof=1) / len(less) ** 0.5
        cells = [f"{entropies[:, 0].mean():.4f}", *(f"{m:+.4f} ± {e:.4f}" for m, e in zip(means[1:], errors[1:]))]
        print(f"| {name} |", " | ".join(cells), "|")
    sure = np.array(found["all"])[..., 1].mean(axis=0)
    print("| confidence less accuracy |", " | ".join(f"{each:+.3f}" for each in sure), "|")
    print("| seconds of processor time |", " | ".join(f"{each / len(found['all']):.2f}" for each in seconds), "|")


if __name__ == "__main__":
    main()
