"""`heatgp fit`: train on a table and predict another."""

import argparse
import math
import sys
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from ..baselines.comparison import infer_task, process
from ..errors import InvalidInput, OffManifold, Unsupported
from ..estimators import load_model
from ..estimators.kernels import LEARNED
from ..heat.matern import check_smoothness
from ..heat.methods import METHODS, heat_kernel, known_options
from ..manifolds import Manifold
from ..manifolds.composed.product import flat_size
from ..manifolds.rows import as_points, projected_points
from .kernel import add_simulation, refuse_ignored
from .manifold_argument import HELP, read_manifold
from .tables import (
    Table,
    check_predictions,
    check_writable,
    predictions,
    read_points,
    read_table,
    read_target,
    refuse_same_files,
    write_columns,
)

DESCRIPTION = """Gaussian process regression or classification from files. A .csv file has a header, one row per point
and one column per coordinate: matrices row by row, complex points as all real parts, then all imaginary parts. An .npz
file has the points in the array X and the target in an array of its own. The output is the mean and standard deviation
of the function (add the noise's variance for new observations), or the most probable class and the probability of each
class."""

TRAINING = ("task", "kernel", "smoothness", "paths", "references")
"""Options that a saved model has no use for."""


def add_command(commands: Any) -> None:
    """Add `fit` to the subparsers of the command line."""
    parser = commands.add_parser("fit", help="train on a table and predict another", description=DESCRIPTION)
    parser.add_argument("--manifold", help=HELP)
    parser.add_argument("--train", metavar="FILE", help="points and target, .csv or .npz")
    parser.add_argument("--target", metavar="NAME", help="column or array of the target, by default y")
    parser.add_argument("--columns", nargs="+", metavar="NAME", help="coordinates; by default all but the target")
    parser.add_argument(
        "--task",
        choices=("auto", "regression", "classification"),
        help="auto, the default: classes where the target is text or up to 20 different whole numbers",
    )
    parser.add_argument("--kernel", choices=METHODS, help="by default auto")
    parser.add_argument(
        "--smoothness",
        metavar="NUMBER",
        help="of Matern kernels: 0.5, 1.5, or learn; by default auto; inf is heat",
    )
    add_simulation(parser)
    parser.add_argument("--project", action="store_true", help="move points with few digits to the nearest points")
    parser.add_argument("--predict", metavar="FILE", help="points to predict, the same columns without the target")
    parser.add_argument("--out", metavar="FILE", help="predictions, .csv or .npz; else to the terminal")
    parser.add_argument("--save", metavar="FILE", help="write the trained model")
    parser.add_argument(
        "--model", metavar="FILE", help="a saved model instead of training; with --manifold if that is yours"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read and check everything, then train, then write."""
    if bool(options.model) == bool(options.train):
        raise InvalidInput("give --train with a table or --model with a saved model, one of them.")
    if options.train and not options.manifold:
        raise InvalidInput("--train needs --manifold, such as 'Sphere(2)'; `heatgp manifolds` lists them.")
    if options.out and not options.predict:
        raise InvalidInput("--out is for predictions: give --predict with the points too.")
    check_predictions(options.out)
    refuse_same_files(
        {"--out": options.out, "--save": options.save},
        {"--train": options.train, "--predict": options.predict, "--model": options.model},
    )
    check_writable(options.out)
    check_writable(options.save)
    if options.model:
        model, names = saved_model(options)
        manifold = model.manifold_
    else:
        options.task, options.kernel = options.task or "auto", options.kernel or "auto"
        options.smoothness = read_smoothness(options.smoothness)
        refuse_ignored([options.kernel], paths=options.paths, references=options.references)
        manifold, table = read_manifold(options.manifold), read_table(options.train)
        options.target = chosen_target(table, options.target, options.columns)
        target = read_target(table, options.target, options.task)
        points, names, moved = points_of(manifold, table, options.target, options.columns, options.project)
    if options.predict:
        new, *_ = points_of(manifold, read_table(options.predict), options.target, names, options.project)
    if options.train:
        model = train(options, manifold, points, target)
        model.moved_ = moved  # by points_of: `fit` was given the points after that
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
    if options.save:
        model.save(options.save)
    if options.predict:
        reader = copy(model)
        vars(reader).pop("feature_names_in_", None)  # the rows were read by the names of their columns: arrays now
        write_columns(options.out, predictions(reader, new))


def saved_model(options: argparse.Namespace) -> tuple[Any, Any]:
    """The model of --model and the names of its columns; options that would change nothing are refused."""
    for name in TRAINING:
        if getattr(options, name) is not None:
            raise InvalidInput(f"--{name} is for training, and the model of --model is trained. Leave it out.")
    if not options.predict:
        raise InvalidInput("--model is for predictions: give --predict with the points too.")
    model = load_model(options.model, options.manifold and read_manifold(options.manifold))
    if not hasattr(model, "manifold_"):
        raise InvalidInput(f"{options.model} holds a model of a precomputed kernel, which has no points. Use Python.")
    options.project = options.project or model.project
    own = getattr(model, "feature_names_in_", None)
    names = options.columns if own is None else own
    for option, ignored in (
        ("--columns", own is not None and options.columns),
        ("--target", names is not None and options.target),
    ):
        if ignored:
            raise InvalidInput(f"{option} has no effect: the model takes the columns {', '.join(names)}. Leave it out.")
    return model, names


def chosen_target(table: Table, target: str | None, columns: list[str] | None) -> str:
    """The name of the target; without one y, unless x and y may be coordinates of a point, where the user must say."""
    if target is not None:
        return target
    if columns is None and not table.is_archive and {"x", "y"} <= set(table.columns) and len(table.columns) > 2:
        raise InvalidInput(
            f"{table.path}: is column 'y' the target or, beside 'x', a coordinate? The columns are "
            f"{', '.join(table.columns)}. Name the target with --target."
        )
    return "y"


def points_of(
    manifold: Manifold, table: Table, target: str | None, names: Any, project: bool
) -> tuple[np.ndarray, list[str] | None, float]:
    """Points of the manifold, the names of their columns and how far points were moved at most.

    An error names the file and its columns. The log says how far points were moved, if they were.
    """
    rows, names = read_points(table, target, names)
    if names is not None and len(names) not in (math.prod(manifold.shape), flat_size(manifold)):
        raise InvalidInput(
            f"{table.path}: points of {manifold!r} have {flat_size(manifold)} coordinates, but there are {len(names)} "
            f"columns: {', '.join(names)}. Choose them with --columns.{manifold.converter((len(rows), len(names)))}"
        )
    if not project:
        try:
            return as_points(manifold, rows, table.path), names, 0.0
        except OffManifold as error:
            raise OffManifold(f"{error} On the command line, --project moves points with few digits.") from None
    points, moved = projected_points(manifold, rows, table.path)
    return points, names, moved


def train(options: argparse.Namespace, manifold: Manifold, points: np.ndarray, target: np.ndarray) -> Any:
    """The model of the options; one line on stderr says what was learned."""
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        where = int(np.argmin(np.isfinite(target)))
        raise InvalidInput(f"{options.train}: {options.target}[{where}] = {target[where]} is not finite. Remove it.")
    task = infer_task(target) if options.task == "auto" else options.task
    if task == "classification" and len(set(target.tolist())) == 1:
        raise InvalidInput(
            f"{options.train}: {options.target} is {target[0]} in every row, one class. Give at least two, or "
            "--task regression."
        )
    if task == "classification" and target.dtype.kind == "f" and (target != np.round(target)).any():
        raise InvalidInput(f"{options.train}: {options.target} holds numbers, not labels. Give --task regression.")
    kernel = options.kernel
    if given := known_options(kernel, paths=options.paths, references=options.references):
        kernel = heat_kernel(manifold, kernel, **given)
    model: Any = process(manifold, task, kernel=kernel, smoothness=options.smoothness, project=options.project).fit(
        points, target
    )
    noise = f", noise {model.noise_:.4g}" if task == "regression" else ""
    print(
        f"# {type(model).__name__} on {manifold!r}: {len(points)} points of {Path(options.train).name}, "
        f"{_smoothness(model)}time {_short(model.time_)}, amplitude {_short(model.amplitude_)}{noise}, "
        f"{_evidence(model)}",
        file=sys.stderr,
    )
    return model


def _evidence(model: Any) -> str:
    """The log evidence, where it is known for all data."""
    try:
        return f"log evidence {model.log_marginal_likelihood():.4f}"
    except Unsupported:
        return f"parameters learned from {model.learned_from_:,} points"


def read_smoothness(text: str | None) -> Any:
    """The argument of --smoothness: a number or a word; "auto" where it is not given."""
    if text is None or text in LEARNED:
        return text or LEARNED[0]
    try:
        smoothness = float(text)
    except ValueError:
        raise InvalidInput(f"--smoothness must be a number, such as 2.5, auto or learn; got {text!r}.") from None
    return check_smoothness(smoothness)


def _smoothness(model: Any) -> str:
    return "" if math.isinf(model.smoothness_) else f"smoothness {model.smoothness_:g}, "


def _short(value: Any) -> str:
    return np.array2string(np.asarray(value, dtype=float), precision=4)
