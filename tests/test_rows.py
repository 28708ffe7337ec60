"""Points from batches, flattened rows and split complex numbers."""

import numpy as np
import pytest

from catalog import CATALOG
from heatgp import ComplexProjective, Grassmann, SpecialOrthogonal, Sphere
from heatgp.errors import InvalidInput, OffManifold
from heatgp.manifolds.composed.product import flatten
from heatgp.manifolds.rows import as_points


@pytest.mark.parametrize("M", CATALOG, ids=repr)
def test_every_layout_gives_the_same_points(M, rng):
    X = M.random(rng, 4)
    points = as_points(M, X)
    assert points.shape == X.shape
    np.testing.assert_allclose(points, X, atol=1e-12)
    np.testing.assert_array_equal(as_points(M, X.tolist()), points)
    np.testing.assert_array_equal(as_points(M, X.reshape(4, -1)), points)
    np.testing.assert_array_equal(as_points(M, flatten(M, X)), points)


def test_the_rounding_of_a_file_is_removed(rng):
    for M in (Sphere(2), SpecialOrthogonal(3), ComplexProjective(2)):
        X = M.random(rng, 20)
        assert M.defect(X.round(7)).max() > 1e-9
        assert M.defect(as_points(M, X.round(7))).max() < 1e-12
        single = as_points(M, X.astype(np.complex64 if M.is_complex else np.float32))
        assert single.real.dtype == np.float64
        assert M.defect(single).max() < 1e-12


def test_no_point_is_an_array_too():
    assert as_points(SpecialOrthogonal(3), np.empty((0, 9))).shape == (0, 3, 3)


@pytest.mark.parametrize(
    "M, X, message",
    [
        (Sphere(2), [0.0, 0.0, 1.0], r"X has shape \(3,\); needed are points \(N, 3\) of Sphere\(2\).*X\[None\]"),
        (Sphere(2), [[0.0, 1.0]], r"X has shape \(1, 2\); points of Sphere\(2\) have shape \(3,\)"),
        (Sphere(2), [["0", "0", "1"]], "X must be a numeric array of points of Sphere.* its dtype is <U1"),
        (Sphere(2), [[0.0, None, 1.0]], "its dtype is object"),
        (Sphere(2), [[0, 0, 1j]], "X is complex, but the points of .* are real"),
        (SpecialOrthogonal(3), np.eye(3), r"needed are points \(N, 3, 3\) or rows of 9 numbers of Special.*X\[None\]"),
        (Grassmann(4, 2, "complex"), np.eye(4)[:, :2], r"points \(N, 4, 2\) or rows of 16 numbers"),
    ],
)
def test_wrong_arrays_are_told_what_is_needed(M, X, message):
    with pytest.raises(InvalidInput, match=message):
        as_points(M, X)


def test_points_off_the_manifold_are_named():
    with pytest.raises(OffManifold, match=r"Z\[1\] is not on Sphere\(2\): .* = 1\.0e-01 > 1e-06\. Divide"):
        as_points(Sphere(2), [[0, 0, 1.0], [0, 0, 1.1]], "Z")
    with pytest.raises(OffManifold, match=r"X\[0\] is not finite"):
        as_points(Sphere(2), [[0, 0, np.nan]])
