"""Models, comparisons and the command line on manifolds of users' functions: as on any other."""

import csv
import warnings

import numpy as np
import pytest

from heat_solutions import neumann_kernel, revolution_kernel
from heatgp import GPClassifier, GPRegressor, compare, heat_kernel
from heatgp.cli import main
from heatgp.errors import BoundWarning
from own_manifolds import SPHEROID, TORUS_CHART, U_DOMAIN
from statistics_helpers import assert_mean

MANIFOLDS = [SPHEROID, TORUS_CHART, U_DOMAIN]


@pytest.fixture(scope="module", params=MANIFOLDS, ids=repr)
def kernel(request):
    return heat_kernel(request.param, references=60, paths=6000, rng=0)


def data(kernel, number=60, seed=0):
    """Values that only follow the manifold's coordinates."""
    X = kernel.manifold.random(np.random.default_rng(seed), number)
    return X, np.sin(X[:, 0]) + np.cos(X[:, 1])


def test_auto_takes_reference_points(kernel):
    assert kernel.method == "reference"


def test_regression(kernel):
    X, y = data(kernel)
    new, truth = data(kernel, 200, 1)
    gp = GPRegressor(kernel.manifold, kernel=kernel).fit(X, y + 0.05 * np.random.default_rng(2).standard_normal(60))
    mean, std = gp.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.25 * truth.std()
    assert (std > 0).all()


def torus_truth(rng, time):
    places = rng.uniform(0, 2 * np.pi, (120, 2))
    K, tube = revolution_kernel(
        lambda s: 1 + 0.4 * np.cos(s), lambda s: 0.4 + 0 * s, 2 * np.pi, True, places, time, cells=200
    )
    return np.stack((tube, places[:, 1]), axis=-1), K


def water_truth(rng, time):
    X = np.floor(U_DOMAIN.random(rng, 120) / 0.05) * 0.05 + 0.025
    return X, neumann_kernel(U_DOMAIN.contains, ((0, 3), (0, 2)), 0.05, X, X, time)


@pytest.mark.parametrize(
    "manifold, truth, time", [(TORUS_CHART, torus_truth, 1.2), (U_DOMAIN, water_truth, 0.5)], ids=["torus", "water"]
)
def test_intervals_cover(manifold, truth, time):
    """Functions drawn from the heat equation's own solution, everything learned: 90 % intervals cover 90 %."""
    kernel = heat_kernel(manifold, references=60, paths=12_000, rng=0)
    assert kernel.grid[0] < time
    rng = np.random.default_rng(1)
    points, K = truth(rng, time)
    root = np.linalg.cholesky(K / np.diag(K).mean() + 1e-9 * np.eye(len(K)))
    covered = []
    for _ in range(20):
        order = rng.permutation(len(K))
        X, f = points[order], (root @ rng.standard_normal(len(K)))[order]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundWarning)  # some draws do not determine the time
            gp = GPRegressor(manifold, kernel=kernel).fit(X[:60], f[:60] + 0.1 * rng.standard_normal(60))
        mean, std = gp.predict(X[60:], return_std=True)
        covered.append(np.mean(np.abs(mean - f[60:]) < 1.645 * std))
    assert_mean(np.array(covered), 0.9, bias=0.02)


def test_functions_too_short_for_the_references():
    """The data ask for a shorter time than the kernel resolves: the warning says so, and how to get it."""
    kernel = heat_kernel(TORUS_CHART, references=60, paths=6000, rng=0)
    X = TORUS_CHART.random(np.random.default_rng(0), 120)
    with pytest.warns(BoundWarning, match=r"time sits on the lower bound .* Ask heat_kernel for more `references`"):
        GPRegressor(TORUS_CHART, kernel=kernel).fit(X, np.sin(4 * X[:, 1]) + np.cos(2 * X[:, 0]))


def test_classification(kernel):
    X, y = data(kernel)
    new, truth = data(kernel, 200, 1)
    middle = np.median(y)
    gp = GPClassifier(kernel.manifold, kernel=kernel).fit(X, np.where(y > middle, "high", "low"))
    assert np.mean(gp.predict(new) == np.where(truth > middle, "high", "low")) > 0.85
    np.testing.assert_allclose(gp.predict_proba(new).sum(axis=1), 1)


