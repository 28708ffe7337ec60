"""Points and targets from .csv and .npz files, and predictions back into them."""

import csv
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..archive import read_arrays
from ..baselines.rows import csv_text
from ..errors import InvalidInput
from ..estimators import GPClassifier, GPRegressor
from ..whole_file import existing_file, whole_file, write_text


@dataclass(frozen=True)
class Table:
    """A file's columns of text (.csv) or arrays (.npz), by name."""

    path: str
    columns: dict[str, np.ndarray]

    @property
    def is_archive(self) -> bool:
        return Path(self.path).suffix == ".npz"

    def column(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise InvalidInput(f"{self.path} has no {name!r}; it has {', '.join(self.columns)}.")
        return self.columns[name]


def read_table(path: str) -> Table:
    """A .csv file with a header, or an .npz archive."""
    file = existing_file(path)
    if file.suffix == ".npz":
        return Table(path, read_arrays(path))
    if file.suffix != ".csv":
        raise InvalidInput(f"{path}: only .csv (with a header) and .npz are read.")
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path} is not text in UTF-8 with commas: {error}") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        if rows and len(rows[0]) == 1 and sign in rows[0][0]:
            decimal = ", decimal=','" if len(rows) > 1 and len(rows[1]) > 1 else ""  # commas within numbers
            raise InvalidInput(
                f"{path} is separated by {name}; write commas between columns and points in numbers. With pandas: "
                f"read_csv({path!r}, sep={sign!r}{decimal}).to_csv(..., index=False)."
            )
    # pandas calls columns without a name 0, 1, 2, ...
    if rows and all(map(_is_number, rows[0])) and rows[0] != [str(i) for i in range(len(rows[0]))]:
        raise InvalidInput(
            f"{path} has no header: its first line, {', '.join(rows[0][:4])}, holds numbers. Add a line of names."
        )
    if len(rows) < 2:
        raise InvalidInput(f"{path} needs a header and at least one row; it has {len(rows)} line(s).")
    header = rows[0]
    if "" in header:
        raise InvalidInput(f"{path}: column {1 + header.index('')} has no name; the header is {', '.join(header)}.")
    if len(set(header)) < len(header):
        raise InvalidInput(f"{path}: two columns have the same name; the header is {', '.join(header)}.")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InvalidInput(f"{path}, line {number}: {len(row)} cells, but the header has {len(header)}.")
    return Table(path, {name: np.array([row[i] for row in rows[1:]]) for i, name in enumerate(header)})


def read_points(
    table: Table, target: str | None, names: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str] | None]:
    """Points, and the names of the columns they are made of: those given, else all but the target.

    An archive has its points in the array X, and no names.
    """
    if table.is_archive:
        return table.column("X"), None
    chosen = list(names) if names is not None else [name for name in table.columns if name != target]
    if not chosen:
        raise InvalidInput(f"{table.path} has no column of coordinates besides {target!r}. Is it separated by commas?")
    hint = "Complex coordinates are two columns each, all real parts first; choose columns with --columns."
    return np.stack([_numbers(table, name, hint) for name in chosen], axis=1), chosen


def read_target(table: Table, name: str, task: str) -> np.ndarray:
    """Numbers where all cells are numbers, else text; a mixture is an error, unless the task is classification."""
    cells = table.column(name)
    if table.is_archive:
        return cells
    if "" in cells:
        raise InvalidInput(f"{table.path}, line {2 + list(cells).index('')}: the target {name!r} is missing.")
    are_numbers = [_is_number(cell) for cell in cells]
    if (task == "auto" and not any(are_numbers)) or (task == "classification" and not all(are_numbers)):
        return cells
    return _whole(_numbers(table, name, "Use --task classification for labels."))


def _numbers(table: Table, name: str, hint: str) -> np.ndarray:
    cells = table.column(name)
    for number, cell in enumerate(cells, start=2):
        if not _is_number(cell):
            raise InvalidInput(f"{table.path}, line {number}: {str(cell)!r} in column {name!r} is no number. {hint}")
    return cells.astype(float)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _whole(values: np.ndarray) -> np.ndarray:
    """Whole numbers as integers, so that labels are printed as they were read."""
    whole = np.isfinite(values).all() and np.abs(values).max() < 2**53 and (values == np.round(values)).all()
    return values.astype(int) if whole else values


def predictions(model: GPRegressor | GPClassifier, rows: np.ndarray) -> dict[str, np.ndarray]:
    """mean and std of the function, or the most probable class and the probability of each class."""
    if isinstance(model, GPClassifier):
        probabilities = model.predict_proba(rows)
        best = model.classes_[probabilities.argmax(axis=1)]
        return {"class": best} | {f"p_{c}": p for c, p in zip(model.classes_, probabilities.T)}
    mean, std = model.predict(rows, return_std=True)
    return {"mean": mean, "std": std}


def check_writable(path: str | None) -> None:
    """Raise InvalidInput where a file cannot be written, before the work whose result it is to hold."""
    if not path:
        return
    file = Path(path)
    if not file.parent.is_dir():
        raise InvalidInput(f"{path}: there is no folder {file.parent}. Make it first.")
    if file.is_dir():
        raise InvalidInput(f"{path} is a folder. Give the name of a file in it.")
    if file.exists() and not os.access(file, os.W_OK):
        raise InvalidInput(f"{path} is read-only. Choose another name.")
    _try_writing(path, file.parent)


def check_predictions(path: str | None) -> None:
    """Raise InvalidInput where a name says that predictions are neither .csv nor .npz; a device has any name."""
    device = path and Path(path).exists() and not Path(path).is_file()
    if path and Path(path).suffix not in (".csv", ".npz") and not device:
        raise InvalidInput(f"{path}: predictions are written as .csv or .npz.")


def refuse_same_files(written: dict[str, str | None], read: dict[str, str | None]) -> None:
    """Raise InvalidInput where a file to write, by the name of its option, is one that is read or written too."""
    for option, path in written.items():
        for other, its in {**written, **read}.items():
            if other != option and path and its and os.path.realpath(path) == os.path.realpath(its):
                raise InvalidInput(f"{option} and {other} are the same file, {path}. Choose another name for {option}.")


def check_new_folder(path: str) -> None:
    """Raise InvalidInput where a folder, which need not exist yet, cannot be written to."""
    existing = Path(path).absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise InvalidInput(f"{path}: {existing} is a file, not a folder. Choose another place.")
    _try_writing(path, existing)


def _try_writing(path: str, folder: Path) -> None:
    """Write a file that is gone at once: permissions alone do not tell what a file system allows."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from None


def write_columns(path: str | None, columns: dict[str, Any]) -> None:
    """Into .npz as arrays, else as .csv; without a path to the terminal."""
    text = csv_text(columns, zip(*(column.tolist() for column in columns.values())))
    if not path:
        print(text, end="")
    elif Path(path).suffix == ".npz":
        with whole_file(path) as stream:
            np.savez(stream, **columns)
    else:
        write_text(path, text)
