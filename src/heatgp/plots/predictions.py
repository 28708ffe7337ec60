"""Predictions of a model, their reliability, and scores of several models."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..arguments import as_array, check_count, is_list, shown
from ..errors import InvalidInput
from ..gp.scores import reliability
from .style import check_mapping, curve, method_styles, new_axes, styled


def draw_prediction(axes: Any, x: Any, order: np.ndarray, mean: Any, std: Any, truth: Any, data: Any) -> None:
    """Mean, a band of two standard deviations, the true function (all at `order`) and data over x."""
    number = order.max() + 1
    mean = curve("mean", mean, number)[order]
    if std is not None:
        spread = 2 * curve("std", std, number)[order]
        axes.fill_between(x, mean - spread, mean + spread, color="C0", alpha=0.2, lw=0, label="± 2 standard deviations")
    axes.plot(x, mean, color="C0", lw=2, label="mean")
    if truth is not None:
        axes.plot(x, curve("truth", truth, number)[order], "k--", lw=1, label="truth")
    if data is not None:
        if not is_list(data) or len(data) != 2:
            raise InvalidInput(
                f"data must be a pair of arrays, the coordinates and the observations; got {shown(data)}."
            )
        at = curve("the coordinates of data", data[0])
        axes.plot(at, curve("the observations of data", data[1], len(at)), ".", color="C1", label="data")


@styled
def interval_figure(
    x: np.ndarray,
    mean: np.ndarray,
    std: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    data: tuple[np.ndarray, np.ndarray] | None = None,
    xlabel: str = "coordinate",
    ylabel: str = "f",
    title: str = "",
) -> Figure:
    """Predictive mean and an interval of two standard deviations over one coordinate.

    Parameters
    ----------
    x, mean, std : ndarray (N,)
        The coordinate, in any order, and the prediction there.
    truth : ndarray (N,), optional
        The true function.
    data : (x, y), optional
        Observations.
    xlabel, ylabel, title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    x = curve("x", x)
    order = np.argsort(x)
    figure, axes = new_axes(6, 3.6)
    draw_prediction(axes, x[order], order, mean, std, truth, data)
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.legend()
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
    """A function on the circle as a polar curve, with a band of two standard deviations.

    Parameters
    ----------
    angles, mean : ndarray (N,)
        Angles in radians, in any order, and the prediction there.
    std : ndarray (N,), optional
    truth : ndarray (N,), optional
        The true function.
    data : (angles, y), optional
        Observations.
    label, title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    angles = curve("angles", angles)
    order = np.argsort(angles)
    around = np.append(angles[order], angles[order[0]] + 2 * math.pi)
    figure, axes = new_axes(4.6, 4.6, projection="polar")
    draw_prediction(axes, around, np.append(order, order[0]), mean, std, truth, data)
    axes.set(title=title, xlabel=f"angle (degrees); radius: {label}")
    axes.set_rlabel_position(112)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@styled
def reliability_figure(
    methods: Mapping[str, tuple[np.ndarray, np.ndarray]], bins: int = 5, title: str = "", least: int = 5
) -> Figure:
    """Observed frequency over predicted probability: are the probabilities right?

    Parameters
    ----------
    methods : mapping of str to (probabilities, happened)
        Predicted probabilities of the event, and 1 where it happened, else 0; one curve for each method.
    bins : int, default 5
        Equal bins of the probability.
    title : str, default ""
    least : int, default 5
        Bins with fewer predictions are left out.

    Returns
    -------
    matplotlib.figure.Figure
        Bars are one binomial standard error.

    Raises
    ------
    InvalidInput
        If there are fewer than two bins.
    """
    if check_count("bins", bins) < 2:
        raise InvalidInput(f"a reliability diagram needs at least 2 bins; got {bins}.")
    check_mapping("methods", methods, "pairs of probabilities and what happened")
    figure, axes = new_axes(4.8, 4.6)
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", label="as predicted")
    styles = method_styles(methods)
    for method, (probability, happened) in methods.items():
        table = reliability(happened, probability, bins)
        # Laplace's rule keeps the error above zero where all or none happened.
        rule = (table.observed * table.count + 1) / (table.count + 2)
        error = np.sqrt(rule * (1 - rule) / table.count)
        keep = table.count >= least
        style = {**styles[method], "ms": 5, "lw": 1.5, "elinewidth": 1, "capsize": 2}
        label = f"{method} ({len(probability)} predictions)"
        axes.errorbar(table.predicted[keep], table.observed[keep], error[keep], label=label, **style)
    axes.set(xlabel="predicted probability", ylabel="observed frequency", title=title)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    axes.legend(fontsize=8)
    return figure


@styled
def tract_figure(
    scores: Mapping[str, np.ndarray],
    *,
    marked: Sequence[int] = (),
    marked_label: str = "planted",
    chance: float | None = None,
    chance_label: str = "without knowledge",
    ylabel: str = "cross entropy (nats)",
    title: str = "",
    sites: Sequence[int] | None = None,
) -> Figure:
    """Scores along the sites of a tract, one curve per method; lines join neighbouring sites only.

    Parameters
    ----------
    scores : mapping of str to ndarray (sites,)
    marked : sequence of int, default ()
        Sites to shade, numbered as `sites` are.
    marked_label : str, default "planted"
    chance : float, optional
        The score of a prediction that does not use the data, as a line.
    chance_label, ylabel, title : str
    sites : sequence of int, optional
        Numbers of the sites, by default 1, 2, ...

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_mapping("scores", scores, "scores of all sites")
    curves = {method: as_array(values, f"the scores of {method!r}") for method, values in scores.items()}
    first = next(iter(curves.values()))
    at = curve("sites", np.arange(1, first.size + 1) if sites is None else sites)
    for method, values in curves.items():
        if values.shape != at.shape:
            raise InvalidInput(f"the scores of {method!r} have shape {values.shape}; there are {at.size} sites.")
    figure, axes = new_axes(7.5, 3.4)
    for i, site in enumerate(marked):
        axes.axvspan(site - 0.5, site + 0.5, color="0.88", lw=0, label=marked_label if i == 0 else None)
    if chance is not None:
        axes.axhline(chance, color="0.4", lw=1, ls=":", label=chance_label)
    styles = method_styles(curves)
    gaps = np.flatnonzero(np.diff(at) > 1) + 1
    for place, (method, values) in enumerate(curves.items()):
        broken = (np.insert(np.asarray(v, dtype=float), gaps, np.nan) for v in (at, values))
        axes.plot(*broken, ms=3.2, lw=0.9 if place else 1.8, label=method, **styles[method])
    axes.set(xlabel="site (number along the tract)", ylabel=ylabel, title=title, xlim=(at.min() - 1, at.max() + 1))
    figure.legend(loc="outside lower center", ncols=6, fontsize=8)
    return figure


