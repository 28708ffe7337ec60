"""The command line as a whole: how it is started, and what its short commands print."""

import os
import subprocess
import sys

import numpy as np
import pytest

import heatgp
from catalog import CATALOG, is_supported, parts
from heatgp import heat_kernel
from heatgp.cli import main
from heatgp.cli.manifolds import taken, works
from heatgp.heat.methods import METHODS
from own_manifolds import OWN


def test_it_starts_as_a_module():
    command = [sys.executable, "-m", "heatgp.cli", "--version"]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"heatgp {heatgp.__version__}\n"
    )


def test_starting_it_draws_nothing():
    code = "import sys, heatgp.cli; print('matplotlib' in sys.modules, 'heatgp.experiments' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer == "False False\n"


def test_manifolds_are_listed_as_they_are_called(capsys):
    assert main(["manifolds"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert [line.partition("(")[0] for line in heads] == sorted(
        {"SpecialEuclidean", *(repr(m).partition("(")[0] for m in CATALOG), *(type(m).__name__ for m in OWN)}
    )
    calls = [line.partition(":")[0] for line in heads]
    assert {"Sphere(dim)", "Grassmann(n, k, field)", "Product(*factors)", "Scaled(base, scale)"} <= set(calls)
    assert all(line.partition(": ")[2] for line in heads)
    assert "    Grassmann(5, 2): exact, ball, strip, smooth; 'auto' takes exact" in lines
    estimated = "ball, fibre-average; 'auto' takes"
    assert f"    Stiefel(7, 3): {estimated} fibre-average" in lines
    assert "    Product(Sphere(2), Stiefel(7, 3)): ball; 'auto' takes exact and fibre-average" in lines


def test_methods_of_one_manifold(capsys):
    assert main(["manifolds", "Euclidean(4)", "Stiefel(6, 2)", "Stiefel(40, 3)"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Euclidean(4): exact, ball, strip; 'auto' takes exact",
        "Stiefel(6, 2): exact, ball, fibre-average; 'auto' takes exact",
        "Stiefel(40, 3): none, no method makes its heat kernel",
    ]


ONE_OF_EACH = {type(manifold): manifold for manifold in reversed(OWN)}.values()


@pytest.mark.parametrize("manifold", [*CATALOG, *ONE_OF_EACH], ids=repr)
def test_the_methods_listed_are_those_that_work(manifold):
    """The library's own answer, from what methods refuse, beside the rules of the catalog, written by hand."""
    names = {*METHODS} - {"auto"}
    if max(part.dim for part in parts(manifold)) > 5:
        names -= {"reference"}  # in the catalog a question of time
    expected = {name for name in names if is_supported(manifold, name)}
    assert {name for name in names if works(METHODS[name](), manifold)} == expected
    if taken(manifold) == ["exact"]:
        assert "exact" in expected
        assert set(heat_kernel(manifold).method.split(" x ")) == {"exact"}
    else:
        assert "exact" not in expected


def test_kernel_names_the_method_that_was_used(capsys, tmp_path):
    """Not "auto": in the table, and in the legend, whose text is in the picture's file."""
    assert main(["kernel", "Sphere(2)", "--time", "0.2", "--points", "3", "--plot", str(tmp_path / "k.svg")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# exact: heat_kernel(Sphere(2), method='exact')"
    assert lines[1].split() == ["distance", "exact", "+-"]
    picture = (tmp_path / "k.svg").read_text()
    assert "<!-- exact -->" in picture
    assert "<!-- distance (radians) -->" in picture
    assert "<!-- auto -->" not in picture


def test_kernel_prints_one_column_per_method(capsys, tmp_path):
    file = tmp_path / "kernel.svg"
    options = ["--method", "exact", "smooth", "--paths", "2000", "--points", "3", "--plot", str(file)]
    assert main(["kernel", "Sphere(2)", "--time", "0.2", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# exact: heat_kernel(Sphere(2), method='exact')"
    assert lines[2].split() == ["distance", "exact", "+-", "smooth", "+-"]
    assert len(lines) == 7
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--time", "-1"), "--time must be positive; got -1."),
        (("--time", "1", "--points", "1"), "--points must be from 2 to 100000; got 1."),
        (("--time", "1", "--points", "10000000000"), "--points must be from 2 to 100000; got 10000000000."),
        (("--time", "1", "--plot", "no/k.png"), "no/k.png: there is no folder no. Make it first."),
    ],
)
def test_wrong_arguments_of_kernel_are_named(capsys, arguments, message):
    assert main(["kernel", "Sphere(2)", *arguments]) == 2
    assert capsys.readouterr().err == f"heatgp: {message}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "--train", "fifo", "--manifold", "Sphere(2)"), "fifo is a device or a pipe, not a file."),
        (("fit", "--train", os.devnull, "--manifold", "Sphere(2)"), f"{os.devnull} is a device or a pipe"),
        (("fit", "--train", "t.csv", "--manifold", "Sphere(2)", "--out", ""), "the argument 'out' is empty."),
        (("reproduce", "knots", "--out", ""), "the argument 'out' is empty."),
        (("reproduce", "knots", "--dti", "none.npz"), "--dti is for the experiments dti and all; knots does not"),
        (("reproduce", "all", "--dti", "none.npz"), "none.npz: no such file."),
        (("reproduce", "dti", "--dti", "."), ". is a folder."),
        (("reproduce", "dti", "--dti", "fifo"), "fifo is a device or a pipe"),
        (("reproduce", "dti", "--dti", "text.txt"), "text.txt is not an .npz archive"),
        (("reproduce", "dti", "--dti", "objects.npz"), "objects.npz cannot be read as an .npz of plain arrays"),
        (("reproduce", "dti", "--dti", "words.npz"), "A of words.npz must be numbers; its dtype is <U1."),
        (("reproduce", "dti", "--dti", "planar.npz"), "planar.npz has A of shape (4, 2, 2, 2) and y of shape (4,)"),
    ],
    ids=lambda argument: " ".join(argument[:4]) if isinstance(argument, tuple) else "",
)
def test_what_is_no_file_is_named(tmp_path, monkeypatch, capsys, arguments, message):
    """Before any work, also that of the other experiments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("heatgp.experiments.reproduce.run", None)
    os.mkfifo("fifo")
    (tmp_path / "text.txt").write_text("text")
    np.savez("objects.npz", A=np.array([1, "a"], dtype=object), y=np.zeros(2))
    np.savez("words.npz", A=np.array(["a"]), y=np.zeros(1))
    np.savez("planar.npz", A=np.ones((4, 2, 2, 2)), y=np.zeros(4))
    assert main([*arguments]) == 2
    assert capsys.readouterr().err.startswith(f"heatgp: {message}")
    assert not (tmp_path / "results").exists()
