import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from heatgp import (
    ComplexProjective,
    Euclidean,
    GPRegressor,
    Grassmann,
    Hyperbolic,
    Product,
    SpecialEuclidean,
    SpecialOrthogonal,
    Sphere,
    heat_kernel,
    points,
)
from heatgp.errors import InvalidInput, OffManifold
from heatgp.points import (
    RIGID_MOTIONS,
    landmarks_to_shape,
    latlon_to_sphere,
    matrix_to_quaternion,
    matrix_to_rotation,
    matrix_to_rotation_vector,
    matrix_to_subspace,
    product_to_rigid,
    product_to_spd,
    quaternion_to_matrix,
    rigid_to_product,
    rotation_to_matrix,
    rotation_vector_to_matrix,
    shape_to_landmarks,
    spd_manifold,
    spd_to_product,
    sphere_to_latlon,
    subspace_to_projector,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def fails(message, function, *arguments, **options):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        function(*arguments, **options)


def test_latlon_distances_are_haversines(rng):
    lat, lon = rng.uniform(-90, 90, (2, 50)), rng.uniform(-180, 180, (2, 50))
    x, y = latlon_to_sphere(lat, lon)
    p, q = np.radians(lat)
    half = np.sin((p - q) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin(np.radians(lon[0] - lon[1]) / 2) ** 2
    np.testing.assert_allclose(Sphere(2).distance(x, y), 2 * np.arcsin(np.sqrt(half)), atol=1e-12)
    np.testing.assert_allclose(sphere_to_latlon(np.stack((x, y))), (lat, lon), atol=1e-10)


def test_latlon_rejects_swapped_arguments_and_nan():
    fails(
        "latitude[1] is 120.5 degrees, outside [-90, 90]. Pass degrees, latitude first.",
        latlon_to_sphere,
        [0, 120.5],
        0,
    )
    fails("longitude is 400.0 degrees, outside [-360, 360]", latlon_to_sphere, 0, 400)
    fails("latitude[2] is nan", latlon_to_sphere, [0, 1, np.nan], 0)
    fails("latitude must be numbers; its dtype is <U3.", latlon_to_sphere, ["12N"], 0)


@pytest.mark.parametrize("batch", [(), (0,), (7,), (2, 3)])
def test_rotations_agree_with_scipy_and_return(rng, batch):
    rotation = Rotation.from_rotvec(rng.standard_normal((*batch, 3)).reshape(-1, 3))
    x = rotation.as_matrix().reshape(*batch, 3, 3)
    q = rotation.as_quat().reshape(*batch, 4)
    np.testing.assert_allclose(quaternion_to_matrix(q), x, atol=1e-14)
    np.testing.assert_allclose(quaternion_to_matrix(-q[..., [3, 0, 1, 2]], scalar_first=True), x, atol=1e-14)
    for scalar_first in (False, True):
        back = quaternion_to_matrix(matrix_to_quaternion(x, scalar_first=scalar_first), scalar_first=scalar_first)
        np.testing.assert_allclose(back, x, atol=1e-14)
        assert (matrix_to_quaternion(x, scalar_first=scalar_first)[..., 0 if scalar_first else 3] >= 0).all()
    vector = matrix_to_rotation_vector(x)
    np.testing.assert_allclose(rotation_vector_to_matrix(vector), x, atol=1e-14)
    np.testing.assert_allclose(SpecialOrthogonal(3).distance(np.eye(3), x), np.linalg.norm(vector, axis=-1), atol=1e-12)


def test_scipy_rotations_pass_both_ways(rng):
    rotation = Rotation.from_rotvec(rng.standard_normal((4, 3)))
    x = rotation_to_matrix(rotation)
    np.testing.assert_allclose(rotation_to_matrix(matrix_to_rotation(x)), x, atol=1e-15)
    assert rotation_to_matrix(rotation[0]).shape == (3, 3)
    fails("rotation is a ndarray, not a scipy Rotation", rotation_to_matrix, x)
    fails("Reshape to (-1, 3, 3)", matrix_to_rotation, x[None])


def test_rotations_reject_what_is_no_rotation():
    with pytest.raises(OffManifold, match=re.escape("quaternion[1] is not on Sphere(3): ||x| - 1| = 1.0e+00 > 1e-06")):
        quaternion_to_matrix([[0, 0, 0, 1], [0, 0, 0, 2]])
    with pytest.raises(OffManifold, match=re.escape("x[0] is not on SpecialOrthogonal(3)")):
        matrix_to_quaternion([np.diag([1, 1, -1])])


def test_rigid_motions_move_points_the_same_way(rng):
    rotation = SpecialOrthogonal(3).random(rng, 5)
    motion = np.tile(np.eye(4), (5, 1, 1))
    motion[:, :3, :3], motion[:, :3, 3] = rotation, rng.standard_normal((5, 3))
    x = rigid_to_product(motion)
    translation, turned = RIGID_MOTIONS.split(x)
    p = rng.standard_normal(3)
    np.testing.assert_allclose((motion @ np.append(p, 1))[:, :3], turned @ p + translation, atol=1e-14)
    np.testing.assert_array_equal(product_to_rigid(x), motion)
    np.testing.assert_array_equal(product_to_rigid(x[0]), motion[0])
    fails("motion[0] has a last row", rigid_to_product, motion.swapaxes(1, 2))
    fails("motion has shape (3, 4); it must have shape (..., 4, 4)", rigid_to_product, np.eye(4)[:3])
    fails("rotation part of motion is not on SpecialOrthogonal(3)", rigid_to_product, np.diag([2.0, 1, 1, 1]))


def test_rigid_motions_of_the_plane(rng):
    M = SpecialEuclidean(2)
    x = M.random(rng, 5)
    motion = product_to_rigid(x)
    assert motion.shape == (5, 3, 3)
    np.testing.assert_array_equal(rigid_to_product(motion), x)
    moved = motion @ np.array([1.0, 2.0, 1.0])
    translation, rotation = M.split(x)
    np.testing.assert_allclose(moved[:, :2], rotation @ [1.0, 2.0] + translation)
    fails("x has shape (7,); rows of rigid motions of R^n have n + n² numbers", product_to_rigid, np.zeros(7))
    fails("motion has shape (2, 2); it must have shape (..., 3, 3)", rigid_to_product, np.eye(2))


def test_distances_of_rigid_motions_do_not_change_with_the_frame_of_reference(rng):
    M = SpecialEuclidean(3)
    x, y, frame = product_to_rigid(M.random(rng, 3))
    assert Product(Euclidean(3), SpecialOrthogonal(3)) == M
    before, after = (M.distance(*map(rigid_to_product, pair)) for pair in ((x, y), (frame @ x, frame @ y)))
    assert after == pytest.approx(before)
    with pytest.raises(InvalidInput, match="needs an integer n >= 2; got n = 1"):
        SpecialEuclidean(1)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_a_subspace_is_that_of_the_columns(rng, field):
    A = rng.standard_normal((6, 5, 2)) + (1j * rng.standard_normal((6, 5, 2)) if field == "complex" else 0)
    M = Grassmann(5, 2, field)
    x = matrix_to_subspace(A)
    assert M.defect(x).max() < 1e-14
    np.testing.assert_allclose(subspace_to_projector(x) @ A, A, atol=1e-13)  # the columns lie in it
    mixed = A @ np.array([[1.0, 2], [3, -1]])
    assert M.distance(x, matrix_to_subspace(mixed)).max() < 1e-7
    assert M.distance(x, matrix_to_subspace(subspace_to_projector(x) + 0, 2)).max() < 1e-7


def test_the_leading_subspace_is_the_principal_one(rng):
    samples = rng.standard_normal((5, 200)) * np.array([3.0, 0.5, 2.0, 0.1, 0.2])[:, None]
    _, v = np.linalg.eigh(samples @ samples.T)
    assert Grassmann(5, 2).distance(matrix_to_subspace(samples, 2), v[:, -2:]) < 1e-7


def test_subspaces_reject_deficient_rank():
    A = np.array([[1.0, 1], [0, 0], [0, 0]])
    fails(
        "A[1] has rank below 2: singular value 2 is 0.0e+00, under 1e-10 of the largest",
        matrix_to_subspace,
        [np.eye(3)[:, :2], A],
    )
    fails("A has rank below 1", matrix_to_subspace, np.zeros((3, 1)))
    fails("A has singular values 1 and 2 closer than 1e-10 of the largest", matrix_to_subspace, np.eye(3)[:, :2], 1)
    fails("1 <= k <= 2, got k = 3", matrix_to_subspace, np.eye(3))
    fails("A has shape (3,)", matrix_to_subspace, np.ones(3))
    fails("x[1] is not on Grassmann(3, 1)", subspace_to_projector, [[[1], [0], [0]], [[1], [1], [0]]])


@pytest.mark.parametrize("contrast", ["helmert", "first"])
def test_shapes_forget_place_size_and_rotation(rng, contrast):
    z = rng.standard_normal((5, 6)) + 1j * rng.standard_normal((5, 6))
    moved = z * (3 * np.exp(1j * rng.uniform(0, 6, (5, 1)))) + (2 - 1j)
    M = ComplexProjective(4)
    x, y = landmarks_to_shape(z, contrast), landmarks_to_shape(moved, contrast)
    assert M.distance(x, y).max() < 1e-12
    np.testing.assert_array_equal(landmarks_to_shape(np.stack((z.real, z.imag), axis=-1), contrast), x)
    assert M.distance(landmarks_to_shape(shape_to_landmarks(x, contrast), contrast), x).max() < 1e-12
    assert M.distance(x, landmarks_to_shape(z.conj(), contrast)).min() > 0.01  # a mirror image is another shape


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e308])
def test_shapes_do_not_depend_on_the_unit_of_landmarks(size):
    flat = np.array([[0.1, -0.9], [1, 0.5], [-0.3, 0.7], [0.6, 0.2]])
    np.testing.assert_allclose(landmarks_to_shape(size * flat), landmarks_to_shape(flat), atol=1e-12)
    fails("landmarks coincide: their size is ", landmarks_to_shape, np.full((4, 2), size))


