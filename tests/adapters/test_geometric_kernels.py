"""GeometricKernels: the same Gram matrices and posteriors at a converged truncation, and its interface for ours."""

import doctest
import subprocess
import sys

import numpy as np
import pytest
import torch

import heatgp as hg
from heatgp.adapters import geometric_kernels as adapter
from heatgp.adapters.geometric_kernels import from_geometric_kernels, manifold_of, to_geometric_kernels
from heatgp.adapters.gpytorch import HeatKernel as HeatKernelOfGPyTorch
from heatgp.adapters.sklearn import HeatKernel as HeatKernelOfSklearn
from heatgp.covariance import Normalized
from heatgp.errors import InvalidInput, OffManifold, Unsupported
from test_docs import ROOT, run

# The adapter is imported first: it imports these without their warnings.
from geometric_kernels.feature_maps import RandomPhaseFeatureMapNoncompact  # isort: skip
from geometric_kernels.kernels import (  # isort: skip
    MaternFeatureMapKernel,
    MaternGeometricKernel,
    ProductGeometricKernel,
)
from geometric_kernels.frontends.gpytorch import GPyTorchGeometricKernel  # isort: skip
from geometric_kernels.kernels.base import BaseGeometricKernel  # isort: skip
from geometric_kernels.spaces import (  # isort: skip
    Circle,
    Hyperbolic,
    HypercubeGraph,
    Hypersphere,
    ProductDiscreteSpectrumSpace,
    SpecialOrthogonal,
    SpecialUnitary,
    SymmetricPositiveDefiniteMatrices,
)


def parameters(length, nu=np.inf):
    return {"lengthscale": np.array([length]), "nu": np.array([nu])}


def correlations(manifold, X, time, smoothness=np.inf):
    kernel = hg.heat_kernel(manifold) if np.isinf(smoothness) else hg.matern_kernel(manifold, smoothness)
    return Normalized(kernel).pairs(X).at(time).value


CONVERGED = [
    (Hypersphere(2), 40, 0.5),
    (Hypersphere(3), 20, 0.7),
    (Circle(), 60, 0.5),
    (SpecialOrthogonal(3), 20, 0.7),
    (SpecialOrthogonal(5), 20, 2.0),
    (SpecialUnitary(2), 20, 1.0),
    (SpecialUnitary(3), 20, 1.6),
]


@pytest.mark.parametrize(("space", "levels", "length"), CONVERGED, ids=lambda value: str(value))
def test_heat_kernels_are_ours_at_the_square_of_the_length_scale(space, levels, length):
    manifold = manifold_of(space)
    X = np.asarray(manifold.random(np.random.default_rng(0), 8))
    theirs = MaternGeometricKernel(space, num=levels).K(parameters(length), X)
    assert np.ptp(theirs) > 0.01
    np.testing.assert_allclose(correlations(manifold, X, length**2), theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("space", "levels"), [(Hypersphere(2), 60), (Circle(), 400)], ids=str)
def test_matern_kernels_are_ours_of_the_same_smoothness(space, levels):
    """So smooth that the sum of so many levels has converged: their terms fall like a power."""
    manifold, length, nu = manifold_of(space), 0.7, 6.5
    X = np.asarray(manifold.random(np.random.default_rng(0), 8))
    theirs = MaternGeometricKernel(space, num=levels).K(parameters(length, nu), X)
    np.testing.assert_allclose(correlations(manifold, X, length**2, nu), theirs, rtol=0, atol=1e-8)


OLD_NUMPY = pytest.mark.filterwarnings("ignore:`in1d` is deprecated:DeprecationWarning")
"""Product spaces of GeometricKernels 1.0.1 call it."""


@OLD_NUMPY
def test_products():
    """A kernel of a product space, and a product of kernels with a length scale for each factor."""
    rng = np.random.default_rng(0)
    manifold = hg.Product(hg.Sphere(2), hg.Torus(1))
    X = manifold.random(rng, 8)
    one, other = Hypersphere(2), Circle()
    product = ProductGeometricKernel(MaternGeometricKernel(one, num=25), MaternGeometricKernel(other, num=25))
    kernel = from_geometric_kernels(product)
    assert kernel.manifold == manifold
    own = hg.heat_kernel(manifold).with_times("each")
    theirs = product.K({"lengthscale": np.array([0.8, 1.2]), "nu": np.array([np.inf, np.inf])}, X)
    for found in (kernel.with_times("each"), Normalized(own)):
        np.testing.assert_allclose(found.pairs(X).at((0.64, 1.44)).value, theirs, rtol=0, atol=1e-8)
    assert manifold_of(ProductDiscreteSpectrumSpace(one, other, num_levels=10)) == manifold


