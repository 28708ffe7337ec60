"""Every property of every manifold of the catalog."""

import numpy as np
import pytest

import heatgp
from catalog import CATALOG, EUCLIDEAN, FLAT, POSITIVE_DEFINITE, QUOTIENTS
from heatgp.array import white_noise
from heatgp.testing import check_manifold


@pytest.mark.parametrize("manifold", CATALOG, ids=repr)
def test_properties(manifold):
    assert check_manifold(manifold) == []


@pytest.mark.parametrize("manifold", CATALOG, ids=repr)
def test_single_precision_stays_single(manifold, rng):
    single = np.complex64 if manifold.is_complex else np.float32
    x = manifold.random(rng, 4)
    z = white_noise(rng, x.shape, manifold.is_complex).astype(single)
    white = rng.standard_normal((4, *manifold.step_shape)).astype(np.float32)
    x = x.astype(single)
    v = manifold.noise(x, z)
    for y in (v, manifold.exp(x, v), manifold.step(x, white, 0.1), manifold.polish(x)):
        assert y.dtype == single


@pytest.mark.parametrize("manifold", [m for m in CATALOG if m not in QUOTIENTS], ids=repr)
def test_repr_is_the_constructor_call(manifold):
    same = eval(repr(manifold), {name: getattr(heatgp, name) for name in heatgp.__all__})
    assert same == manifold
    assert hash(same) == hash(manifold)


@pytest.mark.parametrize("manifold", CATALOG, ids=repr)
def test_polish_squares_the_defect(manifold, rng):
    x = manifold.random(rng, 5)
    rough = x + 1e-5 * rng.standard_normal(x.shape)
    assert np.max(manifold.defect(manifold.polish(rough))) < 1e-8


@pytest.mark.parametrize("manifold", CATALOG, ids=repr)
def test_defect_sees_what_is_not_a_point(manifold, rng):
    """Twice a point is off by something of order one, unless every array or multiple is a point."""
    flat = manifold in FLAT + EUCLIDEAN + POSITIVE_DEFINITE or getattr(manifold, "cover", None) in FLAT
    if manifold in POSITIVE_DEFINITE:
        assert (manifold.defect(-manifold.random(rng, 3)) >= 1).all()
    assert flat == bool((manifold.defect(2 * manifold.random(rng, 3)) < 0.5).all())
