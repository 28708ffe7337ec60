"""Odd arguments by the thousand: every call gives a finite result of the documented shape, or one of our errors.

What holds numbers that are not finite may also give a result that is not. Values that are no flags, missing values and
masked values must be refused. `TypeError` is for wrong signatures only, and no call here has one. Warnings of the
library are allowed, any other warning is a failure (pytest makes it an error). What was found here is kept, by hand, in
test_odd_inputs.py.
"""

import contextlib
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

import heatgp as hg
from heatgp import baselines, datasets, points
from heatgp.arguments import is_integer
from heatgp.cli import main
from heatgp.errors import HeatGPError, HeatGPWarning
from heatgp.plots import along_geodesic

resource = pytest.importorskip("resource")
MEMORY = 4 << 30


@pytest.fixture(scope="module", autouse=True)
def limited_memory():
    """An end of memory, so that a huge count that is not refused fails its test and not the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm")  # of Linux; elsewhere there is no limit
    if pages.exists():
        used = int(pages.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


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
    *(10**400, -(10**400), pd.NaT, np.random.Generator, np.random.default_rng, np.random.RandomState(0), np.float64),
]
odd = st.sampled_from(ODD)
FLAGS = [True, False, np.True_, np.False_, "no", "True", 3, 0, 1.0, None, [], [True], np.array(True), pd.NA, 10**400]
HUGE_COUNTS = [10**11, 10**18]


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def with_entry(value):
    def changed(x):
        x = x.astype(np.result_type(x, value) if isinstance(value, (float, complex)) else object)
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
    *(with_entry(value) for value in (pd.NA, pd.NaT, 10**400, True, [1.0])),
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


def size_of(*arrays):
    """What numbers are in arrays: "missing" or infinite ones, "large" ones, whose squares overflow, or neither."""
    try:
        values = [np.asarray(array, dtype=complex) for array in arrays]
    except (TypeError, ValueError, OverflowError):
        return "usual"  # not numbers: it must be refused
    if not all(np.isfinite(v).all() for v in values):
        return "missing"
    return "usual" if all((np.abs(v) < 1e90).all() for v in values) else "large"


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
        assert np.isfinite(np.asarray(result)).all()


def with_flag(flag, call):
    """The outcome of a call with a flag, which must be refused where the flag is none."""
    result = outcome(lambda: call(flag))
    assert result is None or isinstance(flag, (bool, np.bool_)), f"{flag!r} was taken for a flag"
    return result


def named(data, call, **arguments):
    """A call with its arguments by position, the last ones by name."""
    number = data.draw(st.integers(0, len(arguments)))
    values = list(arguments.items())
    return outcome(lambda: call(*(value for _, value in values[:number]), **dict(values[number:])))


def batch(x, M):
    """The batch axes of points."""
    return np.shape(x)[: np.ndim(x) - len(M.shape)]


# The properties.

CLASSES = [
    *(hg.Sphere, hg.Euclidean, hg.Torus, hg.RealProjective, hg.ComplexProjective, hg.SpecialOrthogonal, hg.Orthogonal),
    *(hg.Unitary, hg.SpecialUnitary, hg.Grassmann, hg.Stiefel, hg.TorusKnot, hg.Product, hg.Scaled, hg.Quotient),
    *(hg.Implicit, hg.Chart, hg.Domain, hg.Hyperbolic, hg.SPD, hg.HermitianPD),
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
    *(hg.Hyperbolic(2), hg.SPD(2), hg.SPD(2, "log-euclidean"), hg.HermitianPD(2)),
]
manifolds = st.sampled_from(MANIFOLDS)


PAIRS = {"distance": ("x", "y"), "exp": ("x", "v")}


def geometry(data):
    """What users call by hand; the other members of a manifold are for the library, and take arrays of points."""
    M, kind = data.draw(manifolds), data.draw(st.sampled_from(["random", "project", "distance", "exp"]))
    if kind == "random":
        rng, n = data.draw(odd), data.draw(st.one_of(odd, st.sampled_from([0, 3, *HUGE_COUNTS])))
        result = named(data, M.random, rng=rng, n=n)
        agrees(result, (n, *M.shape) if result is not None else ())
        return
    names = PAIRS.get(kind, ("x",))
    arguments = {name: data.draw(odd_points(M)) for name in names}
    given_ = tuple(arguments.values())
    size = size_of(*given_)
    with np.errstate(**({} if size == "usual" else {"all": "ignore"})):
        result = named(data, getattr(M, kind), **arguments)
    if result is None:
        return
    assert not any(map(np.ma.is_masked, given_)), "masked values were used"
    if size != "usual":  # not a number in, not a number out; an answer to large numbers may have overflowed
        assert kind != "project" or size == "large", "the nearest point of no point"
        finite = np.size(result) and np.isfinite(np.asarray(result)).all()
        assert size == "large" or not finite, "a finite answer to what is not finite"
        return
    if isinstance(M, hg.Orthogonal) and kind == "distance":
        result = np.where(np.isposinf(result), 0.0, result)  # no path leads from one component to the other
    together = np.broadcast_shapes(*(batch(x, M) for x in given_))
    agrees(result, together if kind == "distance" else (*together, *M.shape))
    if kind == "project":
        assert np.max(M.defect(result), initial=0.0) < 1e-8


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
    log = data.draw(st.one_of(st.just(False), st.sampled_from(FLAGS)))
    kind = data.draw(st.sampled_from(["value", "value", "diag", "derivative", "standard_error"]))
    if kind == "diag":
        result = with_flag(log, lambda log: kernel.diag(x, time=time, log=log))
        agrees(result, batch(x, M) if result is not None else ())
        return
    call = {"value": kernel}.get(kind) or getattr(kernel, kind)
    result = (
        with_flag(log, lambda log: kernel(x, y, time=time, log=log))
        if kind == "value"
        else named(data, lambda X, Y: call(X, Y=Y, time=time), X=x, Y=y)
    )
    if result is not None:
        agrees(result, (*np.shape(time), *batch(x, M), *batch(x if y is None else y, M)))
        assert kind == "derivative" or (kind == "value" and log) or (result >= -1e-9).all()


S2, N = hg.Sphere(2), 6
X = S2.random(0, N)
Y = X[:, 0] * X[:, 2]
PARAMETERS = [
    *("kernel", "time", "amplitude", "normalize", "priors", "random_state", "inference", "manifold", "project"),
    *("noise", "mean"),
]


MISSING = [None, np.nan, pd.NA, pd.NaT]
LABELS = [
    *(np.array(["a", "b", missing, "a", "b", "a"], dtype=object) for missing in MISSING),
    *(np.array([1.0, 2.0, missing, 1.0, 2.0, 1.0], dtype=object) for missing in MISSING),
    *(np.array(["a", 1, "b", 2, "a", other], dtype=object) for other in (1.5, True, (1, 2), b"a")),
    *(np.array([0, 1, 0, 1, 0, other], dtype=object) for other in (True, 10**400, 2**70, 1j, nothing)),
    np.array([True, False, True, False, True, False], dtype=object),
]


def labels_of(y):
    """The different labels of targets that were accepted: none of them is missing."""
    labels = np.asarray(y, dtype=object).ravel().tolist()
    assert not any(label is None or label is pd.NA or label is pd.NaT or label != label for label in labels)
    return set(labels)


@st.composite
def odd_targets(draw):
    y = draw(st.sampled_from([Y, Y, Y > 0, np.where(Y > 0, "a", "b"), np.arange(N), np.zeros(N), 1e200 * Y, *LABELS]))
    if draw(st.integers(0, 3)) == 0:
        return draw(odd)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return draw(st.sampled_from([nothing, nothing, *CONTAINERS]))(y)
        except (TypeError, ValueError, IndexError, OverflowError):
            return y


def estimators(data):
    regression = data.draw(st.booleans())
    parameters = {"manifold": S2, "time": 0.5, "amplitude": 1.0, **({"noise": 0.1} if regression else {})}
    for name in data.draw(st.lists(st.sampled_from(PARAMETERS if regression else PARAMETERS[:-2]), max_size=2)):
        parameters[name] = data.draw(odd)
    x, y = data.draw(st.one_of(st.just(X), st.just(X), odd_points(S2, N))), data.draw(odd_targets())
    cls = hg.GPRegressor if regression else hg.GPClassifier
    model = outcome(lambda: cls(**parameters).fit(x, y))
    if model is None:
        return
    new = data.draw(st.one_of(st.just(X), odd_points(S2)))
    result = outcome(lambda: model.predict(new))
    number = None if result is None else len(new)
    labels = labels_of(y)
    if regression:
        agrees(result, (number,))
        name, flag = data.draw(st.sampled_from(["return_std", "return_cov"])), data.draw(st.sampled_from(FLAGS))
        more = with_flag(flag, lambda flag: model.predict(new, **{name: flag}))
        assert (more is None) <= (result is None or not isinstance(flag, (bool, np.bool_)))
        if more is not None and flag:
            mean, spread = more
            np.testing.assert_allclose(mean, result, rtol=1e-9, atol=1e-9 * np.max(np.abs(result), initial=0))
            agrees(spread, (number,) if name == "return_std" else (number, number))
            assert (spread >= 0).all() or name == "return_cov"
        seed, samples = data.draw(odd), data.draw(st.one_of(st.just(2), odd))
        drawn = named(data, model.sample_y, X=X, n_samples=samples, random_state=seed)
        agrees(drawn, (N, samples) if drawn is not None else ())
    else:
        assert len(model.classes_) <= len(labels)
        probabilities = outcome(lambda: model.predict_proba(new))
        assert (probabilities is None) == (result is None)
        if probabilities is not None:
            assert np.shape(result) == (number,)
            assert np.isin(result, model.classes_).all()
            agrees(probabilities, (number, len(model.classes_)))
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
    (points.ball_to_hyperboloid, hg.Euclidean(2)),
    (points.hyperboloid_to_ball, hg.Hyperbolic(2)),
    (points.half_space_to_hyperboloid, hg.Euclidean(2)),
    (points.hyperboloid_to_half_space, hg.Hyperbolic(2)),
    (points.matrix_to_subspace, hg.Grassmann(4, 2)),
    (points.subspace_to_projector, hg.Grassmann(4, 2)),
    (points.landmarks_to_shape, hg.Stiefel(5, 2)),
    (points.shape_to_landmarks, hg.ComplexProjective(2)),
    (points.spd_to_product, hg.SpecialOrthogonal(3)),
    (points.product_to_spd, points.spd_manifold()),
]

CONVERTER_FLAGS = {
    **dict.fromkeys((points.quaternion_to_matrix, points.matrix_to_quaternion), ("scalar_first",)),
    **dict.fromkeys((points.spd_to_product, points.product_to_spd), ("half_circle", "log")),
}


def converters(data):
    convert, M = data.draw(st.sampled_from(CONVERTERS))
    x = data.draw(odd_points(M))
    if convert is points.latlon_to_sphere:
        y = data.draw(odd_points(M))
        result = outcome(lambda: convert(x, y))
    else:
        names = list(CONVERTER_FLAGS.get(convert, ()))
        flags = {name: data.draw(st.sampled_from(FLAGS)) for name in names if data.draw(st.booleans())}
        result = outcome(lambda: convert(x, **flags))
        assert result is None or all(isinstance(flag, (bool, np.bool_)) for flag in flags.values())
    if result is not None and convert is not points.matrix_to_rotation:
        assert np.isfinite(result).all()


GROUPS = [
    *(
        np.arange(N) % 3,
        ["a", "b", "c"] * 2,
        np.zeros(N),
        np.arange(N + 1) % 3,
        np.arange(N)[:, None],
        [0.5, np.nan] * 3,
    ),
    *(np.array(["a", "b", missing, "a", "b", "c"], dtype=object) for missing in [*MISSING, 1, 10**400]),
]
SPLITS = [
    *(2, 3, N, N + 1, 10**400, [([0, 1, 2, 3], [4, 5])], [([0, 1, 2, 3], [3, 4])], [([0, 1], [9])], [([0.5, 1], [2])]),
    *([(range(4), range(4, 6))], [(slice(4), [5])], [([], [5])], [([0, 1, 2], [])], [(np.arange(N) < 4, [5])]),
    *([([0, 1, 2, -1], [4])], [([10**400, 1], [2])], [None], [(1, 2)]),
]
METHODS = [
    *(["nearest"], ["linear"], ("nearest", "nearest"), ["constant"], {"mine": None}, {"mine": hg.GPRegressor}, {1: 2}),
    *({"mine": baselines.baseline("nearest", S2, "regression")}, "nearest", ["heatgp", 3], [[]], [10**400]),
]


def changed(data, usual, **possible):
    """The usual arguments, with one or two of the possible changes."""
    names = data.draw(st.lists(st.sampled_from(list(possible)), min_size=1, max_size=2, unique=True))
    return usual | {name: data.draw(possible[name]) for name in names}


tasks = st.one_of(odd, st.sampled_from(["regression", "classification"]))


def comparisons(data):
    arguments = changed(
        data,
        {"manifold": S2, "X": X, "y": data.draw(st.sampled_from([Y, Y > 0])), "methods": ["nearest"], "splits": 2},
        **{"manifold": odd, "X": odd_points(S2, N), "y": odd_targets(), "task": tasks, "rng": odd},
        splits=st.one_of(odd, st.sampled_from(SPLITS)),
        groups=st.one_of(odd, st.sampled_from(GROUPS)),
        methods=st.one_of(odd, st.sampled_from(METHODS)),
    )
    if arguments["methods"] is None:
        arguments["methods"] = ["linear"]  # the default takes seconds
    table = outcome(lambda: hg.compare(**arguments))
    if table is not None:
        labels_of(arguments["y"])
        assert table.rows
        assert all(np.isfinite(row.mean) for row in table.rows if row.metric != "auc")


def simple_models(data):
    """The baselines, made by name."""
    made = changed(
        data,
        {
            "name": data.draw(st.sampled_from(["nearest", "linear", "svm untuned"])),
            "manifold": S2,
            "task": "regression",
        },
        **{
            "name": odd,
            "manifold": odd,
            "task": tasks,
            "random_state": odd,
            "X": odd_points(S2, N),
            "y": odd_targets(),
        },
    )
    x, y, task = made.pop("X", X), made.pop("y", Y > 0), made["task"]
    model = outcome(lambda: baselines.baseline(**made))
    if model is None:
        return
    assert isinstance(made["manifold"], hg.Manifold)
    assert isinstance(task, str)
    assert task in ("regression", "classification")
    if outcome(lambda: model.fit(x, y)) is None:
        return
    labels = labels_of(y)
    new = data.draw(st.one_of(st.just(X), odd_points(S2)))
    result = outcome(lambda: model.predict(new))
    if task == "regression":
        agrees(result, (len(new),) if result is not None else ())
    elif result is not None:
        assert np.shape(result) == (len(new),)
        assert len(model.classes_) <= len(labels)
        agrees(outcome(lambda: model.predict_proba(new)), (len(new), len(model.classes_)))


counts = st.sampled_from([0, 3, *HUGE_COUNTS])
DATASETS = {
    datasets.torus_knot: {"p": 2, "q": 3, "seed": 0, "n_train": 5, "n_test": 4, "noise": 0.1, "matrix": np.eye(2)},
    datasets.projective_regression: {"seed": 0, "n": 5, "snr_db": 20.0, "n_test": 4, "dim": 2},
    datasets.simulated_tract: {
        **{"seed": 0, "subjects": 6, "positives": 3, "sites": 4, "planted": (1,), "effect": 1.0},
        **{"half_circle": True, "log": False},
    },
    datasets.dti: {"file": "none.npz", "half_circle": True, "log": False, "data_home": "nowhere"},
    datasets.drill: {"data_home": "nowhere"},
    datasets.atmosphere: {"variable": "v", "level": 850, "month": 7, "data_home": "nowhere"},
    datasets.gorillas: {"landmarks": (1, 2, 3), "representation": "raw", "contrast": "first", "data_home": "nowhere"},
    datasets.data_folder: {"data_home": "nowhere"},
}


def data_sets(data):
    load = data.draw(st.sampled_from(list(DATASETS)))
    flags = ("half_circle", "log")
    possible = {name: st.sampled_from(FLAGS) if name in flags else st.one_of(odd, counts) for name in DATASETS[load]}
    options = changed(data, DATASETS[load], **possible)
    if load in (datasets.gorillas, datasets.atmosphere):
        options["download"] = False
    made = outcome(lambda: load(**options))
    if made is None or load is datasets.data_folder:
        return
    assert all(isinstance(options[name], (bool, np.bool_)) for name in set(flags) & set(options))
    assert len(made.X) == len(made.y)
    assert np.isfinite(made.X).all()
    assert load is datasets.drill or np.isfinite(made.y).all()


def geodesics(data):
    arguments = changed(
        data,
        {"manifold": data.draw(manifolds), "time": 0.5, "number": 5, "rng": 0},
        **{"manifold": odd, "time": times, "number": st.one_of(odd, counts), "rng": odd},
    )
    M, number = arguments["manifold"], arguments["number"]
    result = named(data, along_geodesic, **arguments)
    if result is not None:
        agrees(result[0], (number,))
        agrees(result[1], (number, *M.shape))
        assert (np.diff(result[0]) >= 0).all()


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


PATHS = [
    "",
    ".",
    "/",
    "no/where.npz",
    "a\0b",
    "x" * 300,
    "kernel.npz",
    "é.npz",
    "new.npz/",
    "~",
    b"kernel.npz",
    "/dev/full",
]


def paths(data, stored):
    """Kernels to and from odd paths."""
    kernel, path = hg.heat_kernel(S2), data.draw(st.one_of(odd, st.sampled_from(PATHS), st.sampled_from(PATHS)))
    with contextlib.chdir(stored[1].parent):
        stored[1].write_bytes(stored[0])
        loaded = outcome(lambda: hg.load_kernel(path))
        assert loaded is None or loaded.manifold == S2
        try:
            saved = outcome(lambda: kernel.save(path) or True)
        except OSError:  # as documented: the system's own error
            saved = None
        if saved:
            np.testing.assert_array_equal(hg.load_kernel(path)(X, time=0.5), kernel(X, time=0.5))


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
    *("reference", "200", "20", "9" * 400, "model.npz", "rounded.csv", "text.npz", "missing.csv", "label"),
]
COMMANDS = {
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
        "--paths",
        "--references",
        "--project",
    ],
    "kernel": ["--time", "--method", "--points", "--seed", "--plot", "--paths", "--references", "--log"],
    "check": ["--seed"],
    "manifolds": [],
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with a table of points of the sphere, and one that is none."""
    folder = tmp_path_factory.mktemp("tables")
    np.savetxt(folder / "train.csv", np.column_stack((X, Y)), delimiter=",", header="a,b,c,y", comments="")
    (folder / "other.csv").write_text("x;y\n1,5;2\n", encoding="latin-1")
    np.savetxt(
        folder / "rounded.csv", np.column_stack((X.round(3), Y)), "%.3f", delimiter=",", header="a,b,c,y", comments=""
    )
    hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.1).fit(X, Y).save(folder / "model.npz")
    (folder / "text.npz").write_text("text")
    rows = "\n".join(f"{x[0]},{x[1]},{x[2]},{y},{label}" for x, y, label in zip(X, Y, ["a", "b", "", "a", "NA", "b"]))
    (folder / "missing.csv").write_text(f"a,b,c,y,label\n{rows}\n")
    return folder


