"""No hopeless work: what cannot be done is refused at once, what is long says so, memory is asked for first."""

import time

import numpy as np
import pytest

import heatgp as hg
from heatgp import (
    Chart,
    Domain,
    Euclidean,
    Grassmann,
    Implicit,
    Orthogonal,
    Product,
    Quotient,
    Scaled,
    SpecialOrthogonal,
    SpecialUnitary,
    Sphere,
    Stiefel,
    Unitary,
)
from heatgp.errors import AccuracyWarning, Unsupported


def sphere_equation(x):
    return (x * x).sum(-1) - 1


def flat_metric(x):
    return np.broadcast_to(np.eye(10), (*x.shape[:-1], 10, 10))


def in_ball(x):
    return 1 - (x * x).sum(-1)


HOPELESS = [
    SpecialOrthogonal(9),
    SpecialOrthogonal(50),
    Orthogonal(30),
    Unitary(7),
    Unitary(40),
    SpecialUnitary(12),
    Grassmann(8, 4),
    Grassmann(12, 4),
    Grassmann(100, 50),
    Stiefel(8, 2),
    Stiefel(9, 2),
    Stiefel(10, 3),
    Stiefel(40, 3),
    Stiefel(7, 3, "complex"),
    Stiefel(100, 50, "complex"),
    Implicit(sphere_equation, 10, 11),
    Chart(flat_metric, 10, (1.0,) * 10),
    Domain(Euclidean(10), in_ball, ((-1, 1),) * 10),
    Product(Sphere(2), SpecialOrthogonal(50)),
    Product(Grassmann(12, 3), Grassmann(100, 50)),  # the first would be simulated for a minute
    Scaled(SpecialOrthogonal(9), 2.0),
    Quotient(SpecialOrthogonal(10), (lambda x: x, lambda x: -x)),
]
"""Manifolds that no method of the library resolves."""


def assert_refused(make, text):
    start = time.perf_counter()
    with pytest.raises(Unsupported, match=text):
        make()
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("manifold", HOPELESS, ids=repr)
def test_auto_refuses_at_once_what_reference_points_cannot_resolve(manifold):
    text = r"400 reference points on .* dimensions, resolve no time .* heatgp\.baselines\.baseline\('rbf'"
    assert_refused(lambda: hg.heat_kernel(manifold), text)
    assert_refused(lambda: hg.Auto().cost(manifold), text)


@pytest.mark.parametrize("manifold", [SpecialOrthogonal(9), Grassmann(8, 4), Stiefel(9, 2)], ids=repr)
def test_models_refuse_at_once_too(manifold, rng):
    X = manifold.random(rng, 5)
    assert_refused(lambda: hg.GPRegressor(manifold).fit(X, np.arange(5.0)), "resolve no time")


def test_the_baseline_that_the_refusal_names_works(rng):
    from heatgp.baselines import baseline

    X = SpecialOrthogonal(9).random(rng, 12)
    model = baseline("rbf", SpecialOrthogonal(9), "regression").fit(X, X[:, 0, 0])
    assert model.predict(X).shape == (12,)


@pytest.mark.parametrize(
    ("manifold", "text"),
    [
        (Sphere(6), r"that takes 1,675 of them\. Take references=1675 or more \(6698 without a warning\)"),
        (Sphere(8), r"that takes 31,561 of them"),
        (Sphere(20), r"more than a billion of them\. Use method='exact'"),
        (Grassmann(9, 3), r"Use method='smooth'"),
        (Stiefel(8, 2), r"Use method='fibre-average', with 23,040 terms for each pair of points, or an RBF"),
    ],
    ids=repr,
)
def test_reference_refuses_with_what_to_do_instead(manifold, text):
    assert_refused(lambda: hg.heat_kernel(manifold, "reference"), text)


def test_few_references_are_refused_or_warned_of_in_low_dimensions_too():
    assert_refused(lambda: hg.Reference(references=20, paths=80).kernel(Sphere(4)), "Take references=89 or more")
    with pytest.warns(AccuracyWarning, match=r"90 reference points on Sphere\(4\).* nearly constant.* references=356"):
        hg.Reference(references=90, paths=360).kernel(Sphere(4))
