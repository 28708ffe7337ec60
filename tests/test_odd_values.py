"""Values that are almost what is needed: missing labels, huge integers, words for flags, points far outside."""

import contextlib
import logging
import threading
import time

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import heatgp as hg
from catalog import CATALOG
from heatgp import cost, progress
from heatgp.errors import InvalidInput, OffManifold
from heatgp.manifolds.fingerprint import fingerprint
from heatgp.manifolds.rows import projected_points

S2 = hg.Sphere(2)
X = S2.random(0, 12)
Y = X[:, 0] * X[:, 2]
HUGE = 10**400
SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
EXACT = hg.heat_kernel(S2)
GP = hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.1)
FRAMES = np.broadcast_to(np.eye(4)[:, :2], (60_000, 4, 2))


def fitted():
    return GP.fit(X, Y)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT], ids=repr)
def test_missing_labels_are_no_classes(missing):
    labels = np.array(["a", missing] * 6, dtype=object)
    with pytest.raises(InvalidInput, match=r"y\[1\] = .* is missing or not finite"):
        hg.GPClassifier(S2, time=0.5, amplitude=1.0).fit(X, labels)


@pytest.mark.parametrize("name", ["time", "amplitude", "noise", "mean", "y"])
def test_integers_beyond_floating_point_numbers_are_refused(name):
    y = [HUGE] * 12 if name == "y" else Y
    with pytest.raises(InvalidInput, match=name):
        hg.GPRegressor(S2, **{} if name == "y" else {name: HUGE}).fit(X, y)


REFUSED = {
    "log": (lambda: EXACT(X, time=1.0, log="no"), "log must be True or False; got 'no'"),
    "log of a diagonal": (lambda: EXACT.diag(X, 1.0, log=1), "log must be True or False; got 1"),
    "return_std": (lambda: fitted().predict(X, return_std="no"), "return_std must be True or False; got 'no'"),
    "return_cov": (lambda: fitted().predict(X, return_cov=None), "return_cov must be True or False; got None"),
    "scale a flag": (lambda: hg.Scaled(S2, True), "Scaled needs a positive scale between 1e-50 and 1e\\+50; got True"),
    "scale huge": (lambda: hg.Scaled(S2, HUGE), "Scaled needs a positive scale"),
    "scale large": (lambda: hg.Scaled(S2, 1e200), "Scaled needs a positive scale"),
    "periods flags": (
        lambda: hg.Chart(lambda x: np.eye(2) + 0 * x[..., None], 2, periodic=(True, True)),
        "Chart needs a period or None for each of 2 coordinates",
    ),
    "field an array": (
        lambda: hg.Grassmann(3, 1, np.arange(3)),
        "Grassmann needs field = 'real' or 'complex'; got array",
    ),
    "a class for a seed": (lambda: S2.random(np.random.Generator, 3), "rng must be an integer of at least 0"),
    "inference a list": (
        lambda: hg.GPClassifier(S2, inference=[]).fit(X, Y > 0),
        r"inference = \[\] is not known. Use one of 'auto', 'dense'",
    ),
    "many samples": (lambda: fitted().sample_y(X, n_samples=10**12), "samples at 12 points needs about 190 TB"),
    "many frames": (
        lambda: hg.GPRegressor(hg.Stiefel(4, 2), inference="dense").fit(FRAMES, np.arange(60_000.0)),
        "60,000 x 60,000 points needs about 115 GB",
    ),
    "masked vertices": (
        lambda: hg.Domain(
            hg.Euclidean(2), np.ma.masked_array(np.vstack((SQUARE, [0.5, 99])), mask=[[0, 0]] * 4 + [[1, 1]])
        ),
        "vertices has masked values",
    ),
    "orbit of lists": (lambda: S2.orbit([1.0, 0, 0], [0, 1.0, 0]), "an array is needed; got list"),
    "defect of a list": (lambda: S2.defect([1.0, 0, 0]), "an array is needed; got list"),
}


@pytest.mark.filterwarnings("ignore::heatgp.errors.SmallSampleWarning")
@pytest.mark.parametrize("call, text", REFUSED.values(), ids=REFUSED)
def test_almost_right_values_are_refused(call, text, monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: 64e9)
    with pytest.raises(InvalidInput, match=text):
        call()


