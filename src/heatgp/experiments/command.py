"""`heatgp reproduce`: run the paper's experiments and write tables, pictures and one report."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path
from typing import Any

from joblib import cpu_count

from ..datasets import DataMissing
from .report import Chapter, write_report
from .section import PAPER_NAMES, Grid, Options, Outcome
from .table import Row, find, number, shown, summarise, write_csv
from .work import Experiment, compute

NAMES = ("compare", "knots", "projective", "gorillas", "dti")
SUMMARY = ("heatgp", "rbf")


def add_command(commands: Any) -> None:
    """Add `reproduce` to the subparsers of the command line."""
    parser = commands.add_parser("reproduce", help="run the paper's experiments: tables, pictures, one report")
    parser.add_argument("experiment", choices=(*NAMES, "all"))
    parser.add_argument("--quick", action="store_true", help="few repetitions: two minutes on two cores for all")
    parser.add_argument("--out", metavar="DIR", default="results", help="where to write; a stopped run goes on there")
    parser.add_argument("--jobs", type=int, default=cpu_count(), help="processes; as many as cores by default")
    parser.add_argument(
        "--dti", metavar="FILE", help="diffusion tensors, .npz with A (subjects, sites, 3, 3) and y, for the stand-in"
    )
    parser.set_defaults(run=lambda options: reproduce(options) and None)


def reproduce(options: argparse.Namespace) -> Path:
    """Run and write; an experiment without data is left out of `all`, and an error on its own."""
    folder, asked = Path(options.out), Options(options.quick, options.dti)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    chapters, rows = [], []
    for name in NAMES if options.experiment == "all" else (options.experiment,):
        experiment = importlib.import_module(f"{__package__}.{name}").EXPERIMENT
        try:
            chapter, found = run(experiment, asked, folder, options.jobs)
        except DataMissing as absent:
            if options.experiment != "all":
                raise
            chapter, found = Chapter(name, experiment.title, None, (str(absent),)), []
        for reason in chapter.left_out:
            print(f"{name}: left out. {reason}")
        chapters.append(chapter)
        rows += found
    kind = "A quick run: few repetitions." if options.quick else "A full run."
    note = f"{kind} Made by: heatgp reproduce {options.experiment}{' --quick' if options.quick else ''}"
    page = write_report(folder, chapters, summary_grid(rows), note)
    print(f"{page}: {time.perf_counter() - start:.0f} s")
    return page


def run(experiment: Experiment, options: Options, folder: Path, jobs: int) -> tuple[Chapter, list[Row]]:
    """Compute what is missing, write <name>.csv, and say how it is shown."""
    plan = experiment.plan(options)
    scores = compute(experiment, plan.units, folder / "cache", jobs)
    rows = summarise(experiment.name, scores, experiment.paper)
    outcome = Outcome(tuple(rows), scores, options)
    if experiment.conclude:
        outcome = Outcome((*rows, *experiment.conclude(outcome)), scores, options)
    write_csv(folder / f"{experiment.name}.csv", outcome.rows)
    print(f"{experiment.name}: {len(plan.units)} units, {folder / experiment.name}.csv")
    return Chapter(experiment.name, experiment.title, experiment.present(outcome), plan.left_out), list(outcome.rows)


def summary_grid(rows: list[Row]) -> Grid:
    """Ours, the extrinsic baseline and the paper's, a line a setting and metric that both methods have."""
    lines = []
    for place in dict.fromkeys((r.experiment, r.setting) for r in rows):
        here = [r for r in rows if (r.experiment, r.setting) == place]
        for metric in ("rmse", "cross_entropy", "auc"):
            own, other = (find(here, place[1], method, metric) for method in SUMMARY)
            if own and other and not place[1].rpartition(" ")[2].isdigit():
                stated = ("" if r.paper != r.paper else number(r.paper) for r in (own, other))
                lines.append((f"{place[0]} {place[1]}", metric.replace("_", " "), shown(own), shown(other), *stated))
    header = ("experiment", "metric", *SUMMARY, *(PAPER_NAMES[m] for m in SUMMARY))
    return Grid("At a glance: mean (standard deviation)", header, tuple(lines))
