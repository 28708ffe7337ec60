"""GPRegressor and GPClassifier: scikit-learn's interface over the functional core of `gp`."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .errors import InvalidInput
from .gp.classification import ClassPosterior, condition_classifier, one_against_rest
from .gp.fit import Bounds, Fit, fit_classification, fit_regression
from .gp.kernel import Normalized, Params, Precomputed
from .gp.regression import Posterior, condition
from .heat.compose import ProductKernel
from .heat.kernel import HeatKernel
from .heat.methods import heat_kernel
from .kernel_error import KernelError, kernel_error
from .manifolds import Manifold, Product
from .manifolds.rows import as_points
from .time_bounds import time_bounds


class _HeatGP(BaseEstimator):
    """What regression and classification share: points, kernel and bounds from the constructor's arguments."""

    manifold: Any
    kernel: Any
    time: Any
    normalize: bool
    time_bounds: Any
    rng: Any
    n_jobs: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _training_points(self, X: Any) -> np.ndarray:
        if self._precomputed:
            gram = np.asarray(X, dtype=float)
            if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
                raise InvalidInput(f"kernel='precomputed' needs a square Gram matrix to fit; got shape {gram.shape}.")
            return np.arange(len(gram))
        if not isinstance(self.manifold, Manifold):
            raise InvalidInput(f"manifold must be a manifold, such as Sphere(2); got {self.manifold!r}.")
        return as_points(self.manifold, X)

    def _covariance(self, X: Any) -> Any:
        """The kernel of the model, from the argument `kernel`."""
        if self._precomputed:
            return Precomputed(np.asarray(X, dtype=float))
        kernel = self._heat_kernel().positive_definite()
        return Normalized(kernel) if self.normalize else kernel

    def _heat_kernel(self) -> HeatKernel:
        each = isinstance(self.time, (tuple, list)) or (isinstance(self.time, str) and self.time == "each")
        if isinstance(self.time, str) and not each:
            raise InvalidInput(f"time must be a positive number, None, 'each' or one a factor; got {self.time!r}.")
        kernel = self.kernel
        if isinstance(kernel, HeatKernel):
            if kernel.manifold != self.manifold:
                raise InvalidInput(f"the kernel is one of {kernel.manifold!r}, the manifold is {self.manifold!r}.")
        elif isinstance(kernel, (list, tuple)):
            if not isinstance(self.manifold, Product) or len(kernel) != len(self.manifold.factors):
                raise InvalidInput(
                    f"a list of {len(kernel)} kernels needs a product of as many; got {self.manifold!r}."
                )
            parts = [
                k if isinstance(k, HeatKernel) else self._make(f, k) for f, k in zip(self.manifold.factors, kernel)
            ]
            kernel = ProductKernel(self.manifold, tuple(parts))
        else:
            kernel = self._make(self.manifold, kernel)
        if each:
            if not isinstance(kernel, ProductKernel):
                raise InvalidInput(f"one time a factor needs a product; {self.manifold!r} is none. Give one time.")
            kernel = ProductKernel(kernel.manifold, kernel.factors, each=True)
        return kernel

    def _make(self, manifold: Manifold, method: Any) -> HeatKernel:
        return heat_kernel(manifold, method, rng=self.rng, n_jobs=self.n_jobs)

    def _time(self) -> Any:
        return None if isinstance(self.time, str) else self.time

    def _bounds(self, X: np.ndarray) -> Bounds:
        if self._precomputed:
            return Bounds(time=())
        if self.time_bounds is not None:
            return Bounds(time=self.time_bounds)
        kernel = self.kernel_.kernel if isinstance(self.kernel_, Normalized) else self.kernel_
        return Bounds(time=time_bounds(kernel, X))

    def _new_points(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "kernel_")
        return as_points(self.manifold, X)

    def _learned_time(self, params: Params) -> Any:
        return None if self._precomputed else params.time


