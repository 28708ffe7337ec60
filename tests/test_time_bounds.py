"""Where the time is searched for."""

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest

from heatgp import (
    Chart,
    Euclidean,
    GPRegressor,
    Orthogonal,
    Product,
    Quotient,
    Scaled,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
    Torus,
    heat_kernel,
)
from heatgp.errors import InvalidInput, Unsupported
from heatgp.estimators.time_bounds import farthest_pair, time_bounds
from heatgp.gp.parameters import Priors
from heatgp.heat.composed import ProductKernel


def test_from_a_fifth_of_the_nearest_to_three_times_the_largest_distance():
    X = np.array([[0.0], [1.0], [2.0], [12.0]])
    assert time_bounds(heat_kernel(Euclidean(1)), X) == pytest.approx(((1 / 5) ** 2, 36.0**2))


def test_lengths_scale_them(rng):
    X = Sphere(2).random(rng, 30)
    unit = np.array(time_bounds(heat_kernel(Sphere(2)), X))
    scaled = time_bounds(heat_kernel(Scaled(Sphere(2), 10.0)), X)
    np.testing.assert_allclose(scaled, 100 * unit)


def test_they_contain_the_time_that_made_the_data(rng):
    """Whatever the number of points, the points of a process are closer than its length and reach farther."""
    for n in (20, 2000):
        low, high = time_bounds(heat_kernel(Sphere(2)), Sphere(2).random(rng, n))
        assert low < 0.1 < 1 < high


def test_duplicates_single_points_and_components():
    kernel = heat_kernel(Euclidean(2))
    X = np.array([[0.0, 0], [0, 0], [3, 4], [3, 4]])
    assert time_bounds(kernel, X) == pytest.approx((1.0, 225.0))
    for lonely in (X[:1], X[:2]):
        low, high = time_bounds(kernel, lonely)
        assert 0 < low < high < np.inf
    turned = np.array([np.eye(3), -np.eye(3)])  # no path from one to the other: infinitely far
    low, high = time_bounds(heat_kernel(Orthogonal(3)), turned)
    assert 0 < low < high < np.inf


def test_one_interval_for_each_factor(rng):
    M = Product(Sphere(2), Torus(1))
    X = M.random(rng, 50)
    kernel = heat_kernel(M)
    each = time_bounds(ProductKernel(M, kernel.factors, own_times=True), X)
    for bounds, factor, part in zip(each, kernel.factors, M.split(X)):
        assert bounds == time_bounds(factor, part)


@dataclass
class Table:
    """All that is asked of a kernel."""

    times: tuple[float, float]
    manifold: object = Euclidean(1)
    parameters: int = 1
    is_exact: bool = False

    def time_parts(self, X):
        return [(self, X)]


def test_within_the_times_of_a_table():
    X = np.array([[0.0], [1.0], [5.0]])
    assert time_bounds(Table((0.5, 2.0)), X) == (0.5, 2.0)
    assert time_bounds(Table((0.5, 1e9)), X) == (0.5, 225.0)
    for beyond in ((1e-6, 1e-5), (1e5, 1e6)):
        assert time_bounds(Table(beyond), X) == beyond
    text = r"within 5 of each other; the kernel's shortest time, 1e\+03, is that of lengths of 32.*shorter times"
    with pytest.raises(InvalidInput, match=text):
        time_bounds(Table((1e3, np.inf)), X)
    with pytest.raises(InvalidInput, match=r"knows the one time 0\.4, and no other can be learned\. Give time"):
        time_bounds(Table((0.4, 0.4)), X)


def test_rough_distances_where_there_is_no_distance():
    class Undistanced:
        def distance(self, x, y):
            raise Unsupported("no distance")

        def rough_separation(self, x, y):
            return 4 * ((x - y) ** 2).sum(-1)

        def embed(self, x):
            return x

    X = np.array([[0.0], [1.0], [5.0]])
    assert time_bounds(Table((0.0, np.inf), Undistanced()), X) == pytest.approx((0.4**2, 30.0**2))


def test_frames_too_far_apart_for_the_iteration(rng):
    M = Stiefel(4, 3)
    low, high = time_bounds(Table((0.0, np.inf), M), M.random(rng, 40))
    assert 1e-3 < low < 1 < high < 1e3


def kilometres(x):
    """The plane in degrees of 111 km, curved a little so that it is no plane."""
    one = 111.0**2 * (1 + 0.1 * np.cos(x[..., 0]))
    return one[..., None, None] * np.eye(2)


