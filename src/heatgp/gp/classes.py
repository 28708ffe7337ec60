"""Labels: two classes have one latent function, -1 and 1; more have one function each, which are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..covariance import Array, Kernel
from ..errors import InvalidInput, OfRow
from ..threads import of_posterior
from .inference import coefficient_prior
from .multinomial import Multinomial
from .parameters import Params
from .posterior import Posterior, approximation, condition
from .prior import NO_BASIS, Mean, MeanBasis, Pairs, observations
from .probit import Probit


@dataclass(frozen=True)
class ClassesPosterior(Posterior):
    """One Gaussian process f_c for each class, with the same prior, given which class has the largest value.

    Of f there are means (M, classes), and the covariances of all f_c at each point, (M, classes, classes).

    Reference: Riihimaki, Jylanki & Vehtari (2013), section 3.
    """

    trend: MeanBasis = NO_BASIS  # the basis functions of the mean, of which each function has coefficients
    columns: Array = field(default_factory=lambda: np.empty((0, 0)))  # (N, q), their values at the data
    variances: Array = field(default_factory=lambda: np.empty(0))  # (q,), the prior variances of their coefficients

    def again(self, kernel: Kernel, params: Params, pairs: Pairs = None, likelihood: Any = None) -> Posterior:
        known = likelihood or self.likelihood
        return condition_classes(kernel, self.X, self.y, params, known, pairs=pairs, **self.options)

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
        found = []
        for part in self._chunks(shift):
            mean = factor.K[part] @ self.weights
            covariance = self._covariance(factor.K[part], np.diagonal(factor.K)[part])
            p, q = factor.precision.T[part], shift[part]
            share = p / p.sum(axis=1, keepdims=True)
            precision = p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * share[:, None]
            left = np.eye(p.shape[1]) - covariance @ precision
            pull = mean - (covariance @ (q - share * q.sum(axis=1, keepdims=True))[..., None])[..., 0]
            center, spread = np.linalg.solve(left, pull[..., None])[..., 0], np.linalg.solve(left, covariance)
            found.append(self.likelihood.probabilities(center, (spread + spread.swapaxes(1, 2)) / 2))
        return np.concatenate(found)

    def _cross(self, Xnew: Any) -> Array:
        cross, wide = super()._cross(Xnew), self.trend.at(Xnew) * np.sqrt(self.variances)
        if self.factor.of_features:
            return np.hstack([cross, wide])
        return cross + (wide * np.sqrt(self.variances)) @ self.columns.T

    def _unseen(self, points: Any, cross: Array) -> Array:
        if self.factor.of_features:
            return super()._unseen(points, cross[:, : cross.shape[1] - len(self.variances)])
        return super()._unseen(points, cross) + np.square(self.trend.at(points)) @ self.variances

    @property
    def _projections(self) -> tuple[Array, Array]:
        return self.weights, self.solved

    def _variance(self, points: Any, cross: Array, columns: Array) -> Array:
        return self._covariance(cross, self._unseen(points, cross))

    def _covariance(self, cross: Array, prior: Array) -> Array:
        """The covariances at M points, from `cross` (see `_cross`) and the variances that it leaves open."""
        explained, of_level = self.factor.explained(cross)
        alone = np.maximum(prior - explained, 0.0).T
        return of_level + alone[:, :, None] * np.eye(alone.shape[1])

    @property
    def _per_point(self) -> int:
        return self.weights.size * (self.weights.shape[1] if self.factor.of_features else 1)


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

    Other arguments are those of `condition`.

    Raises
    ------
    InvalidInput : if y holds other values.
    NotConverged : if the inference does not converge.
    """
    options: dict[str, Any] = {"mean": mean, "coefficient_scale": coefficient_scale}
    if likelihood.functions is None:
        return condition(kernel, X, labels(X, y), params, pairs=pairs, likelihood=likelihood, start=start, **options)
    data, basis = observations(X, y, **options)
    # probabilities of several classes are integrated to 5e-4: sites may be as rough as in the fit
    found, variance = approximation(
        kernel, X, data, params, likelihood, pairs, start, accuracy="exact" if start is None else "search"
    )
    return ClassesPosterior(
        kernel,
        X,
        y,
        params,
        likelihood,
        found.factor,
        found.weights.T,
        found.log_evidence,
        inner=np.empty((0, likelihood.functions)),
        inferred=found,
        options=options,
        trend=basis,
        columns=data.basis,
        variances=1.0 / coefficient_prior(likelihood, data, variance)[0],
    )


def labels(X: Any, y: ArrayLike) -> Array:
    """Checked labels, one for each point."""
    signs = np.asarray(y, dtype=float)
    if signs.shape != (len(X),) or not len(X):
        raise InvalidInput(f"y has shape {signs.shape} and X {len(X)} points: one label for each of N >= 1 points.")
    for where in np.flatnonzero(np.abs(signs) != 1).tolist():
        raise InvalidInput(OfRow("y[", where, f"] = {signs[where]} is not a label. Labels are -1 and 1."))
    return signs
