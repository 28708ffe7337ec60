"""`heatgp reproduce`: the paper's experiments; they are imported only when they are run."""

import argparse
import sys
from typing import Any

from joblib import cpu_count

from ..arguments import check_jobs
from ..errors import InvalidInput
from .tables import check_new_folder

NAMES = ("compare", "knots", "projective", "gorillas", "dti")


def add_command(commands: Any) -> None:
    """Add `reproduce` to the subparsers of the command line."""
    parser = commands.add_parser("reproduce", help="run the paper's experiments: tables, pictures, one report")
    parser.add_argument("experiment", choices=(*NAMES, "all"))
    parser.add_argument("--quick", action="store_true", help="few repetitions: two minutes on two cores for all")
    parser.add_argument("--out", metavar="DIR", default="results", help="where to write; a stopped run continues there")
    parser.add_argument("--jobs", type=int, default=cpu_count(), help="processes; as many as cores by default")
    parser.add_argument(
        "--dti", metavar="FILE", help="diffusion tensors, .npz with A (subjects, sites, 3, 3) and y, for the stand-in"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the experiments; a stopped run says how to continue."""
    from ..experiments.dti import source, tract
    from ..experiments.experiment import Options
    from ..experiments.reproduce import reproduce

    check_jobs(options.jobs)
    check_new_folder(options.out)
    names = NAMES if options.experiment == "all" else (options.experiment,)
    if options.dti is not None:
        if "dti" not in names:
            raise InvalidInput(f"--dti is for the experiments dti and all; {options.experiment} does not read it.")
        tract(source(options.dti))  # before the other experiments, which take minutes
    try:
        reproduce(names, Options(options.quick, options.dti), options.out, options.jobs)
    except KeyboardInterrupt:
        print(
            f"\nStopped. What was computed is in {options.out}; the same command continues from there.", file=sys.stderr
        )
        return 130  # what shells say of a program that was interrupted
    return 0
