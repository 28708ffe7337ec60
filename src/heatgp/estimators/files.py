"""Fitted models on disk: arrays and plain data. Reading a file runs no code, so it may come from strangers."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..archive import Arrays, FileFormat
from ..array import is_jax
from ..errors import HeatGPError, InvalidInput, Unsupported
from ..gp.prior import constant_basis
from ..heat.composed import composed_of
from ..heat.files import check_fingerprint, describe, restore
from ..heat.kernel import HeatKernel
from ..manifolds import Manifold
from ..manifolds.fingerprint import fingerprint
from ..manifolds.parse import can_be_named, parse

MODEL = FileFormat("a model that heatgp saved", 2, "Fit the model again and save it.")
MODULES = ("heatgp.covariance", "heatgp.estimators.", "heatgp.gp.", "heatgp.heat.methods")
"""Where the classes of a file are looked for."""
GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")
"""Bit generators of NumPy that a file may name."""
REMEDY = "Keep the data and the parameters instead, and fit again with time=, amplitude= and noise= given."


def save_model(model: Any, path: Any) -> None:
    """Write a fitted model to a file; `load_model` gives it back with the same predictions.

    Parameters
    ----------
    model : GPRegressor or GPClassifier, fitted.
    path : str or Path

    Raises
    ------
    Unsupported : if the model holds what a file without code cannot hold, such as a function of yours as mean.
    """
    if not hasattr(model, "posterior_"):
        raise InvalidInput(f"this {type(model).__name__} is not fitted. Call fit(X, y) before save(path).")
    writer = _Writer()
    root = writer.encoded(model)
    manifold = getattr(model, "manifold_", None)
    description = {
        "heatgp": __version__,
        "python": sys.version,
        "fingerprint": None if manifold is None else fingerprint(manifold),
        "objects": writer.objects,
        "model": root,
    }
    MODEL.write(path, description, writer.arrays)


def load_model(path: Any, manifold: Manifold | None = None) -> Any:
    """A model that `save` of an estimator, or `heatgp fit --save`, wrote.

    The file has a checksum and holds arrays and plain data only. No code of it is run: it may come from strangers.

    Parameters
    ----------
    path : str or Path
    manifold : Manifold, default None
        A manifold made of functions of your own (Implicit, Chart, Domain, Quotient, a class) is not in the file: pass
        it again. It must be the same: see `load_kernel`.

    Returns
    -------
    GPRegressor or GPClassifier

    Raises
    ------
    InvalidInput : if the file is missing, damaged, edited, of another version, or of another manifold.

    Examples
    --------
    >>> import tempfile
    >>> from heatgp import GPRegressor, Sphere
    >>> X = Sphere(2).random(0, 20)
    >>> gp = GPRegressor(Sphere(2), time=0.5, amplitude=1.0, noise=0.01).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gp.save(folder + "/model.npz")
    ...     again = load_model(folder + "/model.npz")
    >>> bool((again.predict(X) == gp.predict(X)).all())
    True
    """
    from .classifier import GPClassifier
    from .regressor import GPRegressor

    description, arrays = MODEL.read(path)
    try:
        model = _Reader(path, description, arrays, manifold).decoded(description["model"])
        if type(model) not in (GPRegressor, GPClassifier):
            raise TypeError(f"a {type(model).__name__} is not a model")
    except (HeatGPError, MemoryError):
        raise
    except Exception as error:  # a part that is missing, or of another kind, can raise anything
        raise InvalidInput(
            f"{path} was written by heatgp {description.get('heatgp')} and cannot be read by {__version__} "
            f"({type(error).__name__}: {error}). {MODEL.remedy}"
        ) from None
    if manifold is not None:
        own = getattr(model, "manifold_", None)
        if own != manifold:
            raise InvalidInput(f"{path} holds a model on {own!r}; the manifold given is {manifold!r}.")
        if not can_be_named(manifold):
            check_fingerprint(path, manifold, description["fingerprint"], description["python"])
    return model


class _Writer:
    """Objects as JSON: an object that occurs twice is written once and referred to by its number."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.arrays: Arrays = {}
        self._known: dict[int, tuple[Any, int]] = {}  # the object is kept, so that its id stays its own

    def encoded(self, value: Any, name: str = "the model") -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return self.encoded(value.item(), name)
        if id(value) not in self._known:
            written = self._written(value, name)
            self._known[id(value)] = value, len(self.objects)
            self.objects.append(written)
        return {"object": self._known[id(value)][1]}

    def _written(self, value: Any, name: str) -> list[Any]:
        """The kind of an object and what determines it."""
        kind = type(value)
        if isinstance(value, Path):
            return ["path", fspath(value)]
        if kind in (list, tuple):
            return [kind.__name__, [self.encoded(each, name) for each in value]]
        if kind is dict:
            pairs = [[self.encoded(key), self.encoded(each, f"{name}[{key!r}]")] for key, each in value.items()]
            return ["dict", pairs]
        if isinstance(value, np.ndarray) or is_jax(value):
            array, place = np.asarray(value), f"{len(self.objects)}.array"
            if array.dtype.kind == "O":
                return ["objects", list(array.shape), [self.encoded(each, name) for each in array.flat]]
            self.arrays[place] = array
            return ["array", place]
        if isinstance(value, np.random.Generator):
            return ["generator", value.bit_generator.state["bit_generator"], self.encoded(value.bit_generator.state)]
        if isinstance(value, Manifold):
            return ["manifold", repr(value), can_be_named(value)]
        if isinstance(value, HeatKernel):
            return ["kernel", describe(value, self.arrays, f"{len(self.objects)}.kernel.")]
        if value is constant_basis:
            return ["function", "constant"]
        where = f"{kind.__module__}.{kind.__qualname__}"
        if not where.startswith(MODULES) or not (is_dataclass(value) or hasattr(value, "_fields")):
            raise Unsupported(f"{name} is {value!r}, which a file without code cannot hold. {REMEDY}")
        if hasattr(value, "get_params"):  # an estimator: what `fit` sets are no fields
            names = list(vars(value))
        else:
            names = [each.name for each in fields(value)] if is_dataclass(value) else value._fields
        return ["class", where, {each: self.encoded(getattr(value, each), each) for each in names}]