def test_arguments_of_geometry_have_their_names():
    v = S2.noise(X[0], np.array([0.0, 0, 0.1]))
    np.testing.assert_array_equal(S2.exp(X[0], v=v), S2.exp(X[0], v))
    np.testing.assert_array_equal(S2.distance(x=X[0], y=X[1]), S2.distance(X[0], X[1]))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'v'"):
        S2.exp(X[0])


def test_times_may_be_an_array():
    M = hg.Product(S2, S2)
    with pytest.warns(hg.errors.SmallSampleWarning, match="amplitude, noise learned"):
        model = hg.GPRegressor(M, time=np.array([0.5, 0.7])).fit(np.hstack((X, X)), Y)
    assert model.fit_.params.time == (0.5, 0.7)


def test_points_far_outside_a_domain_are_no_rounding(caplog):
    """Metres in a national grid: the numbers are large, the domain is 10 km wide."""
    M = hg.Domain(hg.Euclidean(2), 1e4 * SQUARE + 5e6)
    points = M.random(0, 10)
    points[0] = 4.98e6, 5.002e6
    with pytest.raises(OffManifold, match=r"X\[0\] is 2.0e\+04 > "):
        projected_points(M, points)
    points[0] = 5e6 - 3, 5.002e6
    with caplog.at_level(logging.INFO, "heatgp"):
        _, moved = projected_points(M, points)
    assert moved == pytest.approx(3)
    assert "1 points of X were moved" in caplog.text


class Table:
    """Numbers behind a method that Python calls by itself."""

    def __getitem__(self, i):
        return 1.0


class OtherTable(Table):
    def __getitem__(self, i):
        return 100.0


def charted(table):
    return hg.Chart(lambda x: table[0] * np.eye(2) + 0 * x[..., None], 2, periodic=(1.0, 1.0))


def test_functions_that_are_hidden_have_no_equal_fingerprints():
    one, other = fingerprint(charted(Table())), fingerprint(charted(OtherTable()))
    assert None not in (one, other)
    assert one != other
    made = np.frompyfunc(lambda a: 2 * a * a, 1, 1)
    assert fingerprint(hg.Implicit(lambda x: made(x).sum(-1) - 1, 2, 3)) is None
    assert fingerprint(hg.Implicit(lambda x: (len(globals()["SQUARE"]) * x).sum(-1) - 1, 2, 3)) is None
    assert fingerprint(hg.Implicit(lambda x: np.square(x).sum(-1) - 1, 2, 3)) is not None


def test_smooth_kernels_have_logarithms_at_every_short_time():
    """Gr(7, 2) has 10 dimensions: log p_t(x, x) is close to -5 log(2 pi t)."""
    M = hg.Grassmann(7, 2)
    kernel, x = hg.heat_kernel(M, "smooth", paths=500, cache=False), M.random(0, 1)
    for t in (1e-90, 1e-60, 1e-6):
        assert kernel(x, time=t, log=True).item() == pytest.approx(-5 * np.log(2 * np.pi * t), abs=1e-3)
    with pytest.raises(InvalidInput, match="beyond floating point numbers"):
        kernel(x, time=1e-90)


def test_logarithms_of_small_densities_that_are_alike():
    """A square of 1000 km in metres: all densities are about 1e-12."""
    M = hg.Domain(hg.Euclidean(2), 1e6 * SQUARE)
    kernel = hg.heat_kernel(M, "reference", references=30, paths=600, cache=False)
    x = M.random(0, 4)
    values = kernel(x, time=1e12)
    np.testing.assert_allclose(kernel(x, time=1e12, log=True), np.log(values))
    assert values.max() < 1e-11