def replicated(make, X, params, number):
    """The mean of kernels of independent random features, and its standard error."""
    found = np.stack([make(np.random.RandomState(seed)).K(params, X) for seed in range(number)])
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(number)


def assert_within(truth, mean, error, features):
    """Five standard errors, and the bias of a ratio of means over the random features."""
    off = ~np.eye(len(truth), dtype=bool)
    assert (np.abs(mean - truth) < 5 * error + 1 / features)[off].all(), np.abs(mean - truth)[off].max()
    assert error.max() < 0.02


def test_random_features_of_hyperbolic_spaces_are_ours_within_their_error():
    X = np.asarray(hg.Hyperbolic(2).random(0, 5))
    truth, number = correlations(hg.Hyperbolic(2), X, 0.49), 300
    mean, error = replicated(
        lambda key: MaternGeometricKernel(Hyperbolic(2), num=number, key=key), X, parameters(0.7), 20
    )
    assert_within(truth, mean, error, number)


class Corrected(SymmetricPositiveDefiniteMatrices):
    """Their space with the other Cholesky factor in the Iwasawa decomposition, and the Plancherel measure of its roots.

    Its Laplacian is that of half the affine-invariant distance, and the roots are half the differences of lambda.
    Reference: Helgason (1984), Groups and Geometric Analysis, ch. IV; Terras (1988), Harmonic Analysis on Symmetric
    Spaces II, ch. 4.
    """

    def power_function(self, lam, g, h):
        upper = np.linalg.cholesky(g).swapaxes(-1, -2)
        sizes = np.abs(np.diagonal(np.linalg.qr(upper @ h)[1], axis1=-2, axis2=-1))
        return np.exp((np.log(sizes) * (self.rho + 1j * lam)).sum(axis=-1))

    def inv_harish_chandra(self, lam):
        difference = np.abs(lam[..., 0] - lam[..., 1])
        return np.sqrt(difference * np.tanh(np.pi * difference / 2))


def test_random_features_of_positive_definite_matrices_have_our_time():
    """On multiples of the identity theirs; elsewhere, where version 1.0.1 is not invariant, the corrected ones."""
    manifold = manifold_of(SymmetricPositiveDefiniteMatrices(2))
    multiples = np.exp([0.0, 0.3, 0.8])[:, None, None] * np.eye(2)
    others = np.asarray(manifold.random(np.random.default_rng(0), 5))
    for kind, X in ((SymmetricPositiveDefiniteMatrices, multiples), (Corrected, others)):
        space, number = kind(2), 2000
        features = RandomPhaseFeatureMapNoncompact(space, number)
        mean, error = replicated(
            lambda key, f=features, s=space: MaternFeatureMapKernel(s, f, key), X, parameters(0.7), 30
        )
        assert_within(correlations(manifold, X, 0.49), mean, error, number)


POSTERIORS = [(Hypersphere(2), 40), (SpecialOrthogonal(3), 20)]


def data(manifold):
    rng = np.random.default_rng(0)
    X, new = np.asarray(manifold.random(rng, 20)), np.asarray(manifold.random(rng, 10))
    return X, np.sin(3 * X.reshape(20, -1)[:, 0]) + 0.1 * rng.standard_normal(20), new


@pytest.mark.parametrize(("space", "levels"), POSTERIORS, ids=str)
@pytest.mark.parametrize("known", [{"time": 0.5, "amplitude": 1.0, "noise": 0.01}, {}], ids=["given", "learned"])
def test_one_data_set_gives_one_posterior(space, levels, known):
    manifold = manifold_of(space)
    X, y, new = data(manifold)
    theirs = from_geometric_kernels(MaternGeometricKernel(space, num=levels))
    found = [
        hg.GPRegressor(manifold, kernel=k, smoothness=np.inf, **known).fit(X, y).predict(new, return_std=True)
        for k in ("exact", theirs)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-8)


