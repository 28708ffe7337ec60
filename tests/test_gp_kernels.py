"""Normalised and precomputed kernels, and the checks of parameters."""

import numpy as np
import pytest

from gp_kernels import ARD, RBF, Cosines, log_time_slopes
from heatgp.errors import InvalidInput
from heatgp.gp.kernels import Normalized, Precomputed
from heatgp.gp.parameters import Params

X = np.linspace(0.1, 5.0, 7)[:, None]
Y = np.linspace(0.3, 4.0, 4)[:, None]


def test_normalized_is_the_correlation():
    K = Cosines().pairs(X).at(0.3).value
    root = np.sqrt(np.diag(K))
    np.testing.assert_allclose(Normalized(Cosines()).pairs(X).at(0.3).value, K / root / root[:, None], atol=1e-14)
    both = Normalized(Cosines()).pairs(np.vstack([X, Y])).at(0.3).value
    np.testing.assert_allclose(Normalized(Cosines()).pairs(X, Y).at(0.3).value, both[:7, 7:], atol=1e-14)
    Phi = Normalized(Cosines()).features(X).at(0.3).value
    np.testing.assert_allclose(Phi @ Phi.T, both[:7, :7], atol=1e-14)
    np.testing.assert_array_equal(Normalized(Cosines()).diag(X, 0.3), np.ones(7))
    assert Normalized(RBF()).features(X) is None
    assert Normalized(RBF()).parameters == 1


@pytest.mark.parametrize("kernel", [RBF(), Cosines(), Normalized(RBF()), Normalized(Cosines())])
@pytest.mark.parametrize("other", [None, Y], ids=["self", "cross"])
def test_slopes_are_the_derivatives_in_log_time(kernel, other):
    pairs = kernel.pairs(X, other)
    slopes = pairs.at(0.3).slopes
    np.testing.assert_allclose(slopes, log_time_slopes(lambda t: pairs.at(t).value, 0.3), atol=1e-7)


@pytest.mark.parametrize("kernel", [Cosines(), Normalized(Cosines())])
def test_slopes_of_features_are_their_derivatives(kernel):
    features = kernel.features(X)
    slopes = features.at(0.3).slopes
    np.testing.assert_allclose(slopes, log_time_slopes(lambda t: features.at(t).value, 0.3), atol=1e-7)


def test_slopes_of_several_times():
    pairs = Normalized(ARD(2)).pairs(np.hstack([X, X**2]))
    slopes = pairs.at((2.0, 3.0)).slopes
    np.testing.assert_allclose(slopes, log_time_slopes(lambda t: pairs.at(t).value, (2.0, 3.0)), atol=1e-7)


@pytest.mark.parametrize("kernel", [RBF(), Normalized(RBF()), Normalized(Cosines())])
def test_matched_is_the_diagonal_of_pairs(kernel):
    for other in (None, X + 0.2):
        found, expected = kernel.paired(X, other).at(0.3), kernel.pairs(X, other).at(0.3).diagonal()
        np.testing.assert_allclose(found.value, expected.value, atol=1e-14)
        np.testing.assert_allclose(found.slopes, expected.slopes, atol=1e-14)


def test_precomputed_has_no_time():
    K = RBF().pairs(X).at(0.3).value
    kernel = Precomputed(K)
    assert (kernel.parameters, kernel.features([0])) == (0, None)
    at = kernel.pairs([0, 3], [1, 2, 5]).at(())
    np.testing.assert_array_equal(at.value, K[np.ix_([0, 3], [1, 2, 5])])
    assert at.slopes.shape == (0, 2, 3)
    np.testing.assert_array_equal(kernel.paired([0, 3], [1, 2]).at(()).value, K[[0, 3], [1, 2]])
    np.testing.assert_array_equal(kernel.diag([0, 3], ()), 1)


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
