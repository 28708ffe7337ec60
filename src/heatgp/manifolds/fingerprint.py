"""What a manifold is, as text for the names of files: two manifolds share it only if they are the same.

Functions of users are described by what they compute with: their bytecode and constants, the values that they enclose,
and the values and functions that they use from their module, and so on. Where something is of a kind whose value cannot
be read (an open file, an object of a compiled library, a module of the user's, also one that a function imports when it
is called), there is no fingerprint, and nothing is kept.
"""

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
from abc import ABC
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import scipy
from scipy import special

from .contract import Manifold
from .parse import can_be_named

PLAIN = (bool, int, float, complex, str, bytes, EllipsisType, type(None))
LIBRARY = __name__.partition(".")[0]
HIDDEN = {"eval", "exec", "globals", "import_module", "__import__", "modules"}
"""Functions that reach what their code does not name."""
WITHOUT_VALUE = {"__init__", "__new__", "__repr__", "__str__", "__eq__", "__hash__", "__setattr__", "__delattr__"} | {
    "__lt__", "__le__", "__gt__", "__ge__", "__replace__", "__post_init__", "__init_subclass__", "__class_getitem__"
}  # fmt: skip
"""Methods that Python or a dataclass may write, and that only make, show or compare objects: what these hold counts."""


class Unreadable(Exception):
    """A value of which nothing tells what it does."""


def fingerprint(manifold: Manifold) -> str | None:
    """Text that determines a manifold; None where its functions use something that cannot be read.

    Parameters
    ----------
    manifold : Manifold

    Returns
    -------
    str or None
        The `repr` of a manifold of the library; else its class and a digest of its functions and values.

    Examples
    --------
    >>> from heatgp import Implicit, Sphere
    >>> def ellipsoid(longest):
    ...     return Implicit(lambda x: x[..., 0] ** 2 / longest**2 + (x[..., 1:] ** 2).sum(-1) - 1, 2, 3)
    >>> fingerprint(Sphere(2))
    'Sphere(2)'
    >>> fingerprint(ellipsoid(2)) == fingerprint(ellipsoid(2)), fingerprint(ellipsoid(2)) == fingerprint(ellipsoid(3))
    (True, False)
    """
    if can_be_named(manifold):
        return repr(manifold)
    digest = hashlib.sha256(sys.version.encode())  # bytecode differs between versions
    try:
        for part in described(manifold, {}):
            digest.update(len(part).to_bytes(8, "little") + part)
    except Unreadable:
        return None
    return f"{type(manifold).__qualname__} {digest.hexdigest()}"  # a class without a `repr` is shown with its address


