"""Run experiments, and write tables, pictures and one report."""

import importlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..baselines.rows import aligned
from ..datasets import DataMissing
from .experiment import Experiment, Grid, Options, Outcome, Row, Section
from .report import write_report
from .section import PAPER_NAMES
from .table import headlines, summarise, write_csv
from .work import compute

SUMMARY = ("heatgp", "rbf")


def reproduce(names: Sequence[str], options: Options, out: str | os.PathLike[str], jobs: int) -> Path:
    """Run experiments and write tables, pictures and the report.

    Parameters
    ----------
    names : sequence of str
        Modules of this package. Of several, one whose data are missing is left out; alone it is an error.
    options : Options
    out : path-like
        The folder to write to. What an earlier run computed there is used.
    jobs : int
        Number of processes.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    DataMissing
        If there is one experiment and its data are missing.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    sections: dict[Experiment, Section] = {}
    rows: list[Row] = []
    for name in names:
        experiment = importlib.import_module(f"{__package__}.{name}").EXPERIMENT
        try:
            section, found = run(experiment, options, folder, jobs)
        except DataMissing as absent:
            if len(names) == 1:
                raise
            section, found = Section(left_out=(str(absent),)), ()
        for reason in section.left_out:
            print(f"{name}: left out. {reason}")
        sections[experiment] = section
        rows += found
    summary = summary_grid(rows)
    kind = "A quick run: few repetitions." if options.quick else "A full run."
    asked = f"heatgp reproduce {names[0] if len(names) == 1 else 'all'}{' --quick' if options.quick else ''}"
    page = write_report(folder, sections, summary, f"{kind} Made by: {asked}")
    print(*aligned([summary.header, *summary.lines]), f"{page}: {time.perf_counter() - start:.0f} s", sep="\n")
    return page


def run(experiment: Experiment, options: Options, folder: Path, jobs: int) -> tuple[Section, Sequence[Row]]:
    """Compute what is missing, write <name>.csv, and say how it is shown."""
    plan = experiment.plan(options)
    scores = compute(experiment, plan.units, folder / "cache", jobs)
    outcome = Outcome(tuple(summarise(experiment.name, scores, plan.paper)), scores, options, plan.paper)
    outcome = replace(outcome, rows=(*outcome.rows, *experiment.conclude(outcome)))
    write_csv(folder / f"{experiment.name}.csv", outcome.rows)
    print(f"{experiment.name}: {len(plan.units)} units, {folder / experiment.name}.csv")
    return replace(experiment.present(outcome), left_out=plan.left_out), outcome.rows


def summary_grid(rows: list[Row]) -> Grid:
    """Ours, the extrinsic baseline and the paper's: one line for each setting and metric that both methods have."""
    lines = ((f"{experiment} {setting}", *rest) for experiment, setting, *rest in headlines(rows, SUMMARY))
    header = ("experiment", "metric", *SUMMARY, *(PAPER_NAMES[m] for m in SUMMARY))
    return Grid("At a glance: mean (standard deviation)", header, list(lines))
