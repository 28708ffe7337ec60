"""How wide the weak priors of a classifier should be: predictions of labels drawn from wide laws.

Labels of four kinds are drawn in turn: of shares that are the same at all points; of a function with the probit law,
without and with a share of random labels; and of the sign of a function. Lengths, variances, shares and numbers of data
vary widely. Printed for each choice of priors is the cross entropy of new labels above that of their true probabilities
(nats a label, mean over draws), kind by kind and over all, and how much it is above the first choice of priors, with
one standard error. "plain" has no priors, no label noise and no constant.

    OMP_NUM_THREADS=1 python benchmarks/weak_priors_of_labels.py [--draws 54]
"""

import argparse
import warnings

import numpy as np
from scipy.special import entr, ndtr, xlog1py, xlogy

import heatgp as hg
from heatgp.gp.parameters import LogNormal
from heatgp.gp.probit import Probit

MANIFOLDS = (hg.Sphere(3), hg.RealProjective(2), hg.Euclidean(2))
NUMBERS = (30, 60, 120)
NEW = 300
KINDS = ("no signal", "probit", "label noise", "sign")
CHOICES = {  # spread of the prior variance, median and spread of label noise, standard deviations at a bound of time
    "plain": None,
    "3; 0.005, 1.5": (3.0, 0.005, 1.5, 0.25),
    "6; 0.005, 1.5": (6.0, 0.005, 1.5, 0.25),
    "6; 0.005, 1.5; 2": (6.0, 0.005, 1.5, 2.0),
    "9; 0.005, 1.5": (9.0, 0.005, 1.5, 0.25),
    "9; 0.002, 2": (9.0, 0.002, 2.0, 0.25),
    "12; 0.001, 2.5": (12.0, 0.001, 2.5, 0.25),
}


def task(kind, seed):
    """Points and labels to learn from, new points, and the probability of the label 1 at these."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    M, number = MANIFOLDS[seed % 3], NUMBERS[seed // 3 % 3]
    flat = isinstance(M, hg.Euclidean)
    X = rng.uniform(0, 2, (number + NEW, 2)) if flat else M.random(rng, number + NEW)
    kernel, time = hg.heat_kernel(M), rng.uniform(0.15, 1.5) ** 2
    K = kernel(X, time=time) / kernel.diag(X[:1], time=time)[0]
    values, vectors = np.linalg.eigh(K)
    f = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(X)))
    f += rng.standard_normal()
    variance, share, random = 10 ** rng.uniform(-1, 2), rng.uniform(0.1, 0.9), rng.uniform(0, 0.2)
    p = {
        "no signal": np.full(len(X), share),
        "probit": ndtr(np.sqrt(variance) * f),
        "label noise": (1 - random) * ndtr(np.sqrt(variance) * f) + random / 2,
        "sign": (f > 0).astype(float),
    }[kind]
    y = rng.uniform(size=len(X)) < p
    return M, X[:number], y[:number], X[number:], p[number:]


def lost(choice, X, y, new, p, M):
    """The cross entropy of new labels above that of their probabilities p."""
    options = {"priors": None, "label_noise": 0.0, "mean": "zero"}
    if CHOICES[choice] is not None:
        variance, median, spread, Probit.time_edge = CHOICES[choice]
        Probit.weak_priors = {"amplitude": LogNormal(2.0, variance), "label_noise": LogNormal(median, spread)}
        options = {}
    q = hg.GPClassifier(M, **options).fit(X, y).predict_proba(new)[:, 1]
    q = np.clip(q, 1e-12, 1 - 1e-12)
    return float(np.mean(-xlogy(p, q) - xlog1py(1 - p, -q) - entr(p) - entr(1 - p)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--draws", type=int, default=54, help="of each kind; nine have all manifolds and numbers of data"
    )
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")
    found = {kind: [] for kind in KINDS}
    for seed in range(draws):
        for kind in KINDS:
            M, X, y, new, p = task(kind, seed)
            if y.any() and not y.all():
                found[kind].append([lost(choice, X, y, new, p, M) for choice in CHOICES])
    tables = [np.array(rows) for rows in found.values()]
    everything = np.concatenate(tables)
    above = everything - everything[:, 1:2]
    errors = above.std(axis=0, ddof=1) / np.sqrt(len(above))
    print(f"{'':<22}", *(f"{kind:>12}" for kind in (*KINDS, "all")), "  above the first")
    for k, choice in enumerate(CHOICES):
        cells = (f"{table[:, k].mean():12.4f}" for table in (*tables, everything))
        print(f"{choice:<22}", *cells, f"  {above[:, k].mean():+.4f} ± {errors[k]:.4f}")


if __name__ == "__main__":
    main()
