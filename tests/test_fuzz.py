"""Odd arguments by the thousand: every call gives a finite result of the documented shape, or one of our errors.

`TypeError` is for wrong signatures only, and no call here has one. Warnings of the library are allowed, any other
warning is a failure (pytest makes it an error). What was found here is kept, by hand, in test_odd_inputs.py.
"""

import contextlib
import io
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

import heatgp as hg
from heatgp import points
from heatgp.arguments import is_integer
from heatgp.cli import main
from heatgp.errors import HeatGPError, HeatGPWarning

pd = pytest.importorskip("pandas")


def nothing(x):
    return x


# What users pass by mistake.

ODD = [
    *(
        None,
        True,
        False,
        "",
        "abc",
        "0.1",
        b"x",
        0,
        -1,
        1,
        2,
        3,
        7,
        2.5,
        -0.5,
        1e-300,
        1e300,
        np.nan,
        np.inf,
        -np.inf,
        1j,
    ),
    *([], [1], [1, 2], (1, 2), (0.1, 0.2), [[1], [1, 2]], {}, {1: 2}, {3}, nothing, object(), hg.Sphere, hg.Sphere(2)),
    *(np.array([]), np.array(3), np.array([1, 2, 3]), np.float32(0.5), np.int8(2), np.bool_(True), np.str_("a")),
    *(np.array(["a"]), np.array([None]), np.ma.masked_array([1.0, 2.0], [True, False]), sparse.eye_array(2), slice(2)),
    *(pd.NA, pd.Series([1.0, 2.0]), pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01"), range(3)),
]
odd = st.sampled_from(ODD)
HUGE_COUNTS = [10**11, 10**18]


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def with_entry(value):
    def changed(x):
        x = x.astype(object if value is None or isinstance(value, str) else np.result_type(x, value))
        x.flat[: 1 if x.size else 0] = value
        return x

    return changed


CONTAINERS = [
    *(nothing, nothing, nothing, np.ndarray.tolist, read_only, np.asfortranarray, np.atleast_1d),
    lambda x: tuple(x.tolist()),
    *(
        lambda x, kind=kind: x.astype(kind)
        for kind in ("f2", "f4", "g", "i4", "u1", "?", "O", "U8", ">f8", "c8", "c16")
    ),
    *(lambda x, power=power: x * 10.0**power for power in (-300, -8, 8, 100)),
    *(with_entry(value) for value in (np.nan, np.inf, -np.inf, None, "a", 1e30, 1j)),
    *(lambda x: x[..., :-1], lambda x: x[None], lambda x: x[0] if len(x) else x, lambda x: x[:0], lambda x: x.ravel()),
    *(
        lambda x: x[::-1],
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0),
    ),
    *(
        lambda x: np.ma.masked_array(x),
        lambda x: np.ma.masked_array(x, mask=np.abs(x) < 0.5),
        lambda x: np.zeros_like(x),
    ),
    *(lambda x: pd.DataFrame(x.reshape(len(x), -1)), lambda x: pd.DataFrame(x.reshape(len(x), -1)).astype("Float64")),
    *(
        lambda x: sparse.csr_array(x.reshape(len(x), -1)),
        lambda x: [*x.tolist(), [1.0]],
        lambda x: x + 1e-4,
        lambda x: iter(x),
    ),
]


def real(x):
    """Real and imaginary parts side by side: what containers of real numbers can hold."""
    return np.stack((x.real, x.imag), axis=-1) if np.iscomplexobj(x) else x


@st.composite
def odd_points(draw, manifold, number=None):
    """Points of a manifold in an odd container, or no points at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(odd)
    n = draw(st.sampled_from([0, 1, 2, 5])) if number is None else number
    x = manifold.random(draw(st.integers(0, 3)), n)
    container = draw(st.sampled_from(CONTAINERS))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return container(x)
        except (
            TypeError,
            ValueError,
            OverflowError,
        ):  # complex points have no half precision, data frames no 0 columns
            return x


def finite(*arrays):
    """Whether all numbers are finite and small enough for their squares."""
    try:
        values = [np.asarray(array, dtype=complex) for array in arrays]
    except (TypeError, ValueError):
        return True  # not numbers: it must be refused
    return all(np.isfinite(v).all() and (np.abs(v) < 1e90).all() for v in values)


def outcome(call):
    """The result of a call, or None where it was refused by an error of the library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatGPWarning)
        warnings.filterwarnings("ignore", ".*feature names", UserWarning)
        warnings.filterwarnings("ignore", "A column-vector y was passed")
        try:
            return call()
        except HeatGPError as error:
            said = str(error)
    assert len(said) > 15, "an error that says nothing"
    return None


