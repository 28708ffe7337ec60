"""Pictures: one style, colours that the colour-blind can tell apart, axes with units."""

from .functions import circle_figure, knot_figure, sphere_figure
from .kernels import along_geodesic, kernel_figure, kernel_panels
from .predictions import interval_figure, reliability_figure, scatter_figure, score_figure, tract_figure
from .style import COLOURS, STYLE, save_figure, styled

__all__ = [
    "COLOURS",
    "STYLE",
    "along_geodesic",
    "circle_figure",
    "interval_figure",
    "kernel_figure",
    "kernel_panels",
    "knot_figure",
    "reliability_figure",
    "save_figure",
    "scatter_figure",
    "score_figure",
    "sphere_figure",
    "styled",
    "tract_figure",
]
