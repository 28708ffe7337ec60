"""GPRegressor with a likelihood that is not normal: which one, and its fit."""

from dataclasses import fields, replace
from typing import Any

from ..arguments import is_number, shown
from ..covariance import Array, TimeFunction
from ..errors import InvalidInput
from ..gp.fit import Bounds, Fit, box_of
from ..gp.fit_latent import fit_latent, latent_objective
from ..gp.latent_objective import LatentObjective
from ..gp.observed import ObservedPosterior, condition_observed
from ..gp.params import Given, Params
from ..gp.poisson import Poisson
from ..gp.priors import Priors
from ..gp.regression_likelihood import RegressionLikelihood, check_log_density
from ..gp.student import StudentT
from .base import HeatGP

VARIANCE_BOUNDS = (1e-4, 1e4)
"""The interval of the prior variance of f, in units of the spread of y, or of the logarithm of a rate."""


def chosen_likelihood(likelihood: Any, noise: Any) -> RegressionLikelihood | None:
    """The likelihood of this name, None for "normal"; or the likelihood itself."""
    if isinstance(likelihood, str) and likelihood == "normal":
        return None
    if isinstance(likelihood, str) and likelihood == "student-t":
        if not (noise is None or is_number(noise)):
            raise InvalidInput(
                f"noise = {shown(noise)}: with Student-t noise it must be one number, or None to learn it. Known "
                'variances need likelihood="normal".'
            )
        return StudentT(noise)
    if isinstance(likelihood, str) and likelihood == "poisson":
        chosen: RegressionLikelihood = Poisson()
    elif isinstance(likelihood, RegressionLikelihood):
        chosen = likelihood
    else:
        raise InvalidInput(
            f'likelihood = {likelihood!r} is not known. Use "normal", "student-t", "poisson" or a RegressionLikelihood.'
        )
    for field in fields(chosen):
        value = vars(chosen)[field.name]
        if field.name in chosen.from_data and value != field.default:
            raise InvalidInput(
                f"{field.name} = {value!r} of {type(chosen).__name__} is set from the data, so that yours would be "
                "ignored. Leave it out: `mean` and `amplitude` of GPRegressor are in the units of y, of counts those "
                "of the log rate."
            )
    if noise is not None:
        raise InvalidInput(
            f"noise = {shown(noise)}, but likelihood = {likelihood!r} has its own. Leave noise None, and give the "
            "likelihood its parameters, such as StudentT(noise=0.1)."
        )
    return chosen


def refuse_extras(law: RegressionLikelihood, **extras: Any) -> None:
    """Raise InvalidInput for what normal noise alone can have."""
    for name, value in extras.items():
        if value is not None:
            raise InvalidInput(
                f'{name} is not possible with {type(law).__name__}. Leave it None, or use likelihood="normal".'
            )


def fit_observed(
    model: HeatGP, law: RegressionLikelihood, X: Any, y: Any, mean: Any, priors: Any = None, exposure: Any = None
) -> tuple[ObservedPosterior, Fit | None, TimeFunction]:
    """The posterior of f given y, the result of the search where parameters are learned, and the kernel on the data."""
    offset = known_mean(law, mean)

    def check(points: Array) -> Array:
        values = law.check(y)
        if values.shape != (len(points),):
            raise InvalidInput(f"y has {len(values)} observations and X {len(points)} points. Give one for each point.")
        values = values if exposure is None else law.with_exposure(values, exposure)
        check_log_density(law.adapted(values, offset), values)
        return values

    points, values, pairs = model._prepare(X, check)
    law, constant = law.adapted(values, offset), offset is None
    params, found = scaled_given(model, law).params, None
    if params is None or law.free:
        options = search_options(model, law, points, constant, priors)
        found = fit_latent(model.kernel_, points, values, law, *options, pairs)
        params, law = found.params, found.likelihood
        maxima = tuple((value, in_units(at, law)) for value, at in found.maxima)
        found = replace(found, params=in_units(params, law), maxima=maxima)
    return condition_observed(model.kernel_, points, values, params, law, constant, pairs), found, pairs


def observed_objective(
    model: HeatGP, law: RegressionLikelihood, posterior: ObservedPosterior, mean: Any, priors: Any, pairs: Any = None
) -> tuple[LatentObjective, Array]:
    """What the search of `fit_observed` maximises, and its box."""
    law = law.adapted(posterior.y, known_mean(law, mean))
    options = search_options(model, law, posterior.X, posterior.constant, priors)
    objective, intervals = latent_objective(model.kernel_, posterior.X, posterior.y, law, *options, pairs)
    return replace(objective, precise=True), box_of(objective, intervals)


def search_options(
    model: HeatGP, law: RegressionLikelihood, points: Array, constant: bool, priors: Any
) -> tuple[Bounds, Given, str, bool, Any]:
    """Arguments of `fit_latent` in the units of the likelihood."""
    bounds, given = model._bounds(points), scaled_given(model, law)
    low, high = (bound / law.unit**2 for bound in bounds.amplitude) if bounds.amplitude else VARIANCE_BOUNDS
    return Bounds(bounds.time, (low, high)), given, "ep", constant, scaled_priors(law, priors)


def scaled_given(model: HeatGP, law: RegressionLikelihood) -> Given:
    """What is held fixed, in the units of the likelihood."""
    given = model._given(0.0)
    return given if given.amplitude is None else replace(given, amplitude=given.amplitude / law.unit**2)


def known_mean(law: RegressionLikelihood, mean: Any) -> float | None:
    """The prior mean of f, None where a constant is added to it."""
    if isinstance(mean, str) and mean in ("constant", "zero"):
        return None if mean == "constant" else 0.0
    if is_number(mean) and abs(float(mean)) < 1e140:
        return float(mean)
    raise InvalidInput(
        f'mean = {shown(mean)} is not possible with {type(law).__name__}. Use "constant", "zero" or a number; '
        'other means need likelihood="normal".'
    )


def scaled_priors(law: RegressionLikelihood, priors: Any) -> Any:
    """Priors in the units of the likelihood."""
    if not isinstance(priors, Priors) or priors.amplitude is None:
        return priors
    return replace(priors, amplitude=replace(priors.amplitude, median=priors.amplitude.median / law.unit**2))


def in_units(params: Params, law: RegressionLikelihood) -> Params:
    """The parameters in the units of y, not of the likelihood: see `RegressionLikelihood.adapted`."""
    return replace(params, amplitude=params.amplitude * law.unit**2)


def moved_posterior(model: HeatGP, old: ObservedPosterior, time: Any, amplitude: Any, noise: Any) -> ObservedPosterior:
    """The posterior of the same data at other parameters, in the units of y; None for those of `old`."""
    law, unit = old.likelihood, old.likelihood.unit**2
    if noise is not None:
        if not isinstance(law, StudentT):
            raise InvalidInput(f"noise = {shown(noise)}, but {type(law).__name__} has none. Leave it None.")
        replace(law, noise=noise)  # checks it
        law = replace(law, noise=float(noise) / unit)
    params = model._params(in_units(old.params, law), time, amplitude, None)
    return old.again(model.kernel_, replace(params, amplitude=params.amplitude / unit), likelihood=law)
