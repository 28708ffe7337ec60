"""Functions on a knot and on the sphere, in colour."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..arguments import as_array, check_count, is_list, shown
from ..errors import InvalidInput
from ..manifolds import Sphere, TorusKnot
from ..manifolds.checks import check_points, require
from ..points import latlon_to_sphere, sphere_to_latlon
from .style import FUNCTION_MAP, curve, new_axes, styled


@styled
def knot_figure(
    knots: Sequence[TorusKnot],
    angles: np.ndarray,
    columns: Sequence[tuple[str, Sequence[np.ndarray]]],
    label: str = "f",
) -> Figure:
    """Functions on torus knots: one row per knot, one column per function.

    Parameters
    ----------
    knots : sequence of TorusKnot
    angles : ndarray (N,)
        Where the values are given.
    columns : sequence of (title, values)
        The values hold one array (N,) for each knot. All panels share the colour scale of the first column, so that
        equal colours are equal values.
    label : str, default "f"
        Of the colour bar.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        If a column does not have one value for each knot and angle.
    """
    are_knots = isinstance(knots, (list, tuple)) and all(isinstance(knot, TorusKnot) for knot in knots)
    require(are_knots, f"knots must be a list of TorusKnot; got {shown(knots)}.")
    angles = curve("angles", angles)
    titled = is_list(columns) and len(columns) > 0 and all(is_list(pair) and len(pair) == 2 for pair in columns)
    require(titled, f"columns must be a list of pairs (title, values), one or more; got {shown(columns)}.")
    for title, column in columns:
        shapes = [as_array(v, f"the values of column {title!r}").shape for v in column]
        if not shapes or shapes != [(len(angles),)] * len(knots):
            raise InvalidInput(
                f"column {title!r} has values of shapes {shown(shapes)}; needed are {len(knots)} array(s) of shape "
                f"({len(angles)},), one for each knot."
            )
    values = np.array([[np.asarray(v, dtype=float) for v in column] for _, column in columns])
    low, high = float(values[0].min()), float(values[0].max())  # of the first column: usually the truth
    colour = ScalarMappable(Normalize(low, high), FUNCTION_MAP)
    figure = Figure(figsize=(2.7 * len(columns) + 0.8, 2.3 * len(knots)))
    grid = figure.subplots(len(knots), len(columns), squeeze=False)
    for (row, column), axes in np.ndenumerate(grid):
        draw_knot(axes, knots[row], angles, values[column, row], colour)
        axes.set_title(f"({knots[row].p}, {knots[row].q}) {columns[column][0]}")
    figure.colorbar(colour, ax=grid, label=label, shrink=0.5, extend="both")
    return figure


def draw_knot(axes: Any, knot: TorusKnot, angles: np.ndarray, values: np.ndarray, colour: ScalarMappable) -> None:
    """Draw a knot as seen at 35 degrees from its axis, near strands over far ones, with white edges.

    It is seen from the side of s = pi: from the other side the (2, 3) knot has a strand along the line of sight.
    """
    s = np.linspace(-math.pi, math.pi, 360 * max(knot.p, knot.q) // 2 + 1)
    tilt = math.radians(35)
    x, y, z = (knot.embed(s[:, None]) * [-1, -1, 1]).T
    seen = np.stack((x, math.cos(tilt) * y + math.sin(tilt) * z), axis=-1)
    depth = math.cos(tilt) * z - math.sin(tilt) * y
    order = np.argsort(depth[:-1] + depth[1:])
    edges = np.stack((seen[:-1], seen[1:]), axis=1)[order]
    # A piece reaches a little into its neighbours, so that their edges leave no gap.
    neighbours = (np.roll(seen[:-1], 1, axis=0), seen[:-1], seen[1:], np.roll(seen[:-1], -2, axis=0))
    strands = np.stack(neighbours, axis=1)[order]
    shade = colour.to_rgba(np.interp(s[:-1][order], angles, values, period=2 * math.pi))
    thick = 4.5 if max(knot.p, knot.q) < 6 else 2.6
    pieces = [piece for pair in zip(edges, strands) for piece in pair]  # from far to near, each after its own edge
    colours = [c for rgba in shade for c in ((1.0, 1.0, 1.0, 1.0), tuple(rgba))]
    widths = [2 * thick, thick] * len(edges)
    axes.add_collection(LineCollection(pieces, colors=colours, linewidths=widths, rasterized=True))
    axes.set(xlim=(-3.3, 3.3), ylim=(-3.0, 3.0), aspect="equal")
    axes.set_axis_off()


@styled
def sphere_figure(
    function: Callable[[np.ndarray], np.ndarray],
    *,
    points: np.ndarray | None = None,
    label: str = "f",
    title: str = "",
    number: int = 60,
) -> Figure:
    """A function on Sphere(2) as a map of the whole sphere (Mollweide's projection, which keeps areas).

    Parameters
    ----------
    function : callable
        Takes points (N, 3) and returns values (N,), for example `gp.predict`.
    points : ndarray (N, 3), optional
        Data to mark on the map.
    label : str, default "f"
        Of the colour bar.
    title : str, default ""
    number : int, default 60
        Steps from pole to pole; there are twice as many around the equator.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        If `function` is no function, or does not return one value for each point.
    """
    if not callable(function):
        raise InvalidInput(f"function = {shown(function)} must be a function of points (N, 3), such as gp.predict.")
    check_count("number", number)
    latitude, longitude = np.linspace(-90, 90, number + 1), np.linspace(-180, 180, 2 * number + 1)
    grid = latlon_to_sphere(latitude[:, None], longitude)
    values = as_array(function(grid.reshape(-1, 3)), "the array that function returned")
    if values.dtype.kind == "c":
        raise InvalidInput("function returned complex numbers; needed is one real number for each point.")
    if values.size != grid[..., 0].size:
        raise InvalidInput(
            f"function maps points of shape {(grid[..., 0].size, 3)} to shape {values.shape}; needed is one value for "
            "each point."
        )
    values = values.reshape(grid.shape[:-1])
    figure, axes = new_axes(6.4, 3.1, projection="mollweide")
    x, y = np.radians(longitude), np.radians(latitude)
    image = axes.pcolormesh(x, y, values, cmap=FUNCTION_MAP, shading="gouraud", rasterized=True)
    if points is not None:
        north, east = np.radians(sphere_to_latlon(check_points(Sphere(2), points, "points")))
        axes.plot(east, north, "o", ms=4, mfc="white", mec="black", mew=0.8)
    axes.set(title=title, xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    axes.set_xticks(np.radians([-120, -60, 0, 60, 120]))
    for text in axes.get_xticklabels():  # on the map itself, whatever its colour there
        text.set(color="white", path_effects=[withStroke(linewidth=2, foreground="0.2")])
    axes.grid(alpha=0.3)
    figure.colorbar(image, ax=axes, label=label, shrink=0.75)
    return figure
