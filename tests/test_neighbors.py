"""Models by near neighbors, compared with dense ones."""

import numpy as np
import pytest

import heatgp as hg
from heatgp.covariance import Normalized
from heatgp.gp.factors import Dense
from heatgp.gp.neighbors.factor import NeighborFactor, Neighborhoods, covariances
from heatgp.gp.neighbors.nearest import NONE, Places

S2, R = hg.Sphere(2), hg.Euclidean(1)
SPACES = {
    "S2": (S2, 1.5, 0.3),
    "SO(3)": (hg.SpecialOrthogonal(3), 0.5, 0.4),
    "H2": (hg.Hyperbolic(2), 1.5, 0.5),
    "RP2": (hg.Quotient(S2, (lambda x: x, lambda x: -x)), 1.5, 0.3),
    "S2 x R": (hg.Product(S2, R), 0.5, (0.3, 0.5)),
}


def model(name, number=60):
    """Points, a kernel of prior variance one, a time, and the search for neighbors."""
    M, smoothness, time = SPACES[name]
    X = M.random(np.random.default_rng(0), number)
    kernel = Normalized(hg.matern_kernel(M, smoothness=smoothness).with_times(None))
    return X, kernel, time, Places(kernel, X, time)


@pytest.mark.parametrize("name", [name for name in SPACES if name != "H2"])  # its embedding stretches distances
@pytest.mark.parametrize("size", [5, 59])
def test_neighbors_before_have_the_largest_correlations(name, size):
    X, kernel, time, places = model(name)
    order = np.random.default_rng(1).permutation(len(X))
    near = places.before(order, np.arange(len(X)), size)
    K, rank = kernel.pairs(X).at(time).value, np.argsort(order)
    for i, found in enumerate(near):
        earlier = order[: rank[i]]
        expected = np.sort(K[i, earlier])[::-1][:size]
        kept = found[found != NONE]
        assert set(kept) <= set(earlier)
        np.testing.assert_allclose(K[i, kept], expected, atol=1e-12)


@pytest.mark.parametrize("name", SPACES)
def test_all_neighbors_are_the_dense_model(name):
    X, kernel, time, places = model(name)
    order, rows = np.random.default_rng(1).permutation(len(X)), np.arange(len(X))
    sets = Neighborhoods(rows, places.before(order, rows, len(X) - 1), len(X))
    found = covariances(kernel, X, sets).at(time)
    rng = np.random.default_rng(2)
    precision, columns = rng.uniform(2, 20, len(X)), rng.standard_normal((len(X), 2))
    factor, evaluation = NeighborFactor.of(found.value, precision), kernel.pairs(X).at(time)
    dense = Dense.of(evaluation.value, precision)
    solved = dense.solve(columns)
    np.testing.assert_allclose(factor.solve(columns), solved, atol=1e-10)
    np.testing.assert_allclose(factor.log_det, dense.log_det)
    np.testing.assert_allclose(factor.inverse_diagonal(), dense.inverse_diagonal())
    ours = factor.density_slopes(found.slopes, columns, solved)
    theirs = dense.density_slopes(list(evaluation.slopes), columns, solved)
    for one, other in zip(ours, theirs):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_slopes_are_those_of_the_density(name):
    X, kernel, time, places = model(name)
    order, rows = np.random.default_rng(1).permutation(len(X)), np.arange(10, 40)
    sets = Neighborhoods(rows, places.before(order, rows, 8), len(X))
    prior = covariances(kernel, X, sets)
    columns, noise = np.random.default_rng(2).standard_normal((len(X), 2)), np.full(len(X), 0.1)

    def density(numbers, noise):
        numbers = tuple(numbers) if np.ndim(time) else numbers[0]
        factor = NeighborFactor.of(prior.at(numbers).value, 1.0 / noise)
        log_det = factor.log_det + np.log(noise).sum()
        return -0.5 * (log_det + np.vdot(columns, factor.solve(columns)))

    found = prior.at(time)
    in_times, in_noise = NeighborFactor.of(found.value, 1.0 / noise).density_slopes(found.slopes, columns, None)
    times, step = np.atleast_1d(time), 1e-5
    for k in range(len(times)):
        factor = np.exp(step * np.eye(len(times))[k])
        slope = (density(times * factor, noise) - density(times / factor, noise)) / (2 * step)
        np.testing.assert_allclose(in_times[k], slope, rtol=1e-6)
    step = 1e-6 * np.eye(len(X))[17]
    slope = (density(times, noise + step) - density(times, noise - step)) / 2e-6
    np.testing.assert_allclose(in_noise[17], slope, rtol=1e-5, atol=1e-8)
