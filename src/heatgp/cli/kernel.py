"""`heatgp kernel`: print and plot a heat kernel along a geodesic."""

import argparse
import math
from typing import Any

import numpy as np

from ..arguments import check_count
from ..errors import InvalidInput
from ..heat.kernel import HeatKernel
from ..heat.matern import check_smoothness, with_smoothness
from ..heat.methods import METHODS, heat_kernel, known_options
from ..manifolds import Manifold
from .manifold_argument import HELP, read_manifold
from .tables import check_writable

MOST_POINTS = 100_000
"""Rows beyond which nobody reads a table; ten billion of them do not fit into memory."""


def add_command(commands: Any) -> None:
    """Add `kernel` to the subparsers of the command line."""
    parser = commands.add_parser("kernel", help="print and plot a heat kernel along a geodesic")
    parser.add_argument("manifold", help=HELP)
    parser.add_argument("--time", type=float, required=True)
    parser.add_argument(
        "--smoothness", type=float, default=math.inf, help="of Matern kernels: 0.5, 1.5, ...; by default inf, heat"
    )
    parser.add_argument("--method", nargs="+", default=["auto"], choices=METHODS, help="one or several, side by side")
    add_simulation(parser)
    parser.add_argument("--points", type=int, default=13, help="rows of the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", action="store_true", help="print logarithms of densities, for high dimension")
    parser.add_argument("--plot", metavar="FILE", help="picture with error bands, .png, .svg or .pdf")
    parser.set_defaults(run=run)


def add_simulation(parser: Any) -> None:
    """Add the options of simulated kernels, here and in `fit`."""
    parser.add_argument("--paths", type=int, help="of simulated methods: 20,000; 'reference' 400,000")
    parser.add_argument("--references", type=int, help="reference points of 'reference': 400")


def run(options: argparse.Namespace) -> None:
    """Print the kernel of each method, and plot it if asked to."""
    from ..plots import along_geodesic, distance_label, kernel_figure, save_figure
    from ..plots.style import check_picture

    if not options.time > 0 or not math.isfinite(options.time):
        raise InvalidInput(f"--time must be positive; got {options.time:g}.")
    if not 2 <= options.points <= MOST_POINTS:
        raise InvalidInput(f"--points must be from 2 to {MOST_POINTS}; got {options.points}.")
    if options.log and options.plot:
        raise InvalidInput("--plot shows densities, not their logarithms. Leave out --plot, or --log.")
    check_picture(options.plot)
    check_writable(options.plot)
    refuse_ignored(options.method, paths=options.paths, references=options.references)
    check_count("--seed", options.seed, 0)
    check_smoothness(options.smoothness)
    manifold = read_manifold(options.manifold)
    lengths, points = along_geodesic(manifold, options.time, options.points)
    made = {method: kernel_for_time(manifold, method, options) for method in options.method}
    kernels = {kernel.method if method == "auto" else method: kernel for method, kernel in made.items()}

    def curves(points: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
        pairs = {"X": points[0], "Y": points, "time": options.time}
        if not options.log:
            return [(method, kernel(**pairs), kernel.standard_error(**pairs)) for method, kernel in kernels.items()]
        logs = {method: kernel(**pairs, log=True) for method, kernel in kernels.items()}
        return [(method, logs[method], relative_error(kernel, pairs)) for method, kernel in kernels.items()]

    table = curves(points)
    for method, kernel in kernels.items():
        print(f"# {method}: {'log of ' if options.log else ''}{kernel!r}")
    print("distance".rjust(10) + "".join(f"{method:>14}{'+-':>10}" for method, _, _ in table))
    for row, length in enumerate(lengths):
        cells = "".join(f"{value[row]:14.6g}{error[row]:10.2g}" for _, value, error in table)
        print(f"{length:10.4f}{cells}")
    if options.plot:
        lengths, points = along_geodesic(manifold, options.time, 121)
        title = f"{manifold!r}, t = {options.time:g}"
        figure = kernel_figure(lengths, curves(points), title, distance_label(manifold))
        save_figure(figure, options.plot)
        print(f"# plotted to {options.plot}")


def relative_error(kernel: HeatKernel, pairs: dict[str, Any]) -> np.ndarray:
    """The standard error of the logarithm."""
    return np.zeros(len(pairs["Y"])) if kernel.is_exact else kernel.standard_error(**pairs) / kernel(**pairs)


def refuse_ignored(methods: list[str], **options: Any) -> None:
    """Raise InvalidInput for an option that none of the methods has: it would change nothing, in silence."""
    for name, value in options.items():
        if value is not None and not any(known_options(method, **{name: value}) for method in methods):
            raise InvalidInput(
                f"--{name} {value} has no effect: {', '.join(methods)} has no such option. Leave it out."
            )


def kernel_for_time(manifold: Manifold, method: Any, options: argparse.Namespace) -> HeatKernel:
    """The kernel for the one time asked for: counts are made at that time alone.

    A Matern kernel is an average over many times; most of it are those up to twice the mean.
    """
    longest = options.time * (1.0 if math.isinf(options.smoothness) else 2 + manifold.dim / options.smoothness)
    simulation = {"paths": options.paths, "references": options.references, "rng": options.seed, "times": longest}
    if method in ("ball", "strip") and math.isinf(options.smoothness):
        simulation |= {"times": [options.time], "step": options.time / 100}
    return with_smoothness(heat_kernel(manifold, method, **known_options(method, **simulation)), options.smoothness)
