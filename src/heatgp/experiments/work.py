"""Units of work, done in parallel and written to a file one by one: a run can be stopped and continued."""

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from tqdm import tqdm

from ..errors import HeatGPWarning
from .experiment import Experiment, Scores, Unit


def compute(experiment: Experiment, units: Sequence[Unit], folder: Path, jobs: int) -> dict[Unit, Scores]:
    """The scores of all units: those that the folder has from an earlier run, and the others now."""
    ledger = Ledger(folder / f"{experiment.name}.jsonl", code_digest())
    missing = [unit for unit in units if unit.key not in ledger.scores]
    done = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(quietly)(experiment.run, unit) for unit in missing
    )
    for unit, scores in tqdm(done, desc=experiment.name, total=len(missing), disable=None, leave=False):
        ledger.add(unit.key, scores)
    return {unit: ledger.scores[unit.key] for unit in units}


def quietly(run: Callable[[Unit], Scores], unit: Unit) -> tuple[Unit, Scores]:
    """Run a unit without the library's warnings: what they warn of, the scores measure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatGPWarning)
        return unit, run(unit)


class Ledger:
    """A file with a line for each finished unit.

    A line is there whole or, after a crash, as a torn last line that does not count. The first line names the code
    that found the scores: those of other code are not used.
    """

    def __init__(self, path: Path, code: str) -> None:
        self.path = path
        self.scores: dict[str, Scores] = {}
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        *whole, _ = text.split("\n")  # what follows the last end of a line is torn
        if whole[:1] == [json.dumps(code)]:
            self.scores = dict(json.loads(line) for line in whole[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(code), *(json.dumps(item) for item in self.scores.items())]
        write_whole(path, "".join(f"{line}\n" for line in lines))

    def add(self, key: str, scores: Scores) -> None:
        self.scores[key] = scores
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([key, scores]) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file such that it is there as a whole or, after a crash, not at all."""
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


@cache
def code_digest() -> str:
    """A digest of the library's own source."""
    digest = hashlib.sha256()
    source = Path(__file__).parent.parent
    for file in sorted(source.rglob("*.py")):
        digest.update(file.relative_to(source).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()
