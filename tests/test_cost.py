"""No hopeless work: what cannot be done is refused at once, what is long says so, memory is asked for first."""

import subprocess
import sys
import time
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest

import heatgp as hg
from heatgp import (
    Chart,
    Domain,
    Euclidean,
    Grassmann,
    Implicit,
    Orthogonal,
    Product,
    Quotient,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Unitary,
)
from heatgp import cost as costs
from heatgp.cost import Cost, available_memory, check_memory
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.estimators import base
from heatgp.gp.parameters import FLAT
from heatgp.paths.walk import walk
from heatgp.progress import tracked
from unknown import Planes


def sphere_equation(x):
    return (x * x).sum(-1) - 1


def flat_metric(x):
    return np.broadcast_to(np.eye(10), (*x.shape[:-1], 10, 10))


def in_ball(x):
    return 1 - (x * x).sum(-1)


HOPELESS = [
    SpecialOrthogonal(11),
    SpecialOrthogonal(50),
    Orthogonal(30),
    Unitary(7),
    Unitary(40),
    SpecialUnitary(12),
    Grassmann(8, 4),
    Grassmann(12, 4),
    Grassmann(100, 50),
    Grassmann(40, 3),
    Grassmann(1000, 2),
    Stiefel(17, 2),
    Stiefel(10, 3),
    Stiefel(40, 3),
    Stiefel(7, 3, "complex"),
    Stiefel(100, 50, "complex"),
    Implicit(sphere_equation, 10, 11),
    Chart(flat_metric, 10, (1.0,) * 10),
    Domain(Euclidean(10), in_ball, ((-1, 1),) * 10),
    Product(Sphere(2), SpecialOrthogonal(50)),
    Product(Planes(12, 3), Grassmann(100, 50)),  # the first would be simulated for a minute
    Scaled(SpecialOrthogonal(11), 2.0),
    Quotient(SpecialOrthogonal(12), (lambda x: x, lambda x: -x)),
]
"""Manifolds that no method of the library resolves."""


@pytest.mark.parametrize("manifold", [SpecialOrthogonal(9), SpecialOrthogonal(10), Orthogonal(10)], ids=repr)
def test_rotations_of_up_to_ten_dimensions_have_an_exact_kernel_at_once(manifold, rng):
    kernel, start = hg.heat_kernel(manifold), time.perf_counter()
    assert kernel.method == "exact"
    K = kernel(manifold.random(rng, 20), time=0.5)
    assert time.perf_counter() - start < 10
    assert np.linalg.eigvalsh(K / K[0, 0])[0] > 0


def assert_refused(make, text):
    start = time.perf_counter()
    with pytest.raises(Unsupported, match=text):
        make()
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("manifold", HOPELESS, ids=repr)
def test_auto_refuses_at_once_what_reference_points_cannot_resolve(manifold):
    text = r"400 reference points on .* dimensions, resolve no time .* heatgp\.baselines\.baseline\('rbf'"
    assert_refused(lambda: hg.heat_kernel(manifold), text)
    assert_refused(lambda: hg.Auto().cost(manifold), text)


@pytest.mark.parametrize("manifold", [SpecialOrthogonal(11), Grassmann(8, 4), Stiefel(17, 2)], ids=repr)
def test_models_refuse_at_once_too(manifold, rng):
    X = manifold.random(rng, 5)
    assert_refused(lambda: hg.GPRegressor(manifold).fit(X, np.arange(5.0)), "resolve no time")


def test_the_baseline_that_the_refusal_names_works(rng):
    from heatgp.baselines import baseline

    X = SpecialOrthogonal(11).random(rng, 12)
    model = baseline("rbf", SpecialOrthogonal(11), "regression").fit(X, X[:, 0, 0])
    assert model.predict(X).shape == (12,)


@pytest.mark.parametrize(
    ("manifold", "text"),
    [
        (Sphere(6), r"that takes 1,675 of them\. Take references=1675 or more \(6698 without a warning\)"),
        (Sphere(8), r"that takes 31,561 of them"),
        (Sphere(20), r"more than a billion of them\. Use method='exact'"),
        (Planes(9, 3), r"Use method='smooth'"),
        (Grassmann(9, 3), r"Use method='exact'"),
        (Stiefel(9, 3), r"Use method='fibre-average', with 23,040 terms for each pair of points, or an RBF"),
    ],
    ids=repr,
)
def test_reference_refuses_with_what_to_do_instead(manifold, text):
    assert_refused(lambda: hg.heat_kernel(manifold, "reference"), text)


