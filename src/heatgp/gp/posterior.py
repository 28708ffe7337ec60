"""A Gaussian process that has seen data: predictions of the latent function and of observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from ..cost import check_memory
from ..covariance import Array, Kernel, contracted, scaled_vectors, with_scale
from ..errors import InvalidInput, Unsupported
from ..threads import of_data, of_posterior, on_all_threads
from .approximation import Approximation
from .exact import evidence
from .factors import JITTER, draw
from .inference import Approximate
from .likelihood import Likelihood
from .normal import Normal
from .objective import Accuracy, Objective
from .parameters import Given, Params
from .prior import NO_BASIS, Mean, MeanBasis, Pairs, Prior, Targets, observations, targets
from .search import Bounds, objective_of
from .structure import Structure

PAIRS = 2**18
"""Pairs whose gradients are in memory at one time."""
CHUNK = 2**22
"""Entries of k(Xnew, X) in memory at one time, 32 MB, however many new points there are."""


@dataclass(frozen=True)
class AllData(Structure):
    """All data are kept, and their covariance as a matrix or as features."""

    def count(self, posterior: Posterior) -> int:
        return len(posterior.X)

    def approximation(self, posterior: Posterior) -> None:
        return None

    def again(self, posterior: Posterior, kernel: Kernel, params: Params, pairs: Pairs, likelihood: Any) -> Posterior:
        known = None if isinstance(posterior.likelihood, Normal) else likelihood or posterior.likelihood
        return condition(kernel, posterior.X, posterior.y, params, pairs=pairs, likelihood=known, **posterior.options)

    def objective(
        self, posterior: Posterior, bounds: Bounds, given: Given, priors: Any, pairs: Pairs, likelihood: Any
    ) -> tuple[Objective, Array]:
        options = {name: value for name, value in posterior.options.items() if name != "noise_is_known"}
        options |= {"pairs": pairs, "priors": priors, "likelihood": likelihood}
        kernel = self.kernel(posterior)
        objective = objective_of(kernel, posterior.X, posterior.y, bounds, given, **options).at("curvature")
        return objective, objective.box


@dataclass(frozen=True)
class Posterior:
    """A Gaussian process f given observations, and predictions of new observations.

    f has the mean offset + h(x) c + k(x, X) weights and the covariance k(x, y) - k(x, X) R k(X, y). h are the basis
    functions of the mean, one constant, several or none, and c their coefficients, whose uncertainty is included.

    References: Rasmussen & Williams (2006), Alg. 2.1 and eq. 2.25, 2.26, 2.41, 2.42 for normal noise, Alg. 3.6, lines 4
    to 6, and Alg. 3.2 for other likelihoods, where the evidence is approximate.
    """

    kernel: Kernel
    X: Any
    y: Array
    params: Params
    likelihood: Any
    factor: Any  # Dense or LowRank; of other structures their own
    weights: Array  # (N,), R (y - mean), or K^-1 times the mean of f; with an axis of outputs or classes where f has it
    log_marginal_likelihood: float
    offset: Any = 0.0  # the known part of the mean: a number, or one for each new point
    basis: MeanBasis = NO_BASIS
    inner: Array = field(default_factory=lambda: np.empty(0))  # (q,), the coefficients of the columns of `basis`
    lower: Array = field(default_factory=lambda: np.empty((0, 0)))  # (q, q), L L' is their posterior precision
    solved: Array = field(default_factory=lambda: np.empty((0, 0)))  # (N, q), R H, H the columns of the basis
    inferred: Approximation | None = None  # the sites of observations that are not normal
    options: Mapping[str, Any] = field(default_factory=dict)  # those of `condition`
    structure: Any = field(default_factory=AllData)

    @property
    def count(self) -> int:
        """How many data it has seen."""
        return self.structure.count(self)

    @property
    def points_of_data(self) -> Any:
        """The points of the data, or of a random part of them."""
        return self.structure.points(self)

    @cached_property
    def approximation(self) -> Any:
        """How good the approximation is; None where there is none."""
        return self.structure.approximation(self)

    @property
    def noise_is_known(self) -> bool:
        """Whether each observation has a known noise of its own, so that the noise of others is not known."""
        return isinstance(self.likelihood, Normal) and self.likelihood.noise is None

    @property
    def is_bound(self) -> bool:
        """Whether expectation propagation did not converge, and the evidence is a bound: see `variational`."""
        return self.inferred is not None and self.inferred.in_parameters is not None

    @property
    def coefficients(self) -> Array:
        """The posterior means of the coefficients of the basis functions, (q,)."""
        return self.basis.transform @ self.inner

    @property
    def coefficient_covariance(self) -> Array:
        """The posterior covariance of the coefficients, (q, q)."""
        root = self._whitened_basis(self.basis.transform)
        return root.T @ root

    @property
    def coefficient_errors(self) -> Array:
        """The posterior standard deviations of the coefficients, (q,)."""
        return np.sqrt(np.square(self._whitened_basis(self.basis.transform)).sum(axis=-2).T)

    def again(self, kernel: Kernel, params: Params, pairs: Pairs = None, likelihood: Any = None) -> Posterior:
        """The posterior of the same data with another kernel, other parameters or another likelihood."""
        return self.structure.again(self, kernel, params, pairs, likelihood)

    def objective(
        self, bounds: Bounds, given: Given, priors: Any = None, pairs: Pairs = None, likelihood: Any = None
    ) -> tuple[Objective, Array]:
        """What a search for the parameters of these data maximises, and the box of its coordinates.

        All that is learned is a coordinate. `likelihood` has None for its parameters that are learned; the default is
        normal noise.
        """
        return self.structure.objective(self, bounds, given, priors, pairs, likelihood)

    def objective_at(self, given: Given) -> Objective:
        """The log evidence of these data as a function of all that is not given, wherever it is."""
        free = None
        if self.inferred is not None:
            names = [name for name in self.likelihood.bounds if vars(self.likelihood)[name] > 0]
            free = replace(self.likelihood, **dict.fromkeys(names))
        objective, _ = self.objective(Bounds((1.0, 2.0)), given, likelihood=free)
        return objective.at("exact")

    @property
    def kernel_of_f(self) -> Kernel:
        """The kernel of f, where the data are carried by another."""
        return self.structure.kernel(self)

    def with_basis(self, values: Array) -> Self:
        """The same, for new points at which the basis functions of the mean have these values, (M, q)."""
        return replace(self, basis=replace(self.basis, values=values))

    @of_posterior
    def latent_mean(self, Xnew: Any) -> Array:
        """The mean of f, (M,)."""
        moved = np.concatenate([self._cross(Xnew[rows]) @ self._projections[0] for rows in self._chunks(Xnew)])
        return self.offset + self.basis.at(Xnew) @ self.inner + moved

    @of_posterior
    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        """Mean and variance of f, (M,), in the time of the variance alone; variances are never negative."""
        columns = self.basis.at(Xnew)

        def of_f(rows: slice) -> tuple[Array, Array]:
            cross = self._cross(Xnew[rows])
            mean = cross @ self._projections[0] + columns[rows] @ self.inner
            return mean, self._variance(Xnew[rows], cross, columns[rows])

        found = on_all_threads(of_f, self._chunks(Xnew), float(len(Xnew)) * len(self.X) ** 2)
        means, variances = map(np.concatenate, zip(*found))
        return self.offset + means, variances

    @of_posterior
    def latent_covariance(self, Xnew: Any) -> Array:
        """The covariance of f at all pairs of points, (M, M)."""
        number, columns, time = len(Xnew), self.basis.at(Xnew), self.params.time
        check_memory(24.0 * number**2, f"The covariance of {number:,} points", "Ask for fewer points at once.")
        cross = self._cross(Xnew)
        white = self.factor.whiten(cross)
        a = self.params.amplitude
        if self.factor.of_features:
            covariance = white.T @ white + a * self.kernel.left_out_pairs(Xnew, time, cross / np.sqrt(a))
        else:
            covariance = a * self.kernel.pairs(Xnew).at(time).value - white.T @ white
        unseen = self._whitened_basis(columns - cross @ self._projections[1])
        return symmetric(covariance + unseen.T @ unseen)

    def mean(self, Xnew: Any) -> Array:
        """The mean of an observation; of labels that of f."""
        if self.likelihood.predicts_f:
            return self.latent_mean(Xnew)
        return self.likelihood.mean(*self.latent(Xnew))

    def moments(self, Xnew: Any, noise: Any = False) -> tuple[Array, Array]:
        """Mean and variance of the mean of an observation given f, or with `noise` of new observations.

        `noise` is True for that of the model, or for normal noise its variances at the new points: one, or (M,).
        """
        latent = self.latent(Xnew)
        if is_false(noise):
            return self.likelihood.mean(*latent), self.likelihood.signal_variance(*latent)
        likelihood = self.likelihood.with_noise(noise, len(Xnew))
        return likelihood.mean(*latent), likelihood.variance(*latent)

    def covariance(self, Xnew: Any, noise: Any = False) -> Array:
        """The covariance of these at all pairs of points, (M, M)."""
        covariance = self.latent_covariance(Xnew)
        mean = None if self.likelihood.predicts_f else self.latent_mean(Xnew)
        found, own = self.likelihood.covariance(mean, covariance), np.arange(len(Xnew))
        if not is_false(noise):
            likelihood = self.likelihood.with_noise(noise, len(Xnew))
            found[own, own] = likelihood.variance(mean, covariance[own, own])
        return found

    @of_posterior
    def sample(self, Xnew: Any, rng: Any, size: int = 1) -> Array:
        """`size` draws of the mean of an observation given f, at Xnew: (size, M)."""
        return self.likelihood.expected(draw(self.latent_mean(Xnew), self.latent_covariance(Xnew), rng, size))

    def quantile(self, Xnew: Any, p: float) -> Array:
        """What a new observation does not exceed with the probability p."""
        return self.likelihood.quantile(p, *self.latent(Xnew))

    def log_density(self, Xnew: Any, y: Array, noise: Any = True) -> Array:
        """The log density of new observations, or without `noise` of their mean given f."""
        if is_false(noise):
            return Normal(0.0).tilted(y, *self.moments(Xnew))[0]
        return self.likelihood.with_noise(noise, len(Xnew)).tilted(y, *self.latent(Xnew))[0]

    def probability(self, Xnew: Any) -> Array:
        """P(y = 1) of labels -1 and 1, with the uncertainty of f.

        Reference: Rasmussen & Williams (2006), Alg. 3.6, line 7.
        """
        return self.likelihood.probability(*self.latent(Xnew))

    def loo_probability(self) -> Array:
        """P(y_i = 1) of each label given all others, from the approximation of all: the prediction of the cavity."""
        assert self.inferred is not None
        return self.likelihood.probability(*self.inferred.cavities)

    @of_posterior
    def loo(self) -> tuple[Array, Array]:
        """Mean and variance of each observation given all others, at the same parameters.

        With normal noise mu_i = y_i - [Q y]_i / Q_ii and sigma_i^2 = 1 / Q_ii with Q = C^-1 - C^-1 H A^-1 H' C^-1, the
        inverse covariance of observations whose mean has coefficients that are estimated anew without i. Else from the
        approximation of all: by the cavities.

        Reference: Rasmussen & Williams (2006), eq. 5.12; Dubrule (1983).
        """
        if not self.structure.keeps_data:
            raise Unsupported(
                "leave-one-out predictions need all data, and this model does not keep them. Hold data out and predict "
                'them, or use inference="dense".'
            )
        if self.inferred is not None:
            cavities = self.inferred.cavities
            return self.likelihood.mean(*cavities), self.likelihood.variance(*cavities)
        R, root, weights = self._loo_parts
        Q = R - np.square(root).sum(axis=-2).T
        for where, *_ in np.argwhere(~(Q > 1e-12 * R)):
            raise InvalidInput(
                f"leave-one-out of N = {len(Q)} point{'s' * (len(Q) > 1)} has no data to predict from: without point "
                f"{where} the {len(self.inner)} coefficients of the mean have no estimate. Give at least 2 "
                "points, or more than there are coefficients."
            )
        return self.y - weights / Q, 1.0 / Q

    def loo_log_density(self) -> Array:
        """The log density of each observation given all others."""
        if self.inferred is not None:
            return self.likelihood.tilted(self.y, *self.inferred.cavities)[0]
        return Normal(0.0).tilted(self.y, *self.loo())[0]

    @property
    def has_gradients(self) -> bool:
        """Whether `gradients` are those of predictions: of one output, and of f itself."""
        return self.likelihood.predicts_f and self.y.ndim == 1

    @of_posterior
    def gradients(self, Xnew: Any, of_basis: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and variance of f, (M,), and their gradients in the points, (M, *shape).

        `of_basis` (M, q, *shape) are the gradients of the basis functions of the mean. With u = A^-1 (h - k RH)', A the
        precision of the coefficients, the gradient of the variance is that of k(x, x) less 2 (Rk + RH u)' ∇k, plus
        2 u' ∇h.
        """
        columns = self.basis.at(Xnew)
        of_columns = np.einsum("mq...,qr->mr...", of_basis, self.basis.transform)
        rows = max(1, PAIRS // max(1, len(self.X)))
        starts = range(0, max(1, len(Xnew)), rows)
        parts = [self._gradients(Xnew[i : i + rows], columns[i : i + rows], of_columns[i : i + rows]) for i in starts]
        mean, variance, of_mean, of_variance = map(np.concatenate, zip(*parts))
        return self.offset + mean, variance, of_mean, of_variance

    def _gradients(self, points: Any, columns: Array, of_columns: Array) -> tuple[Array, Array, Array, Array]:
        """The same, without the offset, for columns of `Targets` and their gradients."""
        a, time, kernel, factor = self.params.amplitude, self.params.time, self.kernel, self.factor
        if factor.of_features:
            cross = self._cross(points)
            prior = self._unseen(points, cross)
            of_prior = a * kernel.left_out_gradient(points, time, cross / np.sqrt(a))
        else:
            found = kernel.with_gradients(points, self.X, time)
            cross = a * with_scale(found.value, found.log_scale)
            prior = self._unseen(points, cross)
            of_prior = scaled_vectors(prior, kernel.log_variance_gradient(points, time))

        def moved(weights: Array) -> Array:
            """The gradients (M, c, *shape) of cross times weights (M, c, N) that do not move."""
            if factor.of_features:
                return np.sqrt(a) * kernel.feature_gradients(points, time, weights)
            return a * with_scale(contracted(weights, found.gradient), found.log_scale)

        inner, of_basis = self._projections
        white = factor.whiten(cross)
        unseen = self._whitened_basis(columns - cross @ of_basis)
        u = linalg.solve_triangular(self.lower, unseen, lower=True, trans=1, check_finite=False)
        explained = np.square(white).sum(axis=0)
        weights = 2 * (factor.sign * factor.unwhiten(white) - of_basis @ u)
        both = moved(np.stack((np.broadcast_to(inner, cross.shape), weights.T), axis=1))
        return (
            cross @ inner + columns @ self.inner,
            np.maximum(prior + factor.sign * explained, 0.0) + np.square(unseen).sum(axis=0),
            both[:, 0] + np.einsum("mq...,q->m...", of_columns, self.inner),
            both[:, 1] + of_prior + 2 * np.einsum("mq...,qm->m...", of_columns, u),
        )

    @cached_property
    def _projections(self) -> tuple[Array, Array]:
        """What `_cross` is multiplied by to give k(Xnew, X) weights and k(Xnew, X) R H."""
        return self.factor.reduced(self.weights), self.factor.reduced(self.solved)

    @property
    def _loo_parts(self) -> tuple[Array, Array, Array]:
        """The diagonal of R, V' with R - V V' the Q of `loo`, and Q y."""
        return self.factor.inverse_diagonal(), self._whitened_basis(self.solved), self.weights

    def _whitened_basis(self, columns: Array) -> Array:
        """L^-1 columns', (q, M): the squares of a column add up to the variance that comes from the coefficients."""
        return linalg.solve_triangular(self.lower, columns.T, lower=True, check_finite=False)

    def _cross(self, Xnew: Any) -> Array:
        """k(Xnew, X), or the features of the new points where the covariance is of low rank."""
        a, time = self.params.amplitude, self.params.time
        if not self.factor.of_features:
            return a * self.kernel.pairs(Xnew, self.X).at(time).value
        features = self.kernel.features(Xnew)
        assert features is not None
        return np.sqrt(a) * features.at(time).value

    def _variance(self, points: Any, cross: Array, columns: Array) -> Array:
        """The variance of f, (M,), from `cross` and the columns of the basis."""
        moved = self.factor.sign * np.square(self.factor.whiten(cross)).sum(axis=0)
        of_basis = self._whitened_basis(columns - cross @ self._projections[1])
        return np.maximum(self._unseen(points, cross) + moved, 0.0) + np.square(of_basis).sum(axis=0)

    def _unseen(self, points: Any, cross: Array) -> Array:
        """The prior variance of f, (M,), or what features do not explain of it."""
        a, time = self.params.amplitude, self.params.time
        if self.factor.of_features:
            return a * self.kernel.left_out(points, time, cross / np.sqrt(a))
        return a * self.kernel.diag(points, time)

    @property
    def _per_point(self) -> int:
        """How many numbers are in memory for each new point."""
        return len(self.X)

    def _chunks(self, points: Any) -> Iterator[slice]:
        """Rows that are worked on at one time; no points are one chunk."""
        size = max(1, CHUNK // max(1, self._per_point))
        return (slice(start, start + size) for start in range(0, max(1, len(points)), size))


def symmetric(covariance: Array) -> Array:
    """A covariance without what rounding did to it: symmetric, and no variance below zero."""
    covariance = (covariance + covariance.T) / 2
    covariance.flat[:: len(covariance) + 1] = np.maximum(np.diagonal(covariance), 0.0)
    return covariance


def is_false(noise: Any) -> bool:
    """Whether the argument `noise` of a prediction asks for none."""
    return isinstance(noise, (bool, np.bool_)) and not noise


@of_data
def condition(
    kernel: Kernel,
    X: Any,
    y: Any,
    params: Params,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    likelihood: Likelihood | None = None,
    start: Array | None = None,
    noise_scale: ArrayLike | None = None,
    noise_is_known: bool = False,
    coefficient_scale: ArrayLike | None = None,
    offset: Any = 0.0,
) -> Posterior:
    """The posterior of f given observations.

    Parameters
    ----------
    kernel : Kernel, the covariance. Its features are used, in time linear in N, where it has fewer than N.
    X : array of N points, the first axis.
    y : array (N,) of real targets y = f(X) + noise, or of observations as the likelihood takes them.
    params : Params. A noise below 1e-10 of the prior variance counts as that much; with a likelihood it is not used.
    mean : "constant" (default), "zero", a number, a function of points that returns basis functions (N, q), or an array
        of their values at X. The coefficients of basis functions (the constant is one) are integrated out: predictive
        variances include their uncertainty.
    pairs : `kernel.pairs(X)` where the caller has it already, default None.
    likelihood : Likelihood, all of whose parameters have a value; default None: normal noise.
    start : array, default None. The sites where the inference starts, from a fit or from a similar prior.
    noise_scale : array (N,) of numbers of at least 0, default None: ones. Observation i has the noise
        params.noise * noise_scale[i].
    noise_is_known : bool, default False. Whether `noise_scale` are known variances, beside a params.noise of 1. Then
        that of new observations must be given to predictions.
    coefficient_scale : number or array (q,), default None. The prior standard deviation of each coefficient. None, or
        inf, is a flat prior. With likelihoods whose `flat_mean` is False it is normal: in the coordinates in which the
        columns have the mean square one and are orthogonal, with the variance unit² + that of f.
    offset : number or array (N,), default 0. With a likelihood, what is added to f where each observation is made, such
        as the log of the exposure of a count. Predictions are of f itself.

    Returns
    -------
    Posterior.

    Raises
    ------
    InvalidInput : if y is not N finite numbers, or another argument is not possible.
    NotPositiveDefinite : if the covariance cannot be factored.
    NotConverged : if the inference does not converge.
    """
    if likelihood is not None:
        data, basis = observations(X, y, mean, coefficient_scale, offset, likelihood)
        sites, _ = approximation(kernel, X, data, params, likelihood, pairs, start)
        return Posterior(
            kernel,
            X,
            y,
            params,
            likelihood,
            sites.factor.factor,
            sites.weights,
            sites.log_evidence,
            data.known,
            basis,
            data.start + sites.factor.coefficients(sites.shift),
            sites.factor.lower,
            sites.factor.solved,
            inferred=sites,
            options={"mean": mean, "coefficient_scale": coefficient_scale, "offset": offset},
        )
    if np.ndim(y) == 2:
        raise InvalidInput(f"y has shape {np.shape(y)}; several outputs are for `condition_outputs`.")
    data, basis = targets(X, y, mean, noise_scale, coefficient_scale)
    options = {
        "mean": mean,
        "noise_scale": noise_scale,
        "noise_is_known": noise_is_known,
        "coefficient_scale": coefficient_scale,
    }
    prior = Prior.of(kernel, X, params.time, pairs)
    values, _ = prior.at(params.time)
    noise = np.maximum(params.noise * data.noise, JITTER * params.amplitude * prior.mean_variance(values))
    factor = prior.form.of(params.amplitude**prior.form.power * values, 1.0 / noise)  # Alg. 2.1, line 2
    found = evidence(factor, noise, data, 1.0)  # lines 3 and 7: covariance 1 * (amplitude K + noise)
    return Posterior(
        kernel,
        X,
        np.asarray(y, dtype=float),
        params,
        Normal(None if noise_is_known else params.noise),
        factor,
        found.weights[:, 0],
        found.value,
        data.known,
        basis,
        data.start + found.coefficients,
        found.lower,
        found.weights[:, 1:],
        options=options,
    )


def approximation(
    kernel: Kernel,
    X: Any,
    data: Targets,
    params: Params,
    likelihood: Likelihood,
    pairs: Pairs,
    start: Array | None,
    accuracy: Accuracy = "exact",
) -> tuple[Approximation, float]:
    """The normal distribution of f given data, and the mean prior variance of f; `accuracy` as of an `Inference`."""
    prior = Prior.of(kernel, X, params.time, pairs, dense=likelihood.functions is not None)
    values, _ = prior.at(params.time)
    inference = Approximate(likelihood, accuracy=accuracy)
    inference.sites[:] = [] if start is None else [start]
    variance = params.amplitude * prior.mean_variance(values)
    values = params.amplitude**prior.form.power * values
    return inference.approximation(prior.form, values, variance, data, likelihood), variance
