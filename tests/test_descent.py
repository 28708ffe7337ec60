"""Minima on manifolds: against eigenvalues, singular values, closed means, and SciPy's minima in a box."""

import numpy as np
import pytest
from scipy.optimize import minimize

from heatgp import (
    SPD,
    Domain,
    Euclidean,
    Grassmann,
    HermitianPD,
    Hyperbolic,
    Product,
    SpecialOrthogonal,
    Sphere,
    Stiefel,
)
from heatgp.array import hermitian
from heatgp.errors import InvalidInput, OffManifold
from heatgp.optimize.descent import descend


def test_rayleigh_quotient(rng):
    """Its minimum on a sphere is the least eigenvalue, and it has no other local minima."""
    M, A = Sphere(9), hermitian(rng.standard_normal((10, 10)))
    found = descend(M, lambda x: (np.einsum("ni,ij,nj->n", x, A, x), M.gradient(x, 2 * x @ A)), M.random(rng, 8))
    assert found.iterations < 100
    assert found.gradient_norms.max() < 1e-6
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A)[0], atol=1e-11)
    assert M.defect(found.x).max() < 1e-14


@pytest.mark.parametrize("n", [3, 5])
def test_procrustes(n, rng):
    """The rotation nearest to A = U S V' is U diag(1, .., 1, det UV') V'; Umeyama (1991), IEEE PAMI 13, 376-380."""
    M, A = SpecialOrthogonal(n), rng.standard_normal((n, n))
    found = descend(
        M,
        lambda x: (-np.einsum("nij,ij->n", x, A), M.gradient(x, np.broadcast_to(-A, x.shape))),
        M.random(rng, 8),
    )
    U, _, V = np.linalg.svd(A)
    nearest = U @ np.diag([1.0] * (n - 1) + [np.linalg.det(U @ V)]) @ V
    assert found.iterations < 100
    assert found.gradient_norms.max() < 1e-6
    np.testing.assert_allclose(found.x[found.values.argmin()], nearest, atol=1e-6)


@pytest.mark.parametrize("M", [Grassmann(6, 2), Stiefel(6, 2), Grassmann(6, 2, "complex")], ids=repr)
def test_least_eigenspace(M, rng):
    """The trace of x* A x is least, the sum of the two least eigenvalues, where x spans their space."""
    A = hermitian(rng.standard_normal((6, 6)) + (1j * rng.standard_normal((6, 6)) if M.is_complex else 0))

    def trace(x):
        return np.einsum("nji,jk,nki->n", x.conj(), A, x).real, M.gradient(x, 2 * A @ x)

    found = descend(M, trace, M.random(rng, 6))
    assert found.iterations < 100
    assert found.gradient_norms.max() < 1e-6
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A)[:2].sum(), atol=1e-11)


def geometric_mean(a, b):
    """a (a⁻¹b)^½, the middle of the geodesic from a to b; Bhatia (2007), Positive Definite Matrices, ch. 4."""
    values, vectors = np.linalg.eig(np.linalg.solve(a, b))
    return a @ (vectors * np.sqrt(values)) @ np.linalg.inv(vectors)


@pytest.mark.parametrize("M", [SPD(3), HermitianPD(2), Hyperbolic(4)], ids=repr)
def test_mean_of_two_points(M, rng):
    """The mean of two points is the middle of their geodesic."""
    Y = M.random(rng, 2)
    if isinstance(M, Hyperbolic):
        middle = Y.sum(axis=0)
        middle /= np.sqrt(middle[0] ** 2 - (middle[1:] ** 2).sum())
    else:
        middle = geometric_mean(*Y)

    def spread(x):
        ways = M.log(x[:, None], Y)
        return M.metric(x[:, None], ways, ways).sum(axis=1) / 2, -ways.sum(axis=1)

    found = descend(M, spread, M.random(rng, 4))
    assert found.iterations < 100
    assert found.gradient_norms.max() < 1e-6
    np.testing.assert_allclose(found.x, np.broadcast_to(middle, found.x.shape), atol=1e-6)


