"""Manifolds as they are named on the command line."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..errors import InvalidInput
from ..manifolds import Manifold
from ..manifolds.parse import parse

FORMS = "module:instance of your own, or a manifold such as 'Sphere(2)'"


def named(what: str) -> Any:
    """The object of `module:name`, a class that needs no arguments called; else the manifold of the text."""
    if ":" not in what:
        return parse(what)
    module, _, name = what.partition(":")
    look_here()
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"{what!r}: {error}. Give module:Class with the module importable from here.") from None
    if not isinstance(found, type):
        return found
    try:
        return found()
    except TypeError as error:
        raise InvalidInput(
            f"{what!r} cannot be made without arguments ({error}). Give module:instance, an instance in that module."
        ) from None


def named_manifold(what: str) -> Manifold:
    """The same, or an error where it is no manifold."""
    found = named(what)
    if not isinstance(found, Manifold):
        raise InvalidInput(f"{what!r} is {found!r}, no manifold. `heatgp check {what}` says what it lacks.")
    return found


def look_here() -> None:
    """Modules of the working directory can be imported, as in a Python that is started there."""
    if "" not in sys.path:
        sys.path.insert(0, "")