def test_helmert_distance_is_the_procrustes_distance(rng):
    z, w = rng.standard_normal((2, 7)) + 1j * rng.standard_normal((2, 7))
    z, w = z - z.mean(), w - w.mean()
    rest = np.linalg.lstsq(w[:, None], z, rcond=None)[1][0] / np.linalg.norm(z) ** 2  # best turn and scale of w
    rho = ComplexProjective(5).distance(landmarks_to_shape(z), landmarks_to_shape(w))
    np.testing.assert_allclose(np.sin(rho) ** 2, rest, rtol=1e-12)
    back = shape_to_landmarks(landmarks_to_shape(z))
    np.testing.assert_allclose((abs(back.sum()), np.linalg.norm(back)), (0, 1), atol=1e-14)


def test_the_first_contrast_is_the_papers():
    z = np.array([1 + 1j, 2, 3j, 4 - 1j])
    expected = np.array([z[1] - z[0], z[2] - z[0], z[3] - z[0]])
    np.testing.assert_allclose(landmarks_to_shape(z, "first"), expected / np.linalg.norm(expected))


def test_landmarks_reject_what_has_no_shape():
    fails("landmarks[1] coincide: their size is 0.0e+00", landmarks_to_shape, [[0, 1, 1j], [2j, 2j, 2j]])
    fails("there are 2 landmarks per row; a shape needs k >= 3", landmarks_to_shape, [1j, 2])
    fails("(..., k, 2) if real, (..., k) if complex", landmarks_to_shape, np.ones((4, 3)))
    fails("contrast must be 'helmert' or 'first'; got 'mean'", landmarks_to_shape, [0, 1, 1j], "mean")
    fails("x is not on ComplexProjective(1)", shape_to_landmarks, [1, 1])


