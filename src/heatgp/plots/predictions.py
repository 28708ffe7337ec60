"""What a model predicts, how far it can be believed, and how models compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ..errors import InvalidInput
from .style import COLOURS, MARKERS, styled


@styled
def interval_figure(
    x: np.ndarray,
    mean: np.ndarray,
    std: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    data: tuple[np.ndarray, np.ndarray] | None = None,
    xlabel: str = "angle (radians)",
    ylabel: str = "f",
    title: str = "",
) -> Figure:
    """Predictive mean and an interval of two standard deviations over one coordinate."""
    order = np.argsort(x)
    x, mean, std = np.asarray(x)[order], np.asarray(mean)[order], np.asarray(std)[order]
    figure = Figure(figsize=(6, 3.6))
    axes = figure.subplots()
    axes.fill_between(x, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, lw=0, label="± 2 standard deviations")
    axes.plot(x, mean, color="C0", lw=2, label="mean")
    if truth is not None:
        axes.plot(x, np.asarray(truth)[order], "k--", lw=1, label="truth")
    if data is not None:
        axes.plot(*data, ".", color="C1", label="data")
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.legend()
    return figure


@styled
def reliability_figure(
    methods: Mapping[str, tuple[np.ndarray, np.ndarray]], bins: int = 5, title: str = "", least: int = 5
) -> Figure:
    """How often what was predicted happened: observed frequency over predicted probability, a curve a method.

    `methods` are predicted probabilities of the event with its truth (0 or 1). Bars are one binomial standard error;
    bins with fewer than `least` predictions are left out.
    """
    if bins < 2:
        raise InvalidInput(f"a reliability diagram needs at least 2 bins; got {bins}.")
    figure = Figure(figsize=(4.8, 4.6))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", label="as predicted")
    for place, (method, (probability, happened)) in enumerate(methods.items()):
        probability, happened = np.asarray(probability, dtype=float), np.asarray(happened, dtype=float)
        bin_of = np.minimum((probability * bins).astype(int), bins - 1)
        number = np.bincount(bin_of, minlength=bins)
        keep = number >= least
        size = np.maximum(number, 1)
        predicted = np.bincount(bin_of, probability, bins) / size
        observed = np.bincount(bin_of, happened, bins) / size
        # Laplace's rule keeps the error above zero where all or none happened.
        rule = (observed * size + 1) / (size + 2)
        error = np.sqrt(rule * (1 - rule) / size)
        axes.errorbar(
            predicted[keep],
            observed[keep],
            error[keep],
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            ms=5,
            lw=1.5,
            elinewidth=1,
            capsize=2,
            label=f"{method} ({len(probability)} predictions)",
        )
    axes.set(
        xlabel="predicted probability",
        ylabel="observed frequency",
        xlim=(-0.03, 1.03),
        ylim=(-0.03, 1.03),
        title=title,
        aspect="equal",
    )
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
    """Scores along the sites of a tract, a curve a method; `marked` sites, counted as `sites` are, are shaded."""
    first = next(iter(scores.values()))
    at = np.arange(1, len(first) + 1) if sites is None else np.asarray(sites)
    figure = Figure(figsize=(7.5, 3.4))
    axes = figure.subplots()
    for i, site in enumerate(marked):
        axes.axvspan(site - 0.5, site + 0.5, color="0.88", lw=0, label=marked_label if i == 0 else None)
    if chance is not None:
        axes.axhline(chance, color="0.4", lw=1, ls=":", label=chance_label)
    for place, (method, values) in enumerate(scores.items()):
        weight = 1.8 if place == 0 else 0.9
        axes.plot(at, values, marker=MARKERS[place], ms=3.2, lw=weight, color=COLOURS[place], label=method)
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
    """Mean scores with standard deviations, a group a setting and a mark a method; nan where there is none."""
    figure = Figure(figsize=(min(9.0, max(5.0, 1.6 * len(settings))), 3.6))
    axes = figure.subplots()
    number = len(methods)
    for place, (method, (mean, sd)) in enumerate(methods.items()):
        at = np.arange(len(settings)) + 0.6 * (place - (number - 1) / 2) / max(number, 1)
        height, bar = np.asarray(mean, dtype=float), np.asarray(sd, dtype=float)
        below = np.minimum(bar, 0.9 * np.abs(height)) if log else bar  # down to zero has no end on a log axis
        axes.errorbar(
            at,
            height,
            np.stack((below, bar)),
            fmt=MARKERS[place % len(MARKERS)],
            color=COLOURS[place % len(COLOURS)],
            ms=5,
            capsize=2,
            label=method,
        )
    axes.set_xticks(np.arange(len(settings)), settings)
    axes.set(ylabel=ylabel, xlabel=xlabel, title=title)
    if log:
        axes.set_yscale("log")
    figure.legend(loc="outside upper center", ncols=min(number, 5), fontsize=8)
    return figure


@styled
def scatter_figure(panels: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]], title: str = "") -> Figure:
    """Predictions over the truth, a panel a method: (truth, mean, standard deviation)."""
    figure = Figure(figsize=(3.1 * len(panels), 3.3))
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (method, (truth, mean, std)) in zip(grid, panels.items()):
        axes.errorbar(truth, mean, std, fmt=".", ms=3, elinewidth=0.4, alpha=0.6, rasterized=True)
        axes.axline((float(np.mean(truth)), float(np.mean(truth))), slope=1, color="0.3", lw=1, ls="--")
        axes.set(title=f"{method}, {title}" if title else method, xlabel="truth f(x)")
    grid[0].set_ylabel("prediction")
    return figure