def test_few_references_are_refused_or_warned_of_in_low_dimensions_too():
    assert_refused(lambda: hg.Reference(references=20, paths=80).kernel(Sphere(4)), "Take references=89 or more")
    with pytest.warns(AccuracyWarning, match=r"21 reference points on Sphere\(3\).* nearly constant.* references=82"):
        hg.Reference(references=21, paths=84).kernel(Sphere(3))


@pytest.mark.parametrize("method", ["ball", "strip"])
@pytest.mark.parametrize("manifold", [SpecialOrthogonal(50), Grassmann(100, 50), Unitary(40), Sphere(500)], ids=repr)
def test_nothing_is_counted_in_hundreds_of_dimensions(manifold, method):
    options = {"distance": True} if method == "strip" else {}
    assert_refused(
        lambda: hg.heat_kernel(manifold, method, **options), "dimensions: in more than 100 no path ends near"
    )


@pytest.mark.parametrize("manifold", [Grassmann(1000, 2), Grassmann(500, 3)], ids=repr)
def test_smooth_is_refused_where_densities_are_larger_than_any_number(manifold):
    assert_refused(lambda: hg.heat_kernel(manifold, "smooth"), "larger than the largest number")


@pytest.mark.slow
def test_smooth_kernels_end_at_the_horizon_where_there_are_too_many_spherical_functions(rng):
    M = Grassmann(25, 3)
    kernel = hg.heat_kernel(M, "smooth", paths=100, times=0.01, cache=False)
    horizon = kernel.times[1]
    assert 0.01 < horizon < 0.1
    X = M.random(rng, 2)
    assert kernel(X, time=0.9 * horizon)[0, 0] > 0
    with pytest.raises(
        InvalidInput, match="Ask heat_kernel for another method: there are too many spherical functions"
    ):
        kernel(X, time=0.5)
    assert_refused(kernel.as_positive_definite, r"too many spherical functions.*baseline\('rbf'")


POINTS = Sphere(2).random(np.random.default_rng(0), 200_000)
FRAMES = np.broadcast_to(np.eye(5)[:, :2], (200_000, 5, 2))
TOO_MUCH = {
    "a kernel of a set": lambda: hg.heat_kernel(Sphere(2))(POINTS, time=0.1),
    "a kernel of two sets": lambda: hg.heat_kernel(Sphere(2))(POINTS, POINTS[1:], time=0.1),
    "a kernel at many times": lambda: hg.heat_kernel(Sphere(2))(POINTS[:9000], time=np.linspace(0.1, 1, 10_000)),
    "pairs": lambda: hg.heat_kernel(Sphere(2)).pairs(POINTS),
    "a model": lambda: hg.GPRegressor(Sphere(2), inference="dense").fit(POINTS, POINTS[:, 0]),
    "a fibre average": lambda: hg.heat_kernel(Stiefel(5, 2), "fibre-average")(
        Stiefel(5, 2).random(np.random.default_rng(0), 200_000), time=0.5
    ),
    "a walk": lambda: walk(Sphere(2), [1.0, 0, 0], np.linspace(0.1, 1, 100), paths=10**10, step=0.1),
    "strips": lambda: hg.heat_kernel(Sphere(2), "strip", paths=10**12, cache=False),
    "smooth": lambda: hg.heat_kernel(Sphere(2), "smooth", paths=10**12, cache=False),
    "reference points": lambda: hg.heat_kernel(Sphere(2), references=100_000, paths=400_000, method="reference"),
    "balls": lambda: hg.heat_kernel(Unitary(2), "ball")(Unitary(2).random(np.random.default_rng(0), 100_000), time=0.1),
}
"""Work whose arrays take hundreds of gigabytes."""


@pytest.mark.parametrize("work", TOO_MUCH.values(), ids=list(TOO_MUCH))
def test_what_does_not_fit_into_memory_is_refused_with_its_size(work, monkeypatch):
    monkeypatch.setattr(costs, "available_memory", lambda: 64e9)
    start = time.perf_counter()
    with pytest.raises(InvalidInput, match=r"needs about [\d,.]+ [GT]B of memory; 64 GB are available\. (Ask|Take) "):
        work()
    assert time.perf_counter() - start < 10


TOO_LONG = {
    "a walk": lambda: walk(Sphere(2), [1.0, 0, 0], 1.0, paths=10**6, step=1e-8),
    "smooth": lambda: hg.heat_kernel(Sphere(2), "smooth", step=1e-10, cache=False),
    "reference points": lambda: hg.heat_kernel(Sphere(2), "reference", step=1e-10),
    "balls on a line": lambda: hg.heat_kernel(Sphere(2), "ball", times=[1.0], step=1e-10),
    "balls": lambda: hg.heat_kernel(Unitary(2), "ball", times=[1.0], step=1e-10)(np.eye(2), time=1.0),
}


