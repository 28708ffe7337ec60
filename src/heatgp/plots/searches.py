"""How a search for a minimum went."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..arguments import as_array, check_number
from ..errors import InvalidInput
from .style import COLOURS, MARKERS, check_mapping, new_axes, styled


@styled
def convergence_figure(values: Any, *, minimum: float | None = None, label: str = "value", title: str = "") -> Figure:
    """The best value so far over the number of evaluations, for one search or several.

    Parameters
    ----------
    values : array_like (N,), or a dict from names to such arrays
        The values of all evaluations in their order, such as `minimize(...).values`; nan where one failed.
    minimum : number, optional
        The known minimum. What is drawn is then the regret, values minus the minimum, on a logarithmic scale.
    label : str, default "value"
        What the values are, with their unit.
    title : str, default ""

    Returns
    -------
    matplotlib.figure.Figure
        Lines are best values, points single ones, and crosses at the lower edge evaluations that failed.

    Raises
    ------
    InvalidInput
        If there are no values, or some are below `minimum`.

    Examples
    --------
    >>> figure = convergence_figure([3.0, 1.0, float("nan"), 2.0], minimum=0.5)
    >>> figure.axes[0].get_lines()[1].get_ydata()
    array([2.5, 0.5, 0.5, 0.5])
    """
    if minimum is not None:
        check_number("minimum", minimum)
    if isinstance(values, Mapping):
        check_mapping("values", values, "values of a search")
    several = values if isinstance(values, Mapping) else {"": values}
    runs = {name: as_array(run, "values").astype(float) for name, run in several.items()}
    for name, run in runs.items():
        if run.ndim != 1 or not len(run):
            raise InvalidInput(f"{name or 'values'}: shape {run.shape}; needed are the values (N,) of a search.")
        if minimum is not None and (run < minimum).any():
            raise InvalidInput(f"{name or 'values'}: {np.nanmin(run)} is below minimum = {minimum}.")
    figure, axes = new_axes(5.6, 3.6)
    floor = 0.0 if minimum is None else minimum
    for number, (name, run) in enumerate(runs.items()):
        evaluation, regret = np.arange(1, len(run) + 1), run - floor
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        axes.plot(evaluation, regret, marker, ms=3, alpha=0.4, mew=0, color=colour)
        axes.plot(
            evaluation, np.fmin.accumulate(regret), lw=1.8, drawstyle="steps-post", color=colour, label=name or None
        )
        failed = np.isnan(run)
        where = {"transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(evaluation[failed], np.full(failed.sum(), 0.02), "x", ms=5, color=colour, **where)
    axes.set(xlabel="evaluations", ylabel=label if minimum is None else f"{label} - minimum", title=title)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if minimum is not None:
        axes.set_yscale("log", nonpositive="clip")  # a line to the lower edge where the minimum is reached
    if isinstance(values, Mapping):
        axes.legend()
    return figure