@pytest.mark.filterwarnings("ignore::heatgp.errors.SmallSampleWarning")
def test_fits_in_several_threads_leave_the_threads_of_the_blas_as_they_were():
    before = [library["num_threads"] for library in threadpool_info()]
    fits = [threading.Thread(target=lambda: [hg.GPRegressor(S2).fit(X, Y) for _ in range(3)]) for _ in range(4)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert [library["num_threads"] for library in threadpool_info()] == before


@pytest.mark.parametrize(
    "controller, files",
    [
        ("", {"memory.max": "3000\n", "memory.current": "1000\n", "memory.stat": "inactive_file 200\n"}),
        (
            "memory",
            {
                "memory.limit_in_bytes": "3000\n",
                "memory.usage_in_bytes": "1000\n",
                "memory.stat": "total_inactive_file 200\n",
            },
        ),
    ],
    ids=["version 2", "version 1"],
)
def test_limits_of_control_groups_are_read(tmp_path, controller, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert cost._left_by(tmp_path, cost.GROUP_FILES[controller]) == 2200
    (tmp_path / next(iter(files))).write_text("max\n")
    assert cost._left_by(tmp_path, cost.GROUP_FILES[controller]) == np.inf


def test_long_work_without_a_known_end_speaks(caplog, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.05)
    with caplog.at_level(logging.INFO, "heatgp"), progress.heartbeat("A long sum"):
        time.sleep(0.3)
    assert caplog.text.count("A long sum: at work for 0 s") >= 1
    said = len(caplog.records)
    time.sleep(0.3)
    assert len(caplog.records) == said  # it has ended


def test_predictions_of_many_points_speak(caplog, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 1e-4)
    many = S2.random(np.random.default_rng(0), 2000)
    gp = hg.GPRegressor(S2, time=0.1, amplitude=1.0, noise=0.1).fit(many[:500], many[:500, 0])
    caplog.clear()
    with caplog.at_level(logging.INFO, "heatgp"):
        gp.predict(many[:500], return_std=True)
        assert not caplog.text
        gp.predict(many, return_std=True)
    assert "Predictions of 2,000 points: at work for 0 s" in caplog.text


@pytest.mark.filterwarnings("ignore::heatgp.errors.BoundWarning")
def test_fits_speak(caplog, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 1e-3)
    with caplog.at_level(logging.INFO, "heatgp"):
        hg.GPClassifier(S2).fit(X, np.arange(12) % 3)
        hg.GPRegressor(S2).fit(np.vstack((X, -X)), np.append(Y, -Y))
    assert "The fit of 12 points in 3 classes: at work for" in caplog.text
    assert "The fit of 24 points: at work for" in caplog.text


def test_covariances_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(cost, "available_memory", lambda: 64e9)
    model = hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.1).fit(X, Y)
    many = np.broadcast_to(X[0], (100_000, 3))
    for call in (lambda: model.predict(many, return_cov=True), lambda: model.sample_y(many)):
        with pytest.raises(InvalidInput, match="The covariance of 100,000 points needs about 240 GB"):
            call()


def test_points_that_are_far_off_are_to_be_checked():
    M = hg.Stiefel(5, 3)
    scrambled = M.random(0, 4).swapaxes(1, 2).reshape(4, 5, 3)
    with pytest.raises(OffManifold, match="So far off is no rounding: check the data, the units and the order"):
        hg.GPRegressor(M).fit(scrambled, np.arange(4.0))
    with pytest.raises(OffManifold) as found:
        hg.GPRegressor(M).fit(M.random(0, 4).round(3), np.arange(4.0))
    assert "models take project=True" in str(found.value)
    assert "no rounding" not in str(found.value)


def test_columns_in_another_order_are_shown():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.1).fit(table, Y)
    with pytest.raises(InvalidInput, match=r"fitted to the columns \['a', 'b', 'c'\]; X has \['c', 'b', 'a'\]"):
        model.predict(table[["c", "b", "a"]])


def test_a_column_of_angles_has_two_axes():
    with pytest.raises(InvalidInput, match=r"A column is X\[:, None\]"):
        hg.GPRegressor(hg.Torus(1)).fit(np.linspace(0, 1, 8), np.arange(8.0))


def test_degrees_in_rotation_vectors_give_a_warning():
    with pytest.warns(hg.errors.InputWarning, match="length 90, more than one turn"):
        hg.points.rotation_vector_to_matrix([0, 0, 90.0])


@pytest.mark.parametrize("M", CATALOG, ids=repr)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_no_finite_distance_to_what_is_not_finite(M, value, rng):
    x, y = M.random(rng, 2), M.random(rng, 2)
    x.reshape(2, -1)[1, 0] = value
    with np.errstate(all="ignore"), contextlib.suppress(np.linalg.LinAlgError, hg.errors.HeatGPError):
        distance = np.asarray(M.distance(x, y))
        assert np.isfinite(distance).tolist() == [True, False]
