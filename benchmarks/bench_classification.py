"""Fits of two classes with everything learned, beside scikit-learn's Laplace classifier on the same points of R^3.

scikit-learn learns length-scale and amplitude (Constant * RBF) from one start. Ours looks at sixteen places and climbs
from the best two, by expectation propagation: "plain" learns the same two numbers, the default also the share of random
labels, with weak priors, a constant, and the probability that labels depend on the points. Seconds of processor time
are the least of several runs, taken in turn, so that other work on the machine weighs on all alike.

    OMP_NUM_THREADS=1 python benchmarks/bench_classification.py [--repeats 3]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from heatgp import Euclidean, GPClassifier

SPACE = Euclidean(3)
METHODS = {
    "scikit-learn": lambda: GaussianProcessClassifier(ConstantKernel() * RBF()),
    "heatgp": lambda: GPClassifier(SPACE),
    "heatgp, plain": lambda: GPClassifier(SPACE, label_noise=0, priors=None, mean="zero"),
}


def data(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0


def seconds(make, X, y):
    start = time.process_time()
    make().fit(X, y)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    for make in METHODS.values():  # imports and caches
        make().fit(*data(50))
    print("| N | method | seconds | over scikit-learn |\n| --- | --- | --- | --- |")
    for n in (300, 1000):
        found = np.array([[seconds(make, *data(n)) for make in METHODS.values()] for _ in range(repeats)]).min(axis=0)
        for name, least in zip(METHODS, found):
            print(f"| {n} | {name} | {least:.2f} | {least / found[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
