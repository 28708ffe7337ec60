"""A function of small arrays, computed entry by entry: what a GPU needs to keep a point in registers.

JAX writes a function down as a list of operations on arrays (a jaxpr). Here each array is a table of its entries, and
each entry is a vector with one element for each path. Operations that only move entries then cost nothing, products of
matrices are written out, products with entries that are known to be 0 or 1 are left out, and complex numbers are pairs
of real ones. The function itself is written once, for arrays, in the geometry of its manifold.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import numpy as jnp
from jax.extend.core import Literal

from ..errors import Unsupported

Entry = Any
"""A vector of real numbers, a Python number, or a `Pair` of these."""


class Pair(NamedTuple):
    """A complex entry."""

    real: Entry
    imag: Entry


def entrywise(function: Callable[..., Any], *arguments: jax.ShapeDtypeStruct) -> Callable[..., np.ndarray]:
    """The function of one point, as a function of tables (arrays of objects) of entries; Unsupported if there is none.

    Parameters
    ----------
    function : from arrays of these shapes and types to one array, of the operations in `RULES`.
    arguments : the shapes and types of its arguments.
    """
    closed = jax.make_jaxpr(function)(*arguments)
    _refuse_unknown(closed.jaxpr)

    def on_tables(*tables: np.ndarray) -> np.ndarray:
        return _run(closed, tables)[0]

    def once(*entries: Sequence[jax.Array]) -> list[jax.Array]:
        given = (to_table(e, a.shape, _is_complex(a)) for e, a in zip(entries, arguments))
        return [jnp.asarray(e) for e in to_entries(on_tables(*given))]

    vector = jax.ShapeDtypeStruct((1,), np.empty(0, arguments[0].dtype).real.dtype)
    jax.eval_shape(once, *([vector] * (math.prod(a.shape) * (1 + _is_complex(a))) for a in arguments))
    return on_tables


def _is_complex(array: jax.ShapeDtypeStruct) -> bool:
    return np.dtype(array.dtype).kind == "c"


def to_entries(table: np.ndarray) -> list[Entry]:
    """The real entries of a table, one after the other: of a complex one the real and the imaginary part."""
    entries = table.ravel()
    return [part for e in entries for part in (e if isinstance(e, Pair) else (e,))]


def to_table(entries: Sequence[Entry], shape: tuple[int, ...], is_complex: bool) -> np.ndarray:
    """The inverse of `to_entries`."""
    parts = [Pair(*entries[i : i + 2]) for i in range(0, len(entries), 2)] if is_complex else entries
    return _filled(parts, shape)


def _filled(entries: Sequence[Entry], shape: tuple[int, ...]) -> np.ndarray:
    table = np.empty(len(entries), dtype=object)
    for i, entry in enumerate(entries):
        table[i] = entry
    return table.reshape(shape)


def _refuse_unknown(jaxpr: Any) -> None:
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in CALLS:
            _refuse_unknown(equation.params[CALLS[name]].jaxpr)
        elif name not in RULES:
            raise Unsupported(f"the operation {name!r} of JAX has no form entry by entry.")


def _run(closed: Any, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    jaxpr = closed.jaxpr
    known = dict(zip(jaxpr.invars, tables)) | dict(zip(jaxpr.constvars, map(_constant, closed.consts)))

    def read(atom: Any) -> np.ndarray:
        return _constant(atom.val) if isinstance(atom, Literal) else known[atom]

    for equation in jaxpr.eqns:
        name, values = equation.primitive.name, [read(atom) for atom in equation.invars]
        if name in CALLS:
            known.update(zip(equation.outvars, _run(equation.params[CALLS[name]], values)))
        else:
            known[equation.outvars[0]] = RULES[name](equation, *values)
    return [read(atom) for atom in jaxpr.outvars]


def _constant(value: Any) -> np.ndarray:
    """A table of Python numbers."""
    array = np.asarray(value)
    numbers = array.ravel().tolist()
    return _filled([Pair(v.real, v.imag) if isinstance(v, complex) else v for v in numbers], array.shape)


# Arithmetic of entries. What is known to be zero or one is left out.


def is_number(a: Entry, value: float) -> bool:
    return isinstance(a, (bool, int, float)) and a == value


def parts(a: Entry) -> Pair:
    return a if isinstance(a, Pair) else Pair(a, 0.0)


def add(a: Entry, b: Entry) -> Entry:
    if isinstance(a, Pair) or isinstance(b, Pair):
        return Pair(*map(add, parts(a), parts(b)))
    return b if is_number(a, 0) else a if is_number(b, 0) else a + b


def negative(a: Entry) -> Entry:
    return Pair(negative(a.real), negative(a.imag)) if isinstance(a, Pair) else -a


def subtract(a: Entry, b: Entry) -> Entry:
    if isinstance(a, Pair) or isinstance(b, Pair):
        return Pair(*map(subtract, parts(a), parts(b)))
    return negative(b) if is_number(a, 0) else a if is_number(b, 0) else a - b


def multiply(a: Entry, b: Entry) -> Entry:
    if isinstance(a, Pair) or isinstance(b, Pair):
        (ar, ai), (br, bi) = parts(a), parts(b)
        return Pair(subtract(multiply(ar, br), multiply(ai, bi)), add(multiply(ar, bi), multiply(ai, br)))
    if is_number(a, 0) or is_number(b, 0):
        return 0.0
    return b if is_number(a, 1) else a if is_number(b, 1) else a * b


def divide(a: Entry, b: Entry) -> Entry:
    if isinstance(b, Pair):
        if is_number(b.imag, 0):
            return divide(parts(a), b.real)
        square = add(multiply(b.real, b.real), multiply(b.imag, b.imag))
        return divide(multiply(a, conjugate(b)), square)
    if isinstance(a, Pair):
        return Pair(divide(a.real, b), divide(a.imag, b))
    return a if is_number(b, 1) else 0.0 if is_number(a, 0) else a / b


def conjugate(a: Entry) -> Entry:
    return Pair(a.real, negative(a.imag)) if isinstance(a, Pair) else a


def exponential(a: Entry) -> Entry:
    if not isinstance(a, Pair):
        return jnp.exp(a)
    size = 1.0 if is_number(a.real, 0) else jnp.exp(a.real)
    return Pair(multiply(size, jnp.cos(a.imag)), multiply(size, jnp.sin(a.imag)))


def absolute(a: Entry) -> Entry:
    return jnp.sqrt(add(multiply(a.real, a.real), multiply(a.imag, a.imag))) if isinstance(a, Pair) else abs(a)


def equal(a: Entry, b: Entry) -> Entry:
    if isinstance(a, Pair) or isinstance(b, Pair):
        return equal(parts(a).real, parts(b).real) & equal(parts(a).imag, parts(b).imag)
    return a == b


def power(a: Entry, exponent: int) -> Entry:
    result = reduce(multiply, [a] * abs(exponent), 1.0)
    return divide(1.0, result) if exponent < 0 else result


# Rules: from an operation of JAX and the tables of its arguments to the table of its result.

Rule = Callable[..., np.ndarray]


def each(function: Callable[..., Entry]) -> Rule:
    """The rule of an operation on single entries."""

    def rule(equation: Any, *tables: np.ndarray) -> np.ndarray:
        shape = equation.outvars[0].aval.shape
        return _filled(
            [function(*entries) for entries in zip(*(np.broadcast_to(t, shape).ravel() for t in tables))], shape
        )

    return rule


def moved(function: Callable[..., np.ndarray]) -> Rule:
    """The rule of an operation that moves entries: a function of the table and of the operation's parameters."""
    return lambda equation, *tables: function(*tables, **equation.params)