def test_derivatives_in_time():
    kernel = from_geometric_kernels(MaternGeometricKernel(Hypersphere(2), num=30), smoothness=6.5)
    X, own = hg.Sphere(2).random(0, 6), hg.matern_kernel(hg.Sphere(2), 6.5)
    found = Normalized(kernel).pairs(X).at(0.5).slopes
    np.testing.assert_allclose(found, Normalized(own).pairs(X).at(0.5).slopes, rtol=0, atol=1e-6)


def test_random_features_need_a_time():
    X, y, _ = data(hg.Hyperbolic(2))
    kernel = from_geometric_kernels(MaternGeometricKernel(Hyperbolic(2), num=50, key=np.random.RandomState(0)))
    gp = hg.GPRegressor(hg.Hyperbolic(2), kernel=kernel, time=0.5).fit(X, y)
    assert np.isfinite(gp.predict(X)).all()
    with pytest.raises(Unsupported, match=r"no derivative in time: its random features jump\. Give the model a time"):
        hg.GPRegressor(hg.Hyperbolic(2), kernel=kernel).fit(X, y)


@pytest.mark.parametrize(("space", "levels", "length"), CONVERGED[::3], ids=lambda value: str(value))
def test_our_kernels_have_their_interface(space, levels, length):
    theirs, ours = MaternGeometricKernel(space, num=levels), to_geometric_kernels(space)
    assert isinstance(ours, BaseGeometricKernel)
    assert ours.space is space
    assert ours.init_params() == theirs.init_params()
    _, X = space.random(np.random.RandomState(0), 7)
    params = parameters(length)
    np.testing.assert_allclose(ours.K(params, X), theirs.K(params, X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.K(params, X[:3], X), theirs.K(params, X[:3], X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.K_diag(params, X), theirs.K_diag(params, X), rtol=0, atol=1e-8)


def test_manifolds_that_they_lack():
    """Rigid motions, a product of R^3 and SO(3), and their Matern kernels."""
    kernel = to_geometric_kernels(hg.SpecialEuclidean(3))
    assert (kernel.space.dimension, kernel.space.element_shape, str(kernel.space)[:7]) == (6, [12], "Product")
    _, X = kernel.space.random(np.random.RandomState(0), 5)
    found = kernel.K(parameters(0.8, 2.5), X)
    np.testing.assert_allclose(found, correlations(hg.SpecialEuclidean(3), X, 0.64, 2.5), rtol=0, atol=1e-12)
    assert to_geometric_kernels(hg.Unitary(2)).space.random(np.random.RandomState(0), 3)[1].dtype == complex


def test_no_points():
    space, none = Hypersphere(2), np.zeros((0, 3))
    kernel = from_geometric_kernels(MaternGeometricKernel(space, num=10))
    assert kernel(none, np.eye(3), time=0.5).shape == (0, 3)
    assert kernel(np.eye(3), none, time=0.5).shape == (3, 0)
    assert kernel.diag(none, 0.5).shape == (0,)
    assert to_geometric_kernels(space).K(parameters(0.5), none, np.eye(3)).shape == (0, 3)


def test_many_points_are_computed_in_parts(monkeypatch):
    kernel, X = from_geometric_kernels(MaternGeometricKernel(Hypersphere(2), num=10)), hg.Sphere(2).random(0, 9)
    whole = kernel(X, time=0.5)
    monkeypatch.setattr(adapter, "PAIRS", 20)
    np.testing.assert_allclose(kernel(X, time=0.5), whole, rtol=0, atol=1e-14)


@OLD_NUMPY
def test_bad_input_is_an_error():
    theirs = MaternGeometricKernel(Hypersphere(2), num=10)
    kernel, ours = from_geometric_kernels(theirs), to_geometric_kernels(Hypersphere(2))
    off, params = [[1.0, 1.0, 0.0]], parameters(0.5)
    for call in (lambda X: kernel(X, time=0.5), lambda X: ours.K(params, X), lambda X: ours.K_diag(params, X)):
        with pytest.raises(OffManifold, match=r"X\[0\] is not on Sphere\(2\)"):
            call(off)
        with pytest.raises(InvalidInput, match=r"X has shape \(1, 2\)"):
            call([[1.0, 0.0]])
        with pytest.raises(InvalidInput, match="X is complex, but the points of"):
            call(np.array([[1j, 0, 0]]))
    with pytest.raises(InvalidInput, match=r"X has shape \(3,\); needed are points \(N, \*\(3,\)\)"):
        ours.K(params, [1.0, 0, 0])
    for value in (np.array([0.5, 0.5]), np.array([-1.0]), "long", None):
        with pytest.raises(InvalidInput, match=r"params\['lengthscale'\] must be a positive number in a NumPy array"):
            ours.K({"lengthscale": value, "nu": np.array([np.inf])}, np.eye(3))
    with pytest.raises(InvalidInput, match=r"smoothness must be a number from 0\.1 on"):
        from_geometric_kernels(theirs, smoothness=-1)
    with pytest.raises(InvalidInput, match="needs a kernel of GeometricKernels; got 3"):
        from_geometric_kernels(3)
    with pytest.raises(
        Unsupported, match="HypercubeGraph is no space of GeometricKernels that is a manifold here: Hyper"
    ):
        manifold_of(HypercubeGraph(3))
    with pytest.raises(Unsupported, match="is complex: as a factor"):
        manifold_of(ProductDiscreteSpectrumSpace(SpecialUnitary(2), Circle(), num_levels=5))
    swapped = ProductGeometricKernel(theirs, theirs, dimension_indices=[[3, 4, 5], [0, 1, 2]])
    with pytest.raises(Unsupported, match="dimension_indices"):
        from_geometric_kernels(swapped)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # theirs, where the kernel is made
def test_sums_that_overflow_are_an_error():
    kernel = from_geometric_kernels(MaternGeometricKernel(Hypersphere(2), num=400))
    with pytest.raises(InvalidInput, match=r"values that are not finite at time 0\.5: sums of so many levels overflow"):
        kernel(np.eye(3), time=0.5)


def test_the_import_prints_nothing():
    code = "import logging, heatgp.adapters.geometric_kernels; print(logging.getLogger().handlers)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("[]\n", "")


def test_examples_in_docstrings():
    assert doctest.testmod(adapter).failed == 0
    assert doctest.testmod(adapter).attempted > 5


def test_the_page_prints_what_it_says():
    run(ROOT / "docs" / "geomstats.md")


@OLD_NUMPY
@pytest.mark.parametrize("smoothness", [2.5, "learn"])
@pytest.mark.parametrize("own", [np.inf, 1.5])
def test_models_give_no_smoothness_to_kernels_whose_values_are_no_densities(smoothness, own):
    theirs = from_geometric_kernels(MaternGeometricKernel(Hypersphere(2), num=10), own)
    both = from_geometric_kernels(ProductGeometricKernel(*[MaternGeometricKernel(Circle(), num=10)] * 2), own)
    X = np.asarray(theirs.manifold.random(np.random.default_rng(0), 5))
    remedy = r"has its own.*from_geometric_kernels\(kernel, smoothness=\.\.\.\)"
    for manifold, kernel in ((hg.Sphere(2), theirs), (both.manifold, both)):
        with pytest.raises(InvalidInput, match=remedy):
            hg.GPRegressor(manifold, smoothness=smoothness, kernel=kernel).fit(X, X[:, 0])
    if smoothness != "learn":
        with pytest.raises(InvalidInput, match=remedy):
            HeatKernelOfGPyTorch(hg.Sphere(2), smoothness=smoothness, kernel=theirs)
        with pytest.raises(InvalidInput, match=remedy):
            HeatKernelOfSklearn(hg.Sphere(2), smoothness=smoothness, kernel=theirs)(X)


def test_a_model_states_the_smoothness_that_the_kernel_has():
    theirs = from_geometric_kernels(MaternGeometricKernel(Hypersphere(2), num=10), 1.5)
    X = np.asarray(theirs.manifold.random(np.random.default_rng(0), 5))
    assert (
        hg.GPRegressor(hg.Sphere(2), kernel=theirs, time=0.5, amplitude=1.0, noise=0.1).fit(X, X[:, 0]).smoothness_
        == 1.5
    )


def test_their_frontend_of_gpytorch_is_told_of_our_kernel():
    kernel = to_geometric_kernels(hg.Sphere(2))
    assert repr(kernel) == "to_geometric_kernels(heat_kernel(Sphere(2), method='exact'))"
    with pytest.raises(InvalidInput, match=r"In GPyTorch use heatgp\.adapters\.gpytorch\.HeatKernel"):
        GPyTorchGeometricKernel(kernel)(torch.eye(3, dtype=torch.float64)).to_dense()
