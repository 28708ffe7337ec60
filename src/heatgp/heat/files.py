"""Kernels on disk: an .npz file with a description in JSON and the arrays of the simulation; no code is run."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput, Unsupported
from ..manifolds import Homogeneous, Manifold, Product, Scaled, Stiefel
from ..manifolds.checks import check_points
from ..manifolds.parse import can_be_named, parse
from ..paths.samples import Samples
from .composed import ProductKernel, ScaledKernel
from .counting.coordinates import Coordinates
from .counting.counted import CountedProfile, CountedTable
from .exact.fibre import Cosets, FibreKernel
from .exact.find import exact_kernel
from .kernel import HeatKernel, OrbitKernel
from .positive.modes import ModeProfile
from .positive.zonal import PositiveProfile
from .reference.cells import Cells
from .reference.kernel import CloudKernel
from .sampled import EstimatedKernel, _part_of_balls, from_samples

FORMAT = 1
Arrays = dict[str, np.ndarray]
CLOUD = ("references", "weights", "grid", "table")
"""Arrays of a kernel through reference points."""


def save_kernel(kernel: HeatKernel, path: Any) -> None:
    """Write a kernel to a file; `load_kernel` gives it back, with the same values, without simulating again."""
    arrays: Arrays = {}
    description = {"format": FORMAT, "kernel": describe(kernel, arrays, "")}
    target = Path(path)
    with target.open("wb") as stream:  # a name without .npz stays as it is
        np.savez_compressed(stream, description=np.array(json.dumps(description)), **arrays)  # type: ignore[arg-type]


def load_kernel(path: Any, manifold: Manifold | None = None) -> HeatKernel:
    """The kernel that `HeatKernel.save` wrote.

    A manifold made of functions of the user's own (Implicit, Chart, Domain, a class) is not in the file: pass it again.
    """
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"{path}: no such file.")
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        description = json.loads(str(arrays.pop("description")))
    except Exception as error:  # zip, zlib and npy each have their own for what a flipped bit does
        raise InvalidInput(f"{path} is not a kernel of heatgp, or is damaged: {error}.") from None
    if description.get("format") != FORMAT:
        raise InvalidInput(f"{path} has format {description.get('format')!r}; this version reads {FORMAT}.")
    kernel = restore(description["kernel"], arrays, manifold)
    if manifold is not None and kernel.manifold != manifold:
        raise InvalidInput(f"{path} holds a kernel of {kernel.manifold!r}; the manifold given is {manifold!r}.")
    return kernel


def describe(kernel: HeatKernel, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """What determines a kernel, as JSON; its arrays go into `arrays` under names that begin with the prefix."""
    if isinstance(kernel, CloudKernel):
        return _describe_cloud(kernel, arrays, prefix)
    name = named(kernel.manifold)
    match kernel:
        case ProductKernel():
            parts = [describe(f, arrays, f"{prefix}{i}.") for i, f in enumerate(kernel.factors)]
            return {"kind": "product", "manifold": name, "factors": parts, "each": kernel.each}
        case ScaledKernel():
            return {"kind": "scaled", "manifold": name, "base": describe(kernel.base, arrays, prefix)}
        case FibreKernel() if isinstance(kernel.fibre, Cosets):
            return {"kind": "fibre", "manifold": name, "number": kernel.fibre.number}
        case EstimatedKernel():
            return _describe_estimate(kernel, arrays, prefix, name)
        case OrbitKernel() | FibreKernel() if kernel.method == "exact":
            return {"kind": "exact", "manifold": name}
    raise Unsupported(f"{kernel!r} cannot be written to a file. Save the points and make the kernel again.")


def named(manifold: Manifold) -> str:
    """The manifold as text that `parse` understands."""
    if not can_be_named(manifold):
        raise Unsupported(f"{manifold!r} is made of functions, which a file cannot hold. Make its kernel again.")
    return repr(manifold)


def _describe_estimate(kernel: EstimatedKernel, arrays: Arrays, prefix: str, name: str) -> dict[str, Any]:
    positive = isinstance(kernel.profile, (PositiveProfile, ModeProfile))
    profile: Any = kernel.profile.profile if positive else kernel.profile
    common = {"manifold": name, "method": kernel.method, "positive": positive, "recipe": dict(kernel.recipe)}
    if kernel.samples is not None:
        samples: Samples = kernel.samples
        arrays[f"{prefix}theta"], arrays[f"{prefix}times"] = samples.theta, samples.times
        return common | {"kind": "samples", "step": samples.step, "entropy": list(samples.entropy), "prefix": prefix}
    for i, table in enumerate(profile.tables):
        for field in ("p", "error", "count"):
            arrays[f"{prefix}{i}.{field}"] = getattr(table, field)
        arrays[f"{prefix}{i}.axis"] = table.axes[0]
    assert isinstance(kernel.part, partial)
    _, grid, paths, step, epsilon, root, _ = kernel.part.args
    return common | {
        "kind": "balls",
        "prefix": prefix,
        "times": [table.time for table in profile.tables],
        "first": profile.times[0],
        "name": profile.method,
        "part": [np.asarray(grid).tolist(), paths, step, epsilon, list(root)],
    }


def _describe_cloud(kernel: CloudKernel, arrays: Arrays, prefix: str) -> dict[str, Any]:
    for field in CLOUD:
        arrays[f"{prefix}{field}"] = getattr(kernel, field)
    arrays[f"{prefix}nodes"], arrays[f"{prefix}volumes"] = kernel.cells.nodes, kernel.cells.volumes
    return {
        "kind": "reference",
        "manifold": repr(kernel.manifold),
        "named": can_be_named(kernel.manifold),
        "prefix": prefix,
        "width": kernel.cells.width,
        "radius": kernel.radius,
        "recipe": dict(kernel.recipe),
    }


def restore(description: dict[str, Any], arrays: Arrays, given: Manifold | None = None) -> HeatKernel:
    """Inverse of `describe`; `given` stands for a manifold that the file cannot hold."""
    if description["kind"] == "reference":
        return _restore_cloud(description, arrays, given)
    manifold = parse(description["manifold"])
    match description["kind"], manifold:
        case "product", Product():
            factors = tuple(restore(part, arrays) for part in description["factors"])
            return ProductKernel(manifold, factors, description["each"])
        case "scaled", Scaled():
            return ScaledKernel(manifold, restore(description["base"], arrays))
        case "fibre", Stiefel():
            from .methods import fibre_kernel

            return fibre_kernel(manifold, description["number"])
        case "samples", Homogeneous():
            kernel = _restore_samples(description, manifold, arrays)
            return kernel.positive_definite() if description["positive"] else kernel
        case "balls", Homogeneous():
            kernel = _restore_balls(description, manifold, arrays)
            return kernel.positive_definite() if description["positive"] else kernel
        case "exact", _:
            return exact_kernel(manifold)
    raise InvalidInput(f"a kernel of kind {description['kind']!r} on {manifold!r} is not known to this version.")


def _restore_cloud(description: dict[str, Any], arrays: Arrays, given: Manifold | None) -> CloudKernel:
    name, prefix = description["manifold"], description["prefix"]
    if not description["named"] and given is None:
        raise InvalidInput(f"The kernel is of {name}, whose functions a file cannot hold. Pass manifold=... too.")
    manifold = given if given is not None and not description["named"] else parse(name)
    if repr(manifold) != name:
        raise InvalidInput(f"The kernel is of {name}; the manifold given is {manifold!r}.")
    nodes = check_points(manifold, arrays[f"{prefix}nodes"], "nodes")
    cells = Cells(manifold, nodes, arrays[f"{prefix}volumes"], description["width"])
    fields: dict[str, Any] = {field: arrays[f"{prefix}{field}"] for field in CLOUD}
    recipe = tuple(description["recipe"].items())
    return CloudKernel(manifold, cells, radius=description["radius"], recipe=recipe, **fields)


def _restore_samples(description: dict[str, Any], manifold: Homogeneous, arrays: Arrays) -> EstimatedKernel:
    prefix, recipe = description["prefix"], description["recipe"]
    times, theta = arrays[f"{prefix}times"], arrays[f"{prefix}theta"]
    samples = Samples(manifold, times, description["step"], tuple(description["entropy"]), theta)
    return from_samples(
        manifold, description["method"], samples, recipe.get("epsilon"), bool(recipe.get("distance", False))
    )


def _restore_balls(description: dict[str, Any], manifold: Homogeneous, arrays: Arrays) -> EstimatedKernel:
    prefix = description["prefix"]
    tables = tuple(
        CountedTable(
            time,
            (arrays[f"{prefix}{i}.axis"],),
            *(arrays[f"{prefix}{i}.{field}"] for field in ("p", "error", "count")),
        )
        for i, time in enumerate(description["times"])
    )
    profile = CountedProfile(Coordinates(manifold), tables, description["first"], description["name"])
    grid, paths, step, epsilon, root = description["part"]
    part = partial(_part_of_balls, manifold, np.array(grid), paths, step, epsilon, tuple(root), None)
    kernel = EstimatedKernel(manifold, "ball", profile, tuple(description["recipe"].items()))
    return replace(kernel, part=part)
