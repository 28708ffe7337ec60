"""GPRegressor with a likelihood that is not normal: which one, and its fit."""

from dataclasses import replace
from typing import Any

from ..arguments import is_number
from ..covariance import Array
from ..errors import InvalidInput
from ..gp.fit import Bounds, Fit
from ..gp.fit_latent import fit_latent
from ..gp.observed import ObservedPosterior, condition_observed
from ..gp.params import Params
from ..gp.poisson import Poisson
from ..gp.priors import Priors
from ..gp.regression_likelihood import RegressionLikelihood
from ..gp.student import StudentT
from .base import HeatGP

VARIANCE = (1e-4, 1e4)
"""The interval of the prior variance of f, in units of the spread of y, or of the logarithm of a rate."""


def chosen_likelihood(likelihood: Any, noise: Any) -> RegressionLikelihood | None:
    """The likelihood of this name, None for "normal"; or the likelihood itself."""
    if isinstance(likelihood, str) and likelihood == "normal":
        return None
    if isinstance(likelihood, str) and likelihood == "student-t":
        if not (noise is None or is_number(noise)):
            raise InvalidInput(
                f"noise = {noise!r}: with Student-t noise it must be one number, or None to learn it. Known variances "
                'need likelihood="normal".'
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
    if noise is not None:
        raise InvalidInput(
            f"noise = {noise!r}, but likelihood = {likelihood!r} has its own. Leave noise None, and give the "
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
    model: HeatGP, law: RegressionLikelihood, X: Any, y: Any, mean: Any, priors: Any = None
) -> tuple[ObservedPosterior, Fit | None]:
    """The posterior of f given y, and the result of the search where parameters are learned."""
    offset = known_mean(law, mean)

    def check(points: Array) -> Array:
        values = law.check(y)
        if values.shape != (len(points),):
            raise InvalidInput(f"y has {len(values)} observations and X {len(points)} points. Give one for each point.")
        return values

    points, values, pairs = model._prepare(X, check)
    law, constant = law.adapted(values, offset), offset is None
    given = model._given(0.0)
    if given.amplitude is not None:
        given = replace(given, amplitude=given.amplitude / law.unit**2)
    params, found = given.params, None
    if params is None or law.free:
        bounds = model._bounds(points)
        low, high = (bound / law.unit**2 for bound in bounds.amplitude) if bounds.amplitude else VARIANCE
        bounds = Bounds(bounds.time, (low, high))
        scaled = scaled_priors(law, priors)
        found = fit_latent(model.kernel_, points, values, law, bounds, given, "ep", constant, scaled, pairs)
        params, law = found.params, found.likelihood
        maxima = tuple((value, in_units(at, law)) for value, at in found.maxima)
        found = replace(found, params=in_units(params, law), maxima=maxima)
    return condition_observed(model.kernel_, points, values, params, law, constant, pairs), found


def known_mean(law: RegressionLikelihood, mean: Any) -> float | None:
    """The prior mean of f, None where a constant is added to it."""
    if isinstance(mean, str) and mean in ("constant", "zero"):
        return None if mean == "constant" else 0.0
    if is_number(mean) and abs(mean) < 1e140:
        return float(mean)
    raise InvalidInput(
        f'mean = {mean!r} is not possible with {type(law).__name__}. Use "constant", "zero" or a number; '
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


def learned_noise(law: RegressionLikelihood) -> float | None:
    """The noise in the units of y, where the likelihood has one."""
    return law.noise * law.unit**2 if isinstance(law, StudentT) and law.noise is not None else None
