"""Gaussian process classification with scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target

from ..errors import InvalidInput
from ..gp.classification import ClassPosterior, chosen, condition_classifier, one_against_rest
from ..gp.fit import fit_classification
from ..gp.search import Given
from ..manifolds import Manifold
from .base import HeatGP
from .kernel_error import KernelError, kernel_error


class GPClassifier(ClassifierMixin, HeatGP):
    """Gaussian process classification on a manifold: P(class) = Phi(f), f ~ GP(0, amplitude * p_t / p_t(x, x)).

    Parameters are those of `GPRegressor`, without noise and mean, and `inference`: "ep" (expectation propagation, as in
    Ye et al. 2024) or "laplace". More than two classes are fitted one against the rest, each with a time and an
    amplitude of its own. The amplitude is searched for up to 10,000: there f is so large that labels have no noise,
    which is the answer where the classes do not overlap, and more would change no prediction.

    Attributes
    ----------
    classes_ : the labels, sorted.
    time_, amplitude_ : the parameters used; with more than two classes one entry a class.
    posteriors_ : one Gaussian process, or one a class.

    >>> import heatgp as hg
    >>> CP2 = hg.ComplexProjective(2)
    >>> X = CP2.random(np.random.default_rng(0), 80)
    >>> gp = hg.GPClassifier(CP2, amplitude=10).fit(X, np.abs(X[:, 0]) > 0.6)
    >>> gp.predict([[1, 0, 0], [0, 1, 0]])
    array([ True, False])
    """

    def __init__(
        self,
        manifold: Manifold | None = None,
        *,
        kernel: Any = "auto",
        time: Any = None,
        amplitude: float | None = None,
        inference: Literal["ep", "laplace"] = "ep",
        normalize: bool = True,
        time_bounds: Any = None,
        rng: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.manifold = manifold
        self.kernel = kernel
        self.time = time
        self.amplitude = amplitude
        self.inference = inference
        self.normalize = normalize
        self.time_bounds = time_bounds
        self.rng = rng
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what is None and condition on the labels; X (N, *shape), or rows of flattened points."""
        chosen(self.inference)
        points = self._training_points(X)
        self.classes_, numbers = _classes(y, len(points))
        self.kernel_ = self._covariance(X)
        pairs = self.kernel_.pairs(points)
        ones = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        self.posteriors_: list[ClassPosterior] = [
            self._condition(points, np.where(numbers == c, 1.0, -1.0), pairs) for c in ones
        ]
        times = [self._used_time(p.params) for p in self.posteriors_]
        amplitudes = [p.params.amplitude for p in self.posteriors_]
        binary = len(self.classes_) == 2
        self.time_ = times[0] if binary else times
        self.amplitude_ = amplitudes[0] if binary else np.array(amplitudes)
        return self

    def _condition(self, points: np.ndarray, signs: np.ndarray, pairs: Any) -> ClassPosterior:
        params = Given.of(self.kernel_, self._time, self.amplitude, 0.0).params
        if params is None:
            params = fit_classification(
                self.kernel_,
                points,
                signs,
                self._bounds(points),
                time=self._time,
                amplitude=self.amplitude,
                inference=self.inference,
                pairs=pairs,
            ).params
        return condition_classifier(self.kernel_, points, signs, params, self.inference, pairs)

    def predict_proba(self, X: Any, *, prior: Any = None) -> np.ndarray:
        """Probability of each class, (N, classes), in the order of `classes_`.

        With kernel="precomputed" X is k(new, training), and `prior` is k(new, new) or its diagonal.
        """
        self._check_fitted()
        one = []
        for posterior in self.posteriors_:
            at, points = self._at(posterior, X, prior)
            one.append(at.probability(points))
        return self._all_classes(np.stack(one, axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each point."""
        self._check_fitted()
        if len(self.classes_) == 2:  # P > 1/2 where the mean of f is positive, whatever its variance
            posterior, points = self._at(self.posteriors_[0], X)
            return self.classes_[(posterior.mean(points) > 0).astype(int)]
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def _all_classes(self, one: np.ndarray) -> np.ndarray:
        """Probabilities of all classes from those that were fitted."""
        return np.hstack((1 - one, one)) if len(self.classes_) == 2 else one_against_rest(one)

    def log_marginal_likelihood(self) -> float:
        """log p(labels) at the parameters used; with more than two classes the sum over one against the rest."""
        self._check_fitted()
        return sum(p.log_marginal_likelihood for p in self.posteriors_)

    def loo(self) -> np.ndarray:
        """Probabilities (N, classes) of each training point from the labels of all others, without fitting again."""
        self._check_fitted()
        return self._all_classes(np.stack([p.loo() for p in self.posteriors_], axis=1))

    def kernel_error(self, X: Any) -> KernelError:
        """How far the Monte Carlo error of an estimated kernel moves the probabilities at X."""
        self._check_fitted()
        return kernel_error(self, X)


def _classes(y: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The different labels, sorted, and the number of each point's."""
    labels = np.asarray(y)
    if labels.shape != (number,):
        raise InvalidInput(f"y has shape {labels.shape} and X {number} points: one label a point is needed.")
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise InvalidInput(f"y[{int(np.argmin(np.isfinite(labels)))}] is not finite. Remove such observations.")
    if labels.dtype.kind in "fc" and type_of_target(labels) not in ("binary", "multiclass"):
        raise InvalidInput(
            f"y holds numbers such as {labels[0]}, not labels. Use GPRegressor, or make classes of them."
        )
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InvalidInput(f"the labels in y cannot be sorted ({error}). Give all of one type.") from None
    if len(classes) < 2:
        raise InvalidInput(
            f"y has the one class {classes[0]}: there is nothing to tell apart. Give at least two classes."
        )
    return classes, numbers
