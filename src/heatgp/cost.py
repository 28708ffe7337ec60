"""What work costs, in seconds and bytes, said before it is done: hopeless work is refused, long work announced."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from .errors import InvalidInput
from .progress import LONG, duration, log

HOPELESS = 86_400.0
"""Seconds from which on work is refused: a day."""
UNCERTAIN = 3.0
"""Estimates of time may be too short by this factor: it is that of the tests."""
SMALL = 1 << 28
"""Bytes below which nobody asks how much memory there is."""
GROUP_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""Limit, use and cached files of a control group of Linux, in versions 2 and 1, by the name of the controller."""


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes that some work is estimated to take; the costs of two works add up.

    Examples
    --------
    >>> print(Cost(90, 2e9) + Cost(60, 1e9))
    about 2.5 min and 3 GB
    """

    seconds: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.bytes + other.bytes)

    def __str__(self) -> str:
        return f"about {duration(self.seconds)} and {size(self.bytes)}"

    def accept(self, what: str, remedy: str, announce: bool = True) -> None:
        """Refuse the work where it is hopeless, announce it in the log where it is long.

        Parameters
        ----------
        what : str, the work.
        remedy : str, what to do instead: a sentence.
        announce : bool, default True. False where the work may be in the cache already.

        Raises
        ------
        InvalidInput : for more memory than is available, and for more than a day, or than the hours that the
            environment variable HEATGP_MAX_HOURS allows.
        """
        check_memory(self.bytes, what, remedy)
        allowed = allowed_seconds()
        if self.seconds > allowed:
            limit = "a day" if allowed == HOPELESS else f"HEATGP_MAX_HOURS={allowed / 3600:g} allows"
            hours = f"{float(f'{math.ceil(self.seconds / 1800):.2g}'):.0f}" if self.seconds < math.inf else "inf"
            raise InvalidInput(
                f"{what} would take about {duration(self.seconds)}; more than {limit} is refused. {remedy} "
                f"Or set os.environ['HEATGP_MAX_HOURS'] = '{hours}' to run it nevertheless."
            )
        if announce and self.seconds > LONG:
            log.info("%s: about %s, and up to %s", what, duration(self.seconds), duration(UNCERTAIN * self.seconds))


def allowed_seconds() -> float:
    """How long work may take: a day, or the hours of the environment variable HEATGP_MAX_HOURS."""
    given = os.environ.get("HEATGP_MAX_HOURS")
    if not given:
        return HOPELESS
    try:
        hours = float(given)
    except ValueError:
        hours = math.nan
    if not hours > 0:
        raise InvalidInput(f"The environment variable HEATGP_MAX_HOURS must be a positive number; got {given!r}.")
    return 3600 * hours


def check_memory(number: float, what: str, remedy: str) -> None:
    """An error where arrays of so many bytes do not fit into the memory that is available.

    Parameters
    ----------
    number : float, bytes.
    what, remedy : str, as in `Cost.accept`.

    Raises
    ------
    InvalidInput : with both numbers.
    """
    if number < SMALL:
        return
    there = available_memory()
    if number > there:
        raise InvalidInput(f"{what} needs about {size(number)} of memory; {size(there)} are available. {remedy}")


def available_memory() -> float:
    """Bytes that can be allocated now: what the system has available, and what its limit leaves to this group.

    Infinite where the system does not say.
    """
    return min(_system_memory(), _group_memory())


def _system_memory() -> float:
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # Windows
        return math.inf


def _group_memory() -> float:
    """What the limits of a container or of a batch job leave; files that are only cached do not count."""
    root, own = Path("/sys/fs/cgroup"), [("", "/"), ("memory", "/")]
    try:
        lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
        own += [(kind, path) for _, kind, path in lines if kind in ("", "memory")]
    except (OSError, ValueError):  # no Linux
        return math.inf
    return min(_left_by(root / kind / path.lstrip("/"), GROUP_FILES[kind]) for kind, path in own)


def _left_by(group: Path, files: tuple[str, str, str]) -> float:
    """What the limit of one control group leaves, infinite where it has none."""
    try:
        limit, used = (float((group / name).read_text()) for name in files[:2])
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit - used + int(stat[files[2]])
    except (OSError, KeyError, ValueError):  # no such group, or the limit "max"
        return math.inf


def size(number: float) -> str:
    """Bytes in the unit that a person would use.

    >>> size(2.5e9), size(3e5), size(4e16)
    ('2.5 GB', '0.3 MB', '40,000 TB')
    """
    for name, unit in (("MB", 1e6), ("GB", 1e9)):
        if number < 1000 * unit:
            return f"{number / unit:.2g} {name}" if number < 100 * unit else f"{number / unit:.0f} {name}"
    return f"{float(f'{number / 1e12:.2g}'):,.10g} TB"