def agrees(result, shape):
    """Assert that a result is finite and has the shape, where there is one."""
    if result is not None:
        assert np.shape(result) == tuple(shape)
        assert np.isfinite(result).all()


# The properties.

CLASSES = [
    *(hg.Sphere, hg.Euclidean, hg.Torus, hg.RealProjective, hg.ComplexProjective, hg.SpecialOrthogonal, hg.Orthogonal),
    *(hg.Unitary, hg.SpecialUnitary, hg.Grassmann, hg.Stiefel, hg.TorusKnot, hg.Product, hg.Scaled, hg.Quotient),
    *(hg.Implicit, hg.Chart, hg.Domain),
]
ARGUMENTS = {hg.TorusKnot: 2, hg.Scaled: 2, hg.Quotient: 2, hg.Domain: (2, 3), hg.Implicit: (3, 5), hg.Chart: (2, 5)}


def flat(x):
    return np.eye(x.shape[-1]) + 0 * x[..., None]


def sphere(x):
    return (x * x).sum(-1) - 1


SENSIBLE = [
    flat,
    sphere,
    hg.Sphere(2),
    hg.Euclidean(2),
    nothing,
    (nothing,),
    lambda x: x[..., 0],
    2,
    3,
    "real",
    ((0, 1), (0, 1)),
]


def constructors(data):
    cls = data.draw(st.sampled_from(CLASSES))
    low, high = np.broadcast_to(ARGUMENTS.get(cls, (2, 3) if cls in (hg.Grassmann, hg.Stiefel) else 1), 2).tolist()
    given_ = data.draw(st.lists(st.one_of(odd, st.sampled_from(SENSIBLE)), min_size=low, max_size=high))
    made = outcome(lambda: cls(*given_))
    if made is not None:
        assert isinstance(made, hg.Manifold)
        assert made.dim >= 1
        assert repr(made)


MANIFOLDS = [
    *(
        hg.Sphere(2),
        hg.Euclidean(2),
        hg.Torus(2),
        hg.RealProjective(2),
        hg.ComplexProjective(2),
        hg.SpecialOrthogonal(3),
    ),
    *(hg.Orthogonal(2), hg.Unitary(2), hg.SpecialUnitary(2), hg.Grassmann(4, 2), hg.Grassmann(3, 1, "complex")),
    *(hg.Stiefel(4, 2), hg.TorusKnot(2, 3), hg.Product(hg.Sphere(2), hg.Torus(1)), hg.Scaled(hg.Sphere(3), 2.0)),
    hg.Domain(hg.Euclidean(2), [(0, 0), (1, 0), (0, 1)]),
]
manifolds = st.sampled_from(MANIFOLDS)


def geometry(data):
    M = data.draw(manifolds)
    kind = data.draw(st.sampled_from(["random", "distance", "exp", "project"]))
    if kind == "random":
        rng, n = data.draw(odd), data.draw(st.one_of(odd, st.sampled_from([0, 3, *HUGE_COUNTS])))
        result = outcome(lambda: M.random(rng, n))
        agrees(result, (n, *M.shape) if result is not None else ())
        return
    x = data.draw(odd_points(M))
    if kind == "project":
        result = outcome(lambda: M.project(x))
        if result is not None:
            assert result.shape[result.ndim - len(M.shape) :] == M.shape
            assert np.max(M.defect(result), initial=0.0) < 1e-8
        return
    y = data.draw(odd_points(M))
    if not finite(x, y):  # not a number in, not a number out
        return
    result = outcome(lambda: M.distance(x, y) if kind == "distance" else M.exp(x, y))
    if result is not None:
        shape = np.broadcast_shapes(np.shape(x), np.shape(y))
        agrees(result, shape if kind == "exp" else shape[: len(shape) - len(M.shape)])


