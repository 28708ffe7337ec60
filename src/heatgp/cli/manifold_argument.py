"""Manifolds as they are given on the command line."""

import pkgutil
import sys
from typing import Any

from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.parse import parse

HELP = "module:instance of your own, or a manifold such as 'Sphere(2)'"


def read_object(text: str) -> Any:
    """The object of `module:name`, a class called without arguments; else the manifold of the text."""
    if ":" not in text:
        return parse(text)
    allow_local_modules()
    try:
        found = pkgutil.resolve_name(text)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{text!r}: {error}. Give module:Class with the module importable from here.") from None
    if not isinstance(found, type):
        return found
    try:
        return found()
    except TypeError as error:
        raise InvalidInput(
            f"{text!r} cannot be made without arguments ({error}). Give module:instance, an instance in that module."
        ) from None


def read_manifold(text: str) -> Manifold:
    """The object of the text, or an error where it is not a manifold."""
    found = read_object(text)
    if not isinstance(found, Manifold):
        raise InvalidInput(f"{text!r} is {found!r}, no manifold. `heatgp check {text}` says what it lacks.")
    return found


def allow_local_modules() -> None:
    """Make modules of the working directory importable, as in a Python that is started there."""
    if "" not in sys.path:
        sys.path.insert(0, "")
