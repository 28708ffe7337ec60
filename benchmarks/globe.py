"""Wind and geopotential of the whole Earth from 100,000 noisy values: a table of models, and maps.

    HEATGP_DATA=folder python benchmarks/globe.py [--variables u z] [--smoothness inf 2.5 1.5] [--pictures docs/images]

Places are drawn from the grid with probabilities in proportion to their areas: 10,000 to test, then 100,000 to learn
from. Noise is added to all of them. RMSE is against the field without noise, NLPD is that of the noisy test values, and
`cover` is how often the 90 % interval of the field has the field in it. The dense fit learns from a random subset.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

import heatgp as hg
from heatgp.datasets import atmosphere
from heatgp.errors import AccuracyWarning
from heatgp.gp.sparse.regression import SparseApproximation
from heatgp.plots import save_figure, styled

LEARN, TEST = 100_000, 10_000
DENSE = 3000
"""Data of the dense fit."""
NOISE = {"u": 1.0, "v": 1.0, "z": 100.0}
"""The standard deviation of what is added, in m/s and in m²/s²: 10 m of height."""
UNITS = {"u": "m/s", "v": "m/s", "z": "m²/s²"}
LEVEL = 0.9

Predict = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, float]]
"""Points to the mean and the standard deviation of the field, and the variance of the noise."""


@dataclass(frozen=True)
class Task:
    """Noisy values to learn from, and places to test at."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray  # with noise
    f_test: np.ndarray
    about: str

    @classmethod
    def of(cls, variable: str, learn: int = LEARN, seed: int = 0) -> Task:
        data, rng = atmosphere(variable), np.random.default_rng(seed)
        drawn = rng.choice(len(data.y), TEST + learn, replace=False, p=data.details["area"])
        test, rows = np.split(drawn, [TEST])
        y = data.y + rng.normal(0, NOISE[variable], len(data.y))
        return cls(data.X[rows], y[rows], data.X[test], y[test], data.y[test], data.description)


@dataclass(frozen=True)
class Score:
    """A row of the table."""

    name: str
    rmse: float
    nlpd: float
    cover: float
    wall: float
    processor: float
    about: str

    def __str__(self) -> str:
        return (
            f"{self.name:26}{self.rmse:9.4g}{self.nlpd:10.4f}{self.cover:8.3f}{self.wall:9.1f}{self.processor:11.1f}"
            f"   {self.about}"
        )


HEADER = f"{'model':26}{'RMSE':>9}{'NLPD':>10}{'cover':>8}{'seconds':>9}{'processor':>11}"


def score(name: str, learn: Callable[[Task], tuple[Predict, str]], task: Task) -> Score:
    """Learn and predict the test places, with the seconds of both."""
    clocks = time.perf_counter(), time.process_time()
    predict, about = learn(task)
    mean, std, noise = predict(task.X_test)
    wall, processor = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
    error, total = mean - task.f_test, np.sqrt(std**2 + noise)
    return Score(
        name,
        float(np.sqrt(np.mean(error**2))),
        float(-norm.logpdf(task.y_test, mean, total).mean()),
        float(np.mean(np.abs(error) < norm.ppf(0.5 + LEVEL / 2) * std)),
        wall,
        processor,
        about,
    )


def heatgp_model(number: int = LEARN, **options) -> Callable[[Task], tuple[Predict, str]]:
    """A GPRegressor of the first so many data."""

    def learn(task: Task) -> tuple[Predict, str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AccuracyWarning)
            gp = hg.GPRegressor(hg.Sphere(2), **options).fit(task.X[:number], task.y[:number])
        found = gp.approximation_
        about = ""
        if found is not None:
            sparse = isinstance(found, SparseApproximation)
            about = f"{found.inducing} points, " if sparse else f"from {found.neighbors:.0f} near values, "
        lengths = ", ".join(f"{each:.1f}" for each in np.degrees(np.atleast_1d(gp.lengthscale_)))
        about += f"smoothness {gp.smoothness_:g}, length {lengths} degrees, noise {np.sqrt(gp.noise_):.4g}"
        about += ", warned of too few points" * bool(caught)
        return lambda X: (*gp.predict(X, return_std=True), gp.noise_), about

    return learn


