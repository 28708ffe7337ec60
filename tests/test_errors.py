"""What bad input says: the object, the value, the limit and the remedy."""

import re

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import (
    AccuracyWarning,
    HeatGPError,
    InvalidInput,
    NotConverged,
    NotPositiveDefinite,
    OffManifold,
    Unsupported,
)
from heatgp.manifolds import Manifold
from heatgp.manifolds.checks import check_points


def same(x):
    return x


CONSTRUCTORS = [
    (lambda: hg.Sphere(0), "Sphere needs an integer dim >= 1; got dim = 0."),
    (lambda: hg.Sphere(2.0), "Sphere needs an integer dim >= 1; got dim = 2.0."),
    (lambda: hg.Sphere(True), "Sphere needs an integer dim >= 1; got dim = True."),
    (lambda: hg.Euclidean(-1), "Euclidean needs an integer n >= 1; got n = -1."),
    (lambda: hg.Hyperbolic(1), "Hyperbolic needs an integer n >= 2; got n = 1."),
    (lambda: hg.SPD(1), "SPD needs an integer n >= 2; got n = 1."),
    (lambda: hg.HermitianPD(2.5), "HermitianPD needs an integer n >= 2; got n = 2.5."),
    (
        lambda: hg.SPD(3, "euclidean"),
        "SPD needs a metric, one of 'affine-invariant', 'log-euclidean'; got metric = 'euclidean'.",
    ),
    (
        lambda: hg.Domain(hg.Hyperbolic(2), lambda x: x[..., 0] < 2),
        "Domain of Hyperbolic(2), whose volume is infinite, has no uniform points. Use a Chart with bounds.",
    ),
    (lambda: hg.RealProjective("2"), "RealProjective needs an integer dim >= 1; got dim = '2'."),
    (lambda: hg.ComplexProjective(0), "ComplexProjective needs an integer complex_dim >= 1; got complex_dim = 0."),
    (lambda: hg.SpecialOrthogonal(1), "SpecialOrthogonal needs an integer n >= 2; got n = 1."),
    (lambda: hg.Orthogonal(1), "Orthogonal needs an integer n >= 2; got n = 1."),
    (lambda: hg.Unitary(0), "Unitary needs an integer n >= 1; got n = 0."),
    (lambda: hg.SpecialUnitary(1), "SpecialUnitary needs an integer n >= 2; got n = 1."),
    (lambda: hg.Torus(None), "Torus needs an integer dim >= 1; got dim = None."),
    (
        lambda: hg.Grassmann(3, 4),
        "Grassmann needs 1 <= k <= n - 1; got n = 3, k = 4. The whole space is one point.",
    ),
    (lambda: hg.Grassmann(3, 0), "Grassmann needs an integer k >= 1; got k = 0."),
    (lambda: hg.Grassmann(3, 1, "quaternion"), "Grassmann needs field = 'real' or 'complex'; got 'quaternion'."),
    (lambda: hg.Stiefel(3, 3), "Stiefel needs 1 <= k <= n - 1; got n = 3, k = 3. Full frames are Orthogonal(n)."),
    (
        lambda: hg.Stiefel(3, 3, "complex"),
        "Stiefel needs 1 <= k <= n - 1; got n = 3, k = 3. Full frames are Unitary(n).",
    ),
    (
        lambda: hg.TorusKnot(4, 6),
        "TorusKnot needs coprime p and q, else the curve closes early; got p = 4, q = 6.",
    ),
    (lambda: hg.Product(), "Product needs one or more manifolds; got ()."),
    (lambda: hg.Product(hg.Sphere(2), 3), "Product needs one or more manifolds; got (Sphere(2), 3)."),
    (lambda: hg.Product(hg.Sphere(2)).join(1, 2), "Product(Sphere(2)) has 1 factors; join got 2 parts."),
    (lambda: hg.Scaled(hg.Sphere(2), 0), "Scaled needs a positive scale between 1e-50 and 1e+50; got 0."),
    (lambda: hg.Scaled(hg.Sphere(2), float("inf")), "Scaled needs a positive scale between 1e-50 and 1e+50; got inf."),
    (lambda: hg.Scaled(2, 1.0), "Scaled needs a manifold; got 2."),
    (lambda: hg.Quotient(2, (same,)), "Quotient needs a manifold and a tuple of functions; got 2."),
    (
        lambda: hg.Quotient(hg.Sphere(2), 5),
        "Quotient needs a non-empty tuple of functions of points to points; got 5.",
    ),
    (
        lambda: hg.Quotient(hg.Sphere(2), ()),
        "Quotient needs a non-empty tuple of functions of points to points; got ().",
    ),
    (
        lambda: hg.Quotient(hg.Sphere(2), (same, lambda x: x[..., :2])),
        "Quotient of Sphere(2): element 1 maps shape (3, 3) to (3, 2); it must keep the batch and the point.",
    ),
    (
        lambda: hg.Quotient(hg.Sphere(2), (same, lambda x: 2 * x)),
        "Quotient of Sphere(2): element 1 leaves the manifold (defect 1.0e+00 > 1e-06).",
    ),
    (
        lambda: hg.Quotient(hg.Torus(1), (same, lambda x: 2 * x)),
        "Quotient of Torus(1): element 1 changes distances by",
    ),
    (
        lambda: hg.Quotient(hg.Sphere(2), (lambda x: -x,)),
        "Quotient of Sphere(2): the product of two elements is not among them: pass the whole group, identity",
    ),
    (
        lambda: hg.Quotient(hg.Stiefel(7, 3), (lambda x: -x,)),
        "Quotient of Stiefel(7, 3): the product of two elements is not among them",
    ),
    (
        lambda: hg.Quotient(hg.Sphere(2), (same, same, lambda x: -x)),
        "Quotient of Sphere(2): products with element 0 repeat: pass each element of the group once.",
    ),
    (
        lambda: hg.Quotient(hg.Sphere(2), (same, np.abs)),  # folds the sphere: a local isometry, but no bijection
        "Quotient of Sphere(2): products with element 1 repeat",
    ),
]


