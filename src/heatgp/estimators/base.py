"""What regression and classification share: points, kernel and bounds from the constructor's arguments."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arguments import check_flag, check_seed, is_list, shown
from ..cost import check_memory
from ..covariance import Array, Kernel, TimeFunction
from ..errors import InvalidInput, NotConverged, Unsupported
from ..gp.gradients import evidence_gradient
from ..gp.integration import check_grid, explored, usual_size, with_no_signal
from ..gp.kernels import Normalized, Precomputed, gram_kernel, with_rows
from ..gp.mixture import Mixture
from ..gp.normal import Normal
from ..gp.parameters import Given, Params, Priors, checked_priors
from ..gp.prior import remembered
from ..gp.search import Bounds, Fit, fit, free_times, near_rows, time_intervals
from ..gp.smoothness import Family, Tried, learned_smoothness
from ..gp.sparse.fit import DEFAULT, Learned, SparseOptions
from ..gp.sparse.sites import NEIGHBORS, fit_sites
from ..gp.sparse.source import random_rows
from ..heat.kernel import HeatKernel
from ..heat.matern import with_smoothness
from ..html_table import html_table
from ..threads import on_one_thread
from .data import check_columns, check_function_of_points, checked_table, chosen_manifold, on_manifold
from .files import save_model
from .kernel_error import KernelError, kernel_error
from .kernels import (
    chosen_kernel,
    is_learned,
    learned_times,
    learned_weights,
    smoothness_of,
    without_normalization,
)
from .plan import Sparse, check, chosen_inference
from .sparse_regression import warn_of_residual
from .summary import Parameter, Summary, summary_of
from .time_bounds import time_bounds

LEARNED = ("time_", "weights_", "smoothness_", "amplitude_", "noise_", "label_noise_")
"""The attributes that notebooks show."""
PILOT = 400
"""Data from which a smoothness is learned, at most."""
NEAR_GROUPS = 8
"""Groups of near data among these."""


@dataclass(frozen=True)
class Setup:
    """The checked arguments of a fit. A fitted model goes by these, so that `set_params` changes the next fit alone.

    Parameters
    ----------
    priors : Priors, with the intervals of the search.
    likelihood : Likelihood with None for what is learned; None as a whole is normal noise.
    integrate, project : bool, as in the constructor.
    noise_is_known : bool, whether each observation has a known noise of its own.
    has_exposure : bool, whether counts came with their exposure.
    given : Given, the parameters that are held fixed; the noise is 1.0 where each observation has a known one.
    mean : MeanModel, the basis functions of the mean.
    by_coordinate : bool, whether each coordinate of R^n has a time of its own.
    learns_smoothness : bool, whether the smoothness was chosen by evidence.
    on_device : bool, whether points came in a JAX array, and models are computed on its device where that is possible.
    sparse : SparseOptions, with checked inducing points.
    """

    priors: Priors
    likelihood: Any
    integrate: bool
    project: bool
    noise_is_known: bool = False
    has_exposure: bool = False
    given: Any = None
    mean: Any = None
    by_coordinate: bool = False
    learns_smoothness: bool = False
    on_device: bool = False
    sparse: SparseOptions = DEFAULT

    @property
    def learned(self) -> int:
        """How many parameters are learned."""
        noises = self.given.noise is None if self.likelihood is None else len(self.likelihood.free)
        return len(self.given.free) + (self.given.amplitude is None) + noises


@dataclass(eq=False, repr=False)
class HeatGP(BaseEstimator):
    """The base of GPRegressor and GPClassifier: the arguments that both have, which `GPRegressor` explains."""

    manifold: Any = None
    _: KW_ONLY
    kernel: Any = "auto"
    smoothness: Any = math.inf
    time: Any = None
    amplitude: float | None = None
    priors: Any = "weak"
    integrate: Literal["auto", "grid"] | None = None
    normalize: bool = True
    random_state: Any = 0
    project: bool = False
    inference: Any = "auto"

    @abstractmethod
    def _predictions(self, mixture: Mixture, points: Array) -> tuple[Array, Array]:
        """Predictions (N, columns) of some posteriors and their standard deviations (N,)."""

    @abstractmethod
    def _dense_model(self, points: Array, y: Array, pairs: TimeFunction, **options: Any) -> Learned:
        """The dense model of some data, whose parameters are learned where they are not given."""

    @property
    @abstractmethod
    def _kind(self) -> str:
        """The kind of the fitted model in `plan`."""

    _integrals: ClassVar[Sequence[str]] = ("grid",)
    """What `integrate` may be beside None."""

    @abstractmethod
    def _explained_predictions(self, points: Array) -> Array:
        """The predictions at points of whose variance `summary` says what each factor explains."""

    @abstractmethod
    def _notes_on(self, parameters: Sequence[Parameter]) -> Sequence[str]:
        """What the summary of these parameters says to be careful with."""

    def summary(self) -> Summary:
        """The parameters with their intervals, the evidence, how they were found, and what to be careful with.

        Intervals of learned parameters have a probability of 90 %. They come from the curvature of the log posterior
        density in the logarithms of the parameters; with integrate="grid" from the grid. They end at the bounds of the
        search. Coefficients of the mean have a normal posterior; their rows say its standard deviation too. On a
        product the last lines say what each factor explains of the predictions, see `explained` of Summary; sparse
        classifiers keep no data to say it for.

        Returns
        -------
        Summary, to be printed; its attributes hold the numbers.

        Raises
        ------
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> X = hg.Sphere(2).random(np.random.default_rng(0), 60)
        >>> gp = hg.GPRegressor(hg.Sphere(2), time=0.5, amplitude=1.0, noise=0.01).fit(X, 2 + X[:, 0])
        >>> print(gp.summary())
        GPRegressor(manifold=Sphere(2)), N = 60
        parameter       value  90 % interval
        time            0.5    given
        amplitude       1      given
        noise           0.01   given
        mean: constant  2      1.21 to 2.79, standard error 0.48
        log evidence  33.526
        """
        check_is_fitted(self, "posterior_")
        return summary_of(self)

    @property
    def learned_from_(self) -> int:
        """The number of points that the parameters were learned from; all points where every parameter was given."""
        count, fit = self._fitted.count, self.fit_
        return count if fit is None or fit.data is None else min(count, fit.data)

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, which `heatgp.load_model` reads.

        The file holds arrays and plain data, with a checksum; reading it runs no code. It is written whole or not at
        all.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        InvalidInput : if the model is not fitted.
        Unsupported : if the model holds what such a file cannot hold, such as a function of yours as mean.
        """
        save_model(self, path)

    def kernel_error(self, X: Any) -> KernelError:
        """How far the Monte Carlo error of an estimated kernel moves the predictions at X: would more paths help?

        Predictions are made again, at the fitted parameters, with kernels from parts of the simulation.

        Parameters
        ----------
        X : array of N points, (N, *manifold.shape), or rows of flattened points.

        Returns
        -------
        KernelError with `error` (N,), the standard error of each prediction due to the kernel; `spread` (N,), the
        standard deviation of f, or √(p (1 - p)) of a class probability (of several classes the largest, as of
        `error`); and `share`, their ratio. Printed, it says whether more paths would help.

        Raises
        ------
        NotFittedError : if the model is not fitted.
        Unsupported : with kernel="precomputed".

        Examples
        --------
        >>> import heatgp as hg
        >>> S2 = hg.Sphere(2)
        >>> X = S2.random(np.random.default_rng(0), 30)
        >>> print(hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.1).fit(X, X[:, 0]).kernel_error(X))
        the kernel is exact: no part of the predictive error comes from it
        """
        if self._precomputed:
            raise Unsupported("a precomputed kernel does not say how it was estimated, so its error is not known.")
        self._check("kernel_error")
        points, posteriors = self._points(X), self.mixture_.posteriors

        def predict(kernel: Kernel) -> tuple[Array, Array]:
            again = [old.again(kernel, old.params) for old in posteriors]
            return self._predictions(replace(self.mixture_, posteriors=again), points)

        return kernel_error(self.kernel_, predict)

    def _repr_html_inner(self) -> str:
        """What notebooks show: scikit-learn's diagram, and below it what was learned."""
        diagram = super()._repr_html_inner()
        if "posterior_" not in vars(self):
            return diagram
        values: Any = {name: vars(self).get(name) for name in LEARNED}
        found = {name: [float(f"{x:.4g}") for x in np.ravel(each) if x is not None] for name, each in values.items()}
        rows = [(name, shown(each if len(each) > 1 else each[0])) for name, each in found.items() if each]
        with suppress(Unsupported):
            rows.append(("log evidence", f"{self.log_marginal_likelihood():.3f}"))
        return diagram + html_table("Parameters of the fit", rows)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _fitted(self) -> Any:
        """The Gaussian process that has seen the data, or NotFittedError."""
        check_is_fitted(self, "posterior_")
        return self.posterior_

    @property
    def _precomputed(self) -> bool:
        """Whether the kernel of the fitted model is a Gram matrix."""
        check_is_fitted(self, "kernel_")
        return isinstance(self.kernel_, Precomputed)

    def _checked(self, X: Any, observe: Callable[[Array], tuple[Setup, Any]], noise: Any = 0.0) -> Any:
        """What `observe` makes of the checked points; sets the kernel and what the fitted model goes by.

        All arguments are checked before the kernel is made, which may take a simulation.

        Parameters
        ----------
        observe : function of the points that returns a Setup without what is given, and more.
        noise : the noise that is given, default 0.
        """
        for name in ("amplitude", "noise"):
            value = getattr(self, name, None)
            number = isinstance(value, Real) and not isinstance(value, bool)
            known = name == "noise" and is_list(value)  # variances, which GPRegressor checks
            if not (value is None or number or known):
                raise InvalidInput(f"{name} = {shown(value)} must be a number, or None to learn it.")
        check_flag("project", self.project)
        if not (self.integrate is None or (isinstance(self.integrate, str) and self.integrate in self._integrals)):
            names = " or ".join(map(repr, self._integrals))
            raise InvalidInput(f"integrate = {self.integrate!r} is not known. Use {names}, or None for the best guess.")
        precomputed = is_precomputed(self.kernel)
        if precomputed and self.project:
            raise InvalidInput("project=True, but a precomputed kernel has no points. Leave it False.")
        check_seed(self.random_state, "random_state")
        if precomputed and self.time is not None:
            raise InvalidInput(f"time = {shown(self.time)}, but a precomputed kernel has none. Leave it None.")
        X = checked_table(self, X, fitting=True)
        gram = gram_kernel(X) if precomputed else None
        if gram is None:
            self.manifold_ = chosen_manifold(self.manifold, X)
            points, self.moved_ = on_manifold(self.manifold_, X, self.project)
        else:
            points = np.arange(len(gram.gram))
            for name in ("manifold_", "moved_"):  # of an earlier fit
                self.__dict__.pop(name, None)
        if not len(points):
            raise InvalidInput(f"X has shape {X.shape}: no point. Give at least one.")
        self.n_features_in_ = math.prod(X.shape[1:])
        sparse = DEFAULT if gram is not None else self._sparse_options()
        setup, checked = observe(points)
        self.kernel_: Kernel = self._with_smoothness(self._heat_kernel(), self.smoothness) if gram is None else gram
        self.smoothness_ = smoothness_of(self.kernel_)
        by_name = isinstance(self.time, str)
        given = Given.of(self.kernel_, None if by_name else self.time, self.amplitude, noise)
        by_coordinate = by_name and self.time == "coordinates"
        self._setup = replace(setup, given=given, by_coordinate=by_coordinate, sparse=sparse)
        if setup.integrate:
            check_grid(self._setup.learned)
        if gram is None:
            check_function_of_points(setup.mean.mean, without_normalization(self.kernel_), points)
        return checked

    def _heat_kernel(self) -> HeatKernel:
        return chosen_kernel(self.manifold_, self.kernel, self.time, self.random_state).as_positive_definite()

    def _with_smoothness(self, heat: HeatKernel, smoothness: Any) -> Kernel:
        """The kernel of the model: the sum of those of several numbers, and the heat kernel where it is no number."""
        if isinstance(smoothness, tuple):
            kernel = reduce(add, (with_smoothness(heat, each) for each in smoothness))
        else:
            kernel = heat if isinstance(smoothness, str) else with_smoothness(heat, float(smoothness))
        return Normalized(kernel) if self.normalize else kernel

    def _learn_smoothness(
        self, points: Array, y: Any, rows: Array, options: dict[str, Any]
    ) -> tuple[Family, Tried] | None:
        """Give the kernel the best smoothness, from the data of some rows, where it is learned.

        Returns the kernels of each smoothness, and the best; None where it is given.
        """
        heat = without_normalization(self.kernel_)
        are_counts = getattr(self._setup.likelihood, "is_discrete", self._setup.likelihood is not None)
        if self._precomputed or not is_learned(self.smoothness, heat, self._setup.given, are_counts):
            return None
        of_each = ("mean", "offset", "noise_scale")
        own = {k: v[rows] if k in of_each and isinstance(v, np.ndarray) else v for k, v in options.items()}
        own |= {"likelihood": self._setup.likelihood, "priors": self._setup.priors}

        def bounds(kernel: Kernel) -> Bounds:
            return self._bounds(points[rows], len(points), kernel)

        family = Family(lambda smoothness: self._with_smoothness(heat, smoothness), bounds)
        try:
            best = learned_smoothness(family, points[rows], y[rows], self._setup.given, **own)
        except NotConverged:  # of some of the data; the model may yet
            return None
        self.kernel_ = family.kernel(best.smoothness)
        self.smoothness_ = smoothness_of(self.kernel_)
        self._setup = replace(self._setup, learns_smoothness=True)
        return family, best

    def _some_rows(self, points: Array, number: int) -> Array:
        """The numbers of data that show long and short lengths: random ones, and some that are near each other."""
        if len(points) <= number:
            return np.arange(len(points))
        random = random_rows(len(points), number // 2)
        near = self._near(points, points[random], NEAR_GROUPS, number // 2 // NEAR_GROUPS)
        return random if near is None else np.union1d(random, near.ravel())

    def _learned(
        self, condition: Callable[..., Any], points: Array, y: Any, pairs: TimeFunction, **options: Any
    ) -> Learned:
        """The posterior, and the result of the search for the parameters where some of them are not given."""
        setup, found = self._setup, None
        params, likelihood = setup.given.params, setup.likelihood
        if params is None or (likelihood is not None and likelihood.free):
            searched = {"likelihood": likelihood, "priors": setup.priors, **options}
            found = fit(self.kernel_, points, y, self._bounds(points), setup.given, pairs=pairs, **searched)
            params, likelihood = found.params, found.likelihood
        if likelihood is not None:
            options |= {"likelihood": likelihood, "start": None if found is None else found.sites}
        elif setup.noise_is_known:
            options["noise_is_known"] = True
        return condition(self.kernel_, points, y, params, pairs=pairs, **options), found

    def _sites_model(
        self, points: Array, y: Array, few: Array, near: Array | None, options: dict[str, Any]
    ) -> Learned | None:
        """The model of many observations that are not normal: parameters from some, predictions from all.

        None where it should be dense.
        """
        of_each = {name: options[name] for name in ("mean", "offset") if isinstance(options.get(name), np.ndarray)}

        def learn(some: Array) -> Learned:
            own = options | {name: values[some] for name, values in of_each.items()}
            return self._dense_model(points[some], y[some], self._pairs(points[some]), **own)

        sparse = self._setup.sparse
        found = fit_sites(self.kernel_, points, y, self._setup.given, few, near, learn, sparse, **options)
        if found is not None:
            warn_of_residual(found[0].approximation, sparse.tolerance)
        return found

    def _near(self, points: Array, seen: Array, groups: int = 1, size: int | None = None) -> Array | None:
        """The numbers of data near each other, in groups; None where data are few, or no time is learned.

        They are the nearest ones at times in the middle of the bounds for `seen`, all points or some of them.
        """
        given, size = self._setup.given, size or NEIGHBORS
        if len(points) < 2 * size or not free_times(self.kernel_, given):
            return None
        _, middle = time_intervals(self.kernel_, self._bounds(seen), given)
        return near_rows(self.kernel_, points, middle, size, groups)

    def _pairs(self, points: Array) -> TimeFunction:
        """The covariance of all pairs of points as a function of time."""
        return on_one_thread(len)(self.kernel_.pairs)(points)

    def _keep(
        self, posterior: Any, fit: Fit | None, maxima: Sequence[Params] = (), pairs: TimeFunction | None = None
    ) -> Self:
        """Set the attributes of a fitted model; `maxima` and `pairs` as in `_integrated`."""
        self.posterior_, self.fit_, self.approximation_ = posterior, fit, posterior.approximation
        self.mixture_ = self._integrated(posterior, maxima, pairs)
        params, likelihood = posterior.params, posterior.likelihood
        normal = isinstance(likelihood, Normal)
        self.time_, self.weights_ = learned_times(self.kernel_, params.time), learned_weights(self.kernel_, params.time)
        self.lengthscale_ = None if self.time_ is None else np.sqrt(self.time_)[()]
        self.amplitude_ = params.amplitude
        self.noise_ = params.noise if normal else vars(likelihood).get("noise")
        self.likelihood_ = None if normal else likelihood.of_predictions()
        self.coefficients_, self.coefficient_errors_ = posterior.coefficients, posterior.coefficient_errors
        self.coefficient_names_ = self._setup.mean.names[: len(self.coefficients_)]
        return self

    def _against_sparse(self) -> dict[str, bool]:
        """What no sparse model has, and whether it is asked for."""
        return {
            'kernel="precomputed"': is_precomputed(self.kernel),
            "normalize=False": not check_flag("normalize", self.normalize),
        }

    def _check(self, row: str, **words: Any) -> None:
        """Raise the error of a row of `plan` where this model does not have it."""
        posterior = self._fitted
        known = {"number": posterior.y.shape[-1], "count": posterior.count, "some": self.learned_from_}
        check(row, self._kind, **known | words)

    def _evidence(self, call: str, likelihood: Any, time: Any, amplitude: Any, noise: Any, gradient: bool) -> Any:
        """The log evidence at parameters of which None are those of the fit; with `gradient` its derivatives too."""
        posterior, gradient = self._fitted, check_flag("gradient", gradient)
        moves = likelihood is not posterior.likelihood or not (time is None and amplitude is None and noise is None)
        if moves or gradient:
            self._check("log_marginal_likelihood(gradient=True)", call=call)
        if moves:
            params = self._params(posterior.params, time, amplitude, noise)
            posterior = posterior.again(self.kernel_, params, likelihood=likelihood)
        value = posterior.log_marginal_likelihood
        return (value, evidence_gradient(posterior)) if gradient else value

    def _sparse_options(self) -> SparseOptions:
        """The options of a sparse model, with checked inducing points."""
        _, chosen = chosen_inference(self.inference)
        inducing = chosen.inducing if isinstance(chosen, Sparse) else None
        if is_list(inducing):
            points, _ = on_manifold(self.manifold_, inducing, self.project, "inducing")
            return SparseOptions(chosen.tolerance, points=points)
        return SparseOptions(chosen.tolerance, inducing and int(inducing))

    def _checked_priors(self, model: str, *noise: str, of_likelihood: Iterable[str] = ()) -> Priors:
        """The argument `priors`, without any of what the model does not have; `noise` is what it learns beside f."""
        priors = checked_priors(self.priors)
        priors.check(("time", "amplitude", *noise), model, of_likelihood)
        if is_precomputed(self.kernel):
            priors.check(("amplitude", *noise), "a precomputed kernel", of_likelihood)
        return priors

    def _bounds(self, points: Array, count: int | None = None, kernel: Kernel | None = None) -> Bounds:
        """Where parameters are searched for; `count` is the number of all data where the points are some of them."""
        priors: Priors = self._setup.priors
        times: Any = (1.0, 2.0)  # a precomputed kernel has no time
        if not self._precomputed:
            count = None if count == len(points) else count
            times = time_bounds(without_normalization(kernel or self.kernel_), points, priors.time_bounds, count)
        return Bounds(times, priors.amplitude_bounds, priors.noise_bounds or Bounds.noise)

    def _objective(self, posterior: Any, pairs: Any = None) -> tuple[Any, Array]:
        """The log posterior density of the logs of what is learned, all of them coordinates, and its box."""
        setup, points = self._setup, posterior.points_of_data
        bounds = self._bounds(points, posterior.count)
        return posterior.objective(bounds, setup.given, setup.priors, pairs, setup.likelihood)

    @on_one_thread(lambda model, posterior, *others: len(posterior.X))
    def _integrated(self, posterior: Any, maxima: Sequence[Params], pairs: Any = None) -> Mixture:
        """Posteriors at a grid of parameters, where `integrate` asks for it and something is learned."""
        doubts, alone = self._doubts_signal(posterior), Mixture([posterior], np.ones(1))
        if not (doubts or (self._setup.integrate and self._setup.learned)):
            return alone
        objective, box = self._objective(posterior, pairs)
        starts = [objective.coordinates(params, posterior.likelihood) for params in (posterior.params, *maxima)]
        starts = [np.clip(z, *box.T) for z in starts]
        found = with_no_signal(objective, starts[0], box) if doubts else explored(objective, starts, box)
        if doubts and len(found.weights) == 1:
            return alone
        self._check_grid(len(posterior.X), len(found.weights))
        shared = None if pairs is None else remembered(pairs)

        def again(z: Array) -> Any:
            if doubts and np.array_equal(z, starts[0]):
                return posterior
            return posterior.again(self.kernel_, objective.params(z), shared, objective.likelihood(z))

        return Mixture.over(again, found.points, found.weights)

    def _doubts_signal(self, posterior: Any) -> bool:
        """Whether predictions are averaged over the best parameters and no signal."""
        return False

    def _check_grid(self, size: int, number: int | None = None) -> None:
        """Raise InvalidInput where a grid of so many posteriors of so many points does not fit into memory.

        Before the search, where the number is None, it is known for normal parameters only.
        """
        setup = self._setup
        if not (setup.integrate and setup.learned):
            return
        functions = getattr(setup.likelihood, "functions", None)
        # the covariance and its factor; of several functions an inverse and its product with the factor of each too
        matrices = 2 if functions is None else 2 * functions + 2
        count, about = (usual_size(setup.learned), "about ") if number is None else (number, "")
        check_memory(
            8.0 * matrices * count * size**2,
            f"integrate='grid': {about}{count} posteriors of {size:,} points",
            "Leave integrate None, give some of the parameters, or fewer points.",
        )

    def _params(self, old: Params, time: Any, amplitude: Any, noise: Any) -> Params:
        """Checked parameters; None for those of `old`."""
        if self._precomputed and time is not None:
            raise InvalidInput(f"time = {shown(time)}, but a precomputed kernel has none. Leave it None.")
        given = Given.of(
            self.kernel_,
            old.time if time is None else time,
            old.amplitude if amplitude is None else amplitude,
            old.noise if noise is None else noise,
        )
        weights = np.log(np.atleast_1d(old.time)[given.free])  # of a sum of kernels, where times alone are given
        return Params(given.times(weights), float(given.amplitude or 0.0), float(given.noise or 0.0))

    def _at(self, X: Any, prior: Any = None) -> tuple[Mixture, Array]:
        """The posteriors, and the points X as these take them; new rows of a Gram matrix are added to the kernel."""
        check_is_fitted(self, "posterior_")
        if isinstance(self.kernel_, Precomputed):
            kernel = with_rows(self.kernel_, checked_table(self, X, fitting=False), prior)
            return self.mixture_.with_kernel(kernel), np.arange(len(self.kernel_.gram), len(kernel.gram))
        if prior is not None:
            raise InvalidInput("prior is for kernel='precomputed'; other kernels know their own.")
        return self.mixture_, self._points(X)

    def _points(self, X: Any) -> Array:
        """Checked points of the manifold, in a table as that of the fit."""
        return self._on_manifold(X)[0]

    def _on_manifold(self, X: Any) -> tuple[Array, float]:
        """The same, and how far they were moved at most."""
        X = checked_table(self, X, fitting=False)
        check_columns(self, self.manifold_, X)
        return on_manifold(self.manifold_, X, self._setup.project)


def is_precomputed(kernel: Any) -> bool:
    """Whether the argument `kernel` of a model asks for a Gram matrix in the place of points."""
    return isinstance(kernel, str) and kernel == "precomputed"