def tensors(rng, *batch):
    v = SpecialOrthogonal(3).random(rng, int(np.prod(batch)))
    values = np.sort(rng.uniform(0.1, 3, (len(v), 3)))
    return ((v * values[:, None]) @ v.swapaxes(1, 2)).reshape(*batch, 3, 3)


@pytest.mark.parametrize("half_circle", [True, False])
@pytest.mark.parametrize("log", [True, False])
def test_tensors_return_from_the_product(rng, half_circle, log):
    A = tensors(rng, 4, 5)
    x = spd_to_product(A, half_circle=half_circle, log=log)
    assert x.shape == (4, 5, *spd_manifold(half_circle=half_circle).shape)
    assert spd_manifold(half_circle=half_circle).defect(x).max() < 1e-12
    np.testing.assert_allclose(product_to_spd(x, half_circle=half_circle, log=log), A, atol=1e-12)
    np.testing.assert_allclose(product_to_spd(x[0, 0], half_circle=half_circle, log=log), A[0, 0], atol=1e-12)


def test_the_angle_is_the_papers(rng):
    """The paper's definition with numpy's QR, up to the half turn that the signs of the eigenvectors leave open."""
    for A in tensors(rng, 20):
        values, P = np.linalg.eigh(A)
        values, P = values[::-1], P[:, ::-1] * np.array([np.sign(P[0, -1]), 1, 1])
        P[:, 2] *= np.linalg.det(P)
        q, r = np.linalg.qr(np.column_stack((P[:, 0], np.eye(3)[:, 1:])))
        q = q * np.sign(np.diag(r))
        assert np.linalg.det(q) > 0
        turn = q[:, 1:].T @ P[:, 1:]
        v, angle, _ = spd_manifold(half_circle=False).split(spd_to_product(A, half_circle=False))
        np.testing.assert_allclose(v, P[:, 0], atol=1e-12)
        c, s = np.cos(angle[0]), np.sin(angle[0])
        paper = np.array([[c, s], [-s, c]])
        np.testing.assert_allclose(paper * np.sign(np.sum(paper * turn)), turn, atol=1e-10)


