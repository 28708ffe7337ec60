"""What an experiment is: units of work, what they found, and how that is shown."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from matplotlib.figure import Figure

from ..baselines import rows

Scores = dict[str, Any]
"""What a unit finds: numbers are metrics, lists are for pictures."""
Figures = Mapping[tuple[str, str, str], tuple[float, float]]
"""Mean and standard deviation that the paper states, by setting, method and metric."""
Line = Sequence[str]
"""Cells of one line of a table."""


@dataclass(frozen=True)
class Row(rows.Row):
    """The row of a setting of an experiment, with the mean that the paper states; nan where it states none."""

    experiment: str = ""
    setting: str = ""
    paper: float = math.nan


@dataclass(frozen=True)
class Unit:
    """One method on one data set or split of a setting; `options` is all else that determines its scores."""

    setting: str
    method: str
    repetition: int
    options: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """A field or an option by name."""
        return {**vars(self), **dict(self.options)}[name]

    @property
    def key(self) -> str:
        return json.dumps([self.setting, self.method, self.repetition, self.options])


@dataclass(frozen=True)
class Options:
    """What a run is asked for."""

    quick: bool = False
    dti: str | None = None
    """A file with diffusion tensors, in place of the stand-in."""

    @property
    def repetitions(self) -> int:
        return 3 if self.quick else 10

    @property
    def paths(self) -> int:
        return 5_000 if self.quick else 20_000

    def units(self, settings: Sequence[str], methods: Sequence[str]) -> list[Unit]:
        """Every method in every setting, repeated; estimated kernels have `paths` paths."""
        places = product(settings, methods, range(self.repetitions))
        return [Unit(*place, (("paths", self.paths),)) for place in places]


@dataclass(frozen=True)
class Plan:
    """The units of an experiment, what is left out and why, and the paper's figures for the same data."""

    units: Sequence[Unit]
    left_out: tuple[str, ...] = ()
    paper: Figures = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a run has found."""

    rows: tuple[Row, ...]
    scores: dict[Unit, Scores]
    options: Options
    paper: Figures = field(default_factory=dict)

    def select(self, **wanted: Any) -> list[Scores]:
        """The scores of the units whose fields and options have these values."""
        return [s for u, s in self.scores.items() if all(u[name] == value for name, value in wanted.items())]

    def kept(self, setting: str, method: str) -> Scores:
        """The scores of the first repetition, empty where there is none."""
        return next(iter(self.select(setting=setting, method=method, repetition=0)), {})


@dataclass(frozen=True)
class Grid:
    """A table; lines whose first cell starts with "paper" are the paper's."""

    caption: str
    header: tuple[str, ...]
    lines: Sequence[Line]


@dataclass(frozen=True)
class Section:
    """Text (paragraphs between empty lines, `code` in backticks), tables and pictures of one experiment."""

    text: str = ""
    tables: Sequence[Grid] = ()
    pictures: Mapping[str, Figure] = field(default_factory=dict)
    """By the name of their files; captions.csv says what they show."""
    left_out: tuple[str, ...] = ()
    """Reasons why a part, or all of it, could not run."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: what to compute, how, and how to show it."""

    name: str
    title: str
    plan: Callable[[Options], Plan]
    run: Callable[[Unit], Scores]
    present: Callable[[Outcome], Section]
    conclude: Callable[[Outcome], Sequence[Row]] = lambda outcome: ()
    """Rows of the table that need all units together."""
