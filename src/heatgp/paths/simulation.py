"""What determines simulated paths besides their start: the steps, their number and the seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import as_times, check_count, check_flag, check_jobs, check_seed, is_integer, is_number
from ..errors import InvalidInput

Seed = int | tuple[int, ...] | np.random.Generator | np.random.SeedSequence | None
"""What `rng` may be; a tuple is what `entropy` returned for another seed."""

MOST_STEPS = 1e12
"""Steps of one path beyond which nobody waits for its end: each takes a microsecond at least, so this takes days."""

Times = Sequence[float] | np.ndarray | float


@dataclass(frozen=True)
class Schedule:
    """The steps of a walk: `counts[k]` of length `step`, the last one shortened to `lasts[k]`, lead to `times[k]`."""

    times: tuple[float, ...]
    step: float
    counts: tuple[int, ...]
    lasts: tuple[float, ...]

    def faster(self, factor: float) -> Schedule:
        """The same steps in times divided by the factor."""
        times, lasts = (tuple(t / factor for t in part) for part in (self.times, self.lasts))
        return Schedule(times, self.step / factor, self.counts, lasts)


def schedule(times: Times, step: float, *, shorten_first: bool = False) -> Schedule:
    """The steps that end exactly at each time, or an error about the times or the step.

    A step that is longer than the first time is an error, unless the first step may be shortened.
    """
    t = np.atleast_1d(as_times(times))
    if t[0] < 0:
        raise InvalidInput(f"times must not be negative; got {t[0]:g}. Brownian motion starts at time 0.")
    if (np.diff(t) <= 0).any():
        k = int(np.argmax(np.diff(t) <= 0))
        raise InvalidInput(
            f"times must increase; times[{k}] = {t[k]:g} is followed by {t[k + 1]:g}. Pass numpy.unique(times)."
        )
    check_step(step)
    first = t[t > 0][0] if (t > 0).any() else math.inf
    if step > first * (1 + 1e-9) and not shorten_first:
        raise InvalidInput(
            f"step = {step:g} is larger than the first time {first:g}. Choose a step of at most {first:g}."
        )
    gaps = np.diff(t, prepend=0.0)
    if t[-1] > MOST_STEPS * step:
        raise InvalidInput(
            f"step = {step:g} takes {t[-1] / step:.1e} > {MOST_STEPS:g} steps to time {t[-1]:g}. Choose a longer one."
        )
    counts = np.ceil(gaps / step - 1e-9).astype(int)
    lasts = np.where(counts > 0, gaps - (counts - 1) * step, 0.0)
    return Schedule(tuple(t.tolist()), float(step), tuple(counts.tolist()), tuple(lasts.tolist()))


def check_step(step: Any) -> None:
    """A positive number, or a clear error."""
    if not isinstance(step, (int, float, np.integer, np.floating)) or not is_number(step) or step <= 0:
        shown = "an integer beyond floating point" if is_integer(step) and step > 0 else repr(step)
        raise InvalidInput(f"step must be a positive number; got {shown}. A hundredth of the first time is a start.")


def entropy(rng: Seed) -> tuple[int, ...]:
    """The root of all random streams of one simulation: four or more words, the same for the same seed."""
    rng = check_seed(rng)
    if isinstance(rng, tuple):
        return rng
    if isinstance(rng, np.random.Generator):
        return tuple(int(word) for word in rng.integers(0, 2**32, 4))
    sequence = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    return tuple(int(word) for word in sequence.generate_state(4))


@dataclass(frozen=True)
class Simulation:
    """Paths to simulate: their steps, their number, the root of their random numbers; and how they are computed."""

    plan: Schedule
    paths: int
    root: tuple[int, ...]
    n_jobs: int | None = None
    chunk: int | None = None
    progress: bool | None = None
    cache: bool | str | Path = False
    """Whether, or in which folder, the paths' results are kept on disk: see `paths.kept`."""

    @classmethod
    def of(cls, times: Times, *, paths: int, step: float, rng: Seed, **how: Any) -> Simulation:
        """The simulation that the arguments of `walk` ask for, or an error that names the wrong one."""
        plan = schedule(times, step)
        check_count("paths", paths)
        check_jobs(how.get("n_jobs"))
        if how.get("progress") is not None:
            check_flag("progress", how["progress"])
        return cls(plan, paths, entropy(rng), **how)

    def require_positive_times(self) -> None:
        """Kernels have no value at time zero."""
        if self.plan.times[0] <= 0:
            raise InvalidInput(f"times must be positive: at time {self.plan.times[0]:g} the kernel is no function.")