def test_the_half_circle_has_no_cut():
    """Two nearly equal tensors with angles at both ends of [-pi/2, pi/2) are neighbours on the half circle only."""
    half, whole = spd_manifold(), spd_manifold(half_circle=False)
    x = np.array([[1, 0, 0, np.pi / 2 - 1e-3, 3, 2, 1], [1, 0, 0, -np.pi / 2 + 1e-3, 3, 2, 1]])
    A = product_to_spd(x, half_circle=False)
    assert np.abs(A[0] - A[1]).max() < 3e-3
    near = half.distance(*spd_to_product(A))
    far = whole.distance(*spd_to_product(A, half_circle=False))
    np.testing.assert_allclose((near, far), (2e-3, np.pi - 2e-3), atol=1e-12)


def test_tensors_reject_what_is_not_in_the_chart():
    good = np.diag([3.0, 2, 1])
    fails("A[1] has a repeated eigenvalue: relative gap 0.0e+00 <= 1e-08", spd_to_product, [good, np.diag([3.0, 1, 1])])
    fails(
        "A[0, 1] has v1 in span(e2, e3): |first coordinate| = 0.0e+00", spd_to_product, [[good, np.diag([1.0, 3, 2])]]
    )
    fails("A is not positive definite: its least eigenvalue is -1.0e+00 <= 0", spd_to_product, np.diag([3.0, 2, -1]))
    fails("A is not symmetric: |A - A'| = 1.0e+00", spd_to_product, good + np.eye(3, k=1))
    fails("A has shape (2, 2); it must have shape (..., 3, 3)", spd_to_product, np.eye(2))
    fails("A is complex", spd_to_product, good + 0j)
    fails("x has an eigenvalue -1.0e+00 <= 0. Work with log=True", product_to_spd, [1.0, 0, 0, 0, 3, 2, -1])
    fails(
        "x[1] has a direction with first coordinate -1.0e+00",
        product_to_spd,
        [[1.0, 0, 0, 0, 3, 2, 1], [-1, 0, 0, 0, 3, 2, 1]],
    )


