"""Kernels on disk: a description in JSON and the arrays of the simulation; no code is run."""

import sys
from typing import Any

from ..archive import Arrays, FileFormat
from ..errors import HeatGPError, InputWarning, InvalidInput, Unsupported, warn
from ..manifolds import Euclidean, Manifold, Product, Sphere
from ..manifolds.fingerprint import fingerprint
from ..manifolds.parse import can_be_named, parse
from .composed import ProductKernel, WrappedKernel, compose, composed_of
from .invariant import InvariantKernel
from .kernel import HeatKernel, MadeKernel, OrbitKernel
from .matern import MaternKernel
from .methods import method_named
from .stretched import StretchedKernel
from .sums import FactorsKernel, SumKernel, chosen_factors

KERNEL = FileFormat("a kernel that heatgp saved", 3, "Make it again.")


def save_kernel(kernel: HeatKernel, path: Any) -> None:
    """Write a kernel to a file; `load_kernel` gives it back, with the same values, without simulating again.

    The file is written whole or not at all: where the disk is full, what was there before is unchanged.
    """
    arrays: Arrays = {}
    of_manifold = {"fingerprint": fingerprint(kernel.manifold), "python": sys.version}
    KERNEL.write(path, {"kernel": describe(kernel, arrays, ""), **of_manifold}, arrays)


def load_kernel(path: Any, manifold: Manifold | None = None) -> HeatKernel:
    """The kernel that `HeatKernel.save` wrote.

    Parameters
    ----------
    path : str or Path
    manifold : Manifold, default None
        A manifold made of functions of your own (Implicit, Chart, Domain, Quotient, a class) is not in the file: pass
        it again. It must be the same: its vertices, functions and numbers are compared with those of the file, as far
        as they can be read; an InputWarning says where they cannot.

    Returns
    -------
    HeatKernel

    Raises
    ------
    InvalidInput : where the file is missing, damaged, incomplete or of another manifold.

    Examples
    --------
    >>> from heatgp import Sphere, heat_kernel
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     heat_kernel(Sphere(2)).save(folder + "/kernel.npz")
    ...     load_kernel(folder + "/kernel.npz")
    heat_kernel(Sphere(2), method='exact')
    """
    description, arrays = KERNEL.read(path)
    try:
        stored = description["kernel"]
        if manifold is not None and not stored["named"] and repr(manifold) == stored["manifold"]:
            check_fingerprint(path, manifold, description["fingerprint"], description["python"])
        kernel = restore(stored, arrays, manifold)
    except (HeatGPError, MemoryError):
        raise
    except Exception as error:  # a part that is missing, or of another kind, can raise anything
        raise InvalidInput(
            f"{path} is damaged or incomplete ({type(error).__name__}: {error}). Make the kernel again."
        ) from None
    if manifold is not None and kernel.manifold != manifold:
        raise InvalidInput(f"{path} holds a kernel of {kernel.manifold!r}; the manifold given is {manifold!r}.")
    return kernel


def check_fingerprint(path: Any, manifold: Manifold, stored: str | None, python: str) -> None:
    """Raise InvalidInput where a manifold of functions is not the one of the file; warn where this is not known."""
    found = fingerprint(manifold)
    if stored is not None and found == stored:
        return
    if stored is None or found is None or python != sys.version:
        why = f"was written by Python {python.split()[0]}" if python != sys.version else "uses what cannot be read"
        warn(
            f"{path}: {manifold!r} {why}, so it cannot be compared with the manifold of the file. Make sure that it "
            "is the same.",
            InputWarning,
        )
        return
    raise InvalidInput(
        f"{path} is of another {manifold!r}: vertices, functions or numbers differ from those of the manifold given. "
        "Pass the same manifold, or make the file again."
    )


