"""Predictions averaged over parameters: one Gaussian process for each set of them, with weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import elementwise
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp

from ..arguments import check_count, generator
from ..cost import check_memory
from ..covariance import Array, Kernel, scaled_vectors
from ..errors import NotConverged, Unsupported
from .normal import Normal
from .posterior import is_false
from .quadrature import quantile


@dataclass(frozen=True)
class Mixture:
    """Posteriors of the same data at several parameters; the distribution of a prediction is the mixture of theirs.

    Parameters
    ----------
    posteriors : sequence of G posteriors. One alone stands for parameters that count as known.
    weights : array (G,), positive, with the sum 1.
    """

    posteriors: Sequence[Any]
    weights: Array

    @classmethod
    def over(cls, condition: Callable[[Any], Any], parameters: Iterable[Any], weights: Iterable[float]) -> Mixture:
        """The posteriors that `condition` returns, without parameters at which the inference does not converge.

        NotConverged is raised where none is left.
        """
        found: list[tuple[float, Any]] = []
        failed = NotConverged("the inference converges for none of the parameters.")
        for weight, z in zip(weights, parameters):
            try:
                found.append((weight, condition(z)))
            except NotConverged as error:
                failed = error
        if not found:
            raise failed
        kept = np.array([weight for weight, _ in found])
        return cls([posterior for _, posterior in found], kept / kept.sum())

    def with_kernel(self, kernel: Kernel) -> Mixture:
        """The same with another kernel."""
        return replace(self, posteriors=[replace(p, kernel=kernel) for p in self.posteriors])

    def with_basis(self, values: Array) -> Mixture:
        """The same, for new points at which the basis functions of the mean have these values."""
        return replace(self, posteriors=[p.with_basis(values) for p in self.posteriors])

    def shifted(self, shift: Array) -> Mixture:
        """The same, for new points at which these numbers (M,) are added to f."""
        return replace(self, posteriors=[replace(p, offset=p.offset + shift) for p in self.posteriors])

    def mean(self, points: Any) -> Array:
        """The mean of f."""
        return self._average([p.mean(points) for p in self.posteriors])

    def latent(self, points: Any) -> tuple[Array, Array]:
        """Means and variances of f of all posteriors, (G, M) each."""
        means, variances = zip(*(p.latent(points) for p in self.posteriors))
        return np.stack(means), np.stack(variances)

    def parts(self, points: Any, noise: Any = False) -> tuple[Array, Array]:
        """Means and variances of all posteriors, (G, M) each; `noise` as in `Posterior.moments`."""
        means, variances = zip(*(p.moments(points, noise) for p in self.posteriors))
        return np.stack(means), np.stack(variances)

    def moments(self, points: Any, noise: Any = False) -> tuple[Array, Array]:
        """Mean and variance: the mean variance plus the variance of the means."""
        return averaged(self.weights[:, None], *self.parts(points, noise))

    @property
    def has_gradients(self) -> bool:
        """Whether `gradients` is possible."""
        return bool(self.posteriors[0].has_gradients)

    def gradients(self, points: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and standard deviation of f, (M,), and their gradients, (M, *shape); see `Posterior.gradients`."""
        parts = [np.stack(part) for part in zip(*(p.gradients(points, of_basis) for p in self.posteriors))]
        means, variances, of_means, of_variances = parts
        mean, variance = averaged(self.weights[:, None], means, variances)
        of_variances = of_variances + 2 * scaled_vectors(means - mean, of_means)
        half = 0.5 / np.sqrt(np.where(variance > 0, variance, np.inf))  # nothing where there is no deviation
        return mean, np.sqrt(variance), self._average(of_means), scaled_vectors(half, self._average(of_variances))

    def covariance(self, points: Any, noise: Any = False) -> Array:
        """The covariance of all pairs, (M, M): the mean covariance plus the covariance of the means."""
        if len(self.weights) == 1:
            return self.posteriors[0].covariance(points, noise)
        means = np.stack([p.mean(points) for p in self.posteriors])
        off = np.sqrt(self.weights)[:, None] * (means - self._average(means))
        covariance = off.T @ off
        for weight, posterior in zip(self.weights, self.posteriors):
            covariance += weight * posterior.covariance(points, noise)
        return covariance

    def quantiles(self, points: Any, probabilities: Sequence[float], noise: Any = True) -> list[Array]:
        """What new observations do not exceed with these probabilities, (M,) each.

        Without `noise` it is what the mean of an observation given f does not exceed: that mean at the quantile of f.
        """
        likelihood = self.posteriors[0].likelihood
        if is_false(noise) and not likelihood.expected_increases:
            name = type(likelihood).__name__
            raise Unsupported(
                f"with {name} intervals are of new observations, noise=True. Where {name}.expected(f) increases with f "
                "and depends on no parameter that is learned, set expected_increases = True in the class."
            )
        if is_false(noise) or isinstance(likelihood, Normal):
            means, variances = self.latent(points)
            if not is_false(noise):
                noisy = (p.likelihood.with_noise(noise, len(points)) for p in self.posteriors)
                variances = np.stack([each.variance(*latent) for each, *latent in zip(noisy, means, variances)])
            deviations = np.sqrt(variances)
            return [likelihood.expected(normal_quantile(self.weights, means, deviations, p)) for p in probabilities]
        likelihood.with_noise(noise, len(points))  # checks it
        return [self._quantile(points, p) for p in probabilities]

    def _quantile(self, points: Any, p: float) -> Array:
        """What a new observation does not exceed with the probability p, (M,), by any likelihood."""
        single = np.stack([posterior.quantile(points, p) for posterior in self.posteriors])
        if len(single) == 1:
            return single[0]
        parts = [(posterior.likelihood, *posterior.latent(points)) for posterior in self.posteriors]

        def distribution(y: Array) -> Array:
            return np.tensordot(
                self.weights, [likelihood.cumulative(y, mean, variance) for likelihood, mean, variance in parts], 1
            )

        low, high = single.min(axis=0), single.max(axis=0)  # the quantile is between those of the parts
        scale = np.maximum(high - low, 1e-9 * (1.0 + np.abs(low)))
        return quantile(distribution, p, (low + high) / 2, scale, parts[0][0].is_discrete)

    def log_density(self, points: Any, y: Array, noise: Any = True) -> Array:
        """The log density of new observations y, (M,)."""
        logs = np.stack([posterior.log_density(points, y, noise) for posterior in self.posteriors])
        return logsumexp(logs + np.log(self.weights)[:, None], axis=0)

    def probability(self, points: Any) -> Array:
        """The probability of the label 1."""
        return self._average([p.probability(points) for p in self.posteriors])

    def probabilities(self, points: Any, label_noise: bool = True) -> Array:
        """The probabilities of several classes, (M, classes)."""
        return self._average([p.probabilities(points, label_noise) for p in self.posteriors])

    def margin(self, points: Any) -> Array:
        """Phi^-1 of that probability, with digits where it is 0 or 1 to rounding."""
        margins = np.stack([mean / np.sqrt(1 + variance) for mean, variance in zip(*self.latent(points))])
        if len(margins) == 1:
            return margins[0]
        logs = np.log(self.weights)[:, None]
        no, yes = (logsumexp(log_ndtr(side * margins) + logs, axis=0) for side in (-1, 1))
        return np.where(yes < no, ndtri_exp(yes), -ndtri_exp(no))

    def loo(self) -> tuple[Array, Array, Array]:
        """Weights, means and variances (G, N) of each observation given all others.

        The weights are those of the parameters given all other observations: p(parameters | y) is divided by
        p(y_i | parameters, other y).
        """
        means, variances = (np.stack(part) for part in zip(*(p.loo() for p in self.posteriors)))
        if len(self.weights) == 1:
            return np.ones(means.shape), means, variances
        return self._without(np.stack([p.loo_log_density() for p in self.posteriors])), means, variances

    def loo_probability(self) -> Array:
        """The probability of the label 1 given all other labels, (N,)."""
        ones = np.stack([p.loo_probability() for p in self.posteriors])
        given = np.where(self.posteriors[0].y > 0, ones, 1 - ones)
        return (self._without(np.log(np.maximum(given, np.finfo(float).tiny))) * ones).sum(axis=0)

    def loo_probabilities(self) -> Array:
        """The probabilities of several classes given all other labels, (N, classes)."""
        rows = np.stack([p.loo_probability() for p in self.posteriors])
        given = np.take_along_axis(rows, self.posteriors[0].y[None, :, None], axis=2)[..., 0]
        return (self._without(np.log(np.maximum(given, np.finfo(float).tiny)))[..., None] * rows).sum(axis=0)

    def _without(self, log_densities: Array) -> Array:
        """The weights (G, N) without each of the observations."""
        logs = np.log(self.weights)[:, None] - log_densities
        return np.exp(logs - logsumexp(logs, axis=0))

    def sample(self, points: Any, rng: Any, size: int = 1) -> Array:
        """Functions drawn from the posterior at the points, (size, M); each has parameters of its own."""
        rng = generator(rng)
        if len(self.weights) == 1:
            return self.posteriors[0].sample(points, rng, size)
        numbers = self.numbers(rng, size)
        values = np.empty((len(numbers), len(points)))
        for g in np.unique(numbers):
            values[numbers == g] = self.posteriors[g].sample(points, rng, int(np.sum(numbers == g)))
        return values

    def numbers(self, rng: Any, size: int) -> Array:
        """The number of the posterior that each of `size` functions is drawn from."""
        size = check_count("number of samples", size)
        check_memory(8.0 * size, f"{size} samples", "Ask for fewer at a time.")
        one = len(self.weights) == 1  # no random number is spent where there is no choice
        return np.zeros(size, int) if one else rng.choice(len(self.weights), size, p=self.weights)

    def _average(self, values: Any) -> Array:
        return values[0] if len(self.weights) == 1 else np.tensordot(self.weights, np.asarray(values), axes=1)


