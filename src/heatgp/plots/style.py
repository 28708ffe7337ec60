"""The style that all pictures share, and their files."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from ..arguments import as_array, shown
from ..errors import InvalidInput
from ..whole_file import check_path, whole_file

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito (2008): eight colours for all kinds of colour vision, less yellow."""
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
"""One for each method as well, for prints in grey."""
METHOD_STYLES: dict[str, tuple[str, str]] = {
    "heatgp": (BLUE, "o"),
    "heatgp first": (BLUE, "v"),
    "spd": (GREEN, "s"),
    "exact": (BLACK, "o"),
    "ball": (VERMILLION, "s"),
    "strip": (GREEN, "D"),
    "smooth": (PURPLE, "^"),
    "reference": (SKY, "P"),
    "fibre-average": (ORANGE, "X"),
    "rbf": (ORANGE, "v"),
    "rbf untuned": (ORANGE, "<"),
    "rbf projector": (ORANGE, ">"),
    "svm": (SKY, "P"),
    "svm untuned": (SKY, "h"),
    "linear": (BLACK, "X"),
    "linear untuned": (BLACK, "d"),
    "nearest": ("#777777", "d"),
}
"""Colour and marker of each method, the same in every picture. Variants of a method share its colour. Kernels and
baselines, which no picture has together, share some."""
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


def method_styles(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each method; those without their own take, in turn, what no other method here has.

    >>> method_styles(["ball", "mine"])["ball"] == method_styles(["ball"])["ball"]
    True
    """
    names = list(methods)
    taken = {METHOD_STYLES[name][0] for name in names if name in METHOD_STYLES}
    free = cycle([pair for pair in zip(COLOURS, MARKERS) if pair[0] not in taken] or zip(COLOURS, MARKERS))
    styles = {name: METHOD_STYLES[name] if name in METHOD_STYLES else next(free) for name in names}
    return {name: {"color": colour, "marker": marker} for name, (colour, marker) in styles.items()}


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


def curve(name: str, values: Any, length: int | None = None) -> np.ndarray:
    """Values of a curve as real numbers (N,), or InvalidInput.

    Parameters
    ----------
    name : str, for messages.
    values : array_like
    length : int, default None. How many there must be; by default any positive number.
    """
    array = as_array(values, name)
    if array.dtype.kind == "c":
        raise InvalidInput(f"{name} must be real numbers; its dtype is {array.dtype}.")
    if array.ndim != 1 or not array.size or (length is not None and array.size != length):
        needed = "(N,), N >= 1" if length is None else f"({length},)"
        raise InvalidInput(f"{name}: the shape is {array.shape}; needed is {needed}.")
    return array.astype(float)


def check_mapping(name: str, value: Any, what: str) -> None:
    """InvalidInput unless it is a dict, or another mapping, with an entry or more."""
    if not isinstance(value, Mapping) or not value:
        raise InvalidInput(f"{name} must be a dict from names to {what}, one or more; got {shown(value)}.")


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
        If the suffix is another one, or it is no figure.
    """
    if not isinstance(figure, Figure):
        raise InvalidInput(f"figure = {shown(figure)} must be a figure of Matplotlib, such as axes.figure.")
    suffix = check_picture(check_path(path))
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    with matplotlib.rc_context(STYLE), whole_file(path) as stream:
        figure.savefig(stream, format=suffix[1:], dpi=150, metadata=undated)
