"""Data of memory-mapped files: the answers are those of arrays, and memory is that of a part."""

import tracemalloc
from itertools import count

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import InputWarning, InvalidInput, OffManifold

S2 = hg.Sphere(2)
KNOWN = {"time": 1.0, "amplitude": 1.0, "noise": 0.1, "inference": hg.Sparse(60)}


def problem(number=5000, seed=0):
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    return X, 5 + np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(number)


@pytest.fixture
def mapped(tmp_path):
    """A function: arrays as memory-mapped files."""
    numbers = count()

    def written(*arrays):
        found = []
        for array in arrays:
            file = tmp_path / f"{next(numbers)}.npy"
            np.save(file, array)
            found.append(np.load(file, mmap_mode="r"))
        return found if len(found) > 1 else found[0]

    return written


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("heatgp.gp.sparse.source.NUMBERS", 60 * 700)
    monkeypatch.setattr("heatgp.gp.sparse.fit.CANDIDATES", 900)
    monkeypatch.setattr("heatgp.estimators.streams.ROWS", 300)


def test_a_model_of_a_file_is_that_of_the_array(mapped, small_parts):
    X, y = problem()
    files = mapped(X.astype(np.float32), y)
    of_file = hg.GPRegressor(S2, inference=hg.Sparse(100)).fit(*files)
    of_array = hg.GPRegressor(S2, inference=hg.Sparse(100)).fit(X.astype(np.float32), y)
    assert of_file.approximation_.inducing == 100
    for name in ("time_", "amplitude_", "noise_", "coefficients_"):
        np.testing.assert_allclose(getattr(of_file, name), getattr(of_array, name), rtol=1e-9)
    np.testing.assert_allclose(of_file.log_marginal_likelihood(), of_array.log_marginal_likelihood(), rtol=1e-10)
    new = mapped(X[:1000])
    for call in (
        lambda gp, X: gp.predict(X),
        lambda gp, X: gp.predict(X, return_std=True, noise=True),
        lambda gp, X: gp.predict(X, return_std=True, noise=np.linspace(1, 2, len(X))),
        lambda gp, X: gp.predict_interval(X),
        lambda gp, X: gp.log_density(X, y[:1000]),
        lambda gp, X: gp.score(X, y[:1000]),
    ):
        np.testing.assert_allclose(call(of_file, new), call(of_array, np.array(new)), rtol=1e-9)
    for found, expected in zip(of_file.predict(new[:5], return_cov=True), of_array.predict(X[:5], return_cov=True)):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_file_whose_model_is_faster_dense(mapped):
    X, y = problem(300)
    options = {"time": 1e-3, "amplitude": 1.0, "noise": 0.1, "inference": "sparse"}
    of_file, of_array = hg.GPRegressor(S2, **options).fit(*mapped(X, y)), hg.GPRegressor(S2, **options).fit(X, y)
    assert of_file.approximation_ is of_array.approximation_ is None
    assert of_file.log_marginal_likelihood() == of_array.log_marginal_likelihood()
    assert hg.GPRegressor(S2, **options).partial_fit(*mapped(X, y)).approximation_ is not None


def test_weights_covariates_and_known_noise(mapped, small_parts):
    X, y = problem()
    rng = np.random.default_rng(1)
    Z, weights, variances = rng.normal(size=(5000, 2)), rng.integers(0, 3, 5000).astype(float), rng.uniform(1, 2, 5000)
    weights[700:2100] = 0.0  # parts of which nothing is left
    options = KNOWN | {"noise": variances, "inference": hg.Sparse(X[:60])}
    fits = [
        hg.GPRegressor(S2, mean="linear", **options).fit(*(data[:2]), sample_weight=data[2], covariates=data[3])
        for data in ((X, y, weights, Z), mapped(X, y, weights, Z))
    ]
    assert fits[0].posterior_.count == fits[1].posterior_.count == np.sum(weights > 0)
    np.testing.assert_allclose(*(gp.log_marginal_likelihood() for gp in fits), rtol=1e-10)
    np.testing.assert_allclose(*(gp.coefficients_ for gp in fits), rtol=1e-9)
    assert len(fits[1].coefficient_names_) == 6
    new = mapped(X[:500], Z[:500])
    np.testing.assert_allclose(*(gp.predict(new[0], covariates=new[1]) for gp in fits), rtol=1e-9)


