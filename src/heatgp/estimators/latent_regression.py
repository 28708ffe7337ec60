"""GPRegressor with a likelihood that is not normal: which one, and its fit."""

from dataclasses import fields, replace
from typing import Any

from ..arguments import is_number, shown
from ..covariance import Array
from ..errors import InvalidInput
from ..gp.poisson import Poisson
from ..gp.posterior import Posterior
from ..gp.regression_likelihood import RegressionLikelihood, check_log_density
from ..gp.student import StudentT
from .base import HeatGP
from .plan import NORMAL, POISSON, STUDENT, check


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


def kind_of(law: RegressionLikelihood | None) -> str:
    """The kind of model in `plan`; likelihoods of one's own count as one of these."""
    return NORMAL if law is None else POISSON if law.is_discrete else STUDENT


def checked_observations(
    law: RegressionLikelihood, points: Array, y: Any, mean: Any, exposure: Any = None
) -> tuple[RegressionLikelihood, Array]:
    """The likelihood adapted to the data, and the observations as it takes them."""
    offset, values = known_mean(law, mean), law.check(y)
    if values.shape != (len(points),):
        raise InvalidInput(f"y has {len(values)} observations and X {len(points)} points. Give one for each point.")
    values = values if exposure is None else law.with_exposure(values, exposure)
    law = law.adapted(values, offset)
    check_log_density(law, values)
    return law, values


def known_mean(law: RegressionLikelihood, mean: Any) -> float | None:
    """The prior mean of f, None where a constant is added to it."""
    if isinstance(mean, str) and mean in ("constant", "zero"):
        return None if mean == "constant" else 0.0
    if is_number(mean) and abs(float(mean)) < 1e140:
        return float(mean)
    check("mean=function", kind_of(law), value=shown(mean), law=type(law).__name__)
    raise AssertionError("no other likelihood has these means")


def moved_posterior(model: HeatGP, old: Posterior, time: Any, amplitude: Any, noise: Any) -> Posterior:
    """The posterior of the same data at other parameters, in the units of y; None for those of `old`."""
    law = old.likelihood
    if noise is not None:
        if not isinstance(law, StudentT):
            raise InvalidInput(f"noise = {shown(noise)}, but {type(law).__name__} has none. Leave it None.")
        law = replace(law, noise=noise)  # checks it
    return old.again(model.kernel_, model._params(old.params, time, amplitude, None), likelihood=law)
