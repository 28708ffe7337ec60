"""What an experiment shows: text, tables and pictures, without any HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from ..plots import score_figure
from .table import Row, distinct, find, shown, with_spread
from .work import Figures, Scores, Unit

PAPER_NAMES = {"heatgp": "paper: SiGP", "rbf": "paper: exGP", "svm": "paper: SVM", "linear": "paper: LR"}
LABELS = {
    "rmse": "root mean squared error",
    "cross_entropy": "cross entropy (nats)",
    "auc": "area under the ROC curve",
    "error": "error",
    "seconds": "time (s)",
}


@dataclass(frozen=True)
class Options:
    """What a run is asked for."""

    quick: bool = False
    dti: str | None = None
    """A file with diffusion tensors, in place of the stand-in."""


@dataclass(frozen=True)
class Outcome:
    """What a run has found."""

    rows: tuple[Row, ...]
    scores: dict[Unit, Scores]
    options: Options

    def kept(self, setting: str, method: str, repetition: int = 0) -> Scores:
        """The scores of one unit, empty where there is none."""
        place = (setting, method, repetition)
        return next((s for u, s in self.scores.items() if (u.setting, u.method, u.repetition) == place), {})


@dataclass(frozen=True)
class Grid:
    """A table; lines whose first cell starts with "paper" are the paper's."""

    caption: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its files and what it shows."""

    name: str
    figure: Figure
    caption: str


@dataclass(frozen=True)
class Section:
    """Text (paragraphs between empty lines, `code` in backticks), tables and pictures of one experiment."""

    text: str
    tables: tuple[Grid, ...]
    pictures: tuple[Picture, ...]


def method_grid(
    rows: Sequence[Row],
    metric: str,
    caption: str,
    paper: Figures,
    settings: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> Grid:
    """A line a method, a column a setting (all, or those named in their order), the paper's figures under ours."""
    rows = [r for r in rows if r.metric == metric and (not settings or r.setting in settings)]
    places = list(settings) or distinct(r.setting for r in rows)
    lines = []
    for method in methods or distinct(r.method for r in rows):
        lines.append((method, *(shown(find(rows, place, method, metric)) for place in places)))
        stated = [paper.get((place, method, metric)) for place in places]
        if method in PAPER_NAMES and any(stated):
            lines.append((PAPER_NAMES[method], *(with_spread(*s) if s else "" for s in stated)))
    return Grid(caption, ("method", *places), tuple(lines))


def setting_grid(
    rows: Sequence[Row], metric: str, caption: str, methods: Sequence[str], paper: Figures, settings: Sequence[str] = ()
) -> Grid:
    """A line a setting, a column a method, the paper's figures under ours."""
    lines = []
    for place in settings or distinct(r.setting for r in rows):
        lines.append((place, *(shown(find(rows, place, m, metric)) for m in methods)))
        stated = [paper.get((place, m, metric)) for m in methods]
        if any(stated):
            lines.append(("paper", *(with_spread(*s) if s else "" for s in stated)))
    return Grid(caption, ("", *methods), tuple(lines))


def method_figure(
    rows: Sequence[Row], metric: str, *, methods: Sequence[str] = (), xlabel: str = "", log: bool = False
) -> Figure:
    """Scores of the methods (all, or those named) in every setting."""
    rows = [r for r in rows if r.metric == metric]
    settings = distinct(r.setting for r in rows)

    def column(method: str) -> tuple[list[float], list[float]]:
        found = [find(rows, setting, method, metric) for setting in settings]
        return [f.mean if f else math.nan for f in found], [f.sd if f else math.nan for f in found]

    names = [m for m in distinct(r.method for r in rows) if not methods or m in methods]
    return score_figure(settings, {m: column(m) for m in names}, ylabel=LABELS[metric], xlabel=xlabel, log=log)


def ratio(rows: Sequence[Row], setting: str, metric: str, over: str = "rbf", of: str = "heatgp") -> float:
    """Mean of one method over the mean of another, nan where one is missing."""
    a, b = find(rows, setting, of, metric), find(rows, setting, over, metric)
    return a.mean / b.mean if a and b else math.nan
