"""Points and targets from files, predictions and models back into them."""

import zipfile

import numpy as np
import pytest

from heatgp import GPClassifier, GPRegressor, Sphere
from heatgp.cli.tables import (
    check_writable,
    predictions,
    read_points,
    read_table,
    read_target,
    write_columns,
)
from heatgp.errors import InvalidInput

S2 = Sphere(2)
X = S2.random(np.random.default_rng(0), 30)


@pytest.fixture
def file(tmp_path):
    def make(text, name="a.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return make


def test_columns_by_name(file):
    table = read_table(file("\ufeffid, x ,y,label\n1,0.5,2,a\n\n2,-1e-3,3,b\n"))  # as a spreadsheet writes it
    rows, names = read_points(table, "label", ["y", "x"])
    np.testing.assert_array_equal(rows, [[2, 0.5], [3, -0.001]])
    assert names == ["y", "x"]
    assert read_points(table, "label")[1] == ["id", "x", "y"]
    np.testing.assert_array_equal(read_target(table, "label", "auto"), ["a", "b"])


def test_targets_are_numbers_where_all_are(file):
    table = read_table(file("x,whole,real,mixed\n1,2,0.5,1\n1,3,1.5,b\n"))
    assert read_target(table, "whole", "auto").dtype.kind == "i"
    assert read_target(table, "real", "auto").tolist() == [0.5, 1.5]
    assert read_target(table, "mixed", "classification").tolist() == ["1", "b"]
    for task in ("auto", "regression"):
        with pytest.raises(InvalidInput, match=r"line 3: 'b' in column 'mixed' is no number\. Use --task class"):
            read_target(table, "mixed", task)


def test_archives(tmp_path):
    path = str(tmp_path / "a.npz")
    np.savez(path, X=X, label=np.array(["a", "b"] * 15))
    table = read_table(path)
    rows, names = read_points(table, "label")
    np.testing.assert_array_equal(rows, X)
    assert names is None
    assert read_target(table, "label", "auto")[1] == "b"
    with pytest.raises(InvalidInput, match=r"a\.npz has no 'y'; it has X, label"):
        read_target(table, "y", "auto")


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_predictions_come_back(tmp_path, suffix):
    path = str(tmp_path / f"p.{suffix}")
    regression = predictions(GPRegressor(S2, time=1.0, amplitude=1.0, noise=0.1).fit(X, X[:, 0]), X)
    write_columns(path, regression)
    table = read_table(path)
    for name in ("mean", "std"):
        np.testing.assert_array_equal(table.column(name).astype(float), regression[name])
    labels = np.where(X[:, 0] > 0, "up", "down")
    classes = predictions(GPClassifier(S2, time=1.0, amplitude=1.0).fit(X, labels), X)
    assert list(classes) == ["class", "p_down", "p_up"]
    write_columns(path, classes)
    np.testing.assert_array_equal(read_table(path).column("class"), classes["class"])


def test_to_the_terminal(capsys):
    write_columns(None, {"mean": np.array([0.5]), "class": np.array(["a, b"])})
    assert capsys.readouterr().out == 'mean,class\n0.5,"a, b"\n'


@pytest.mark.parametrize(
    "text, message",
    [
        ("x,y\n", r"needs a header and at least one row; it has 1 line\(s\)"),
        ("", r"it has 0 line\(s\)"),
        ("x,y\n1,2\n1\n", r"line 3: 1 cells, but the header has 2"),
        ("x,x\n1,2\n", "two columns have the same name; the header is x, x"),
        ("x;y\n1;2\n", r"is separated by semicolons; write commas between columns and points in numbers"),
        ("y\n1\n", r"no column of coordinates besides 'y'\. Is it separated by commas"),
        ("x,y\n1,2\n1+2j,2\n", r"line 3: '1\+2j' in column 'x' is no number\. Complex coordinates are two columns"),
        ("x,y\n1,2\n,2\n", "line 3: '' in column 'x' is no number"),
        ("x,y\n1,2\n1,\n", "line 3: the target 'y' is missing"),
    ],
)
def test_wrong_tables_are_told_where(file, text, message):
    def read():
        table = read_table(file(text))
        return read_target(table, "y", "auto"), read_points(table, "y")

    with pytest.raises(InvalidInput, match=message):
        read()


def test_wrong_files_are_named(file, tmp_path):
    with pytest.raises(InvalidInput, match=r"none\.csv: no such file"):
        read_table("none.csv")
    with pytest.raises(InvalidInput, match=r"only \.csv \(with a header\) and \.npz are read"):
        read_table(file("x,y\n", "a.txt"))
    with pytest.raises(InvalidInput, match=r"a\.npz is not an \.npz archive"):
        read_table(file("text", "a.npz"))
    np.savez(tmp_path / "objects.npz", X=np.array([1, "a"], dtype=object))
    with pytest.raises(InvalidInput, match=r"cannot be read as an \.npz of plain arrays"):
        read_table(str(tmp_path / "objects.npz"))
    with zipfile.ZipFile(tmp_path / "texts.npz", "w") as archive:
        archive.writestr("X", "text")
    with pytest.raises(InvalidInput, match=r"is a zip file of X, not of arrays"):
        read_table(str(tmp_path / "texts.npz"))
    (tmp_path / "b.csv").write_bytes(b"x,y\n\xff\xfe,1\n")
    with pytest.raises(InvalidInput, match="is not text in UTF-8"):
        read_table(str(tmp_path / "b.csv"))
    with pytest.raises(InvalidInput, match=r"p\.csv: there is no folder .*nowhere\. Make it first"):
        check_writable(str(tmp_path / "nowhere" / "p.csv"))
