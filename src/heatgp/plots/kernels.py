"""Heat kernels over the distance."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..arguments import check_count, generator, is_list, is_number, shown
from ..cost import check_memory
from ..errors import NotConverged, Unsupported
from ..manifolds import (
    ComplexProjective,
    Domain,
    Grassmann,
    Homogeneous,
    Manifold,
    Orthogonal,
    Product,
    Quotient,
    RealProjective,
    SpecialOrthogonal,
    Sphere,
    Torus,
    TorusKnot,
)
from ..manifolds.checks import require, unchecked
from .style import curve, method_styles, new_axes, styled

CURVED = 30.0
"""How far kernels are drawn in negative curvature, where coordinates grow exponentially with the distance."""

Curve = tuple[str, np.ndarray, np.ndarray]
"""Method, kernel and standard error."""
DASHES = {"exact": (0, (4, 2)), "ball": (0, (5, 1, 1, 1)), "strip": (0, (1, 1))}


ANGULAR = (
    *(Sphere, RealProjective, ComplexProjective, Torus, TorusKnot),
    *(SpecialOrthogonal, Orthogonal, Grassmann),
)
"""Manifolds whose distance is an angle, or the root of a sum of squared angles."""


def distance_label(manifold: Manifold) -> str:
    """What an axis of distances is called: in radians where they are angles.

    Parameters
    ----------
    manifold : Manifold

    Returns
    -------
    str

    Examples
    --------
    >>> from heatgp import Scaled, Sphere
    >>> distance_label(Sphere(2)), distance_label(Scaled(Sphere(2), 6371.0))
    ('distance (radians)', 'distance')
    """
    match manifold:
        case Product():
            return max(map(distance_label, manifold.factors), key=lambda label: label == "distance")
        case Quotient():
            return distance_label(manifold.cover)
        case Domain():
            return distance_label(manifold.base)
    return "distance (radians)" if isinstance(manifold, ANGULAR) else "distance"


def along_geodesic(manifold: Manifold, time: float, number: int, rng: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points at equal steps along a geodesic.

    The geodesic ends at five standard deviations of a path, where the kernel is next to zero, at the far end of the
    manifold, or at the boundary of a domain.

    Parameters
    ----------
    manifold : Manifold
    time : float
        Of the kernel.
    number : int
        Of the points.
    rng : int, default 0
        Seed of the direction and, without symmetry, of the first point.

    Returns
    -------
    lengths : ndarray (number,)
        Distances from the first point.
    points : ndarray (number, *manifold.shape)

    Raises
    ------
    InvalidInput
        If the time is not positive, or there is no point.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> along_geodesic(Sphere(2), 100.0, 3)[0].round(3)
    array([0.   , 1.571, 3.142])
    """
    require(isinstance(manifold, Manifold), f"along_geodesic needs a manifold, such as Sphere(2); got {manifold!r}.")
    require(is_number(time) and time > 0, f"time must be a positive number; got {time!r}.")
    size = 16.0 * math.prod(manifold.shape)
    check_memory(check_count("number", number) * size, f"{number} points of {manifold!r}", "Ask for less.")
    numbers = generator(rng)
    start = manifold.origin if isinstance(manifold, Homogeneous) else manifold.random(numbers, 1)[0]
    noise = numbers.standard_normal(start.shape)
    if manifold.is_complex:
        noise = noise + 1j * numbers.standard_normal(start.shape)
    direction = manifold.noise(start, noise)
    speed = math.sqrt(float(manifold.separation(start, unchecked(manifold.exp)(start, 1e-3 * direction)))) / 1e-3
    direction = direction / speed
    end = 5 * math.sqrt(time)
    if isinstance(manifold, Homogeneous) and manifold.rank == 1:
        end = min(end, manifold.chamber[0][1], math.inf if manifold.decay == 0 else CURVED)
    else:
        end = _shortest_until(manifold, start, direction, end)
    lengths = np.linspace(0, end, number)
    return lengths, np.stack([unchecked(manifold.exp)(start, length * direction) for length in lengths])