OPTIONS = {
    "exact": {},
    "ball": {"paths": 200, "times": [0.3, 0.5], "step": 0.1, "epsilon": 0.5, "rng": 0, "n_jobs": None},
    "strip": {
        "paths": 200,
        "times": [0.3, 0.5],
        "step": 0.1,
        "epsilon": 0.5,
        "distance": False,
        "rng": 0,
        "cache": False,
    },
    "smooth": {"paths": 200, "times": 0.5, "rng": 0, "n_jobs": None, "cache": False},
    "reference": {"paths": 400, "references": 20, "rng": 0, "epsilon": None, "ball": False, "n_jobs": None},
    "fibre-average": {"fibre": 1, "rng": 0},
    "auto": {"paths": 200, "rng": 0, "times": None, "step": None, "epsilon": None, "fibre": 1, "cache": False},
}
COUNTS = ("paths", "references", "fibre")
SMALL = [
    hg.Sphere(2),
    hg.SpecialOrthogonal(10**6),
    hg.Torus(1),
    hg.Stiefel(4, 2),
    hg.Domain(hg.Euclidean(2), [(0, 0), (1, 0), (0, 1)]),
]


def kernels(data):
    M = data.draw(st.one_of(st.sampled_from(SMALL), st.sampled_from(SMALL), odd))
    method = data.draw(st.sampled_from(list(OPTIONS)))
    options = dict(OPTIONS[method])
    for name in data.draw(st.lists(st.sampled_from([*options, "paths", "times", "nonsense"]), max_size=2)):
        options[name] = data.draw(st.one_of(odd, st.just(10**15)) if name in COUNTS else odd)
    if is_integer(options.get("n_jobs")) and options["n_jobs"] != 0:
        options["n_jobs"] = 1  # no new processes here
    if isinstance(options.get("cache"), str):
        options["cache"] = False  # nor new folders
    kernel = outcome(lambda: hg.heat_kernel(M, data.draw(st.one_of(st.just(method), odd)), **options))
    if kernel is None:
        return
    x = M.random(0, 3)
    time = max(min(1.0, kernel.times[1]), kernel.times[0])
    agrees(outcome(lambda: kernel(x, time=time)), (3, 3))
    agrees(outcome(lambda: kernel.standard_error(x, time=time)), (3, 3))


EXACT = [hg.heat_kernel(M) for M in MANIFOLDS[:9]]
times = st.one_of(odd, st.sampled_from([1.0, 0.1, 1e-3, 1e3, [0.1, 0.2], np.array([[0.1], [1.0]]), (0.1,)]))


def kernel_calls(data):
    kernel = data.draw(st.sampled_from(EXACT))
    M, time = kernel.manifold, data.draw(times)
    x, y = data.draw(odd_points(M)), data.draw(st.one_of(st.none(), odd_points(M)))
    result = outcome(lambda: kernel(x, y, time=time))
    if result is not None:
        one = np.shape(x)[: np.ndim(np.asarray(x)) - len(M.shape)]
        other = one if y is None else np.shape(y)[: np.ndim(np.asarray(y)) - len(M.shape)]
        agrees(result, (*np.shape(time), *one, *other))
        assert (result >= -1e-9).all()


S2, N = hg.Sphere(2), 6
X = S2.random(0, N)
Y = X[:, 0] * X[:, 2]
PARAMETERS = ["kernel", "time", "amplitude", "normalize", "time_bounds", "rng", "n_jobs", "noise", "mean", "manifold"]


@st.composite
def odd_targets(draw):
    y = draw(st.sampled_from([Y, Y, Y > 0, np.where(Y > 0, "a", "b"), np.arange(N), np.zeros(N), 1e200 * Y]))
    if draw(st.integers(0, 3)) == 0:
        return draw(odd)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return draw(st.sampled_from([nothing, nothing, *CONTAINERS]))(y)
        except (TypeError, ValueError, IndexError):
            return y