def test_a_metric_in_other_units_than_its_coordinates(rng):
    """Times are square kilometres, though coordinates are degrees."""
    chart = Chart(kilometres, 2, periodic=(2 * np.pi, 2 * np.pi))
    X = chart.random(rng, 30)
    degrees = time_bounds(Table((0.0, np.inf), Torus(2)), X)
    low, high = time_bounds(Table((0.0, np.inf), chart), X)
    assert 0.8 * 111**2 < low / degrees[0] < 1.2 * 111**2
    assert low < high < 1.2 * 111**2 * degrees[1]
    kernel = heat_kernel(chart, references=40, paths=1000, rng=0)
    model = GPRegressor(chart, kernel=kernel).fit(X, np.sin(X[:, 0]))
    assert kernel.times[0] <= model.time_ < 1e6
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e-8, 1e-12])
def test_they_reach_down_to_the_size_of_the_data(size, rng):
    low, high = time_bounds(heat_kernel(Euclidean(2)), size * rng.random((100, 2)))
    unit = time_bounds(heat_kernel(Euclidean(2)), rng.random((100, 2)))
    assert low == pytest.approx(size**2 * unit[0], rel=0.5)
    assert high == pytest.approx(size**2 * unit[1], rel=0.5)
    if size > 1e-10:  # coordinates of other manifolds are rounded at 1e-16
        M = Sphere(2)
        x = M.random(rng, 1)
        X = M.exp(x, size * M.noise(x, rng.standard_normal((100, 3))))
        low, high = time_bounds(heat_kernel(M), X)
        assert 1e-5 * size**2 < low < size**2 < high < 1e4 * size**2


@pytest.mark.parametrize("count", [20, 200, 20_000])
def test_the_lower_bound_is_the_spacing_of_all_data(count):
    X = np.linspace(0.0, 1.0, count)[:, None]
    low, _ = time_bounds(heat_kernel(Euclidean(1)), X)
    assert low == pytest.approx((1 / (count - 1) / 5) ** 2)


def test_many_points_of_a_sphere(rng):
    """Nearest neighbors of N uniform points of S^2 have the median distance 2 sqrt(log(2) / N)."""
    low, _ = time_bounds(heat_kernel(Sphere(2)), Sphere(2).random(rng, 100_000))
    assert low == pytest.approx((2 * np.sqrt(np.log(2) / 100_000) / 5) ** 2, rel=0.2)  # 4 standard errors of 200 points


def test_spacing_where_most_points_are_repeated(rng):
    """A thousand copies of each of 40 places."""
    places = np.arange(40.0)[:, None]
    assert time_bounds(heat_kernel(Euclidean(1)), np.repeat(places, 1000, axis=0))[0] == pytest.approx(1 / 25)


def test_only_repeated_points():
    """Each of two places has more copies than neighbors are looked for: the distance of the places is all there is."""
    X = np.repeat([[0.0], [1.0]], 10_000, axis=0)
    assert time_bounds(heat_kernel(Euclidean(1)), X) == pytest.approx((1 / 25, 9.0))


def test_bounds_from_a_random_part_of_the_data():
    X = np.linspace(0.0, 1.0, 101)[:, None]
    low, _ = time_bounds(heat_kernel(Euclidean(1)), X, count=10_001)
    assert low == pytest.approx((101 / 10_001 / 100 / 5) ** 2)


def on_a_line(dim, count, rng):
    """Random points of a line in R^dim, and the median distance of nearest neighbors."""
    along = np.sort(rng.random(count))
    gaps = np.diff(along)
    spacing = np.median(np.minimum(gaps[1:], gaps[:-1]))
    direction = rng.standard_normal(dim)
    X = along[:, None] * direction / np.linalg.norm(direction)
    return X[rng.permutation(count)], spacing


@pytest.mark.parametrize("dim", [3, 64, 65, 300])
def test_data_of_lower_dimension_than_the_manifold(dim, rng):
    """In more than 64 dimensions the bound came from 1000 points: 86 spacings for 100,000 points of a line in R^100."""
    X, spacing = on_a_line(dim, 20_000, rng)
    low, _ = time_bounds(heat_kernel(Euclidean(dim)), X)
    assert 5 * low**0.5 == pytest.approx(spacing, rel=0.35)  # 4 standard errors of a median of 200 distances


@pytest.mark.parametrize("dim", [3, 300])
def test_some_of_the_data_say_of_which_dimension_all_are(dim, rng, monkeypatch):
    """Tracks of satellites are curves: their spacing is as 1/N, not as a root of it."""
    X, spacing = on_a_line(dim, 40_000, rng)
    low, _ = time_bounds(heat_kernel(Euclidean(dim)), X[:4000], count=40_000)
    assert 0.5 * spacing < 5 * low**0.5 < 2 * spacing
    monkeypatch.setattr("heatgp.estimators.time_bounds.MOST_NUMBERS", 0)  # more coordinates than are compared
    low, _ = time_bounds(heat_kernel(Euclidean(dim)), X)
    assert 0.4 * spacing < 5 * low**0.5 < 2.5 * spacing


def drawn(X, length, rng):
    """A function of a Gaussian process on a line with the heat kernel of this length: smoothed white noise."""
    step = length / 30
    grid = np.arange(X.min() - 8 * length, X.max() + 8 * length, step)
    weights = np.exp(-((np.arange(-200, 201) * step / length) ** 2))
    values = np.convolve(rng.standard_normal(len(grid) + 400), weights / np.linalg.norm(weights), mode="valid")
    return np.interp(X[:, 0], grid, values)