def test_box(rng):
    """A convex quadratic form of the translation in a box, and a distance of the rotation: SciPy's L-BFGS-B has it."""
    M = Product(SpecialOrthogonal(3), Euclidean(4))
    target, C = M.random(rng, 1)[0], rng.standard_normal((4, 4))
    C, center = C @ C.T + 0.1 * np.eye(4), np.array([3.0, 0.2, -2.0, 0.1])

    def function(x):
        d = x[:, 9:] - center
        value = np.einsum("ni,ij,nj->n", d, C, d) / 2 - x[:, :9] @ target[:9]
        return value, M.gradient(x, np.hstack([np.broadcast_to(-target[:9], (len(x), 9)), d @ C]))

    bounds = np.stack([np.r_[np.full(9, -np.inf), -1, -1, -1, -np.inf], np.r_[np.full(9, np.inf), 1, 1, 1, 1]])
    found = descend(M, function, M.random(rng, 10), bounds=bounds, steps=200)
    best = minimize(
        lambda z: ((z - center) @ C @ (z - center) / 2, C @ (z - center)),
        np.zeros(4),
        jac=True,
        bounds=bounds[:, 9:].T,
        options={"gtol": 1e-10, "ftol": 1e-15},
    )
    assert found.gradient_norms.max() < 1e-6
    np.testing.assert_allclose(found.values, best.fun - 3, atol=1e-9)
    np.testing.assert_allclose(found.x[:, 9:], np.broadcast_to(best.x, (10, 4)), atol=1e-5)
    assert (np.abs(best.x[:3]) == 1).any()  # the box matters
    assert (found.x[:, 9:] >= bounds[0, 9:]).all()
    assert (found.x[:, 9:] <= bounds[1, 9:]).all()


def test_a_coordinate_that_is_held(rng):
    """Equal bounds fix a coordinate."""
    found = descend(
        Euclidean(2), lambda x: ((x**2).sum(axis=1), 2 * x), rng.standard_normal((3, 2)), bounds=[[1, -9], [1, 9]]
    )
    np.testing.assert_allclose(found.x, [[1.0, 0.0]] * 3, atol=1e-6)


def test_domain(rng):
    """A descent stays in a domain and comes close to a minimum on its boundary."""
    M = Domain(Euclidean(2), lambda x: 1 - (x**2).sum(-1), bounds=[(-1, 1), (-1, 1)])
    found = descend(M, lambda x: (x[:, 0] + x[:, 1] / 2, np.broadcast_to([1.0, 0.5], x.shape)), M.random(rng, 4))
    assert M.contains(found.x).all()
    assert found.values.min() < -0.99 * np.sqrt(1.25)


def test_each_start_is_on_its_own(rng):
    """Descents do not depend on what else is computed beside them, and end by themselves."""
    M, A = Sphere(4), hermitian(rng.standard_normal((5, 5)))
    asked = []

    def function(x):
        asked.append(len(x))
        return np.einsum("ni,ij,nj->n", x, A, x), M.gradient(x, 2 * x @ A)

    starts = np.concatenate([np.linalg.eigh(A)[1][:, :1].T, M.random(rng, 3)])
    together = descend(M, function, starts)
    assert max(asked[1:]) == 3  # the first one is at a minimum and is left alone
    alone = np.concatenate([descend(M, function, start[None]).x for start in starts])
    np.testing.assert_allclose(together.x, alone, atol=1e-9)
    assert descend(M, function, starts[:0]).x.shape == (0, 5)
    assert descend(M, function, starts, steps=2).iterations == 2
    assert descend(M, function, starts, stop=lambda: True).iterations == 0


def test_values_that_are_not_finite_bar_the_way(rng):
    M = Euclidean(1)

    def function(x):
        return np.where(x[:, 0] > 0.5, x[:, 0], np.nan), np.ones_like(x)

    found = descend(M, function, np.array([[3.0], [0.0]]))
    assert 0.5 < found.x[0, 0] < 0.51
    assert found.x[1, 0] == 0.0
    assert np.isnan(found.values[1])


@pytest.mark.parametrize(("low", "slope"), [(np.nan, 1.0), (-np.inf, 1.0), (0.0, np.nan), (0.0, np.inf)], ids=str)
def test_no_descent_ends_where_something_is_not_finite(low, slope):
    """Below 0.5 a value or a slope is nan or infinite."""

    def function(x):
        above = x > 0.5
        return np.where(above, x, low)[:, 0], np.where(above, 1.0, slope)

    found = descend(Euclidean(1), function, np.array([[3.0]]))
    assert 0.5 < found.x[0, 0] < 0.51
    assert found.values[0] == found.x[0, 0]
    assert found.gradient_norms[0] == 1


POINTS = np.array([[1.0, 0, 0], [0, 0.6, -0.8]])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "function must be a function; got 3"),
        (lambda x: x[:, 2], r"function returned one result, .*; needed are two arrays, values \(n,\) and gradients"),
        (lambda x: None, "function returned one result, None; needed are two arrays"),
        (lambda x: (x[:, 2], x, x), "function returned 3 results; needed are two"),
        (lambda x: (x, x), r"values of shape \(2, 3\) and gradients of shape \(2, 3\) for points of shape \(2, 3\)"),
        (lambda x: (x[:, 2], x[0]), r"values of shape \(2,\) and gradients of shape \(3,\)"),
        (lambda x: (1.0, x), r"values of shape \(\) and gradients"),
        (lambda x: (x[:, 2], 1j * x), "gradients of dtype complex128; values are real"),
        (lambda x: ("low", x), "the array of values must be numbers"),
        (lambda x: (x[:, 2] * np.nan, x), r"no finite value at any of the 2 start\(s\); at starts\[0\] it is nan"),
        (lambda x: (x[:, 2] + np.inf, x), r"no finite value at any of the 2 start\(s\); at starts\[0\] it is inf"),
        (lambda x: (x[:, 2], x * [[1], [np.nan]]), r"gradient at starts\[1\] is not finite, though the value is"),
        (
            lambda x: (x[:, 2], np.broadcast_to([0, 0, 1.0], x.shape)),
            r"gradient at starts\[1\] is not tangent to Sphere\(2\): its normal part is 8.0e-01 of it > 0.001. "
            r"manifold.gradient\(x, slope\) makes tangent vectors",
        ),
    ],
)
def test_functions_that_return_something_else(function, message):
    with pytest.raises(InvalidInput, match=message):
        descend(Sphere(2), function, POINTS)


