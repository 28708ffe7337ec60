"""Heat kernels of point sets: broadcasting, symmetry, compositions, derivatives, files, errors."""

import json

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import AccuracyWarning, InvalidInput, OffManifold, Unsupported
from heatgp.heat.composed import ProductKernel
from heatgp.heat.methods import METHODS
from unknown import Planes

EXACT = [
    hg.Euclidean(2),
    hg.Hyperbolic(2),
    hg.SPD(2),
    hg.SPD(2, "log-euclidean"),
    hg.HermitianPD(3),
    hg.Sphere(3),
    hg.Torus(2),
    hg.ComplexProjective(2),
    hg.SpecialOrthogonal(4),
    hg.Orthogonal(3),
    hg.SpecialUnitary(3),
    hg.Grassmann(5, 2, "complex"),
    hg.Grassmann(4, 1),
    hg.Stiefel(4, 2),
    hg.Product(hg.Sphere(2), hg.Product(hg.Euclidean(1), hg.Unitary(1))),
    hg.Quotient(hg.Torus(2), (lambda x: x, lambda x: x + np.array([np.pi, 0]))),
    hg.Scaled(hg.Sphere(2), 0.5),
]


@pytest.mark.parametrize("M", EXACT, ids=repr)
def test_gram_matrices_are_symmetric_positive_definite_and_consistent(M, rng):
    X, Y = M.random(rng, 30), M.random(rng, 7)
    kernel = hg.heat_kernel(M)
    K = kernel(X, time=0.2)
    np.testing.assert_array_equal(K, K.T)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] > -1e-13 * eigenvalues[-1]
    peak = K.max()
    np.testing.assert_allclose(kernel(X, X, time=0.2), K, atol=1e-12 * peak)
    np.testing.assert_allclose(kernel(Y, X, time=0.2), kernel(X, Y, time=0.2).T, atol=1e-12 * peak)
    np.testing.assert_allclose(kernel.diag(X, 0.2), np.diag(K), atol=1e-12 * peak)
    assert not kernel.standard_error(X, Y, time=0.2).any()


@pytest.mark.parametrize("M", EXACT, ids=repr)
def test_derivative_in_time_is_that_of_a_finite_difference(M, rng):
    X, Y = M.random(rng, 4), M.random(rng, 5)
    kernel = hg.heat_kernel(M)
    step = 1e-4
    difference = (kernel(X, Y, time=0.3 + step) - kernel(X, Y, time=0.3 - step)) / (2 * step)
    scale = kernel.diag(X, 0.3).max() / 0.3
    np.testing.assert_allclose(kernel.derivative(X, Y, time=0.3), difference, atol=1e-5 * scale)


def test_batches_of_points_and_times_become_axes():
    M = hg.Sphere(2)
    kernel = hg.heat_kernel(M)
    X = M.random(np.random.default_rng(0), 6)
    one = kernel(X[0], X, time=0.1)
    assert one.shape == (6,)
    assert kernel(X[0], X[1], time=0.1).shape == ()
    assert kernel(X.reshape(2, 3, 3), X, time=[0.1, 0.2]).shape == (2, 2, 3, 6)
    assert kernel(X.reshape(2, 3, 3), time=0.1).shape == (2, 3, 2, 3)
    assert kernel(X[:0], X, time=0.1).shape == (0, 6)
    assert kernel(X[:0], time=0.1).shape == (0, 0)
    np.testing.assert_array_equal(kernel(X, time=[0.1, 0.2])[1], kernel(X, time=0.2))
    np.testing.assert_allclose(kernel(X.tolist(), X, time=0.1)[0], one, rtol=1e-12)


def test_products_multiply_and_may_have_a_time_each(rng):
    M = hg.Product(hg.Sphere(2), hg.Euclidean(2))
    X, Y = M.random(rng, 5), M.random(rng, 4)
    sphere, plane = hg.heat_kernel(hg.Sphere(2)), hg.heat_kernel(hg.Euclidean(2))
    (a, b), (c, d) = M.split(X), M.split(Y)
    kernel = hg.heat_kernel(M)
    np.testing.assert_allclose(kernel(X, Y, time=0.2), sphere(a, c, time=0.2) * plane(b, d, time=0.2), rtol=1e-12)
    each = ProductKernel(M, kernel.factors, own_times=True)
    assert each.parameters == 2
    expected = sphere(a, c, time=0.2) * plane(b, d, time=0.5)
    np.testing.assert_allclose(each(X, Y, time=(0.2, 0.5)), expected, rtol=1e-12)
    slopes = each.derivative(X, Y, time=(0.2, 0.5))
    np.testing.assert_allclose(slopes[0], sphere.derivative(a, c, time=0.2) * plane(b, d, time=0.5), rtol=1e-10)
    np.testing.assert_allclose(slopes[1], sphere(a, c, time=0.2) * plane.derivative(b, d, time=0.5), rtol=1e-10)
    with pytest.raises(InvalidInput, match=r"takes 2 time\(s\); got 0\.2"):
        each(X, Y, time=0.2)


