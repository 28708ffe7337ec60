"""`heatgp fit` as a user types it."""

import csv

import numpy as np
import pandas as pd
import pytest

from heatgp import ComplexProjective, GPRegressor, SpecialOrthogonal, load_model
from heatgp.cli import main

SO3 = SpecialOrthogonal(3)
X = SO3.random(np.random.default_rng(0), 40)
Y = X[:, 0, 0] + 0.05 * np.random.default_rng(1).standard_normal(40)
NAMES = [f"r{i}{j}" for i in range(3) for j in range(3)]


def write(path, header, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = X.reshape(40, 9).tolist()
    write(tmp_path / "train.csv", [*NAMES, "y"], [[*row, y] for row, y in zip(rows, Y)])
    write(tmp_path / "joints.csv", [*NAMES, "joint"], [[*r, "wrist" if y > 0 else "elbow"] for r, y in zip(rows, Y)])
    write(tmp_path / "new.csv", NAMES, rows[:5])
    return tmp_path


def fit(*arguments):
    return main(["fit", *arguments])


TRAIN = ("--manifold", "SpecialOrthogonal(3)", "--train", "train.csv")
PREDICT = (*TRAIN, "--predict", "new.csv")
SAVED = ("--predict", "new.csv", "--model")
GIVEN = {"time": 1.0, "amplitude": 1.0, "noise": 0.1}
FLAT = pd.DataFrame({"a": Y, "b": Y**2})
MODELS = {
    "gram.npz": GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1).fit(np.eye(3), [0.0, 1, 2]),
    "flat.npz": GPRegressor("euclidean", **GIVEN).fit(FLAT, Y),
    "rows.npz": GPRegressor(SO3, **GIVEN).fit(X, Y),
}


