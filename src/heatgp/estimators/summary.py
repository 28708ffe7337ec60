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
    parameters : tuple of Parameter, of each model where there are several.
    log_marginal_likelihood : float, the log evidence at the parameters used; nan where it is not known for all data.
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
    log_marginal_likelihood: float
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
        known = not np.isnan(self.log_marginal_likelihood)
        evidence = [f"log evidence  {self.log_marginal_likelihood:.3f}"] if known else []
        return [*evidence, *self.path, *self._relevance, *(f"note: {note}" for note in self.notes)]

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


def learned_parameters(objective: Any, box: Array, mixture: Mixture, posterior: Any, about: str) -> list[Parameter]:
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
            found.append(Parameter(f"{about}{name}", value, float(low), float(high), True, words))
        else:
            found.append(Parameter(f"{about}{name}", value, value, value, False))
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


def coefficient(name: str, value: float, error: float) -> Parameter:
    """A coefficient of the mean, whose posterior law is normal."""
    ends = value + float(ndtri(0.5 + LEVEL / 2)) * error * np.array([-1, 1])
    return Parameter(f"mean: {name}", value, float(ends[0]), float(ends[1]), True, f"standard error {error:.3g}")


def known_variances(variances: Array) -> Parameter:
    """The noise of observations whose variances are known: their mean, the least and the largest."""
    ends = float(variances.min()), float(variances.max())
    return Parameter("mean noise", float(variances.mean()), *ends, False, "known variances")


def search_path(
    fits: Sequence[Fit | None], mixtures: Sequence[Mixture], names: Sequence[str], has_noise: bool
) -> list[str]:
    """How the parameters were found; `names` are those of the numbers that the kernel takes."""
    lines = []
    for fit in fits:
        if fit is None:
            continue
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
    sizes = [len(mixture.weights) for mixture in mixtures]
    if max(sizes) > 1:
        lines.append(f"predictions are averaged over {', '.join(map(str, sizes))} sets of parameters")
    return lines


def _numbers(values: Any) -> str:
    """One number, or those of several outputs."""
    return " and ".join(f"{value:.3g}" for value in np.atleast_1d(values))
