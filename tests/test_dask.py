"""Dask: statistics where the blocks are, lazy predictions, simulations on a cluster, and workers that die."""

import os
import signal
import warnings

import joblib
import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import AccuracyWarning, InvalidInput, OffManifold, Unsupported
from heatgp.estimators.data import MeanModel, Rows
from heatgp.estimators.streams import Reader, streamed
from heatgp.gp.kernels import Normalized
from heatgp.gp.prior import constant_basis
from heatgp.gp.sparse.inducing import Inducing
from heatgp.gp.sparse.source import collected
from test_docs import ROOT, needs_optional, run
from test_docs import blocks as blocks_of_page

pytestmark = pytest.mark.dask
da = pytest.importorskip("dask.array", reason="needs the extra `dask`")
distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")
dask = pytest.importorskip("dask")

S2 = hg.Sphere(2)
KNOWN = {"time": 1.0, "amplitude": 1.0, "noise": 0.1}


def problem(number=5000, seed=0):
    rng = np.random.default_rng(seed)
    X = S2.random(rng, number)
    return X, 5 + np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(number)


def blocks(*arrays, rows=700):
    found = [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]
    return found if len(found) > 1 else found[0]


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as found:
        yield found


@pytest.fixture
def client(cluster):
    """Two workers, all there: one that has died is started again."""
    with distributed.Client(cluster) as found:
        found.wait_for_workers(2)
        yield found


def reader():
    return Reader(S2, False, MeanModel(constant_basis, ["constant"], None), 0.0)


def test_statistics_are_those_of_one_machine():
    X, y = problem()
    inducing = Inducing.of(Normalized(hg.heat_kernel(S2)), X[:1000], 0.3, 1e-6, 300)
    start, found = np.array([4.9]), []
    for data in (Rows(X, y), Rows(*blocks(X, y, rows=200))):
        source, collect = streamed(data, reader())
        found.append(collect(source, inducing, start))
    local, of_blocks = found
    assert of_blocks.count == 5000
    largest = np.abs(local.gram).max()
    np.testing.assert_allclose(of_blocks.gram, local.gram, rtol=0, atol=1e-12 * largest)
    np.testing.assert_allclose(of_blocks.gram, local.gram, rtol=1e-10, atol=1e-10)
    assert source.sample(50).X.tolist() == streamed(Rows(X, y), reader())[0].sample(50).X.tolist()
    assert collect is not collected


def test_a_model_of_blocks_on_workers_is_that_of_the_array(client):
    X, y = problem()
    of_blocks = hg.GPRegressor(S2, inference=hg.Sparse(150)).fit(*blocks(X, y))
    of_array = hg.GPRegressor(S2, inference=hg.Sparse(150)).fit(X, y)
    for name in ("time_", "amplitude_", "noise_", "coefficients_"):
        np.testing.assert_allclose(getattr(of_blocks, name), getattr(of_array, name), rtol=1e-6)
    expected = of_array.log_marginal_likelihood()
    np.testing.assert_allclose(of_blocks.log_marginal_likelihood(), expected, rtol=1e-8)
    new = blocks(X[:1500])
    calls = (
        lambda gp, X: gp.predict(X),
        lambda gp, X: gp.predict(X, return_std=True, noise=True),
        lambda gp, X: gp.predict_interval(X, 0.8),
        lambda gp, X: gp.log_density(X, blocks(y[:1500]) if isinstance(X, da.Array) else y[:1500]),
    )
    for call in calls:
        lazy, values = call(of_blocks, new), call(of_array, X[:1500])
        for one, expected in zip(*((found if isinstance(found, tuple) else (found,)) for found in (lazy, values))):
            assert isinstance(one, da.Array)
            assert one.chunks[0] == new.chunks[0]
            np.testing.assert_allclose(one.compute(), expected, rtol=1e-6)
    np.testing.assert_allclose(of_blocks.score(new, blocks(y[:1500])), of_array.score(X[:1500], y[:1500]), rtol=1e-8)


