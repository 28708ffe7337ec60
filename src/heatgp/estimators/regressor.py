"""Gaussian process regression with scikit-learn's interface."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import ndtr
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from ..arguments import check_flag, generator, is_list, is_number, shown
from ..array import is_jax
from ..covariance import Array, Kernel, TimeFunction
from ..errors import InvalidInput, SmallSampleWarning, Unsupported, warn
from ..gp.functions import sampled_functions
from ..gp.kernels import Normalized
from ..gp.mixture import Mixture, averaged
from ..gp.neighbors.posterior import given_of
from ..gp.outputs import condition_outputs
from ..gp.posterior import Posterior, condition
from ..gp.prior import noise_scale, observations, targets
from ..gp.regression_likelihood import RegressionLikelihood
from ..gp.search import time_intervals
from ..gp.smoothness import Family, Tried
from ..gp.sparse.fit import Collect, Learned, Problem
from ..gp.sparse.sites import LEARNED
from ..gp.sparse.source import Chunk, Source, collected, random_rows
from ..gp.student import StudentT
from ..progress import heartbeat
from .base import PILOT, HeatGP, Setup, is_precomputed
from .data import MeanModel, Rows, check_lengths, check_size, checked_targets, device, in_memory, in_parts, rows, table
from .gradients import prediction_gradients
from .kernels import check_model_smoothness, on_a_copy, smoothness_of, take_over
from .plan import (
    DENSE,
    NEIGHBORS,
    NORMAL,
    OUTPUTS,
    SPARSE,
    check,
    check_arguments,
    checked_observations,
    chosen_inference,
    chosen_likelihood,
    is_sparse,
    kind_of,
)
from .sparse_regression import extended, of_memory, sparse_fit
from .streams import Reader, first_look, located, of_rows, streamed
from .summary import Parameter

SPACED = 20_000
"""Data of a stream whose nearest distances bound the time; scaled to the number of all data."""
ON_DEVICE = 1000
"""Data in JAX arrays below which a dense model is computed on the processor, without compiling anything."""
FEW = 20
"""Data below which learned parameters make intervals clearly too narrow: those of 90 % cover 65 to 85 %."""

FEW_INTEGRATED = 5
"""The same with integrate="grid": 84 % at N = 3, 89 % at N = 5."""


@dataclass(eq=False, repr=False, kw_only=True)
class GPRegressor(RegressorMixin, HeatGP):
    """Gaussian process regression on a manifold, with the heat kernel as covariance.

    y = f(x) + noise, f ~ GP(mean, amplitude * p_t(x, x') / p_t(x, x)); p_t is the heat kernel and √t the length over
    which f varies. Parameters that are None are learned by maximising the evidence, with weak priors; those that are
    given stay fixed. The mean may have coefficients (a constant is one), which are integrated out.

    Parameters
    ----------
    manifold : Manifold or "euclidean", default None. Where the points live. "euclidean" is R^n, n the number of columns
        of X: points are vectors. Not used with kernel="precomputed".
    kernel : default "auto". The name of a method of `heat_kernel` ("auto", "exact", "smooth", ...); a method with its
        options, such as Smooth(paths=100_000); a HeatKernel, or a sum k1 + k2 of them for additive effects; a list of
        these, one for each factor of a product; or "precomputed", where X is a Gram matrix, as in scikit-learn's
        support vector machines.
    smoothness : "auto" (default), "learn", number or inf. A number makes the kernel a Matern kernel, see
        `matern_kernel`: 1/2 for rough functions, 3/2 and 5/2 for smoother ones; inf is the heat kernel, for very smooth
        ones. "learn" takes the best number by evidence, from at most 400 of the data; with a model of neighbors from
        2,000, and there the kernel may become a sum of two with times of their own, for functions that vary over two
        lengths. "auto" does so where all times are learned, y are no counts, and the heat kernel is exact and has no
        smoothness of its own.
    time : number, default None. None learns one time; of a product one for each factor. "shared" learns one time for
        all factors, "coordinates" one for each factor and for each coordinate of R^n (automatic relevance
        determination); "each" is the default of a product. A number is the time of all factors. A tuple gives one time,
        or None, for each.
    amplitude : number, default None. The prior variance of f (with normalize=False, the factor of p_t).
    noise : number, default None. The variance of the noise. An array (N,) has the known variance of each observation.
    mean : "constant" (default), "zero", a number, "linear" or a function. The prior mean of f. "linear" is a constant
        plus the coordinates of the manifold's embedding (`manifold.embed`), without those that are combinations of
        others. A function of points returns the values (N,) or (N, q) of basis functions. The mean must have one
        value at each point: on a `Quotient`, and with `shape_kernel`, "linear" is an error, since coordinates differ
        between the arrays that stand for one point. Coefficients have a flat prior unless `priors` say otherwise; with
        counts and likelihoods of your own a normal one, of the variance unit² + amplitude for columns whose mean square
        is one.
    priors : "weak" (default), None or Priors. Priors of the parameters that are learned, of the coefficients of the
        mean, and where parameters are searched for; None is the plain evidence.
    likelihood : "normal" (default), "student-t", "poisson", or a likelihood of your own. The distribution of y given f.
        "student-t" is for outliers: noise of Student's t distribution with 4 degrees of freedom, where `noise` is the
        square of its scale; StudentT(degrees=None) learns them. "poisson" is for counts with the rate exp(f), for each
        unit of the `exposure` of `fit`: amplitude and mean are those of the logarithm. Inference is by expectation
        propagation.
    inference : "auto" (default), "dense", "sparse", "neighbors", Sparse or Neighbors. "dense" takes time in proportion
        to N³ and memory to N². "sparse" takes both in proportion to N: inducing points that carry the covariance are
        chosen among the data until what they leave unexplained is negligible beside the posterior variance, and a lower
        bound of the evidence is maximised (Titsias 2009); Sparse(inducing=500, tolerance=1e-3) has options. "neighbors"
        is for rough functions, which no few points carry: each datum is conditioned on the 30 nearest of those before
        it in a random order (Vecchia 1988), and a new point is predicted from as many of its nearest data as it takes;
        Neighbors(tolerance=1e-3) has options. "auto" is dense up to 4,000 points, sparse beyond, and of neighbors where
        more than 2,000 inducing points would be needed. It stays dense where sparse is not possible: with several
        outputs, a precomputed kernel, normalize=False or noise=0. With other likelihoods the parameters of a sparse
        model are learned from at most 2,000 points, and all points are conditioned on. Up to 6,000 points "sparse" is
        dense where more than half of the data would be inducing points; up to 8,000 points "auto" is dense where
        neither inducing points nor neighbors are enough.
    integrate : None (default) or "grid". None uses the best parameters as if they were known; "grid" averages
        predictions over a grid of parameters, weighted by their posterior density, which keeps intervals honest where
        data are few. At most four parameters can be learned so.
    normalize : bool, default True. Divide p_t by its values on the diagonal; False is the covariance of Ye et al.
        (2024).
    random_state : seed or numpy Generator, default 0. For kernels that are simulated.
    project : bool, default False. Move points to the nearest points of the manifold (`manifold.project`), for data with
        three or four digits. Points further away than the rounding of two decimals are an error.

    Attributes
    ----------
    time_, amplitude_, noise_ : the parameters used; a tuple of several times; the time of a precomputed kernel is None.
        The noise is that of weight one; of known variances the array; None where the likelihood has no such parameter.
    lengthscale_ : √time, over which f varies; an array of several times.
    smoothness_ : float, the smoothness of the kernel used; of a sum the least.
    weights_ : tuple, of a sum of kernels the share of each in the prior variance; else None.
    coefficients_, coefficient_errors_, coefficient_names_ : arrays (q,), the coefficients of the mean and their
        standard errors, and a list of their names. Of p outputs they are (q, p), and amplitude_ and noise_ (p,).
    approximation_ : SparseApproximation of a sparse model: the number of inducing points, a lower and an upper bound of
        the log evidence, what is left unexplained of the prior variance. NeighborsApproximation of a model of
        neighbors: the mean number of data that a prediction is made from, and the share of predictions that need more.
        Else None.
    likelihood_ : the likelihood used, with its parameters in the units of y, such as `likelihood_.degrees` of
        Student-t noise; None where it is normal.
    kernel_ : Kernel, the covariance used.
    posterior_ : Posterior, the Gaussian process that has seen the data; OutputsPosterior of several outputs.
    fit_ : Fit, the result of the search for the parameters; None where nothing was learned.
    learned_from_ : int, the number of points that the parameters were learned from. It is less than N for a model of
        neighbors of more than 10,000 points.
    mixture_ : Mixture, the posteriors that predictions are averaged over; one without `integrate`.
    manifold_ : Manifold, where the points live; not with kernel="precomputed".
    n_features_in_ : int, numbers in one point of X.
    moved_ : float, how far a point of X was moved onto the manifold at most; 0 without `project`. Of data that are read
        in parts, the largest move of 1,000 random points.
    feature_names_in_ : array of str, the names of the columns of X where it is a table with names.

    Examples
    --------
    >>> import heatgp as hg
    >>> S2 = hg.Sphere(2)
    >>> X = S2.random(np.random.default_rng(0), 60)
    >>> gp = hg.GPRegressor(S2).fit(X, X[:, 0] * X[:, 2])
    >>> bool(abs(gp.predict([[0.6, 0.0, 0.8]])[0] - 0.48) < 0.01)
    True
    """

    smoothness: Any = "auto"
    noise: Any = None
    mean: Any = "constant"
    likelihood: Any = "normal"
    inference: Any = "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, covariates: Any = None, exposure: Any = None) -> Self:
        """Learn the parameters that are None and condition on the data.

        Parameters
        ----------
        X : array of N points, (N, *manifold.shape), or rows of flattened points; with kernel="precomputed" the Gram
            matrix k(X, X), (N, N). A sparse model reads memory-mapped files (numpy.memmap) in parts, and Dask arrays
            where their blocks are: see docs/scale.md. A bad row is then found when it is read. Models of
            a JAX array are computed on its device where they can be: see docs/gpu.md.
        y : array (N,) of real numbers, or (N, p) for p outputs. Outputs share the kernel and its time, and each has its
            own amplitude, noise and mean. One column (N, 1) is read as (N,), with a DataConversionWarning.
        sample_weight : array (N,), default None: ones. An observation of weight w has the noise variance noise / w; one
            of weight 0 is left out.
        covariates : array (N, q), or a table, default None. Columns whose coefficients are part of the mean.
        exposure : number or array (N,), default None: ones. With likelihood="poisson", the time or the area in which
            each count was observed: its mean is exposure * exp(f), and predictions are of the rate exp(f).

        Returns
        -------
        The estimator itself. A BoundWarning names parameters that the data do not determine; a SmallSampleWarning says
        that parameters were learned from fewer than 20 points, and that intervals are then too narrow.

        Raises
        ------
        InvalidInput : if an argument is not possible, with the remedy; OffManifold if a point is not on the manifold.
        NotPositiveDefinite : if a precomputed matrix is no covariance.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> gp.predict([[0.5]])
        array([0.5])
        """
        return self._fit(X, y, sample_weight, covariates, exposure)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, covariates: Any = None) -> Self:
        """Add data to a sparse model. The first call is a sparse `fit`.

        The inducing points stay those of the first data, so let these be a random part of all. What is kept of data,
        inner products, adds up: the model is that of all data with these inducing points, in whatever order they come.
        Parameters that are None are learned again, from all data so far. With smoothness="learn" the smoothness is
        that of the first data.

        Parameters
        ----------
        X, y, sample_weight, covariates : as in `fit`, of the new data.

        Returns
        -------
        The estimator itself. An AccuracyWarning says where new data lie off the inducing points.

        Raises
        ------
        InvalidInput : if an argument is not possible.
        Unsupported : if the model was fitted to data, dense, that it cannot be made sparse with.

        Examples
        --------
        >>> import heatgp as hg
        >>> S2 = hg.Sphere(2)
        >>> X = S2.random(np.random.default_rng(0), 400)
        >>> gp = hg.GPRegressor(S2, noise=0.01)
        >>> for part in np.split(X, 4):
        ...     gp = gp.partial_fit(part, part[:, 0])
        >>> gp.posterior_.count
        400
        """
        if not hasattr(self, "posterior_"):
            return self._fit(X, y, sample_weight, covariates, always=True)
        self._check("partial_fit after fit")
        old = self.posterior_ if self._kind == SPARSE else self._sparse_posterior()
        if self._setup.noise_is_known:
            raise Unsupported("noise is an array of the first data. Give a number or None, and sample_weight.")
        data = table(X, checked_targets(self, y), sample_weight, None, covariates)
        if data.y.ndim == 2:
            check("partial_fit", OUTPUTS)
        model, setup = copy(self), self._setup
        if in_parts(data.X):
            source, collect = streamed(data, self._reader)
            moved = self._on_manifold(first_look(data, self.manifold_)[0].X)[1] if setup.project else 0.0
        else:
            check_lengths(data)
            points, moved = self._on_manifold(data.X)
            source, collect = of_memory(self._reader.chunk(data._replace(X=points))), collected
        model.moved_ = max(self.moved_, moved)
        with heartbeat(f"The fit of {old.count + source.count} points"):
            model._keep(*extended(old, source, self._bounds, setup.given, setup.priors, setup.sparse, collect))
        return take_over(self, model)

    def _sparse_posterior(self) -> Posterior:
        """That of the same data in a sparse model; or Unsupported where a dense one does not keep all of them."""
        old, mean, given = self.posterior_, self._setup.mean, self._setup.given
        against = {
            'kernel="precomputed"': self._precomputed,
            "normalize=False": not isinstance(self.kernel_, Normalized),
            "noise=0": given.noise == 0,
        }
        is_sparse("sparse", old.count, against)  # or its error
        if mean.covariates is not None or old.options["noise_scale"] is not None:
            raise Unsupported(
                "this model is dense, and with weights or covariates it cannot be made sparse. Call partial_fit from "
                'the first data on, or fit with inference="sparse".'
            )
        chunk = Chunk(old.X, old.y.astype(float) - mean.known, mean.values(old.X, None), None)
        found = self._sparse_model(of_memory(chunk), "sparse", True, old.count)
        assert found is not None
        return found[0]

    @on_a_copy
    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        covariates: Any = None,
        exposure: Any = None,
        always: bool = False,
    ) -> Self:
        """`fit`; with `always` the model is sparse, however few the data are."""
        check_model_smoothness(self.smoothness, self.kernel)
        variances = self.noise if is_list(self.noise) else None
        data = table(X, checked_targets(self, y), sample_weight, variances, covariates)
        inference, _ = chosen_inference(self.inference)
        likelihood = chosen_likelihood(self.likelihood, self.noise)
        kind = kind_of(likelihood, data.y.ndim == 2, "neighbors" if inference == "neighbors" else "dense")
        if always:
            check("partial_fit", kind)
            inference = "sparse"
        own = ("GPRegressor", "noise") if likelihood is None else (type(likelihood).__name__,)
        priors = self._checked_priors(*own, "coefficients", of_likelihood=getattr(likelihood, "bounds", ()))
        sparse = is_sparse(inference, len(data.y) if data.y.ndim else 0, self._against(data.y, likelihood))
        parts = sparse and likelihood is None and in_parts(data.X)
        if parts and inference == "neighbors" and not is_jax(data.X):
            check("partial_fit", NEIGHBORS)
        if not parts:
            check_size(data.X, DENSE)
            data = Rows(*map(in_memory, data))
        words = {"likelihood": type(likelihood).__name__}
        given = {"sample_weight": sample_weight, "covariates": covariates, "exposure": exposure}
        check_arguments(
            kind, {name: given[name] for name in given if likelihood is None or name != "exposure"}, **words
        )
        if self.integrate:
            check('integrate="grid"', kind, number=np.shape(data.y)[-1])
        setup = Setup(
            priors, likelihood, self.integrate is not None, self.project, variances is not None, exposure is not None
        )
        setup = replace(setup, on_device=is_jax(X) and likelihood is None and data.y.ndim == 1)
        noise = 1.0 if variances is not None else self.noise if likelihood is None else 0.0
        if parts:
            some, where = first_look(data, self.manifold)
            with located(where):
                points, y, _, options = self._checked(some.X, partial(self._observed, some, None, setup), noise)
            self._learn_smoothness(points, y, self._some_rows(points, PILOT), options)
            source, collect = streamed(data, self._reader)
            with heartbeat(f"The fit of {source.count} points"):
                found = self._sparse_model(source, inference if is_jax(data.X) else "sparse", always, SPACED, collect)
            if found is not None:
                return self._keep(*found)
            sparse, data = False, Rows(*map(in_memory, data))
        points, y, covariates, options = self._checked(data.X, partial(self._observed, data, exposure, setup), noise)
        with heartbeat(f"The fit of {len(points)} points"):
            if not sparse:
                self._check_grid(len(points))
            few = PILOT if likelihood is None else PILOT // 2  # each evidence is some inferences
            learned = self._learn_smoothness(points, y, self._some_rows(points, few), options)
            if sparse and likelihood is None:
                mean, scale = self._setup.mean, options["noise_scale"]
                chunk = Chunk(points, y.astype(float) - mean.known, mean.values(points, covariates), scale)
                found = self._sparse_model(of_memory(chunk), inference, always, len(points), learned=learned)
                if found is not None and found[0].approximation.structure == "neighbors":
                    self._take_kernel(found[0].kernel)
            elif sparse:
                random, near = random_rows(len(points), LEARNED), self._near(points, points)
                found = self._sites_model(points, y, random, None if near is None else near[0], options)
            else:
                found = None
            return self._fit_dense(points, y, options) if found is None else self._keep(*found)

    def _take_kernel(self, kernel: Kernel) -> None:
        """The kernel that a fit has chosen, which may have more times."""
        self.kernel_, self.smoothness_ = kernel, smoothness_of(kernel)
        self._setup = replace(self._setup, given=given_of(kernel, self._setup.given))

    def _fit_dense(self, points: Array, y: Array, options: dict[str, Any]) -> Self:
        self._check_grid(len(points))
        on_device = len(points) >= ON_DEVICE and not self.integrate and self._runs_on_device(points)
        pairs = device().DevicePairs.of(self.kernel_, points) if on_device else self._pairs(points)
        posterior, fit = self._dense_model(points, y, pairs, **options)
        return self._keep(posterior, fit, [] if fit is None else [params for _, params in fit.maxima[1:]], pairs)

    def _observed(
        self, data: Rows, exposure: Any, setup: Setup, points: Array
    ) -> tuple[Setup, tuple[Array, Array, Any, dict[str, Any]]]:
        """The setup with the mean and the likelihood of these data; points, y, covariates and options of the core."""
        kept, scale = noise_scale(len(points), data.variances, data.weights)
        y, covariates = data.y, data.covariates
        if kept is not None:
            points, y, covariates = points[kept], rows(y, kept), rows(covariates, kept)
        manifold, width = None if is_precomputed(self.kernel) else self.manifold_, setup.priors.coefficients
        mean = MeanModel.of(self.mean, manifold, points, covariates, width is None)
        options: dict[str, Any] = {"mean": mean.core(points, covariates), "coefficient_scale": mean.scales(width)}
        if setup.likelihood is None:
            targets(points, y, noise_scale=scale, **options)
            return replace(setup, mean=mean), (points, y, covariates, options | {"noise_scale": scale})
        y, options["offset"] = checked_observations(setup.likelihood, points, y, exposure)
        found, _ = observations(points, y, likelihood=setup.likelihood, **options)
        likelihood = setup.likelihood.adapted(y, found.offset)
        return replace(setup, mean=mean, likelihood=likelihood), (points, y, covariates, options)

    def _dense_model(self, points: Array, y: Array, pairs: TimeFunction, **options: Any) -> Learned:
        return self._learned(condition_outputs if y.ndim == 2 else condition, points, y, pairs, **options)

    def _against(self, y: Array, likelihood: RegressionLikelihood | None) -> dict[str, bool]:
        """What sparse models do not have, and whether it is asked for."""
        near = chosen_inference(self.inference)[0] == "neighbors"
        return self._against_sparse() | {
            "a likelihood that is not normal": likelihood is not None and near,
            'integrate="grid" and a likelihood that is not normal': likelihood is not None and bool(self.integrate),
            OUTPUTS: y.ndim == 2,
            "noise=0": is_number(self.noise) and self.noise == 0 and not near,
        }

    @property
    def _reader(self) -> Reader:
        return Reader(self.manifold_, self._setup.project, self._setup.mean, self._setup.mean.known)

    def _sparse_model(
        self,
        source: Source,
        inference: str,
        always: bool,
        spaced: int,
        collect: Collect = collected,
        learned: tuple[Family, Tried] | None = None,
    ) -> Learned | None:
        """The model of many data with normal noise, sparse or of near neighbors; None where it should be dense.

        Times are bounded by the distances of `spaced` of the data. A model of near neighbors learns the smoothness
        again, from more data, where it was `learned` from some.
        """
        setup, mean = self._setup, self._setup.mean
        may_be_near = inference == "auto" and not setup.integrate
        options = replace(setup.sparse, always=always, neighbors=may_be_near, cores=source.cores)
        some = source.sample(spaced).X
        bounds = self._bounds(some, source.count)
        function = mean.mean if callable(mean.mean) and mean.covariates is None else None
        scale, given, priors = mean.scales(setup.priors.coefficients), setup.given, setup.priors
        problem = Problem(self.kernel_, source, bounds, given, mean.known, priors, scale, function, collect)
        if learned is not None:
            family = replace(learned[0], bounds=lambda kernel: self._bounds(some, source.count, kernel))
            problem = replace(problem, family=family, tried=learned[1])
        return sparse_fit(problem, options, setup.noise_is_known, inference == "neighbors")

    def _runs_on_device(self, points: Array) -> bool:
        """Whether data came in JAX arrays, and their covariance can be computed on the device."""
        if not self._setup.on_device:
            return False
        _, time = time_intervals(self.kernel_, self._bounds(points), self._setup.given)
        return device().runs_on_device(self.kernel_, time)

    def _keep(self, posterior: Any, fit: Any, *others: Any) -> Self:
        if self._setup.on_device:
            posterior = device().device_posterior(posterior)
        super()._keep(posterior, fit, *others)
        if self._setup.noise_is_known:
            self.noise_ = np.asarray(self.noise, dtype=float)
        if fit is not None:
            warn_of_few(posterior.count, self._setup)
        return self

    @of_rows("noise", "covariates", "exposure", but="return_cov")
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        noise: Any = False,
        covariates: Any = None,
        prior: Any = None,
        exposure: Any = None,
    ) -> Any:
        """Mean of f at new points, and its uncertainty.

        Parameters
        ----------
        X : array of M points, as in `fit`; with kernel="precomputed" k(new, training), (M, N). Memory-mapped files are
            read in parts; predictions of a Dask array are Dask arrays.
        return_std : bool, default False. Also return the standard deviation of f.
        return_cov : bool, default False. Also return the covariance of f.
        noise : bool, default False. True: the uncertainty of new observations instead of that of f. A number or an
            array (M,): the variances of their noise, needed where that of the data was known.
        covariates : array (M, q), default None. Those of the new points, where the model was fitted with covariates.
        prior : array (M, M) or (M,), default None. With kernel="precomputed" k(new, new), or its diagonal; the mean
            does not need it, nor does the standard deviation where the diagonal of k(X, X) is one number.
        exposure : number or array (M,), default None: 1. Of new counts, as in `fit`: the mean is that of the count.
            Without it, the mean is the rate.

        Returns
        -------
        mean : array (M,), or (M, p) of p outputs.
        std : array (M,), with return_std; or covariance : array (M, M), with return_cov. Both are of the function f,
            without the noise, unless `noise` asks for it. Of p outputs the last axis is that of the outputs: (M, p) and
            (M, M, p), as in scikit-learn.

        Raises
        ------
        InvalidInput : if both are asked for, or `noise` without one of them, or the points are not possible.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1, mean="zero")
        >>> gp.fit([[0.0]], [1.1]).predict([[0.0]], return_std=True)
        (array([1.]), array([0.30151134]))
        """
        return_std, return_cov = check_flag("return_std", return_std), check_flag("return_cov", return_cov)
        if return_std and return_cov:
            raise InvalidInput("ask for return_std or return_cov, not both.")
        if not (return_std or return_cov or (isinstance(noise, (bool, np.bool_)) and not noise)):
            raise InvalidInput(
                "noise is of the uncertainty, and the mean is the same with and without it. Ask for return_std=True or "
                "return_cov=True, or leave noise out."
            )
        mixture, points = self._mixture_at(X, prior, covariates, exposure)
        if return_std:
            mean, variance = mixture.moments(points, noise)
            return mean, np.sqrt(variance)
        mean = mixture.mean(points)
        return (mean, mixture.covariance(points, noise)) if return_cov else mean

    def gradient(self, X: Any, *, covariates: Any = None, return_prediction: bool = False) -> Any:
        """The gradients of the mean and of the standard deviation of f, tangent vectors at the points.

        Parameters
        ----------
        X : array of M points, as in `predict`.
        covariates : array (M, q), default None. As in `predict`; they do not move with the points.
        return_prediction : bool, default False. Also return the mean and the standard deviation, which cost nothing.

        Returns
        -------
        mean, std : arrays (M,), with return_prediction, as from `predict`.
        of_mean, of_std : arrays (M, *shape) with the shape of points; of p outputs (M, p, *shape). The derivative along
            a tangent vector v at x is `manifold.metric(x, of_mean, v)`.

        Raises
        ------
        Unsupported : with kernel="precomputed", which knows no points.
        NotFittedError : if the model is not fitted.

        Notes
        -----
        From the gradients of the kernel, see `HeatKernel.gradient`. Several outputs and other likelihoods are
        differentiated along geodesics: 4 dim predictions for each point. In a model of neighbors the data that a
        prediction is made from do not change with the point.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1, mean="zero")
        >>> of_mean, of_std = gp.fit([[0.0]], [1.1]).gradient([[1.0]])
        >>> of_mean.round(6), of_std.round(6)  # of exp(-x²/2) and of √(1 - exp(-x²) / 1.1)
        (array([[-0.606531]]), array([[0.409938]]))
        """
        if self._precomputed:
            raise Unsupported("kernel='precomputed' knows no points: give a kernel to differentiate in them.")
        points, step = self._points(X), self.kernel_.step_of_differences(self.time_)
        found = prediction_gradients(self.mixture_, self._setup.mean, self.manifold_, points, covariates, step)
        return found if return_prediction else found[2:]

    @of_rows("noise", "covariates", "exposure")
    def predict_interval(
        self,
        X: Any,
        level: float = 0.9,
        *,
        noise: Any = True,
        covariates: Any = None,
        prior: Any = None,
        exposure: Any = None,
    ) -> tuple[Array, Array]:
        """The central interval in which a new observation, or f, lies with a given probability.

        Parameters
        ----------
        X : array of M points, as in `predict`.
        level : number between 0 and 1, default 0.9. The probability of the interval; half of the rest is on each side.
        noise : bool, number or array (M,), default True: intervals of new observations, as in `predict`; False: of f,
            for counts of the rate.
        covariates, prior : default None. As in `predict`.
        exposure : number or array (M,), default None: 1. That of new counts, as in `fit`.

        Returns
        -------
        lower, upper : arrays (M,), as from `interval` of the distributions of scipy.stats.

        Raises
        ------
        InvalidInput : if the level or the points are not possible.
        Unsupported : with noise=False, if a likelihood of one's own does not say that its mean increases with f.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1, mean="zero")
        >>> lower, upper = gp.fit([[0.0]], [1.1]).predict_interval([[0.0]])
        >>> lower.round(3), upper.round(3)
        (array([0.281]), array([1.719]))
        """
        if not (is_number(level) and 0 < level < 1):
            raise InvalidInput(f"level = {shown(level)} must be a probability between 0 and 1, such as 0.9.")
        mixture, points = self._mixture_at(X, prior, covariates, exposure)
        sides = (0.5 - level / 2, 0.5 + level / 2)
        lower, upper = mixture.quantiles(points, sides, noise)
        return lower, upper

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, covariates: Any = None, exposure: Any = None
    ) -> float:
        """R², the share of the variance of y that the means of `predict` explain, as in scikit-learn.

        Parameters
        ----------
        X : array of M points, as in `predict`.
        y : array (M,) of observations, or (M, p).
        sample_weight : array (M,), default None: ones.
        covariates : array (M, q), default None, as in `predict`.
        exposure : number or array (M,), default None. That of the counts y, which a model that was fitted with exposure
            must be told.

        Returns
        -------
        float, 1 at best. `nlpd_scorer` also sees whether the stated uncertainty is right.

        Raises
        ------
        InvalidInput : if the model was fitted with covariates or exposure, and they are not given here.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> round(gp.score([[0.0], [1.0]], [0.0, 1.0]), 3)
        0.959
        """
        self._check_exposure_of_observations(exposure)
        mean = self.predict(X, covariates=covariates, exposure=exposure)
        return float(r2_score(y, mean, sample_weight=sample_weight))

    @of_rows("y", "noise", "covariates", "exposure")
    def log_density(
        self, X: Any, y: Any, *, noise: Any = True, covariates: Any = None, prior: Any = None, exposure: Any = None
    ) -> Array:
        """The log density that the model gave to new observations; their mean is the score of `nlpd_scorer`.

        Parameters
        ----------
        X : array of M points, as in `predict`.
        y : array (M,) of observations.
        noise : bool, number or array (M,), default True. As in `predict`; False is the density of f, where y has normal
            or Student-t noise.
        covariates, prior : default None. As in `predict`.
        exposure : number or array (M,), default None. That of the counts y, which a model that was fitted with exposure
            must be told.

        Returns
        -------
        Array (M,), in nats.

        Raises
        ------
        InvalidInput : if the points or the observations are not possible.
        Unsupported : with noise=False, if y is no value of f with noise, such as a count.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> gp.log_density([[0.5]], [0.5]).round(3)
        array([-0.084])
        """
        mixture, points = self._mixture_at(X, prior, covariates, exposure)
        self._check_exposure_of_observations(exposure)
        likelihood = self.likelihood_
        of_f = likelihood is not None and not check_flag("noise", noise)
        if of_f and not isinstance(likelihood, StudentT):
            raise Unsupported(
                f"log_density(noise=False) is the density of f at y, and with {type(likelihood).__name__} y is not "
                "f with noise added. Leave noise True, or ask predict_interval(noise=False)."
            )
        values = np.asarray(likelihood.check(y) if likelihood is not None else targets(points, y, "zero")[0].y)
        expected = (len(points), *self.posterior_.y.shape[1:])
        if values.shape != expected:
            raise InvalidInput(f"y has shape {np.shape(y)}; needed is {expected}, one observation for each point.")
        return mixture.log_density(points, values, noise)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, covariates: Any = None, prior: Any = None
    ) -> Array:
        """Functions drawn from the posterior, at new points; each call draws new ones (see `sample_functions`).

        Parameters
        ----------
        X : array of M points, as in `predict`.
        n_samples : int, default 1.
        random_state : seed or numpy Generator, default 0.
        covariates : array (M, q), default None, as in `predict`.
        prior : array (M, M), default None. With kernel="precomputed" k(new, new).

        Returns
        -------
        Array (M, n_samples), or (M, p, n_samples) of p outputs, as in scikit-learn.

        Raises
        ------
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> gp.sample_y([[0.2], [0.4], [0.6]], n_samples=5).shape
        (3, 5)
        """
        mixture, points = self._mixture_at(X, prior, covariates)
        return np.moveaxis(mixture.sample(points, generator(random_state, "random_state"), n_samples), 0, -1)

    def sample_functions(self, n_samples: int = 1, random_state: Any = 0) -> Callable[[Any], Array]:
        """Functions drawn from the posterior that stay the same from call to call.

        The values at new points are drawn given the values at all points that the functions were asked for before. So
        two calls have the distribution of one call with all points, and a point that is asked again has its value
        again. The method is exact; the memory and the time of a call grow with the square and the cube of the number of
        points so far, less those that others determine.

        Parameters
        ----------
        n_samples : int, default 1.
        random_state : seed or numpy Generator, default 0.

        Returns
        -------
        A function: called with M points as in `predict`, it returns an array (M, n_samples).

        Raises
        ------
        InvalidInput : when called, if the points are not possible, or too many for the memory.
        NotFittedError : if the model is not fitted.
        Unsupported : with kernel="precomputed", where the covariance of points of two calls is not known, and with
            covariates.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> f = gp.sample_functions(n_samples=5)
        >>> first, second = f([[0.2], [0.4]]), f([[0.4], [0.6]])
        >>> bool((first[1] == second[0]).all())
        True
        """
        if self._precomputed:
            raise Unsupported(
                "sample_functions needs the covariance of points of several calls, which kernel='precomputed' does not "
                "have. Ask sample_y for all points at once."
            )
        self._check("sample_functions")
        if self._setup.mean.covariates is not None:
            raise Unsupported("sample_functions has no covariates of points of earlier calls. Use sample_y.")
        values = sampled_functions(self.mixture_, random_state, n_samples)
        return lambda X: values(self._points(X)).T

    def log_marginal_likelihood(
        self, time: Any = None, amplitude: Any = None, noise: Any = None, *, gradient: bool = False
    ) -> Any:
        """The logarithm of the evidence, log p(y), of the data of the fit at any parameters.

        It compares kernels, smoothness and parameters of models with one and the same mean. Models with different
        `mean` or covariates it does not compare: coefficients with a flat prior, the default, are integrated out
        (restricted likelihood), so that it is the density of N - q numbers, q the number of these coefficients, which
        are others for another mean. Compare such models by cross-validation with `nlpd_scorer`. Evidence under a
        likelihood that is not normal has a proper prior of the constant, and is comparable.

        Parameters
        ----------
        time, amplitude, noise : numbers, default None: those of the fit. A kernel of several times takes a tuple.
        gradient : bool, default False. Also return the derivatives.

        Returns
        -------
        float.
        gradient : array, with gradient=True. The derivatives in the natural logarithms of the times, the amplitude and
            the noise, in this order; of a likelihood that is not normal its parameters are in the place of the noise.

        Raises
        ------
        InvalidInput : if a value is not possible.
        NotFittedError : if the model is not fitted.
        Unsupported : where a model does not keep what this needs.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1, mean="zero")
        >>> value, slopes = gp.fit([[0.0], [1.0]], [0.0, 1.0]).log_marginal_likelihood(noise=0.2, gradient=True)
        >>> round(value, 3), slopes.round(3)
        (-2.432, array([-0.02 , -0.374, -0.067]))
        """
        likelihood = self._fitted.likelihood
        if noise is not None and self._setup.noise_is_known:
            raise InvalidInput(
                "the noise of this model is known: leave `noise` None, and fit again with other variances."
            )
        if noise is not None and self.likelihood_ is not None:
            if not isinstance(likelihood, StudentT):
                raise InvalidInput(f"noise = {shown(noise)}, but {type(likelihood).__name__} has none. Leave it None.")
            likelihood, noise = replace(likelihood, noise=noise), None  # checks it
        call = "log_marginal_likelihood at other parameters, or its gradient,"
        return self._evidence(call, likelihood, time, amplitude, noise, gradient)

    def loo(self) -> tuple[Array, Array]:
        """Each observation predicted from all the others, at the same parameters, in closed form.

        Returns
        -------
        mean, std : arrays (N,), or (N, p) of p outputs, of the observations that have a positive weight; the standard
            deviation includes the noise.

        Raises
        ------
        InvalidInput : if there is one point only and its constant mean was estimated.
        NotFittedError : if the model is not fitted.

        Examples
        --------
        >>> import heatgp as hg
        >>> gp = hg.GPRegressor(hg.Euclidean(1), time=1.0, amplitude=1.0, noise=0.1, mean=2.0).fit([[0.0]], [3.0])
        >>> gp.loo()[0]
        array([2.])
        """
        self._check("loo")
        mean, variance = averaged(*self.mixture_.loo())
        return mean, np.sqrt(variance)

    def plot(self) -> Any:
        """A picture of the fit: predictions of each observation from all others, their residuals, their calibration.

        Returns
        -------
        matplotlib.figure.Figure, as from `heatgp.plots.residuals_figure`.

        Raises
        ------
        NotFittedError : if the model is not fitted.
        """
        from ..plots.fits import residuals_figure

        self._check("plot")
        weights, means, variances = self.mixture_.loo()
        mean, variance = averaged(weights, means, variances)
        y = self.posterior_.y
        below = (weights * ndtr((y - means) / np.sqrt(variances))).sum(axis=0)
        return residuals_figure(y, mean, np.sqrt(variance), probabilities=below)

    def _explained_predictions(self, points: Array) -> Array:
        model = self._setup.mean
        # covariates stay those of the datum, and leave the differences
        covariates = None if model.covariates is None else np.zeros((len(points), model.covariates))
        return self.mixture_.with_basis(model.values(points, covariates)).mean(points)

    def _notes_on(self, parameters: Sequence[Parameter]) -> list[str]:
        number = self.posterior_.count
        few = self.fit_ is not None and number < few_data(self._setup.integrate)
        notes = [f"N = {number} is so few that intervals are too narrow"] * few
        if self.posterior_.is_bound:
            notes.append("expectation propagation did not converge: f is from a variational bound of the evidence")
        return notes

    def _check_exposure_of_observations(self, exposure: Any) -> None:
        """Raise InvalidInput where observations had an exposure in the fit, and new ones are given without."""
        if self._fitted and exposure is None and self._setup.has_exposure:
            raise InvalidInput(
                "the model was fitted with exposure: its rates are compared with counts whose exposure is known. "
                "Give `exposure` of these observations, 1.0 where it is one unit."
            )

    @property
    def _kind(self) -> str:
        outputs = self._fitted.y.ndim == 2
        return kind_of(self.likelihood_, outputs, getattr(self.approximation_, "structure", "dense"))

    def _mixture_at(self, X: Any, prior: Any, covariates: Any, exposure: Any = None) -> tuple[Mixture, Array]:
        """The posteriors, with the mean of f at the points X for observations of this exposure, and these points."""
        mixture, points = self._at(X, prior)
        mixture = mixture.with_basis(self._setup.mean.values(points, covariates))
        if exposure is None:
            return mixture, points
        if self.likelihood_ is None:
            check("fit(exposure=)", NORMAL)
        assert self.likelihood_ is not None
        return mixture.shifted(self.likelihood_.offset(exposure, len(points))), points

    def _predictions(self, mixture: Mixture, points: Array) -> tuple[Array, Array]:
        mean, variance = mixture.moments(points)
        deviation = np.sqrt(variance)
        return (mean, deviation.max(axis=1)) if mean.ndim == 2 else (mean[:, None], deviation)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def few_data(integrated: bool) -> int:
    """The number below which data are few, where parameters are learned, or integrated over."""
    return FEW_INTEGRATED if integrated else FEW


def warn_of_few(number: int, setup: Setup) -> None:
    """A SmallSampleWarning where parameters were learned from few data.

    Class probabilities need none: the uncertainty of f makes up for that of the parameters (docs/warnings.md).
    """
    given, likelihood = setup.given, setup.likelihood
    noise = given.noise if likelihood is None else vars(likelihood).get("noise", 0.0)
    times = any(name.startswith("time") for name in given.time_names)  # weights of a sum do not count
    learned = {"time": times, "amplitude": given.amplitude is None, "noise": noise is None}
    names = ", ".join(name for name, is_learned in learned.items() if is_learned)
    few = few_data(setup.integrate)
    if not names or number >= few:
        return
    if setup.integrate:
        text = (
            "intervals are somewhat too narrow even with integrate='grid', as the scale of the priors comes from the "
            "data too. Give priors of your own."
        )
    else:
        text = (
            "intervals are too narrow, those of 90 % cover 65 to 85 % of new observations. Give the parameters that "
            "are known from elsewhere, average over them with integrate='grid', or add data."
        )
    warn(f"{names} learned from N = {number} points, fewer than {few}: {text}", SmallSampleWarning)