@styled
def score_figure(
    settings: Sequence[str],
    methods: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    ylabel: str,
    xlabel: str = "",
    log: bool = False,
    title: str = "",
) -> Figure:
    """Mean scores with standard deviations, one group per setting and one mark per method.

    Parameters
    ----------
    settings : sequence of str
    methods : mapping of str to (means, standard deviations)
        One number for each setting, nan where there is none.
    ylabel : str
    xlabel, title : str, default ""
    log : bool, default False
        Logarithmic scores.

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_mapping("methods", methods, "pairs of means and standard deviations")
    if not is_list(settings):
        raise InvalidInput(f"settings must be a list of names; got {shown(settings)}.")
    figure, axes = new_axes(min(9.0, max(5.0, 1.6 * len(settings))), 3.6)
    number, styles = len(methods), method_styles(methods)
    for place, (method, (mean, sd)) in enumerate(methods.items()):
        at = np.arange(len(settings)) + 0.6 * (place - (number - 1) / 2) / max(number, 1)
        height = curve(f"the means of {method!r}", mean, len(settings))
        bar = curve(f"the standard deviations of {method!r}", sd, len(settings))
        below = np.minimum(bar, 0.9 * np.abs(height)) if log else bar  # down to zero has no end on a log axis
        style = {**styles[method], "ls": "none", "ms": 5, "capsize": 2}
        axes.errorbar(at, height, np.stack((below, bar)), label=method, **style)
    axes.set_xticks(np.arange(len(settings)), settings)
    axes.set(ylabel=ylabel, xlabel=xlabel, title=title, yscale="log" if log else "linear")
    figure.legend(loc="outside upper center", ncols=min(number, 5), fontsize=8)
    return figure


@styled
def scatter_figure(panels: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]], title: str = "") -> Figure:
    """Predictions over the true values, one panel per method.

    Parameters
    ----------
    panels : mapping of str to (truth, mean, standard deviation)
    title : str, default ""

    Returns
    -------
    matplotlib.figure.Figure
    """
    check_mapping("panels", panels, "truth, mean and standard deviation")
    figure = Figure(figsize=(3.1 * len(panels), 3.3))
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    styles = method_styles(panels)
    for axes, (method, (truth, mean, std)) in zip(grid, panels.items()):
        truth = curve(f"the truth of {method!r}", truth)
        mean = curve(f"the mean of {method!r}", mean, len(truth))
        std = curve(f"the standard deviation of {method!r}", std, len(truth))
        look = {"fmt": ".", "ms": 3, "elinewidth": 0.4, "alpha": 0.6, "color": styles[method]["color"]}
        axes.errorbar(truth, mean, std, **look, rasterized=True)
        axes.axline((float(np.mean(truth)), float(np.mean(truth))), slope=1, color="0.3", lw=1, ls="--")
        axes.set(title=f"{method}, {title}" if title else method, xlabel="truth f(x)")
    grid[0].set_ylabel("prediction")
    return figure
