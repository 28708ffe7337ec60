"""What a fit has learned, how sure it is of it, and how it got there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..covariance import Array
from ..gp.integration import curvature
from ..gp.mixture import Mixture
from ..gp.normal import Normal
from ..gp.search import Fit, steepest
from ..html_table import html_table

LEVEL = 0.9
"""The probability of the intervals of parameters."""
FLATTEST = 1e-4
"""Curvature in log parameters below which the data and the priors do not determine them: a factor of e^100."""

HEADER = ("parameter", "value", "90 % interval")
UNDETERMINED = "the bounds: the evidence is flat at the value"
NO_MAXIMUM = "the bounds: the evidence has a slope at the value"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a fitted model.

    Attributes
    ----------
    name : str.
    value : float, the one that is used.
    low, high : float, its interval of 90 %, which ends at the bounds of the search; the value itself where it was
        given, nan where it is not known. Of known variances the least and the largest.
    is_learned : bool.
    words : str, default "". What to know of the interval, or of its absence.
    """

    name: str
    value: float
    low: float
    high: float
    is_learned: bool
    words: str = ""

    @property
    def interval(self) -> str:
        """The interval in words."""
        if not (self.is_learned or self.words):
            return "given"
        ends = [] if np.isnan(self.low) else [f"{self.low:.3g} to {self.high:.3g}"]
        return ", ".join([*ends, self.words] if self.words else ends)


@dataclass(frozen=True)
class Summary:
    """A fitted model in words and numbers; print it.

    Attributes
    ----------
    title : str, the model and the number of its data.
    parameters : tuple of Parameter.
    log_marginal_likelihood : float, the log evidence at the parameters used; None where it is not known for all data.
    path : tuple of str, how they were found.
    notes : tuple of str, what to be careful with.
    explained : dict, on a product the variance of predictions over the data that each factor explains, by its name;
        with time="coordinates" also that of each coordinate of R^n. It is half the mean square of the change of a
        prediction when this factor alone is replaced by that of another datum. Effects of several factors together
        count for each of them. Predictions of labels are probabilities: of two classes that of the second. Of several
        outputs, and of more than two classes, the values are arrays.
    variance : the variance of all predictions over the data, where `explained` has something.
    """

    title: str
    parameters: tuple[Parameter, ...]
    log_marginal_likelihood: float | None
    path: tuple[str, ...]
    notes: tuple[str, ...]
    explained: dict[str, Any] = field(default_factory=dict)
    variance: Any = float("nan")

    def __str__(self) -> str:
        rows = [HEADER, *self._rows]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self.title, *table, *self._remarks])

    def _repr_html_(self) -> str:
        return html_table(self.title, self._rows, HEADER, self._remarks)

    @property
    def _rows(self) -> list[tuple[str, str, str]]:
        """Name, value and interval of each parameter."""
        return [(p.name, f"{p.value:.4g}", p.interval) for p in self.parameters]

    @property
    def _remarks(self) -> list[str]:
        """What stands below the parameters."""
        evidence = self.log_marginal_likelihood
        first = [] if evidence is None else [f"log evidence  {evidence:.3f}"]
        return [*first, *self.path, *self._relevance, *(f"note: {note}" for note in self.notes)]

    @property
    def _relevance(self) -> list[str]:
        """What each factor explains."""
        if not self.explained:
            return []
        lines = [f"variance of predictions over the data  {_numbers(self.variance)}"]
        for name, value in self.explained.items():
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.atleast_1d(100 * np.asarray(value) / self.variance)
            parts = " and ".join(f"{each:.0f} %" for each in share)
            lines.append(
                f"  explained by {name}: {_numbers(value)}" + (f", {parts}" if np.isfinite(share).all() else "")
            )
        return [*lines, "  effects of several factors together count for each of them"]


def learned_parameters(objective: Any, box: Array, mixture: Mixture, posterior: Any) -> list[Parameter]:
    """Times, amplitude, noise and what the likelihood has, with intervals where they are learned.

    Intervals are normal in the logarithms: from the curvature of the log posterior density at its maximum, or from the
    grid where parameters are integrated over. They end at the bounds of the search.
    """
    names = objective.names
    z = np.clip(objective.coordinates(posterior.params, posterior.likelihood), *box.T)
    if len(mixture.weights) > 1:
        points = np.stack([objective.coordinates(p.params, p.likelihood) for p in mixture.posteriors])
        centre = mixture.weights @ points
        off = (points - centre) * np.sqrt(mixture.weights)[:, None]
        covariance = off.T @ off
    else:
        centre, covariance = z, covariance_of(curvature(objective, z, box)) if len(z) else np.empty((0, 0))
    found = []
    for name, value, parts in _parameters(objective, posterior):
        if parts and all(part in names for part in parts):
            row = np.array([float(other in parts) for other in names])  # log noise = log ratio + log variance
            deviation = float(np.sqrt(row @ covariance @ row))
            ends = row @ centre + float(ndtri(0.5 + LEVEL / 2)) * deviation * np.array([-1, 1])
            bounds = box[row > 0].sum(axis=0)
            low, high = np.exp(np.log(value) + np.clip(ends, *bounds) - row @ z)
            words = UNDETERMINED if ends[0] <= bounds[0] and ends[1] >= bounds[1] else ""
            found.append(Parameter(name, value, float(low), float(high), True, words))
        else:
            found.append(Parameter(name, value, value, value, False))
    if any(each.words for each in found) and steepest(objective, z, box)[1]:
        return [replace(each, words=NO_MAXIMUM) if each.words else each for each in found]
    return found


