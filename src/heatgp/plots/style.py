"""The style that all pictures share, and their files."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from ..errors import InvalidInput
from ..whole_file import whole_file

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito (2008): eight colours for all kinds of colour vision, less yellow."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
"""One for each method as well, for prints in grey."""
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


def new_axes(width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure of this size in inches, and its axes; options as in matplotlib's `add_subplot`."""
    figure = Figure(figsize=(width, height))
    return figure, figure.add_subplot(**options)


def method_style(place: int) -> dict[str, Any]:
    """Colour and marker of the method at this place."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Decorate a function that draws a figure, such that the library's style holds while it draws.

    Parameters
    ----------
    draw : callable
        It returns a matplotlib Figure.

    Returns
    -------
    callable
        The same function; the user's own settings of matplotlib are left alone.
    """

    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> Figure:
        with matplotlib.rc_context(STYLE):
            return draw(*arguments, **options)

    return drawn


def check_picture(path: Any) -> str:
    """The suffix of a picture, or InvalidInput where pictures are not written so; no suffix where there is no path."""
    suffix = Path(path).suffix if path else ""
    if path and suffix not in (".png", ".svg", ".pdf"):
        raise InvalidInput(f"{path}: pictures are written as .png, .svg or .pdf.")
    return suffix


def save_figure(figure: Figure, path: Any) -> None:
    """Write a figure to a file; the same figure gives the same bytes on every day.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : path-like
        The suffix is .png, .svg or .pdf.

    Raises
    ------
    InvalidInput
        If the suffix is another one.
    """
    suffix = check_picture(path)
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    with matplotlib.rc_context(STYLE), whole_file(path) as stream:
        figure.savefig(stream, format=suffix[1:], dpi=150, metadata=undated)
