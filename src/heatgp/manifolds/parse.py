"""Manifolds from text, as the command line and files use it: `parse("Product(Sphere(2), Euclidean(3))")`."""

import ast
from collections.abc import Callable
from inspect import isabstract, isclass
from typing import Any

from .. import manifolds
from ..errors import InvalidInput
from .contract import Manifold

MADE_OF_FUNCTIONS = {"Chart", "Domain", "Implicit", "Quotient"}
"""Classes whose parameters text cannot express."""
CLASSES: dict[str, Callable[..., Manifold]] = {
    name: value
    for name, value in vars(manifolds).items()
    if isclass(value) and issubclass(value, Manifold) and not isabstract(value) and name not in MADE_OF_FUNCTIONS
}
FUNCTIONS: dict[str, Callable[..., Manifold]] = {"SPD": manifolds.SPD, "SpecialEuclidean": manifolds.SpecialEuclidean}
"""Names of manifolds that are functions."""
NAMES = dict(sorted({**CLASSES, **FUNCTIONS}.items()))
"""The constructors that text may name."""
KNOWN = ", ".join(NAMES)


def parse(text: str) -> Manifold:
    """The manifold whose repr is the text.

    Parameters
    ----------
    text : str
        A constructor call of the library, whose arguments are numbers, words and such calls.

    Returns
    -------
    Manifold

    Raises
    ------
    InvalidInput
        If the text is anything else. Only constructors and literals are ever evaluated.

    Examples
    --------
    >>> parse("Product(Sphere(2), Scaled(Torus(1), 0.5))")
    Product(Sphere(2), Scaled(Torus(1), 0.5))
    """
    try:
        value = _evaluate(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        value = None
    if not isinstance(value, Manifold):
        raise InvalidInput(f"{text!r} is not a manifold. Write a constructor call, such as Sphere(2); known: {KNOWN}.")
    return value


def can_be_named(manifold: Manifold) -> bool:
    """Whether the text of a manifold determines it: `parse(repr(manifold)) == manifold`.

    This is true for classes of the library whose parameters are numbers, words and such manifolds. It is false for
    manifolds made of functions and for classes of users: two different ones may have the same `repr`.
    """
    try:
        return parse(repr(manifold)) == manifold
    except InvalidInput:
        return False


def _evaluate(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES:
        keywords = {keyword.arg: _evaluate(keyword.value) for keyword in node.keywords if keyword.arg}
        try:
            return NAMES[node.func.id](*(_evaluate(argument) for argument in node.args), **keywords)
        except TypeError as error:
            raise InvalidInput(f"{ast.unparse(node)}: {error}.") from None
    raise InvalidInput(f"{ast.unparse(node)!r} is not understood. Use numbers, strings and the names {KNOWN}.")
