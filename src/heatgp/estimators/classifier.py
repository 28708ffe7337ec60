"""Gaussian process classification with scikit-learn's interface."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..arguments import as_labels, check_flag, is_number, refuse_missing, shown
from ..cost import Cost
from ..covariance import Array, Kernel, TimeFunction
from ..errors import AccuracyWarning, InvalidInput, NotConverged, NotPositiveDefinite, caught_warnings, warn, warn_again
from ..gp.classes import ClassesPosterior, condition_classes, one_against_rest
from ..gp.fit import Fit, free_times, near_rows, time_intervals
from ..gp.gradients import evidence_gradient
from ..gp.likelihood import Likelihood
from ..gp.mixture import Mixture
from ..gp.multinomial import Multinomial, probits
from ..gp.no_signal import NoSignal, with_no_signal
from ..gp.posterior import Posterior
from ..gp.probit import Probit
from ..gp.search import TOUCHING, Place, attempt
from ..gp.sparse.classification import (
    SparseClassApproximation,
    condition_sparse_classes,
)
from ..gp.sparse.fit import LIKELIER, NotSparse, SparseOptions, inducing_of, is_shorter
from ..gp.sparse.inducing import InducedKernel
from ..gp.threads import on_one_thread
from ..progress import heartbeat, log
from .base import HeatGP, as_fitted
from .kernels import learned_times, learned_weights
from .plan import CLASSES, SPARSE_CLASSES, check, is_sparse
from .regression_only import names_remedies
from .smoothness import learns_smoothness
from .sparse_regression import NOTHING, check_inference, options_of
from .streams import in_memory, of_rows
from .summary import Parameter
from .tables import checked_targets

CERTAIN = 0.99
"""Probability of a signal from which on the summary of a model does not mention it."""

INFERENCES = ("auto", "ep", "laplace", "dense", "sparse")
LEARNED = 2000
"""Data from which the parameters of a sparse model are learned: some ten seconds."""
NEAR = 1000
"""Data near each other that are looked at: some seconds."""
GROUPS = 8
"""Places at which these are looked for."""
FEW = 10
"""Data of a rare class that are among these."""
PLACE_POINTS = 500
"""Inducing points at most, over all functions, of models that a sparse one is averaged with if a signal is in doubt."""
INFERENCE = 3.5e-9
"""Seconds of inference at the parameters found, for each class and triple of points: thirty sweeps."""


@names_remedies("__init__", "fit", "predict", "predict_proba", "decision_function", "log_marginal_likelihood")
@dataclass(eq=False, repr=False, kw_only=True)
class GPClassifier(ClassifierMixin, HeatGP):
    """Gaussian process classification on a manifold: P(class) = Phi(f), f ~ GP(constant, amplitude * p_t / p_t(x, x)).

    A share of the labels, `label_noise`, is taken to be drawn at random: one odd label does not bend f. More than two
    classes have one function f_c each, and P(class c) = P(f_c + u_c is the largest), u_c standard normal.

    Parameters
    ----------
    manifold : Manifold or "euclidean", default None. Where the points live, as in `GPRegressor`.
    kernel : default "auto". A method's name, a method with its options, a HeatKernel, a list of these or "precomputed",
        as in `GPRegressor`.
    smoothness : number, "learn" or inf (default), the heat kernel; as in `GPRegressor`.
    time : number, default None (learned); "shared", "each", "coordinates" or a tuple, as in `GPRegressor`.
    amplitude : number, default None (learned). The prior variance of f.
    inference : "auto" (default), "ep", "laplace" or "sparse". "ep" is expectation propagation as in Ye et al. (2024),
        "laplace" is faster and less accurate; both take time in proportion to N³. "sparse" takes time in proportion to
        N: parameters are learned from at most 2,000 points, and all points are conditioned on in the features of
        inducing points (see `GPRegressor`). "auto" is "ep" up to 4,000 points and "sparse" beyond; "dense" is "ep".
    inducing, tolerance : as in `GPRegressor`.
    mean : "constant" (default) or "zero". A constant is added to f whose prior makes all shares of a class equally
        likely.
    label_noise : number from 0 to 1, default None (learned; 0 with inference="laplace"). The share of the labels that
        were drawn at random: P(class) = (1 - label_noise) Phi(f) + label_noise / 2. Of more than two classes,
        jointly, each may be overlooked, and the label is the best of the others; 1 - label_noise is the probability
        that none is.
    priors : "weak" (default), None or Priors. Weak priors keep parameters sensible where labels say little, or where
        classes do not overlap and the evidence grows with the amplitude without end. None is the plain evidence.
    multiclass : "auto" (default), "joint" or "one-vs-rest", for more than two classes. "joint" is one model, in which
        all f_c have the same time and amplitude. "one-vs-rest" is a model of two classes for each class, with a time
        and an amplitude of its own, which suits classes whose regions differ in size; the probabilities are divided by
        their sum. "auto" is "joint" with inference="ep", and "one-vs-rest" with "laplace". Where classes times N³ is
        above 2.5e9, or N³ of smooth functions, the parameters of "joint" are learned from random points, and all
        points are conditioned on.
    amplitude_bounds : tuple (low, high), default None: (0.01, 10,000). Where the prior variance of f is searched for.
    normalize, time_bounds, rng, n_jobs, project, integrate : as in `GPRegressor`.

    Attributes
    ----------
    classes_ : array, the labels, sorted.
    learned_from_ : int, the number of points that the parameters were learned from. It is less than N for several
        classes of many points, and for sparse models; the evidence and the predictions are of all points.
    signal_ : float, the probability that labels depend on the points at all; with "one-vs-rest" one for each class.
        Predictions are averages, with this weight, of the Gaussian process and of the shares of the classes. It is 1
        unless priors="weak", mean="constant" and the amplitude is learned.
    fits_ : list of Fit, the searches for the parameters. mixtures_ : list of Mixture, what predictions average over.
    time_, amplitude_, label_noise_ : the parameters used; with "one-vs-rest" one for each class, in the order of
        `classes_`.
    weights_ : of a sum of kernels the share of each in the prior variance, as `time_`; else None.
    smoothness_ : float, the smoothness of the kernel used.
    approximation_ : SparseClassApproximation of a sparse model: the number of inducing points, and what they leave
        unexplained of the prior variance. Else None.
    kernel_ : Kernel, the covariance used.
    posteriors_ : list of one Posterior, of one ClassesPosterior, or of a Posterior for each class against the rest.
    manifold_ : Manifold, where the points live; not with kernel="precomputed".
    n_features_in_ : int, numbers in one point of X.
    moved_ : float, how far a point of X was moved onto the manifold at most; 0 without `project`.
    feature_names_in_ : array of str, the names of the columns of X where it is a table with names.

    Examples
    --------
    >>> import heatgp as hg
    >>> CP2 = hg.ComplexProjective(2)
    >>> X = CP2.random(np.random.default_rng(0), 80)
    >>> gp = hg.GPClassifier(CP2, amplitude=10).fit(X, np.abs(X[:, 0]) > 0.6)
    >>> gp.predict([[1, 0, 0], [0, 1, 0]])
    array([ True, False])
    """

    inference: Literal["auto", "ep", "laplace", "dense", "sparse"] = "auto"
    inducing: Any = None
    tolerance: float = 1e-2
    mean: Literal["constant", "zero"] = "constant"
    label_noise: float | None = None
    multiclass: Literal["auto", "joint", "one-vs-rest"] = "auto"

    @learns_smoothness
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the parameters that are None and condition on the labels.

        Parameters
        ----------
        X : array of N points, (N, *manifold.shape), or rows of flattened points; with kernel="precomputed" the Gram
            matrix k(X, X), (N, N).
        y : array (N,) of labels of any type that can be sorted, of at least two classes. One column (N, 1) is read as
            (N,), with a DataConversionWarning.

        Returns
        -------
        The estimator itself. A BoundWarning names parameters that the data do not determine.

        Raises
        ------
        InvalidInput : if an argument is not possible, with the remedy; OffManifold if a point is not on the manifold.
        NotConverged : if the inference does not converge.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPClassifier(hg.Euclidean(1), time=1.0, amplitude=4.0).fit([[0.0], [1.0]], ["a", "b"])
        >>> gp.classes_.tolist()
        ['a', 'b']
        """
        self._check_options()
        X, y = in_memory(X), checked_targets(self, in_memory(y))

        def class_numbers(points: Array) -> Array:
            self.classes_, numbers = _classes(points, y)
            return numbers

        points, numbers = self._checked(X, class_numbers)
        self.fits_: list[Fit] = []
        against = {
            'kernel="precomputed"': self._precomputed,
            "normalize=False": not self.normalize,
            'integrate="grid"': self.integrate is not None,
        }
        sparse = is_sparse(self.inference, len(points), against)
        self.approximation_: Any = None
        with heartbeat(f"The fit of {len(points)} points in {len(self.classes_)} classes"):
            if sparse:
                with caught_warnings() as caught:
                    learned_from = self._learn_from_some(points, numbers)
                try:
                    self._add_all(points, numbers, learned_from)
                except NotSparse:  # what was said of some labels is not true of all
                    self.fits_.clear()
                    self._learn(points, numbers)
                else:
                    warn_again(caught)
            else:
                self._learn(points, numbers)
        return self

    def _learn_from_some(self, points: Array, numbers: Array) -> int:
        """Learn from some labels, and return their number.

        They are random ones. These are far from each other and see nothing of short lengths. So labels near each other
        are looked at too, where classes are mixed: what is learned from them counts where times are shorter and they
        are much more likely with it.
        """
        few = some_of_each(numbers, LEARNED)
        self._learn(points[few], numbers[few], averaged=False)
        kernel, given = self.kernel_, self._given(0.0)
        if not free_times(kernel, given) or len(points) < 2 * NEAR:
            return len(few)
        _, middle = time_intervals(kernel, self._bounds(points[few]), given)
        groups = near_rows(kernel, points, middle, NEAR, GROUPS)
        counts = [np.bincount(numbers[rows], minlength=len(self.classes_)) for rows in groups]
        best = int(np.argmax([count.min() for count in counts]))
        if counts[best].min() < FEW:
            return len(few)
        before, rows = self.__dict__.copy(), groups[best]
        self.fits_, is_better = [], False
        # a prior of times may have no mass within the bounds of near labels
        failures = NotConverged, NotPositiveDefinite, InvalidInput
        with caught_warnings() as caught, contextlib.suppress(*failures):
            self._learn(points[rows], numbers[rows], averaged=False)
            both = list(zip(self.posteriors_, before["posteriors_"]))
            known = [new.again(self.kernel_, old.params, likelihood=old.likelihood) for new, old in both]
            gain = sum(new.log_marginal_likelihood for new in self.posteriors_)
            gain -= sum(same.log_marginal_likelihood for same in known)
            shorter = (is_shorter(kernel, given, new.params, old.params) for new, old in both)
            is_better = gain > LIKELIER and any(shorter)
        if not is_better:
            self.__dict__.update(before)
            return len(few)
        warn_again(caught)
        return len(rows)

    def _learn(self, points: Array, numbers: Array, averaged: bool = True) -> None:
        """Learn the parameters and condition on labels, given by the numbers of their classes; dense.

        Without `averaged` predictions are those of the best parameters: `_add_all` averages over models of all labels.
        """
        self._check_usual_grid(len(points), 1 if len(self.classes_) == 2 or self._jointly else len(self.classes_))
        count, pairs = len(self.classes_), on_one_thread(len)(self.kernel_.pairs)(points)
        if count > 2 and self._jointly:
            self.posteriors_: list[Any] = [self._joint(points, numbers, pairs)]
        elif count > 2:
            names = [f"class {label!r} against the rest: " for label in self.classes_]
            self.posteriors_ = [self._one(points, numbers == c, pairs, name) for c, name in enumerate(names)]
        else:
            self.posteriors_ = [self._one(points, numbers == 1, pairs)]
        found = [
            self._averaged(posterior, k, pairs) if averaged else (Mixture.of(posterior), 1.0)
            for k, posterior in enumerate(self.posteriors_)
        ]
        self.mixtures_ = [mixture for mixture, _ in found]
        times = [learned_times(self.kernel_, p.params.time) for p in self.posteriors_]
        weights = [learned_weights(self.kernel_, p.params.time) for p in self.posteriors_]
        amplitudes = np.array([p.params.amplitude for p in self.posteriors_])
        noises = np.array([p.likelihood.label_noise for p in self.posteriors_])
        shared = len(self.posteriors_) == 1
        self.time_ = times[0] if shared else times
        self.weights_ = weights[0] if shared else weights
        self.amplitude_ = float(amplitudes[0]) if shared else amplitudes
        self.label_noise_ = float(noises[0]) if shared else noises
        self.signal_ = found[0][1] if shared else np.array([signal for _, signal in found])

    def _add_all(self, points: Array, numbers: Array, learned_from: int) -> None:
        """Condition on all labels, at the parameters learned, in the features of inducing points.

        Whether labels depend on the points is decided from all labels too.
        """
        options = options_of(self.tolerance, self.inducing, self._on_manifold)
        kernels = [InducedKernel(inducing_of(self.kernel_, points, old.params, options)) for old in self.posteriors_]
        found, mixtures = [], []
        for c, (old, kernel) in enumerate(zip(self.posteriors_, kernels)):
            y = numbers if isinstance(old, ClassesPosterior) else np.where(numbers == self._second(c), 1.0, -1.0)
            best = condition_sparse_classes(kernel, points, y, old.params, old.likelihood, self.mean)
            found.append(best)
            mixtures.append(self._averaged_sparse(best, old, points, y, replace(options, always=True)))
        self.posteriors_, self.mixtures_ = found, [mixture for mixture, _ in mixtures]
        signals = [signal for _, signal in mixtures]
        self.signal_ = signals[0] if len(found) == 1 else np.array(signals)
        learned_from = min([learned_from, *(fit.data for fit in self.fits_ if fit.data is not None)])
        params = [posterior.params for posterior in found]
        self.approximation_ = SparseClassApproximation.of(kernels, params, len(points), learned_from)
        if self.approximation_.residual_share > self.tolerance and self.approximation_.residual > NOTHING:
            warn(
                f"{self.approximation_.inducing} inducing points leave {self.approximation_.residual:.1e} of the prior "
                "variance of f unexplained: f may be rougher than its predictions, and probabilities nearer to those "
                "of no knowledge. Give a larger `inducing`, or fewer data.",
                AccuracyWarning,
            )

    def _second(self, c: int) -> int:
        """The number of the class that the model `c` of two classes tells from the others."""
        return c if len(self.posteriors_) > 1 else 1

    @property
    def _doubts_signal(self) -> bool:
        """Whether predictions allow for labels that do not depend on the points."""
        return self.priors == "weak" and self.amplitude is None and self._constant

    def _loose_objective(self, posterior: Any, pairs: TimeFunction | None = None) -> tuple[Any, Array]:
        """The evidence with priors, by an inference that stops early, and the bounds of its coordinates."""
        function, box = self._objective(posterior, pairs)
        inference = replace(function.inference, options={"tolerance": 1e-2, "iterations": 60})
        return replace(function, inference=inference), box

    def _averaged(self, posterior: Any, number: int, pairs: TimeFunction) -> tuple[Mixture, float]:
        """The models over which predictions are averaged, and the probability that labels depend on the points."""
        mixture = self._integrated(posterior, (), pairs)
        if not self._doubts_signal:
            return mixture, 1.0

        def condition(function: Any, z: Array) -> Any:
            return self._again(posterior, function, z, pairs)

        constant = NoSignal.of(posterior, len(self.classes_) if posterior.y.dtype.kind != "f" else None)
        evidence = self.fits_[number].log_marginal_likelihood
        return with_no_signal(mixture, constant, evidence, partial(self._loose_objective, posterior, pairs), condition)

    def _averaged_sparse(
        self, best: Any, old: Any, points: Array, y: Array, options: SparseOptions
    ) -> tuple[Mixture, float]:
        """As `_averaged`, of all labels: `best` is their posterior, `old` that of the labels that were learned from."""
        if not self._doubts_signal:
            return Mixture.of(best), 1.0
        known: dict[bytes, Any] = {}
        if options.points is None:
            limit = PLACE_POINTS // (best.likelihood.functions or 1)
            options = replace(options, limit=max(len(best.X), min(limit, options.limit or limit)))

        def condition(function: Any, z: Array) -> Any:
            if (key := z.tobytes()) not in known:
                params = function.params(z)
                kernel = InducedKernel(inducing_of(self.kernel_, points, params, options))
                known[key] = condition_sparse_classes(kernel, points, y, params, function.likelihood(z), self.mean)
            return known[key]

        def values(function: Any, places: Array) -> list[Place]:
            def value(z: Array) -> Place:
                return condition(function, z).log_marginal_likelihood, z

            return [(attempt(value, z)[0], z) for z in places]

        several = y.dtype.kind != "f"
        counts = np.bincount(y, minlength=len(self.classes_)) if several else np.array([np.sum(y < 0), np.sum(y > 0)])
        constant, objective = NoSignal(best.kernel, y[:0], counts), partial(self._loose_objective, old)
        evidence = best.log_marginal_likelihood
        return with_no_signal(Mixture.of(best), constant, evidence, objective, condition, values)

    def _check_options(self) -> None:
        """Errors before the kernel is made."""
        check_flag("normalize", self.normalize)
        check_inference(self.inference, self.tolerance, self.inducing, INFERENCES)
        if self._method == "laplace":
            self._check_priors(self.priors, 'inference="laplace"')
        self._check_priors(self.priors, "GPClassifier", "label_noise")
        if not (isinstance(self.multiclass, str) and self.multiclass in ("auto", "joint", "one-vs-rest")):
            raise InvalidInput(f'multiclass = {self.multiclass!r} is not known. Use "auto", "joint" or "one-vs-rest".')
        if self.multiclass == "joint" and self._method != "ep":
            raise InvalidInput(
                f'multiclass = "joint" with inference = "{self.inference}": the joint model of several classes needs '
                'inference = "ep". Use it, or multiclass = "one-vs-rest".'
            )
        if not (isinstance(self.mean, str) and self.mean in ("constant", "zero")):
            raise InvalidInput(f'mean = {shown(self.mean)} is not known. Use "constant" or "zero".')
        self._check_label_noise(self.label_noise)
        if self._method == "laplace":
            Probit(self.label_noise or 0.0).check_without_noise()

    @property
    def _method(self) -> str:
        """How labels are approximated."""
        return "laplace" if self.inference == "laplace" else "ep"

    @property
    def _learned_noises(self) -> int:
        return int(self.label_noise is None and self._method != "laplace")

    @property
    def _matrices(self) -> int:
        count = len(self.classes_)
        if count == 2 or not self._jointly:
            return super()._matrices
        # the covariance, one inverse and its product with the factor of the level for each class, and this factor
        return 2 * count + 2

    def _notes_on(self, parameters: Sequence[Parameter]) -> list[str]:
        notes = []
        signals = zip(self._model_names, np.atleast_1d(self.signal_))
        about = "" if len(self.posteriors_) == 1 else "of class {} "
        warned = any("amplitude" in fit.on_bound for fit in self.fits_)
        endless = [p.name for p in parameters if p.is_learned and p.name.endswith("amplitude") and _at_top(p)]
        for name in [] if warned else endless:
            notes.append(f"{name} is at its upper bound: labels without noise; a larger one changes nothing")
        return notes + [
            f"labels {about.format(name)}depend on the points with the probability {signal:.2g}"
            for name, signal in signals
            if signal < CERTAIN
        ]

    @staticmethod
    def _check_label_noise(noise: Any) -> None:
        if noise is not None and not (is_number(noise) and 0 <= noise < 1):
            raise InvalidInput(
                f"label_noise = {shown(noise)} is the share of labels that were drawn at random, from 0 to less than "
                "1. Give None to learn it."
            )

    @property
    def _jointly(self) -> bool:
        """Whether more than two classes have one model."""
        return self.multiclass == "joint" or (self.multiclass == "auto" and self._method == "ep")

    @property
    def _constant(self) -> bool:
        return self.mean == "constant"

    @property
    def _likelihood(self) -> Likelihood:
        """The law of labels, with None for a label noise that is learned."""
        if len(self.classes_) > 2 and self._jointly:
            return Multinomial(len(self.classes_), self.label_noise)
        return Probit(0.0 if self.label_noise is None and self._method == "laplace" else self.label_noise)

    def _one(self, points: Array, positive: Array, pairs: TimeFunction, about: str = "") -> Posterior:
        """The posterior of one class against the others."""
        return self._conditioned(points, np.where(positive, 1.0, -1.0), pairs, about)

    def _joint(self, points: Array, numbers: Array, pairs: TimeFunction) -> Posterior:
        """The posterior of all classes together."""
        count = len(self.classes_)
        what = f"The joint model of {len(points):,} points in {count:,} classes"
        cost = Cost(INFERENCE * count * len(points) ** 3, 8.0 * 3 * count * len(points) ** 2)
        cost.accept(what, 'Use multiclass="one-vs-rest", or fewer points.')
        found = self._conditioned(points, numbers, pairs)
        if self.fits_ and (data := self.fits_[-1].data or len(points)) < len(points):
            log.info("%s: what is learned was learned from %d random points", what, data)
        return found

    def _conditioned(self, points: Array, y: Array, pairs: TimeFunction, about: str = "") -> Posterior:
        """The posterior of signs, or of the numbers of several classes, at the parameters given or learned.

        Where expectation propagation of noisy labels converges nowhere, as it may with one label of a class, labels
        have no noise: it then converges always.
        """
        learned = partial(self._learned, condition_classes, points, y, pairs, mean=self.mean, method=self._method)
        try:
            posterior, found = learned(likelihood=self._likelihood, about=about)
        except NotConverged:
            if "label_noise" not in self._likelihood.free:
                raise
            posterior, found = learned(likelihood=self._likelihood.with_values(np.zeros(1)), about=about)
        self.fits_ += [] if found is None else [found]
        return posterior

    @of_rows()
    def predict_proba(self, X: Any, *, prior: Any = None) -> Array:
        """Probability of each class at new points.

        Parameters
        ----------
        X : array of M points, as in `fit`; with kernel="precomputed" k(new, training), (M, N). Memory-mapped files are
            read in parts; predictions of a Dask array are Dask arrays.
        prior : array (M, M) or (M,), default None. With kernel="precomputed" k(new, new), or its diagonal; needed
            where the diagonal of k(X, X) is not one number.

        Returns
        -------
        Array (M, classes), in the order of `classes_`; rows add up to one.

        Raises
        ------
        InvalidInput : if the points are not possible.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPClassifier(hg.Euclidean(1), time=1.0, amplitude=4.0).fit([[0.0], [1.0]], ["a", "b"])
        >>> gp.predict_proba([[0.5]]).round(3)
        array([[0.5, 0.5]])
        """
        return self._probabilities(*self._at(X, prior))

    @of_rows()
    def decision_function(self, X: Any, *, prior: Any = None) -> Array:
        """How clear the choice is: Phi^-1(P), where P is the probability of the class against the rest.

        Parameters
        ----------
        X, prior : as in `predict_proba`.

        Returns
        -------
        Array (M,) of two classes: positive where the second is more probable. Array (M, classes) of more. Other
        than probabilities the values do not end at 0 and 1, so no two points become equal there.

        Raises
        ------
        InvalidInput : if the points are not possible.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPClassifier(hg.Euclidean(1), time=1.0, amplitude=4.0).fit([[0.0], [1.0]], ["a", "b"])
        >>> np.sign(gp.decision_function([[-1.0], [2.0]])).tolist()
        [-1.0, 1.0]
        """
        mixtures, points = self._at(X, prior)
        if isinstance(self.posteriors_[0], ClassesPosterior):
            return probits(mixtures[0].probabilities(points, label_noise=False))
        margins = np.stack([mixture.margin(points) for mixture in mixtures], axis=1)  # label noise would end them
        return margins[:, 0] if len(mixtures) == 1 else margins

    @of_rows()
    def predict(self, X: Any, *, prior: Any = None) -> Array:
        """The most probable class of each new point.

        Parameters
        ----------
        X, prior : as in `predict_proba`.

        Returns
        -------
        Array (M,) of labels.

        Raises
        ------
        InvalidInput : if the points are not possible.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPClassifier(hg.Euclidean(1), time=1.0, amplitude=4.0).fit([[0.0], [1.0]], ["a", "b"])
        >>> gp.predict([[-1.0], [2.0]]).tolist()
        ['a', 'b']
        """
        mixtures, points = self._at(X, prior)
        if len(self.classes_) == 2 and len(mixtures[0].weights) == 1:
            # P > 1/2 where the mean of f is positive, whatever its variance
            return self.classes_[(mixtures[0].mean(points) > 0).astype(int)]
        return self.classes_[np.argmax(self.predict_proba(X, prior=prior), axis=1)]

    @as_fitted
    def log_marginal_likelihood(
        self, time: Any = None, amplitude: Any = None, label_noise: Any = None, *, gradient: bool = False
    ) -> Any:
        """The logarithm of the approximate evidence, log p(y), of the labels of the fit at any parameters.

        Parameters
        ----------
        time, amplitude, label_noise : numbers, default None: those of the fit. A kernel of several times takes a tuple.
        gradient : bool, default False. Also return the derivatives.

        Returns
        -------
        float. With multiclass="one-vs-rest" the sum over the models of one class against the rest.
        gradient : array, with gradient=True. The derivatives in the natural logarithms of the times, the amplitude and
            the label noise, in this order; with multiclass="one-vs-rest" a row for each class.

        Raises
        ------
        InvalidInput : if a value is not possible.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPClassifier(hg.Euclidean(1), time=1.0, amplitude=4.0, label_noise=0.0, mean="zero")
        >>> value, slopes = gp.fit([[0.0], [3.0]], ["a", "b"]).log_marginal_likelihood(gradient=True)
        >>> round(value, 3), slopes.round(3)
        (-1.392, array([-0.026, -0.001,  0.   ]))
        """
        posteriors, gradient = self._fitted, check_flag("gradient", gradient)
        if gradient or not (time is None and amplitude is None and label_noise is None):
            call = "the evidence at other parameters, or its gradient,"
            check("log_marginal_likelihood(gradient=True)", self._kind, call=call)
        if not (time is None and amplitude is None and label_noise is None):
            self._check_label_noise(label_noise)
            moved = [self._params(old.params, time, amplitude, None) for old in posteriors]
            rate = {} if label_noise is None else {"label_noise": float(label_noise)}
            posteriors = [
                old.again(self.kernel_, params, likelihood=replace(old.likelihood, **rate))
                for old, params in zip(posteriors, moved)
            ]
        value = sum(posterior.log_marginal_likelihood for posterior in posteriors)
        if not gradient:
            return value
        slopes = [evidence_gradient(posterior) for posterior in posteriors]
        return value, slopes[0] if len(slopes) == 1 else np.stack(slopes)

    def loo(self) -> Array:
        """Probabilities of each training point from the labels of all the others, without fitting again.

        Returns
        -------
        Array (N, classes), in the order of `classes_`.

        Raises
        ------
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPClassifier(hg.Euclidean(1), time=1.0, amplitude=4.0, label_noise=0)
        >>> gp.fit([[0.0], [9.0]], ["a", "b"]).loo().round(3)
        array([[0.34, 0.66],
               [0.66, 0.34]])
        """
        posteriors, mixtures = self._fitted, self._mixtures
        check("loo", self._kind)
        if isinstance(posteriors[0], ClassesPosterior):
            return mixtures[0].loo_probabilities()
        return self._all_classes([mixture.loo_probability() for mixture in mixtures])

    def plot(self) -> Any:
        """A picture of the fit: the reliability of probabilities of each label from all others, and where they fail.

        Returns
        -------
        matplotlib.figure.Figure, as from `heatgp.plots.probabilities_figure`.

        Raises
        ------
        NotFittedError : if the model is not fitted.
        """
        from ..plots.fits import probabilities_figure

        rows, posteriors = self.loo(), self.posteriors_
        if isinstance(posteriors[0], ClassesPosterior):
            labels = posteriors[0].y
        else:
            signs = np.stack([posterior.y for posterior in posteriors], axis=1)
            labels = (signs[:, 0] > 0).astype(int) if len(posteriors) == 1 else signs.argmax(axis=1)
        return probabilities_figure(labels, rows, self.classes_)

    @property
    def _model_names(self) -> Sequence[Any]:
        return list(self.classes_)

    @property
    def _kind(self) -> str:
        """The kind of the fitted model in `plan`."""
        return CLASSES if self.posteriors_[0].structure.keeps_data else SPARSE_CLASSES

    def _summarised(self, posterior: Any, mixture: Mixture, about: str) -> list[Parameter]:
        if self._kind == CLASSES:
            return super()._summarised(posterior, mixture, about)
        given = self._given(0.0)
        values = [*zip(given.names, np.atleast_1d(posterior.params.time), given.time)]
        values += [("amplitude", posterior.params.amplitude, given.amplitude)]
        values += [("label_noise", posterior.likelihood.label_noise, self.label_noise)]
        words = f"learned from {self.approximation_.learned_from:,} points"
        return [
            Parameter(f"{about}{name}", float(value), math.nan, math.nan, True, words)
            if known is None
            else Parameter(f"{about}{name}", float(value), float(value), float(value), False)
            for name, value, known in values
        ]

    def _explained(self) -> dict[str, Any]:
        if self._precomputed or self._kind == SPARSE_CLASSES:
            return {}

        def predict(moved: Array) -> Array:
            found = self._probabilities(self._mixtures, moved)
            return found[:, 1] if len(self.classes_) == 2 else found

        return self._explained_by_factors(predict, self.posteriors_[0].X)

    def _probabilities(self, mixtures: Sequence[Mixture], points: Array) -> Array:
        if isinstance(self.posteriors_[0], ClassesPosterior):
            return mixtures[0].probabilities(points)
        return self._all_classes([mixture.probability(points) for mixture in mixtures])

    def _all_classes(self, fitted: list[Array]) -> Array:
        """Probabilities of all classes from those of the fitted ones: of the second of two, or of each of several."""
        one = np.stack(fitted, axis=1)
        return np.hstack((1 - one, one)) if len(fitted) == 1 else one_against_rest(one)

    def _objective(self, posterior: Any, pairs: Any = None) -> tuple[Any, Array]:
        bounds, given, likelihood = self._bounds(posterior.X), self._given(0.0), self._likelihood
        if posterior.likelihood.label_noise == 0:  # given, or not learned since inference did not converge
            likelihood = posterior.likelihood
        return posterior.objective(bounds, given, self.priors, pairs, likelihood)

    def _evidence_of(self, other: Any) -> float:
        both = zip(self.posteriors_, other.posteriors_, strict=True)
        found = (mine.again(other.kernel_, its.params, likelihood=its.likelihood) for mine, its in both)
        return sum(posterior.log_marginal_likelihood for posterior in found)

    def _predict_with(self, kernel: Kernel, points: Array) -> tuple[Array, Array]:
        check("kernel_error", self._kind)

        def again(old: Any) -> Any:
            return old if isinstance(old, NoSignal) else old.again(kernel, old.params)

        mixtures = [replace(mixture, posteriors=[again(p) for p in mixture.posteriors]) for mixture in self.mixtures_]
        probabilities = self._probabilities(mixtures, points)
        return probabilities, np.sqrt(probabilities * (1 - probabilities)).max(axis=1, initial=0.0)


