"""Units of work, done in parallel and written down one by one: a run can be stopped and started again."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from tqdm import tqdm

from ..errors import HeatGPWarning

Scores = dict[str, Any]
"""What a unit finds: numbers are metrics, lists are for pictures."""
Figures = Mapping[tuple[str, str, str], tuple[float, float]]
"""Mean and standard deviation that the paper states, by setting, method and metric."""


@dataclass(frozen=True)
class Unit:
    """One method on one data set or split of a setting; `options` is all else that determines its scores."""

    setting: str
    method: str
    repetition: int
    options: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        return dict(self.options)[name]

    @property
    def key(self) -> str:
        return json.dumps([self.setting, self.method, self.repetition, self.options])


@dataclass(frozen=True)
class Plan:
    """The units of an experiment, and what is left out and why."""

    units: tuple[Unit, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: what to compute, how, what the paper found, and how to show it."""

    name: str
    title: str
    plan: Callable[[Any], Plan]
    run: Callable[[Unit], Scores]
    present: Callable[[Any], Any]
    paper: Figures = field(default_factory=dict)
    conclude: Callable[[Any], Sequence[Any]] | None = None
    """Rows of the table that need all units together."""


def compute(experiment: Experiment, units: Sequence[Unit], folder: Path, jobs: int) -> dict[Unit, Scores]:
    """The scores of all units: those that the folder has from an earlier run, and the others now."""
    ledger = Ledger(folder / f"{experiment.name}.jsonl", code_digest())
    missing = [unit for unit in units if unit.key not in ledger.scores]
    done = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(quietly)(experiment.run, unit) for unit in missing
    )
    for unit, scores in _progress(done, experiment.name, len(missing)):
        ledger.add(unit.key, scores)
    return {unit: ledger.scores[unit.key] for unit in units}


def quietly(run: Callable[[Unit], Scores], unit: Unit) -> tuple[Unit, Scores]:
    """Bounds of a search and counts too few are what these experiments measure: the scores say how bad they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatGPWarning)
        return unit, run(unit)


def _progress(done: Any, name: str, total: int) -> Iterator[tuple[Unit, Scores]]:
    return iter(tqdm(done, desc=name, total=total, disable=None, leave=False))


class Ledger:
    """A file with a line for each finished unit.

    A line is there whole or, after a crash, as a torn last line that does not count. The first line names the code
    that found the scores: those of other code are not used.
    """

    def __init__(self, path: Path, code: str) -> None:
        self.path = path
        self.scores: dict[str, Scores] = {}
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        whole = [line for line in text.split("\n")[:-1] if line]
        if whole[:1] == [json.dumps(code)]:
            self.scores = dict(json.loads(line) for line in whole[1:])
            if text.endswith("\n"):
                return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        lines = [json.dumps(code), *(json.dumps(item) for item in self.scores.items())]
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part.replace(path)

    def add(self, key: str, scores: Scores) -> None:
        self.scores[key] = scores
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([key, scores]) + "\n")


@cache
def code_digest() -> str:
    """A digest of the library's own source."""
    digest = hashlib.sha256()
    source = Path(__file__).parent.parent
    for file in sorted(source.rglob("*.py")):
        digest.update(file.relative_to(source).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()