@pytest.mark.parametrize("make, text", CONSTRUCTORS, ids=[text[:50] for _, text in CONSTRUCTORS])
def test_constructors(make, text):
    with pytest.raises(InvalidInput) as error:
        make()
    assert str(error.value).startswith(text)


X = hg.Sphere(2).random(np.random.default_rng(0), 5)
OFF = X * np.array([1, 1, 1, 1.03, 1])[:, None]
GAP = np.where(np.arange(5)[:, None] == 2, np.nan, X)
FRAME = np.eye(5)[:, :2]

POINTS = [
    (hg.Sphere(2), OFF, OffManifold, "X[3] is not on Sphere(2): ||x| - 1| = 3.0e-02 > 1e-06. Divide each point by"),
    (hg.Sphere(2), OFF[3], OffManifold, "X is not on Sphere(2): ||x| - 1| = 3.0e-02 > 1e-06."),
    (hg.Sphere(2), OFF[None], OffManifold, "X[0, 3] is not on Sphere(2)"),
    (hg.Sphere(2), GAP, OffManifold, "X[2] is not finite (NaN or infinity). Remove or impute it before the fit."),
    (
        hg.Hyperbolic(2),
        [[1.0, 0, 0], [2.0, 0, 0]],
        OffManifold,
        "X[1] is not on Hyperbolic(2): |√(x0² - x1² - .. - xn²) - 1| = 1.0e+00 > 1e-06. The first coordinate is the "
        "time-like one, x0 = √(1 + x1² + .. + xn²). For points of a ball or a half-space see heatgp.points.ball_to_",
    ),
    (hg.Hyperbolic(2), [1.0, 3.0, 0], OffManifold, "X is not on Hyperbolic(2)"),
    (hg.Hyperbolic(2), [-1.0, 0, 0], OffManifold, "X is not on Hyperbolic(2)"),
    (
        hg.SPD(2),
        [np.eye(2), np.diag([1.0, -1e-3])],
        OffManifold,
        "X[1] is not on SPD(2): |x - x*| / |x|, or 1 where an eigenvalue is not positive, = 1.0e+00 > 1e-06. "
        "Points are symmetric matrices, complex ones Hermitian, with positive eigenvalues. Covariances of "
        "too few data are singular: add a small multiple of the identity.",
    ),
    (hg.SPD(2, "log-euclidean"), np.ones((2, 2)), OffManifold, "X is not on SPD(2, 'log-euclidean')"),
    (hg.HermitianPD(2), np.array([[1.0, 0.1], [0.2, 1.0]]), OffManifold, "X is not on HermitianPD(2)"),
    (hg.Torus(2), np.full((3, 2), np.inf), OffManifold, "X[0] is not finite (NaN or infinity)."),
    (
        hg.Sphere(3),
        X,
        InvalidInput,
        "X has shape (5, 3); points of Sphere(3) have shape (4,), so X must have shape (..., 4).",
    ),
    (hg.SpecialOrthogonal(3), X[0], InvalidInput, "X has shape (3,); points of SpecialOrthogonal(3) have shape (3, 3)"),
    (hg.Sphere(2), 3.0, InvalidInput, "X has shape (); points of Sphere(2) have shape (3,)"),
    (
        hg.Sphere(2),
        X + 0j,
        InvalidInput,
        "X is complex, but the points of Sphere(2) are real. Pass X.real if the imaginary part is 0.",
    ),
    (hg.Sphere(2), X.astype(str), InvalidInput, "X must be a numeric array of points of Sphere(2); its dtype is <U"),
    (hg.Sphere(2), X > 0, InvalidInput, "X must be a numeric array of points of Sphere(2); its dtype is bool."),
    (hg.Sphere(2), [[None] * 3], InvalidInput, "X must be a numeric array of points of Sphere(2); its dtype is object"),
    (
        hg.Grassmann(5, 2),
        1.01 * FRAME,
        OffManifold,
        "X is not on Grassmann(5, 2): |x*x - I| = 2.0e-02 > 1e-06. Use M.project(x), the nearest point, for",
    ),
    (hg.Stiefel(5, 2), 1.01 * FRAME, OffManifold, "X is not on Stiefel(5, 2): |x*x - I| = 2.0e-02 > 1e-06."),
    (
        hg.SpecialOrthogonal(3),
        np.diag([1.0, 1, -1]),
        OffManifold,
        "X is not on SpecialOrthogonal(3): |x'x - I| or |det x - 1| = 2.0e+00 > 1e-06. Use M.project(x), the nearest",
    ),
    (
        hg.SpecialUnitary(2),
        1j * np.eye(2),
        OffManifold,
        "X is not on SpecialUnitary(2): |x*x - I| or |det x - 1| = 2.0e+00 > 1e-06.",
    ),
    (
        hg.Product(hg.Torus(1), hg.Sphere(2)),
        np.append(np.zeros((5, 1)), OFF, axis=1),
        OffManifold,
        "X[3] is not on Product(Torus(1), Sphere(2)): the largest defect of a factor = 3.0e-02 > 1e-06. Use M.pr",
    ),
]