def read(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_regression(folder, capsys):
    assert fit(*TRAIN, "--target", "y", "--predict", "new.csv", "--out", "p.csv") == 0
    mean, std = GPRegressor(SO3).fit(X, Y).predict(X[:5], return_std=True)
    found = read("p.csv")
    np.testing.assert_allclose([float(row["mean"]) for row in found], mean, atol=1e-6)
    np.testing.assert_allclose([float(row["std"]) for row in found], std, atol=1e-6)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("# GPRegressor on SpecialOrthogonal(3): 40 points of train.csv, time ")


def test_classification_to_the_terminal(folder, capsys):
    arguments = ("--manifold", "SpecialOrthogonal(3)", "--train", "joints.csv", "--target", "joint")
    assert fit(*arguments, "--predict", "new.csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "class,p_elbow,p_wrist"
    assert [line.split(",")[0] for line in lines[1:]] == np.where(Y[:5] > 0, "wrist", "elbow").tolist()


def test_a_saved_model_finds_its_columns_in_any_order(folder, capsys):
    assert fit(*TRAIN, "--save", "model.npz", "--predict", "new.csv", "--out", "p.csv") == 0
    turned = [[*row[::-1], "note"] for row in X[:5].reshape(5, 9).tolist()]
    write(folder / "turned.csv", [*NAMES[::-1], "comment"], turned)
    assert fit("--model", "model.npz", "--predict", "turned.csv", "--out", "q.csv") == 0
    assert read("p.csv") == read("q.csv")
    write(folder / "less.csv", NAMES[1:], X[:5].reshape(5, 9)[:, 1:].tolist())
    assert fit("--model", "model.npz", "--predict", "less.csv") == 2
    assert "less.csv has no 'r00'; it has r01" in capsys.readouterr().err


def test_a_saved_model_of_vectors_predicts(folder):
    MODELS["flat.npz"].save("flat.npz")
    FLAT.to_csv("flat.csv", index=False)
    assert fit("--model", "flat.npz", "--predict", "flat.csv", "--out", "p.csv") == 0
    np.testing.assert_allclose([float(row["mean"]) for row in read("p.csv")], MODELS["flat.npz"].predict(FLAT))


def test_a_saved_model_without_names_takes_columns(folder):
    MODELS["rows.npz"].save("rows.npz")
    assert fit("--model", "rows.npz", "--predict", "train.csv", "--columns", *NAMES, "--out", "p.csv") == 0
    assert fit("--model", "rows.npz", "--predict", "train.csv", "--target", "y", "--out", "q.csv") == 0
    assert read("p.csv") == read("q.csv")


def test_columns_are_chosen(folder, capsys):
    rows = [[i, *row, y] for i, (row, y) in enumerate(zip(X.reshape(40, 9).tolist(), Y))]
    write(folder / "numbered.csv", ["id", *NAMES, "y"], rows)
    arguments = ("--manifold", "SpecialOrthogonal(3)", "--train", "numbered.csv")
    assert fit(*arguments) == 2
    assert "have 9 coordinates, but there are 10 columns: id, r00" in capsys.readouterr().err
    assert fit(*arguments, "--columns", *NAMES, "--predict", "numbered.csv", "--out", "p.csv") == 0
    assert len(read("p.csv")) == 40


def test_archives_and_complex_points(folder):
    M = ComplexProjective(2)
    Z = M.random(np.random.default_rng(2), 30)
    size = np.abs(Z[:, 0]) ** 2
    np.savez("a.npz", X=Z, size=size)
    np.savez("b.npz", X=Z[:4])
    arguments = ("--manifold", "ComplexProjective(2)", "--target", "size")
    assert fit(*arguments, "--train", "a.npz", "--predict", "b.npz", "--out", "p.npz") == 0
    header = ["a", "b", "c", "ia", "ib", "ic", "size"]
    write(folder / "a.csv", header, np.column_stack((Z.real, Z.imag, size)).tolist())
    assert fit(*arguments, "--train", "a.csv", "--predict", "a.csv", "--out", "q.csv") == 0
    with np.load("p.npz") as found:
        np.testing.assert_allclose(found["mean"], size[:4], atol=0.01)
        np.testing.assert_allclose(found["mean"], [float(row["mean"]) for row in read("q.csv")[:4]], atol=1e-5)


def test_whole_numbers_are_classes_if_few(folder, capsys):
    rows = X.reshape(40, 9).tolist()
    write(folder / "few.csv", [*NAMES, "y"], [[*row, int(y > 0)] for row, y in zip(rows, Y)])
    write(folder / "many.csv", [*NAMES, "y"], [[*row, i] for i, row in enumerate(rows)])
    arguments = ("--manifold", "SpecialOrthogonal(3)", "--predict", "new.csv")
    assert fit(*arguments, "--train", "few.csv") == 0
    assert capsys.readouterr().out.startswith("class,p_0,p_1\n")
    assert fit(*arguments, "--train", "few.csv", "--task", "regression") == 0
    assert capsys.readouterr().out.startswith("mean,std\n")
    assert fit(*arguments, "--train", "many.csv") == 2
    assert "40 > 20 different whole numbers: say task='regression' or 'classification'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "give --train with a table or --model with a saved model"),
        (("--train", "train.csv"), "--train needs --manifold, such as 'Sphere(2)'"),
        ((*TRAIN, "--model", "m.npz"), "one of them"),
        ((*TRAIN, "--out", "p.csv"), "--out is for predictions: give --predict"),
        ((*TRAIN, "--predict", "new.csv", "--out", "no/p.csv"), "no/p.csv: there is no folder no"),
        ((*TRAIN, "--predict", "none.csv"), "none.csv: no such file"),
        ((*TRAIN, "--target", "z"), "train.csv has no 'z'; it has r00"),
        ((*TRAIN, "--predict", "off.csv"), "off.csv[1] is not on SpecialOrthogonal(3)"),
        (("--manifold", "Spere(2)", "--train", "train.csv"), "'Spere(2)' is not understood"),
        (
            ("--manifold", "Sphere(2)", "--train", "train.csv"),
            "points of Sphere(2) have 3 coordinates, but there are 9",
        ),
        (("--manifold", "Sphere(2)", "--train", "nan.npz"), "nan.npz: y[1] = nan is not finite. Remove it"),
        ((*SAVED, "train.csv"), "train.csv is not a model that heatgp saved"),
        (("--model", "m.npz"), "--model is for predictions: give --predict with the points too"),
        ((*SAVED, "gram.npz"), "gram.npz holds a model of a precomputed kernel, which has no points"),
        ((*SAVED, "flat.npz", "--columns", *NAMES), "--columns has no effect: the model takes the columns a, b"),
        ((*SAVED, "rows.npz", "--manifold", "Sphere(2)"), "holds a model on SpecialOrthogonal(3); the manifold given"),
        ((*SAVED, "flat.npz", "--target", "y"), "--target has no effect: the model takes the columns a, b"),
        (
            (*SAVED, "rows.npz", "--columns", *NAMES, "--target", "y"),
            "--target has no effect: the model takes the columns r00",
        ),
        *(
            ((*SAVED, "flat.npz", option, value), f"{option} is for training, and the model of --model is trained")
            for option, value in (
                ("--task", "auto"),
                ("--kernel", "auto"),
                ("--paths", "9"),
                ("--references", "9"),
            )
        ),
        ((*PREDICT, "--out", "train.csv"), "--out and --train are the same file, train.csv. Choose another name for"),
        ((*PREDICT, "--out", "./new.csv"), "--out and --predict are the same file"),
        ((*TRAIN, "--save", "sub/../train.csv"), "--save and --train are the same file"),
        ((*TRAIN, "--save", "link.csv"), "--save and --train are the same file"),
        ((*PREDICT, "--save", "new.csv"), "--save and --predict are the same file"),
        ((*PREDICT, "--out", "p.csv", "--save", "p.csv"), "--out and --save are the same file"),
        ((*SAVED, "flat.npz", "--save", "flat.npz"), "--save and --model are the same file"),
        *(
            ((*PREDICT, "--out", name), f"{name}: predictions are written as .csv or .npz")
            for name in ("p.parquet", "p.txt", "p.tsv", "p")
        ),
    ],
)
def test_errors_are_one_line(folder, capsys, arguments, message):
    write(folder / "off.csv", NAMES, (X[:2].reshape(2, 9) * [[1], [2]]).tolist())
    np.savez("nan.npz", X=np.eye(3), y=[1.0, np.nan, 0.5])
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to("train.csv")
    for name, model in MODELS.items():
        model.save(name)
    assert fit(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.startswith("heatgp: ")
    assert said.err.count("\n") == 1


def test_a_damaged_model_predicts_nothing_else(folder, capsys):
    """One flipped bit anywhere: an error of one line, or the same predictions where it is in what zip does not read."""
    assert fit(*TRAIN, "--save", "model.npz", "--predict", "new.csv", "--out", "p.csv") == 0
    content, expected = (folder / "model.npz").read_bytes(), read("p.csv")
    assert isinstance(load_model("model.npz"), GPRegressor)  # in Python too
    for place in np.linspace(0, len(content) - 1, 25).astype(int):
        flipped = bytearray(content)
        flipped[place] ^= 0x40
        (folder / "flipped.npz").write_bytes(flipped)
        capsys.readouterr()
        if fit("--model", "flipped.npz", "--predict", "new.csv", "--out", "q.csv"):
            assert "flipped.npz is not a model that heatgp saved, or it is damaged" in capsys.readouterr().err
        else:
            assert read("q.csv") == expected


def test_an_interrupted_command_ends_in_one_line(folder, capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("heatgp.cli.fit.train", interrupted)
    assert fit(*TRAIN) == 130
    assert capsys.readouterr().err.startswith("heatgp: interrupted.")


def test_the_command_line_names_its_own_remedies(folder, capsys):
    write(folder / "constant.csv", [*NAMES, "y"], [[*row, 1] for row in X[:5].reshape(5, 9).tolist()])
    assert fit("--manifold", "SpecialOrthogonal(3)", "--train", "constant.csv") == 2
    assert "--task regression" in capsys.readouterr().err
    assert fit(*TRAIN, "--task", "classification") == 2
    assert "y holds numbers, not labels. Give --task regression" in capsys.readouterr().err
    write(folder / "rounded.csv", [*NAMES, "y"], [[*row, 1] for row in X[:5].reshape(5, 9).round(3).tolist()])
    assert fit(*PREDICT[:-1], "rounded.csv") == 2
    assert "--project moves points with few digits" in capsys.readouterr().err
    (folder / "semicolon.csv").write_text("a;b;y\n0,5;1,5;2\n")
    assert fit("--manifold", "Euclidean(2)", "--train", "semicolon.csv") == 2
    assert "sep=';', decimal=','" in capsys.readouterr().err


@pytest.mark.parametrize(
    "manifold, names, text",
    [
        ("Sphere(2)", ["lat", "lon"], "heatgp.points.latlon_to_sphere"),
        ("SpecialOrthogonal(3)", ["qx", "qy", "qz", "qw"], "heatgp.points.quaternion_to_matrix"),
        ("ComplexProjective(1)", ["x1", "y1", "x2", "y2", "x3", "y3"], "landmarks_to_shape(X.reshape(-1, 3, 2))"),
    ],
)
def test_columns_of_raw_data_name_the_converter(folder, capsys, manifold, names, text):
    write(folder / "raw.csv", [*names, "y"], [[0.1 * i] * (len(names) + 1) for i in range(5)])
    assert fit("--manifold", manifold, "--train", "raw.csv") == 2
    assert text in capsys.readouterr().err
    np.savez(folder / "raw.npz", X=np.ones((5, len(names))), y=np.arange(5.0))
    assert fit("--manifold", manifold, "--train", "raw.npz") == 2
    assert text in capsys.readouterr().err