def test_pairs_of_landmarks_come_back_as_pairs(rng):
    """The same shape, as (k, 2) real numbers, or as complex numbers where asked for."""
    landmarks = rng.standard_normal((6, 5, 2))
    x = landmarks_to_shape(landmarks)
    for contrast in ("helmert", "first"):
        pairs = shape_to_landmarks(landmarks_to_shape(landmarks, contrast), contrast)
        assert (pairs.shape, pairs.dtype.kind) == (landmarks.shape, "f")
        assert ComplexProjective(3).distance(landmarks_to_shape(pairs), x).max() < 1e-7
    numbers = shape_to_landmarks(x, as_complex=True)
    np.testing.assert_array_equal(numbers, pairs_to_complex(shape_to_landmarks(x)))
    with pytest.raises(InvalidInput, match="as_complex must be True or False; got 'yes'"):
        shape_to_landmarks(x, as_complex="yes")


def pairs_to_complex(pairs):
    return pairs[..., 0] + 1j * pairs[..., 1]


RAW = {
    "latitudes and longitudes": (Sphere(2), (7, 2), "latlon_to_sphere(latitude, longitude)"),
    "quaternions": (SpecialOrthogonal(3), (7, 4), "quaternion_to_matrix"),
    "rotation vectors": (SpecialOrthogonal(3), (7, 3), "rotation_vector_to_matrix"),
    "landmarks": (ComplexProjective(3), (7, 5, 2), "landmarks_to_shape."),
    "landmarks in the order of R": (ComplexProjective(3), (5, 2, 7), "landmarks_to_shape(numpy.moveaxis(X, -1, 0))"),
    "rows of landmarks": (ComplexProjective(3), (7, 10), "landmarks_to_shape(X.reshape(-1, 5, 2))"),
    "other landmarks": (ComplexProjective(3), (7, 6, 2), "landmarks_to_shape to ComplexProjective(k - 2)"),
    "triangles": (ComplexProjective(1), (7, 3, 2), "landmarks_to_shape."),
    "landmarks in space": (Sphere(8), (7, 4, 3), "landmarks_to_preshape"),
    "ball": (Hyperbolic(2), (7, 2), "ball_to_hyperboloid"),
    "projectors": (Grassmann(5, 2), (7, 5, 5), "matrix_to_subspace(A, 2)"),
    "rigid motions": (SpecialEuclidean(3), (7, 4, 4), "rigid_to_product"),
    "landmarks, x before y": (ComplexProjective(3), (7, 2, 5), "landmarks_to_shape(numpy.swapaxes(X, -1, -2))"),
    "landmarks in space in the order of R": (Sphere(8), (4, 3, 7), "landmarks_to_preshape(numpy.moveaxis(X, -1, 0))"),
    "rows of landmarks in space": (Sphere(8), (7, 12), "landmarks_to_preshape(X.reshape(-1, 4, 3))"),
    "landmarks in space, by coordinates": (Sphere(8), (7, 3, 4), "landmarks_to_preshape(numpy.swapaxes(X, -1, -2))"),
    "latitudes, longitudes and years": (
        Product(Sphere(2), Euclidean(1)),
        (7, 3),
        "latlon_to_sphere(latitude, longitude). Then M.join",
    ),
    "positions and quaternions": (SpecialEuclidean(3), (7, 7), "quaternion_to_matrix. Then M.join"),
}


