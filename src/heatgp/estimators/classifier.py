"""Gaussian process classification with scikit-learn's interface."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Complex, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..arguments import as_labels, is_number, refuse_missing, shown
from ..cost import Cost
from ..covariance import Array, TimeFunction
from ..errors import InvalidInput, NotConverged
from ..gp.classes import condition_classes
from ..gp.mixture import Mixture
from ..gp.multinomial import Multinomial, probits
from ..gp.objective import TOUCHING
from ..gp.probit import Probit
from ..gp.sparse.fit import Learned
from ..gp.sparse.sites import LEARNED
from ..progress import heartbeat, log
from .base import PILOT, HeatGP, Setup, is_precomputed
from .data import MeanModel, checked_targets, in_memory
from .kernels import check_model_smoothness, on_a_copy
from .plan import CLASSES, MEAN_OF_LABELS, SPARSE_CLASSES, chosen_inference, is_sparse
from .regression_only import names_remedies
from .streams import of_rows
from .summary import Parameter

GROUPS = 8
"""Places at which data near each other are looked for."""
DOUBTED = 1000
"""Labels up to which they may say nothing of the points: the evidence of more of them is clear."""
FEW = 10
"""Data of a rare class that are among these."""
NO_SIGNAL = "labels do not depend on the points with the probability {:.2g}"
INFERENCE = 3.5e-9
"""Seconds of inference at the parameters found, for each class and triple of points: thirty sweeps."""


@names_remedies("__init__", "fit", "predict", "predict_proba", "decision_function", "log_marginal_likelihood")
@dataclass(eq=False, repr=False, kw_only=True)
class GPClassifier(ClassifierMixin, HeatGP):
    """Gaussian process classification on a manifold: P(class) = Phi(f), f ~ GP(constant, amplitude * p_t / p_t(x, x)).

    A share of the labels, `label_noise`, is modelled as drawn at random: one odd label does not bend f. More than two
    classes have one function f_c each, with the same time and amplitude, and P(class c) = P(f_c + u_c is the largest),
    u_c standard normal. For classes whose regions differ in size, with parameters of their own, use scikit-learn's
    `OneVsRestClassifier(GPClassifier(manifold))`.

    Parameters
    ----------
    manifold : Manifold or "euclidean", default None. Where the points live, as in `GPRegressor`.
    kernel : default "auto". A method's name, a method with its options, a HeatKernel, a list of these or "precomputed",
        as in `GPRegressor`.
    smoothness : number, inf (default), "auto" or "learn", as in `GPRegressor`; inf is the heat kernel. Labels say
        little of a smoothness.
    time : number, default None (learned); "shared", "each", "coordinates" or a tuple, as in `GPRegressor`.
    amplitude : number, default None (learned). The prior variance of f.
    label_noise : number from 0 to 1, default None (learned). The share of the labels that were drawn at random:
        P(class) = (1 - label_noise) Phi(f) + label_noise / 2. Of more than two classes each may be overlooked, and the
        label is the best of the others; 1 - label_noise is the probability that none is.
    mean : "constant" (default), "zero", "linear" or a function. A constant is added to f whose prior makes all shares
        of a class equally likely. "linear" adds the coordinates of the manifold's embedding, as a ridge regression
        does: the trend and f have the same prior variance, however many coordinates there are. A function returns
        values of basis functions, as in `GPRegressor`; their coefficients have the variance 1 + amplitude for
        orthogonal columns whose mean square is one.
    inference : "auto" (default), "dense", "sparse" or Sparse. "dense" is expectation propagation as in Ye et al.
        (2024), in time in proportion to N³. "sparse" takes time in proportion to N: parameters are learned from at most
        2,000 points, and all points are conditioned on in the features of inducing points; Sparse(inducing=500) has
        options, see `GPRegressor`. "auto" is dense up to 4,000 points and sparse beyond. Where classes times N³ is
        above 2.5e9, or N³ of smooth functions, the parameters of more than two classes are learned from random points,
        and all points are conditioned on.
    priors : "weak" (default), None or Priors. Weak priors keep parameters sensible where labels say little, or where
        classes do not overlap and the evidence grows with the amplitude without end. None is the plain evidence.
        Priors(amplitude_bounds=) is where the prior variance of f is searched for, by default from 0.01 to 10,000.
    integrate : "auto" (default), "grid" or None. None takes the best parameters as if they were known, "grid" averages
        predictions over all that explain the labels. "auto" averages over the best ones and no signal, by their
        evidence: the labels of up to 1,000 points may not depend on the points at all, and the best parameters then
        follow chance. Not where `amplitude` is given, with priors=None, and with kernel="precomputed".
    normalize, random_state, project : as in `GPRegressor`.

    Attributes
    ----------
    classes_ : array, the labels, sorted.
    time_, lengthscale_, amplitude_, label_noise_ : the parameters used, as in `GPRegressor`; `noise_` is None.
    weights_ : of a sum of kernels the share of each in the prior variance; else None.
    smoothness_ : float, the smoothness of the kernel used.
    coefficients_, coefficient_errors_, coefficient_names_ : of two classes those of the mean, as in `GPRegressor`; of
        more classes empty. Coordinates of a linear mean are centered, and divided by one scale for each factor.
    likelihood_ : the likelihood used, with its parameters.
    posterior_ : Posterior of the labels -1 and 1, or ClassesPosterior of more classes.
    fit_ : Fit, the result of the search for the parameters; None where nothing was learned.
    learned_from_ : int, the number of points that the parameters were learned from. It is less than N for several
        classes of many points, and for sparse models; the evidence and the predictions are of all points.
    mixture_ : Mixture, the posteriors that predictions are averaged over. By default two where the data leave open
        whether there is a signal, and else one; then `mixture_.weights[1]` is the probability of none.
    approximation_ : SparseApproximation of a sparse model: the number of inducing points, and what they leave
        unexplained of the prior variance. Else None.
    kernel_ : Kernel, the covariance used.
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

    label_noise: float | None = None
    mean: Any = "constant"
    integrate: Literal["auto", "grid"] | None = "auto"
    inference: Any = "auto"

    _integrals: ClassVar[Sequence[str]] = ("auto", "grid")

    @on_a_copy
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
        check_model_smoothness(self.smoothness, self.kernel)
        inference, _ = chosen_inference(self.inference, ("auto", "dense", "sparse"))
        priors = self._checked_priors("GPClassifier", "label_noise")
        known = isinstance(self.mean, str) and self.mean in ("constant", "zero", "linear")
        if not (known or callable(self.mean)):
            raise InvalidInput(MEAN_OF_LABELS.format(value=shown(self.mean)))
        check_label_noise(self.label_noise)
        X, y = in_memory(X), checked_targets(self, in_memory(y))

        def observed(points: Array) -> tuple[Setup, tuple[Array, Array]]:
            """The setup of these labels, the points, and the labels as the likelihood takes them."""
            self.classes_, numbers = _classes(points, y)
            manifold = None if is_precomputed(self.kernel) else self.manifold_
            count, mean = len(self.classes_), MeanModel.of(self.mean, manifold, points, of_labels=True)
            likelihood = Probit(self.label_noise) if count == 2 else Multinomial(count, self.label_noise)
            setup = Setup(priors, likelihood, self.integrate == "grid", self.project, mean=mean)
            return setup, (points, np.where(numbers == 1, 1.0, -1.0) if count == 2 else numbers)

        points, labels = self._checked(X, observed)
        few = self._some_of_each(labels, PILOT // 2)
        mean = {"mean": self._setup.mean.mean}
        self._learn_smoothness(points, labels, few, mean)
        setup, number = self._setup, len(points)
        against = self._against_sparse() | {'integrate="grid"': setup.integrate}
        with heartbeat(f"The fit of {number} points in {len(self.classes_)} classes"):
            if is_sparse(inference, number, against):
                found = self._sites_model(points, labels, *self._some_and_near(points, labels), mean)
                if found is not None:
                    return self._keep(*found)
                self._setup = setup
            self._check_grid(number)
            pairs = self._pairs(points)
            return self._keep(*self._dense_model(points, labels, pairs, **mean), (), pairs)

    def _dense_model(self, points: Array, y: Array, pairs: TimeFunction, **options: Any) -> Learned:
        """The posterior, at the parameters given or learned, and the search for them.

        Where expectation propagation of noisy labels converges nowhere, as it may with one label of a class, labels
        have no noise: it then converges always.
        """
        likelihood, number = self._setup.likelihood, len(points)
        what = f"The joint model of {number:,} points in {len(self.classes_):,} classes"
        if functions := likelihood.functions:
            cost = Cost(INFERENCE * functions * number**3, 8.0 * 3 * functions * number**2)
            cost.accept(what, "Use scikit-learn's OneVsRestClassifier(GPClassifier(...)), or fewer points.")
        try:
            posterior, fit = self._learned(condition_classes, points, y, pairs, **options)
        except NotConverged:
            if "label_noise" not in likelihood.free:
                raise
            self._setup = replace(self._setup, likelihood=likelihood.with_values(np.zeros(1)))
            posterior, fit = self._learned(condition_classes, points, y, pairs, **options)
        if functions and fit is not None and (data := fit.data or number) < number:
            log.info("%s: what is learned was learned from %d random points", what, data)
        return posterior, fit

    def _some_of_each(self, y: Array, number: int) -> Array:
        """The numbers of at most so many random data, some of each class."""
        return some_of_each((y > 0).astype(int) if self._binary else y, number)

    def _some_and_near(self, points: Array, y: Array) -> tuple[Array, Array | None]:
        """The numbers of data to learn from: random ones, and near ones where these have enough of each class."""
        numbers = (y > 0).astype(int) if self._binary else y
        few = self._some_of_each(y, LEARNED)
        groups = self._near(points, points[few], GROUPS)
        if groups is None:
            return few, None
        rarest = [np.bincount(numbers[rows], minlength=len(self.classes_)).min() for rows in groups]
        return few, groups[np.argmax(rarest)] if max(rarest) >= FEW else None

    def _keep(self, posterior: Any, fit: Any, *others: Any) -> Self:
        self.label_noise_ = float(posterior.likelihood.label_noise)
        super()._keep(posterior, fit, *others)
        if self._doubt > 0.5:
            log.info("%s; predictions are averaged with the shares of the classes", NO_SIGNAL.format(self._doubt))
        return self

    @property
    def _doubt(self) -> float:
        """The probability of no signal, where predictions are averaged with it; else 0."""
        averaged = len(self.mixture_.weights) > 1 and not self._setup.integrate
        return float(self.mixture_.weights[-1]) if averaged else 0.0

    def _notes_on(self, parameters: Sequence[Parameter]) -> list[str]:
        notes = [NO_SIGNAL.format(doubt)] if (doubt := self._doubt) else []
        warned = self.fit_ is not None and "amplitude" in self.fit_.on_bound
        at_top = (p for p in parameters if p.name == "amplitude" and p.is_learned and _at_top(p))
        note = "amplitude is at its upper bound: labels without noise; a larger one changes nothing"
        return notes if warned else notes + [note for _ in at_top]

    def _doubts_signal(self, posterior: Any) -> bool:
        learned = self._setup.given.amplitude is None and posterior.structure.keeps_data
        few = posterior.count <= min(DOUBTED, self.learned_from_) and not self._precomputed
        return self.integrate == "auto" and self.priors is not None and learned and few

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
        mixture, points = self._at(X, prior)  # without label noise, which would end the values
        return mixture.margin(points) if self._binary else probits(mixture.probabilities(points, label_noise=False))

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
        mixture, points = self._at(X, prior)
        if self._binary and len(mixture.weights) == 1:
            # P > 1/2 where the mean of f is positive, whatever its variance
            return self.classes_[(mixture.mean(points) > 0).astype(int)]
        return self.classes_[np.argmax(self._probabilities(mixture, points), axis=1)]

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
        float.
        gradient : array, with gradient=True. The derivatives in the natural logarithms of the times, the amplitude and
            the label noise, in this order.

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
        likelihood = self._fitted.likelihood
        check_label_noise(label_noise)
        if label_noise is not None:
            likelihood = replace(likelihood, label_noise=float(label_noise))
        call = "the evidence at other parameters, or its gradient,"
        return self._evidence(call, likelihood, time, amplitude, None, gradient)

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
        self._check("loo")
        return two_columns(self.mixture_.loo_probability()) if self._binary else self.mixture_.loo_probabilities()

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

        rows, y = self.loo(), self.posterior_.y
        return probabilities_figure((y > 0).astype(int) if self._binary else y, rows, self.classes_)

    @property
    def _binary(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _kind(self) -> str:
        return CLASSES if self._fitted.structure.keeps_data else SPARSE_CLASSES

    def _explained_predictions(self, points: Array) -> Array:
        found = self._probabilities(self.mixture_, points)
        return found[:, 1] if self._binary else found

    def _probabilities(self, mixture: Mixture, points: Array) -> Array:
        return two_columns(mixture.probability(points)) if self._binary else mixture.probabilities(points)

    def _predictions(self, mixture: Mixture, points: Array) -> tuple[Array, Array]:
        probabilities = self._probabilities(mixture, points)
        return probabilities, np.sqrt(probabilities * (1 - probabilities)).max(axis=1, initial=0.0)


def check_label_noise(noise: Any) -> None:
    """Raise InvalidInput for what is no share of the labels; None is learned."""
    if noise is not None and not (is_number(noise) and 0 <= noise < 1):
        raise InvalidInput(
            f"label_noise = {shown(noise)} is the share of labels that were drawn at random, from 0 to less than 1. "
            "Give None to learn it."
        )


def two_columns(second: Array) -> Array:
    """The probabilities of two classes, (N, 2), from those of the second."""
    return np.stack((1 - second, second), axis=1)


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


def _is_continuous(label: Any) -> bool:
    """Whether a label is a number, but not a whole one."""
    return isinstance(label, Complex) and not (isinstance(label, Real) and label % 1 == 0)


def _classes(points: Array, y: Any) -> tuple[Array, Array]:
    """The different labels, sorted, and for each point the number of its label."""
    labels = as_labels(y, "y")
    if labels.shape != points.shape[:1]:
        raise InvalidInput(
            f"y has shape {labels.shape} and X {len(points)} points: one label for each point is needed."
        )
    refuse_missing(labels, "y")
    for label in filter(_is_continuous, labels.tolist() if labels.dtype.kind in "fcO" else ()):
        raise InvalidInput(
            f"y holds numbers such as {label} (continuous), not labels. Use GPRegressor, or make them classes."
        )
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InvalidInput(f"the labels in y cannot be sorted ({error}). Give all of one type.") from None
    if len(classes) < 2:
        raise InvalidInput(f"y has the one class {classes[0]}: there is nothing to tell apart. Give at least two.")
    return classes, numbers