@pytest.mark.parametrize("answer", [np.zeros(2, bool), None, 1, "no"])
def test_a_stop_that_returns_something_else(answer):
    with pytest.raises(InvalidInput, match="the value that stop returns must be True or False"):
        descend(
            Sphere(2), lambda x: (x[:, 2], Sphere(2).gradient(x, np.eye(3)[2] + 0 * x)), POINTS, stop=lambda: answer
        )


def test_shapes_that_change_on_the_way():
    """The first call is right; a later one, for fewer points, is not."""
    calls = []

    def function(x):
        calls.append(x)
        values, slopes = x[:, 2], Sphere(2).gradient(x, np.broadcast_to([0, 0, 1.0], x.shape))
        return (values, slopes) if len(calls) == 1 else (values[:1], slopes)

    with pytest.raises(InvalidInput, match=r"values of shape \(1,\) and gradients of shape \(2, 3\)"):
        descend(Sphere(2), function, POINTS)


def test_gradients_in_single_precision_and_starts_at_a_minimum():
    """Rounding is not a normal part: neither that of single precision nor that of a gradient of zero."""

    def function(x):
        slopes = 1e4 * Sphere(2).gradient(x, np.broadcast_to([0, 0, 1.0], x.shape))
        return 1e4 * x[:, 2], slopes.astype(np.float32)

    found = descend(Sphere(2), function, np.array([[0, 0, -1.0], [0.6, 0, -0.8], [1e-9, 0, -1.0]]))
    np.testing.assert_allclose(found.values, -1e4, rtol=1e-9)


def test_wrong_input(rng):
    M, P = Sphere(2), Product(Sphere(2), Euclidean(1))

    def function(x):
        raise AssertionError("must be refused before any work")

    for wrong in (None, Sphere, "Sphere(2)"):
        with pytest.raises(InvalidInput, match=r"descend needs a manifold, such as Sphere\(2\); got "):
            descend(wrong, function, POINTS)
    with pytest.raises(InvalidInput, match="value_tolerance must be 0 or positive; got -1"):
        descend(M, function, POINTS, value_tolerance=-1)
    with pytest.raises(OffManifold, match=r"starts\[1\] is not on Sphere\(2\)"):
        descend(M, function, [[1.0, 0, 0], [1.0, 1.0, 0]])
    with pytest.raises(InvalidInput, match=r"starts have shape \(3,\); needed is \(n, 3\)"):
        descend(M, function, [1.0, 0, 0])
    for bounds in ([[0.0], [1.0]], [[1.0] * 4, [0.0] * 4], [[np.nan] * 4, [1.0] * 4]):
        with pytest.raises(InvalidInput, match=r"bounds must be real numbers of shape \(2, 4\)"):
            descend(P, function, P.random(rng, 1), bounds=bounds)
    with pytest.raises(InvalidInput, match=r"coordinate 0 of .* not Euclidean there. Give -inf and inf"):
        descend(P, function, P.random(rng, 1), bounds=[[0.0] * 4, [1.0] * 4])
    with pytest.raises(InvalidInput, match="stop must be a function; got True"):
        descend(M, function, M.random(rng, 1), stop=True)
    with pytest.raises(OffManifold, match=r"starts\[0\] is not finite"):
        descend(M, function, [[np.nan, 0, 0]])
    with pytest.raises(InvalidInput, match="steps"):
        descend(M, function, M.random(rng, 1), steps=-1)
    for name in ("tolerance", "value_tolerance"):
        with pytest.raises(InvalidInput, match=f"^{name} must be a finite number; got 'small'"):
            descend(M, function, M.random(rng, 1), **{name: "small"})


def test_whole_numbers_as_gradients():
    """A type of the first gradients that holds no fractions does not round later ones."""
    found = descend(
        Euclidean(1),
        lambda x: (np.cosh(x[:, 0]), np.sinh(x) if (x % 1).any() else np.array([[4]])),
        np.array([[2.0]]),
    )
    assert found.gradient_norms[0] < 1e-6
    assert abs(found.x[0, 0]) < 1e-6
