"""How wide the weak priors of a classifier should be: predictions of labels drawn from wide laws.

Labels of four kinds are drawn in turn: of shares that are the same at all points; of a function with the probit law,
without and with a share of random labels; and of the sign of a function. Lengths, variances, shares and numbers of data
vary widely. Printed for each choice of priors is the cross entropy of new labels above that of their true probabilities
(nats a label; mean and one standard error over draws), kind by kind and over all.

    OMP_NUM_THREADS=1 python benchmarks/weak_priors_of_labels.py [--draws 60]
"""

import argparse
import warnings

import numpy as np
from scipy.special import ndtr

import heatgp as hg
from heatgp.gp.fit_latent import WEAK_LABEL_NOISE
from heatgp.gp.priors import LogNormal, Priors

MANIFOLDS = (hg.Sphere(3), hg.RealProjective(2), hg.Euclidean(2))
NUMBERS = (30, 60, 120)
NEW = 300
KINDS = ("no signal", "probit", "label noise", "sign")
CHOICES = {  # standard deviations of log variance, and those at which the bounds of the time are
    "none": None,
    "3, 2": (3.0, 2.0),
    "6, 2": (6.0, 2.0),
    "9, 2": (9.0, 2.0),
    "6, 1": (6.0, 1.0),
    "9, 1": (9.0, 1.0),
    "6, flat": (6.0, None),
    "9, flat": (9.0, None),
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
