"""The tidy table of an experiment: a row a setting, method and metric, ours beside the paper's."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from .work import Figures, Scores, Unit


@dataclass(frozen=True)
class Row:
    """Mean and standard deviation over n repetitions, and the mean that the paper states (nan where none)."""

    experiment: str
    setting: str
    method: str
    metric: str
    mean: float
    sd: float
    n: int
    paper: float = math.nan


COLUMNS = tuple(f.name for f in fields(Row))


def summarise(experiment: str, scores: Mapping[Unit, Scores], paper: Figures) -> list[Row]:
    """Rows over the repetitions, in the order of the units."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for unit, found in scores.items():
        for metric, value in found.items():
            if isinstance(value, float):
                values.setdefault((unit.setting, unit.method, metric), []).append(value)
    return [row(experiment, *place, numbers, paper) for place, numbers in values.items()]


def row(experiment: str, setting: str, method: str, metric: str, values: Sequence[float], paper: Figures) -> Row:
    sd = float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0  # rounding of the mean is no spread
    stated = paper.get((setting, method, metric), (math.nan, 0.0))[0]
    return Row(experiment, setting, method, metric, float(np.mean(values)), sd, len(values), stated)


def write_csv(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Six digits; empty where the paper has no figure."""
    part = Path(path).with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for r in rows:
            writer.writerow(_cell(value) for value in astuple(r))
    part.replace(path)


def _cell(value: str | float) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def read_csv(path: str | os.PathLike[str]) -> list[Row]:
    with open(path, newline="", encoding="utf-8") as stream:
        return [
            Row(
                r["experiment"],
                r["setting"],
                r["method"],
                r["metric"],
                float(r["mean"]),
                float(r["sd"]),
                int(r["n"]),
                float(r["paper"] or "nan"),
            )
            for r in csv.DictReader(stream)
        ]


def distinct(values: Iterable[str]) -> list[str]:
    """In order of first appearance."""
    return list(dict.fromkeys(values))


def find(rows: Iterable[Row], setting: str, method: str, metric: str) -> Row | None:
    """The one row of a place in the table, None where it is empty."""
    return next((r for r in rows if (r.setting, r.method, r.metric) == (setting, method, metric)), None)


def number(value: float) -> str:
    """Three digits, not more than three beyond the point.

    >>> number(0.0724), number(12.345), number(1.0), number(0.0), number(0.00012)
    ('0.072', '12.3', '1.00', '0', '1.2e-04')
    """
    return "0" if value == 0 else _digits(value, value)


def _digits(value: float, like: float) -> str:
    """The value with as many digits beyond the point as `like` is shown with."""
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
    """mean (sd), the mean alone where nothing was repeated, nothing where there is no row."""
    return "" if r is None else with_spread(r.mean, r.sd) if r.n > 1 else number(r.mean)


def headlines(
    rows: Sequence[Row], methods: Sequence[str], metrics: Sequence[str] = ("rmse", "cross_entropy", "auc")
) -> list[list[str]]:
    """Experiment, setting, metric, mean (sd) of each method, and the paper's means; single sites are left out."""
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
    """CSV files to one Markdown table: a line a setting and metric that all methods have, ours beside the paper's."""
    rows = [r for path in paths for r in read_csv(path)]
    header = ["experiment", "setting", "metric", *methods, *(f"paper's {m}" for m in methods)]
    lines = [header, ["---"] * len(header), *headlines(rows, methods, metrics)]
    keep = [i for i in range(len(header)) if i < 3 + len(methods) or any(line[i] for line in lines[2:])]
    return "\n".join(f"| {' | '.join(line[i] for i in keep)} |" for line in lines)