class GPRegressor(RegressorMixin, _HeatGP):
    """Gaussian process regression on a manifold, with the heat kernel as covariance.

    y = f(x) + noise, f ~ GP(mean, amplitude * p_t(x, x') / p_t(x, x)); p_t is the heat kernel and the time t plays the
    part of a squared length-scale. What is given is held fixed, what is None is learned by maximising the evidence.

    Parameters
    ----------
    manifold : where the points live; ignored with kernel="precomputed".
    kernel : a method of `heat_kernel` ("auto", "exact", "smooth", ...), a HeatKernel, a list of either (one a factor of
        a product), or "precomputed": X is then the Gram matrix, as in scikit-learn's support vector machines.
    time : the time, None to learn it, "each" to learn one a factor of a product, or a tuple of both.
    amplitude : prior variance of f (with normalize=False, the factor of p_t).
    noise : variance of the noise.
    mean : "constant" (estimated), "zero" or a number.
    normalize : divide p_t by its value on the diagonal; False is the covariance of Ye et al. (2024).
    time_bounds : interval in which the time is searched for; by default from the distances of the data.
    rng, n_jobs : for kernels that are simulated.

    Attributes
    ----------
    time_, amplitude_, noise_ : the parameters used.
    kernel_ : the kernel used.
    posterior_ : the Gaussian process that has seen the data.
    fit_ : the optimiser's result, None where nothing was learned.

    >>> import heatgp as hg
    >>> S2 = hg.Sphere(2)
    >>> X = S2.random(np.random.default_rng(0), 60)
    >>> gp = hg.GPRegressor(S2).fit(X, X[:, 0] * X[:, 2])
    >>> bool(abs(gp.predict([[0.6, 0.0, 0.8]])[0] - 0.48) < 0.01)
    True
    """

    def __init__(
        self,
        manifold: Manifold | None = None,
        *,
        kernel: Any = "auto",
        time: Any = None,
        amplitude: float | None = None,
        noise: float | None = None,
        mean: str | float = "constant",
        normalize: bool = True,
        time_bounds: Any = None,
        rng: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.manifold = manifold
        self.kernel = kernel
        self.time = time
        self.amplitude = amplitude
        self.noise = noise
        self.mean = mean
        self.normalize = normalize
        self.time_bounds = time_bounds
        self.rng = rng
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what is None and condition on the data; X (N, *shape), or rows of flattened points."""
        points = self._training_points(X)
        targets = _real_targets(y, len(points))
        self.kernel_ = self._covariance(X)
        pairs = self.kernel_.pairs(points)
        time: Any = () if self._precomputed else self._time()
        self.fit_: Fit | None = None
        if _all_given(time) and self.amplitude is not None and self.noise is not None:
            params = Params(_plain(time), self.amplitude, self.noise)
        else:
            self.fit_ = fit_regression(
                self.kernel_,
                points,
                targets,
                self._bounds(points),
                time=time,
                amplitude=self.amplitude,
                noise=self.noise,
                mean=self.mean,
                pairs=pairs,
            )
            params = self.fit_.params
        self.posterior_: Posterior = condition(self.kernel_, points, targets, params, self.mean, pairs)
        self.time_, self.amplitude_, self.noise_ = self._learned_time(params), params.amplitude, params.noise
        self.n_features_in_ = int(np.prod(np.shape(X)[1:]))
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Mean of f at X; with return_std its standard deviation, with return_cov its covariance.

        Both are of the function, without the noise: add `noise_` to the variance for new observations.
        """
        if return_std and return_cov:
            raise InvalidInput("ask for return_std or return_cov, not both.")
        posterior, points = self._posterior_at(X)
        if return_std:
            mean, variance = posterior.moments(points)
            return mean, np.sqrt(variance)
        mean = posterior.mean(points)
        return (mean, posterior.covariance(points)) if return_cov else mean

    def _posterior_at(self, X: Any) -> tuple[Posterior, Any]:
        """The posterior and what it calls the new points; Gram matrices (new, training) become rows of one table."""
        check_is_fitted(self, "posterior_")
        if not self._precomputed:
            return self.posterior_, self._new_points(X)
        return _with_rows(self.posterior_, X)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Functions drawn from the posterior, at X: (len(X), n_samples), as in scikit-learn."""
        posterior, points = self._posterior_at(X)
        return posterior.sample(points, np.random.default_rng(random_state), n_samples).T

    def log_marginal_likelihood(self) -> float:
        """log p(y) at the parameters used."""
        check_is_fitted(self, "posterior_")
        return self.posterior_.log_marginal_likelihood

    def loo(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of each observation predicted from all the others, in closed form."""
        check_is_fitted(self, "posterior_")
        mean, variance = self.posterior_.loo()
        return mean, np.sqrt(variance)

    def kernel_error(self, X: Any) -> KernelError:
        """How far the Monte Carlo error of an estimated kernel moves the predictions at X: would more paths help?"""
        return kernel_error(self, self._new_points(X))


class GPClassifier(ClassifierMixin, _HeatGP):
    """Gaussian process classification on a manifold: P(class) = Phi(f), f ~ GP(0, amplitude * p_t / p_t(x, x)).

    Parameters are those of `GPRegressor`, without noise and mean, and `inference`: "ep" (expectation propagation, as in
    Ye et al. 2024) or "laplace". More than two classes are fitted one against the rest, each with a time and an
    amplitude of its own.

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
        points = self._training_points(X)
        labels = np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(points):
            raise InvalidInput(f"y has shape {labels.shape} and X {len(points)} points: one label a point is needed.")
        check_classification_targets(labels)
        encoder = LabelEncoder().fit(labels)
        self.classes_ = encoder.classes_
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"y has the one class {self.classes_[0]!r}: there is nothing to tell apart. Give at least two classes."
            )
        numbers = encoder.transform(labels)
        self.kernel_ = self._covariance(X)
        pairs = self.kernel_.pairs(points)
        ones = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        self.posteriors_: list[ClassPosterior] = [
            self._condition(points, np.where(numbers == c, 1.0, -1.0), pairs) for c in ones
        ]
        times = [self._learned_time(p.params) for p in self.posteriors_]
        amplitudes = [p.params.amplitude for p in self.posteriors_]
        binary = len(self.classes_) == 2
        self.time_ = times[0] if binary else times
        self.amplitude_ = amplitudes[0] if binary else np.array(amplitudes)
        self.n_features_in_ = int(np.prod(np.shape(X)[1:]))
        return self

    def _condition(self, points: np.ndarray, signs: np.ndarray, pairs: Any) -> ClassPosterior:
        time = () if self._precomputed else self._time()
        if _all_given(time) and self.amplitude is not None:
            params = Params(_plain(time), self.amplitude)
        else:
            params = fit_classification(
                self.kernel_,
                points,
                signs,
                self._bounds(points),
                time=time,
                amplitude=self.amplitude,
                inference=self.inference,
                pairs=pairs,
            ).params
        return condition_classifier(self.kernel_, points, signs, params, self.inference, pairs)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, (N, classes), in the order of `classes_`."""
        check_is_fitted(self, "posteriors_")
        one = []
        for posterior in self.posteriors_:
            at, points = _with_rows(posterior, X) if self._precomputed else (posterior, self._new_points(X))
            one.append(at.probability(points))
        if len(self.classes_) == 2:
            return np.stack((1 - one[0], one[0]), axis=1)
        return one_against_rest(np.stack(one, axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each point."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def log_marginal_likelihood(self) -> float:
        """log p(labels) at the parameters used; with more than two classes the sum over one against the rest."""
        check_is_fitted(self, "posteriors_")
        return sum(p.log_marginal_likelihood for p in self.posteriors_)

    def kernel_error(self, X: Any) -> KernelError:
        """How far the Monte Carlo error of an estimated kernel moves the probabilities at X."""
        return kernel_error(self, self._new_points(X))


def _real_targets(y: Any, number: int) -> np.ndarray:
    values = np.asarray(y)
    if values.dtype.kind not in "fiub" or values.ndim != 1 or len(values) != number:
        raise InvalidInput(
            f"y must be {number} real numbers, one a point; got shape {values.shape}, dtype {values.dtype}. "
            "Labels are for GPClassifier; fit one model a column of a table."
        )
    return values.astype(float)


def _all_given(time: Any) -> bool:
    return None not in ([time] if np.ndim(time) == 0 else list(time))


def _plain(time: Any) -> Any:
    return float(time) if np.ndim(time) == 0 else tuple(float(t) for t in time)


def _with_rows(posterior: Any, gram: Any) -> tuple[Any, np.ndarray]:
    """A precomputed posterior that also knows the rows k(new, training); their prior variances are not in them.

    A square block over training and new points, (training + new, training + new), brings them along.
    """
    from dataclasses import replace

    rows = np.asarray(gram, dtype=float)
    kernel = posterior.latent.kernel
    known = len(posterior.latent.X)
    if rows.ndim != 2 or rows.shape[1] != known:
        raise InvalidInput(
            f"kernel='precomputed' predicts from k(new, training) of shape (new, {known}); got shape {rows.shape}."
        )
    table = Precomputed(np.concatenate((kernel.gram[:known, :known], rows)), _diagonal(kernel, rows, known))
    return replace(posterior, latent=replace(posterior.latent, kernel=table)), known + np.arange(len(rows))


def _diagonal(kernel: Any, rows: np.ndarray, known: int) -> np.ndarray:
    """Prior variances of training and new points: of a kernel that is constant on its diagonal the new ones too."""
    own = np.diagonal(kernel.gram[:known, :known])
    if np.ptp(own) > 1e-9 * own.max():
        raise InvalidInput(
            "the precomputed kernel varies on its diagonal, so the variance of new points is not known. "
            "Normalise it: k(x, y) / sqrt(k(x, x) k(y, y))."
        )
    return np.concatenate((own, np.full(len(rows), own[0])))
