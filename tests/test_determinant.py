"""Small determinants, elimination and blocks against NumPy."""

import numpy as np
import pytest

from heatgp.heat.special.determinant import blocks, determinant, eliminate


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("phase", [0, 1j])
def test_determinant_of_every_order(order, phase):
    rng = np.random.default_rng(order)
    matrix = rng.normal(size=(7, order, order)) + phase * rng.normal(size=(7, order, order))
    np.testing.assert_allclose(determinant(np.moveaxis(matrix, 0, -1)), np.linalg.det(matrix), rtol=1e-12)


def test_elimination_keeps_the_determinant_and_clears_below_the_diagonal():
    rng = np.random.default_rng(0)
    rows, taylor = rng.normal(size=(3, 8)), rng.normal(size=(3, 8))
    reduced = eliminate(rows, taylor, before=[0, 1, 2])
    product = reduced @ taylor.T
    np.testing.assert_allclose(np.tril(product, -1), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(product), np.linalg.det(rows @ taylor.T), rtol=1e-11)


def test_blocks_do_not_change_the_answer():
    theta = np.random.default_rng(0).normal(size=(3, 5000, 2))
    assert np.array_equal(blocks(lambda x: x[0] - x[1], theta), theta[..., 0] - theta[..., 1])
    assert blocks(lambda x: x[0], np.empty((0, 4, 2))).shape == (0, 4)