@pytest.mark.parametrize("work", TOO_LONG.values(), ids=list(TOO_LONG))
def test_what_takes_more_than_a_day_is_refused_with_its_time(work):
    start = time.perf_counter()
    with pytest.raises(InvalidInput, match=r"would take about [\d,.]+ (days|years); more than a day .*\. Take "):
        work()
    assert time.perf_counter() - start < 5


def test_work_of_more_than_a_day_can_be_insisted_on(monkeypatch, caplog):
    with pytest.raises(InvalidInput, match=r"2\.1 days; more than a day is refused\. Wait\. Or set .* = '100' to run"):
        Cost(50 * 3600).accept("It", "Wait.")
    with pytest.raises(InvalidInput, match=r"= 'inf' to run"):
        Cost(np.inf).accept("It", "Wait.")
    monkeypatch.setenv("HEATGP_MAX_HOURS", "100")
    Cost(50 * 3600).accept("It", "Wait.")
    assert caplog.messages == ["It: about 2.1 days, and up to 6.2 days"]
    with pytest.raises(InvalidInput, match=r"more than HEATGP_MAX_HOURS=100 allows is refused"):
        Cost(101 * 3600).accept("It", "Wait.")
    for wrong in ("x", "0", "-1", "nan"):
        monkeypatch.setenv("HEATGP_MAX_HOURS", wrong)
        with pytest.raises(InvalidInput, match=f"HEATGP_MAX_HOURS must be a positive number; got '{wrong}'"):
            Cost(1.0).accept("It", "Wait.")


def test_nothing_is_announced_that_is_read_from_the_cache(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(costs, "LONG", 1e-9)  # all work is long
    method = hg.Reference(references=40, paths=2000, cache=tmp_path)
    method.kernel(Sphere(2))
    assert any("through 40 reference points: about" in line for line in caplog.messages)
    caplog.clear()
    method.kernel(Sphere(2))
    assert caplog.messages == []


def test_the_memory_of_a_quotient_counts_all_elements_of_the_group(monkeypatch):
    """Turns of a circle: 24 of them need 24 arrays of coordinates, and as many of values."""
    turns = [lambda x, a=2 * np.pi * k / 24: (x + a) % (2 * np.pi) for k in range(24)]
    kernel = hg.heat_kernel(hg.Quotient(hg.Torus(1), turns))
    X = np.linspace(0, 6, 3000)[:, None]
    monkeypatch.setattr(costs, "available_memory", lambda: 1e9)
    with pytest.raises(InvalidInput, match=r"of 3,000 x 3,000 points needs about 3\.5 GB of memory; 1 GB are"):
        kernel(X, time=0.1)


def test_available_memory_is_that_of_this_machine():
    assert 1e8 < available_memory() < 1e14
    check_memory(0.5 * available_memory(), "half of it", "")
    with pytest.raises(InvalidInput, match=r"twice as much needs about .* are available\. Buy more\."):
        check_memory(2 * available_memory() + 1e9, "twice as much", "Buy more.")


def test_costs_say_nothing_of_short_work_and_announce_long_work(caplog):
    Cost(5.0).accept("short", "")
    assert not caplog.records
    Cost(300.0).accept("The kernel of M", "")
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("heatgp", "INFO", "The kernel of M: about 5 min, and up to 15 min")
    ]


def test_loops_tell_how_far_they_are_where_there_is_no_terminal(caplog, monkeypatch):
    clock = iter(np.arange(0.0, 1000.0, 3.0))  # three seconds for each item
    monkeypatch.setattr("heatgp.progress.clock.monotonic", lambda: float(next(clock)))
    assert list(tracked(range(20), 20, "work")) == list(range(20))
    lines = [r.getMessage() for r in caplog.records]
    assert lines[0] == "work: 20 % done, about 48 s left"
    assert len(lines) == 3  # after 12, 24 and 48 of 60 seconds
    caplog.clear()
    assert list(tracked(range(5), 5, "short")) == list(range(5))
    assert list(tracked(range(20), 20, "hidden", show=False)) == list(range(20))
    assert not caplog.records


SPEAK = """
import logging
from heatgp.cost import Cost
Cost(60).accept("nothing said", "")
logging.getLogger("heatgp").setLevel("WARNING")
Cost(60).accept("silenced", "")
logging.getLogger("heatgp").setLevel("INFO")
logging.basicConfig()
Cost(60).accept("configured", "")
"""


