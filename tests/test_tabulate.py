"""The cubic table against the function it tabulates."""

import numpy as np

from heatgp.heat.special.cubic_table import CubicTable


def test_a_gaussian_to_rounding_and_a_constant_beyond():
    x = np.linspace(0, 9, CubicTable.INTERVALS + 1)
    table = CubicTable(9.0, np.exp(-(x**2) / 2), -x * np.exp(-(x**2) / 2), beyond=-1.0)
    y = np.random.default_rng(0).uniform(0, 9, (3, 20_000))
    np.testing.assert_allclose(table(y), np.exp(-(y**2) / 2), rtol=0, atol=2e-14)
    assert np.array_equal(table(np.array([9.1, 1e9])), [-1.0, -1.0])
    assert table(np.empty((0, 2))).shape == (0, 2)
