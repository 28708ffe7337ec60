"""The approximate evidence of observations that are not normal, as a function of the logs of free parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..covariance import Array
from .approximation import Approximation
from .count import Count
from .coupled import Coupled
from .coupled_low_rank import CoupledLowRank
from .economical import Economical
from .likelihood import Likelihood
from .linalg import LowRank
from .params import Given, Params
from .pivoted import Root
from .prior import Prior
from .priors import Laws, log_density

STEP = 1e-3
"""Difference of the logarithm of a parameter for derivatives where expectation propagation has none."""


@dataclass(frozen=True)
class LatentObjective:
    """The log evidence, plus the log density of the priors, as a function of logs.

    The coordinates are the free log times, the log of the prior variance of f (amplitude times the mean of the kernel's
    diagonal) and the logs of the likelihood's free parameters.

    With `constant`, f has a constant added whose variance is 1 + the prior variance. For two classes the share of a
    class, Phi(constant / √(1 + prior variance)), then has the uniform law.
    """

    prior: Prior
    y: Array
    given: Given
    likelihood: Likelihood
    approximate: Callable[..., Approximation]
    constant: bool = False
    laws: Laws = field(default_factory=dict)
    precise: bool = True  # False leaves out what sites at their bound add to the gradient: a few percent
    economical: bool = False  # whether a covariance that few points carry is factored in these
    calls: Count = field(default_factory=Count)  # shared by what is made of this objective
    last: list[Array] = field(default_factory=list, init=False)  # the sites where the next inference starts

    @property
    def names(self) -> list[str]:
        """The names of the coordinates."""
        return self.given.time_names + ["amplitude"] * (self.given.amplitude is None) + self.likelihood.free

    def __call__(self, z: Array) -> tuple[float, Array]:
        """The objective and its gradient."""
        given, form = self.given, self.prior.form
        values, slopes = self.prior.at(given.times(z), given.free)
        height, in_height = self.prior.height(values), self.prior.height_slopes(values, slopes)
        variance = self._variance(height, z)
        values = self._covariance(values, variance, height)
        found = self._inference(values, z)
        density, slope = log_density(self.laws, self.names, z)
        if self.precise and not found.stationary:
            return found.log_evidence + density, self._differences(z)
        if self.constant and form is LowRank:
            slopes = [form.plus_constant(slope, 0.0) for slope in slopes]
        in_times = (variance / height) ** form.power * found.in_times(slopes)
        in_variance, in_constant = found.in_amplitude, 0.0
        if self.constant:  # first f without the constant; the variance of the constant is 1 + variance
            in_variance -= (1 + variance) * found.in_constant
            in_constant = variance * found.in_constant
        if given.amplitude is None:
            gradient = np.append(in_times - in_variance * in_height, in_variance + in_constant)
        else:
            gradient = in_times + in_constant * in_height
        if free := self.likelihood.free:
            if found.in_parameters is None:
                own = self.known(z).in_parameters(self.y, *found.cavities, free)
            else:
                own = np.array([found.in_parameters[name] for name in free])
            gradient = np.append(gradient, own)
        return found.log_evidence + density, gradient + slope

    def value(self, z: Array) -> float:
        """The objective alone."""
        return self.approximation(z).log_evidence + log_density(self.laws, self.names, z)[0]

    def log_prior(self, z: Array, params: Params | None = None) -> float:
        """The log density of the priors at these coordinates."""
        return log_density(self.laws, self.names, z)[0]

    def _differences(self, z: Array) -> Array:
        """The gradient by central differences."""
        return np.array([self.value(z + e) - self.value(z - e) for e in STEP * np.eye(len(z))]) / (2 * STEP)

    def params(self, z: Array) -> Params:
        """The parameters at these coordinates."""
        time = self.given.times(z)
        height = self.prior.height(self.prior.at(time)[0])
        return Params(time, self._variance(height, z) / height)

    def known(self, z: Array) -> Likelihood:
        """The likelihood with the values of these coordinates."""
        free = len(self.likelihood.free)
        return self.likelihood.with_values(np.exp(z[len(z) - free :])) if free else self.likelihood

    def approximation(self, z: Array) -> Approximation:
        """The approximate law of f, or of each of several functions with the same prior."""
        values, _ = self.prior.at(self.given.times(z))
        height = self.prior.height(values)
        return self._inference(self._covariance(values, self._variance(height, z), height), z)

    def _variance(self, height: float, z: Array) -> float:
        """The mean prior variance of f, without the constant."""
        given = self.given.amplitude
        return float(np.exp(z[len(self.given.free)])) if given is None else given * height

    def _covariance(self, values: Array, variance: float, height: float) -> Array:
        """The values with the amplitude, and with the constant."""
        form = self.prior.form
        values = (variance / height) ** form.power * values
        return form.plus_constant(values, 1 + variance) if self.constant else values

    def _inference(self, values: Array, z: Array) -> Approximation:
        form = self.prior.form

        functions = self.likelihood.functions
        if functions is None:
            root = Economical.root(form, values) if self.economical else None
        else:
            root = Root.of(values, len(values) // functions)

        def factorise(precision: Array) -> object:
            if precision.ndim == 1:
                return form.of(values, precision) if root is None else Economical.of(root.F, precision)
            if root is None:
                return Coupled.of(values, precision, self.y)
            return CoupledLowRank.of(root, precision, self.y)

        self.calls.add()
        start = self.last[-1] if self.last else None
        found = self.approximate(factorise, self.known(z), self.y, start=start)
        self.last[:] = [found.sites]
        return found