def estimators(data):
    regression = data.draw(st.booleans())
    parameters = {"manifold": S2, "time": 0.5, "amplitude": 1.0, **({"noise": 0.1} if regression else {})}
    for name in data.draw(st.lists(st.sampled_from(PARAMETERS if regression else PARAMETERS[:7]), max_size=2)):
        parameters[name] = data.draw(odd)
    if is_integer(parameters.get("n_jobs")) and parameters["n_jobs"] != 0:
        parameters["n_jobs"] = 1  # no new processes here
    x, y = data.draw(st.one_of(st.just(X), odd_points(S2, N))), data.draw(odd_targets())
    cls = hg.GPRegressor if regression else hg.GPClassifier
    model = outcome(lambda: cls(**parameters).fit(x, y))
    if model is None:
        return
    new = data.draw(st.one_of(st.just(X), odd_points(S2)))
    result = outcome(lambda: model.predict(new))
    if regression:
        agrees(result, np.shape(result)[:1])
        std = outcome(lambda: model.predict(new, return_std=True))
        agrees(std, np.shape(std)) if std is not None else None
        agrees(outcome(lambda: model.sample_y(X, 2, random_state=data.draw(odd))), (N, 2))
    else:
        probabilities = outcome(lambda: model.predict_proba(new))
        if probabilities is not None:
            agrees(probabilities, (len(result), len(model.classes_)))
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


CONVERTERS = [
    (points.latlon_to_sphere, hg.Euclidean(2)),
    (points.sphere_to_latlon, hg.Sphere(2)),
    (points.quaternion_to_matrix, hg.Sphere(3)),
    (points.matrix_to_quaternion, hg.SpecialOrthogonal(3)),
    (points.rotation_vector_to_matrix, hg.Euclidean(3)),
    (points.matrix_to_rotation_vector, hg.SpecialOrthogonal(3)),
    (points.rotation_to_matrix, hg.SpecialOrthogonal(3)),
    (points.matrix_to_rotation, hg.SpecialOrthogonal(3)),
    (points.rigid_to_product, hg.SpecialOrthogonal(4)),
    (points.product_to_rigid, points.RIGID_MOTIONS),
    (points.matrix_to_subspace, hg.Grassmann(4, 2)),
    (points.subspace_to_projector, hg.Grassmann(4, 2)),
    (points.landmarks_to_shape, hg.Stiefel(5, 2)),
    (points.shape_to_landmarks, hg.ComplexProjective(2)),
    (points.spd_to_product, hg.SpecialOrthogonal(3)),
    (points.product_to_spd, points.spd_manifold()),
]


def converters(data):
    convert, M = data.draw(st.sampled_from(CONVERTERS))
    x = data.draw(odd_points(M))
    if convert is points.latlon_to_sphere:
        y = data.draw(odd_points(M))
        result = outcome(lambda: convert(x, y))
    else:
        result = outcome(lambda: convert(x))
    if result is not None and convert is not points.matrix_to_rotation:
        assert np.isfinite(result).all()