@pytest.mark.parametrize("manifold, x, kind, text", POINTS, ids=[text[:50] for *_, text in POINTS])
def test_points(manifold, x, kind, text):
    with pytest.raises(kind) as error:
        check_points(manifold, x)
    assert str(error.value).startswith(text)


def test_good_points_pass():
    assert check_points(hg.Sphere(2), [1, 0, 0]).dtype == np.float64
    assert check_points(hg.ComplexProjective(1), [[1, 0], [0, 1]]).dtype == np.complex128
    single = X.astype(np.float32)
    assert check_points(hg.Sphere(2), single) is single
    assert check_points(hg.Sphere(2), X[:0]).shape == (0, 3)


def test_single_precision_has_a_wider_limit():
    single = (X * 1.001).astype(np.float32)
    with pytest.raises(OffManifold, match=re.escape("||x| - 1| = 1.0e-03 > 1e-04")):
        check_points(hg.Sphere(2), single)


class Bare(Manifold):
    """A manifold that offers only what is required, and does not do it."""

    shape = (1,)
    dim = 1

    def noise(self, x, z):
        raise NotImplementedError

    exp = random = defect = noise

    def __repr__(self):
        return "Bare()"


def test_optional_members_say_what_is_missing():
    bare = Bare()
    with pytest.raises(Unsupported, match=re.escape("Bare() has no distance in closed form. Use method='reference'")):
        bare.distance(0, 0)
    with pytest.raises(Unsupported, match=re.escape("Bare() does not know its volume. Define the property `volume`.")):
        _ = bare.volume
    with pytest.raises(Unsupported, match=re.escape("Bare() does not know its scalar curvature.")):
        _ = bare.scalar_curvature


def test_errors_are_also_the_builtin_ones():
    """Callers who know only Python's own errors catch them too."""
    for kind, builtin in (
        (InvalidInput, ValueError),
        (OffManifold, ValueError),
        (Unsupported, NotImplementedError),
        (NotConverged, RuntimeError),
        (NotPositiveDefinite, ValueError),
    ):
        assert issubclass(kind, builtin)
        assert issubclass(kind, HeatGPError)


def test_warnings_of_late_evaluations_point_at_the_line_of_the_user():
    """The ball on SO(4) simulates when it is asked, deep inside; the warning names this file."""
    M = hg.SpecialOrthogonal(4)
    kernel = hg.heat_kernel(M, "ball", paths=100, rng=0)
    with pytest.warns(AccuracyWarning) as given:
        kernel(M.random(np.random.default_rng(0), 2), time=0.05)
    assert {warning.filename for warning in given} == {__file__}
