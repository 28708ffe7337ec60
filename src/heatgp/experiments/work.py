"""Units of work, done in parallel and written to a file one by one: a run can be stopped and continued."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from tqdm import tqdm

from ..errors import HeatGPWarning, caught_warnings, warn
from ..whole_file import append_whole, write_bytes
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
    with caught_warnings(HeatGPWarning):
        return unit, run(unit)


class Ledger:
    """A file with a line for each finished unit: a checksum, the code that found the scores, the unit, the scores.

    Scores of other code are not used. A line whose checksum is wrong is left out, with a warning, and its unit is
    computed again; so is a torn last line, which a killed process may leave.
    """

    def __init__(self, path: Path, code: str) -> None:
        self.path, self.code = path, code
        self.scores: dict[str, Scores] = {}
        text = path.read_bytes() if path.is_file() else b""
        *whole, _ = text.split(b"\n")
        damaged = 0
        for line in whole:
            checksum, _, record = line.partition(b" ")
            if checksum != line_checksum(record):
                damaged += 1
                continue
            author, key, scores = json.loads(record)
            if author == code:
                self.scores[key] = scores
        if damaged:
            warn(
                f"{damaged} of {len(whole)} lines of {path} are damaged, or of an earlier version: what was there is "
                "computed again.",
                HeatGPWarning,
            )
        sound = b"".join(map(self._line, self.scores))
        if sound != text:
            write_bytes(path, sound)

    def add(self, key: str, scores: Scores) -> None:
        self.scores[key] = scores
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_whole(self.path, self._line(key))

    def _line(self, key: str) -> bytes:
        record = json.dumps([self.code, key, self.scores[key]]).encode()
        return line_checksum(record) + b" " + record + b"\n"


def line_checksum(record: bytes) -> bytes:
    """Sixteen digits that change with every digit of the record."""
    return hashlib.sha256(record).hexdigest()[:16].encode()


@cache
def code_digest() -> str:
    """A digest of the library's own source."""
    digest = hashlib.sha256()
    source = Path(__file__).parent.parent
    for file in sorted(source.rglob("*.py")):
        digest.update(file.relative_to(source).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()
