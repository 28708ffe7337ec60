"""Arguments that GPRegressor has and GPClassifier has not: errors that say what to do instead."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from ..errors import InvalidInput

Estimator = TypeVar("Estimator", bound=type)

REMEDIES = {
    "covariates": "Make them coordinates of the points: M = Product(manifold, Euclidean(q)), X = M.join(X, covariates)",
    "sample_weight": "Leave it out; a whole number as weight is that many equal rows: numpy.repeat(X, weights, axis=0)",
    "exposure": 'It is of counts: use GPRegressor(likelihood="poisson")',
    "return_std": "Probabilities state the uncertainty of labels: use predict_proba",
    "return_cov": "Probabilities state the uncertainty of labels: use predict_proba",
    "noise": "Labels have `label_noise`, an argument of GPClassifier: the share of them that is drawn at random",
    "noise_bounds": "Give `label_noise`, or a prior of it: priors=Priors(label_noise=LogNormal(0.01, 1.0))",
    "likelihood": "Labels have a probit likelihood. Use GPRegressor for numbers and counts",
    "coefficient_scale": 'The mean is "constant" or "zero", without coefficients of covariates. Leave it out',
}


def names_remedies(*methods: str) -> Callable[[Estimator], Estimator]:
    """A decorator of a class: these methods raise InvalidInput for arguments that only GPRegressor has."""

    def decorate(cls: Estimator) -> Estimator:
        for name in methods:
            setattr(cls, name, _with_remedies(cls.__name__, getattr(cls, name)))
        return cls

    return decorate


def _with_remedies(owner: str, method: Callable[..., Any]) -> Callable[..., Any]:
    refused = {name: words for name, words in REMEDIES.items() if name not in signature(method).parameters}
    call = owner if method.__name__ == "__init__" else f"{owner}.{method.__name__}"

    @wraps(method)
    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        for name in options:
            if name in refused:
                raise InvalidInput(f"{call} has no argument {name}; only GPRegressor has it. {refused[name]}.")
        return method(self, *arguments, **options)

    return called
