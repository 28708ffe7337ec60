"""The parameters of a Gaussian process: time, amplitude and noise, and which of them are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import EXTREME, is_list, is_number, shown
from ..covariance import Array, Kernel
from ..errors import InvalidInput

Time = float | tuple[float, ...]

LARGEST_VARIANCE = 1e280
"""The square of the largest target."""


@dataclass(frozen=True)
class Params:
    """The covariance of observations: amplitude * k(x, y; time) + noise * [same observation].

    Parameters
    ----------
    time : positive number; a tuple for a kernel that takes several times, or none.
    amplitude : positive number, a variance; of several outputs an array (p,).
    noise : number of at least 0, a variance, default 0; of several outputs an array (p,).

    Raises
    ------
    InvalidInput : if a value is outside its range.

    Examples
    --------
    >>> Params(time=0.1, amplitude=2.0, noise=0.01).amplitude
    2.0
    """

    time: Time
    amplitude: Any
    noise: Any = 0.0

    def __post_init__(self) -> None:
        times = np.asarray(self.time, dtype=float)
        if not np.all((times > 0) & np.isfinite(times)):
            raise InvalidInput(f"time = {shown(self.time)} must be positive and finite. Give None to learn it.")
        if not np.all((times >= 1 / EXTREME) & (times <= EXTREME)):
            raise InvalidInput(
                f"time = {shown(self.time)} is not from {1 / EXTREME:g} to {EXTREME:g}. Change the unit."
            )
        if max(np.max(self.amplitude), np.max(self.noise)) > LARGEST_VARIANCE:
            raise InvalidInput(
                f"amplitude = {shown(self.amplitude)}, noise = {shown(self.noise)}: variances beyond "
                f"{LARGEST_VARIANCE:g} leave floating point when they are multiplied. Change the unit of y."
            )
        for name, value, least in ("amplitude", self.amplitude, "positive"), ("noise", self.noise, "0 or positive"):
            low, high = np.min(value), np.max(value)
            if not 0 <= low <= high < np.inf or (least == "positive" and low == 0):
                raise InvalidInput(
                    f"{name} = {value} is a variance and must be {least} and finite. Give None to learn it."
                )

    def __getitem__(self, output: int) -> Params:
        """The parameters of one output."""
        return Params(self.time, float(self.amplitude[output]), float(self.noise[output]))


@dataclass(frozen=True)
class Given:
    """The parameters that are held fixed; those that are None are learned."""

    time: tuple[float | None, ...]
    amplitude: float | None
    noise: float | None
    names: tuple[str, ...] = ()
    """What the kernel calls its numbers, for messages."""

    @classmethod
    def of(cls, kernel: Kernel, time: Any, amplitude: float | None, noise: float | None) -> Given:
        """Checked values; one `time` for all times of the kernel, or one for each. Weights are learned unless given."""
        count = kernel.parameters
        own = count - kernel.weight_parameters
        times = tuple(time) if is_list(time) else (time,) * own
        if len(times) == own:
            times += (None,) * kernel.weight_parameters
        if not all(t is None or is_number(t) for t in times):
            raise InvalidInput(f"time = {shown(time)} must be a number, or None to learn it.")
        for name, value in (("amplitude", amplitude), ("noise", noise)):
            if not (value is None or is_number(value)):
                raise InvalidInput(f"{name} = {shown(value)} must be a finite number, or None to learn it.")
        if len(times) != count:
            raise InvalidInput(f"time = {shown(time)} has {len(times)} values; the kernel has {own}.")
        known = [None if value is None else float(value) for value in (amplitude, noise)]
        given = cls(times, known[0], known[1], kernel.names)
        # checks what is given; a one in the place of what is learned
        Params(given.times(np.zeros(count)), 1.0 if amplitude is None else amplitude, 0.0 if noise is None else noise)
        return given

    @property
    def params(self) -> Params | None:
        """The parameters, None where one of them is to be learned."""
        if self.free or self.amplitude is None or self.noise is None:
            return None
        return Params(self.times(np.empty(0)), self.amplitude, self.noise)

    @property
    def free(self) -> list[int]:
        """The numbers of the times that are learned."""
        return [k for k, t in enumerate(self.time) if t is None]

    @property
    def time_names(self) -> list[str]:
        """The names of the times and weights that are learned."""
        return [self.names[k] for k in self.free]

    def times(self, z: Array) -> Time:
        """The kernel's time (a number if it has one, else a tuple); exp of the first coordinates of z where learned."""
        learned = iter(np.exp(z))
        times = tuple(float(next(learned)) if t is None else float(t) for t in self.time)
        return times[0] if len(times) == 1 else times
