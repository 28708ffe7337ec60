"""The isometry that carries a point to the origin keeps orbits, and carries the point there."""

import numpy as np
import pytest

from catalog import HOMOGENEOUS


@pytest.mark.parametrize("M", HOMOGENEOUS, ids=repr)
def test_pairs_keep_their_orbit(M, rng):
    x, y = M.random(rng, 5), M.random(rng, 5)
    moved = M.to_origin(x, y)
    assert np.max(M.defect(moved)) < 1e-12
    np.testing.assert_allclose(M.orbit(M.origin, moved), M.orbit(x, y), atol=1e-10)
    np.testing.assert_allclose(M.orbit(M.origin, M.to_origin(x, x)), M.orbit(x, x), atol=1e-7)
    at_origin = np.broadcast_to(M.origin, x.shape)
    np.testing.assert_allclose(M.orbit(M.origin, M.to_origin(at_origin, y)), M.orbit(at_origin, y), atol=1e-10)
