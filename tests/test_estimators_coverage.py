"""Intervals contain what they say, on data drawn from the model."""

import warnings

import numpy as np
import pytest

from heatgp import ComplexProjective, GPRegressor, Grassmann, Product, SpecialOrthogonal, Sphere, Torus, heat_kernel
from heatgp.errors import BoundWarning, SmallSampleWarning
from heatgp.gp.scores import coverage

TIMES = {
    Sphere(2): 0.3,
    SpecialOrthogonal(3): 0.4,
    ComplexProjective(2): 0.1,
    Product(Sphere(2), Torus(1)): 0.5,
    Grassmann(4, 2, "complex"): 0.4,
}
TRAIN, TEST = 100, 100


def covered(M, time, replicates, learn_time, seed=0, number=TRAIN, **given):
    """The share of new observations in their 90 % interval, for one draw of points and function each."""
    rng = np.random.default_rng(seed)
    kernel = heat_kernel(M)
    shares = []
    for replicate in range(replicates):
        if learn_time or replicate % 10 == 0:
            X = M.random(rng, number + TEST)
            K = kernel(X, time=time)
            values, vectors = np.linalg.eigh(K / K[0, 0])
            root = vectors * np.sqrt(np.maximum(values, 0))
        y = 2 + root @ rng.standard_normal(len(X)) + 0.3 * rng.standard_normal(len(X))
        gp = GPRegressor(M, time=None if learn_time else time, **given)
        with warnings.catch_warnings():
            # some draws do not determine everything, and few data never do: they count too
            warnings.simplefilter("ignore", BoundWarning)
            warnings.simplefilter("ignore", SmallSampleWarning)
            gp.fit(X[:number], y[:number])
        mean, std = gp.predict(X[number:], return_std=True)
        assert (std >= 0).all()
        shares.append(coverage(y[number:], mean, std**2 + gp.noise_))
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


@pytest.mark.slow
@pytest.mark.parametrize("number", [5, 10])
def test_few_data_cover_too_little_unless_parameters_are_given(number):
    """What the SmallSampleWarning says, and that its remedy is one."""
    learned = covered(Sphere(2), 0.3, 100, learn_time=True, number=number)
    given = covered(Sphere(2), 0.3, 300, learn_time=False, number=number, amplitude=1.0, noise=0.09)
    for shares in (learned, given):
        assert shares.std(ddof=1) / np.sqrt(len(shares)) < 0.03
    assert 0.65 < learned.mean() < 0.85
    assert given.mean() == pytest.approx(0.9, abs=4 * given.std(ddof=1) / np.sqrt(len(given)))
