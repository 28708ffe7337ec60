"""Intervals contain what they say, on data drawn from the model."""

import warnings

import numpy as np
import pytest

from heatgp import ComplexProjective, GPRegressor, Grassmann, Product, SpecialOrthogonal, Sphere, Torus, heat_kernel
from heatgp.errors import BoundWarning
from heatgp.gp.scores import coverage

TIMES = {
    Sphere(2): 0.3,
    SpecialOrthogonal(3): 0.4,
    ComplexProjective(2): 0.1,
    Product(Sphere(2), Torus(1)): 0.5,
    Grassmann(4, 2, "complex"): 0.4,
}
TRAIN, TEST = 100, 100


def covered(M, time, replicates, learn_time, seed=0):
    """The share of new observations in their 90 % interval, for one draw of points and function each."""
    rng = np.random.default_rng(seed)
    kernel = heat_kernel(M)
    shares = []
    for replicate in range(replicates):
        if learn_time or replicate % 10 == 0:
            X = M.random(rng, TRAIN + TEST)
            K = kernel(X, time=time)
            values, vectors = np.linalg.eigh(K / K[0, 0])
            root = vectors * np.sqrt(np.maximum(values, 0))
        y = 2 + root @ rng.standard_normal(len(X)) + 0.3 * rng.standard_normal(len(X))
        gp = GPRegressor(M, time=None if learn_time else time)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundWarning)  # some draws do not determine everything: they count too
            gp.fit(X[:TRAIN], y[:TRAIN])
        mean, std = gp.predict(X[TRAIN:], return_std=True)
        assert (std >= 0).all()
        shares.append(coverage(y[TRAIN:], mean, std**2 + gp.noise_))
    return np.array(shares)


@pytest.mark.parametrize("M", TIMES, ids=repr)
def test_intervals_cover(M):
    """Amplitude and noise learned."""
    shares = covered(M, TIMES[M], replicates=60, learn_time=False)
    assert 0.87 < shares.mean() < 0.93
    assert shares.std(ddof=1) / np.sqrt(len(shares)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("M", TIMES, ids=repr)
def test_intervals_cover_with_everything_learned(M):
    shares = covered(M, TIMES[M], replicates=120, learn_time=True)
    assert 0.87 < shares.mean() < 0.93
    assert shares.std(ddof=1) / np.sqrt(len(shares)) < 0.01
