"""Long work speaks: a progress bar in a terminal, elsewhere lines of the logger "heatgp".

The lines have level INFO. They go where `logging` was told to send them; where it was told nothing, to standard error.
`logging.getLogger("heatgp").setLevel("WARNING")` silences them.
"""

import logging
import sys
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from tqdm import tqdm

LONG = 20.0
"""Seconds from which on work is announced."""
FIRST_LINE = 10.0
"""Seconds after which the first line says how far the work is; each later one comes after twice the time."""

log = logging.getLogger("heatgp")


class LastResort(logging.Handler):
    """Writes to standard error where nobody has told `logging` where to write."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers and log.handlers == [self]:
            sys.stderr.write(f"{record.name}: {self.format(record)}\n")


if log.level == logging.NOTSET:  # a level that the user has set stays
    log.setLevel(logging.INFO)
log.addHandler(LastResort())


def tracked(items: Iterable[Any], total: int, what: str, show: bool | None = None) -> Iterator[Any]:
    """The items one after the other, with a progress bar in a terminal and lines of the log elsewhere.

    Parameters
    ----------
    items : iterable whose items are about equal amounts of work.
    total : int, how many there are.
    what : str, the work.
    show : bool, default None. True shows the bar everywhere, False shows neither bar nor lines.

    Yields
    ------
    The items. Work of less than two seconds shows no bar, work of less than LONG seconds no line.

    Examples
    --------
    >>> list(tracked("ab", 2, "letters"))
    ['a', 'b']
    """
    bar = tqdm(items, total=total, desc=what, disable=None if show is None else not show, delay=2, leave=False)
    if not bar.disable or show is False:
        yield from bar
        return
    start, next_line = clock.monotonic(), FIRST_LINE
    for number, item in enumerate(items, 1):
        yield item
        spent = clock.monotonic() - start
        left = spent * (total - number) / number
        if spent >= next_line and spent + left > LONG:
            log.info("%s: %.0f %% done, about %s left", what, 100 * number / total, duration(left))
            next_line = 2 * spent


@contextmanager
def heartbeat(what: str | Callable[[], str]) -> Iterator[None]:
    """Lines of the log during work whose end cannot be told: after LONG seconds, then at least once a minute.

    Parameters
    ----------
    what : str, the work, or a function that says it when a line is written.

    Examples
    --------
    >>> with heartbeat("a short sum"):
    ...     sum(range(9))
    36
    """
    done, start = Event(), clock.monotonic()

    def speak() -> None:
        while not done.wait(min(60.0, max(LONG, clock.monotonic() - start))):
            log.info("%s: at work for %s", what() if callable(what) else what, duration(clock.monotonic() - start))

    Thread(target=speak, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def duration(seconds: float) -> str:
    """Seconds in the unit that a person would use.

    >>> duration(42.2), duration(600), duration(9000), duration(1e6), duration(1e12)
    ('42 s', '10 min', '2.5 hours', '12 days', '32,000 years')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    units = (("min", 60.0, 7200.0), ("hours", 3600.0, 172_800.0), ("days", 86_400.0, 6.3e7))
    name, unit = next(((name, unit) for name, unit, below in units if seconds < below), ("years", 3.156e7))
    return f"{float(f'{seconds / unit:.2g}'):,.10g} {name}"