def test_comparison(kernel):
    X, y = data(kernel)
    M = kernel.manifold
    table = compare(M, X, y, methods={"own": GPRegressor(M, kernel=kernel)}, splits=2)
    assert table.row("own", "rmse").mean < 0.6 * y.std()
    names = compare(M, X, y, methods=["rbf", "linear"], splits=2)
    assert "rbf" in str(names)


SMALL = ("--references", "60", "--paths", "6000")
MODULE = """
import numpy as np
import heatgp as hg

def ring(x):
    return (x * x).sum(-1) - 1

def shell(x):
    return (x * x).sum(-1) - 1

circle = hg.Implicit(ring, 1, 2)
ball = hg.Implicit(shell, 2, 3)
earth = hg.Sphere(1)
lake = hg.Domain(hg.Euclidean(2), [(0, 0), (1, 0), (1, 1), (0, 1)])
number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "surfaces.py").write_text(MODULE)
    return tmp_path


def test_check(folder, capsys):
    assert main(["check", "surfaces:ball"]) == 0
    assert capsys.readouterr().out == "Implicit(shell, 2, 3): no problem found\n"


def test_kernel_on_the_command_line(folder, capsys):
    """A circle against its wrapped Gaussian, within the error in the next column."""
    assert main(["kernel", "surfaces:circle", "--time", "0.5", "--points", "5", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("# reference: heat_kernel(Implicit(ring, 1, 2), method='reference', paths=6000, step=")
    length, value, error = np.array([line.split() for line in lines[2:]], dtype=float).T
    turns = 2 * np.pi * np.arange(-3, 4)
    truth = np.exp(-((length[:, None] + turns) ** 2)).sum(axis=1) / np.sqrt(np.pi)
    assert length[-1] == pytest.approx(5 * np.sqrt(0.5), rel=1e-3)
    assert (np.abs(value - truth) < 5 * error).all()


def test_kernels_end_at_the_shore(folder, capsys):
    assert main(["kernel", "surfaces:lake", "--time", "0.3", "--points", "3", *SMALL]) == 0
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert 0.05 < float(last[0]) < np.sqrt(2)


@pytest.mark.parametrize("name", ["earth", "circle"])
def test_fit_on_the_command_line(folder, capsys, name):
    angle = np.random.default_rng(0).uniform(-np.pi, np.pi, 40)
    rows = np.stack((np.cos(angle), np.sin(angle), np.cos(2 * angle)), axis=-1)
    with open("train.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([["a", "b", "y"], *rows.tolist()])
    arguments = ["--predict", "train.csv", "--out"]
    train = ["--manifold", f"surfaces:{name}", "--train", "train.csv", *(SMALL if name == "circle" else ())]
    assert main(["fit", *train, "--save", "m", *arguments, "p.npz"]) == 0
    assert capsys.readouterr().err.startswith("# GPRegressor on ")
    with np.load("p.npz") as found:
        np.testing.assert_allclose(found["mean"], rows[:, 2], atol=0.1)
    own = []
    if name == "circle":  # its equation is a function
        assert main(["fit", "--model", "m", *arguments, "q.npz"]) == 2
        assert "a file cannot hold. Pass manifold=... too, on the command line --manifold." in capsys.readouterr().err
        own = ["--manifold", "surfaces:circle"]
    assert main(["fit", "--model", "m", *own, *arguments, "q.npz"]) == 0
    with np.load("p.npz") as one, np.load("q.npz") as other:
        np.testing.assert_allclose(one["mean"], other["mean"])


@pytest.mark.parametrize(
    "what, message",
    [
        ("surfaces:lagoon", "has no attribute 'lagoon'"),
        ("nowhere:lake", "No module named 'nowhere'"),
        ("surfaces:number", "'surfaces:number' is 3, no manifold"),
    ],
)
def test_names_that_are_no_manifolds(folder, capsys, what, message):
    assert main(["kernel", what, "--time", "1"]) == 2
    assert message in capsys.readouterr().err
