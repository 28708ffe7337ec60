"""Gaussian processes on the sphere at known parameters in plain NumPy: what models of heatgp are compared with.

`Kriging` is universal kriging, written out, for normal noise.
`Integrated` integrates over f at one or two data by the trapezoid rule: Student's t distribution, counts, two classes.
`Orthants` are probabilities of labels as those of orthants of normal distributions, integrated as by Genz (1992).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.polynomial.legendre import legval
from scipy.optimize import brentq
from scipy.special import gammaln, log_ndtr, logsumexp, ndtr, ndtri, pdtr, softmax, stdtr
from scipy.stats import norm, qmc
from scipy.stats import t as student_t

POLE = np.array([[0.0, 0.0, 1.0]])
NODES = np.linspace(-8.0, 8.0, 129)
MASS = norm.pdf(NODES) * (NODES[1] - NODES[0])
"""The trapezoid rule of the standard normal distribution; its error is below 1e-10 for the smooth integrands here."""
WIDE = np.linspace(-12.0, 12.0, 601)
"""Values of a coordinate with a flat prior, about the median of y."""
FEW = 300
"""Nodes that carry a posterior at least: a standard deviation then has a node or more."""
NEGLIGIBLE = 25.0
"""Nodes whose weight is less than exp(-25) of the whole are left out."""


def heat(A, B, time):
    """The heat kernel of the sphere: the sum of (2 l + 1) / 4 pi exp(-l (l + 1) time / 2) P_l(cos)."""
    level = np.arange(80)
    weight = (2 * level + 1) * np.exp(-level * (level + 1) * time / 2) / (4 * np.pi)
    return legval(A[:, :3] @ B[:, :3].T, weight)


def correlation(A, B, time):
    return heat(A, B, time) / heat(POLE, POLE, time)


@dataclass(frozen=True)
class Kriging:
    """Universal kriging at known parameters.

    `scale` has the prior standard deviations of the coefficients of the basis, inf for flat ones.

    Reference: Rasmussen & Williams (2006), eq. 2.23 to 2.26, 2.39 to 2.42, and 2.45 with orthonormal columns.
    """

    X: np.ndarray
    y: np.ndarray
    covariance: Callable
    noise: np.ndarray
    basis: Callable
    scale: np.ndarray
    offset: float
    new_noise: float

    @cached_property
    def C(self):
        return self.covariance(self.X, self.X) + np.diag(self.noise)

    @cached_property
    def coefficients(self):
        """The coefficients of the basis, and their covariance."""
        H = self.basis(self.X)
        precision = H.T @ np.linalg.solve(self.C, H) + np.diag(1.0 / self.scale**2)
        mean = np.linalg.solve(precision, H.T @ np.linalg.solve(self.C, self.y - self.offset))
        return mean, np.linalg.inv(precision)

    def latent(self, new):
        k, H = self.covariance(new, self.X), self.basis(self.X)
        c, of_c = self.coefficients
        mean = self.offset + self.basis(new) @ c + k @ np.linalg.solve(self.C, self.y - self.offset - H @ c)
        R = self.basis(new) - k @ np.linalg.solve(self.C, H)
        return mean, self.covariance(new, new) - k @ np.linalg.solve(self.C, k.T) + R @ of_c @ R.T

    predicted = latent

    @cached_property
    def evidence(self):
        """The density of the coordinates of y that are orthogonal to the columns whose coefficients are flat."""
        H, flat = self.basis(self.X), np.isinf(self.scale)
        C = self.C + (H[:, ~flat] * self.scale[~flat] ** 2) @ H[:, ~flat].T
        contrasts = np.linalg.svd(H[:, flat])[0][:, flat.sum() :].T
        C, z = contrasts @ C @ contrasts.T, contrasts @ (self.y - self.offset)
        return -0.5 * (z @ np.linalg.solve(C, z) + np.linalg.slogdet(2 * np.pi * C)[1])

    def observed(self, new):
        mean, covariance = self.latent(new)
        return mean, np.diagonal(covariance) + self.new_noise

    def interval(self, new, level):
        mean, variance = self.observed(new)
        return norm.interval(level, mean, np.sqrt(variance))

    def log_density(self, new, y):
        mean, variance = self.observed(new)
        return norm.logpdf(y, mean, np.sqrt(variance))

    def loo(self):
        parts = []
        for i in range(len(self.y)):
            rest = np.arange(len(self.y)) != i
            again = replace(self, X=self.X[rest], y=self.y[rest], noise=self.noise[rest])
            mean, covariance = again.latent(self.X[i : i + 1])
            parts.append((mean[0], covariance[0, 0] + self.noise[i]))
        mean, variance = np.array(parts).T
        return mean, np.sqrt(variance)


@dataclass(frozen=True)
class Likelihood:
    """p(y | f): its log, and of a new observation the mean, the variance and the distribution."""

    log: Callable
    mean: Callable = lambda f: f
    variance: Callable = lambda f: 0.0
    distribution: Callable = lambda y, f: 0.0


def student_likelihood(noise, degrees=4.0):
    return Likelihood(
        lambda y, f: student_t.logpdf(y - f, degrees, scale=np.sqrt(noise)),
        variance=lambda f: degrees / (degrees - 2) * noise,
        distribution=lambda y, f: stdtr(degrees, (y - f) / np.sqrt(noise)),
    )


POISSON_LIKELIHOOD = Likelihood(
    lambda y, f: y * f - np.exp(f) - gammaln(y + 1), np.exp, np.exp, lambda y, f: pdtr(np.maximum(y, 0), np.exp(f))
)


def probit_likelihood(label_noise):
    return Likelihood(lambda y, f: np.logaddexp(np.log1p(-label_noise) + log_ndtr(y * f), np.log(label_noise / 2)))


@dataclass(frozen=True)
class Integrated:
    """The posterior of f at one or two data by the trapezoid rule. `shift` is the log of the exposure of the data.

    With `flat` a constant with a flat prior is added to f. The prior of f is then that of the coordinates that are
    orthogonal to a constant, and one in the other coordinate, the sum over √N: as in restricted likelihoods.
    """

    X: np.ndarray
    y: np.ndarray
    covariance: Callable
    likelihood: Likelihood
    offset: float
    shift: np.ndarray
    flat: bool = False

    @cached_property
    def nodes(self):
        """Values of f, their posterior weights, and the log evidence.

        Where few nodes carry the posterior, the integral is taken again with nodes about these.
        """
        n, K = len(self.y), self.covariance(self.X, self.X)
        scales, axes = [NODES] * n, np.eye(n)
        if self.flat:
            axes = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0]
            K = axes[:, 1:].T @ K @ axes[:, 1:]
            scales[0] = WIDE
        grid, f, logs = self._integrand(scales, axes, np.linalg.cholesky(K))
        if np.sum(logs > logs.max() - NEGLIGIBLE) < FEW:
            weights = softmax(logs)
            center = weights @ grid
            width = np.sqrt(weights @ (grid - center) ** 2)
            grid, f, logs = self._integrand(list(center[:, None] + np.outer(width, NODES)), axes, np.linalg.cholesky(K))
        evidence = logsumexp(logs)
        kept = logs > evidence - NEGLIGIBLE
        return f[kept], softmax(logs[kept]), evidence

    def _integrand(self, scales, axes, root):
        """Coordinates, values of f, and the logs of the integrand times the weights of the trapezoid rule."""
        grid = np.stack(np.meshgrid(*scales, indexing="ij"), axis=-1).reshape(-1, len(axes))
        steps = sum(np.log(each[1] - each[0]) for each in scales)
        own = grid[:, self.flat :]
        f = self.offset + np.hstack([grid[:, : self.flat], own @ root.T]) @ axes.T
        log_likelihood = self.likelihood.log(self.y, f + self.shift).sum(axis=1)
        return grid, f, norm.logpdf(own).sum(axis=1) + log_likelihood + steps

    @property
    def evidence(self):
        return self.nodes[2]

    def given(self, new):
        """The means (G, M) of f at new points given each of its values at the data, and its covariance (M, M)."""
        K, k = self.covariance(self.X, self.X), self.covariance(self.X, new)
        A = np.linalg.solve(K, k).T
        covariance = self.covariance(new, new) - A @ k
        if self.flat:
            ones = np.linalg.solve(K, np.ones(len(K)))
            rest = 1.0 - A.sum(axis=1)
            A = A + np.outer(rest, ones) / ones.sum()
            covariance = covariance + np.outer(rest, rest) / ones.sum()
        return self.offset + (self.nodes[0] - self.offset) @ A.T, covariance

    def latent(self, new):
        means, covariance = self.given(new)
        return self.moments(means, np.broadcast_to(covariance, (len(means), *covariance.shape)))

    def moments(self, means, covariances):
        weights = self.nodes[1]
        mean = weights @ means
        off = means - mean
        return mean, np.tensordot(weights, covariances, 1) + (weights[:, None] * off).T @ off

    def predicted(self, new):
        """The mean and the covariance of the mean of an observation given f."""
        if self.likelihood is not POISSON_LIKELIHOOD:
            return self.latent(new)
        means, covariance = self.given(new)
        own = np.diagonal(covariance)
        rates = np.exp(means + own / 2)
        return self.moments(rates, rates[:, :, None] * rates[:, None] * np.expm1(covariance))

    def average(self, function, new):
        """The mean of a function of f, (M,) each."""
        means, covariance = self.given(new)
        values = means[..., None] + np.sqrt(np.diagonal(covariance))[:, None] * NODES
        return np.einsum("g,gmk,k->m", self.nodes[1], function(values), MASS)

    def observed(self, new, shift=0.0):
        mean = self.average(lambda f: self.likelihood.mean(f + shift), new)
        square = self.average(lambda f: self.likelihood.mean(f + shift) ** 2 + self.likelihood.variance(f + shift), new)
        return mean, square - mean**2

    def log_density(self, new, y, shift=0.0):
        return np.log(self.average(lambda f: np.exp(self.likelihood.log(y[:, None], f + shift)), new))

    def interval(self, new, level):
        found = [
            [self.quantile(new[i : i + 1], p) for i in range(len(new))] for p in (0.5 - level / 2, 0.5 + level / 2)
        ]
        return np.array(found)

    def quantile(self, point, p):
        def excess(y):
            return self.average(lambda f: self.likelihood.distribution(y, f), point)[0] - p

        if self.likelihood is POISSON_LIKELIHOOD:
            return next(y for y in range(1000) if excess(y) >= 0)
        return brentq(excess, -50.0, 50.0)

    def without(self, i):
        rest = np.arange(len(self.y)) != i
        return replace(self, X=self.X[rest], y=self.y[rest], shift=self.shift[rest])

    def loo(self):
        parts = [self.without(i).observed(self.X[i : i + 1], self.shift[i]) for i in range(len(self.y))]
        mean, variance = np.array(parts)[..., 0].T
        return mean, np.sqrt(variance)

    def probabilities(self, new, label_noise):
        one = self.average(ndtr, new)
        one = (1 - label_noise) * one + label_noise / 2
        return np.stack([1 - one, one], axis=1)

    def loo_probabilities(self, label_noise):
        return np.concatenate(
            [self.without(i).probabilities(self.X[i : i + 1], label_noise) for i in range(len(self.y))]
        )


@cache
def unit_nodes(dimensions):
    return qmc.Sobol(dimensions, scramble=True, rng=0).random(2**12)


def orthant(covariance):
    """P(all z > 0), z ~ N(0, covariance), by the separation of variables. Reference: Genz (1992), eq. 5."""
    root, u = np.linalg.cholesky(covariance), unit_nodes(len(covariance))
    z, product = np.zeros(u.shape), np.ones(len(u))
    for k in range(len(root)):
        low = ndtr(-(z[:, :k] @ root[k, :k]) / root[k, k])
        product *= 1 - low
        z[:, k] = ndtri(np.clip(low + u[:, k] * (1 - low), 1e-300, 1 - 1e-16))
    return product.mean()


@dataclass(frozen=True)
class Orthants:
    """Labels of the largest of f_c + u_c, or of two classes of the sign of f + u, u standard normal."""

    X: np.ndarray
    y: np.ndarray
    covariance: Callable
    classes: int

    def probability(self, X, y):
        """That of these labels at these points: all differences with the largest function are positive."""
        K = self.covariance(X, X) + np.eye(len(X))
        if self.classes == 2:
            signs = 2.0 * y - 1
            return orthant(np.outer(signs, signs) * K)
        rows = [
            np.kron(np.eye(len(X))[i], np.eye(self.classes)[c] - np.eye(self.classes)[other])
            for i, c in enumerate(y)
            for other in range(self.classes)
            if other != c
        ]
        D = np.array(rows)
        return orthant(D @ np.kron(K, np.eye(self.classes)) @ D.T)

    @property
    def evidence(self):
        return np.log(self.probability(self.X, self.y))

    def probabilities(self, new, label_noise=0.0):
        rows = [
            [self.probability(np.vstack([self.X, point]), np.append(self.y, c)) for c in range(self.classes)]
            for point in new
        ]
        return np.array(rows) / np.sum(rows, axis=1, keepdims=True)

    def loo_probabilities(self, label_noise=0.0):
        parts = []
        for i in range(len(self.y)):
            rest = np.arange(len(self.y)) != i
            parts.append(replace(self, X=self.X[rest], y=self.y[rest]).probabilities(self.X[i : i + 1]))
        return np.concatenate(parts)