def some_of_each(numbers: Array, size: int) -> Array:
    """Random rows, always the same, so many in all, with at least a few of each class.

    >>> some_of_each(np.array([0] * 50 + [1]), 10)[-1]
    np.int64(50)
    """
    order = np.random.default_rng(0).permutation(len(numbers))
    rare = [order[numbers[order] == c][:FEW] for c in range(numbers.max() + 1)]
    return np.unique(np.concatenate([order[:size], *rare]))


def _at_top(parameter: Parameter) -> bool:
    """Whether the upper bound of its search, which ends the interval, is the value."""
    return parameter.value >= parameter.high * (1 - TOUCHING)


def _classes(points: Array, y: Any) -> tuple[Array, Array]:
    """The different labels, sorted, and for each point the number of its label."""
    labels = as_labels(y, "y")
    if labels.shape != points.shape[:1]:
        raise InvalidInput(
            f"y has shape {labels.shape} and X {len(points)} points: one label for each point is needed."
        )
    refuse_missing(labels, "y")
    if labels.dtype.kind == "c" or (labels.dtype.kind == "f" and (labels != np.round(labels)).any()):
        raise InvalidInput(
            f"y holds numbers such as {labels[0]} (continuous), not labels. Use GPRegressor, or make them classes."
        )
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InvalidInput(f"the labels in y cannot be sorted ({error}). Give all of one type.") from None
    if len(classes) < 2:
        raise InvalidInput(f"y has the one class {classes[0]}: there is nothing to tell apart. Give at least two.")
    return classes, numbers
