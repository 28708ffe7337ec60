"""What a fit has learned, how sure it is of it, and how it got there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..covariance import Array
from ..gp.integration import curvature
from ..gp.mixture import Mixture
from ..gp.normal import Normal
from ..gp.search import Fit, steepest
from ..html_table import html_table
from ..threads import of_posterior
from .relevance import explained_variances

LEVEL = 0.9
"""The probability of the intervals of parameters."""
QUANTILE = float(ndtri(0.5 + LEVEL / 2))
"""Half the length of such an interval, in standard deviations."""
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
        widths = [max(map(len, column)) for column in zip(*rows)]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
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
        lines = [] if evidence is None else [f"log evidence  {evidence:.3f}"]
        lines += self.path
        if self.explained:
            lines.append(f"variance of predictions over the data  {_numbers(self.variance)}")
            for name, value in self.explained.items():
                line = f"  explained by {name}: {_numbers(value)}"
                if np.all(np.greater(self.variance, 0)):
                    line += f", {_numbers(100 * np.divide(value, self.variance), '.0f', ' %')}"
                lines.append(line)
            lines.append("  effects of several factors together count for each of them")
        return [*lines, *(f"note: {note}" for note in self.notes)]


def summary_of(model: Any) -> Summary:
    """The summary of a fitted model: see `HeatGP.summary`."""
    posterior, setup, form, fit = model.posterior_, model._setup, model.approximation_, model.fit_
    parameters = [*_parameters(model), *_smoothness(model), *coefficients(model)]
    notes = [f"{name} sits on a bound of its search" for name in (fit.on_bound if fit else ())]
    if model.learned_from_ < posterior.count:
        notes.append(f"parameters were learned from {model.learned_from_:,} of {posterior.count:,} points")
    if not model._precomputed and model.moved_ > 0:
        notes.append(f"points were moved onto the manifold by up to {model.moved_:.2g}")
    where, explained = "a precomputed kernel", dict[str, Any]()
    if not model._precomputed:
        where = f"manifold={model.manifold_!r}"
        if posterior.structure.keeps_evidence:
            predict, points = model._explained_predictions, posterior.points_of_data
            variance, parts = explained_variances(model.manifold_, setup.by_coordinate, predict, points)
            explained = {"explained": parts, "variance": variance}
    has_one_noise = setup.likelihood is None and not setup.noise_is_known
    return Summary(
        f"{type(model).__name__}({where}), N = {posterior.count}" + (f", {form.words}" if form else ""),
        tuple(parameters),
        posterior.log_marginal_likelihood,
        tuple(search_path(fit, model.mixture_, model.kernel_.names, has_one_noise)),
        (*notes, *model._notes_on(parameters)),
        **explained,
    )


def _parameters(model: Any) -> list[Parameter]:
    """Times, amplitude, noise and what the likelihood has, with the intervals of what is learned, where known."""
    posterior, setup = model.posterior_, model._setup
    ends: dict[str, tuple[float, float, str]] = {}
    if posterior.y.ndim == 2:
        words = "learned; no interval with several outputs"
    elif not posterior.structure.keeps_evidence:
        words = f"learned from {model.learned_from_:,} points"
    else:
        ends, words = intervals(posterior, model), ""
    found = []
    for name, values, given in _values(posterior, setup.given, setup.likelihood):
        for about, value in _numbered(name, values):
            if given is None:
                low, high, own = ends.get(name, (np.nan, np.nan, words))
                found.append(Parameter(about, value, value * low, value * high, True, own))
            elif (about, given) != ("noise", 0.0):
                found.append(Parameter(about, value, value, value, False))
    if setup.noise_is_known:
        found = [*(each for each in found if not each.name.startswith("noise")), known_variances(model.noise_)]
    return found


def _smoothness(model: Any) -> list[Parameter]:
    """The row of the smoothness of the kernel, where it is not that of heat alone."""
    value, learned = model.smoothness_, model._setup.learns_smoothness
    if learned:
        words = "the best by evidence; inf is the heat kernel"
        return [Parameter("smoothness", value, np.nan, np.nan, True, words)]
    return [] if np.isinf(value) else [Parameter("smoothness", value, value, value, False)]


@of_posterior
def intervals(posterior: Any, model: Any) -> dict[str, tuple[float, float, str]]:
    """By name the ends of the intervals of what is learned, over the values, and what to know of them.

    Intervals are normal in the logarithms: from the curvature of the log posterior density at its maximum, or from the
    grid where parameters are integrated over. They end at the bounds of the search.
    """
    (objective, box), mixture, own = model._objective(posterior), model.mixture_, posterior.likelihood
    names, z = objective.names, np.clip(objective.coordinates(posterior.params, own), *box.T)
    if model._setup.integrate and len(mixture.weights) > 1:
        points = np.stack([objective.coordinates(p.params, p.likelihood) for p in mixture.posteriors])
        centre = mixture.weights @ points
        covariance = np.atleast_2d(np.cov(points.T, aweights=mixture.weights, ddof=0))
    else:
        values, vectors = np.linalg.eigh(curvature(objective, z, box))
        centre, covariance = z, vectors / np.maximum(values, FLATTEST) @ vectors.T
    found = {}
    for name in names:
        # the coordinate of normal noise is the log of its ratio to the amplitude, which may be learned too
        parts = ("noise", "amplitude") if name == "noise" and isinstance(own, Normal) else (name,)
        row = np.array([float(each in parts) for each in names])
        ends = row @ centre + QUANTILE * np.sqrt(row @ covariance @ row) * np.array([-1, 1])
        bounds = box[row > 0].sum(axis=0)
        low, high = np.exp(np.clip(ends, *bounds) - row @ z).tolist()
        found[name] = low, high, UNDETERMINED if ends[0] <= bounds[0] and ends[1] >= bounds[1] else ""
    if any(words for *_, words in found.values()) and steepest(objective, z, box)[1]:
        return {name: (*ends, words and NO_MAXIMUM) for name, (*ends, words) in found.items()}
    return found


def _values(posterior: Any, given: Any, likelihood: Any) -> list[tuple[str, Any, Any]]:
    """Name, value and given value of each parameter; `likelihood` has those that are given, and is None if normal."""
    params = posterior.params
    values = [*zip(given.names, np.atleast_1d(params.time), given.time)]
    values.append(("amplitude", params.amplitude, given.amplitude))
    if likelihood is None:
        return [*values, ("noise", params.noise, given.noise)]
    return values + [(name, vars(posterior.likelihood)[name], vars(likelihood)[name]) for name in likelihood.bounds]


def _numbered(name: str, values: Any) -> list[tuple[str, float]]:
    """The numbers of an array, each with its name; of one number its own."""
    names = [f"{name}[{k}]" for k in range(len(values))] if np.ndim(values) else [name]
    return list(zip(names, np.atleast_1d(values).tolist()))


def coefficients(model: Any) -> list[Parameter]:
    """The coefficients of the mean of a fitted model, whose posterior is normal."""
    rows = []
    for name, values, errors in zip(model.coefficient_names_, model.coefficients_, model.coefficient_errors_):
        for (about, value), error in zip(_numbered(f"mean: {name}", values), np.atleast_1d(errors).tolist()):
            ends = value - QUANTILE * error, value + QUANTILE * error
            rows.append(Parameter(about, value, *ends, True, f"standard error {error:.3g}"))
    return rows


def known_variances(variances: Array) -> Parameter:
    """The noise of observations whose variances are known: their mean, the least and the largest."""
    ends = float(variances.min()), float(variances.max())
    return Parameter("mean noise", float(variances.mean()), *ends, False, "known variances")


def search_path(fit: Fit | None, mixture: Mixture, names: Sequence[str], has_noise: bool) -> list[str]:
    """How the parameters were found; `names` are those of the numbers that the kernel takes."""
    lines = []
    if fit is not None:
        (name, slope), number = fit.steep, len(fit.maxima)
        ended = (
            f"no maximum of the log posterior density, whose slope in log {name} is {slope:.2g}"
            if slope
            else f"{number} local maxim{'um' if number == 1 else 'a'} of the log posterior density"
        )
        densities = ", ".join(f"{value:.3f}" for value in (fit.log_posterior, *(value for value, _ in fit.maxima[1:])))
        lines.append(f"search: {fit.evaluations} evaluations, {ended}: {densities}")
        for _, params in fit.maxima[1:]:
            values = [*zip(names, np.atleast_1d(params.time)), ("amplitude", params.amplitude)]
            values += [("noise", params.noise)] * has_noise
            lines.append("  other maximum: " + ", ".join(f"{name} {_numbers(value)}" for name, value in values))
    if len(mixture.weights) > 1:
        lines.append(f"predictions are averaged over {len(mixture.weights)} sets of parameters")
    return lines


def _numbers(values: Any, form: str = ".3g", unit: str = "") -> str:
    """One number, or those of several outputs."""
    return " and ".join(f"{value:{form}}{unit}" for value in np.atleast_1d(values))
