"""Normalised and precomputed kernels, and the checks of parameters."""

import numpy as np
import pytest

from gp_kernels import RBF, Cosines
from heatgp.errors import InvalidInput
from heatgp.gp.kernel import Normalized, Params, Precomputed, log_time_difference

X = np.linspace(0.1, 5.0, 7)[:, None]
Y = np.linspace(0.3, 4.0, 4)[:, None]


def test_normalized_is_the_correlation():
    K = Cosines().pairs(X)(0.3)
    root = np.sqrt(np.diag(K))
    np.testing.assert_allclose(Normalized(Cosines()).pairs(X)(0.3), K / root / root[:, None], atol=1e-14)
    both = Normalized(Cosines()).pairs(np.vstack([X, Y]))(0.3)
    np.testing.assert_allclose(Normalized(Cosines()).pairs(X, Y)(0.3), both[:7, 7:], atol=1e-14)
    Phi = Normalized(Cosines()).features(X, 0.3)
    np.testing.assert_allclose(Phi @ Phi.T, both[:7, :7], atol=1e-14)
    np.testing.assert_array_equal(Normalized(Cosines()).diag(X, 0.3), np.ones(7))
    assert Normalized(RBF()).features is None
    assert Normalized(RBF()).parameters == 1


@pytest.mark.parametrize("kernel", [RBF(), Cosines(), Normalized(RBF()), Normalized(Cosines())])
@pytest.mark.parametrize("other", [None, Y], ids=["self", "cross"])
def test_slope_is_the_derivative_in_log_time(kernel, other):
    pairs = kernel.pairs(X, other)
    K, slope = pairs.slope(0.3)
    np.testing.assert_allclose(K, pairs(0.3), atol=1e-15)
    np.testing.assert_allclose(slope, log_time_difference(pairs, 0.3), atol=1e-7)


def test_difference_takes_several_times():
    slopes = log_time_difference(lambda t: np.array([t[0] ** 2 * t[1]]), (2.0, 3.0))
    np.testing.assert_allclose(slopes, [[24.0], [12.0]], rtol=1e-7)


def test_precomputed_checks_its_matrix():
    with pytest.raises(InvalidInput, match=r"gram has shape \(2, 3\); needed is \(P, Q\), P >= Q"):
        Precomputed(np.ones((2, 3)))
    with pytest.raises(InvalidInput, match=r"gram is not symmetric: \|K - K'\| = 1\.0e\+00 > 1\.0e-08"):
        Precomputed(np.array([[1.0, 1.0], [0.0, 1.0]]))
    with pytest.raises(InvalidInput, match="check for nan"):
        Precomputed(np.full((2, 2), np.nan))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"time": 0.0}, "time = 0.0 must be positive"),
        ({"time": (1.0, np.inf)}, "must be positive and finite"),
        ({"amplitude": 0.0}, "amplitude = 0.0 is a variance and must be positive"),
        ({"noise": -1.0}, "noise = -1.0 is a variance and must be 0 or positive"),
        ({"noise": np.nan}, "noise = nan"),
    ],
)
def test_params_are_checked(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        Params(**{"time": 1.0, "amplitude": 1.0, "noise": 0.1, **wrong})
