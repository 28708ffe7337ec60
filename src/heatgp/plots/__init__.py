"""Pictures in one style, with colours for all kinds of colour vision and units on the axes."""

from .fits import probabilities_figure, residuals_figure
from .functions import knot_figure, sphere_figure
from .kernels import along_geodesic, distance_label, kernel_figure, kernel_panels
from .predictions import circle_figure, interval_figure, reliability_figure, scatter_figure, score_figure, tract_figure
from .searches import convergence_figure
from .style import COLOURS, STYLE, save_figure, styled

__all__ = [
    "COLOURS",
    "STYLE",
    "along_geodesic",
    "circle_figure",
    "convergence_figure",
    "distance_label",
    "interval_figure",
    "kernel_figure",
    "kernel_panels",
    "knot_figure",
    "probabilities_figure",
    "reliability_figure",
    "residuals_figure",
    "save_figure",
    "scatter_figure",
    "score_figure",
    "sphere_figure",
    "styled",
    "tract_figure",
]
