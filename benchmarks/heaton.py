"""The data of Heaton et al. (2019), satellite and simulated, by near neighbors, beside the published figures.

    python benchmarks/heaton.py [--data satellite simulated] [--smoothness auto 0.5] [--folder ../shared/data/heaton]
    python benchmarks/heaton.py --peer gpboost [--folder ...]

105,569 values of the plane are given, and 42,740 (satellite) or 44,431 (simulated) are predicted. `score` is the
interval score of 95 % intervals, `cover` how often they hold the value. Seconds are of wall time and of processor, of
fit and predictions together. The peer is GPBoost's Vecchia approximation, exponential covariance, in an environment
that has it.

Reference: Heaton et al. (2019), JABES 24, 398-425; published rows from its Tables 2 and 3.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.stats import norm

LEVEL = norm.ppf(0.975)
PUBLISHED = {
    "satellite": {
        "SPDE (INLA)": (1.10, 1.53, 0.83, 8.85, 0.97),
        "NNGP conjugate": (1.21, 1.64, 0.85, 7.57, 0.95),
        "LatticeKrig": (1.22, 1.68, 0.87, 7.55, 0.96),
        "periodic embedding": (1.29, 1.79, 0.91, 7.44, 0.93),
        "LAGP": (1.65, 2.08, 1.17, 10.8, 0.83),
    },
    "simulated": {"best of all": (0.607, np.nan, np.nan, np.nan, np.nan)},
}
"""MAE, RMSE, CRPS, interval score and coverage."""


def scores(y: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> tuple[float, ...]:
    """Of normal predictions of the values y."""
    error = y - mean
    z = error / deviation
    crps = deviation * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    outside = np.maximum(np.abs(error) - LEVEL * deviation, 0.0)
    interval = 2 * LEVEL * deviation + 2 / 0.05 * outside
    cover = np.mean(outside == 0)
    return tuple(map(float, (np.abs(error).mean(), np.sqrt(np.mean(error**2)), crps.mean(), interval.mean(), cover)))


def by_heatgp(smoothness: str, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import heatgp as hg

    model = hg.GPRegressor(hg.Euclidean(2), smoothness=smoothness if smoothness == "auto" else float(smoothness))
    model.fit(X, y)
    print(
        f"    {model.kernel_!r}, time {model.time_}, noise {model.noise_:.3g}, {model.approximation_.words}", flush=True
    )
    return model.predict(new, return_std=True, noise=True)


def by_gpboost(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import gpboost

    ones = np.ones((len(X), 1))
    model = gpboost.GPModel(
        gp_coords=X, cov_function="exponential", gp_approx="vecchia", num_neighbors=30, likelihood="gaussian", seed=0
    )
    model.fit(y=y, X=ones)
    model.set_prediction_data(vecchia_pred_type="order_obs_first_cond_obs_only", num_neighbors_pred=100)
    found = model.predict(gp_coords_pred=new, X_pred=np.ones((len(new), 1)), predict_var=True, predict_response=True)
    return found["mu"], np.sqrt(found["var"])


def row(name: str, values: tuple[float, ...], seconds: str = "") -> None:
    mae, rmse, crps, score, cover = values
    print(f"{name:24s} {mae:6.3f} {rmse:6.3f} {crps:6.3f} {score:6.2f} {cover:6.3f}  {seconds}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(PUBLISHED))
    parser.add_argument("--smoothness", nargs="+", default=["auto"])
    parser.add_argument("--folder", type=Path, default=Path("../shared/data/heaton"))
    parser.add_argument("--peer", choices=["gpboost"])
    options = parser.parse_args()
    for data in options.data:
        table = np.load(options.folder / f"{data}.npz")
        X, y = np.column_stack([table["lon"], table["lat"]]), table["temperature"].astype(float)
        train, test = table["train"], table["test"]
        print(f"{data:24s}    MAE   RMSE   CRPS  score  cover  seconds (processor)")
        for name, values in PUBLISHED[data].items():
            row(name, values, "published")
        tried = {f"smoothness {each}": (by_heatgp, each) for each in options.smoothness}
        for name, (function, *arguments) in ({"GPBoost, Vecchia": (by_gpboost,)} if options.peer else tried).items():
            wall, processor = time.perf_counter(), time.process_time()
            mean, deviation = function(*arguments, X[train], y[train], X[test])
            seconds = f"{time.perf_counter() - wall:.0f} ({time.process_time() - processor:.0f})"
            row(name, scores(y[test], mean, deviation), seconds)


if __name__ == "__main__":
    main()
