"""Tables and figures that the sections of the report are made of, without any HTML."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ..baselines.rows import distinct
from ..plots import score_figure
from .experiment import Grid, Line, Outcome
from .table import find, number, shown, with_spread

PAPER_NAMES = {"heatgp": "paper: SiGP", "rbf": "paper: exGP", "svm": "paper: SVM", "linear": "paper: LR"}
LABELS = {
    "rmse": "root mean squared error",
    "cross_entropy": "cross entropy (nats)",
    "auc": "area under the ROC curve",
    "error": "error",
    "seconds": "time (s)",
}


def section_text(name: str, **values: object) -> str:
    """The text texts/<name>.md with its {placeholders} filled in."""
    return (Path(__file__).parent / "texts" / f"{name}.md").read_text(encoding="utf-8").strip().format(**values)


def method_grid(outcome: Outcome, metric: str, caption: str, methods: Sequence[str] = ()) -> Grid:
    """One line per method (all, or those named in their order), one column per setting, the paper's under ours."""
    rows = [r for r in outcome.rows if r.metric == metric]
    settings = distinct(r.setting for r in rows)
    lines: list[Line] = []
    for method in methods or distinct(r.method for r in rows):
        places = [(setting, method, metric) for setting in settings]
        lines += lines_of(outcome, places, method, PAPER_NAMES.get(method, "paper"))
    return Grid(caption, ("method", *settings), lines)


def setting_grid(
    outcome: Outcome, metric: str, caption: str, methods: Sequence[str], settings: Sequence[str] = ()
) -> Grid:
    """One line per setting (all, or those named in their order), one column per method, the paper's under ours."""
    lines: list[Line] = []
    for setting in settings or distinct(r.setting for r in outcome.rows):
        lines += lines_of(outcome, [(setting, method, metric) for method in methods], setting, "paper")
    return Grid(caption, ("", *methods), lines)


def lines_of(outcome: Outcome, places: Sequence[tuple[str, str, str]], name: str, paper_name: str) -> list[Line]:
    """Our figures at these settings, methods and metrics, and under them the paper's where it has any."""
    lines: list[Line] = [(name, *(shown(find(outcome.rows, *place)) for place in places))]
    stated = [outcome.paper.get(place) for place in places]
    if any(stated):
        lines.append((paper_name, *(with_spread(*s) if s else "" for s in stated)))
    return lines


def method_figure(
    outcome: Outcome, metric: str, *, methods: Sequence[str] = (), xlabel: str = "", log: bool = False
) -> Figure:
    """Scores of the methods (all, or those named) in every setting."""
    rows = [r for r in outcome.rows if r.metric == metric]
    settings = distinct(r.setting for r in rows)

    def column(method: str) -> tuple[list[float], list[float]]:
        found = [find(rows, setting, method, metric) for setting in settings]
        return [f.mean if f else math.nan for f in found], [f.sd if f else math.nan for f in found]

    names = [m for m in distinct(r.method for r in rows) if not methods or m in methods]
    return score_figure(settings, {m: column(m) for m in names}, ylabel=LABELS[metric], xlabel=xlabel, log=log)


def regression_tables(outcome: Outcome, over: Sequence[str]) -> tuple[Grid, Grid, Grid]:
    """Errors, errors of heatgp divided by those of the methods `over`, and seconds."""
    errors = method_grid(outcome, "rmse", "Root mean squared error, mean (sd) over data sets")
    settings = errors.header[1:]

    def ratio(setting: str, other: str) -> str:
        a, b = (find(outcome.rows, setting, method, "rmse") for method in ("heatgp", other))
        return number(a.mean / b.mean) if a and b else ""

    stated = [outcome.paper[s, "heatgp", "rmse"][0] / outcome.paper[s, "rbf", "rmse"][0] for s in settings]
    lines = [(f"heatgp / {other}", *(ratio(setting, other) for setting in settings)) for other in over]
    lines.append(("paper: SiGP / exGP", *map(number, stated)))
    ratios = Grid("Error of heatgp divided by that of other methods", ("", *settings), lines)
    return errors, ratios, method_grid(outcome, "seconds", "Seconds for fit and prediction, mean (sd)")
