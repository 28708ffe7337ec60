"""Rows of a table of scores: mean and standard deviation over repetitions."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Row:
    """Mean and standard deviation of one metric of one method over n repetitions."""

    method: str
    metric: str
    mean: float
    sd: float
    n: int = 1

    @classmethod
    def of(cls, method: str, metric: str, values: Sequence[float], **others: Any) -> Self:
        """The row of these values; `others` are the other fields of the row."""
        sd = float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0  # the rounding of the mean is not a spread
        return cls(method, metric, float(np.mean(values)), sd, len(values), **others)


def distinct(values: Iterable[Any]) -> list[Any]:
    """The different values in order of first appearance."""
    return list(dict.fromkeys(values))


def csv_text(header: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """A header and lines of cells as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Cells as lines of text in columns, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [line[0].ljust(widths[0]) + "".join(f"  {c:>{w}}" for c, w in zip(line[1:], widths[1:])) for line in lines]