def describe(kernel: HeatKernel, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """What determines a kernel, as JSON; its arrays go into `arrays` under names that begin with the prefix."""
    common: dict[str, Any] = {"manifold": repr(kernel.manifold), "named": can_be_named(kernel.manifold)}
    if isinstance(kernel, MaternKernel):
        return common | {"smoothness": kernel.smoothness, "base": describe(kernel.base, arrays, prefix)}
    if isinstance(kernel, (ProductKernel, SumKernel, WrappedKernel)):
        common["parts"] = [describe(part, arrays, f"{prefix}{i}.") for i, part in enumerate(parts_of(kernel))]
        if isinstance(kernel, FactorsKernel):
            return common | {"kind": "factors", "places": kernel.places}
        if isinstance(kernel, SumKernel):
            return common | {"kind": "sum"}
        if isinstance(kernel, (StretchedKernel, InvariantKernel)):
            return common | {"kind": "stretched" if isinstance(kernel, StretchedKernel) else "invariant"}
        return common | {"own_times": isinstance(kernel, ProductKernel) and kernel.own_times}
    if not isinstance(kernel, MadeKernel):
        raise Unsupported(f"{kernel!r} cannot be written to a file. Save the points and make the kernel again.")
    own = kernel.made_by.arrays(kernel)
    arrays |= {prefix + name: array for name, array in own.items()}
    positive = isinstance(kernel, OrbitKernel) and kernel.profile is not kernel.profile.estimate
    common |= {"method": kernel.method, "options": kernel.made_by.stored_options(), "positive": positive}
    return common | {"arrays": {name: prefix + name for name in own}}


def parts_of(kernel: ProductKernel | SumKernel | WrappedKernel) -> tuple[HeatKernel, ...]:
    """The kernels that a kernel is made of."""
    if isinstance(kernel, SumKernel):
        return kernel.summands
    return kernel.factors if isinstance(kernel, ProductKernel) else (kernel.base,)


def restored_kind(description: dict[str, Any], arrays: Arrays, manifold: Manifold) -> HeatKernel:
    """A kernel that its manifold and parts do not determine: a sum, or one of some factors, or of own coordinates."""
    kind, parts = description["kind"], description["parts"]
    if kind == "factors":
        assert isinstance(manifold, Product)
        places = description["places"]
        return restore(parts[0], arrays, chosen_factors(manifold, places)).on(manifold, *places)
    kernels = [restore(part, arrays, manifold) for part in parts]
    if kind == "sum":
        return SumKernel(manifold, tuple(kernels))
    if kind == "invariant":
        assert isinstance(manifold, Sphere)
        assert isinstance(kernels[0], OrbitKernel)
        return InvariantKernel(manifold, kernels[0])
    assert kind == "stretched"
    assert isinstance(manifold, Euclidean)
    return StretchedKernel(manifold, kernels[0])


def restore(description: dict[str, Any], arrays: Arrays, given: Manifold | None = None) -> HeatKernel:
    """Inverse of `describe`; `given` stands for a manifold that the file cannot hold."""
    name = description["manifold"]
    if not description["named"] and given is None:
        raise InvalidInput(f"The kernel is of {name}, whose functions a file cannot hold. Pass manifold=... too.")
    manifold = given if given is not None and not description["named"] else parse(name)
    if repr(manifold) != name:
        raise InvalidInput(f"The kernel is of {name}; the manifold given is {manifold!r}.")
    if "smoothness" in description:
        return MaternKernel(manifold, restore(description["base"], arrays, given), description["smoothness"])
    if "kind" in description:
        return restored_kind(description, arrays, manifold)
    if "parts" in description:
        parts = zip(description["parts"], composed_of(manifold))
        kernel = compose(manifold, tuple(restore(part, arrays, own) for part, own in parts))
        if description["own_times"]:
            assert isinstance(kernel, ProductKernel)
            kernel = ProductKernel(kernel.manifold, kernel.factors, own_times=True)
        return kernel
    method = method_named(description["method"], **description["options"])
    own = {name: arrays[stored] for name, stored in description["arrays"].items()}
    kernel = method.restored(manifold, own)
    return kernel.as_positive_definite() if description["positive"] else kernel