@pytest.mark.parametrize("inference", ["dense", "neighbors"])
def test_lengths_of_three_spacings_are_learned(inference, rng):
    X = np.sort(rng.random(1500))[:, None]
    f = drawn(X, 3 / 1500, rng)
    gp = GPRegressor(Euclidean(1), amplitude=1.0, noise=0.0025, inference=inference)
    gp.fit(X, f + 0.05 * rng.standard_normal(1500))
    assert gp.time_**0.5 == pytest.approx(3 / 1500, rel=0.1)
    assert np.sqrt(np.mean((gp.predict(X) - f) ** 2)) < 0.05


@pytest.mark.slow
def test_short_lengths_of_many_data(rng):
    X = np.sort(rng.random(20_000))[:, None]
    f = drawn(X, 1.5e-4, rng)
    gp = GPRegressor(Euclidean(1), amplitude=1.0, noise=0.0025).fit(X, f + 0.05 * rng.standard_normal(20_000))
    assert gp.time_**0.5 == pytest.approx(1.5e-4, rel=0.05)
    assert np.sqrt(np.mean((gp.predict(X[:2000]) - f[:2000]) ** 2)) < 0.05


def test_few_distances_are_computed(monkeypatch, rng):
    """Those of frames are found by iteration: all 40,000 of 200 points took 1 s for each step of `minimize`."""
    M, computed, distance = Stiefel(5, 2), [], Stiefel.distance

    def counted(self, x, y):
        computed.append(np.prod(np.broadcast_shapes(x.shape, y.shape)[:-2]))
        return distance(self, x, y)

    x0 = np.repeat(M.random(rng, 1), 200, axis=0)
    X = M.exp(x0, 0.3 * M.noise(x0, rng.standard_normal((200, 5, 2))))
    i, j = np.triu_indices(200, 1)
    largest = M.distance(X[i], X[j]).max()
    monkeypatch.setattr(Stiefel, "distance", counted)
    time_bounds(heat_kernel(M), X)
    assert sum(computed) < 3000
    (x, y), farthest = farthest_pair(M, X, M.distance)
    assert farthest == distance(M, x, y)[0]
    assert 0.95 * largest < farthest <= largest


def rotations():
    """Those that map the axes to the axes: 24."""
    signed = [np.diag(s)[list(p)] for p in permutations(range(3)) for s in product((1.0, -1.0), repeat=3)]
    return sorted((m for m in signed if np.linalg.det(m) > 0), key=lambda m: -np.trace(m))


@pytest.mark.parametrize("count", [400, 3000])
def test_neighbors_on_a_quotient_may_be_far_apart_in_coordinates(count, rng):
    """Uniform points are as close as on a sphere of the same area; in coordinates they are 4.6 times as far apart."""
    M = Quotient(Sphere(2), tuple(lambda x, m=m: x @ m.T for m in rotations()))
    low, _ = time_bounds(heat_kernel(M), M.random(rng, count))
    exact = (2 * np.sqrt(np.log(2) / (24 * count)) / 5) ** 2
    assert low == pytest.approx(exact, rel=0.35)  # 4 standard errors of up to three medians of 200 points


def test_coordinates_in_different_units(rng):
    """The metric stretches one coordinate by a hundred: neighbors in the coordinates are no neighbors."""
    chart = Chart(lambda x: np.broadcast_to(np.diag([1.0, 1e4]), (*x.shape[:-1], 2, 2)), 2)
    X = rng.random((400, 2))
    flat = time_bounds(Table((0.0, np.inf), Euclidean(2)), X * [1.0, 100.0])
    assert time_bounds(Table((0.0, np.inf), chart), X) == pytest.approx(flat, rel=1e-6)


def test_no_distance_of_all_data_where_the_embedding_is_large(monkeypatch, rng):
    """Of 2,000 rotations of nine dimensions 400,000 distances took 3 s; rough ones are as slow there."""
    M, computed, distance = SpecialOrthogonal(9), [], SpecialOrthogonal.distance

    def counted(self, x, y):
        computed.append(np.prod(np.broadcast_shapes(x.shape, y.shape)[:-2]))
        return distance(self, x, y)

    monkeypatch.setattr(SpecialOrthogonal, "distance", counted)
    time_bounds(Table((0.0, np.inf), M), M.random(rng, 3000))
    assert sum(computed) < 200 * 1000 + 200**2 + 3 * 200 * 8 + 100


def test_bounds_beyond_the_times_of_kernels_are_refused(rng):
    X = Sphere(2).random(rng, 20)
    with pytest.raises(InvalidInput, match=r"time_bounds = \(1e-300, 1e\+300\) are not within 1e-100 and 1e\+100"):
        GPRegressor(Sphere(2), priors=Priors(time_bounds=(1e-300, 1e300))).fit(X, X[:, 0])
