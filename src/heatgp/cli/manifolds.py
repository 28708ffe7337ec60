"""`heatgp manifolds`: the manifolds, and the methods that make their heat kernels."""

import argparse
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from .. import manifolds
from ..errors import Unsupported
from ..heat.composed import composed_of
from ..heat.methods import METHODS, Auto, Exact, Method
from ..manifolds import Chart, Domain, Euclidean, Implicit, Manifold, Quotient, Sphere, Stiefel, Torus
from ..manifolds.parse import FUNCTIONS, NAMES
from .manifold_argument import HELP, read_manifold

SIZES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "Product": ((Sphere(2), Torus(1)), (Sphere(2), Stiefel(7, 3))),
    "Scaled": ((Sphere(2), 2.0),),
    "SpecialOrthogonal": ((3,), (9,)),
    "Orthogonal": ((3,), (9,)),
    "Unitary": ((3,), (7,)),
    "SpecialUnitary": ((3,), (7,)),
    "Grassmann": ((5, 1), (5, 2), (8, 4), (5, 2, "complex")),
    "Stiefel": ((5, 2), (6, 3), (7, 3), (4, 3, "complex"), (5, 2, "complex")),
    "SPD": ((3,), (6,), (6, "log-euclidean")),
    "TorusKnot": ((2, 3),),
}
"""Arguments of examples, one for each case that has other methods; of all other classes the number 2."""


def add_command(commands: Any) -> None:
    """Add `manifolds` to the subparsers of the command line."""
    parser = commands.add_parser("manifolds", help="list the manifolds and which kernels they have")
    parser.add_argument("manifold", nargs="*", help=f"{HELP}; by default examples of all classes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the classes, or the manifolds asked for, each with its methods."""
    for text in options.manifold:
        print(described(read_manifold(text)))
    if options.manifold:
        return
    print("Each class with examples, the methods that make their heat kernels without options, and what 'auto' takes.")
    for name, cls in sorted(classes().items()):
        parameters = inspect.signature(cls).parameters.values()
        arguments = ", ".join("*" * (p.kind is p.VAR_POSITIONAL) + p.name for p in parameters)
        print(f"\n{name}({arguments}): {(inspect.getdoc(cls) or '').splitlines()[0]}")
        for manifold in examples(name):
            print(f"    {described(manifold)}")


def classes() -> dict[str, Callable[..., Manifold]]:
    """All manifolds of the library, by name."""
    found = {name: value for name, value in vars(manifolds).items() if inspect.isclass(value)}
    concrete = {name: cls for name, cls in found.items() if issubclass(cls, Manifold) and not inspect.isabstract(cls)}
    return {**concrete, **FUNCTIONS}


def examples(name: str) -> Iterator[Manifold]:
    """Manifolds of the class with this name."""
    if name in NAMES:
        yield from (NAMES[name](*arguments) for arguments in SIZES.get(name, ((2,),)))
    else:
        yield OF_FUNCTIONS[name]


def described(manifold: Manifold) -> str:
    """The manifold, the names of its methods and the one that is taken by default.

    >>> described(Sphere(2))
    "Sphere(2): exact, ball, strip, smooth, reference; 'auto' takes exact"
    """
    names = [name for name, method in METHODS.items() if method is not Auto and works(method(), manifold)]
    best = " and ".join(taken(manifold)) if works(Auto(), manifold) else ""
    if not names and not best:
        return f"{manifold!r}: none, no method makes its heat kernel"
    return f"{manifold!r}: {', '.join(names) or 'none as a whole'}; 'auto' takes {best or 'none of them'}"


def taken(manifold: Manifold) -> list[str]:
    """The methods that 'auto' takes: one, or of a product those of its factors."""
    parts = composed_of(manifold)
    if parts:
        return list(dict.fromkeys(name for part in parts for name in taken(part)))
    return ["exact" if Exact().find(manifold) else Auto()._estimate(manifold).name]


def works(method: Method, manifold: Manifold) -> bool:
    """Whether a method makes kernels of a manifold; nothing is simulated."""
    try:
        method.refuse(manifold)
    except Unsupported:
        return False
    return True


def _unit_sphere(x: Any) -> Any:
    return (x * x).sum(-1) - 1


def _flat(x: Any) -> Any:
    return x.__array_namespace__().eye(2) + 0 * x[..., None, :]


def _identity(x: Any) -> Any:
    return x


def _antipode(x: Any) -> Any:
    return -x


OF_FUNCTIONS: dict[str, Manifold] = {
    "Chart": Chart(_flat, 2, periodic=(1.0, 1.0)),
    "Domain": Domain(Euclidean(2), [(0, 0), (1, 0), (0, 1)]),
    "Implicit": Implicit(_unit_sphere, 2, 3),
    "Quotient": Quotient(Sphere(2), (_identity, _antipode)),
}
"""Examples of the classes whose arguments are functions or polygons."""