def command_line(data, tables):
    command = data.draw(st.sampled_from(list(COMMANDS)))
    words = [command, *(data.draw(st.sampled_from(WORDS)) for _ in range(command in ("kernel", "check")))]
    sensible = {"--manifold": "Sphere(2)", "--train": "train.csv", "--time": "0.1", "--predict": "train.csv"}
    if command == "fit" and data.draw(st.booleans()):
        sensible = {"--model": "model.npz", "--predict": "train.csv"}
    for flag, value in sensible.items():
        if flag in COMMANDS[command] and data.draw(st.integers(0, 3)):
            words += [flag, value]
    for flag in data.draw(st.lists(st.sampled_from(COMMANDS[command] or ["--seed"]), max_size=3)):
        words += [flag, *([data.draw(st.sampled_from(WORDS))] if flag not in ("--project", "--log") else [])]
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
    constructors: (150, 1500),
    geometry: (400, 1500),
    kernels: (40, 400),
    kernel_calls: (300, 1200),
    estimators: (400, 1700),
    converters: (300, 1200),
    comparisons: (400, 800),
    simple_models: (200, 400),
    data_sets: (200, 400),
    geodesics: (150, 300),
}
WITH_FILES = {files: (20, 200), paths: (60, 100), command_line: (100, 300)}


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy 2.1 on a full disk
def test_odd_paths(stored):
    run(paths, WITH_FILES[paths][0], stored)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # NumPy 2.1 on a full disk
@pytest.mark.slow
def test_many_odd_paths(stored):
    run(paths, WITH_FILES[paths][1], stored)


def test_commands(tables):
    run(command_line, WITH_FILES[command_line][0], tables)


@pytest.mark.slow
def test_many_commands(tables):
    run(command_line, WITH_FILES[command_line][1], tables)
