"""How wide the weak priors of a regression should be: predictions of functions drawn from wide laws.

Functions in the plane are drawn from the model with a length, a noise and a number of data that vary widely, and half
of them with a kernel that is rougher than that of the model. Printed for each choice of priors are the negative log
density of new observations above that with the true parameters (nats an observation; mean, one standard error over
draws, median), and the share of new observations in their 90 % interval.

    OMP_NUM_THREADS=1 python benchmarks/weak_priors.py [--draws 100]
"""

import argparse
import warnings

import numpy as np

import heatgp as hg
from heatgp.estimators.time_bounds import time_bounds
from heatgp.gp.parameters import LogNormal, Priors
from heatgp.gp.scores import coverage, negative_log_density

PLANE, KERNEL = hg.Euclidean(2), hg.heat_kernel(hg.Euclidean(2))
NUMBERS = (5, 10, 20, 40, 100)
NEW = 100
CHOICES = {  # spreads of amplitude and of noise about 0.1; bounds of the time in standard deviations
    "none": (None, None, None),
    "time alone": (None, None, 2.0),
    "1.5, 2.5, 2": (1.5, 2.5, 2.0),
    "2.0, 2.5, 2": (2.0, 2.5, 2.0),
    "3.0, 2.5, 2": (3.0, 2.5, 2.0),
    "3.0, 2.0, 2": (3.0, 2.0, 2.0),
    "1.5, 1.5, 2": (1.5, 1.5, 2.0),
    "1.0, 1.5, 2": (1.0, 1.5, 2.0),
    "1.5, 2.5, 1": (1.5, 2.5, 1.0),
}


def task(number, seed):
    """Points, observations and the density and coverage of new ones with the true parameters."""
    rng = np.random.default_rng([seed, number])
    X = rng.uniform(0, 2, (number + NEW, 2))
    time, noise = rng.uniform(0.15, 1.5) ** 2, 10 ** rng.uniform(-3, 0.5)
    if seed % 2:  # lengths mixed over a decade: rougher than the heat kernel of any one time
        times = time * np.array([1.0, 0.3, 0.1])
        K = sum(w * KERNEL(X, time=t) / KERNEL.diag(X[:1], time=t)[0] for w, t in zip((0.6, 0.3, 0.1), times))
    else:
        K = KERNEL(X, time=time) / KERNEL.diag(X[:1], time=time)[0]
    values, vectors = np.linalg.eigh(K)
    f = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(len(X)))
    y = f + np.sqrt(noise) * rng.standard_normal(len(X)) + 10 * rng.standard_normal()
    gp = hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=noise)
    gp.fit(K[:number, :number], y[:number])
    mean, std = gp.predict(K[number:, :number], return_std=True)
    return X, y, negative_log_density(y[number:], mean, std**2 + noise)


def scores(choice, number, seed):
    """Log density lost, and coverage."""
    X, y, least = task(number, seed)
    amplitude, noise, edge = CHOICES[choice]
    variance = np.var(y[:number], ddof=1)
    low, high = time_bounds(KERNEL, X[:number])
    priors = Priors(
        time=None if edge is None else LogNormal(np.sqrt(low * high), np.log(high / low) / (2 * edge)),
        amplitude=None if amplitude is None else LogNormal(variance, amplitude),
        noise=None if noise is None else LogNormal(0.1, noise),
    )
    gp = hg.GPRegressor(PLANE, priors=priors).fit(X[:number], y[:number])
    mean, std = gp.predict(X[number:], return_std=True)
    variance = std**2 + gp.noise_
    return negative_log_density(y[number:], mean, variance) - least, coverage(y[number:], mean, variance)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")
    print(f"{'N =':<14}", *(f"{n:>28}" for n in NUMBERS))
    for choice in CHOICES:
        cells = []
        for number in NUMBERS:
            lost, covered = np.array([scores(choice, number, seed) for seed in range(draws)]).T
            error = lost.std(ddof=1) / np.sqrt(draws)
            cells.append(f"{lost.mean():6.3f} ± {error:.3f} ({np.median(lost):6.3f}), {100 * covered.mean():4.1f}")
        print(f"{choice:<14}", *(f"{cell:>28}" for cell in cells), flush=True)
