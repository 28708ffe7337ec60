"""How often intervals and class probabilities hold with few data, beside scikit-learn's Gaussian process.

Functions on S^2 (scikit-learn: in the plane) are drawn from the model itself, with known time, amplitude and noise.
Models then learn all parameters, or get some of them. Printed are the shares of new observations in their 90 %
interval, with one standard error over draws; and for classes the mean probability of the predicted class less the share
of right predictions, which says how much too sure it is.

    OMP_NUM_THREADS=1 python benchmarks/small_samples.py [--draws 100]
"""

import argparse
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import heatgp as hg
from heatgp.gp.scores import coverage

SPHERE = hg.Sphere(2)
NUMBERS = (3, 5, 10, 20, 40)
NEW = 100
TRUE = {"time": 0.3, "amplitude": 1.0, "noise": 0.09}
GIVEN = {
    "all learned": (),
    "all learned, priors=None": (),
    "time given": ("time",),
    "time, noise given": ("time", "noise"),
    "all given": ("time", "amplitude", "noise"),
}


def draw(manifold, number, rng):
    """Points and a function on them, of the law of the model."""
    X = manifold.random(rng, number + NEW)
    K = hg.heat_kernel(manifold)(X, time=TRUE["time"])
    values, vectors = np.linalg.eigh(K / K[0, 0])
    return X, 2 + vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(X)))


def regression(manifold, given, number, seed, priors="weak"):
    """The share of new observations in their interval."""
    rng = np.random.default_rng(seed)
    X, f = draw(manifold, number, rng)
    y = f + np.sqrt(TRUE["noise"]) * rng.standard_normal(len(X))
    gp = hg.GPRegressor(manifold, priors=priors, **{name: TRUE[name] for name in given}).fit(X[:number], y[:number])
    mean, std = gp.predict(X[number:], return_std=True)
    return coverage(y[number:], mean, std**2 + gp.noise_)


def peer(number, seed):
    """The same with scikit-learn's Gaussian process in the plane: y normalised, ten starts."""
    rng = np.random.default_rng(seed)
    X, f = draw(hg.Euclidean(2), number, rng)
    y = f + np.sqrt(TRUE["noise"]) * rng.standard_normal(len(X))
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=10, random_state=0)
    mean, std = model.fit(X[:number], y[:number]).predict(X[number:], return_std=True)
    return coverage(y[number:], mean, std**2)


def classification(manifold, given, number, seed):
    """How much larger the stated probability of being right is than the share of right predictions."""
    rng = np.random.default_rng(seed)
    X, f = draw(manifold, number, rng)
    y = 2 * (f - 2) + rng.standard_normal(len(X)) > 0  # amplitude 4
    if y[:number].all() or not y[:number].any():
        return np.nan
    values = {"time": TRUE["time"], "amplitude": 4.0}
    gp = hg.GPClassifier(manifold, **{name: values[name] for name in given if name in values}).fit(
        X[:number], y[:number]
    )
    probability = gp.predict_proba(X[number:])
    return np.mean(probability.max(axis=1) - (gp.classes_[probability.argmax(axis=1)] == y[number:]))


def row(name, measure, draws):
    """One line: mean and standard error at each number of points."""
    cells = []
    for number in NUMBERS:
        values = 100 * np.array([measure(number, seed) for seed in range(draws)])
        values = values[np.isfinite(values)]
        cells.append(f"{values.mean():6.1f} ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}")
    print(f"{name:<36}", *cells, sep="  ", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")  # what the warnings are about is measured here
    print(f"{'N =':<36}", *(f"{n:12}" for n in NUMBERS))
    for name, given in GIVEN.items():
        priors = None if "None" in name else "weak"
        row(f"coverage, {name}", lambda n, s, g=given, p=priors: regression(SPHERE, g, n, s, p), draws)
    row("coverage, scikit-learn, all learned", peer, draws)
    for name in ("all learned", "time given", "all given"):
        row(f"too sure, {name}", lambda n, s, g=GIVEN[name]: classification(SPHERE, g, n, s), draws)