def test_weights_covariates_and_more_data():
    X, y = problem()
    rng = np.random.default_rng(1)
    Z, weights = rng.normal(size=(5000, 2)), rng.integers(0, 3, 5000).astype(float)
    weights[700:2100] = 0.0
    options = KNOWN | {"inference": hg.Sparse(X[:60]), "mean": "linear"}
    whole = hg.GPRegressor(S2, **options).fit(X, y, weights, covariates=Z)
    parts = hg.GPRegressor(S2, **options)
    parts.fit(*blocks(X[:4200], y[:4200]), weights[:4200], covariates=blocks(Z[:4200]))
    more = [da.concatenate([blocks(each[4200:]), blocks(each)[:0]]) for each in (X, y, weights)]  # one of no rows
    parts.partial_fit(*more, covariates=Z[4200:])
    assert parts.posterior_.count == whole.posterior_.count
    np.testing.assert_allclose(parts.coefficients_, whole.coefficients_, rtol=1e-8)
    none = da.concatenate([blocks(X[:900]), blocks(X)[:0], blocks(X[900:1000])])
    assert parts.predict(none, covariates=np.zeros((1000, 2))).compute().shape == (1000,)
    found = parts.predict(blocks(X[:900]), covariates=blocks(Z[:900]))
    np.testing.assert_allclose(found.compute(), whole.predict(X[:900], covariates=Z[:900]), rtol=1e-8)


class DiesOnce:
    """A constant mean that ends the process of the first worker that asks for it in the middle of its work."""

    def __init__(self, folder):
        self.mark, self.here = str(folder / "died"), os.getpid()

    def __call__(self, points):
        if os.getpid() != self.here:
            try:
                with open(self.mark, "x") as file:
                    file.write(str(os.getpid()))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return np.ones((len(points), 1))


def test_a_worker_that_dies_costs_its_block_and_not_the_run(client, tmp_path):
    X, y = problem()
    mean = DiesOnce(tmp_path)
    before = {worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()}
    found = hg.GPRegressor(S2, mean=mean, **KNOWN).fit(*blocks(X, y))
    assert int((tmp_path / "died").read_text()) in before
    expected = hg.GPRegressor(S2, **KNOWN).fit(X, y)
    np.testing.assert_allclose(found.log_marginal_likelihood(), expected.log_marginal_likelihood(), rtol=1e-10)
    np.testing.assert_allclose(found.predict(X[:50]), expected.predict(X[:50]), rtol=1e-9)


def test_a_worker_that_dies_costs_its_block_of_predictions(client, tmp_path):
    X, y = problem()
    gp = hg.GPRegressor(S2, mean=DiesOnce(tmp_path), inference="sparse", **KNOWN).fit(X, y)
    found = gp.predict(blocks(X)).compute()
    assert (tmp_path / "died").exists()
    np.testing.assert_allclose(found, gp.predict(X), rtol=1e-9)


def test_simulations_on_a_cluster_have_the_same_bits(client):
    from heatgp.paths.walk import walk

    options = {"paths": 20_000, "step": 0.01, "rng": 0}
    here = walk(S2, [0.0, 0.0, 1.0], [0.1, 0.3], **options)
    M = hg.Grassmann(5, 2)
    points = M.random(np.random.default_rng(0), 5)
    values = hg.heat_kernel(M, "smooth", paths=2000, cache=False)(points, time=0.3)
    with joblib.parallel_config("dask"):
        there = walk(S2, [0.0, 0.0, 1.0], [0.1, 0.3], **options)
        again = hg.heat_kernel(M, "smooth", paths=2000, cache=False)(points, time=0.3)
    np.testing.assert_array_equal(there, here)
    np.testing.assert_array_equal(again, values)


