"""The command line: manifolds, check, kernel, fit, reproduce."""

from __future__ import annotations

import argparse
import inspect
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..errors import HeatGPError, InvalidInput
from ..heat.kernel import HeatKernel
from ..heat.methods import METHODS, heat_kernel
from ..manifolds import Manifold
from ..manifolds.parse import NAMES
from . import fit as fit_command
from .names import FORMS, named, named_manifold
from .reproduce import add_command


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; errors of the library are one line on stderr and status 2."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(options.run(options) or 0)
    except HeatGPError as error:
        print(f"heatgp: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"heatgp: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="heatgp", description="Gaussian processes on manifolds by the heat kernel.")
    parser.add_argument("--version", action="version", version=f"heatgp {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    manifolds = commands.add_parser("manifolds", help="list the manifolds and which kernels they have")
    manifolds.set_defaults(run=_manifolds)

    check = commands.add_parser("check", help="run the property suite on a manifold of your own")
    check.add_argument("what", help="module:Class, module:instance, or a manifold such as 'Sphere(2)'")
    check.add_argument("--seed", type=int, default=0)
    check.set_defaults(run=_check)

    kernel = commands.add_parser("kernel", help="print and plot a heat kernel along a geodesic")
    kernel.add_argument("manifold", help=FORMS)
    kernel.add_argument("--time", type=float, required=True)
    kernel.add_argument("--method", nargs="+", default=["auto"], choices=METHODS, help="one or several, side by side")
    fit_command.add_simulation(kernel)
    kernel.add_argument("--points", type=int, default=13, help="rows of the table")
    kernel.add_argument("--seed", type=int, default=0)
    kernel.add_argument("--plot", metavar="FILE", help="picture with error bands, .png, .svg or .pdf")
    kernel.set_defaults(run=_kernel)

    fit_command.add_command(commands)
    add_command(commands)
    return parser


def _manifolds(options: argparse.Namespace) -> None:
    for name, cls in NAMES.items():
        signature = ", ".join(str(p) for p in inspect.signature(cls).parameters.values())
        signature = signature.replace("'", "") if name == "Product" else signature
        summary = (inspect.getdoc(cls) or "").splitlines()[0]
        print(f"{name}({_without_types(signature)}): {summary}")


def _without_types(signature: str) -> str:
    return ", ".join(
        part.split(":")[0].strip() for part in signature.split(", ") if "Literal" not in part.split(":")[0]
    )


def _check(options: argparse.Namespace) -> int:
    from ..testing import check_manifold

    manifold = named(options.what)
    problems = check_manifold(manifold, options.seed)
    for problem in problems:
        print(f"- {problem}")
    print(f"{manifold!r}: {f'{len(problems)} problem(s)' if problems else 'no problem found'}")
    return 1 if problems else 0


def _kernel(options: argparse.Namespace) -> None:
    from ..plots import along_geodesic, kernel_figure, save_figure

    if not options.time > 0 or not math.isfinite(options.time):
        raise InvalidInput(f"--time must be positive; got {options.time:g}.")
    if options.points < 2:
        raise InvalidInput(f"--points must be at least 2; got {options.points}.")
    if options.plot and not Path(options.plot).resolve().parent.is_dir():
        raise InvalidInput(f"--plot {options.plot}: there is no such folder.")
    manifold = named_manifold(options.manifold)
    lengths, points = along_geodesic(manifold, options.time, options.points)
    kernels = {method: _one_time(manifold, method, options) for method in options.method}

    def curves(points: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
        where = {"time": options.time}
        return [
            (method, kernel(points[0], points, **where), kernel.standard_error(points[0], points, **where))
            for method, kernel in kernels.items()
        ]

    for method, kernel in kernels.items():
        print(f"# {method}: {kernel!r}")
    table = curves(points)
    print("distance".rjust(10) + "".join(f"{method:>14}{'+-':>10}" for method, _, _ in table))
    for row, length in enumerate(lengths):
        cells = "".join(f"{value[row]:14.6g}{error[row]:10.2g}" for _, value, error in table)
        print(f"{length:10.4f}{cells}")
    if options.plot:
        lengths, points = along_geodesic(manifold, options.time, 121)
        figure = kernel_figure(lengths, curves(points), f"{manifold!r}, t = {options.time:g}")
        save_figure(figure, options.plot)
        print(f"# plotted to {options.plot}")


def _one_time(manifold: Manifold, method: str, options: argparse.Namespace) -> HeatKernel:
    """The kernel for the one time asked for: counts are made at that time alone."""
    given: dict[str, Any] = {"paths": options.paths, "rng": options.seed, "times": options.time}
    given["references"] = options.references
    if method in ("ball", "strip"):
        given |= {"times": [options.time], "step": options.time / 100}
    return heat_kernel(manifold, method, **given)  # type: ignore[arg-type]
