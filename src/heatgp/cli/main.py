"""The command line: manifolds, check, kernel, fit, reproduce."""

import argparse
import sys
import warnings
from typing import Any

from .. import __version__
from ..arguments import check_count
from ..errors import HeatGPError, InvalidInput
from . import fit, kernel, manifolds, reproduce
from .manifold_argument import read_object


def main(arguments: list[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit status. An error of the library is one line on stderr and status 2; Ctrl-C gives status 130.

    Examples
    --------
    >>> main(["check", "Sphere(2)"])
    Sphere(2): no problem found
    0
    """
    options = _parser().parse_args(arguments)
    before, warnings.showwarning = warnings.showwarning, _show_warning
    try:
        for name, value in vars(options).items():
            if value == "":  # an unset variable of a script
                raise InvalidInput(f"the argument {name!r} is empty. Give it a value, or leave it out.")
        return int(options.run(options) or 0)
    except HeatGPError as error:
        print(f"heatgp: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("heatgp: interrupted. What was simulated for more than some seconds is kept.", file=sys.stderr)
        return 130
    except OSError as error:  # a disk that is full, a place without permission
        print(f"heatgp: {error}", file=sys.stderr)
        return 2
    finally:
        warnings.showwarning = before


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"heatgp: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="heatgp", description="Gaussian processes on manifolds by the heat kernel.")
    parser.add_argument("--version", action="version", version=f"heatgp {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    check = commands.add_parser("check", help="run the property suite on a manifold of your own")
    check.add_argument("what", help="module:Class, module:instance, or a manifold such as 'Sphere(2)'")
    check.add_argument("--seed", type=int, default=0)
    check.set_defaults(run=_check)

    for command in (manifolds, kernel, fit, reproduce):
        command.add_command(commands)
    return parser


def _check(options: argparse.Namespace) -> int:
    from ..testing import check_manifold

    check_count("--seed", options.seed, 0)
    manifold = read_object(options.what)
    problems = check_manifold(manifold, options.seed)
    for problem in problems:
        print(f"- {problem}")
    print(f"{manifold!r}: {f'{len(problems)} problem(s)' if problems else 'no problem found'}")
    return 1 if problems else 0