def averaged(weights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """Mean and variance (M,) of mixtures of distributions with these means and variances, (G, M)."""
    if len(means) == 1:
        return means[0], variances[0]
    mean = (weights * means).sum(axis=0)
    return mean, (weights * (variances + (means - mean) ** 2)).sum(axis=0)


def normal_quantile(weights: Array, means: Array, deviations: Array, probability: float) -> Array:
    """The quantile (M,) of mixtures of normal distributions, whose means and standard deviations are (G, M).

    It is between the least and the largest quantile of the parts.

    Examples
    --------
    >>> normal_quantile(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.ones((2, 1)), 0.5)
    array([0.])
    """
    quantiles = means + ndtri(probability) * deviations
    low, high = quantiles.min(axis=0), quantiles.max(axis=0)
    open_ = high - low > 1e-14 * np.abs(quantiles).max(axis=0)
    if not open_.any():
        return quantiles[0]
    means, deviations = means[:, open_], np.maximum(deviations[:, open_], np.finfo(float).tiny)

    def excess(x: Array, place: Array) -> Array:
        place = place.astype(int)
        return weights @ ndtr((x - means[:, place]) / deviations[:, place]) - probability

    low, high = low[open_], high[open_]
    margin = 1e-9 * (high - low)  # where all variances are zero the distribution jumps at the ends
    found = elementwise.find_root(excess, (low - margin, high + margin), args=(np.arange(len(low)),))
    result = quantiles[0].copy()
    result[open_] = found.x
    return result
