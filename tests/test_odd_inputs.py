"""Odd arguments as a new user gives them: each is understood, or refused with its value and what to pass instead."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import heatgp as hg
from heatgp import datasets, points
from heatgp.arguments import as_array
from heatgp.baselines import baseline
from heatgp.cli import main
from heatgp.errors import HeatGPError, InputWarning, InvalidInput, OffManifold
from heatgp.heat.files import KERNEL
from heatgp.plots import along_geodesic, save_figure
from heatgp.testing import check_kernel, check_manifold

S2 = hg.Sphere(2)
X = S2.random(0, 24)
Y = X[:, 0] * X[:, 2]
FIXED = {"time": 0.5, "amplitude": 1.0, "noise": 0.1}
EXACT = hg.heat_kernel(S2)


def says(text, call):
    with pytest.raises(InvalidInput, match=re.escape(text)):
        call()


# Seeds.

SEEDED = {
    "random": lambda rng: S2.random(rng, 3),
    "walk": lambda rng: hg.walk(S2, X[0], 0.1, paths=8, step=0.05, rng=rng),
    "Smooth": lambda rng: hg.Smooth(rng=rng),
    "Ball": lambda rng: hg.Ball(rng=rng),
    "Reference": lambda rng: hg.Reference(rng=rng),
    "FibreAverage": lambda rng: hg.FibreAverage(rng=rng),
    "heat_kernel": lambda rng: hg.heat_kernel(S2, rng=rng),
    "GPRegressor": lambda rng: hg.GPRegressor(S2, random_state=rng, **FIXED).fit(X, Y),
    "GPClassifier": lambda rng: hg.GPClassifier(S2, random_state=rng, time=1.0, amplitude=1.0).fit(X, Y > 0),
    "sample_y": lambda rng: hg.GPRegressor(S2, **FIXED).fit(X, Y).sample_y(X, random_state=rng),
    "compare": lambda rng: hg.compare(S2, X, Y, methods=["linear"], splits=2, rng=rng),
    "check_manifold": lambda rng: check_manifold(S2, rng),
    "check_kernel": lambda rng: check_kernel(EXACT, rng),
    "along_geodesic": lambda rng: along_geodesic(S2, 0.1, 3, rng),
    "torus_knot": lambda seed: datasets.torus_knot(2, 3, seed),
    "projective_regression": datasets.projective_regression,
    "simulated_tract": datasets.simulated_tract,
    "gorillas": lambda seed: datasets.gorillas(seed=seed, download=False),
}


@pytest.mark.parametrize("call", SEEDED.values(), ids=SEEDED)
@pytest.mark.parametrize("rng", ["abc", -1, 1.5, True, (), [1, -2], {}, np.random], ids=lambda rng: repr(rng)[:9])
def test_wrong_seeds_are_refused_everywhere(call, rng):
    says("must be an integer of at least 0, a numpy Generator", lambda: call(rng))


def test_the_old_random_state_is_named():
    says("got the old RandomState", lambda: S2.random(np.random.RandomState(0), 3))
    says("seed must be an integer", lambda: datasets.simulated_tract(np.random.RandomState(0)))


@pytest.mark.parametrize(
    "rng", [0, np.int64(3), (1, 2), np.random.SeedSequence(1), np.random.PCG64(2)], ids=lambda rng: type(rng).__name__
)
def test_every_kind_of_seed_is_a_seed(rng):
    assert S2.random(rng, 3).shape == (3, 3)
    assert hg.walk(S2, X[0], 0.1, paths=8, step=0.05, rng=rng).shape == (1, 8, 3)
    np.testing.assert_array_equal(S2.random(5, 3), S2.random(np.random.default_rng(5), 3))


# Cores, counts and flags.


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, 10**9], ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda n: hg.walk(S2, X[0], 0.1, paths=8, step=0.05, n_jobs=n),
        lambda n: hg.Strip(n_jobs=n),
        lambda n: hg.Auto(n_jobs=n),
    ],
    ids=["walk", "Strip", "Auto"],
)
def test_wrong_numbers_of_cores_are_refused_everywhere(call, n_jobs):
    says(f"n_jobs must be None, -1 for all cores, or from 1 to 1024; got {n_jobs!r}.", lambda: call(n_jobs))


ODD_ARGUMENTS = {
    "random -1": (lambda: S2.random(0, -1), "n must be an integer, 0 or more; got -1"),
    "random 2.5": (lambda: S2.random(0, 2.5), "n must be an integer, 0 or more; got 2.5"),
    "random '5'": (lambda: S2.random(0, "5"), "n must be an integer, 0 or more; got '5'"),
    "random many": (lambda: S2.random(0, 10**13), "10000000000000 points of Sphere(2)"),
    "n_samples": (
        lambda: hg.GPRegressor(S2, **FIXED).fit(X, Y).sample_y(X, n_samples=-1),
        "number of samples must be a positive integer; got -1",
    ),
    "times empty": (lambda: hg.Smooth(times=[]), "times must be a number or a non-empty list of finite numbers"),
    "times text": (lambda: hg.Ball(times="soon"), "list of finite numbers; got 'soon'"),
    "times nan": (lambda: hg.Auto(times=[0.1, np.nan]), "list of finite numbers; got [0.1, nan]"),
    "times ragged": (lambda: hg.Strip(times=[[0.1], [0.1, 0.2]]), "list of finite numbers; got [[0.1], [0.1, 0.2]]"),
    "times complex": (lambda: hg.Strip(times=[1j]), "list of finite numbers; got [1j]"),
    "walk no times": (lambda: hg.walk(S2, X[0], [], paths=8, step=0.05), "list of finite numbers; got []"),
    "walk text times": (lambda: hg.walk(S2, X[0], "abc", paths=8, step=0.05), "list of finite numbers; got 'abc'"),
    "kernel no times": (lambda: EXACT(X, time=[]), "time is an empty list; give one time or more"),
    "kernel text": (lambda: EXACT(X, time="0.1"), "time must be a positive number, or an array of them; got '0.1'"),
    "kernel bool": (lambda: EXACT(X, time=True), "time must be a positive number; got True"),
    "kernel complex": (lambda: EXACT(X, time=0.1 + 0j), "time must be a positive number; got (0.1+0j)"),
    "kernel ragged": (lambda: EXACT(X, time=[[0.1], [0.1, 0.2]]), "its rows have different lengths"),
    "kernel None": (lambda: EXACT(X, time=None), "time must be a positive number, or an array of them; got None"),
    "normalize": (
        lambda: hg.GPRegressor(S2, normalize="no", **FIXED).fit(X, Y),
        "normalize must be True or False; got 'no'",
    ),
    "cache": (lambda: hg.Smooth(cache=3), "cache must be True, False or a folder; got 3"),
    "distance": (lambda: hg.Strip(distance="no"), "distance must be True or False; got 'no'"),
    "ball": (lambda: hg.Reference(ball=1), "ball must be True or False; got 1"),
    "paths": (lambda: hg.heat_kernel(S2, paths=0), "paths must be a positive integer; got 0"),
    "wrap": (
        lambda: hg.Chart(lambda x: np.eye(1) + 0 * x[..., None], 1, (1.0,), wrap=3),
        "Chart needs a function as wrap; got 3",
    ),
    "jacobian": (
        lambda: hg.Implicit(lambda x: (x * x).sum(-1) - 1, 2, 3, jacobian=3),
        "Implicit needs a function as jacobian; got 3",
    ),
    "baseline of nothing": (
        lambda: baseline("rbf", 3, "regression"),
        "baseline needs a manifold, such as Sphere(2); got 3",
    ),
    "baseline task": (
        lambda: baseline("rbf", S2, "foo"),
        "task must be 'regression' or 'classification'; got 'foo'",
    ),
    "walk nowhere": (
        lambda: hg.walk(None, X[0], 0.1, paths=8, step=0.05),
        "walk needs a manifold, such as Sphere(2); got None",
    ),
    "walk step": (
        lambda: hg.walk(S2, X[0], 0.1, paths=8, step=10**400),
        "step must be a positive number; got an integer beyond floating point",
    ),
    "walk progress": (
        lambda: hg.walk(S2, X[0], 0.1, paths=8, step=0.05, progress="a"),
        "progress must be True or False; got 'a'",
    ),
    "geodesic of nothing": (lambda: along_geodesic(3, 1.0, 3), "along_geodesic needs a manifold, such as Sphere(2)"),
    "geodesic time": (lambda: along_geodesic(S2, -1.0, 3), "time must be a positive number; got -1.0"),
    "geodesic number": (lambda: along_geodesic(S2, 1.0, 0), "number must be a positive integer; got 0"),
    "geodesic many": (lambda: along_geodesic(S2, 1.0, 10**13), "10000000000000 points of Sphere(2) needs about"),
    "knot noise": (lambda: datasets.torus_knot(2, 3, noise="a"), "noise must be a finite number; got 'a'"),
    "knot tests": (lambda: datasets.torus_knot(2, 3, n_test=-1), "n_test must be an integer, 0 or more; got -1"),
    "knot matrix": (lambda: datasets.torus_knot(2, 3, matrix=[[1], [1, 2]]), "its rows have different lengths"),
    "decibels": (lambda: datasets.projective_regression(snr_db=None), "snr_db must be a finite number; got None"),
    "effect": (lambda: datasets.simulated_tract(effect="a"), "effect must be a finite number; got 'a'"),
    "subjects": (lambda: datasets.simulated_tract(subjects="a"), "subjects must be a positive integer; got 'a'"),
    "planted": (lambda: datasets.simulated_tract(planted=[1.5]), "planted must be sites from 0 to 74; got [1.5]"),
    "data_home": (lambda: datasets.drill(data_home=3), "data_home must be a path, a str or a Path; got 3"),
    "tensors": (lambda: datasets.dti(3), "file must be a path, a str or a Path; got 3"),
    "landmarks": (lambda: datasets.gorillas(3), "landmarks must be three or more different numbers from 1 to 8"),
    "download": (lambda: datasets.gorillas(download="no"), "download must be True or False; got 'no'"),
    "log eigenvalue": (
        lambda: points.product_to_spd([1, 0, 0, 0, 1e5, 0, 0], log=True),
        "x has a log eigenvalue of size 1e+05 > 700: its exponential leaves floating point. Are these eigenvalues?",
    ),
    "subspace": (lambda: points.matrix_to_subspace(np.eye(3), "a"), "dimension 1 <= k <= 2, got k = 'a'"),
    "scalar_first": (
        lambda: points.quaternion_to_matrix([0, 0, 0, 1], scalar_first="no"),
        "scalar_first must be True or False; got 'no'",
    ),
    "scalar_first back": (
        lambda: points.matrix_to_quaternion(np.eye(3), scalar_first=1),
        "scalar_first must be True or False; got 1",
    ),
    "spd log": (
        lambda: points.spd_to_product(np.diag([3, 2, 1]), log="no"),
        "log must be True or False; got 'no'",
    ),
    "spd half_circle": (
        lambda: points.spd_to_product(np.diag([3, 2, 1]), half_circle="no"),
        "half_circle must be True or False; got 'no'",
    ),
    "spd back": (
        lambda: points.product_to_spd([1, 0, 0, 0, 3, 2, 1], log="no"),
        "log must be True or False; got 'no'",
    ),
    "spd manifold": (lambda: points.spd_manifold(half_circle=0), "half_circle must be True or False; got 0"),
    "load None": (lambda: hg.load_kernel(None), "path must be a path, a str or a Path; got None"),
    "load 3": (lambda: hg.load_kernel(3), "path must be a path, a str or a Path; got 3"),
    "load a folder": (lambda: hg.load_kernel("/"), "/ is a folder. Give the name of a file in it."),
    "save None": (lambda: EXACT.save(None), "path must be a path, a str or a Path; got None"),
    "picture": (lambda: save_figure(Figure(), None), "path must be a path, a str or a Path; got None"),
}


@pytest.mark.parametrize("call, text", ODD_ARGUMENTS.values(), ids=ODD_ARGUMENTS)
def test_odd_arguments_are_refused(call, text):
    says(text, call)


def test_what_does_not_fit_into_memory_is_refused_before_work():
    many = np.broadcast_to(X[0], (10**6, 3))
    says("of 1,000,000 x 1,000,000 points needs about 16 TB of memory", lambda: EXACT(many, many, time=0.1))


# Arrays.

ODD_ARRAYS = {
    "ragged": ([[1.0, 0, 0], [0.0, 1]], "its rows have different lengths"),
    "text": ([["a", "b", "c"]], "its dtype is <U1"),
    "object": (
        np.array([[1.0, 0, None]], dtype=object),
        "its dtype is object, and {}[0, 2] is None|X[0] is not finite",
    ),
    "dates": (np.array([["2020-01-01"] * 3], dtype="datetime64[D]"), "its dtype is datetime64[D]"),
    "missing": (pd.DataFrame({0: pd.array([1.0, None], "Float64"), 1: 0.0, 2: 0.0}), "and {}[1, 0] is <NA>"),
    "sparse": (sparse.csr_array(np.eye(3)), "is a sparse matrix|sparse data are not supported"),
    "masked": (np.ma.masked_array(X, mask=X > 0.9), "has masked values, which would be used as if they were data"),
    "set": ({1.0, 2.0}, "its dtype is object"),
    "huge": ([[10**400, 0, 0]], "int too large to convert to float"),
}
TAKE_ARRAYS = {
    "distance": (lambda x: S2.distance(x, X[0]), "the first argument of Sphere.distance"),
    "exp": (lambda x: S2.exp(X[0], x), "the second argument of Sphere.exp"),
    "kernel": (lambda x: EXACT(x, time=0.1), "X"),
    "fit": (lambda x: hg.GPRegressor(S2, **FIXED).fit(x, [0.0]), "X"),
    "predict": (lambda x: hg.GPRegressor(S2, **FIXED).fit(X, Y).predict(x), "X"),
    "compare": (lambda x: hg.compare(S2, x, [0.0]), "X"),
    "points": (lambda x: points.sphere_to_latlon(x), "x"),
    "numbers": (lambda x: points.matrix_to_subspace(x, 1), "A"),
    "walk": (lambda x: hg.walk(S2, x, 0.1, paths=1, step=0.05), "x0"),
}


@pytest.mark.parametrize("array, text", ODD_ARRAYS.values(), ids=ODD_ARRAYS)
@pytest.mark.parametrize("call, name", TAKE_ARRAYS.values(), ids=TAKE_ARRAYS)
def test_arrays_that_are_none_are_refused_everywhere(call, name, array, text):
    texts = map(re.escape, text.format(name).split("|"))
    with pytest.raises(HeatGPError, match="|".join(texts)):
        call(array)


GOOD = {
    "list": X.tolist(),
    "tuple": tuple(map(tuple, X.tolist())),
    "object": X.astype(object),
    "Decimal": [[Decimal(repr(v)) for v in row] for row in X.tolist()],
    "DataFrame": pd.DataFrame(X),
    "Float64": pd.DataFrame(X).astype("Float64"),
    "unmasked": np.ma.masked_array(X, mask=False),
    "Fortran": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "long double": X.astype(np.longdouble),
    "big endian": X.astype(">f8"),
}


def test_read_only_arrays_are_left_alone():
    kept = X.copy()
    kept.setflags(write=False)
    assert hg.GPRegressor(S2, **FIXED).fit(kept, Y).predict(kept).shape == (24,)
    np.testing.assert_array_equal(kept, X)


@pytest.mark.parametrize("array", GOOD.values(), ids=GOOD)
def test_the_same_numbers_in_any_container_give_the_same_result(array):
    np.testing.assert_allclose(EXACT(array, X, time=0.2), EXACT(X, X, time=0.2), atol=1e-13)
    np.testing.assert_allclose(S2.distance(array, X[0]), S2.distance(X, X[0]), atol=1e-13)
    model = hg.GPRegressor(S2, **FIXED)
    np.testing.assert_allclose(model.fit(array, Y).predict(array), model.fit(X, Y).predict(X), atol=1e-12)
    np.testing.assert_allclose(points.sphere_to_latlon(array), points.sphere_to_latlon(X), atol=1e-12)


def test_half_precision_becomes_double():
    assert as_array(np.ones(3, dtype=np.float16), "x").dtype == float
    assert hg.Euclidean(3).distance(np.ones(3, np.float16), np.zeros(3, np.float16)).dtype == float
    assert hg.SpecialOrthogonal(3).distance(np.eye(3, dtype=np.float16), np.eye(3, dtype=np.float16)) == 0


MISFITS = {
    "short": (
        lambda: S2.distance([1, 0], [0, 1, 0]),
        "the first argument of Sphere.distance has shape (2,); points of",
    ),
    "batches": (
        lambda: S2.distance(X[:4], X[:5]),
        "Sphere.distance got shapes (4, 3) and (5, 3), whose batch axes do not broadcast. All pairs are x[:, None]",
    ),
    "complex": (lambda: S2.exp(X + 0j, X), "the first argument of Sphere.exp has dtype complex128; the points of"),
    "truth": (lambda: S2.exp(X > 0, X), "the first argument of Sphere.exp has dtype bool"),
}


@pytest.mark.parametrize("call, text", MISFITS.values(), ids=MISFITS)
def test_geometry_names_what_does_not_fit(call, text):
    says(text, call)


def test_classes_of_users_are_checked_too():
    class Line(hg.Manifold):
        shape, dim = (1,), 1

        def noise(self, x, z):
            return z

        def exp(self, x, v):
            return x + v

        def random(self, rng, n):
            return rng.standard_normal((n, 1))

        def defect(self, x):
            return 0 * x[..., 0]

    assert Line().random(0, 2).shape == (2, 1)
    assert Line().exp([1.0], [2]).tolist() == [3.0]
    says("got 'abc'", lambda: Line().random("abc", 2))


@pytest.mark.parametrize("y", [np.ma.masked_array(Y, mask=Y > 0.2), [*Y[:-1], np.nan], [*Y[:-1], None]], ids=repr)
def test_targets_that_are_missing_are_refused_everywhere(y):
    says("y", lambda: hg.GPRegressor(S2, **FIXED).fit(X, y))
    says("y", lambda: hg.GPClassifier(S2, time=1.0, amplitude=1.0).fit(X, y))
    says("y", lambda: hg.compare(S2, X, y))


def test_degrees_on_a_torus_give_a_warning():
    T2, angles = hg.Torus(2), np.array([[10.0, 350.0], [0.1, 0.2]])
    with pytest.warns(
        InputWarning, match=re.escape("X[0, 0] = 10 is beyond 2 pi, and angles of Torus(2) are in radia")
    ):
        hg.heat_kernel(T2)(angles, time=0.1)
    with pytest.warns(InputWarning, match=re.escape("Pass numpy.radians(X) if they are in degrees")):
        hg.GPRegressor(hg.Product(hg.Torus(2), S2), **FIXED).fit(np.hstack((angles, X[:2])), [0.0, 1.0])
    hg.heat_kernel(T2)(np.radians(angles), time=0.1)
    hg.heat_kernel(T2)([[2 * np.pi, -2 * np.pi]], time=0.1)
    hg.heat_kernel(hg.Euclidean(2))(angles, time=0.1)


# Comparisons.

COMPARISONS = {
    "no methods": ({"methods": []}, "methods must be a list of one or more names, or estimators by name; got []"),
    "no estimators": ({"methods": {}}, "methods must be a list of one or more names, or estimators by name; got {}"),
    "one name": ({"methods": "linear"}, "methods must be a list of one or more names"),
    "a number": ({"methods": 3}, "methods must be a list of one or more names"),
    "mixed": ({"methods": ["linear", 3]}, "There is no method 3; there are 'heatgp'"),
    "splits text": ({"splits": "abc"}, "splits must be an integer or pairs (train, test) of indices of 24 points"),
    "splits none": ({"splits": []}, "splits must be an integer or pairs (train, test)"),
    "splits flag": ({"splits": True}, "splits must be an integer or pairs (train, test)"),
    "splits beyond": ({"splits": [([0, 1], [24])]}, "splits must be an integer or pairs (train, test)"),
    "splits empty": ({"splits": [([0, 1], [])]}, "splits must be an integer or pairs (train, test)"),
    "splits triples": ({"splits": [([0, 1], [2], [3])]}, "splits must be an integer or pairs (train, test)"),
    "groups": ({"groups": [1, 2]}, "groups has shape (2,); one label for each of 24 points is needed"),
    "groups missing": ({"groups": [1, "a", None] * 8}, "groups[2] = None is missing or not finite. Remove it."),
    "groups mixed": (
        {"groups": np.array([1, "a"] * 12, dtype=object)},
        "the labels in groups cannot be sorted ('<' not supported between instances of",
    ),
    "task": ({"task": "abc"}, "task must be 'regression' or 'classification'; got 'abc'"),
    "splits ragged": ({"splits": [([0, 1], [[0], [1, 2]])]}, "splits must be pairs of indices, but it cannot be made"),
    "no estimator": (
        {"methods": {"a": 3}},
        "methods['a'] = 3 is no estimator with get_params, fit, predict, which regression needs. Give an object",
    ),
    "None": ({"methods": {"a": None}}, "methods['a'] = None is no estimator"),
    "a class": ({"methods": {"a": hg.GPRegressor}}, "is no estimator with get_params, fit, predict"),
    "a number as name": ({"methods": {3: hg.GPRegressor(S2)}}, "methods must have names that are text; got 3"),
}
TARGETS = {
    "missing": (pd.Series([1.5, pd.NA, *Y[2:]], dtype=object), {}, "y[1] = <NA> is missing or not finite"),
    "mixed": (
        np.array([1, "a"] * 12, dtype=object),
        {"task": "classification"},
        "the labels in y cannot be sorted ('<' not supported between instances of",
    ),
    "mixed, own splits": (
        np.array([1, "a"] * 12, dtype=object),
        {"task": "classification", "splits": [([0, 1], [2])]},
        "the labels in y cannot be sorted",
    ),
    "labels": (["a", "b"] * 12, {"task": "regression"}, "y must be numbers for task='regression'; its dtype is <U1"),
    "complex": (1j * Y, {"task": "classification"}, "y has dtype complex128; it must be one number or label per point"),
    "no class probabilities": (
        Y > 0,
        {"methods": {"a": hg.GPRegressor(S2)}},
        "is no estimator with get_params, fit, predict_proba, which classification needs",
    ),
}


@pytest.mark.parametrize("options, text", COMPARISONS.values(), ids=COMPARISONS)
def test_comparisons_say_what_is_wrong(options, text):
    says(text, lambda: hg.compare(S2, X, Y, **options))


@pytest.mark.parametrize("y, options, text", TARGETS.values(), ids=TARGETS)
def test_comparisons_say_which_target_is_wrong(y, options, text):
    says(text, lambda: hg.compare(S2, X, y, **options))


@pytest.mark.parametrize("number", [0, 1])
def test_comparisons_need_two_points(number):
    says(f"X has {number} points; compare needs two or more", lambda: hg.compare(S2, X[:number], Y[:number]))


def test_comparisons_need_points_of_a_manifold():
    says("compare needs a manifold, such as Sphere(2); got 3", lambda: hg.compare(3, X, Y))
    says("X has shape (1, 24, 3); needed are points (N, 3)", lambda: hg.compare(S2, X[None], [0.0]))


# The command line.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{a},{b},{c},{y}" for (a, b, c), y in zip(X.tolist(), Y.tolist())]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,c,y", *lines]))
    (tmp_path / "xyz.csv").write_text("\n".join(["x,y,z,height", *lines]))
    (tmp_path / "plain.csv").write_text("\n".join(lines))
    (tmp_path / "semicolon.csv").write_text("\n".join(["a,b,c,y", *lines]).replace(",", ";"))
    (tmp_path / "tab.csv").write_text("\n".join(["a,b,c,y", *lines]).replace(",", "\t"))
    (tmp_path / "unnamed.csv").write_text("\n".join(["a,,c,y", *lines]))
    (tmp_path / "folder.csv").mkdir()
    return tmp_path


FIT = ("fit", "--manifold", "Sphere(2)", "--train")
PREDICT = (*FIT, "train.csv", "--predict", "train.csv")
COMMANDS = {
    "out a folder": ((*PREDICT, "--out", "folder.csv"), "folder.csv is a folder. Give the name of a file in it."),
    "save a folder": ((*FIT, "train.csv", "--save", "folder.csv"), "folder.csv is a folder."),
    "save nowhere": (
        (*FIT, "train.csv", "--save", "no/m.npz"),
        "no/m.npz: there is no folder no. Make it first.",
    ),
    "out in /proc": ((*PREDICT, "--out", "/proc/p.csv"), "/proc/p.csv cannot be written: "),
    "save in /proc": ((*FIT, "train.csv", "--save", "/proc/m.npz"), "/proc/m.npz cannot be written: "),
    "plot in /proc": (("kernel", "Sphere(2)", "--time", "0.1", "--plot", "/proc/k.png"), "/proc/k.png cannot be writ"),
    "plot kind": (("kernel", "Sphere(2)", "--time", "0.1", "--plot", "k.txt"), "k.txt: pictures are written as .png"),
    "results a file": (("reproduce", "compare", "--out", "train.csv"), "train.csv is a file, not a folder."),
    "results in /proc": (("reproduce", "compare", "--out", "/proc/r"), "/proc/r cannot be written: "),
    "jobs": (
        ("reproduce", "compare", "--jobs", "0"),
        "n_jobs must be None, -1 for all cores, or from 1 to 1024; got 0",
    ),
    "train a folder": ((*FIT, "folder.csv"), "folder.csv is a folder. Give the name of a file in it."),
    "no header": ((*FIT, "plain.csv"), "plain.csv has no header: its first line, "),
    "semicolons": ((*FIT, "semicolon.csv"), "semicolon.csv is separated by semicolons; write commas between columns"),
    "tabs": ((*FIT, "tab.csv"), "tab.csv is separated by tabs; write commas between columns"),
    "unnamed": ((*FIT, "unnamed.csv"), "unnamed.csv: column 2 has no name; the header is a, , c, y."),
    "y a coordinate": (
        (*FIT, "xyz.csv"),
        "xyz.csv: is column 'y' the target or, beside 'x', a coordinate? The columns are x, y, z, height. Name the",
    ),
    "ignored": ((*FIT, "train.csv", "--kernel", "exact", "--paths", "0"), "--paths 0 has no effect: exact has no such"),
    "ignored too": (
        ("kernel", "Sphere(2)", "--time", "0.1", "--method", "exact", "--references", "5"),
        "--references 5 has no effect: exact has no such option",
    ),
    "seed": (("kernel", "Sphere(2)", "--time", "0.1", "--seed", "-1"), "--seed must be an integer, 0 or more; got -1"),
    "check seed": (("check", "Sphere(2)", "--seed", "-1"), "--seed must be an integer, 0 or more; got -1"),
}


@pytest.mark.parametrize("arguments, text", COMMANDS.values(), ids=COMMANDS)
def test_the_command_line_refuses_before_it_works(folder, capsys, monkeypatch, arguments, text):
    def work(*_, **__):
        raise AssertionError("it has begun to work")

    monkeypatch.setattr("heatgp.cli.fit.train", work)
    monkeypatch.setattr("heatgp.cli.kernel.heat_kernel", work)
    assert main(list(arguments)) == 2
    said = capsys.readouterr()
    assert text in said.err
    assert said.err.startswith("heatgp: ")
    assert said.err.count("\n") == 1
    assert not said.out


def test_a_coordinate_called_y_is_read_when_the_target_is_named(folder, capsys):
    assert main([*FIT, "xyz.csv", "--target", "height", "--predict", "xyz.csv", "--out", "p.csv"]) == 0
    assert main([*FIT, "train.csv", "--predict", "train.csv", "--out", "q.csv"]) == 0
    assert (folder / "p.csv").read_text() == (folder / "q.csv").read_text()


def test_columns_without_names_of_pandas_are_read(folder):
    pd.DataFrame(np.column_stack((X, Y))).to_csv("numbered.csv", index=False)
    assert main([*FIT, "numbered.csv", "--target", "3", "--predict", "numbered.csv", "--out", "p.csv"]) == 0


def test_an_error_of_the_disk_is_one_line(folder, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "p.csv")

    monkeypatch.setattr("heatgp.cli.fit.write_columns", full)
    assert main([*PREDICT, "--out", "p.csv"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "heatgp: [Errno 28] No space left on device: 'p.csv'"


# Polygons.

SQUARE = [(0, 0), (4, 0), (4, 4), (0, 4)]
NOT_SIMPLE = {
    "bow tie": ([(0, 0), (1, 1), (1, 0), (0, 1)], "edge 0, (0, 0) to (1, 1), and edge 2, (1, 0) to (0, 1), meet."),
    "crossed base": (
        [(0, 0), (2, 0), (2, 2), (1, -1), (0, 2)],
        "edge 0, (0, 0) to (2, 0), and edge 3, (1, -1) to (0, 2), meet.",
    ),
    "a vertex twice": ([(0, 0), (1, 1), (0, 2), (2, 2), (1, 1), (2, 0)], "to (1, 1), meet."),
    "a vertex on an edge": ([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], "edge 0, (0, 0) to (2, 0), and edge "),
    "twice around": (SQUARE * 2, "meet. Edges may only share the vertex between them"),
    "a slit": ([(0, 0), (4, 0), (4, 4), (2, 4), (2, 2), (2, 4), (0, 4)], "meet. Edges may only share the vertex"),
    "a hole across": (
        [SQUARE, [(1, 1), (5, 1), (5, 2)]],
        "edge 1, (4, 0) to (4, 4), and edge 4, (1, 1) to (5, 1), mee",
    ),
    "a common border": ([SQUARE, [(4, 0), (8, 0), (8, 4), (4, 4)]], "give holes and islands as rings of their own"),
    "on one line": ([(0, 0), (1, 1), (2, 2), (0, 0)], "A ring of the polygon has no area: it needs three vertices"),
}


@pytest.mark.parametrize("vertices, text", NOT_SIMPLE.values(), ids=NOT_SIMPLE)
def test_polygons_that_meet_themselves_are_refused(vertices, text):
    says(text, lambda: hg.Domain(hg.Euclidean(2), vertices))


def test_simple_polygons_keep_their_area():
    def area(vertices):
        return hg.Domain(hg.Euclidean(2), vertices).volume

    assert area([(0, 0), (0.5, 0), (1, 0), (1, 1), (0, 1)]) == 1  # a vertex on a straight side
    assert area([(0, 0), (1, 0), (1, 0), (1, 1), (0, 1), (0, 0)]) == 1  # vertices given twice, and closed
    assert area([SQUARE, [(1, 1), (3, 1), (3, 3), (1, 3)], [(1.5, 1.5), (2.5, 1.5), (2.5, 2.5)]]) == 16 - 4 + 0.5
    angles, rng = np.linspace(0, 2 * np.pi, 5000, endpoint=False), np.random.default_rng(0)
    coast = (1 + 0.01 * rng.standard_normal(5000))[:, None] * np.stack((np.cos(angles), np.sin(angles)), axis=-1)
    wide, tall = coast[:, 0], coast[:, 1]
    np.testing.assert_allclose(area(coast), abs(wide @ np.roll(tall, -1) - tall @ np.roll(wide, -1)) / 2)


# Files of kernels.


def shore(height):
    return hg.Domain(hg.Euclidean(2), [(0, 0), (1, 0), (1, height), (0, 1)])


def ellipsoid(length):
    return hg.Implicit(lambda x: x[..., 0] ** 2 / length**2 + (x[..., 1:] ** 2).sum(-1) - 1, 2, 3)


SMALL = {"references": 20, "paths": 400, "rng": 0, "cache": False}


@pytest.mark.parametrize(
    "make", [shore, ellipsoid, lambda a: hg.Product(shore(a), S2)], ids=["shore", "own", "product"]
)
def test_a_kernel_of_another_manifold_is_refused(make, tmp_path):
    file = tmp_path / "kernel.npz"
    kernel = hg.heat_kernel(make(1.0), **SMALL)
    kernel.save(file)
    points = make(1.0).random(0, 3)
    same = hg.load_kernel(file, make(1.0))
    np.testing.assert_array_equal(same(points, time=2.0), kernel(points, time=2.0))
    says(
        "vertices, functions or numbers differ from those of the manifold given",
        lambda: hg.load_kernel(file, make(1.5)),
    )


def rewrite(file, change):
    """The file with another description or other arrays, and their checksum."""
    description, arrays = KERNEL.read(file)
    change(description, arrays)
    KERNEL.write(file, description, arrays)


DAMAGE = {
    "no array": lambda d, a: a.clear(),
    "no kernel": lambda d, a: d.pop("kernel"),
    "no fingerprint": lambda d, a: d.pop("fingerprint"),
    "no options": lambda d, a: d["kernel"].pop("options"),
    "options a list": lambda d, a: d["kernel"].update(options=[1, 2]),
    "wrong option": lambda d, a: d["kernel"]["options"].update(paths="many"),
    "no method": lambda d, a: d["kernel"].update(method="none"),
    "kernel a number": lambda d, a: d.update(kernel=3),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    file = tmp_path_factory.mktemp("kernels") / "kernel.npz"
    hg.heat_kernel(shore(1.0), **SMALL).save(file)
    return file.read_bytes()


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_incomplete_files_are_refused(change, tmp_path, stored):
    file = tmp_path / "kernel.npz"
    file.write_bytes(stored)
    rewrite(file, change)
    with pytest.raises(InvalidInput):
        hg.load_kernel(file, shore(1.0))


@pytest.mark.parametrize("keep", [0, 10, 200, -1], ids=repr)
def test_cut_off_files_are_refused(keep, tmp_path, stored):
    file = tmp_path / "kernel.npz"
    file.write_bytes(stored[:keep])
    says("is not a kernel that heatgp saved, or it is damaged", lambda: hg.load_kernel(file, shore(1.0)))


def test_files_of_another_python_are_read_with_a_warning(tmp_path, stored):
    file = tmp_path / "kernel.npz"
    file.write_bytes(stored)
    rewrite(file, lambda d, a: d.update(python="3.0.0 (old)", fingerprint="other"))
    with pytest.warns(InputWarning, match=r"was written by Python 3\.0\.0, so it cannot be compared"):
        hg.load_kernel(file, shore(1.0))


def test_columns_of_a_table_in_another_order_are_refused():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = hg.GPRegressor(S2, **FIXED).fit(table, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(table), hg.GPRegressor(S2, **FIXED).fit(X, Y).predict(X))
    says("Feature names must be in the same order as they were in fit", lambda: model.predict(table[["b", "a", "c"]]))
    says("Feature names unseen at fit time", lambda: model.predict(table.rename(columns={"a": "d"})))


# What the fuzzing suite has found.

OFF = np.where(np.arange(24) == 3, 1.03, 1.0)
READ_ONLY = np.zeros((1, 3))
READ_ONLY.setflags(write=False)
FOUND = {
    "bounds a dict": (lambda: hg.Domain(hg.Euclidean(2), lambda x: x[..., 0], {}), "Domain needs bounds of 2 pairs"),
    "bounds ragged": (
        lambda: hg.Domain(hg.Euclidean(2), lambda x: x[..., 0], [[1], [1, 2]]),
        "Domain needs bounds of 2 pairs (low, high), finite, low < high; got [[1], [1, 2]]",
    ),
    "periodic a flag": (
        lambda: hg.Chart(lambda x: np.eye(2) + 0 * x[..., None], 2, True),
        "Chart needs a tuple periodic; got True",
    ),
    "latitudes and longitudes": (
        lambda: points.latlon_to_sphere(np.zeros((2, 2)), np.zeros(3)),
        "latitude has shape (2, 2) and longitude (3,): they do not broadcast",
    ),
    "complex latitude": (lambda: points.latlon_to_sphere(1j, 0), "latitude is complex; pass latitude.real"),
    "task an array": (lambda: hg.compare(S2, X, Y, task=np.array([1, 2])), "task must be 'regression' or 'classif"),
    "mean sparse": (
        lambda: hg.GPRegressor(S2, mean=sparse.eye_array(2), **FIXED).fit(X, Y),
        'is not known. Use "zero", "constant", "linear", a finite number or a function of points.',
    ),
    "mean nan": (lambda: hg.GPRegressor(S2, mean=np.nan, **FIXED).fit(X, Y), "mean = nan is not known"),
    "noise a flag": (
        lambda: hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=True).fit(X, Y),
        "noise = True must be a number, or None to learn it",
    ),
    "cache nowhere": (lambda: hg.Smooth(cache=""), "cache must be True, False or a folder; got ''"),
    "y ragged": (lambda: hg.compare(S2, X, [*Y[:-1], [1.0]]), "its rows have different lengths"),
    "tiny time": (lambda: EXACT(X, time=1e-300), "time = 1e-300 is not from 1e-100 to 1e+100"),
    "tiny steps": (
        lambda: hg.heat_kernel(S2, "ball", paths=200, times=[0.5], step=1e-300),
        "step = 1e-300 takes 5.0e+299 > 1e+12 steps to time 0.5. Choose a longer one.",
    ),
    "many cosets": (
        lambda: hg.heat_kernel(hg.Stiefel(4, 2), "fibre-average", fibre=10**12),
        "The average over 1000000000000 cosets of 4 elements on Stiefel(4, 2) needs about",
    ),
    "a huge group": (
        lambda: hg.heat_kernel(hg.SpecialOrthogonal(10**6)),
        "One point of SpecialOrthogonal(1000000) nee",
    ),
    "huge points": (
        lambda: hg.heat_kernel(hg.Euclidean(1))([[1e200]], time=1.0),
        "X[0] has an entry of size 1.0e+200 > 1e+100: its square leaves floating point. Change the unit.",
    ),
}


@pytest.mark.parametrize("call, text", FOUND.values(), ids=FOUND)
def test_what_fuzzing_has_found_is_refused(call, text):
    says(text, call)


def test_what_fuzzing_has_found_works():
    assert points.rotation_vector_to_matrix(READ_ONLY).shape == (1, 3, 3)
    large = np.where(Y > 0, 1e200, -1e200)  # labels that are whole numbers, whatever their size
    assert hg.GPClassifier(S2, time=1.0, amplitude=1.0).fit(X, large).classes_.tolist() == [-1e200, 1e200]
    flags = (Y > 0).astype(object)
    assert hg.compare(S2, X, flags, methods=["linear"], splits=2).row("linear", "error").n == 2


# Data with few digits.


@pytest.mark.parametrize(
    "M",
    [
        S2,
        hg.SpecialOrthogonal(3),
        hg.Stiefel(5, 2),
        hg.Grassmann(4, 2),
        hg.ComplexProjective(2),
        hg.Product(S2, hg.Torus(1)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("digits", [3, 4])
def test_points_with_few_digits_are_moved_to_the_nearest_points(M, digits):
    exact = M.random(0, 24)
    rounded = exact.round(digits)
    y = np.abs(exact.reshape(24, -1)[:, 0])
    options = {**FIXED, "kernel": hg.Auto(paths=500, cache=False)}
    with pytest.raises(OffManifold, match="is not on "):
        hg.GPRegressor(M, **options).fit(rounded, y)
    model = hg.GPRegressor(M, project=True, **options).fit(rounded, y)
    distance = np.linalg.norm((M.project(rounded) - rounded).reshape(24, -1), axis=1).max()
    np.testing.assert_allclose(model.moved_, distance, rtol=1e-9)
    assert 0 < model.moved_ <= 0.5 * 10**-digits * np.sqrt(rounded[0].size * (2 if M.is_complex else 1))
    truth = hg.GPRegressor(M, **options).fit(exact, y)
    assert truth.moved_ == 0
    np.testing.assert_allclose(model.predict(rounded), truth.predict(exact), atol=20 * 10**-digits)


def test_points_that_are_no_rounding_are_refused():
    says("X[3] is 3.0e-02 > ", lambda: hg.GPRegressor(S2, project=True, **FIXED).fit(X * OFF[:, None], Y))
    far = hg.Product(hg.Euclidean(1), S2)
    rows = np.column_stack((np.full(24, 1e6), X * OFF[:, None]))  # the large factor excuses nothing in the other
    says("away from the nearest point of Sphere(2)", lambda: hg.GPRegressor(far, project=True, **FIXED).fit(rows, Y))
    says("project must be True or False; got 'yes'", lambda: hg.GPRegressor(S2, project="yes", **FIXED).fit(X, Y))
    says(
        "a precomputed kernel has no points",
        lambda: hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1, project=True).fit(
            np.eye(3), [0.0, 1, 2]
        ),
    )


def test_new_points_are_moved_too_and_the_log_says_how_far(caplog):
    model = hg.GPRegressor(S2, project=True, **FIXED)
    with caplog.at_level("INFO", "heatgp"):
        model.fit(X.round(3), Y).predict(X.round(2))
    assert [re.sub(r"\d\.\d+|0\.\d+", "D", r.message) for r in caplog.records] == [
        "24 points of X were moved onto Sphere(2), by at most D",
        "24 points of X were moved onto Sphere(2), by at most D",
    ]
    assert hg.GPClassifier(S2, project=True, time=1.0, amplitude=1.0).fit(X.round(3), Y > 0).moved_ > 0


def test_the_command_line_moves_the_points_of_each_file_once(folder, capsys, caplog):
    np.savetxt(
        "rounded.csv", np.column_stack((X.round(3), Y)), delimiter=",", header="a,b,c,y", comments="", fmt="%.9g"
    )
    np.savetxt("new.csv", X.round(2), delimiter=",", header="a,b,c", comments="", fmt="%.9g")
    arguments = [*FIT, "rounded.csv", "--predict", "new.csv", "--out", "p.csv"]
    assert main(arguments) == 2
    assert "rounded.csv[0] is not on Sphere(2)" in capsys.readouterr().err
    with caplog.at_level("INFO", "heatgp"):
        assert main([*arguments, "--project", "--save", "model.npz"]) == 0
        assert main(["fit", "--model", "model.npz", "--predict", "new.csv", "--out", "q.csv"]) == 0
    said = "24 points of {} were moved onto Sphere(2), by at most 0.00"
    assert len(caplog.messages) == 3
    for message, file in zip(caplog.messages, ("rounded.csv", "new.csv", "new.csv")):
        assert message.startswith(said.format(file))
    assert (folder / "p.csv").read_text() == (folder / "q.csv").read_text()
    model = hg.load_model("model.npz")
    alone = hg.GPRegressor(S2, project=True).fit(X.round(3), Y)
    assert model.project
    np.testing.assert_allclose(model.moved_, alone.moved_, rtol=1e-9)
    rows = pd.DataFrame(X.round(2), columns=["a", "b", "c"])
    np.testing.assert_allclose(model.predict(rows), alone.predict(X.round(2)), atol=1e-6)