@styled
def map_figure(variable: str, predict: Predict) -> Figure:
    """Maps of the field, of its mean and of its standard deviation, in Mollweide's projection, which keeps areas."""
    data = atmosphere(variable)
    mean, std, _ = predict(data.X)
    shape = 241, 480
    latitude = np.radians(data.details["latitude"].reshape(shape)[:, 0])
    longitude = np.radians((data.details["longitude"].reshape(shape)[0] + 180) % 360 - 180)
    order = np.argsort(longitude)
    low, high = np.quantile(data.y, [0.001, 0.999])
    panels = (
        ("ERA-Interim, January, 500 hPa", data.y, "viridis", (low, high), UNITS[variable]),
        ("mean", mean, "viridis", (low, high), UNITS[variable]),
        ("mean less ERA-Interim", mean - data.y, "RdBu_r", _centred(mean - data.y), UNITS[variable]),
        ("standard deviation", std, "magma_r", tuple(np.quantile(std, [0.001, 0.999])), UNITS[variable]),
    )
    figure = Figure(figsize=(11, 6))
    for place, (title, values, colours, (least, most), unit) in enumerate(panels, 1):
        axes = figure.add_subplot(2, 2, place, projection="mollweide")
        image = axes.pcolormesh(
            longitude[order], latitude, values.reshape(shape)[:, order],
            cmap=colours, vmin=least, vmax=most, shading="nearest", rasterized=True,
        )  # fmt: skip
        axes.set_title(title)
        axes.set(xticks=[], yticks=[])
        figure.colorbar(image, ax=axes, label=unit, shrink=0.7, extend="both")
    return figure


def _centred(values: np.ndarray) -> tuple[float, float]:
    size = float(np.quantile(np.abs(values), 0.998))
    return -size, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variables", nargs="+", default=["u", "z"], choices=NOISE)
    words = 'numbers, inf, or "default" for a model whose arguments are all left out'
    parser.add_argument("--smoothness", nargs="+", default=["default", "inf", "2.5", "1.5"], help=words)
    parser.add_argument("--inducing", type=int, help="inducing points at most")
    parser.add_argument("--dense", type=int, default=DENSE, help="data of the dense fit, 0 for none")
    parser.add_argument("--pictures", help="a folder for maps of the model with the lowest NLPD")
    options = parser.parse_args()
    for variable in options.variables:
        task = Task.of(variable)
        print(f"{task.about}; noise {NOISE[variable]:g} {UNITS[variable]}, {len(task.y)} values to learn from")
        print(HEADER)
        best: tuple[float, Predict] | None = None
        for each in options.smoothness:
            arguments: dict = {} if each == "default" else {"smoothness": float(each)}
            kept: list[Predict] = []

            def learn(task: Task, kept=kept, arguments=arguments) -> tuple[Predict, str]:
                structure = {"inference": hg.Sparse(options.inducing)} if arguments else {}
                predict, about = heatgp_model(**arguments, **structure)(task)
                kept.append(predict)
                return predict, about

            name = {"default": "by default", "inf": "heat kernel"}.get(each, f"Matern {each}")
            found = score(name, learn, task)
            print(found, flush=True)
            if best is None or found.nlpd < best[0]:
                best = found.nlpd, kept[0]
            if options.dense:
                model = heatgp_model(options.dense, **arguments, inference="dense")
                print(score(f"  dense, {options.dense} values", model, task), flush=True)
        if options.pictures and best is not None:
            path = Path(options.pictures) / f"globe_{variable}.png"
            save_figure(map_figure(variable, best[1]), path)
            print(f"picture: {path}")


if __name__ == "__main__":
    main()
