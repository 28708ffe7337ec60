"""Gaussian process classification with scikit-learn's interface."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..arguments import as_labels, check_flag, is_number, refuse_missing, shown
from ..cost import Cost
from ..covariance import Array, Kernel, TimeFunction
from ..errors import InvalidInput, NotConverged, caught_warnings, warn_again
from ..gp.classes import ClassesPosterior, condition_classes, one_against_rest
from ..gp.gradients import evidence_gradient
from ..gp.likelihood import Likelihood
from ..gp.mixture import Mixture
from ..gp.multinomial import Multinomial, probits
from ..gp.no_signal import NoSignal, with_no_signal
from ..gp.objective import TOUCHING, Place, attempt
from ..gp.posterior import Posterior
from ..gp.probit import Probit
from ..gp.search import Fit, free_times, near_rows, time_intervals
from ..gp.sparse.fit import NotSparse, SparseOptions, inducing_of
from ..gp.sparse.inducing import InducedKernel
from ..gp.sparse.sites import (
    LEARNED,
    NEAR,
    SitesApproximation,
    condition_sparse_sites,
    learned_from_some,
    noise_of,
)
from ..progress import heartbeat, log
from ..threads import on_one_thread
from .base import HeatGP, as_fitted
from .data import checked_targets, in_memory
from .kernels import learned_times, learned_weights, learns_smoothness
from .plan import CLASSES, SPARSE_CLASSES, check, check_inference, is_sparse
from .regression_only import names_remedies
from .sparse_regression import options_of, warn_of_residual
from .streams import of_rows
from .summary import Parameter

CERTAIN = 0.99
"""Probability of a signal from which on the summary of a model does not mention it."""

INFERENCES = ("auto", "ep", "laplace", "dense", "sparse")
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
    approximation_ : SitesApproximation of a sparse model: the number of inducing points, and what they leave
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
        against = {
            'kernel="precomputed"': self._precomputed,
            "normalize=False": not self.normalize,
            'integrate="grid"': self.integrate is not None,
        }
        sparse = is_sparse(self.inference, len(points), against)
        self.approximation_: Any = None
        with heartbeat(f"The fit of {len(points)} points in {len(self.classes_)} classes"):
            if sparse:
                with contextlib.suppress(NotSparse):
                    return self._fit_sparse(points, numbers)
            self._check_usual_grid(len(points), len(self._targets(numbers)))
            pairs = on_one_thread(len)(self.kernel_.pairs)(points)
            learned = self._models(points, numbers, pairs)
            averaged = [self._averaged(posterior, pairs) for posterior, _ in learned]
        return self._report(learned, averaged)

    def _targets(self, numbers: Array) -> list[Array]:
        """Labels as the likelihoods of all models take them: numbers of classes, or signs for each class."""
        if len(self.classes_) > 2 and self._jointly:
            return [numbers]
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(numbers == c, 1.0, -1.0) for c in positive]

    def _models(self, points: Array, numbers: Array, pairs: TimeFunction) -> list[tuple[Posterior, Fit | None]]:
        """All models, with what is learned, dense."""
        targets = self._targets(numbers)
        names = [f"class {label!r} against the rest: " for label in self.classes_] if len(targets) > 1 else [""]
        return [self._model(points, y, pairs, about) for y, about in zip(targets, names)]

    def _fit_sparse(self, points: Array, numbers: Array) -> Self:
        """`fit` of many labels: parameters from some, predictions and the signal from all."""
        with caught_warnings() as caught:  # they are not true where the model becomes dense
            learned, rows = self._learned_from_some(points, numbers)
        options = options_of(self.tolerance, self.inducing, self._on_manifold)
        some, found, mixtures, kernels = [posterior for posterior, _ in learned], [], [], []
        for old, y in zip(some, self._targets(numbers)):
            inducing = inducing_of(self.kernel_, points, old.params, noise_of(old), options)
            kernels.append(InducedKernel(inducing))
            found.append(condition_sparse_sites(kernels[-1], points, y, old.params, old.likelihood, self.mean))
            mixtures.append(self._averaged_sparse(found[-1], old, points, y, replace(options, always=True)))
        warn_again(caught)
        number = min([len(rows), *(fit.data for _, fit in learned if fit is not None and fit.data is not None)])
        self.approximation_ = SitesApproximation.of(kernels, some, len(points), number)
        warn_of_residual(self.approximation_, self.tolerance)
        return self._report([(new, fit) for new, (_, fit) in zip(found, learned)], mixtures)

    def _learned_from_some(self, points: Array, numbers: Array) -> tuple[list[tuple[Posterior, Fit | None]], Array]:
        """Models of some labels, and the numbers of these: random ones, or near ones where classes are mixed."""
        few, near, given = some_of_each(numbers, LEARNED), None, self._given(0.0)
        if len(points) >= 2 * NEAR and free_times(self.kernel_, given):
            _, middle = time_intervals(self.kernel_, self._bounds(points[few]), given)
            groups = near_rows(self.kernel_, points, middle, NEAR, GROUPS)
            rarest = [np.bincount(numbers[rows], minlength=len(self.classes_)).min() for rows in groups]
            near = groups[np.argmax(rarest)] if max(rarest) >= FEW else None

        def learn(rows: Array) -> list[tuple[Posterior, Fit | None]]:
            some = points[rows]
            return self._models(some, numbers[rows], on_one_thread(len)(self.kernel_.pairs)(some))

        return learned_from_some(self.kernel_, given, few, near, learn)

    def _report(
        self, learned: Sequence[tuple[Posterior, Fit | None]], averaged: Sequence[tuple[Mixture, float]]
    ) -> Self:
        """Set the attributes that say what was learned."""
        self.posteriors_: list[Any] = [posterior for posterior, _ in learned]
        self.fits_: list[Fit] = [fit for _, fit in learned if fit is not None]
        self.mixtures_ = [mixture for mixture, _ in averaged]
        times = [learned_times(self.kernel_, p.params.time) for p in self.posteriors_]
        weights = [learned_weights(self.kernel_, p.params.time) for p in self.posteriors_]
        amplitudes = np.array([p.params.amplitude for p in self.posteriors_])
        noises = np.array([p.likelihood.label_noise for p in self.posteriors_])
        signals = np.array([signal for _, signal in averaged])
        one = len(learned) == 1
        self.time_: Any = times[0] if one else times
        self.weights_: Any = weights[0] if one else weights
        self.amplitude_, self.label_noise_, self.signal_ = (
            float(values[0]) if one else values for values in (amplitudes, noises, signals)
        )
        return self

    @property
    def _doubts_signal(self) -> bool:
        """Whether predictions allow for labels that do not depend on the points."""
        return self.priors == "weak" and self.amplitude is None and self._constant

    def _loose_objective(self, posterior: Any, pairs: TimeFunction | None = None) -> tuple[Any, Array]:
        """The evidence with priors, by an inference that stops early, and the bounds of its coordinates."""
        function, box = self._objective(posterior, pairs)
        inference = replace(function.inference, options={"tolerance": 1e-2, "iterations": 60})
        return replace(function, inference=inference), box

    def _averaged(self, posterior: Any, pairs: TimeFunction) -> tuple[Mixture, float]:
        """The models over which predictions are averaged, and the probability that labels depend on the points."""
        mixture = self._integrated(posterior, (), pairs)
        if not self._doubts_signal:
            return mixture, 1.0

        def condition(function: Any, z: Array) -> Any:
            return self._again(posterior, function, z, pairs)

        constant = NoSignal.of(posterior, len(self.classes_) if posterior.y.dtype.kind != "f" else None)
        objective = partial(self._loose_objective, posterior, pairs)
        return with_no_signal(mixture, constant, posterior.log_marginal_likelihood, objective, condition)

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
                kernel = InducedKernel(inducing_of(self.kernel_, points, params, noise_of(old), options))
                known[key] = condition_sparse_sites(kernel, points, y, params, function.likelihood(z), self.mean)
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

    def _model(self, points: Array, y: Array, pairs: TimeFunction, about: str = "") -> tuple[Posterior, Fit | None]:
        """The posterior of signs, or of the numbers of several classes, at the parameters given or learned.

        Where expectation propagation of noisy labels converges nowhere, as it may with one label of a class, labels
        have no noise: it then converges always.
        """
        likelihood, number = self._likelihood, len(points)
        what = f"The joint model of {number:,} points in {len(self.classes_):,} classes"
        if functions := likelihood.functions:
            cost = Cost(INFERENCE * functions * number**3, 8.0 * 3 * functions * number**2)
            cost.accept(what, 'Use multiclass="one-vs-rest", or fewer points.')
        learned = partial(self._learned, condition_classes, points, y, pairs, mean=self.mean, method=self._method)
        try:
            posterior, found = learned(likelihood=likelihood, about=about)
        except NotConverged:
            if "label_noise" not in likelihood.free:
                raise
            posterior, found = learned(likelihood=likelihood.with_values(np.zeros(1)), about=about)
        if functions and found is not None and (data := found.data or number) < number:
            log.info("%s: what is learned was learned from %d random points", what, data)
        return posterior, found

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