class _Reader:
    """The inverse of `_Writer`."""

    def __init__(self, path: Any, description: Any, arrays: Arrays, manifold: Manifold | None) -> None:
        self.path, self.arrays, self.manifold = path, arrays, manifold
        self.parts = {} if manifold is None else {repr(part): part for part in _with_parts(manifold)}
        self.objects: list[Any] = []
        for written in description["objects"]:  # an object comes after its parts
            self.objects.append(self._read(written))

    def decoded(self, value: Any) -> Any:
        return self.objects[value["object"]] if isinstance(value, dict) else value

    def _read(self, written: list[Any]) -> Any:
        match written:
            case ["path", text]:
                return Path(text)
            case ["list", values]:
                return [self.decoded(each) for each in values]
            case ["tuple", values]:
                return tuple(self.decoded(each) for each in values)
            case ["dict", pairs]:
                return {self.decoded(key): self.decoded(value) for key, value in pairs}
            case ["array", place]:
                return self.arrays[place]
            case ["objects", shape, values]:
                return np.fromiter(map(self.decoded, values), dtype=object).reshape(shape)
            case ["generator", name, state] if name in GENERATORS:
                bits = getattr(np.random, name)()
                bits.state = self.decoded(state)
                return np.random.Generator(bits)
            case ["manifold", text, named]:
                return parse(text) if named else self._given_manifold(text)
            case ["kernel", parts]:
                return restore(parts, self.arrays, self.parts.get(parts["manifold"], self.manifold))
            case ["function", "constant"]:
                return constant_basis
            case ["class", where, parts]:
                return self._instance(where, {name: self.decoded(part) for name, part in parts.items()})
        raise TypeError(f"{written[0]!r} is not a kind of object")

    def _given_manifold(self, text: str) -> Manifold:
        """The manifold given, or one that it is composed of, whose text is this."""
        if self.manifold is None:
            raise InvalidInput(
                f"{self.path} holds a model on {text}, whose functions a file cannot hold. Pass "
                "manifold=... too, on the command line --manifold."
            )
        if text not in self.parts:
            raise InvalidInput(f"{self.path} holds a model on {text}; the manifold given is {self.manifold!r}.")
        return self.parts[text]

    def _instance(self, where: str, values: dict[str, Any]) -> Any:
        """An object of a class of this library, without a call of its constructor."""
        module, _, name = where.rpartition(".")
        cls = getattr(import_module(module), name) if where.startswith(MODULES) else None
        if not (isinstance(cls, type) and (is_dataclass(cls) or issubclass(cls, tuple))):
            raise TypeError(f"{where} is not a part of a model")
        if issubclass(cls, tuple):
            return tuple.__new__(cls, values.values())
        found = object.__new__(cls)
        vars(found).update(values)
        return found


def _with_parts(manifold: Manifold) -> list[Manifold]:
    """A manifold and those that it is composed of."""
    return [manifold, *(part for each in composed_of(manifold) for part in _with_parts(each))]
