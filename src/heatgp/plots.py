"""Pictures: one style, colours that the colour-blind can tell apart, axes with units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from .errors import InvalidInput
from .manifolds import Homogeneous, Manifold

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito (2008): eight colours for all kinds of colour vision, less yellow."""
STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.frameon": False,
    "svg.hashsalt": "heatgp",
}


def along_geodesic(manifold: Manifold, time: float, number: int, rng: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points at equal steps along a geodesic, and their distances along it from the first.

    It ends where the kernel has died out (five standard deviations of a path), or at the far end of the manifold.
    """
    generator = np.random.default_rng(rng)
    start = manifold.origin if isinstance(manifold, Homogeneous) else manifold.random(generator, 1)[0]
    noise = generator.standard_normal(start.shape)
    if manifold.is_complex:
        noise = noise + 1j * generator.standard_normal(start.shape)
    direction = manifold.noise(start, noise)
    direction = direction / (float(manifold.distance(start, manifold.exp(start, 1e-3 * direction))) / 1e-3)
    end = 5 * math.sqrt(time)
    if isinstance(manifold, Homogeneous) and manifold.rank == 1:
        end = min(end, manifold.chamber[0][1])
    lengths = np.linspace(0, end, number)
    return lengths, np.stack([manifold.exp(start, length * direction) for length in lengths])


def kernel_figure(lengths: np.ndarray, table: Sequence[tuple[str, np.ndarray, np.ndarray]], title: str) -> Figure:
    """Kernels over the distance, with bands of two standard errors."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6, 3.8))
        axes = figure.subplots()
        for method, value, error in table:
            (line,) = axes.plot(lengths, value, label=method, linestyle="--" if method == "exact" else "-")
            axes.fill_between(lengths, value - 2 * error, value + 2 * error, color=line.get_color(), alpha=0.2, lw=0)
        axes.set(xlabel="distance (radians)", ylabel="heat kernel $p_t$ (1/volume)", title=title)
        axes.legend()
    return figure


def save_figure(figure: Figure, path: Any) -> None:
    """Write a figure as .png, .svg or .pdf."""
    if Path(path).suffix not in (".png", ".svg", ".pdf"):
        raise InvalidInput(f"{path}: pictures are written as .png, .svg or .pdf.")
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, dpi=150)
