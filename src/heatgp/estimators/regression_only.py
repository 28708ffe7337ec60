"""Arguments that GPRegressor has and GPClassifier has not: errors that say what to do instead."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from .plan import ARGUMENTS, CLASSES, check

Estimator = TypeVar("Estimator", bound=type)


def names_remedies(*methods: str) -> Callable[[Estimator], Estimator]:
    """A decorator of a class: these methods raise InvalidInput for arguments that only GPRegressor has."""

    def decorate(cls: Estimator) -> Estimator:
        for name in methods:
            setattr(cls, name, _with_remedies(cls.__name__, getattr(cls, name)))
        return cls

    return decorate


def _with_remedies(owner: str, method: Callable[..., Any]) -> Callable[..., Any]:
    missing = set(ARGUMENTS).difference(signature(method).parameters)
    call = owner if method.__name__ == "__init__" else f"{owner}.{method.__name__}"

    @wraps(method)
    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        for name in missing.intersection(options):
            check(ARGUMENTS[name], CLASSES, call=call)
        return method(self, *arguments, **options)

    return called