def test_lines_of_the_log_reach_standard_error_unless_logging_is_told_otherwise():
    done = subprocess.run([sys.executable, "-c", SPEAK], capture_output=True, text=True, check=True)
    said = "about 60 s, and up to 3 min"
    assert done.stderr == f"heatgp: nothing said: {said}\nINFO:heatgp:configured: {said}\n"


def test_the_level_that_a_user_has_set_stays():
    code = (
        "import logging, heatgp; logging.getLogger('heatgp').setLevel('WARNING'); heatgp.Sphere(2); "
        "from heatgp.cost import Cost; Cost(60).accept('silenced', '')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "manifold"),
    [
        (hg.Smooth(cache=False), Grassmann(7, 3)),
        (hg.Smooth(cache=False), Grassmann(60, 2)),
        (hg.Strip(cache=False, paths=400_000), Sphere(3)),
        (hg.Ball(), Sphere(5)),
        (hg.Reference(), Sphere(2)),
        (hg.Reference(), Sphere(5)),
        (hg.Reference(references=200, paths=100_000), SpecialOrthogonal(3)),
        (hg.Reference(references=200, paths=100_000), Implicit(sphere_equation, 2, 3)),
        (hg.Reference(), Domain(Euclidean(2), in_ball, ((-1, 1),) * 2)),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
def test_estimates_of_time_are_right_within_a_factor_of_three(method, manifold):
    """Of processor time, as the estimates are; the best of three."""
    ratios = []
    for _ in range(3):
        estimate, start = method.cost(manifold).seconds, time.process_time()
        method.kernel(manifold)
        ratios.append(estimate / (time.process_time() - start))
        if 1 / 3 < ratios[-1] < 3:
            return
    raise AssertionError(f"estimate over truth: {ratios}")


@pytest.mark.parametrize("classes", [2, 3])
def test_a_grid_of_classes_counts_the_memory_that_it_keeps(classes, monkeypatch):
    """Against the sizes of the matrices that the posteriors have after predictions."""
    asked = []
    monkeypatch.setattr(base, "check_memory", lambda number, *rest: asked.append(number))
    X = hg.Sphere(2).random(np.random.default_rng(0), 24)
    few = replace(FLAT, time_bounds=(0.2, 0.3), amplitude_bounds=(1.0, 1.5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gp = hg.GPClassifier(hg.Sphere(2), integrate="grid", priors=few, label_noise=0.0).fit(
            X, np.arange(24) % classes
        )
    assert len(asked) == 2  # and before the search, for a usual grid
    kept = 0
    for posterior in gp.mixture_.posteriors:
        factor = posterior.inferred.factor
        values = vars(getattr(factor, "factor", factor)).values()  # of two classes that of f without its mean
        kept += sum(value.nbytes for value in values if np.ndim(value) > 1 and value.shape[-2:] == (24, 24))
    assert 0.75 * kept <= asked[1] <= 1.5 * kept


@pytest.mark.parametrize("model", ["normal", "student-t", "labels"])
def test_a_grid_too_large_for_the_memory_is_refused_before_the_search(model, monkeypatch):
    """Nothing as large as the covariance of the data is in memory before."""
    number = 1300
    X = hg.Sphere(2).random(np.random.default_rng(0), number)
    monkeypatch.setattr(costs, "available_memory", lambda: 1e9)
    gp = hg.GPRegressor(hg.Sphere(2), integrate="grid", likelihood="normal" if model == "labels" else model)
    gp = hg.GPClassifier(hg.Sphere(2), integrate="grid") if model == "labels" else gp
    words = r"integrate='grid': about 54 posteriors of 1,300 points needs about 1.5 GB of memory; 1 GB are available\. "
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=words + "Leave integrate None, give some of the parameters"):
            gp.fit(X, X[:, 0] > 0 if model == "labels" else X[:, 0])
        assert tracemalloc.get_traced_memory()[1] < 8 * number**2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("known", [{"amplitude": 1.0, "noise": 0.1}, {"amplitude": 1.0}, {}])
def test_the_usual_size_of_a_grid(known):
    """The number that is assumed before the search, beside that of a grid of well determined parameters."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 20, 150))[:, None]
    gp = hg.GPRegressor("euclidean", integrate="grid", priors=None, mean="zero", **known)
    gp.fit(X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(150))
    usual = {1: 4.7, 2: 17.4, 3: 54.4}[3 - len(known)]  # balls of the radius 3.53 / 1.5
    assert usual / 2 < len(gp.mixture_.weights) < 2 * usual
