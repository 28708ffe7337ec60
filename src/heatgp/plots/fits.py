"""How well a fitted model predicts the data that it has seen, each from all the others."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from ..arguments import as_array, is_list, shown
from ..errors import InvalidInput
from ..gp.scores import reliability
from .style import BLACK, BLUE, COLOURS, MARKERS, curve, styled

LEVELS = np.linspace(0.05, 0.95, 19)
"""Probabilities of the intervals whose coverage is drawn."""
FEW_CLASSES = 3
"""Classes up to which each has its own curve."""


@styled
def residuals_figure(y: Any, mean: Any, std: Any, *, probabilities: Any = None, title: str = "") -> Figure:
    """Leave-one-out predictions of a regression: over the truth, their standardised residuals, their calibration.

    Parameters
    ----------
    y, mean, std : array_like (N,)
        Observations, and mean and standard deviation of their prediction from all others, the noise included.
    probabilities : array_like (N,), optional
        The probability that the prediction gave to values below the observation; by default that of a normal law.
    title : str, default ""

    Returns
    -------
    matplotlib.figure.Figure
        Left: bars are intervals of 90 %. Middle: the residual of each observation over its standard deviation; 90 % are
        expected between the dashed lines. Right: the share of observations within the central intervals of each
        probability; the grey band is where 90 % of calibrated models would be, were observations independent.

    Raises
    ------
    InvalidInput
        If the arrays are empty or differ in shape, or a standard deviation is not positive.
    """
    y = curve("y", y)
    mean, std = curve("mean", mean, len(y)), curve("std", std, len(y))
    if not (std > 0).all():
        raise InvalidInput(f"std must be positive; its least value is {std.min():g}.")
    residuals = (y - mean) / std
    below = ndtr(residuals) if probabilities is None else curve("probabilities", probabilities, len(y))
    figure = Figure(figsize=(10.2, 3.5))
    left, middle, right = figure.subplots(1, 3)
    edge = float(ndtri(0.95))

    look = {"fmt": "o", "ms": 3.5, "elinewidth": 0.7, "alpha": 0.7, "color": BLUE}
    left.errorbar(mean, y, xerr=edge * std, **look, rasterized=True)
    left.axline((float(y.mean()), float(y.mean())), slope=1, color="0.3", lw=1, ls="--")
    left.set(xlabel="predicted from all others, 90 % interval", ylabel="observed", title="leave-one-out predictions")

    middle.axhline(0, color="0.3", lw=1)
    for side in (-1, 1):
        middle.axhline(side * edge, color="0.3", lw=1, ls="--")
    middle.plot(mean, residuals, "o", ms=3.5, alpha=0.7, color=BLUE)
    reach = max(3.2, 1.08 * float(np.abs(residuals).max()))
    outside = float(np.mean(np.abs(residuals) > edge))
    middle.set(xlabel="predicted", ylabel="residual / standard deviation", ylim=(-reach, reach))
    middle.set_title(f"residuals: {100 * outside:.0f} % beyond ± {edge:.2f}")

    inside = np.array([np.mean(np.abs(2 * below - 1) <= level) for level in LEVELS])
    low, high = (binom.ppf(p, len(y), LEVELS) / len(y) for p in (0.05, 0.95))
    right.fill_between(LEVELS, low, high, color="0.88", lw=0)
    right.plot([0, 1], [0, 1], color="0.3", lw=1, ls="--")
    right.plot(LEVELS, inside, "o-", ms=3.5, lw=1.5, color=BLUE)
    right.set(xlabel="probability of the interval", ylabel="share of observations inside", title="calibration")
    right.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    if title:
        figure.suptitle(title)
    return figure


@styled
def probabilities_figure(labels: Any, probabilities: Any, classes: Any, *, bins: int = 5, title: str = "") -> Figure:
    """Leave-one-out probabilities of a classification: their reliability, and how sure the right label was.

    Parameters
    ----------
    labels : array_like (N,)
        Classes as column numbers 0, 1, ...
    probabilities : array_like (N, K)
        Probabilities of each label from all other labels.
    classes : sequence of K names
    bins : int, default 5
        Equal bins of the probability.
    title : str, default ""

    Returns
    -------
    matplotlib.figure.Figure
        Left: the share of points of a class over its predicted probability, with one binomial standard error; of two
        classes the second, of more than three all in one curve. Right: the probability of the true label, sorted
        within each class; labels that were not the most probable are drawn open.

    Raises
    ------
    InvalidInput
        If there are no labels, or not one row for each.
    """
    if not is_list(classes):
        raise InvalidInput(f"classes must be a list of names; got {shown(classes)}.")
    labels, rows = as_array(labels, "labels"), as_array(probabilities, "probabilities").astype(float)
    if labels.dtype.kind not in "iu" or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(classes):
        raise InvalidInput(f"labels must be numbers of classes, from 0 to {len(classes) - 1}; got {shown(labels)}.")
    if not len(labels) or rows.shape != (len(labels), len(classes)):
        raise InvalidInput(f"labels {labels.shape}, probabilities {rows.shape}: one row for each label is needed.")
    figure = Figure(figsize=(8.0, 3.8))
    left, right = figure.subplots(1, 2)
    number = len(classes)
    curves = [(1, labels == 1, rows[:, 1])] if number == 2 else [(k, labels == k, rows[:, k]) for k in range(number)]
    if number > FEW_CLASSES:
        curves = [(0, (labels[:, None] == np.arange(number)).ravel(), rows.ravel())]
    styles = [{"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]} for k in range(number)]

    left.plot([0, 1], [0, 1], color="0.3", lw=1, ls="--")
    for k, happened, predicted in curves:
        table = reliability(happened, predicted, bins)
        rule = (table.observed * table.count + 1) / (table.count + 2)  # Laplace's rule: not zero at the ends
        error = np.sqrt(rule * (1 - rule) / table.count)
        left.errorbar(table.predicted, table.observed, error, ms=4.5, lw=1.3, elinewidth=1, capsize=2, **styles[k])
    left.set(xlabel="predicted from all others", ylabel="observed frequency", title="reliability")
    left.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")

    given, right_ones, start = rows[np.arange(len(labels)), labels], rows.argmax(axis=1) == labels, 0
    for k, name in enumerate(classes):
        members = np.flatnonzero(labels == k)
        members = members[np.argsort(given[members])]
        at = start + np.arange(len(members))
        look = {"ms": 4, "lw": 0, **styles[k]}
        good = right_ones[members]
        right.plot(at[good], given[members[good]], label=str(name), **look)
        right.plot(at[~good], given[members[~good]], mfc="none", **look)
        start += len(members) + max(1, len(labels) // 40)
    right.axhline(1 / len(classes), color=BLACK, lw=0.8, ls=":")
    right.set(ylim=(-0.03, 1.03), xticks=[], xlabel="points, sorted within each class")
    right.set_ylabel("probability of the true label")
    right.set_title(f"{np.sum(~right_ones)} of {len(labels)} most probable labels are wrong")
    figure.legend(loc="outside lower center", ncols=min(len(classes), 8), fontsize=8)
    if title:
        figure.suptitle(title)
    return figure
