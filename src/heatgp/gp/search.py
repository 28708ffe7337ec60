"""Maximising an evidence over the logs of the parameters that are not given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from ..errors import InvalidInput, NotConverged, NotPositiveDefinite
from .kernel import Params, Time

Array = np.ndarray
Objective = Callable[[Array], tuple[float, Array]]  # log parameters -> the evidence and its gradient


@dataclass(frozen=True)
class Given:
    """What is held fixed; None is learned."""

    time: tuple[float | None, ...]
    amplitude: float | None
    noise: float | None
    scalar: bool  # the kernel takes its one time as a number

    @classmethod
    def of(cls, kernel: Any, time: Any, amplitude: float | None, noise: float | None) -> Given:
        count = kernel.parameters
        times = (time,) * count if np.ndim(time) == 0 else tuple(time)
        if not all(t is None or isinstance(t, Real) for t in times):
            raise InvalidInput(f"time = {time!r} must be a number, or None to learn it.")
        if len(times) != count:
            raise InvalidInput(f"time = {time} has {len(times)} values; the kernel has {count}.")
        some = tuple(1.0 if t is None else float(t) for t in times)
        Params(  # checks what is given
            some[0] if count == 1 else some,
            1.0 if amplitude is None else amplitude,
            0.0 if noise is None else noise,
        )
        return cls(times, amplitude, noise, scalar=count == 1)

    @property
    def params(self) -> Params | None:
        """The parameters, None where something is to be learned."""
        if self.free or self.amplitude is None or self.noise is None:
            return None
        return Params(self.times(np.empty(0)), self.amplitude, self.noise)

    @property
    def free(self) -> list[int]:
        return [k for k, t in enumerate(self.time) if t is None]

    def times(self, z: Array) -> Time:
        """The kernel's time, the free ones being exp of the first coordinates of z."""
        learned = iter(np.exp(z))
        times = tuple(float(next(learned)) if t is None else float(t) for t in self.time)
        return times[0] if self.scalar else times


def scan_points(box: Array, count: int) -> Array:
    """Points (count, d) that fill a box (d, 2): equally spaced on an interval, a Sobol sequence in more dimensions."""
    if len(box) == 0:
        return np.empty((1, 0))
    if len(box) == 1:
        return np.linspace(box[0, 0], box[0, 1], count)[:, None]
    unit = qmc.Sobol(len(box), scramble=False).random(1 << (count * len(box) - 1).bit_length())
    return box[:, 0] + unit * (box[:, 1] - box[:, 0])


def well_apart(points: Array, values: Array, box: Array, count: int) -> list[Array]:
    """The best points, none within an eighth of the box of a better one: where the local maxima may be."""
    chosen: list[Array] = []
    for index in np.argsort(-values):
        near = [np.max(np.abs(points[index] - other) / np.ptp(box, axis=1), initial=0) < 0.125 for other in chosen]
        if np.isfinite(values[index]) and not any(near) and len(chosen) < count:
            chosen.append(points[index])
    return chosen or [points[0]]  # nothing worked anywhere: let the ascent say why


def attempt(objective: Objective, z: Array) -> tuple[float, Array]:
    """The objective, or -inf where the covariance cannot be factored or the inference did not converge."""
    try:
        return objective(z)
    except (NotPositiveDefinite, NotConverged):
        return -np.inf, np.zeros(len(z))


def ascend(objective: Objective, start: Array, box: Array, scale: float) -> tuple[float, Array]:
    """The local maximum reached from `start` by L-BFGS-B; `scale`, the number of data, makes tolerances relative."""
    if len(box) == 0:
        return objective(start)[0], start
    worst = 1e10  # finite, so that the line search steps back

    def downhill(z: Array) -> tuple[float, Array]:
        value, gradient = attempt(objective, z)
        return (-value / scale, -gradient / scale) if np.isfinite(value) else (worst, gradient)

    options = {"ftol": 1e-10, "gtol": 1e-6, "maxiter": 100}
    inside = np.clip(start, box[:, 0], box[:, 1])
    found = minimize(downhill, inside, jac=True, method="L-BFGS-B", bounds=box, options=options)
    if found.fun >= worst:
        objective(found.x)  # raises what went wrong
    return -float(found.fun) * scale, found.x


def climb(
    coarse: Objective, full: Objective, starts: Sequence[Array], box: Array, sizes: tuple[int, int]
) -> list[tuple[float, Array]]:
    """Local maxima, the best first: from every start on few data, and from the best two of those on all."""
    found = distinct([ascend(coarse, start, box, sizes[0]) for start in starts])
    if coarse is full:
        return found
    return distinct([ascend(full, z, box, sizes[1]) for _, z in found[:2]])


def distinct(found: list[tuple[float, Array]]) -> list[tuple[float, Array]]:
    """Sorted, and without those within 5 % of a better one."""
    kept: list[tuple[float, Array]] = []
    for value, z in sorted(found, key=lambda pair: -pair[0]):
        if not any(np.max(np.abs(z - other), initial=0) < 0.05 for _, other in kept):
            kept.append((value, z))
    return kept