@pytest.mark.parametrize("M, shape, name", RAW.values(), ids=RAW)
def test_messages_name_the_converter(M, shape, name, rng):
    """In models, kernels and geometry."""
    raw = rng.uniform(-0.5, 0.5, shape)
    calls = [lambda: GPRegressor(M).fit(raw, np.arange(7.0)), lambda: heat_kernel(M)(raw, time=0.1)]
    X = M.random(rng, 7)
    gp = GPRegressor(M, time=0.1, amplitude=1.0, noise=0.1).fit(X, np.arange(7.0))
    calls.append(lambda: gp.predict(raw))
    for call in [*calls, lambda: M.exp(raw, raw)]:
        with pytest.raises(InvalidInput, match=re.escape(f"heatgp.points.{name}")):
            call()


@pytest.mark.parametrize("kind", [kind for kind, (*_, name) in RAW.items() if not re.search("k - 2|join", name)])
def test_the_converter_that_is_named_works(kind, rng):
    """As it is written in the message: it makes seven points of the manifold."""
    M, shape, name = RAW[kind]
    X = A = rng.uniform(-0.5, 0.5, shape)
    if kind == "quaternions":
        X = X / np.linalg.norm(X, axis=-1, keepdims=True)
    if kind == "rigid motions":
        X = points.product_to_rigid(M.random(rng, 7))
    call = f"points.{name}" if "(" in name else f"points.{name.rstrip('.')}(X)"
    first, second = X.T[:2]
    given = {"points": points, "numpy": np, "X": X, "A": A, "latitude": first, "longitude": second}
    found = eval(call, given)
    assert found.shape == (7, *M.shape)
    assert M.defect(found).max() < 1e-12


def test_coordinates_whose_squares_overflow_are_refused():
    fails("h[0, 0] is 1.0e+300, whose square leaves floating point", points.half_space_to_hyperboloid, [[1e300, 1.0]])
    fails("h[0] has the height 1.0e-310, so far", points.half_space_to_hyperboloid, [[0.0, 1e-310]])


def test_one_point_is_named_where_it_is_one():
    with pytest.raises(InvalidInput, match=re.escape("of SpecialOrthogonal(3). One point alone is X[None].")):
        GPRegressor(SpecialOrthogonal(3)).fit(np.eye(3), [0.0])
    with pytest.raises(InvalidInput, match=r"rows of 16 numbers of SpecialOrthogonal\(4\)\.$"):
        GPRegressor(SpecialOrthogonal(4)).fit(np.zeros((7, 4)), np.zeros(7))


def test_right_and_unrelated_shapes_name_no_converter():
    for M in (
        Sphere(2),
        SpecialOrthogonal(3),
        SpecialOrthogonal(4),
        ComplexProjective(3),
        Grassmann(5, 2),
        Hyperbolic(2),
    ):
        assert M.converter((7, *M.shape)) == M.converter((7, 11)) == M.converter(()) == ""


def test_landmarks_in_the_order_of_r_name_the_remedy(rng):
    landmarks = rng.standard_normal((7, 5, 2))
    fails("Pass numpy.moveaxis(landmarks, -1, 0)", landmarks_to_shape, np.moveaxis(landmarks, 0, -1))
    fails("numpy.swapaxes(landmarks, -1, -2) for (N, 2, k)", landmarks_to_shape, np.swapaxes(landmarks, 1, 2))
    fails("Pass numpy.moveaxis(landmarks, -1, 0)", landmarks_to_shape, np.moveaxis(landmarks[:2], 0, -1))
    solid = rng.standard_normal((7, 5, 3))
    fails("numpy.moveaxis(landmarks, -1, 0) for (k, 3, N)", points.landmarks_to_preshape, np.moveaxis(solid, 0, -1))
    np.testing.assert_array_equal(
        landmarks_to_shape(np.moveaxis(np.moveaxis(landmarks, 0, -1), -1, 0)), landmarks_to_shape(landmarks)
    )