def covariance_of(minus_hessian: Array) -> Array:
    """The covariance of the normal law with this curvature; very large along directions without any."""
    values, vectors = np.linalg.eigh(minus_hessian)
    return vectors / np.maximum(values, FLATTEST) @ vectors.T


def _parameters(objective: Any, posterior: Any) -> list[tuple[str, float, tuple[str, ...]]]:
    """Name and value of each parameter, and the coordinates whose sum its logarithm is, but for a constant."""
    given, params = objective.given, posterior.params
    found: list[tuple[str, float, tuple[str, ...]]] = [
        (name, float(value), (name,)) for name, value in zip(given.names, np.atleast_1d(params.time))
    ]
    found.append(("amplitude", params.amplitude, ("amplitude",)))
    own = posterior.likelihood
    if not isinstance(own, Normal):
        found += [(name, float(vars(own)[name]), (name,)) for name in own.bounds]
    elif given.noise != 0.0:
        both = ("noise",) if given.amplitude is not None else ("noise", "amplitude")
        found.append(("noise", params.noise, both if given.noise is None else ()))
    return found


def stated_parameters(posterior: Any, given: Any, likelihood: Any, words: str) -> list[Parameter]:
    """The rows of parameters without intervals; `words` say why those that are learned have none."""
    params = posterior.params
    values: list[tuple[str, Any, Any]] = [*zip(given.names, np.atleast_1d(params.time), given.time)]
    values.append(("amplitude", params.amplitude, given.amplitude))
    if likelihood is None:
        values.append(("noise", params.noise, given.noise))
    else:
        own = vars(posterior.likelihood)
        values += [(name, own[name], vars(likelihood)[name]) for name in likelihood.bounds]
    rows = []
    for name, value, known in values:
        for k, each in enumerate(np.atleast_1d(value).tolist()):
            about, learned = f"{name}[{k}]" if np.ndim(value) else name, known is None
            end = np.nan if learned else each
            rows.append(Parameter(about, each, end, end, learned, words if learned else ""))
    return rows


def coefficients(model: Any) -> list[Parameter]:
    """The coefficients of the mean of a fitted model, whose posterior is normal."""
    several, rows = np.ndim(model.coefficients_) == 2, []
    for name, values, errors in zip(model.coefficient_names_, model.coefficients_, model.coefficient_errors_):
        for k, (value, error) in enumerate(zip(np.atleast_1d(values).tolist(), np.atleast_1d(errors).tolist())):
            low, high = value + float(ndtri(0.5 + LEVEL / 2)) * error * np.array([-1, 1])
            about = f"mean: {name}[{k}]" if several else f"mean: {name}"
            rows.append(Parameter(about, value, float(low), float(high), True, f"standard error {error:.3g}"))
    return rows


def known_variances(variances: Array) -> Parameter:
    """The noise of observations whose variances are known: their mean, the least and the largest."""
    ends = float(variances.min()), float(variances.max())
    return Parameter("mean noise", float(variances.mean()), *ends, False, "known variances")


def search_path(fit: Fit | None, mixture: Mixture, names: Sequence[str], has_noise: bool) -> list[str]:
    """How the parameters were found; `names` are those of the numbers that the kernel takes."""
    lines = []
    if fit is not None:
        others = [value for value, _ in fit.maxima[1:]]
        name, slope = fit.steep
        ended = (
            f"no maximum of the log posterior density, whose slope in log {name} is {slope:.2g}"
            if slope
            else f"{len(fit.maxima)} local maxim{'um' if len(fit.maxima) == 1 else 'a'} of the log posterior density"
        )
        lines.append(
            f"search: {fit.evaluations} evaluations, {ended}: {fit.log_posterior:.3f}"
            + "".join(f", {value:.3f}" for value in others)
        )
        for _, params in fit.maxima[1:]:
            values = [*zip(names, np.atleast_1d(params.time)), ("amplitude", params.amplitude)]
            values += [("noise", params.noise)] if has_noise else []
            lines.append("  other maximum: " + ", ".join(f"{name} {_numbers(value)}" for name, value in values))
    if len(mixture.weights) > 1:
        lines.append(f"predictions are averaged over {len(mixture.weights)} sets of parameters")
    return lines


def _numbers(values: Any) -> str:
    """One number, or those of several outputs."""
    return " and ".join(f"{value:.3g}" for value in np.atleast_1d(values))
