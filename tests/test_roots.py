"""What the table of roots says, against the manifold that it describes."""

import numpy as np
import pytest

from catalog import CATALOG
from heatgp import Grassmann, SpecialUnitary, Sphere, Torus, TorusKnot, Unitary
from heatgp.manifolds import Symmetric

SYMMETRIC = [m for m in CATALOG if isinstance(m, Symmetric)]


@pytest.mark.parametrize("manifold", SYMMETRIC, ids=repr)
def test_shapes(manifold):
    roots = manifold.roots
    x, y = manifold.random(np.random.default_rng(0), 2)
    assert manifold.orbit(x, y).shape == (roots.coordinates,)
    assert len(manifold.chamber) == roots.coordinates
    assert roots.array.shape == (len(roots.multiplicity), roots.coordinates)
    assert roots.rho.shape == (roots.coordinates,)
    assert manifold.rank == roots.rank == len(roots.ricci)
    # A flat torus of dimension `rank` is orthogonal to one direction for each root, with multiplicity.
    assert manifold.dim == roots.rank + sum(roots.multiplicity)


@pytest.mark.parametrize("manifold", SYMMETRIC, ids=repr)
def test_closed_geodesics_close(manifold):
    """Orbit coordinates and half a generator more or less are equally far from the origin."""
    roots = manifold.roots
    for period in roots.generators:
        near, far = roots.length(0.51 * period), roots.length(0.49 * period)
        if roots.sum_zero:
            assert near == pytest.approx(far)
        assert roots.unit * np.linalg.norm(0.49 * period) == pytest.approx(far)
        assert (roots.sum_zero and abs(period.sum()) < 1e-12) or np.count_nonzero(period) == 1


@pytest.mark.parametrize("manifold", [m for m in SYMMETRIC if m.rank == 1], ids=repr)
def test_direction_has_unit_length(manifold):
    assert manifold.length(0.1 * manifold.roots.direction) == pytest.approx(0.1)


def test_completed_angles_of_su_have_sum_zero_and_lift_back():
    roots = SpecialUnitary(3).roots
    theta = roots.complete(np.random.default_rng(0).uniform(-np.pi, np.pi, (50, 2)))
    assert np.abs(theta.sum(axis=-1)).max() < 1e-14
    lifted = roots.lift(theta)
    assert np.abs(lifted.sum(axis=-1)).max() < 1e-14
    assert np.allclose(np.sort(np.cos(lifted), axis=-1), np.sort(np.cos(theta), axis=-1))
    assert np.all(np.linalg.norm(lifted, axis=-1) <= np.linalg.norm(theta, axis=-1) + 1e-12)


@pytest.mark.parametrize(
    ("manifold", "expected"),
    [(Sphere(3), 2.0), (Torus(2), 0.0), (TorusKnot(2, 3), 0.0), (Unitary(1), 0.0), (Unitary(2), None)],
)
def test_einstein_constant(manifold, expected):
    assert manifold.einstein_constant == (expected if expected is None else pytest.approx(expected))


def test_more_than_half_the_dimension_has_the_roots_of_the_complement():
    assert Grassmann(5, 3).roots == Grassmann(5, 2).roots
