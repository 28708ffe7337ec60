"""The one style of all pictures, and files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from ..errors import InvalidInput

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito (2008): eight colours for all kinds of colour vision, less yellow."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
"""One a method as well, for prints in grey."""
FUNCTION_MAP = "viridis"
"""Values of a function: even steps of lightness, for all kinds of colour vision."""
STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.frameon": False,
    "svg.hashsalt": "heatgp",
}


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """The function that draws a figure, with STYLE in force."""

    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> Figure:
        with matplotlib.rc_context(STYLE):
            return draw(*arguments, **options)

    return drawn


def save_figure(figure: Figure, path: Any) -> None:
    """Write a figure as .png, .svg or .pdf; the same figure is the same file on every day."""
    suffix = Path(path).suffix
    if suffix not in (".png", ".svg", ".pdf"):
        raise InvalidInput(f"{path}: pictures are written as .png, .svg or .pdf.")
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, dpi=150, metadata=undated)