def dies_once(mark):
    """On a worker: let it die in the middle of the first simulation."""
    from heatgp.paths import walk

    simulate = walk._visit_chunk

    def _visit_chunk(*arguments):
        try:
            open(mark, "x").close()
        except FileExistsError:
            return simulate(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    walk._visit_chunk = _visit_chunk


@pytest.mark.parametrize("starts", ["one", "each"])
def test_a_worker_that_dies_costs_its_paths_and_not_the_simulation(client, tmp_path, starts):
    from heatgp.paths.walk import walk

    x0 = np.array([0.0, 0.0, 1.0]) if starts == "one" else S2.random(np.random.default_rng(0), 20_000)
    options = {"paths": 20_000, "step": 0.01, "rng": 0, "chunk": 2000}
    here = walk(S2, x0, 0.3, **options)
    mark = str(tmp_path / "died")
    client.run(dies_once, mark)
    with joblib.parallel_config("dask"):
        there = walk(S2, x0, 0.3, **options)
    assert os.path.exists(mark)
    np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y: (X, y.rechunk(500)), InvalidInput, r"700, 700, 700, ... rows, those of y 500.*y.rechunk"),
        (lambda X, y: (X.rechunk({1: 2}), y), InvalidInput, r"X has \(8, 2\) blocks.*X.rechunk\(\{1: -1\}\)"),
        (lambda X, y: (X[X[:, 0] > 0], y), InvalidInput, r"X has blocks of unknown size.*compute_chunk_sizes"),
        (lambda X, y: (X, y[y > 0]), InvalidInput, r"y has blocks of unknown size"),
        (lambda X, y: (X, y[:4200]), InvalidInput, r"y has shape \(4200,\) and X 5,000 points"),
        (lambda X, y: (X, np.ones(9)), InvalidInput, r"y has shape \(9,\) and X 5,000 points"),
        (lambda X, y: (X[:, :2], y), InvalidInput, r"X has shape \(5000, 2\)"),
        (lambda X, y: (X, da.stack([y, y], axis=1).rechunk({1: 2})), Unsupported, "would be dense"),
        (lambda X, y: (da.where(da.arange(5000, chunks=700)[:, None] == 3333, 2.0, X), y), OffManifold, r"X\[3333\]"),
        (lambda X, y: (X, da.where(da.arange(5000, chunks=700) == 3333, np.nan, y)), InvalidInput, r"y\[3333\] = nan"),
    ],
)
def test_bad_input(change, error, message):
    with pytest.raises(error, match=message):
        hg.GPRegressor(S2, **KNOWN).fit(*change(*blocks(*problem())))


def test_errors_of_workers_are_those_of_one_machine(client):
    X, y = problem()
    y[4321] = np.inf
    with pytest.raises(InvalidInput, match=r"^y\[4321\] = inf is not finite. Remove such observations.$"):
        hg.GPRegressor(S2, **KNOWN).fit(*blocks(X, y))


def test_what_arrays_of_dask_are_not_for():
    X, y = problem(1000)
    gp = hg.GPRegressor(S2, inference="sparse", **KNOWN).fit(*blocks(X, y))
    with pytest.raises(Unsupported, match="return_cov is of all pairs"):
        gp.predict(blocks(X), return_cov=True)
    with pytest.raises(Unsupported, match="noise is a Dask array"):
        hg.GPRegressor(S2, **(KNOWN | {"noise": blocks(y)})).fit(*blocks(X, y))
    with pytest.raises(OffManifold, match=r"X\[800\]"):
        gp.predict(da.where(da.arange(1000, chunks=700)[:, None] == 800, 2.0, blocks(X))).compute()


def test_few_data_are_those_of_a_dense_model_and_classes_are_learned_in_memory():
    X, y = problem(500)
    gp = hg.GPRegressor(S2, **KNOWN).fit(*blocks(X, y))
    rough = KNOWN | {"time": 1e-3, "inference": "sparse"}
    assert gp.approximation_ is hg.GPRegressor(S2, **rough).fit(*blocks(X, y)).approximation_ is None
    np.testing.assert_array_equal(gp.predict(blocks(X)).compute(), hg.GPRegressor(S2, **KNOWN).fit(X, y).predict(X))
    labels = np.where(X[:, 0] > 0, "east", "west")
    classifier = hg.GPClassifier(S2, time=0.3, amplitude=4.0, label_noise=0.0).fit(blocks(X), labels)
    for method in ("predict", "predict_proba"):
        found = getattr(classifier, method)(blocks(X))
        assert isinstance(found, da.Array)
        expected = getattr(classifier, method)(X)
        assert found.dtype == expected.dtype
        if method == "predict":
            np.testing.assert_array_equal(found.compute(), expected)
        else:
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-9)


def test_no_warning_of_large_graphs(client):
    X, y = problem(2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AccuracyWarning)
        gp = hg.GPRegressor(S2, time=0.003, amplitude=1.0, noise=0.1, inference=hg.Sparse(1200)).fit(*blocks(X, y))
        assert gp.predict(blocks(X)).compute().shape == (2000,)
    assert gp.approximation_.inducing == 1200


def test_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert any(needs_optional(code) for code, _ in blocks_of_page(ROOT / "docs" / "scale.md", "python"))
    run(ROOT / "docs" / "scale.md")
