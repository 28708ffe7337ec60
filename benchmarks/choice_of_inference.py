"""Dense, sparse, neighbors and "auto": errors and processor seconds for smooth and rough functions, everything learned.

    python benchmarks/choice_of_inference.py [--number 5000] [--cases 0 1 2 ...] [--kinds dense sparse neighbors auto]

f is drawn with the kernel of the model; RMSE and NLPD are of f plus noise at 500 new points.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import norm

import heatgp as hg
from heatgp.covariance import Normalized
from heatgp.errors import AccuracyWarning

S2 = hg.Sphere(2)
CASES = [
    (S2, np.inf, 0.1, 0.1),
    (S2, np.inf, 0.02, 0.01),
    (S2, np.inf, 0.003, 0.1),
    (S2, 1.5, 0.02, 0.1),
    (S2, 0.5, 0.1, 0.01),
    (hg.SpecialOrthogonal(3), np.inf, 0.1, 0.1),
    (hg.SpecialOrthogonal(3), 1.5, 0.1, 0.01),
    (hg.Product(S2, hg.Euclidean(1)), np.inf, (0.1, 0.3), 0.1),
]
"""Space, smoothness, time and noise."""


def drawn(M: hg.Manifold, smoothness: float, t: object, noise: float, number: int) -> tuple[np.ndarray, ...]:
    rng, new = np.random.default_rng(0), 500
    kernel = hg.heat_kernel(M) if np.isinf(smoothness) else hg.matern_kernel(M, smoothness=smoothness)
    X = M.random(rng, number + new)
    K = Normalized(kernel.with_times(None)).pairs(X).at(t).value
    y = np.linalg.cholesky(K + noise * np.eye(len(X))) @ rng.standard_normal(len(X))
    return X[:number], y[:number], X[number:], y[number:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=5000)
    parser.add_argument("--cases", type=int, nargs="+", default=list(range(len(CASES))))
    parser.add_argument("--kinds", nargs="+", default=["dense", "sparse", "neighbors", "auto"])
    options = parser.parse_args()
    print("case                                         model                RMSE   NLPD  fit s  predict s")
    for M, smoothness, t, noise in [CASES[k] for k in options.cases]:
        X, y, new, truth = drawn(M, smoothness, t, noise, options.number)
        for kind in options.kinds:
            clocks = [time.process_time()]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = hg.GPRegressor(M, smoothness=smoothness, inference=kind).fit(X, y)
            clocks.append(time.process_time())
            mean, deviation = model.predict(new, return_std=True, noise=True)
            fit, predict = np.diff([*clocks, time.process_time()])
            rmse, nlpd = np.sqrt(np.mean((mean - truth) ** 2)), -norm.logpdf(truth, mean, deviation).mean()
            found = getattr(model.approximation_, "structure", "dense")
            said = [each for each in caught if issubclass(each.category, AccuracyWarning)]
            name = f"{M!r} {smoothness:g} {t} {noise}"
            label = f"{kind} ({found})" if kind == "auto" else kind
            warned = f"  warned: {str(said[0].message)[:60]}" if said else ""
            print(f"{name:44s} {label:18s} {rmse:6.4f} {nlpd:6.3f} {fit:6.1f} {predict:6.2f}{warned}", flush=True)


if __name__ == "__main__":
    main()
