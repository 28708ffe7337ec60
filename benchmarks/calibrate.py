"""What the constants of the estimators and of their stated errors do, at half their value, their value and twice it.

    OMP_NUM_THREADS=1 python benchmarks/calibrate.py smooth reference     # these groups; all without a name
    OMP_NUM_THREADS=1 python benchmarks/calibrate.py --quick              # seconds: does it still run?

One constant is changed at a time. Figures are against a kernel, a rate or a volume that is known exactly; those of the
group "fibre" are against an average over 16 cosets, those of INTERVALS against finer tables. Each group takes one to
three minutes on one core and prints the lines of its table in docs/constants.md.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import sys
import tempfile
import time as clock
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ellipe, jv, jvp, yv, yvp
from scipy.stats import chi2

import heatgp as hg
from heatgp.errors import NotConverged

WHERE = {
    "heat.smooth.density": "POWERS Features",
    "heat.smooth.expansion": "Expansion",
    "heat.smooth.fit": "MASS_TOLERANCE",
    "heat.counting.counted": "ENOUGH",
    "heat.counting.strip": "NODES QUADRATURE chosen_width",
    "heat.counting.coordinates": "DIRECTIONS",
    "heat.counting.ball": "ball_volume",
    "heat.positive.zonal": "FADE",
    "heat.positive.modes": "MOST_MODES",
    "heat.special.spherical": "MISSING",
    "heat.special.spline": "INTERVALS",
    "heat.reference.build": "CELLS GROUPS GRID AVERAGES RESOLUTION SPREAD LEVEL",
    "heat.reference.cells": "POOL SAMPLE MEMBERS REACH",
    "heat.reference.kernel": "STEP CHECKED",
    "heat.exact.fibre": "WITNESSES",
    "manifolds.own.implicit": "TURN TUBE",
    "manifolds.own.chart": "STEP_DRIFT STEP_SUBSTEPS",
    "manifolds.own.signed": "RASTER",
    "gp.ep": "DAMPING MEMORY QUARTERS matching_sites",
    "gp.exact": "SUBSET TIMES",
}
"""Modules of heatgp, and the names in them that this script looks at or changes."""
MODULE = {name: module for module, names in WHERE.items() for name in names.split()}
CACHE = Path(tempfile.gettempdir()) / "heatgp-calibrate"
"""Simulations that several settings share."""


def found(name: str) -> Any:
    """A constant, function or class of the package that is not public."""
    return getattr(importlib.import_module(f"heatgp.{MODULE[name]}"), name)


@contextlib.contextmanager
def changed(name: str, value: Any) -> Iterator[None]:
    """A name of the package with another value, in its own module and in those that import it."""
    old = found(name)
    holders = [m for k, m in sys.modules.items() if k.startswith("heatgp") and vars(m).get(name) is old]

    def assign(value: Any) -> None:
        for module in holders:
            setattr(module, name, value)
        for module in [m for k, m in sys.modules.items() if k.startswith("heatgp.")]:
            for member in list(vars(module).values()):
                if hasattr(member, "cache_clear"):
                    member.cache_clear()

    assign(value)
    try:
        yield
    finally:
        assign(old)


@contextlib.contextmanager
def scaled(owner: str, member: str, factor: Callable[[Any], Any]) -> Iterator[None]:
    """A cached property of a class of the package, multiplied by a factor that may depend on the object."""
    cls = found(owner)
    old = vars(cls)[member]
    new = cached_property(lambda self: old.func(self) * factor(self))
    new.__set_name__(cls, member)
    setattr(cls, member, new)
    try:
        yield
    finally:
        setattr(cls, member, old)


# What is measured: errors as shares of p_t(x, x), and errors over stated errors.


@dataclass
class Figures:
    """Errors of several kernels: the geometric mean of their root mean squares, and their ratio to what was stated."""

    errors: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def add(self, value: np.ndarray, stated: np.ndarray, truth: np.ndarray, peak: float) -> None:
        gap = np.sqrt(np.mean((value - truth) ** 2))
        self.errors.append(gap / peak)
        self.ratios.append(gap / np.sqrt(np.mean(stated**2)))

    def __str__(self) -> str:
        error = math.exp(np.mean(np.log(self.errors)))
        return f"{error:.2g}, ratio {np.sqrt(np.mean(np.square(self.ratios))):.2f} ({max(self.ratios):.2f})"


FIRST = (hg.Sphere(2), hg.Sphere(5), hg.Sphere(9), hg.ComplexProjective(2), hg.ComplexProjective(4))
SECOND = (
    hg.Grassmann(4, 2, "complex"),
    hg.Grassmann(5, 2, "complex"),
    hg.SpecialOrthogonal(5),
    hg.ComplexProjective(6),
    hg.Sphere(14),
)
"""Spheres and CP^n, whose usual sizes the priors have; and manifolds that no constant is changed for."""


def smooth(
    quick: bool,
    prior: float = 1 / 720,
    bend: float = 1 / 4,
    rate: float = 1 / 15,
    horizon: float = 1e-3,
    times: int = 6,
    first: float = 0.25,
    steps: int = 64,
    paths: int = 2000,
) -> str:
    """The smooth estimate at half its horizon, the horizon and three times it."""

    def sizes(features: Any) -> np.ndarray:
        return np.array([prior * 720 * (4 * bend) ** k * (15 * rate) ** (j - 2) for j, k in found("POWERS")])

    def earlier(space: Any) -> float:
        return float(chi2.isf(1e-3, space.dim) / chi2.isf(horizon, space.dim))

    parts = []
    with scaled("Features", "sizes", sizes), scaled("Expansion", "horizon", lambda e: earlier(e.manifold)):
        for spaces in (FIRST[:1], SECOND[:1]) if quick else (FIRST, SECOND):
            figures = Figures()
            for space in spaces:
                last = found("Expansion")(space).horizon
                design = {"times": np.geomspace(first, 1, times) * last, "step": last / steps}
                kernel = hg.heat_kernel(space, "smooth", paths=paths, rng=0, cache=CACHE, **design)
                for t in np.array([0.5, 1, 3]) * last / earlier(space):
                    compare(figures, kernel, hg.heat_kernel(space, "exact"), t)
            parts.append(str(figures))
    return "; held out: ".join(parts)


def interpolation(quick: bool) -> str:
    """Largest difference of the smooth estimate from finer tables, over p_t(x, x), just after the horizon."""
    parts = []
    for space in (hg.Sphere(9), hg.Grassmann(5, 2, "complex"), hg.SpecialOrthogonal(6))[: 1 if quick else None]:
        t = 1.01 * found("Expansion")(space).horizon
        x = space.origin[None]
        y = np.concatenate([x, hg.walk(space, space.origin, t, paths=300, step=t / 16, rng=0)[0]])
        values = []
        for finer in ({1: 1, 2: 1, 3: 1}, {1: 2, 2: 2, 3: 4 / 3}):
            with changed("INTERVALS", {rank: int(finer[rank] * count) for rank, count in found("INTERVALS").items()}):
                kernel = hg.heat_kernel(space, "smooth", paths=200, rng=0, cache=CACHE)
                values.append(kernel(x, y, time=t) / kernel(x, time=t))
        parts.append(f"{np.abs(values[0] - values[1]).max():.0e}")
    return ", ".join(parts)


def compare(figures: Figures, kernel: Any, truth: Any, t: float) -> None:
    """Errors between the origin and 200 points that Brownian motion reaches by this time."""
    x = truth.manifold.origin[None]
    y = hg.walk(truth.manifold, truth.manifold.origin, t, paths=200, step=t / 32, rng=11)[0]
    peak = float(truth(x, time=t)[0, 0])
    figures.add(kernel(x, y, time=t), kernel.standard_error(x, y, time=t), truth(x, y, time=t), peak)


def counting(
    quick: bool, width: float = 1.0, spaces: tuple = (hg.Sphere(2), hg.Sphere(5), hg.SpecialOrthogonal(4)), **kind: Any
) -> str:
    """Strips of chosen width from 20,000 paths, at a time when the kernel covers a tenth of the space."""
    figures, choose = Figures(), found("chosen_width")
    with changed("chosen_width", lambda *a: width * choose(*a)):
        for space in spaces[: 1 if quick else None]:
            truth = hg.heat_kernel(space, "exact")
            for seed in range(1 if quick else 3):
                for t in (0.05, 0.3):
                    kernel = hg.heat_kernel(
                        space, "strip", paths=20_000, times=[t / 2, t], step=t / 16, rng=seed, cache=CACHE
                    )
                    compare(figures, kernel.as_positive_definite() if kind.get("positive") else kernel, truth, t)
    return str(figures)


def at_peak(quick: bool) -> str:
    """The same at distance 0, where strips are small balls: S⁵, S⁹ and CP⁴, ten seeds."""
    figures = Figures()
    for space in (hg.Sphere(5), hg.Sphere(9), hg.ComplexProjective(4))[: 1 if quick else None]:
        x, t = space.origin[None], 0.1
        options = {"paths": 5000, "times": [t / 2, t], "step": t / 16, "cache": CACHE}
        kernels = [hg.heat_kernel(space, "strip", rng=seed, **options) for seed in range(2 if quick else 10)]
        values = np.array([kernel(x, time=t) for kernel in kernels])
        stated = np.array([kernel.standard_error(x, time=t) for kernel in kernels])
        truth = hg.heat_kernel(space, "exact")(x, time=t)
        figures.add(values, stated, truth, float(truth[0, 0]))
    return str(figures)


def fading(quick: bool) -> str:
    """The same at rank one, made positive definite."""
    return counting(quick, spaces=(hg.Sphere(2), hg.Sphere(5), hg.ComplexProjective(2)), positive=True)


def modes(quick: bool) -> str:
    """The smooth estimate at rank two, made positive definite, at the shortest time it can be asked for."""
    figures = Figures()
    seconds = clock.process_time()
    for space in SECOND[: 1 if quick else 2]:
        kernel = hg.heat_kernel(space, "smooth", paths=2000, rng=0, cache=CACHE).as_positive_definite()
        compare(figures, kernel, hg.heat_kernel(space, "exact"), 1.01 * kernel.times[0])
    return f"{figures}, {clock.process_time() - seconds:.1f} s"


def volumes(quick: bool) -> str:
    """The integral of the areas of distance spheres over the volume, less one: SU(3), SO(7), SO(8), ranks 2, 3, 4."""
    spaces = (hg.SpecialUnitary(3), hg.SpecialOrthogonal(7), hg.SpecialOrthogonal(8))
    return ", ".join(f"{float(found('ball_volume')(space, 100.0)) / space.volume - 1:+.0e}" for space in spaces)


def reference(
    quick: bool, share: float | None = None, at: tuple[float, ...] = (1, 2), references: int = 60, spaces: int = 3
) -> str:
    """The kernel through 60 reference points and 60,000 paths on S², T² and S³, at its shortest time and twice that."""
    figures, seconds = Figures(), clock.process_time()
    for space in (hg.Sphere(2), hg.Torus(2), hg.Sphere(3))[: 1 if quick else spaces]:
        truth = hg.heat_kernel(space, "exact")
        x = space.random(np.random.default_rng(5), 100)
        options: dict[str, Any] = {"references": references, "paths": 1000 * references}
        if share is not None:
            shortest = 3 * (space.volume / references) ** (2 / space.dim)
            options |= {"times": [shortest, 4 * shortest], "epsilon": math.sqrt(share * shortest / 2)}
        for seed in range(1 if quick else 2):
            kernel = hg.heat_kernel(space, "reference", rng=seed, **options)
            for t in np.array(at) * kernel.times[0]:
                peak = float(truth.diag(x[:1], t)[0])
                figures.add(kernel(x, time=t), kernel.standard_error(x, time=t), truth(x, time=t), peak)
    return f"{figures}, {clock.process_time() - seconds:.0f} s"


def last_step(quick: bool, share: float = 0.75) -> str:
    """The same at its shortest time alone, the last step being so large a part of the half time."""
    return reference(quick, share=share, at=(1,))


def late(quick: bool) -> str:
    """The same with 200 reference points of S², at 6 and 12 times the shortest time; usually the table ends at 8."""
    return reference(quick, at=(6, 12), references=200, spaces=1)


def fibre(quick: bool, elements: float = 4.0) -> str:
    """Frames at the time with so many elements for each patch of the fibre, against 16 cosets on both sides."""
    figures, rng = Figures(), np.random.default_rng(3)
    frames = (hg.Stiefel(5, 2), hg.Stiefel(4, 2, "complex"), hg.Stiefel(6, 2))
    for M in frames[: 1 if quick else None]:
        size = M.n - M.k
        dim = size**2 if M.is_complex else size * (size - 1) // 2
        for number in (1, 2):
            kernel = hg.heat_kernel(M, fibre=number)
            t = kernel.times[0] * (elements / 4) ** (2 / dim)
            x = M.origin[None]
            y = np.concatenate([x, hg.walk(M, M.origin, t, paths=8, step=t / 16, rng=rng)[0]])
            truth = hg.heat_kernel(M, fibre=16).pairs(x, y)(t)
            pairs = kernel.pairs(x, y)
            figures.add(pairs(t), pairs.error(t), truth, truth[0, 0])
    return str(figures)


# Manifolds of the user's: rates of one step in the uniform law, where E (f(x') - f(x))² / 2 E f² = 1 - exp(-λδ/2).

INNER, OUTER = 1.0, 1.3
"""Radii of the ring that is the channel."""


def ring_eigenvalue() -> float:
    """The first λ of the ring whose function is R(r) cos φ, no flux through its edges."""

    def flux(k: float) -> float:
        return jvp(1, k * INNER) * yvp(1, k * OUTER) - jvp(1, k * OUTER) * yvp(1, k * INNER)

    return brentq(flux, 0.5, 1.5) ** 2


def ring_function(x: np.ndarray) -> np.ndarray:
    k, r = math.sqrt(ring_eigenvalue()), np.hypot(x[..., 0], x[..., 1])
    return (jv(1, k * r) * yvp(1, k * INNER) - yv(1, k * r) * jvp(1, k * INNER)) * x[..., 0] / r


def rate_error(M: Any, f: Callable, eigenvalue: float, step: float, draws: int) -> str:
    """The rate of one step, less one. What the flat step z·grad f gives is known and is taken out of the noise."""
    rng = np.random.default_rng(0)
    x, h = M.random(rng, draws), 1e-5
    z = rng.standard_normal((draws, *M.step_shape))
    v = M.noise(x, math.sqrt(step) * z)
    flat = (f(x + h * v) - f(x - h * v)) / (2 * h)
    scale = 2 * np.mean(f(x) ** 2) * (1 - math.exp(-eigenvalue * step / 2))
    rest = ((f(M.step(x, z, step)) - f(x)) ** 2 - flat**2) / scale
    known = eigenvalue * step / 2 / (1 - math.exp(-eigenvalue * step / 2))
    return f"{known - 1 + rest.mean():+.4f} ± {rest.std() / math.sqrt(draws):.4f}"


def channel_polygon(quick: bool, share: float = 5) -> str:
    """The rate along a ring of radii 1 and 1.3, a polygon of 2 x 48 edges; steps of (width / share)²."""
    turn = 2 * np.pi * np.arange(48) / 48
    circle = np.stack((np.cos(turn), np.sin(turn)), axis=1) * (1 + (np.pi / 48) ** 2 / 3)  # of mean radius one
    M = hg.Domain(hg.Euclidean(2), [OUTER * circle, INNER * circle])
    return rate_error(M, ring_function, ring_eigenvalue(), (M.width / share) ** 2, 5_000 if quick else 60_000)


def between(x: np.ndarray) -> np.ndarray:
    r = np.sqrt((x * x).sum(-1))
    return np.minimum(r - INNER, OUTER - r)


def channel_signed(quick: bool, share: float = 10) -> str:
    """The same ring by a function."""
    M = hg.Domain(hg.Euclidean(2), between, bounds=((-1.4, 1.4), (-1.4, 1.4)))
    return rate_error(M, ring_function, ring_eigenvalue(), (M.width / share) ** 2, 5_000 if quick else 60_000)


def truth_values(x: np.ndarray) -> np.ndarray:
    return (x[..., 0] > 0) & (x[..., 0] < 1) & (x[..., 1:] > 0).all(-1) & (x[..., 1:] < 0.3).all(-1)


def channel_rejected(quick: bool, share: float = 40) -> str:
    """The rate along a channel of R^4, 0.3 wide, by truth values: steps that lead out are not taken."""
    M = hg.Domain(hg.Euclidean(4), truth_values, bounds=((0, 1), *((0, 0.3),) * 3))
    step = (M.width / share) ** 2
    return rate_error(M, lambda x: np.cos(np.pi * x[..., 0]), np.pi**2, step, 5_000 if quick else 60_000)


def raster(quick: bool) -> str:
    """The ring by truth values, of which a raster is made."""
    M = hg.Domain(hg.Euclidean(2), lambda x: between(x) > 0, bounds=((-1.4, 1.4), (-1.4, 1.4)))
    return rate_error(M, ring_function, ring_eigenvalue(), (M.width / 10) ** 2, 5_000 if quick else 60_000)


def unit_sphere(x: np.ndarray) -> np.ndarray:
    return (x * x).sum(-1) - 1


def spheroid(x: np.ndarray) -> np.ndarray:
    return x[..., 0] ** 2 + x[..., 1] ** 2 + x[..., 2] ** 2 / 4 - 1


def torus(x: np.ndarray) -> np.ndarray:
    return (np.hypot(x[..., 0], x[..., 1]) - 2) ** 2 + x[..., 2] ** 2 - 1


def volume_of_tube(quick: bool) -> str:
    """Relative errors of the volumes of a sphere, a spheroid of half-axes 1, 1, 2 and a torus of radii 2, 1."""
    e = math.sqrt(1 - 1 / 4)
    areas = {unit_sphere: 4 * np.pi, spheroid: 2 * np.pi * (1 + 2 / e * math.asin(e)), torus: 8 * np.pi**2}
    surfaces = list(areas.items())[: 1 if quick else None]
    return ", ".join(f"{hg.Implicit(g, 2, 3).volume / area - 1:+.4f}" for g, area in surfaces)


def turning(quick: bool) -> str:
    """A geodesic of the spheroid through both poles, which closes after the perimeter of its ellipse."""
    M, seconds = hg.Implicit(spheroid, 2, 3), clock.process_time()
    length = 4 * 2 * ellipe(1 - 1 / 4)
    gap = M.exp(np.array([1.0, 0, 0]), np.array([0, 0, length])) - [1, 0, 0]
    return f"{np.abs(gap).max():.1e}, {clock.process_time() - seconds:.2f} s"


def sphere_metric(x: np.ndarray) -> np.ndarray:
    one = np.ones_like(x[..., 0])
    return np.stack((np.stack((one, 0 * one), -1), np.stack((0 * one, np.sin(x[..., 0]) ** 2), -1)), -2)


def over_the_poles(x: np.ndarray) -> np.ndarray:
    theta = np.remainder(x[..., 0], 2 * np.pi)
    far = theta > np.pi
    return np.stack((np.where(far, 2 * np.pi - theta, theta), np.where(far, x[..., 1] + np.pi, x[..., 1])), axis=-1)


def chart() -> Any:
    return hg.Chart(sphere_metric, 2, periodic=(None, 2 * np.pi), bounds=((0, np.pi), None), wrap=over_the_poles)


def on_sphere(p: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(p[:, 0]) * np.cos(p[:, 1]), np.sin(p[:, 0]) * np.sin(p[:, 1]), np.cos(p[:, 0])], -1)


def drifting(quick: bool, drift: float = 1e-9) -> str:
    """Geodesics of length one of the sphere in angles, from uniform points, against the sphere."""
    M, rng, h = chart(), np.random.default_rng(0), 1e-5
    x = M.random(rng, 100 if quick else 1000)
    v = M.noise(x, rng.standard_normal(x.shape))
    v /= np.sqrt(M.square(x, v))[:, None]
    tangent = (on_sphere(x + h * v) - on_sphere(x - h * v)) / (2 * h)
    seconds = clock.process_time()
    y = M.canonical(M.geodesic(x, v, drift)[0])
    seconds = clock.process_time() - seconds
    gap = np.abs(on_sphere(y) - hg.Sphere(2).exp(on_sphere(x), tangent)).max(axis=1)
    return f"median {np.median(gap):.1e}, largest {gap.max():.1e}, {seconds:.2f} s"


def stepping(quick: bool) -> str:
    """Steps of time 0.01 on the sphere in angles: error of the rate of the height; share of lengths 10 % off."""
    M, rng, draws = chart(), np.random.default_rng(1), 5_000 if quick else 60_000
    rate = rate_error(M, lambda x: np.cos(x[..., 0]), 2.0, 0.01, draws)
    x = M.random(rng, draws)
    z = rng.standard_normal(x.shape)
    seconds = clock.process_time()
    y = M.step(x, z, 0.01)
    seconds = clock.process_time() - seconds
    length = hg.Sphere(2).distance(on_sphere(x), on_sphere(y)) / (0.1 * np.hypot(z[:, 0], z[:, 1]))
    return f"{rate}, {np.mean(np.abs(length - 1) > 0.1):.1e}, {seconds:.2f} s"


# Gaussian processes.


def propagation(quick: bool) -> str:
    """Mean and largest number of rounds of expectation propagation, over amplitudes and times."""
    real, rounds, damping, memory = found("matching_sites"), [], found("DAMPING"), found("MEMORY")
    quarters = ((damping, memory), (damping, 0), (damping / 2, 0), (damping / 2, memory))
    rng = np.random.default_rng(0)
    X = hg.Sphere(2).random(rng, 60 if quick else 200)
    labels = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(len(X)) > 0, 1, -1)
    for amplitude in (1.0, 10.0, 100.0, 1000.0):
        for t in (0.03, 0.3, 3.0):
            count = [0]

            def counted(*args: Any, count: list[int] = count) -> Any:
                count[0] += 1
                return real(*args)

            with changed("matching_sites", counted), changed("QUARTERS", quarters), contextlib.suppress(NotConverged):
                hg.GPClassifier(hg.Sphere(2), time=t, amplitude=amplitude, label_noise=0.0).fit(X, labels)
            rounds.append(count[0])
    return f"mean {np.mean(rounds):.1f}, most {max(rounds)}"


def searching(quick: bool) -> str:
    """The sum of the log evidences found in four fits of 600 points of S², and seconds."""
    values, seconds = [], clock.process_time()
    for seed in range(1 if quick else 4):
        rng = np.random.default_rng(seed)
        X = hg.Sphere(2).random(rng, 300 if quick else 600)
        y = np.sin((2 + 3 * seed) * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
        values.append(hg.GPRegressor(hg.Sphere(2)).fit(X, y).log_marginal_likelihood())
    return f"{np.sum(values):.3f}, {clock.process_time() - seconds:.1f} s"


Measure = Callable[..., str]
Values = tuple[Any, Any, Any]
GROUPS: dict[str, list[tuple[Measure, dict[str, Values]]]] = {
    "smooth": [
        (
            smooth,
            {
                "prior": (1 / 1440, 1 / 720, 1 / 360),
                "bend": (1 / 8, 1 / 4, 1 / 2),
                "rate": (1 / 30, 1 / 15, 2 / 15),
                "MASS_TOLERANCE": (0.5e-4, 1e-4, 2e-4),
                "horizon": (0.5e-3, 1e-3, 2e-3),
                "times": (3, 6, 12),
                "first": (0.125, 0.25, 0.5),
                "steps": (32, 64, 128),
                "POWERS": (
                    ((2, 0), (2, 1)),
                    ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1)),
                    ((2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (3, 1), (3, 2), (4, 0), (4, 1)),
                ),
            },
        ),
        (interpolation, {"INTERVALS": ({1: 2048, 2: 64, 3: 24}, {1: 4096, 2: 128, 3: 48}, {1: 8192, 2: 256, 3: 64})}),
    ],
    "counting": [
        (
            counting,
            {
                "width": (0.5, 1.0, 2.0),
                "NODES": ({1: 1000, 2: 32, 3: 10}, {1: 2000, 2: 64, 3: 20}, {1: 4000, 2: 128, 3: 40}),
                "QUADRATURE": ({1: 12, 2: 6, 3: 3}, {1: 24, 2: 12, 3: 6}, {1: 48, 2: 24, 3: 12}),
            },
        ),
        (at_peak, {"ENOUGH": (15, 30, 60)}),
        (fading, {"FADE": (1.25, 1.5, 2.0)}),
        (modes, {"MOST_MODES": (200, 400, 800), "MISSING": (0.5e-5, 1e-5, 2e-5)}),
        (volumes, {"DIRECTIONS": (2048, 4096, 8192)}),
    ],
    "reference": [
        (
            reference,
            {
                "CELLS": (3, 5, 10),
                "REACH": (2.0, 3.0, 6.0),
                "AVERAGES": (12, 24, 48),
                "RESOLUTION": (1.5, 3.0, 6.0),
                "GROUPS": (2, 4, 8),
                "GRID": (1.25, 1.5, 2.0),
            },
        ),
        (last_step, {"share": (0.375, 0.75, 0.9)}),
    ],
    "cells": [
        (
            reference,
            {
                "CHECKED": (128, 256, 512),
                "STEP": (1 / 800, 1 / 400, 1 / 200),
                "POOL": (4, 8, 16),
                "SAMPLE": (100, 200, 400),
                "MEMBERS": (24, 48, 96),
            },
        ),
        (late, {"LEVEL": (1 / 16, 1 / 8, 1 / 4), "SPREAD": ((2.0, 4.0), (4.0, 16.0), (16.0, 32.0))}),
    ],
    "fibre": [(fibre, {"elements": (2.0, 4.0, 8.0), "WITNESSES": (2, 4, 8)})],
    "own": [
        (channel_polygon, {"share": (2.5, 5, 10)}),
        (channel_signed, {"share": (5, 10, 20)}),
        (channel_rejected, {"share": (20, 40, 80)}),
        (raster, {"RASTER": ({2: 256}, {2: 512}, {2: 1024})}),
        (volume_of_tube, {"TUBE": (0.025, 0.05, 0.1)}),
        (turning, {"TURN": (1 / 24, 1 / 12, 1 / 6)}),
        (drifting, {"drift": (1e-10, 1e-9, 1e-8)}),
        (stepping, {"STEP_DRIFT": (3e-4, 3e-3, 3e-2), "STEP_SUBSTEPS": ((4,), (16,), (16, 256))}),
    ],
    "gp": [
        (propagation, {"DAMPING": (0.35, 0.7, 1.0), "MEMORY": (2, 5, 10)}),
        (searching, {"SUBSET": (125, 250, 500), "TIMES": (6, 12, 24)}),
    ],
}
"""What is measured, and the constants, or arguments, it is measured at: less, the package's own value, more."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help="few seeds and spaces: figures mean nothing")
    parser.add_argument("--only", help="one constant")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for group in options.groups or GROUPS:
        start = clock.perf_counter()
        for measure, knobs in GROUPS[group]:
            if options.only and options.only not in knobs:
                continue
            print(f"\n{group}: {(measure.__doc__ or measure.__name__).splitlines()[0]}\n", flush=True)
            print(f"| name | less | figure | value | figure | more | figure |\n|{' --- |' * 7}", flush=True)
            usual = measure(options.quick)
            for name, (less, value, more) in knobs.items():
                if options.only in (None, name):
                    low, high = (at(measure, name, other, options.quick) for other in (less, more))
                    cells = (f"`{name}`", text(less), low, text(value), usual, text(more), high)
                    print(f"| {' | '.join(cells)} |", flush=True)
        print(f"\n{group}: {clock.perf_counter() - start:.0f} s")


def at(measure: Measure, name: str, value: Any, quick: bool) -> str:
    if name not in MODULE:
        return measure(quick, **{name: value})
    with changed(name, value):
        return measure(quick)


def text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
