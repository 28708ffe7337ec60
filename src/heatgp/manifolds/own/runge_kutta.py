"""Geodesics in coordinates by the classical Runge-Kutta method, their speed corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...array import Array, namespace
from .differentiate import repeat

if TYPE_CHECKING:
    from .chart import Chart


def integrate(chart: Chart, x: Array, v: Array, substeps: int, quick: bool) -> tuple[Array, Array, Array]:
    """Position, velocity and the largest relative change of the squared speed, before it is corrected."""
    xp = namespace(x)
    h = 1 / substeps
    start = chart.square(x, v)
    still = start == 0

    def substep(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, v, change = state
        a1 = chart.acceleration(x, v, quick)
        v2 = v + h / 2 * a1
        a2 = chart.acceleration(x + h / 2 * v, v2, quick)
        v3 = v + h / 2 * a2
        a3 = chart.acceleration(x + h / 2 * v2, v3, quick)
        v4 = v + h * a3
        a4 = chart.acceleration(x + h * v3, v4, quick)
        x = x + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        ratio = xp.where(still, 1.0, chart.square(x, v) / xp.where(still, 1.0, start))
        return x, v / xp.sqrt(ratio)[..., None], xp.maximum(change, xp.abs(ratio - 1))

    with np.errstate(all="ignore"):  # a singular metric gives nan, which `geodesic` tries again
        return repeat(substeps, substep, (x, v, 0 * start))
