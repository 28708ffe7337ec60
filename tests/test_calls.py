"""The table of docs/architecture.md that says which files of gp and estimators run in a fit and in predictions.

It is from a trace. After a change, `python tests/test_calls.py` writes it again.
"""

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import heatgp as hg

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "heatgp"
PAGE = ROOT / "docs" / "architecture.md"
S2 = hg.Sphere(2)
X = S2.random(np.random.default_rng(0), 60)
MANY = S2.random(np.random.default_rng(1), 400)
NOISE = 0.1 * np.random.default_rng(2).standard_normal(400)
Y = X[:, 0] + NOISE[:60]
MODELS = {
    "dense": lambda: (hg.GPRegressor(S2), X, Y),
    "sparse": lambda: (hg.GPRegressor(S2, inference="sparse"), MANY, MANY[:, 0] + NOISE),
    "neighbors": lambda: (hg.GPRegressor(S2, inference="neighbors"), MANY, MANY[:, 0] + NOISE),
    "Student-t": lambda: (hg.GPRegressor(S2, likelihood="student-t"), X, Y),
    "Student-t, sparse": lambda: (
        hg.GPRegressor(S2, likelihood="student-t", inference="sparse"),
        MANY,
        MANY[:, 0] + NOISE,
    ),
    "several outputs": lambda: (hg.GPRegressor(S2), X, np.column_stack([Y, Y**2])),
    "grid": lambda: (hg.GPRegressor(S2, integrate="grid", noise=0.1), X, Y),
    "two classes": lambda: (hg.GPClassifier(S2), X, X[:, 0] > 0),
    "more classes": lambda: (hg.GPClassifier(S2), X, np.digitize(X[:, 0], [-0.3, 0.3])),
}
MOST = 14
"""Files of gp and estimators that run in the plainest fit."""


def traced(call):
    """The files of gp and estimators that run in a call, in the order in which they are first entered."""
    files = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            files.setdefault(Path(frame.f_code.co_filename).relative_to(SOURCE).with_suffix("").as_posix())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()  # imports, and what is kept from call to call
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
    return [name for name in files if name.startswith(("gp/", "estimators/"))]


def calls(name):
    model, points, y = MODELS[name]()
    fit = traced(lambda: model.fit(points, y))
    predict = model.predict_proba if isinstance(model, hg.GPClassifier) else lambda new: model.predict(new, True)
    return fit, traced(lambda: predict(points[:5]))


def row(name):
    """A line of the table; files of the fit that all models share come first."""
    return f"| {name} | " + " | ".join(", ".join(f"`{file}`" for file in files) for files in calls(name)) + " |"


@pytest.mark.parametrize("name", MODELS)
def test_the_page_shows_the_files_that_run(name):
    assert row(name) in PAGE.read_text().splitlines()


def test_a_plain_fit_runs_through_few_files():
    fit, _ = calls("dense")
    assert len(fit) <= MOST


if __name__ == "__main__":
    text = PAGE.read_text()
    table = "\n".join(["| model | fit | predict |", "| --- | --- | --- |", *map(row, MODELS)])
    PAGE.write_text(re.sub(r"\| model \| fit \| predict \|\n(\|.*\n)+", lambda _: f"{table}\n", text))
