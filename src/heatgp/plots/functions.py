"""Functions on a knot, on the sphere and on the circle, in colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from ..errors import InvalidInput
from ..manifolds import TorusKnot
from .style import FUNCTION_MAP, styled


@styled
def knot_figure(
    knots: Sequence[TorusKnot],
    angles: np.ndarray,
    columns: Sequence[tuple[str, Sequence[np.ndarray]]],
    label: str = "f",
) -> Figure:
    """A row a knot and a column a function: `columns` are titles with the values at the angles, one array a knot.

    All share one colour scale, so that equal colours are equal values.
    """
    values = np.array([[np.asarray(v) for v in column] for _, column in columns])
    if values.shape != (len(columns), len(knots), len(angles)):
        raise InvalidInput(
            f"the columns hold {values.shape[1:]} values (knots, angles); {(len(knots), len(angles))} are needed."
        )
    low, high = float(values[0].min()), float(values[0].max())  # of the first column: usually the truth
    colour = ScalarMappable(Normalize(low, high), FUNCTION_MAP)
    figure = Figure(figsize=(2.7 * len(columns) + 0.8, 2.3 * len(knots)))
    grid = figure.subplots(len(knots), len(columns), squeeze=False)
    for row, knot in enumerate(knots):
        for column, (title, _) in enumerate(columns):
            axes = grid[row, column]
            draw_knot(axes, knot, angles, values[column, row], colour)
            axes.set_title(f"({knot.p}, {knot.q}) {title}")
    figure.colorbar(colour, ax=grid, label=label, shrink=0.5, extend="both")
    return figure


def draw_knot(axes: Any, knot: TorusKnot, angles: np.ndarray, values: np.ndarray, colour: ScalarMappable) -> None:
    """The knot seen from above at 35 degrees off the axis, nearer strands over farther ones with a white edge."""
    s = np.linspace(-math.pi, math.pi, 360 * max(knot.p, knot.q) // 2 + 1)
    tilt = math.radians(35)
    x, y, z = knot.embed(s[:, None]).T
    seen = np.stack((x, math.cos(tilt) * y + math.sin(tilt) * z), axis=-1)
    depth = math.cos(tilt) * z - math.sin(tilt) * y
    order = np.argsort(depth[:-1] + depth[1:])
    edges = np.stack((seen[:-1], seen[1:]), axis=1)[order]
    # A piece reaches a little into its neighbours, so that their edges leave no gap.
    strands = np.stack((np.roll(seen[:-1], 1, axis=0), seen[:-1], seen[1:], np.roll(seen[:-1], -2, axis=0)), axis=1)[
        order
    ]
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
    """A function of points (N, 3) of Sphere(2) as a map of the whole sphere (Mollweide: true areas), with data."""
    latitude = np.linspace(-90, 90, number + 1)
    longitude = np.linspace(-180, 180, 2 * number + 1)
    lon, lat = np.meshgrid(np.radians(longitude), np.radians(latitude))
    grid = np.stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)), axis=-1)
    values = np.asarray(function(grid.reshape(-1, 3))).reshape(lon.shape)
    figure = Figure(figsize=(6.4, 3.1))
    axes = figure.add_subplot(projection="mollweide")
    image = axes.pcolormesh(lon, lat, values, cmap=FUNCTION_MAP, shading="gouraud", rasterized=True)
    if points is not None:
        x, y, z = np.asarray(points).T
        axes.plot(np.arctan2(y, x), np.arctan2(z, np.hypot(x, y)), "o", ms=4, mfc="white", mec="black", mew=0.8)
    axes.set(title=title, xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    axes.set_xticks(np.radians([-120, -60, 0, 60, 120]))
    for text in axes.get_xticklabels():  # on the map itself, whatever its colour there
        text.set(color="white", path_effects=[withStroke(linewidth=2, foreground="0.2")])
    axes.grid(alpha=0.3)
    figure.colorbar(image, ax=axes, label=label, shrink=0.75)
    return figure


@styled
def circle_figure(
    angles: np.ndarray,
    mean: np.ndarray,
    std: np.ndarray | None = None,
    *,
    truth: np.ndarray | None = None,
    data: tuple[np.ndarray, np.ndarray] | None = None,
    label: str = "f",
    title: str = "",
) -> Figure:
    """A function of the angle around the circle as a polar curve, with a band of two standard deviations."""
    order = np.argsort(angles)
    around = np.append(angles[order], angles[order[0]] + 2 * math.pi)

    def closed(values: np.ndarray) -> np.ndarray:
        return np.append(np.asarray(values)[order], np.asarray(values)[order[0]])

    figure = Figure(figsize=(4.6, 4.6))
    axes: Any = figure.add_subplot(projection="polar")
    axes.plot(around, closed(mean), color="C0", lw=2, label="mean")
    if std is not None:
        low, high = closed(mean - 2 * std), closed(mean + 2 * std)
        axes.fill_between(around, low, high, color="C0", alpha=0.2, lw=0, label="± 2 standard deviations")
    if truth is not None:
        axes.plot(around, closed(truth), "k--", lw=1, label="truth")
    if data is not None:
        axes.plot(*data, ".", color="C1", label="data")
    axes.set_title(title)
    axes.set_xlabel(f"angle (degrees); radius: {label}")
    axes.set_rlabel_position(112)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    figure.legend(loc="outside lower center", ncols=2)
    return figure
