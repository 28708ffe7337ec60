"""The three factored forms against explicit inverses."""

import numpy as np
import pytest

from heatgp.errors import NotPositiveDefinite
from heatgp.gp.factors import Dense, Diagonal, LowRank, cholesky, draw
from heatgp.gp.pivoted import Root

rng = np.random.default_rng(0)
N, RANK = 12, 4
PHI = rng.normal(size=(N, RANK))
K = PHI @ PHI.T
S = rng.uniform(0.5, 3.0, size=N)
D_PHI = rng.normal(size=(2, N, RANK))
D_K = D_PHI @ PHI.T + PHI @ D_PHI.transpose(0, 2, 1)
R = np.linalg.inv(K + np.diag(1 / S))
SIGMA = K - K @ R @ K


@pytest.mark.parametrize(
    "factor, slopes", [(Dense.of(K, S), D_K), (LowRank.of(PHI, S), D_PHI)], ids=["dense", "low rank"]
)
def test_every_quantity(factor, slopes):
    v, V = rng.normal(size=N), rng.normal(size=(N, 3))
    np.testing.assert_allclose(factor.log_det, np.linalg.slogdet(np.eye(N) + K * S)[1])
    np.testing.assert_allclose(factor.solve(v), R @ v, atol=1e-12)
    np.testing.assert_allclose(factor.solve(V), R @ V, atol=1e-12)
    np.testing.assert_allclose(factor.times(v), K @ v, atol=1e-12)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(R), atol=1e-12)
    np.testing.assert_allclose(factor.marginal_variance(), np.diag(SIGMA), atol=1e-12)
    for slope, dK in zip(slopes, D_K):
        u = V[:, 0]
        np.testing.assert_allclose(factor.slope(slope, u, v), u @ dK @ v - np.trace(R @ dK) / 2, atol=1e-11)
        np.testing.assert_allclose(factor.variances(factor.values, slope), np.diag(dK), atol=1e-12)
    np.testing.assert_allclose(factor.variances(factor.values), np.diag(K), atol=1e-12)


def test_diagonal_is_dense_in_the_eigenbasis():
    values, vectors = np.linalg.eigh(K)
    factor, dense, v = Diagonal.of(values, 2.0), Dense.of(K, 2.0), rng.normal(size=(N, 2))
    np.testing.assert_allclose(factor.log_det, dense.log_det)
    np.testing.assert_allclose(vectors @ factor.solve(vectors.T @ v), dense.solve(v), atol=1e-12)
    _, of_noise = factor.density_slopes([], vectors.T @ v, factor.solve(vectors.T @ v))
    _, expected = dense.density_slopes([], v, dense.solve(v))
    np.testing.assert_allclose(of_noise.sum(), expected.sum())


def test_zero_precision_is_the_prior():
    for factor in (Dense.of(K, np.zeros(N)), LowRank.of(PHI, np.zeros(N))):
        np.testing.assert_allclose(factor.marginal_variance(), np.diag(K))
        np.testing.assert_array_equal(factor.solve(np.ones(N)), 0)


def test_not_positive_definite_says_by_how_much():
    with pytest.raises(NotPositiveDefinite, match=r"of 2 points .* is -1\.00e\+00, and that with .* or a larger noise"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(NotPositiveDefinite, match="nan"):
        cholesky(np.full((2, 2), np.nan))
    with pytest.raises(NotPositiveDefinite, match=r"is -5\.00e-01"):
        Diagonal.of(np.array([-1.5, 1.0]), 1.0)


def test_draws_of_a_singular_law():
    draws = draw(np.array([1.0, 1.0]), np.ones((2, 2)), rng=0, size=1000)
    np.testing.assert_allclose(draws[:, 0], draws[:, 1], atol=1e-7)
    assert abs(draws.mean() - 1.0) < 4.5 / np.sqrt(1000)


def test_few_points_carry_a_smooth_covariance():
    x = np.linspace(0, 3, 80)
    K = np.exp(-((x[:, None] - x) ** 2))
    root = Root.of(K, 30)
    np.testing.assert_allclose(root.F @ root.F.T, K, atol=1e-11)
    np.testing.assert_allclose(np.triu(root.F[root.chosen], 1), 0.0)
    np.testing.assert_allclose(root.at(K[:5]), root.F[:5].T, atol=1e-6)
    assert Root.of(K, 5) is None
    assert Root.of(np.eye(80), 30) is None
    for where in ((3, 3), (0, 50)):  # the first pivot is point 0
        broken = K.copy()
        broken[where] = broken[where[::-1]] = np.nan
        assert Root.of(broken, 30) is None