def test_quotients_sum_over_the_group(rng):
    quotient = hg.Quotient(hg.Sphere(3), (lambda x: x, lambda x: -x))
    X, Y = hg.Sphere(3).random(rng, 5), hg.Sphere(3).random(rng, 5)
    projective = hg.heat_kernel(hg.RealProjective(3))
    np.testing.assert_allclose(hg.heat_kernel(quotient)(X, Y, time=0.4), projective(X, Y, time=0.4), rtol=1e-10)


def test_quotients_of_random_averages_are_symmetric_and_positive_definite(rng):
    """Cosets and reference points are not invariant under the group: the sum over one side alone is neither."""
    shift = np.eye(5)[[1, 2, 3, 4, 0]]
    turns = tuple(np.linalg.matrix_power(shift, i) for i in range(5))
    M = hg.Quotient(hg.Stiefel(5, 2), tuple(lambda x, turn=turn: turn @ x for turn in turns))
    X = M.random(rng, 10)
    X[5:] = turns[2] @ X[:5]  # the same points: rank five
    kernel = hg.heat_kernel(M, "fibre-average")
    K = kernel(X, X, time=0.31)
    np.testing.assert_allclose(K, K.T, atol=1e-12 * K.max())
    np.testing.assert_allclose(K[5:, 5:], K[:5, :5], atol=1e-12 * K.max())
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * K.max()
    assert abs(kernel.diag(X, 0.31) - np.diag(K)).max() < 1e-12 * K.max()


def test_scaled_metrics_change_the_clock(rng):
    """A circle of radius 3 against the wrapped Gaussian on it."""
    M = hg.Scaled(hg.Torus(1), 3.0)
    x = M.random(rng, 6)
    arc = 3 * (x - x[:1])[:, 0]
    turns = 6 * np.pi * np.arange(-4, 5)
    expected = np.exp(-((arc[:, None] + turns) ** 2) / (2 * 1.7)).sum(axis=1) / np.sqrt(2 * np.pi * 1.7)
    np.testing.assert_allclose(hg.heat_kernel(M)(x[0], x, time=1.7), expected, rtol=1e-10)


@pytest.mark.parametrize("method", ["strip", "smooth", "ball"])
def test_estimates_say_what_they_are_and_come_back_from_files(method, tmp_path, rng):
    M = hg.Sphere(2)
    kernel = hg.heat_kernel(M, method, paths=40_000, step=0.01, times=[0.1, 0.3], rng=1)
    assert repr(kernel).startswith(f"heat_kernel(Sphere(2), method='{method}', paths=40000, step=0.01)")
    X = M.random(rng, 5)
    for version in (kernel, kernel.as_positive_definite()):
        version.save(tmp_path / "kernel.npz")
        again = hg.load_kernel(tmp_path / "kernel.npz")
        np.testing.assert_array_equal(again(X, time=0.2), version(X, time=0.2))
        np.testing.assert_array_equal(again.standard_error(X, time=0.2), version.standard_error(X, time=0.2))
        assert repr(again) == repr(version)
    (source,) = kernel.replicates(2)
    whole, error = kernel(X, time=0.2), kernel.standard_error(X, time=0.2)
    assert len(source.kernels) == 2
    assert source.fraction == 0.5
    for part in source.kernels:
        assert (np.abs(part(X, time=0.2) - whole) < 5 * (error + part.standard_error(X, time=0.2))).all()


@pytest.mark.parametrize(
    "M", [hg.Sphere(2), hg.Stiefel(5, 2), hg.Product(hg.Torus(1), hg.Scaled(hg.Sphere(2), 2.0))], ids=repr
)
def test_kernels_without_simulation_come_back_from_files(M, tmp_path, rng):
    kernel = hg.heat_kernel(M)
    kernel.save(tmp_path / "k")
    X = M.random(rng, 4)
    np.testing.assert_array_equal(hg.load_kernel(tmp_path / "k")(X, time=0.5), kernel(X, time=0.5))