def real_only(function: Callable[..., Entry]) -> Rule:
    """The rule of a function of real entries."""

    def rule(equation: Any, *tables: np.ndarray) -> np.ndarray:
        if any(isinstance(entry, Pair) for table in tables for entry in table.flat):
            raise Unsupported(f"{equation.primitive.name!r} of complex numbers has no form entry by entry.")
        return each(function)(equation, *tables)

    return rule


def _convert(equation: Any, table: np.ndarray) -> np.ndarray:
    kind = np.dtype(equation.params["new_dtype"]).kind

    def converted(a: Entry) -> Entry:
        if kind == "c":
            return parts(a)
        if isinstance(a, (bool, int, float)):
            return float(a) if kind == "f" else a
        return a if a.dtype.kind == kind else a.astype(equation.params["new_dtype"])

    return each(converted)(equation, table)


def _spread(table: np.ndarray, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], **_: Any) -> np.ndarray:
    lengths = [1] * len(shape)
    for axis, length in zip(broadcast_dimensions, table.shape):
        lengths[axis] = length
    return np.broadcast_to(table.reshape(lengths), shape)


def _contract(equation: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sums of products over pairs of axes, without batch axes."""
    (left, right), batch = equation.params["dimension_numbers"]
    if any(batch):
        raise Unsupported("products of batches of arrays have no form entry by entry.")
    count = len(left)
    rows = np.moveaxis(a, left, range(-count, 0))
    columns = np.moveaxis(b, right, range(-count, 0))
    outer = rows.shape[: rows.ndim - count], columns.shape[: columns.ndim - count]
    size = int(np.prod(rows.shape[rows.ndim - count :]))
    sums = [
        reduce(add, map(multiply, row, column), 0.0)
        for row in rows.reshape(-1, size)
        for column in columns.reshape(-1, size)
    ]
    return _filled(sums, (*outer[0], *outer[1]))


def _reduced(function: Callable[[Entry, Entry], Entry]) -> Rule:
    def rule(equation: Any, table: np.ndarray) -> np.ndarray:
        axes = equation.params["axes"]
        shape = equation.outvars[0].aval.shape
        rows = np.moveaxis(table, axes, range(-len(axes), 0)).reshape(int(np.prod(shape)), -1)
        return _filled([reduce(function, row) for row in rows], shape)

    return rule


def _cut(table: np.ndarray, start_indices: Any, limit_indices: Any, strides: Any) -> np.ndarray:
    steps = strides or [1] * table.ndim
    return table[tuple(map(slice, start_indices, limit_indices, steps))]


def _count(dtype: Any, shape: tuple[int, ...], dimension: int, **_: Any) -> np.ndarray:
    along = np.reshape(np.arange(shape[dimension]), [-1 if i == dimension else 1 for i in range(len(shape))])
    return _constant(np.broadcast_to(along, shape))


def _gathered(equation: Any, table: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    """Entries at known places: the operation on the numbers of the entries tells where they come from."""
    if not all(isinstance(i, int) for each in indices for i in each.flat):
        raise Unsupported(f"{equation.primitive.name!r} at places that are computed has no form entry by entry.")
    places = [np.asarray(each.tolist(), atom.aval.dtype) for each, atom in zip(indices, equation.invars[1:])]
    numbers = np.arange(table.size, dtype=np.int32).reshape(table.shape)
    with jax.ensure_compile_time_eval():
        found = np.asarray(equation.primitive.bind(jnp.asarray(numbers), *map(jnp.asarray, places), **equation.params))
    return table.ravel()[found]


def _select(which: Entry, *cases: Entry) -> Entry:
    if isinstance(which, (bool, int)):
        return cases[int(which)]
    if any(isinstance(case, Pair) for case in cases):
        return Pair(*(_select(which, *part) for part in zip(*map(parts, cases))))
    return jnp.where(which, cases[1], cases[0])


CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Operations that call a list of operations, and the parameter that holds it."""

RULES: dict[str, Rule] = {
    "add": each(add),
    "sub": each(subtract),
    "mul": each(multiply),
    "div": each(divide),
    "neg": each(negative),
    "square": each(lambda a: multiply(a, a)),
    "integer_pow": lambda equation, table: each(lambda a: power(a, equation.params["y"]))(equation, table),
    "exp": each(exponential),
    "real": each(lambda a: parts(a).real),
    "imag": each(lambda a: parts(a).imag),
    "conj": each(conjugate),
    "complex": each(Pair),
    "select_n": each(_select),
    "eq": each(equal),
    "lt": real_only(operator.lt),
    "le": real_only(operator.le),
    "gt": real_only(operator.gt),
    "ge": real_only(operator.ge),
    "abs": each(absolute),
    "sqrt": real_only(jnp.sqrt),
    "rsqrt": real_only(lambda a: 1 / jnp.sqrt(a)),
    "sin": real_only(jnp.sin),
    "cos": real_only(jnp.cos),
    "sinh": real_only(lambda a: (jnp.exp(a) - jnp.exp(-a)) / 2),  # kernels have no other form
    "cosh": real_only(lambda a: (jnp.exp(a) + jnp.exp(-a)) / 2),
    "log": real_only(jnp.log),
    "atan2": real_only(jnp.atan2),
    "max": real_only(jnp.maximum),
    "min": real_only(jnp.minimum),
    "round": real_only(lambda a: jnp.floor(a + 0.5)),  # kernels have no other rounding; it differs for halves alone
    "floor": real_only(jnp.floor),
    "copy": each(lambda a: a),
    "convert_element_type": _convert,
    "broadcast_in_dim": moved(_spread),
    "reshape": moved(lambda table, new_sizes, **_: table.reshape(new_sizes)),
    "squeeze": moved(lambda table, dimensions: table.squeeze(dimensions)),
    "expand_dims": moved(lambda table, dimensions: np.expand_dims(table, dimensions)),
    "transpose": moved(lambda table, permutation: table.transpose(permutation)),
    "rev": moved(lambda table, dimensions: np.flip(table, dimensions)),
    "slice": moved(_cut),
    "gather": _gathered,
    "dynamic_slice": _gathered,
    "concatenate": moved(lambda *tables, dimension: np.concatenate(tables, axis=dimension)),
    "stack": moved(lambda *tables, axis: np.stack(tables, axis=axis)),
    "iota": moved(_count),
    "reduce_sum": _reduced(add),
    "reduce_max": _reduced(jnp.maximum),
    "dot_general": _contract,
}
"""How each operation of JAX acts on tables of entries."""
