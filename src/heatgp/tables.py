"""Points and targets from .csv and .npz files, predictions back into them, models to disk."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from .errors import InvalidInput
from .estimators import GPClassifier, GPRegressor


def read_training(path: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of points, and the target: numbers where all are, else text."""
    columns = _read(path)
    if target not in columns:
        raise InvalidInput(f"{path} has no target {target!r}; it has {', '.join(columns)}.")
    return _points(path, columns, target), columns[target]


def read_points(path: str, target: str) -> np.ndarray:
    """Rows of points; a column or array with the target's name is passed over."""
    return _points(path, _read(path), target)


def _points(path: str, columns: dict[str, np.ndarray], target: str) -> np.ndarray:
    if Path(path).suffix == ".npz":
        if "X" not in columns:
            raise InvalidInput(f"{path} has no array 'X' of points; it has {', '.join(columns)}.")
        return columns["X"]
    names = [name for name in columns if name != target]
    for name in names:
        if columns[name].dtype.kind not in "fiu":
            raise InvalidInput(f"{path}: column {name!r} is not numeric ({columns[name][0]!r}). Leave it out.")
    if not names:
        raise InvalidInput(f"{path} has no column of coordinates besides {target!r}.")
    return np.stack([columns[name].astype(float) for name in names], axis=1)


def _read(path: str) -> dict[str, np.ndarray]:
    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"{path}: no such file.")
    if file.suffix == ".npz":
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    if file.suffix != ".csv":
        raise InvalidInput(f"{path}: only .csv (with a header) and .npz are read.")
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if len(rows) < 2:
        raise InvalidInput(f"{path} needs a header and at least one row; it has {len(rows)} line(s).")
    header, body = [name.strip() for name in rows[0]], rows[1:]
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise InvalidInput(f"{path}, line {number}: {len(row)} cells, but the header has {len(header)}.")
    return {name: _column([row[i].strip() for row in body]) for i, name in enumerate(header)}


def _column(cells: list[str]) -> np.ndarray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)


def predictions(model: GPRegressor | GPClassifier, rows: np.ndarray) -> dict[str, np.ndarray]:
    """mean and std of the function, or the class and a probability a class."""
    if isinstance(model, GPClassifier):
        probabilities = model.predict_proba(rows)
        best = model.classes_[probabilities.argmax(axis=1)]
        return {"class": best} | {f"p_{c}": p for c, p in zip(model.classes_, probabilities.T)}
    mean, std = model.predict(rows, return_std=True)
    return {"mean": mean, "std": std}


def write_columns(path: str | None, columns: dict[str, np.ndarray]) -> None:
    """Into .npz as arrays, else as .csv; without a path to the terminal."""
    if path and Path(path).suffix == ".npz":
        np.savez(path, **columns)  # type: ignore[arg-type]
        return
    if not path:
        _write_rows(sys.stdout, columns)
        return
    with open(path, "w", newline="", encoding="utf-8") as stream:
        _write_rows(stream, columns)


def _write_rows(stream: Any, columns: dict[str, np.ndarray]) -> None:
    writer = csv.writer(stream)
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values())))


def save_model(model: Any, path: str) -> None:
    joblib.dump(model, path)


def load_model(path: str) -> Any:
    """A model that `save_model` wrote. Like every pickle it runs code when read: open trusted files only."""
    if not Path(path).is_file():
        raise InvalidInput(f"{path}: no such file.")
    model = joblib.load(path)
    if not isinstance(model, (GPRegressor, GPClassifier)):
        raise InvalidInput(f"{path} holds a {type(model).__name__}, not a model of heatgp.")
    return model