def test_files_that_are_no_kernels_are_named(tmp_path):
    path = tmp_path / "kernel.npz"
    with pytest.raises(InvalidInput, match="no such file"):
        hg.load_kernel(path)
    path.write_bytes(b"not an archive")
    with pytest.raises(InvalidInput, match="is not a kernel that heatgp saved, or it is damaged"):
        hg.load_kernel(path)
    np.savez(path, description=np.array(json.dumps({"format": 99})))
    with pytest.raises(InvalidInput, match="has format 99; this version reads 3"):
        hg.load_kernel(path)
    hg.heat_kernel(hg.Sphere(2)).save(path)
    whole = path.read_bytes()
    middle = len(whole) // 3
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    for damaged in (whole[: len(whole) // 2], flipped, b""):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match="is not a kernel that heatgp saved, or it is damaged"):
            hg.load_kernel(path)
    hg.heat_kernel(hg.Sphere(2), "strip", paths=40_000, step=0.01, times=[0.1, 0.3], rng=1).save(path)
    with np.load(path) as archive:
        content = dict(archive)
    content["theta"].flat[3] = np.nan
    np.savez(path, **content)
    with pytest.raises(InvalidInput, match="or it is damaged or was edited"):
        hg.load_kernel(path)
    quotient = hg.Quotient(hg.Sphere(2), (lambda x: x, lambda x: -x))
    hg.heat_kernel(quotient).save(path)
    with pytest.raises(InvalidInput, match="whose functions a file cannot hold"):
        hg.load_kernel(path)
    X = np.eye(3)
    np.testing.assert_array_equal(hg.load_kernel(path, quotient)(X, time=0.3), hg.heat_kernel(quotient)(X, time=0.3))


@pytest.mark.parametrize("time", [0, -1.0, np.nan, np.inf])
def test_times_that_are_no_times_are_named(time):
    X = np.eye(3)
    with pytest.raises(InvalidInput, match="time must be positive and finite"):
        hg.heat_kernel(hg.Sphere(2))(X, time=time)


def test_bad_input_is_named_before_any_work():
    S2 = hg.Sphere(2)
    with pytest.raises(
        InvalidInput,
        match=f"must be one of {', '.join(METHODS)}; got 'fft'",
    ):
        hg.heat_kernel(S2, "fft")
    with pytest.raises(InvalidInput, match=r"needs a manifold, such as Sphere\(2\); got 3"):
        hg.heat_kernel(3)
    with pytest.raises(Unsupported, match=r"no exact heat kernel of Grassmann\(8, 4\)"):
        hg.heat_kernel(hg.Grassmann(8, 4), "exact")
    with pytest.raises(Unsupported, match="not a symmetric space"):
        hg.heat_kernel(hg.Stiefel(5, 2), "smooth", paths=200)
    with pytest.raises(OffManifold, match=r"Y\[1\] is not on Sphere\(2\)"):
        hg.heat_kernel(S2)(np.eye(3), [[1.0, 0, 0], [1.0, 1, 0]], time=0.1)
    strip = hg.heat_kernel(S2, "strip", times=[0.1, 0.2], step=0.02, paths=20_000)
    with pytest.raises(
        InvalidInput, match=r"time = 0\.5 is beyond the times of heat_kernel.*0\.1 to 0\.2.*other `times`"
    ):
        strip(np.eye(3), time=0.5)
    with pytest.raises(InvalidInput, match=r"beyond the times of heat_kernel\(Stiefel\(5, 2\).*a larger `fibre`"):
        hg.heat_kernel(hg.Stiefel(5, 2), "fibre-average")(np.eye(5, 2), time=0.01)
    with pytest.raises(InvalidInput, match=r"beyond the times of heat_kernel\(Stiefel\(5, 2\).*0\.02 to inf"):
        hg.heat_kernel(hg.Stiefel(5, 2))(np.eye(5, 2), time=0.01)
    with pytest.raises(InvalidInput, match="paths = 20 say nothing"):
        hg.heat_kernel(S2, "strip", times=[0.1], paths=20)


def test_too_few_paths_for_the_dimension_are_warned_of():
    with pytest.warns(AccuracyWarning, match=r"Sphere\(9\).*paths"):
        hg.heat_kernel(hg.Sphere(9), "strip", times=[0.1], paths=500, cache=False)


def test_auto_takes_the_best_there_is():
    assert hg.heat_kernel(hg.SpecialOrthogonal(8)).method == "exact"
    assert hg.heat_kernel(hg.Stiefel(5, 2)).method == "exact"
    assert hg.heat_kernel(Planes(5, 2), paths=500, cache=False).method == "smooth"
    assert hg.heat_kernel(hg.Stiefel(7, 3)).method == "fibre-average"
    mixed = hg.heat_kernel(hg.Product(hg.Sphere(2), Planes(5, 2)), paths=500, cache=False)
    assert mixed.method == "exact x smooth"


@pytest.mark.parametrize(
    ("M", "method", "options", "text"),
    [
        (hg.Sphere(2), "strip", {"paths": 0}, "paths must be a positive integer; got 0"),
        (hg.Sphere(2), "smooth", {"step": 0}, "step must be a positive number; got 0"),
        (
            hg.Sphere(2),
            "strip",
            {"times": "soon"},
            "times must be a number or a non-empty list of finite numbers; got 'soon'",
        ),
        (hg.Sphere(2), "strip", {"epsilon": -1}, "epsilon must be a positive number"),
        (hg.Stiefel(5, 2), "strip", {}, "strips need the distance"),
        (hg.SpecialOrthogonal(8), "strip", {}, r"rank 4.*distance=True"),
        (hg.SpecialOrthogonal(8), "smooth", {}, "rank 4; the smooth estimate is for ranks one to three"),
        (hg.Stiefel(5, 2), "smooth", {}, "not a symmetric space"),
        (hg.SpecialOrthogonal(4), "ball", {"epsilon": -1}, "epsilon must be a positive number"),
        (hg.SpecialOrthogonal(4), "ball", {"paths": 20}, "paths = 20 say nothing"),
        (hg.SpecialOrthogonal(4), "ball", {"times": [0.2, 0.1]}, "times must increase"),
    ],
)
def test_nothing_is_simulated_before_bad_input_is_named(M, method, options, text, monkeypatch):
    monkeypatch.setattr("heatgp.paths.kept.simulate", None)
    monkeypatch.setattr("heatgp.heat.counting.ball.simulate", None)
    with pytest.raises((InvalidInput, Unsupported), match=text):
        hg.heat_kernel(M, method, **options, **({} if method == "ball" else {"cache": False}))


@pytest.mark.parametrize(
    "rng", [0, np.random.SeedSequence(5), np.random.default_rng(0), None], ids=lambda r: type(r).__name__
)
def test_factors_of_a_product_are_simulated_independently(rng):
    planes = Planes(4, 2)
    first, second = hg.heat_kernel(hg.Product(planes, planes), paths=200, rng=rng, cache=False).factors
    assert not np.array_equal(first.samples.theta, second.samples.theta)


@pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")
def test_a_kernel_of_balls_gives_the_same_answer_twice():
    M = hg.SpecialOrthogonal(4)
    kernel = hg.heat_kernel(M, "ball", paths=500, times=0.3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(*(kernel(M.origin, M.origin, time=0.3) for _ in range(2)))


@pytest.mark.parametrize("M", [hg.Sphere(2), hg.SpecialOrthogonal(3), hg.Grassmann(4, 2, "complex")], ids=repr)
def test_points_with_few_digits_make_positive_definite_matrices(M, rng):
    X = M.random(rng, 100)
    kernel = hg.heat_kernel(M)
    for rounded in (np.round(X, 7), X.astype(np.complex64 if M.is_complex else np.float32)):
        K = kernel(rounded, time=2.0)
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] > -1e-13 * eigenvalues[-1]
        np.testing.assert_allclose(kernel(rounded, rounded, time=2.0), K, atol=1e-12 * K.max())
        np.testing.assert_allclose(kernel.diag(rounded, 2.0), np.diag(K), rtol=1e-12)


def test_points_are_prepared_once_for_all_times(monkeypatch):
    M, calls = hg.Sphere(2), []
    original = hg.Sphere.orbits
    monkeypatch.setattr(hg.Sphere, "orbits", lambda *args: calls.append(args) or original(*args))
    values = hg.heat_kernel(M)(np.eye(3)[:1], np.eye(3), time=[[0.1, 0.2], [0.3, 0.4]])
    assert values.shape == (2, 2, 1, 3)
    assert len(calls) == 1
    with pytest.raises(InvalidInput, match="time is an empty list"):
        hg.heat_kernel(M)(np.eye(3), time=[])


@pytest.mark.parametrize(("M", "method", "paths"), [(hg.Sphere(9), "strip", 500), (hg.Sphere(2), "smooth", 20)])
def test_warnings_point_at_the_line_of_the_user(M, method, paths):
    with pytest.warns(AccuracyWarning) as caught:
        hg.heat_kernel(M, method, times=[0.1], paths=paths, cache=False)
    assert {warning.filename for warning in caught} == {__file__}