def described(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    """All that a value is made of, as bytes; Unreadable where that cannot be told."""
    if type(value) in PLAIN:
        yield f"{type(value).__name__} {value!r}".encode()
        return
    if id(value) in seen:  # a function that calls itself, or a value used twice
        yield f"again {list(seen).index(id(value))}".encode()
        return
    seen[id(value)] = value
    yield type(value).__qualname__.encode()
    for part in contents(value):
        if isinstance(part, RawBytes):
            yield part
        else:
            yield from described(part, seen)


class RawBytes(bytes):
    """Bytes that describe a value, and need no description of their own."""


def contents(value: Any) -> Iterator[Any]:
    """What a value is made of: simpler values, or bytes."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise Unreadable
        yield RawBytes(f"{array.dtype.str} {array.shape}".encode())
        yield RawBytes(np.ascontiguousarray(array).tobytes())
    elif kind in (tuple, list):
        yield from (len(value), *value)
    elif kind is dict:
        yield from (len(value), *value.keys(), *value.values())
    elif kind in (set, frozenset):
        yield from sorted(RawBytes(b"".join(described(item, {}))) for item in value)
    elif isinstance(value, CodeType):
        yield from (value.co_code, value.co_consts, value.co_names, value.co_varnames, value.co_freevars)
        yield from (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags)
    elif installed := installed_name(value):
        yield RawBytes(installed.encode())
    elif is_checked(value):
        yield value.__wrapped__
    elif isinstance(value, FunctionType):
        yield from (value.__code__, value.__defaults__, value.__kwdefaults__)
        try:
            yield tuple(cell.cell_contents for cell in value.__closure__ or ())
        except ValueError:  # a name that has no value yet
            raise Unreadable from None
        used = {name for code in codes(value.__code__) for name in code.co_names}
        if used & HIDDEN:
            raise Unreadable
        yield tuple(imported(value.__code__))
        yield {name: value.__globals__[name] for name in sorted(used) if name in value.__globals__}
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif kind is functools.partial:
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, (staticmethod, classmethod)):
        yield value.__func__
    elif isinstance(value, property):
        yield value.fget
    elif isinstance(value, functools.cached_property):
        yield value.func
    elif isinstance(value, type):
        own = {name: part for name, part in vars(value).items() if name != "_abc_impl" and not is_pythons(name, part)}
        yield from (value.__qualname__, value.__bases__, own)
    else:
        yield from state(value)


def is_pythons(name: str, part: Any) -> bool:
    """Whether a member of a class is kept by Python for itself, or changes no value."""
    return name.startswith("__") and (name in WITHOUT_VALUE or not isinstance(part, FunctionType))


def is_checked(value: Any) -> bool:
    """Whether the library has wrapped a function of the user's, to check its arguments."""
    made_here = isinstance(value, FunctionType) and value.__globals__.get("__name__", "").startswith(f"{LIBRARY}.")
    return made_here and hasattr(value, "__wrapped__")


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of all functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def imported(code: CodeType) -> Iterator[ModuleType]:
    """The modules that a function imports when it is called; Unreadable where they are relative or not loaded."""
    for part in codes(code):
        found = [step for step in dis.get_instructions(part) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(found):
            if step.opname == "IMPORT_NAME":
                level = found[i - 2].argval  # 0 for an absolute import
                if level != 0 or step.argval not in sys.modules:
                    raise Unreadable
                yield sys.modules[step.argval]


def state(value: Any) -> Iterator[Any]:
    """The class of an object and what it holds, without what is computed from that."""
    cls, computed = type(value), functools.cached_property
    for base in cls.__mro__:  # a class of another package may hold more than its attributes show
        if base not in (object, ABC) and not base.__module__.startswith(LIBRARY) and installed_name(base):
            raise Unreadable
    try:
        held = vars(value)
    except TypeError:
        raise Unreadable from None
    yield cls
    yield {k: v for k, v in held.items() if not isinstance(inspect.getattr_static(cls, k, None), computed)}


def installed_name(value: Any) -> str | None:
    """The name and version of a module, or of a class or function, that comes with Python or an installed package.

    Modules of the user's own are Unreadable: what they hold may change.
    """
    if isinstance(value, np.ufunc):  # numpy.frompyfunc makes more of them, from any function
        if value not in (vars(np).get(value.__name__), vars(special).get(value.__name__)):
            raise Unreadable
        return f"ufunc {value.__name__} {np.__version__} {scipy.__version__}"
    if isinstance(value, ModuleType):
        if not is_installed(value):
            raise Unreadable
        return f"{value.__name__} {version(value.__name__)}"
    try:
        module, name = value.__module__, value.__qualname__
    except AttributeError:
        return None
    if not isinstance(module, str) or module not in sys.modules or not is_installed(sys.modules[module]):
        if isinstance(value, BuiltinFunctionType):
            raise Unreadable
        return None
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, (type, ModuleType)) else None
    return f"{module}.{name} {version(module)}" if found is value else None


def is_installed(module: ModuleType) -> bool:
    """Whether a module is part of Python, of this library or of a package that was installed."""
    root = module.__name__.partition(".")[0]
    if root == LIBRARY or root in sys.stdlib_module_names:
        return True
    file = vars(module).get("__file__")
    places = (sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    return file is not None and any(Path(file).is_relative_to(place) for place in places)


def version(module: str) -> str:
    """The version of the package of a module, where it states one."""
    return str(vars(sys.modules[module.partition(".")[0]]).get("__version__", ""))