def _shortest_until(manifold: Manifold, start: np.ndarray, direction: np.ndarray, end: float) -> float:
    """How far the geodesic is a shortest path: beyond the cut point its length is not a distance."""
    before = start
    for length in np.linspace(0, end, 101)[1:]:
        x = unchecked(manifold.exp)(start, length * direction)
        try:
            distance = float(unchecked(manifold.distance)(start, x))
        except NotConverged:
            distance = math.nan
        except Unsupported:  # no distance, so no cut point: the length counts while steps have the right size
            step = math.sqrt(float(manifold.separation(before, x)))
            distance = length if abs(step - end / 100) < 2e-2 * end / 100 else math.nan
        before = x
        if not abs(distance - length) < 1e-6 * end:
            return float(length - end / 100)
    return end


@styled
def kernel_figure(lengths: np.ndarray, table: Sequence[Curve], title: str, xlabel: str = "distance") -> Figure:
    """Kernels over the distance, with bands of two standard errors.

    Parameters
    ----------
    lengths : ndarray (N,)
        Distances.
    table : sequence of (method, values, standard errors)
        One curve each.
    title : str
    xlabel : str, default "distance"
        Of the distances; `distance_label` gives the one of a manifold.

    Returns
    -------
    matplotlib.figure.Figure
    """
    lengths = curve("lengths", lengths)
    _check_curves("table", table, len(lengths))
    figure, axes = new_axes(6, 3.8)
    draw_kernels(axes, lengths, table, method_styles(method for method, _, _ in table))
    axes.set(xlabel=xlabel, ylabel="heat kernel $p_t$ (1/volume)", title=title)
    axes.legend()
    return figure


@styled
def kernel_panels(panels: Sequence[tuple[str, str, np.ndarray, Sequence[Curve]]], columns: int = 3) -> Figure:
    """Kernels on several manifolds side by side, each divided by p_t(x, x).

    Parameters
    ----------
    panels : sequence of (title, name of the distance, distances, curves)
        The curves are as in `kernel_figure`.
    columns : int, default 3

    Returns
    -------
    matplotlib.figure.Figure
    """
    right = is_list(panels) and len(panels) > 0 and all(is_list(panel) and len(panel) == 4 for panel in panels)
    require(right, f"panels must be a list of (title, name, distances, curves), one or more; got {shown(panels)}.")
    rows = math.ceil(len(panels) / check_count("columns", columns))
    for title, _, lengths, table in panels:
        _check_curves(f"the curves of {title!r}", table, len(curve(f"the distances of {title!r}", lengths)))
    figure = Figure(figsize=(3.3 * columns, 2.6 * rows + 0.5))
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    fullest = max((table for *_, table in panels), key=len)
    methods = dict.fromkeys(method for table in (fullest, *(t for *_, t in panels)) for method, _, _ in table)
    styles = method_styles(methods)
    for axes, (title, xlabel, lengths, table) in zip(grid.flat, panels):
        draw_kernels(axes, lengths, table, styles)
        axes.set(xlabel=xlabel, title=title, ylim=(-0.15, 1.6))
    for axes in grid[:, 0]:
        axes.set_ylabel("$p_t(x, y)\\,/\\,p_t(x, x)$")
    lines = {str(line.get_label()): line for axes in figure.axes for line in axes.get_lines()}
    figure.legend([lines[m] for m in methods], methods, loc="outside upper center", ncols=len(lines))
    return figure


def _check_curves(name: str, table: Any, number: int) -> None:
    """Raise InvalidInput unless it is a list of a method, values and standard errors each."""
    right = is_list(table) and len(table) > 0 and all(is_list(row) and len(row) == 3 for row in table)
    require(right, f"{name} must be a list of (method, values, standard errors), one or more; got {shown(table)}.")
    for method, value, error in table:
        curve(f"the values of {method!r}", value, number)
        curve(f"the standard errors of {method!r}", error, number)


def draw_kernels(axes: Any, lengths: np.ndarray, table: Sequence[Curve], styles: dict[str, dict[str, Any]]) -> None:
    """Curves with bands of two standard errors, in the colour of their method; the exact one on top."""
    for method, value, error in table:
        value, error, colour = np.asarray(value), np.asarray(error), styles[method]["color"]
        top = 3 if method == "exact" else 2
        axes.plot(lengths, value, label=method, ls=DASHES.get(method, "-"), lw=1.8, color=colour, zorder=top)
        axes.fill_between(lengths, value - 2 * error, value + 2 * error, color=colour, alpha=0.2, lw=0)
