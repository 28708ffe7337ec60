"""What regression and classification share: points, kernel and bounds from the constructor's arguments."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arguments import check_flag, check_jobs, check_seed, is_list, is_number, shown
from ..cost import check_memory
from ..covariance import Array, Kernel, TimeFunction
from ..errors import InvalidInput, Unsupported
from ..gp.integration import check_grid, explored, usual_size
from ..gp.kernels import Normalized, PlusConstant, Precomputed, gram_kernel, with_rows
from ..gp.mixture import Mixture
from ..gp.no_signal import processes
from ..gp.parameters import Given, Params, checked_priors
from ..gp.posterior import Forgotten
from ..gp.prior import remembered
from ..gp.search import Bounds, Fit, fit
from ..html_table import html_table
from ..manifolds.rows import as_points, projected_points
from ..threads import on_one_thread
from .data import check_columns, checked_table, chosen_manifold
from .files import save_model
from .kernel_error import KernelError, kernel_error
from .kernels import CANDIDATES, chosen_kernel, smoothed, smoothness_of, without_normalization
from .plan import check
from .relevance import explained_variances
from .summary import Parameter, Summary, learned_parameters, search_path
from .time_bounds import time_bounds

LEARNED = ("time_", "weights_", "smoothness_", "amplitude_", "noise_", "label_noise_", "signal_")
"""The attributes that notebooks show."""
of_its_data = on_one_thread(lambda model, posterior, *others, **options: len(posterior.X))
"""For methods of an estimator, of a posterior and more."""


def as_fitted(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a fitted model that sees the arguments of the constructor as they were in the fit.

    `set_params` after a fit changes the next fit, not what a fitted model says of itself.
    """

    @wraps(method)
    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        model = copy(self)
        vars(model).update(vars(self).get("_arguments_of_fit", {}))
        return method(model, *arguments, **options)

    return called


