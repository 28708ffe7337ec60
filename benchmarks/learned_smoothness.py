"""The smoothness that is learned by default, from functions drawn with a known one, and what it costs.

    OMP_NUM_THREADS=1 python benchmarks/learned_smoothness.py [--spaces 0 1 2 3] [--sizes 300 1500]

Functions have the length 0.4, and noise of standard deviation 0.1 is added. Seconds are of processor, of a fit with the
heat kernel and of one by default; log evidences are those of both, and of a fit with the true smoothness.
"""

import argparse
import logging
import time
import warnings

import numpy as np

import heatgp as hg

SPACES = (hg.Sphere(2), hg.Euclidean(2), hg.SpecialOrthogonal(3), hg.Product(hg.Sphere(2), hg.Euclidean(1)))
SMOOTHNESS = (0.5, 1.0, 1.5, 3.0, np.inf)


def drawn(manifold, smoothness, number):
    """Points, and noisy values of a random function."""
    rng = np.random.default_rng(1)
    X = manifold.random(rng, number)
    K = hg.matern_kernel(manifold, smoothness)(X, time=0.16)
    root = np.linalg.cholesky(K / K[0, 0] + 1e-10 * np.eye(number))
    return X, root @ rng.standard_normal(number) + 0.1 * rng.standard_normal(number)


def fitted(manifold, X, y, **options):
    """The model, and its seconds of processor."""
    start = time.process_time()
    return hg.GPRegressor(manifold, **options).fit(X, y), time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spaces", nargs="+", type=int, default=list(range(len(SPACES))))
    parser.add_argument("--sizes", nargs="+", type=int, default=[300, 1500])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(f"{'space':36}{'N':>6}{'true':>6}{'found':>7}{'heat':>8}{'default':>9}   log evidence: heat, default, true")
    for manifold in (SPACES[k] for k in options.spaces):
        for number in options.sizes:
            for smoothness in SMOOTHNESS:
                X, y = drawn(manifold, smoothness, number)
                heat, before = fitted(manifold, X, y, smoothness=np.inf)
                model, after = fitted(manifold, X, y)
                true, _ = fitted(manifold, X, y, smoothness=smoothness)
                evidences = ", ".join(f"{each.log_marginal_likelihood():.1f}" for each in (heat, model, true))
                line = f"{manifold!r:36}{number:6}{smoothness:6.1f}{model.smoothness_:7.2f}{before:8.2f}{after:9.2f}"
                print(f"{line}   {evidences}", flush=True)


if __name__ == "__main__":
    main()
