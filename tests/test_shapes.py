"""The kernel of shapes in space: averages over rotations by other rules, and the laws of heat."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import gamma

from group_average import rotations
from heatgp import GPRegressor, Sphere, heat_kernel, load_kernel, shape_kernel
from heatgp.errors import InvalidInput
from heatgp.points import landmarks_to_preshape


def clouds(rng, number, landmarks=5, spread=0.3):
    """Landmarks around a common shape."""
    return rng.standard_normal((landmarks, 3)) + spread * rng.standard_normal((number, landmarks, 3))


def average(kernel, x, Y, time, angles):
    """The mean over rotations by Euler angles, of the kernel of the sphere."""
    turns, weights = rotations(3, angles)
    turned = np.stack([(y.reshape(-1, 3) @ turns).reshape(len(turns), -1) for y in Y])
    return kernel(x, turned.reshape(-1, turned.shape[-1]), time=time).reshape(len(Y), -1) @ weights


LINE = np.random.default_rng(1).standard_normal((4, 5, 1)) * [1.0, 0, 0]
PLANE = np.random.default_rng(2).standard_normal((4, 5, 3)) * [1.0, 1, 0]


@pytest.mark.parametrize("time, angles", [(0.06, 40), (0.3, 20), (2.0, 10)])
@pytest.mark.parametrize("landmarks", ["close", "any", LINE, PLANE], ids=["close", "any", "line", "plane"])
def test_the_average_over_all_rotations(landmarks, time, angles, rng):
    spreads = {"close": 0.2, "any": 10.0}
    L = clouds(rng, 4, spread=spreads[landmarks]) if isinstance(landmarks, str) else landmarks
    X = landmarks_to_preshape(L)
    expected = average(heat_kernel(Sphere(11)), X[0], X, time, angles)
    np.testing.assert_allclose(shape_kernel(5)(X[0], X, time=time), expected, atol=1e-10 * expected[0])


def test_short_times_by_rotations_around_the_best_one(rng):
    """At time 0.01 Euler angles would be too many: random rotations, as many as show the average to a few per cent."""
    X = landmarks_to_preshape(clouds(rng, 3, spread=0.02))
    turns = Rotation.random(400_000, random_state=0).as_matrix()
    turned = (X[1].reshape(-1, 3) @ turns).reshape(len(turns), -1)
    values = heat_kernel(Sphere(11))(X[0], turned, time=0.01)
    error = values.std() / math.sqrt(len(turns))
    assert error < 0.1 * values.mean()
    assert abs(shape_kernel(5)(X[0], X[1], time=0.01) - values.mean()) < 4.5 * error


@pytest.mark.parametrize("kernel", [shape_kernel(5), shape_kernel(5, 1.5)], ids=repr)
@pytest.mark.parametrize("time", [0.01, 0.2])
def test_invariant_symmetric_and_positive_definite(kernel, time, rng):
    L = np.concatenate([clouds(rng, 25), clouds(rng, 10, spread=10.0)])
    X = landmarks_to_preshape(L)
    K = kernel(X, time=time)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * K.max()
    np.testing.assert_allclose(kernel.diag(X, time), np.diag(K), rtol=1e-12)
    moved = 3 * L @ Rotation.random(len(L), random_state=0).as_matrix() + [1.0, 2.0, 3.0]
    np.testing.assert_allclose(kernel(landmarks_to_preshape(moved), X, time=time), K, atol=1e-10 * K.max())
    mirrored = landmarks_to_preshape(L * [1.0, 1.0, -1.0])
    assert kernel(mirrored[:1], X[:1], time=0.01) < 0.9 * kernel(X[:1], X[:1], time=0.01)


def test_mass_and_chapman_and_kolmogorov(rng):
    M, kernel = Sphere(8), shape_kernel(4)
    X, Z = landmarks_to_preshape(clouds(rng, 3, 4)), M.random(rng, 20_000)
    first, second = M.volume * kernel(X[0], Z, time=0.5), kernel(Z, X[1], time=0.7)
    for values, expected in ((first, 1.0), (first * second, kernel(X[0], X[1], time=1.2))):
        assert abs(values.mean() - expected) < 4.5 * values.std() / math.sqrt(len(Z))


def test_derivative_and_matern(rng):
    X, kernel = landmarks_to_preshape(clouds(rng, 4)), shape_kernel(5)
    for own, time in ((kernel, 0.1), (shape_kernel(5, 2.5), 0.2)):
        later, before = (own(X, time=time * (1 + s)) for s in (1e-4, -1e-4))
        slope = (later - before) / (2e-4 * time)
        np.testing.assert_allclose(own.derivative(X, time=time), slope, atol=1e-6 * later[0, 0] / time)


@pytest.mark.parametrize(
    "smoothness, time", [(1.5, 0.3), *(pytest.param(s, 0.02, marks=pytest.mark.slow) for s in (0.5, 2.5))]
)
def test_matern_kernels_are_averages_over_times(smoothness, time, rng):
    """By another rule for the integral over times."""
    X, kernel, power = landmarks_to_preshape(clouds(rng, 4)), shape_kernel(5), smoothness + 11 / 2
    u = np.linspace(math.log(1e-12), math.log(60 * time / smoothness), 400)
    weight = np.exp(power * u - smoothness * np.exp(u) / time) * (smoothness / time) ** power / gamma(power)
    expected = sum(w * kernel(X, time=t) for w, t in zip(weight * (u[1] - u[0]), np.exp(u)) if w > 0)
    found = shape_kernel(5, smoothness)(X, time=time)
    np.testing.assert_allclose(found, expected, atol=3e-6 * found.max())


def test_rods_and_no_points_at_all(rng):
    """Landmarks near a line, at short times, take no more memory than others; one and no point are no special cases."""
    rods = np.arange(8.0)[:, None] * [1.0, 0, 0] + 0.1 * rng.standard_normal((12, 8, 3))
    X, kernel = landmarks_to_preshape(rods), shape_kernel(8)
    for time in (1e-5, 1e-3, 0.02):
        K = kernel(X, time=time)
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * K.max()
    later, before = (kernel.diag(X, time) for time in (0.0101, 0.0099))
    assert np.all((later < before) & (later > 0.8 * before))
    assert kernel(X[:0], X, time=0.1).shape == (0, 12)
    assert kernel(X[:0], time=0.1).shape == (0, 0)
    assert kernel(X[0], X[1], time=0.1).shape == ()


def test_a_model_of_shapes_does_not_see_position_size_and_rotation(rng, tmp_path):
    L = clouds(rng, 60)
    size = np.linalg.norm(L - L.mean(axis=1, keepdims=True), axis=(1, 2))
    y = np.linalg.norm(L[:, 0] - L[:, 1], axis=1) / size  # a function of the shape
    moved = 2 * L @ Rotation.random(60, random_state=1).as_matrix() + 5
    X, turned = landmarks_to_preshape(L), landmarks_to_preshape(moved)
    gp = GPRegressor(Sphere(11), kernel=shape_kernel(5)).fit(turned[:40], y[:40])
    other = GPRegressor(Sphere(11)).fit(turned[:40], y[:40])
    errors = [np.sqrt(np.mean((model.predict(turned[40:]) - y[40:]) ** 2)) for model in (gp, other)]
    assert errors[0] < 0.2 * errors[1]
    np.testing.assert_allclose(gp.predict(X[40:]), gp.predict(turned[40:]), atol=1e-9)
    kernel = shape_kernel(5, 1.5)
    kernel.save(tmp_path / "kernel.npz")
    np.testing.assert_array_equal(load_kernel(tmp_path / "kernel.npz")(X, time=0.1), kernel(X, time=0.1))


def test_bad_landmarks_are_named():
    with pytest.raises(InvalidInput, match="shape_kernel needs 3 or more landmarks; got 2"):
        shape_kernel(2)
    with pytest.raises(
        InvalidInput, match=r"landmarks has shape \(5, 2\); it must have shape \(\.\.\., k, 3\), k >= 3"
    ):
        landmarks_to_preshape(np.zeros((5, 2)))
    with pytest.raises(InvalidInput, match=r"landmarks\[1\] coincide: their size is 0\.0e\+00"):
        landmarks_to_preshape(np.stack([np.eye(3), np.ones((3, 3))]))
    far = landmarks_to_preshape(1e300 * np.eye(3))
    assert np.linalg.norm(far) == pytest.approx(1)