def test_parts_of_a_file_are_added(mapped, small_parts):
    X, y = problem()
    whole = hg.GPRegressor(S2, **(KNOWN | {"inference": hg.Sparse(X[:60])})).fit(X, y)
    parts, files = hg.GPRegressor(S2, **(KNOWN | {"inference": hg.Sparse(X[:60])})), mapped(X, y)
    for start in range(0, 5000, 1000):
        parts.partial_fit(files[0][start : start + 1000], files[1][start : start + 1000])
    assert parts.posterior_.count == 5000
    np.testing.assert_allclose(parts.predict(X[:20]), whole.predict(X[:20]), rtol=1e-9)


def test_memory_does_not_grow_with_the_number_of_data(mapped, small_parts):
    X, y = mapped(*problem(200_000))
    gp = hg.GPRegressor(S2, **(KNOWN | {"inference": hg.Sparse(np.array(X[:20])), "time": 8.0}))

    def peak(number):
        tracemalloc.start()
        gp.fit(X[:number], y[:number])
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    gp.fit(X[:5000], y[:5000])  # what is imported and kept at a first fit
    few, many = peak(20_000), peak(200_000)
    assert gp.posterior_.count == 200_000
    assert many - few < 180_000  # bytes; one number for each point more would be eight times as much


def test_a_saved_model_is_small(mapped, tmp_path):
    files = mapped(*problem(20_000))
    gp = hg.GPRegressor(S2, **KNOWN).fit(*files)
    gp.save(tmp_path / "model")
    m = gp.approximation_.inducing
    assert (tmp_path / "model").stat().st_size < 8 * (6 * m**2 + 8 * 1000) + 20_000  # six matrices, the sample, words
    again = hg.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(files[0][:9]), gp.predict(files[0][:9]))
    again.partial_fit(files[0][:9], files[1][:9])


def spoilt(array, row, value):
    array = array.copy()
    array[row] = value
    return array


ROW = 3333


@pytest.mark.parametrize(
    ("name", "row", "value", "error", "message"),
    [
        ("X", ROW, 2.0, OffManifold, r"X\[3333\] is not on Sphere\(2\)"),
        ("X", ROW, np.nan, OffManifold, r"X\[3333\] is not finite"),
        ("y", ROW, np.inf, InvalidInput, r"y\[3333\] = inf is not finite"),
        ("sample_weight", ROW, -1.0, InvalidInput, r"sample_weight\[3333\] = -1.0 must be"),
        ("covariates", ROW, np.nan, InvalidInput, r"`covariates` holds nan in column 0, at point 3333"),
    ],
)
def test_a_bad_row_is_named_by_its_number_in_the_file(mapped, small_parts, name, row, value, error, message):
    X, y = problem()
    weights = np.ones(5000)
    weights[:3000:2] = 0.0  # rows that are left out count
    data = {"X": X, "y": y, "sample_weight": weights, "covariates": X[:, :1] ** 2}
    data = {key: mapped(spoilt(each, row, value) if key == name else each) for key, each in data.items()}
    for seed, size in ((0, 1000), (1, 900)):
        assert row not in np.random.default_rng(seed).choice(5000, size, replace=False)  # it is found in the pass
    with pytest.raises(error, match=message):
        hg.GPRegressor(S2, **KNOWN).fit(**data)


def test_a_bad_row_of_the_first_look_is_named_by_its_number_in_the_file(mapped):
    X, y = problem()
    row = np.sort(np.random.default_rng(0).choice(5000, 1000, replace=False))[500]
    with pytest.raises(OffManifold, match=rf"X\[{row}\] is not on"):
        hg.GPRegressor(S2, **KNOWN).fit(*mapped(spoilt(X, row, 2.0), y))
    weights = np.ones(5000)
    weights[:row] = 0.0
    with pytest.raises(InvalidInput, match=rf"y\[{row}\] = nan"):
        hg.GPRegressor(S2, **KNOWN).fit(*mapped(X, spoilt(y, row, np.nan)), weights)
    angles = np.random.default_rng(0).uniform(0, 6, (5000, 2))
    with pytest.warns(InputWarning, match=rf"X\[{row}, 1\] = 300 is beyond"):
        hg.GPRegressor(hg.Torus(2), **(KNOWN | {"time": 5.0})).fit(*mapped(spoilt(angles, (row, 1), 300.0), y))