@dataclass(eq=False, repr=False)
class HeatGP(BaseEstimator):
    """The base of GPRegressor and GPClassifier: the arguments that both have, which `GPRegressor` explains."""

    manifold: Any = None
    _: KW_ONLY
    kernel: Any = "auto"
    smoothness: Any = math.inf
    time: Any = None
    amplitude: float | None = None
    normalize: bool = True
    time_bounds: Any = None
    amplitude_bounds: Any = None
    rng: Any = 0
    n_jobs: int | None = None
    project: bool = False
    integrate: Literal["grid"] | None = None
    priors: Any = "weak"

    @abstractmethod
    def _objective(self, posterior: Any, pairs: Any = None) -> tuple[Any, Array]:
        """The log posterior density of the logs of what is learned, all of them coordinates, and its box."""

    def _again(self, posterior: Any, objective: Any, z: Array, pairs: Any = None) -> Any:
        """The posterior of the same data at the coordinates z of the objective."""
        return posterior.again(self.kernel_, objective.params(z), pairs, objective.likelihood(z))

    @abstractmethod
    def _evidence_of(self, other: Any) -> float:
        """The log evidence of the kernel and the parameters of another model of the same data, computed as that of
        this model: dense, sparse or local."""

    @abstractmethod
    def _predict_with(self, kernel: Kernel, points: Array) -> tuple[Array, Array]:
        """Predictions (N, columns) and their standard deviations (N,), with any kernel at the fitted parameters."""

    @as_fitted
    def summary(self) -> Summary:
        """The parameters with their intervals, the evidence, how they were found, and what to be careful with.

        Intervals of learned parameters have a probability of 90 %. They come from the curvature of the log posterior
        density in the logarithms of the parameters; with integrate="grid" from the grid. They end at the bounds of the
        search. Coefficients of the mean have a normal law; their rows say its standard deviation too. On a product
        the last lines say what each factor explains of the predictions, see `explained` of Summary; sparse classifiers
        keep no data to say it for.

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
        posteriors, mixtures = self._fitted, [processes(mixture) for mixture in self._mixtures]
        if self.integrate is None:  # without signal there are several, but not a grid
            mixtures = [Mixture.of(posterior) for posterior in posteriors]
        labels = [""] if len(posteriors) == 1 else [f"{label}: " for label in self._model_names]
        parameters: list[Parameter] = []
        for posterior, mixture, label in zip(posteriors, mixtures, labels):
            parameters += self._summarised(posterior, mixture, label)
        parameters += self._smoothness_row + self._mean_rows
        fits = [fit for fit in self.fits_ if fit is not None]
        notes = [f"{name} sits on a bound of its search" for fit in fits for name in fit.on_bound]
        if fits and self.learned_from_ < (number := posteriors[0].count):
            notes.append(f"parameters were learned from {self.learned_from_:,} of {number:,} points")
        if not self._precomputed and self.moved_ > 0:
            notes.append(f"points were moved onto the manifold by up to {self.moved_:.2g}")
        form = self.approximation_
        where = "a precomputed kernel" if self._precomputed else f"manifold={self.manifold_!r}"
        return Summary(
            f"{type(self).__name__}({where}), N = {posteriors[0].count}" + (f", {form.words}" if form else ""),
            tuple(parameters),
            self._log_evidence,
            tuple(search_path(fits, mixtures, self.kernel_.names, self._has_normal_noise)),
            (*notes, *self._notes_on(parameters)),
            **self._explained(),
        )

    @of_its_data
    def _summarised(self, posterior: Any, mixture: Mixture, about: str) -> list[Parameter]:
        """The parameters of one model."""
        if not isinstance(posterior.structure, Forgotten):
            return learned_parameters(*self._objective(posterior), mixture, posterior, about)
        given, law = self._given(0.0), self._likelihood
        values = [*zip(given.names, np.atleast_1d(posterior.params.time), given.time)]
        values += [("amplitude", posterior.params.amplitude, given.amplitude)]
        values += [(name, vars(posterior.likelihood)[name], vars(law)[name]) for name in law.bounds]
        words = f"learned from {self.approximation_.learned_from:,} points"
        return [
            Parameter(f"{about}{name}", float(value), math.nan, math.nan, True, words)
            if known is None
            else Parameter(f"{about}{name}", float(value), float(value), float(value), False)
            for name, value, known in values
        ]

    def _explained(self) -> dict[str, Any]:
        """What each factor explains of the predictions: arguments of Summary."""
        return {}

    def _explained_by_factors(self, predict: Callable[[Array], Array], points: Array) -> dict[str, Any]:
        coordinates = isinstance(self.time, str) and self.time == "coordinates"
        variance, explained = explained_variances(self.manifold_, coordinates, predict, points)
        return {"explained": explained, "variance": variance}

    @property
    def learned_from_(self) -> int:
        """The number of points that the parameters were learned from; all points where every parameter was given."""
        number = self._fitted[0].count
        return min([number, *(fit.data for fit in self.fits_ if fit is not None and fit.data is not None)])

    @property
    def _model_names(self) -> Sequence[Any]:
        """What tells several models apart."""
        return range(len(self._fitted))

    @property
    def _log_evidence(self) -> float:
        """The log evidence of all data at the parameters used, nan where it is not known."""
        return sum(posterior.log_marginal_likelihood for posterior in self._fitted)

    def _notes_on(self, parameters: Sequence[Parameter]) -> Sequence[str]:
        """More for the summary of these parameters to say."""
        return ()

    @property
    def _smoothness_row(self) -> list[Parameter]:
        """The smoothness of the kernel, where it is not that of heat alone."""
        value, learned = self.smoothness_, isinstance(self.smoothness, str)
        if math.isinf(value) and not learned:
            return []
        words = f"the best of {', '.join(f'{each:g}' for each in CANDIDATES)} by evidence" if learned else ""
        ends = (math.nan,) * 2 if learned else (value,) * 2
        return [Parameter("smoothness", value, *ends, learned, words)]

    @property
    def _mean_rows(self) -> list[Parameter]:
        """The coefficients of the mean."""
        return []

    @property
    def _has_normal_noise(self) -> bool:
        """Whether observations have normal noise of one variance."""
        return False

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

    @as_fitted
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
        if self._fitted and self._precomputed:
            raise Unsupported("a precomputed kernel does not say how it was estimated, so its error is not known.")
        check("kernel_error", self._kind)
        points = self._points(X)
        return kernel_error(self.kernel_, lambda kernel: self._predict_with(kernel, points))

    def _repr_html_inner(self) -> str:
        """What notebooks show: scikit-learn's diagram, and below it what was learned."""
        diagram = super()._repr_html_inner()
        if "posteriors_" not in vars(self):
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
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _fitted(self) -> Sequence[Any]:
        """The Gaussian processes that have seen the data, or NotFittedError."""
        check_is_fitted(self, "posteriors_")
        return self.posteriors_

    @property
    def _mixtures(self) -> Sequence[Mixture]:
        """For each of these the posteriors over which predictions are averaged."""
        return self.mixtures_ if self._fitted else []

    @property
    @abstractmethod
    def _likelihood(self) -> Any:
        """The likelihood that the arguments ask for, with None for what is learned; None where it is normal."""

    @property
    @abstractmethod
    def _kind(self) -> str:
        """The kind of the fitted model in `plan`."""

    @property
    @abstractmethod
    def _learned_noises(self) -> int:
        """How many parameters of the law of y given f are learned."""

    @property
    def _matrices(self) -> int:
        """How many matrices of N² numbers a posterior keeps: the covariance and its factor."""
        return 2

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _checked(self, X: Any, check: Callable[[Array], Any]) -> tuple[Array, Any]:
        """Checked points, and what `check` makes of them.

        All arguments are checked before the kernel is made, which may take a simulation.
        """
        for name, value in self.get_params(deep=False).items():
            number = isinstance(value, Real) and not isinstance(value, bool)
            known = name == "noise" and is_list(value)  # variances, which GPRegressor checks
            if name in ("amplitude", "noise") and not (value is None or number or known):
                raise InvalidInput(f"{name} = {shown(value)} must be a number, or None to learn it.")
        check_flag("normalize", self.normalize)
        check_flag("project", self.project)
        if not (self.integrate is None or (isinstance(self.integrate, str) and self.integrate == "grid")):
            raise InvalidInput(f"integrate = {self.integrate!r} is not known. Use 'grid', or None for the best guess.")
        if self._precomputed and self.project:
            raise InvalidInput("project=True, but a precomputed kernel has no points. Leave it False.")
        checked_interval("amplitude_bounds", self.amplitude_bounds)
        check_seed(self.rng)
        check_jobs(self.n_jobs)
        if self._precomputed and self.time is not None:
            raise InvalidInput(f"time = {shown(self.time)}, but a precomputed kernel has none. Leave it None.")
        if self._precomputed and self.time_bounds is not None:
            raise InvalidInput(
                f"time_bounds = {shown(self.time_bounds)}, but a precomputed kernel has no time. Leave it None."
            )
        X = checked_table(self, X, fitting=True)
        gram = gram_kernel(X) if self._precomputed else None
        if gram is None:
            self.manifold_ = chosen_manifold(self.manifold, X)
            points, self.moved_ = self._on_manifold(X)
        else:
            points = np.arange(len(gram.gram))
        if not len(points):
            raise InvalidInput(f"X has shape {X.shape}: no point. Give at least one.")
        self.n_features_in_ = math.prod(X.shape[1:])
        checked = check(points)
        self.kernel_: Kernel = self._heat_kernel() if gram is None else gram
        self.smoothness_ = smoothness_of(self.kernel_)
        if self.integrate:
            check_grid(self._learned_number)
        self._arguments_of_fit = self.get_params(deep=False)
        return points, checked

    @property
    def _learned_number(self) -> int:
        """How many parameters are learned."""
        given = self._given(0.0)
        return len(given.free) + (given.amplitude is None) + self._learned_noises

    def _heat_kernel(self) -> Kernel:
        kernel = chosen_kernel(self.manifold_, self.kernel, self.time, self.rng, self.n_jobs)
        kernel = smoothed(kernel, self.smoothness).as_positive_definite()
        return Normalized(kernel) if self.normalize else kernel

    def _learned(
        self,
        condition: Callable[..., Any],
        points: Array,
        y: Any,
        pairs: TimeFunction,
        *,
        noise: Any = 0.0,
        likelihood: Any = None,
        about: str = "",
        noise_is_known: bool = False,
        **options: Any,
    ) -> tuple[Any, Fit | None]:
        """The posterior, and the result of the search for the parameters where some of them are not given."""
        given, found = self._given(noise), None
        params = given.params
        if params is None or (likelihood is not None and likelihood.free):
            searched = {"likelihood": likelihood, "priors": self.priors, "about": about, **options}
            found = fit(self.kernel_, points, y, self._bounds(points), given, pairs=pairs, **searched)
            params, likelihood = found.params, found.likelihood
        if likelihood is not None:
            options |= {"likelihood": likelihood, "start": None if found is None else found.sites}
        elif noise_is_known:
            options["noise_is_known"] = True
        return condition(self.kernel_, points, y, params, pairs=pairs, **options), found

    def _check_priors(self, priors: Any, model: str, *noise: str) -> None:
        """Raise InvalidInput for priors of what the model does not have; `noise` names what it learns beside f."""
        if self._precomputed:
            checked_priors(priors, ("amplitude", *noise), "a precomputed kernel")
        checked_priors(priors, ("time", "amplitude", *noise), model)

    def _given(self, noise: Any) -> Given:
        """The parameters that are held fixed."""
        time = None if isinstance(self.time, str) else self.time
        return Given.of(self.kernel_, time, self.amplitude, noise)

    def _bounds(self, points: Array, count: int | None = None) -> Bounds:
        """Where parameters are searched for; `count` is the number of all data where the points are some of them."""
        times: Any = (1.0, 2.0)  # a precomputed kernel has no time
        if not self._precomputed:
            times = time_bounds(without_normalization(self.kernel_), points, self.time_bounds, count)
        return Bounds(times, checked_interval("amplitude_bounds", self.amplitude_bounds))

    @of_its_data
    def _integrated(self, posterior: Any, maxima: Sequence[Params], pairs: Any = None) -> Mixture:
        """Posteriors at a grid of parameters, where `integrate` asks for it and something is learned."""
        if self.integrate is None:
            return Mixture.of(posterior)
        objective, box = self._objective(posterior, pairs)
        if not len(box):
            return Mixture.of(posterior)
        starts = [objective.coordinates(params, posterior.likelihood) for params in (posterior.params, *maxima)]
        found = explored(objective, [np.clip(z, *box.T) for z in starts], box)
        self._check_grid_memory(len(found.weights), len(posterior.X))
        shared = None if pairs is None else remembered(pairs)
        return Mixture.over(lambda z: self._again(posterior, objective, z, shared), found.points, found.weights)

    def _check_usual_grid(self, size: int, models: int = 1) -> None:
        """Raise InvalidInput where a grid of dense posteriors of so many points will not fit into memory.

        This is before the search. How many posteriors there are is then known for a normal law of the parameters only;
        `_integrated` checks the true number.
        """
        if self.integrate and self._learned_number:
            self._check_grid_memory(models * usual_size(self._learned_number), size, "about ")

    def _check_grid_memory(self, number: int, size: int, about: str = "") -> None:
        """Raise InvalidInput where so many posteriors of so many points do not fit into memory."""
        check_memory(
            8.0 * self._matrices * number * size**2,
            f"integrate='grid': {about}{number} posteriors of {size:,} points",
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

    def _at(self, X: Any, prior: Any = None) -> tuple[Sequence[Mixture], Array]:
        """The posteriors, and the points X as these take them; new rows of a Gram matrix are added to the kernel."""
        mixtures = self._mixtures
        if isinstance(self.kernel_, Precomputed):
            kernel, known = (
                with_rows(self.kernel_, checked_table(self, X, fitting=False), prior),
                len(self.kernel_.gram),
            )
            added = [mixture.with_kernels(lambda old: _like(old, kernel)) for mixture in mixtures]
            return added, np.arange(known, len(kernel.gram))
        if prior is not None:
            raise InvalidInput("prior is for kernel='precomputed'; other kernels know their own.")
        return mixtures, self._points(X)

    def _points(self, X: Any) -> Array:
        """Checked points of the manifold, in a table as that of the fit."""
        X = checked_table(self, X, fitting=False)
        check_columns(self, self.manifold_, X)
        return self._on_manifold(X)[0]

    def _on_manifold(self, X: Any, name: str = "X") -> tuple[Array, float]:
        """Points of the manifold, and how far they were moved onto it at most, where `project` asks for it."""
        return projected_points(self.manifold_, X, name) if self.project else (as_points(self.manifold_, X, name), 0.0)


def _like(old: Kernel, kernel: Kernel) -> Kernel:
    """The kernel, with a constant added where the old one has it."""
    return replace(old, kernel=kernel) if isinstance(old, PlusConstant) else kernel


def checked_interval(name: str, interval: Any) -> tuple[float, float] | None:
    """Two positive numbers, the smaller first; None stays."""
    if interval is None:
        return None
    pair = isinstance(interval, (tuple, list, np.ndarray)) and np.shape(interval) == (2,)
    if not (pair and all(map(is_number, interval)) and 0 < interval[0] < interval[1] < np.inf):
        raise InvalidInput(
            f"{name} = {shown(interval)} must be two positive numbers, the smaller first, such as (0.01, 100)."
        )
    return float(interval[0]), float(interval[1])
