"""Labels: two classes have one latent function, -1 and 1; more have one function each, which are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import InvalidInput, OfRow
from ..threads import of_posterior
from .inference import Approximate, constant_variance
from .multinomial import Multinomial
from .parameters import Params
from .posterior import CHUNK, Posterior, condition
from .prior import Mean, Pairs, Prior, observations
from .probit import Probit


@dataclass(frozen=True)
class ClassesPosterior(Posterior):
    """One Gaussian process f_c for each class, with the same prior, given which class has the largest value.

    The moments of f have an axis of classes. Reference: Riihimaki, Jylanki & Vehtari (2013), section 3.
    """

    constant: float = 0.0  # the prior variance of the constant that each function has

    def again(
        self, kernel: Kernel, params: Params, pairs: Pairs = None, likelihood: Multinomial | None = None
    ) -> Posterior:
        return condition_classes(
            kernel, self.X, self.y, params, pairs=pairs, likelihood=likelihood or self.likelihood, **self.options
        )

    @of_posterior
    def latent(self, Xnew: Any) -> tuple[Array, Array]:
        """Mean, (M, classes), and covariance, (M, classes, classes), of all f_c at each point."""
        classes = len(self.weights)
        size = max(1, CHUNK // (self.weights.size * (classes if self.factor.of_features else 1)))
        means, covariances = [np.empty((0, classes))], [np.empty((0, classes, classes))]
        for start in range(0, len(Xnew), size):
            points = Xnew[start : start + size]
            cross = self._cross(points)
            mean, covariance = self._given(cross, self._unseen(points, cross))
            means.append(mean)
            covariances.append(covariance)
        return np.concatenate(means), np.concatenate(covariances)

    def probabilities(self, Xnew: Any, label_noise: bool = True) -> Array:
        """The probability of each class, (M, classes); that of the largest f_c + u_c without `label_noise`."""
        likelihood = self.likelihood if label_noise else Multinomial(self.likelihood.classes)
        return likelihood.probabilities(*self.latent(Xnew))

    @of_posterior
    def loo_probability(self) -> Array:
        """The probabilities at X, (N, classes), each from all labels but its own: the sites of a point are taken out.

        The level is integrated out of the sites with precisions p and shifts q, which leaves a normal factor of f with
        precision diag(p) - p p' / sum(p) and shift q - p sum(q) / sum(p).
        """
        assert self.inferred is not None
        factor, shift = self.factor, self.inferred.shift.T
        size = max(1, CHUNK // shift.size)
        found = []
        for start in range(0, len(shift), size):
            part = slice(start, start + size)
            mean, covariance = self._given(factor.K[part], np.diagonal(factor.K)[part])
            p, q = factor.precision.T[part], shift[part]
            share = p / p.sum(axis=1, keepdims=True)
            precision = p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * share[:, None]
            left = np.eye(p.shape[1]) - covariance @ precision
            pull = mean - (covariance @ (q - share * q.sum(axis=1, keepdims=True))[..., None])[..., 0]
            center, spread = np.linalg.solve(left, pull[..., None])[..., 0], np.linalg.solve(left, covariance)
            found.append(self.likelihood.probabilities(center, (spread + spread.swapaxes(1, 2)) / 2))
        return np.concatenate(found)

    def _cross(self, Xnew: Any) -> Array:
        cross = super()._cross(Xnew)
        if self.factor.of_features:
            return np.hstack([cross, np.full((len(cross), 1), np.sqrt(self.constant))])
        return cross + self.constant

    def _unseen(self, points: Any, cross: Array) -> Array:
        if self.factor.of_features:
            return super()._unseen(points, cross[:, :-1])
        return super()._unseen(points, cross) + self.constant

    def _given(self, cross: Array, prior: Array) -> tuple[Array, Array]:
        """Mean and covariance at M points, from `cross` (see `_cross`) and the variances that it leaves open."""
        explained, of_level = self.factor.explained(cross)
        alone = np.maximum(prior - explained, 0.0).T
        return cross @ self.weights.T, of_level + alone[:, :, None] * np.eye(alone.shape[1])


def condition_classes(
    kernel: Kernel,
    X: Any,
    y: Any,
    params: Params,
    likelihood: Probit | Multinomial,
    mean: Mean = "constant",
    pairs: Pairs = None,
    *,
    start: Array | None = None,
    coefficient_scale: ArrayLike | None = None,
) -> Posterior:
    """The posterior given labels -1 or 1, or, with a Multinomial, the numbers of classes.

    Other arguments are those of `condition`; the mean of several functions is "constant" or "zero".

    Raises
    ------
    InvalidInput : if y holds other values.
    NotConverged : if the inference does not converge.
    """
    options: dict[str, Any] = {"mean": mean, "coefficient_scale": coefficient_scale}
    if likelihood.functions is None:
        return condition(kernel, X, labels(X, y), params, pairs=pairs, likelihood=likelihood, start=start, **options)
    data, _ = observations(X, y, **options)
    prior = Prior.of(kernel, X, params.time, pairs, dense=True)
    values, _ = prior.at(params.time)
    # probabilities of several classes are integrated to 5e-4: sites may be as rough as in the fit
    inference = Approximate(likelihood, accuracy="exact" if start is None else "search")
    inference.sites[:] = [] if start is None else [start]
    variance = params.amplitude * prior.mean_variance(values)
    found = inference.approximation(prior.form, params.amplitude * values, variance, data, likelihood)
    return ClassesPosterior(
        kernel,
        X,
        y,
        params,
        likelihood,
        found.factor,
        found.weights,
        found.log_evidence,
        inferred=found,
        options=options,
        constant=constant_variance(likelihood, data, variance),
    )


def labels(X: Any, y: ArrayLike) -> Array:
    """Checked labels, one for each point."""
    signs = np.asarray(y, dtype=float)
    if signs.shape != (len(X),) or not len(X):
        raise InvalidInput(f"y has shape {signs.shape} and X {len(X)} points: one label for each of N >= 1 points.")
    for where in np.flatnonzero(np.abs(signs) != 1).tolist():
        raise InvalidInput(OfRow("y[", where, f"] = {signs[where]} is not a label. Labels are -1 and 1."))
    return signs


def one_against_rest(probabilities: Array) -> Array:
    """Class probabilities (N, classes) from P(class against the rest): each row divided by its sum.

    >>> one_against_rest(np.array([[0.6, 0.3, 0.3]]))
    array([[0.5 , 0.25, 0.25]])
    """
    probabilities = np.maximum(probabilities, np.finfo(float).tiny)  # where all are zero, all classes are equal
    return probabilities / probabilities.sum(axis=1, keepdims=True)