def test_a_bad_row_of_a_prediction_is_named_by_its_number_in_the_file(mapped, small_parts):
    X, y = problem(1000)
    gp = hg.GPRegressor(S2, **KNOWN).fit(X, y)
    with pytest.raises(OffManifold, match=r"X\[777\] is not on"):
        gp.predict(mapped(spoilt(X, 777, 2.0)))
    with pytest.raises(InvalidInput, match="y has 999 rows and X 1000 points"):
        gp.log_density(mapped(X), y[:999])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, 0], y), r"X has shape \(5000,\); needed are points \(N, 3\)"),
        (lambda X, y: (X[:, :2], y), r"X has shape \(5000, 2\); points of Sphere\(2\) have shape \(3,\)"),
        (lambda X, y: (X, y[:4500]), r"y has shape \(4500,\) and X 5,000 points"),
        (lambda X, y: (X.astype("S5"), y), "X must be a numeric array of points"),
        (lambda X, y: (X, np.full(5000, "a")), "y must be .* real numbers"),
    ],
)
def test_files_of_wrong_shapes(mapped, change, message):
    with pytest.raises(InvalidInput, match=message):
        hg.GPRegressor(S2, **KNOWN).fit(*mapped(*change(*problem())))


def test_rows_without_weight_are_to_be_left_out(mapped):
    X, y = problem()
    weights = np.zeros(5000)
    weights[0] = 1.0
    with pytest.raises(InvalidInput, match="zero for all of 1,000 random observations"):
        hg.GPRegressor(S2, **KNOWN).fit(*mapped(X, y), sample_weight=weights)


def test_points_with_few_digits_and_points_in_other_layouts(mapped, small_parts):
    M, rng = hg.ComplexProjective(2), np.random.default_rng(0)
    X = M.random(rng, 4500)
    y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(4500)
    flat = np.hstack([X.real, X.imag])
    options = KNOWN | {"inference": hg.Sparse(X[:30])}
    np.testing.assert_allclose(
        hg.GPRegressor(M, **options).fit(*mapped(flat, y)).log_marginal_likelihood(),
        hg.GPRegressor(M, **options).fit(X, y).log_marginal_likelihood(),
        rtol=1e-10,
    )
    S, y = problem()
    rounded = hg.GPRegressor(S2, project=True, **KNOWN).fit(*mapped(S.round(3), y))
    assert 1e-4 < rounded.moved_ < 1e-3


def test_classes_of_points_in_a_file(mapped, small_parts):
    X, _ = problem(600)
    labels = np.where(X[:, 0] > 0, "east", "west")
    options = {"time": 1.0, "amplitude": 4.0, "label_noise": 0.0, "inference": hg.Sparse(40)}
    of_file = hg.GPClassifier(S2, **options).fit(mapped(X), labels)
    of_array = hg.GPClassifier(S2, **options).fit(X, labels)
    np.testing.assert_array_equal(of_file.predict(mapped(X)), of_array.predict(X))
    for method in ("predict_proba", "decision_function"):
        found, expected = getattr(of_file, method)(mapped(X)), getattr(of_array, method)(X)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("which", [slice(1000, 1001), slice(1000, 1020)], ids=["one point", "near each other"])
def test_new_data_do_not_change_where_the_time_is_searched(which):
    """Bounds come from the distances of all data so far: one point has none, and few may be near each other."""
    rng = np.random.default_rng(0)
    X = np.sort(1e4 * rng.random(3000))[:, None]
    y = np.sin(2e-3 * X[:, 0]) + 0.05 * rng.standard_normal(3000)
    gp = hg.GPRegressor(hg.Euclidean(1), amplitude=1.0, noise=0.0025).partial_fit(X[::2], y[::2])
    before = gp.time_
    assert gp.partial_fit(X[which], y[which]).time_ == pytest.approx(before, rel=0.1)
