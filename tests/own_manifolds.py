"""Manifolds written by hand, as a user would, for the tests of equations, metrics and domains."""

from __future__ import annotations

import numpy as np

from heatgp import Chart, Domain, Euclidean, Implicit

U_SHAPE = ((0, 0), (3, 0), (3, 0.8), (0.8, 0.8), (0.8, 1.2), (3, 1.2), (3, 2), (0, 2))


def sphere_equation(x):
    return (x * x).sum(-1) - 1


def torus_equation(x):
    """Radii 1 and 0.4; polynomial, so that any array library differentiates it."""
    square = (x * x).sum(-1) + 1 - 0.16
    return square * square - 4 * (x[..., 0] ** 2 + x[..., 1] ** 2)


def spheroid_equation(x):
    return x[..., 0] ** 2 + x[..., 1] ** 2 + (x[..., 2] / 0.6) ** 2 - 1


def two_circles(x):
    """A flat torus in R^4, two equations."""
    xp = x.__array_namespace__()
    return xp.stack((x[..., 0] ** 2 + x[..., 1] ** 2 - 1, x[..., 2] ** 2 + x[..., 3] ** 2 - 0.25), axis=-1)


def sphere_metric(x):
    xp = x.__array_namespace__()
    one = x[..., 0] * 0 + 1
    sine = xp.sin(x[..., 0])
    return xp.stack((xp.stack((one, 0 * one), axis=-1), xp.stack((0 * one, sine * sine), axis=-1)), axis=-2)


def over_the_poles(x):
    """(theta, phi) with theta in [0, pi]: beyond a pole the meridian goes on at phi + pi."""
    xp = x.__array_namespace__()
    theta = xp.remainder(x[..., 0], 2 * np.pi)
    far = theta > np.pi
    return xp.stack((xp.where(far, 2 * np.pi - theta, theta), xp.where(far, x[..., 1] + np.pi, x[..., 1])), axis=-1)


def sphere_points(x):
    theta, phi = x[..., 0], x[..., 1]
    return np.stack((np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)), axis=-1)


def torus_metric(x):
    """Torus of revolution in its angles, radii 1 and 0.4."""
    xp = x.__array_namespace__()
    r = 1 + 0.4 * xp.cos(x[..., 0])
    zero = 0 * r
    return xp.stack((xp.stack((zero + 0.16, zero), axis=-1), xp.stack((zero, r * r), axis=-1)), axis=-2)


def in_disc(x):
    return 1 - (x * x).sum(-1)


def in_cap(x):
    return x[..., 2] > 0


SPHERE = Implicit(sphere_equation, 2, 3)
TORUS = Implicit(torus_equation, 2, 3)
SPHEROID = Implicit(spheroid_equation, 2, 3)
FLAT = Implicit(two_circles, 2, 4)
SPHERE_CHART = Chart(sphere_metric, 2, (None, 2 * np.pi), ((0, np.pi), None), over_the_poles)
TORUS_CHART = Chart(torus_metric, 2, (2 * np.pi, 2 * np.pi))
U_DOMAIN = Domain(Euclidean(2), U_SHAPE)
DISC = Domain(Euclidean(2), in_disc, ((-1, 1), (-1, 1)))
CAP = Domain(SPHERE, in_cap)
OWN = [SPHERE, TORUS, SPHEROID, FLAT, TORUS_CHART, U_DOMAIN, DISC, CAP]
