"""Tidy tables of the experiments: one row per setting, method and metric, ours beside the paper's."""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..baselines.rows import csv_text
from ..datasets.files import csv_records
from ..whole_file import write_text
from .experiment import Figures, Row, Scores, Unit

COLUMNS = ("experiment", "setting", "method", "metric", "mean", "sd", "n", "paper")


def paper_figures(experiment: str) -> Figures:
    """What the paper states for an experiment, from paper.csv."""
    rows = read_csv(Path(__file__).with_name("paper.csv"))
    return {(r.setting, r.method, r.metric): (r.mean, r.sd) for r in rows if r.experiment == experiment}


def summarise(experiment: str, scores: Mapping[Unit, Scores], paper: Figures) -> list[Row]:
    """Rows over the repetitions, in the order of the units."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for unit, found in scores.items():
        for metric, value in found.items():
            if isinstance(value, float):
                values.setdefault((unit.setting, unit.method, metric), []).append(value)
    return [row(experiment, *place, numbers, paper) for place, numbers in values.items()]


def row(experiment: str, setting: str, method: str, metric: str, values: Sequence[float], paper: Figures) -> Row:
    """The row of these values, with the paper's mean where there is one."""
    stated = paper.get((setting, method, metric), (math.nan, 0.0))[0]
    return Row.of(method, metric, values, experiment=experiment, setting=setting, paper=stated)


def find(rows: Iterable[Row], setting: str, method: str, metric: str) -> Row | None:
    """The row of a setting, method and metric, None where there is none."""
    return next((r for r in rows if (r.setting, r.method, r.metric) == (setting, method, metric)), None)


def write_csv(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Six digits; empty where the paper has no figure."""
    write_text(path, csv_text(COLUMNS, ([_cell(vars(r)[name]) for name in COLUMNS] for r in rows)))


def _cell(value: str | float) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def read_csv(path: str | os.PathLike[str]) -> list[Row]:
    """The rows of a file that `write_csv` wrote."""
    kinds: dict[str, Any] = {"mean": float, "sd": float, "n": int, "paper": float}  # the others are text
    return [Row(**{name: kinds.get(name, str)(c or "nan") for name, c in line.items()}) for line in csv_records(path)]


def number(value: float) -> str:
    """Three significant digits, at most three of them after the decimal point.

    >>> number(0.0724), number(12.345), number(1.0), number(0.0), number(0.00012)
    ('0.072', '12.3', '1.00', '0', '1.2e-04')
    """
    return "0" if value == 0 else _digits(value, value)


def _digits(value: float, like: float) -> str:
    """The value with as many digits after the decimal point as `number` gives to `like`."""
    size = abs(like)
    if size < 0.001 or size >= 10_000:
        return f"{value:.1e}"
    return f"{value:.{3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0}f}"


def with_spread(mean: float, sd: float) -> str:
    """mean (sd).

    >>> with_spread(0.693, 7.9e-8), with_spread(2.29, 0.75)
    ('0.693 (0.000)', '2.29 (0.75)')
    """
    return f"{number(mean)} ({_digits(sd, mean) if mean else number(sd)})"


def shown(r: Row | None) -> str:
    """mean (sd); the mean alone where nothing was repeated; empty where there is no row."""
    return "" if r is None else with_spread(r.mean, r.sd) if r.n > 1 else number(r.mean)


def headlines(
    rows: Sequence[Row], methods: Sequence[str], metrics: Sequence[str] = ("rmse", "cross_entropy", "auc")
) -> list[list[str]]:
    """Lines of experiment, setting, metric, mean (sd) of each method, and the paper's means; without single sites."""
    lines = []
    for experiment, setting in dict.fromkeys((r.experiment, r.setting) for r in rows):
        here = [r for r in rows if (r.experiment, r.setting) == (experiment, setting)]
        for metric in metrics:
            found = [r for m in methods if (r := find(here, setting, m, metric))]
            if len(found) == len(methods) and not re.search(r"site \d+$", setting):
                stated = ("" if math.isnan(r.paper) else number(r.paper) for r in found)
                lines.append([experiment, setting, metric.replace("_", " "), *map(shown, found), *stated])
    return lines


def markdown_table(
    paths: Iterable[str | os.PathLike[str]],
    methods: Sequence[str] = ("heatgp", "rbf"),
    metrics: Sequence[str] = ("rmse", "cross_entropy", "auc"),
) -> str:
    """Make one Markdown table of CSV files, ours beside the paper's.

    Parameters
    ----------
    paths : iterable of path-like
        Files that `heatgp reproduce` wrote.
    methods : sequence of str, default ("heatgp", "rbf")
    metrics : sequence of str, default ("rmse", "cross_entropy", "auc")

    Returns
    -------
    str
        One line for each setting and metric that all methods have.
    """
    rows = [r for path in paths for r in read_csv(path)]
    header = ["experiment", "setting", "metric", *methods, *(f"paper's {m}" for m in methods)]
    lines = [header, ["---"] * len(header), *headlines(rows, methods, metrics)]
    keep = [i for i in range(len(header)) if i < 3 + len(methods) or any(line[i] for line in lines[2:])]
    return "\n".join(f"| {' | '.join(line[i] for i in keep)} |" for line in lines)