def comparisons(data):
    options = {"methods": ["linear"], "splits": 2}
    for name in data.draw(st.lists(st.sampled_from(["methods", "splits", "groups", "task", "rng"]), max_size=2)):
        options[name] = data.draw(odd)
    if options["methods"] is None:
        options["methods"] = ["nearest"]  # the default takes seconds
    x, y = data.draw(st.one_of(st.just(X), odd_points(S2, N))), data.draw(odd_targets())
    M = data.draw(st.one_of(st.just(S2), st.just(S2), odd))
    table = outcome(lambda: hg.compare(M, x, y, **options))
    if table is not None:
        assert table.rows
        assert all(np.isfinite(row.mean) for row in table.rows if row.metric != "auc")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The bytes of a kernel in a file, and the file."""
    file = tmp_path_factory.mktemp("fuzz") / "kernel.npz"
    hg.heat_kernel(S2, "smooth", paths=200, rng=0, cache=False).save(file)
    return file.read_bytes(), file


def files(data, stored):
    whole, file = stored
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(bytes(damaged[: data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))]))
    kernel = outcome(lambda: hg.load_kernel(file, data.draw(st.one_of(st.none(), odd))))
    if kernel is not None:  # bytes that nothing reads, or the same values
        np.testing.assert_array_equal(kernel(X, time=0.5), hg.heat_kernel(S2, "smooth", paths=200, rng=0)(X, time=0.5))


WORDS = [
    *(
        "Sphere(2)",
        "Sphere(0)",
        "Sphere(",
        "Euclidean(3)",
        "Torus(3)",
        "abc",
        "",
        "0",
        "-1",
        "0.1",
        "nan",
        "inf",
        "1e-3",
    ),
    *(
        "train.csv",
        "other.csv",
        "none.csv",
        ".",
        "/",
        "/proc/x",
        "no/where.csv",
        "out.csv",
        "out.npz",
        "k.png",
        "a:b",
        "os:",
    ),
    *("x", "y", "z", "exact", "auto", "smooth", "3", "é", "--help"),
]
FLAGS = {
    "fit": [
        "--manifold",
        "--train",
        "--target",
        "--columns",
        "--task",
        "--kernel",
        "--predict",
        "--out",
        "--save",
        "--model",
    ],
    "kernel": ["--time", "--method", "--points", "--seed", "--plot"],
    "check": ["--seed"],
    "manifolds": [],
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with a table of points of the sphere, and one that is none."""
    folder = tmp_path_factory.mktemp("tables")
    np.savetxt(folder / "train.csv", np.column_stack((X, Y)), delimiter=",", header="a,b,c,y", comments="")
    (folder / "other.csv").write_text("x;y\n1,5;2\n", encoding="latin-1")
    return folder


def command_line(data, tables):
    command = data.draw(st.sampled_from(list(FLAGS)))
    words = [command, *(data.draw(st.sampled_from(WORDS)) for _ in range(command in ("kernel", "check")))]
    sensible = {"--manifold": "Sphere(2)", "--train": "train.csv", "--time": "0.1", "--predict": "train.csv"}
    for flag, value in sensible.items():
        if flag in FLAGS[command] and data.draw(st.integers(0, 3)):
            words += [flag, value]
    for flag in data.draw(st.lists(st.sampled_from(FLAGS[command] or ["--seed"]), max_size=2)):
        words += [flag, data.draw(st.sampled_from(WORDS))]
    said = io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.chdir(tables),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        warnings.simplefilter("default", HeatGPWarning)  # the command line prints them
        try:
            status = main(words)
        except SystemExit as stop:  # argparse
            status = stop.code
    assert status in (0, 1, 2)
    assert "nan" not in said.getvalue().replace("'nan'", "").replace("nan", "", words.count("nan") * 9)
    if status == 2:
        assert said.getvalue().strip()


# How many of each: the slow ones are 10,000 in all.

PROPERTIES = {
    constructors: (60, 2000),
    geometry: (60, 1800),
    kernels: (15, 600),
    kernel_calls: (60, 1600),
    estimators: (40, 1400),
    converters: (60, 1600),
    comparisons: (15, 500),
}
WITH_FILES = {files: (15, 300), command_line: (15, 200)}


def run(check, examples, *fixtures):
    limits = settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=[Phase.generate],  # arguments are small already: no time is spent on smaller ones
    )
    limits(given(st.data())(lambda data: check(data, *fixtures)))()


def test_the_slow_examples_are_ten_thousand():
    assert sum(slow for _, slow in (PROPERTIES | WITH_FILES).values()) == 10_000


@pytest.mark.parametrize("check", PROPERTIES, ids=lambda check: check.__name__)
def test_odd_arguments(check):
    run(check, PROPERTIES[check][0])


@pytest.mark.slow
@pytest.mark.parametrize("check", PROPERTIES, ids=lambda check: check.__name__)
def test_many_odd_arguments(check):
    run(check, PROPERTIES[check][1])


def test_damaged_files(stored):
    run(files, WITH_FILES[files][0], stored)


@pytest.mark.slow
def test_many_damaged_files(stored):
    run(files, WITH_FILES[files][1], stored)


def test_commands(tables):
    run(command_line, WITH_FILES[command_line][0], tables)


@pytest.mark.slow
def test_many_commands(tables):
    run(command_line, WITH_FILES[command_line][1], tables)
