"""Properties of the heat equation: what p_t must fulfil whoever computed it."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...errors import AccuracyWarning, caught_warnings
from ...heat.matern import MaternKernel, with_smoothness
from ...heat.methods import heat_kernel
from ..sample import SIGMAS
from .integrals import BLOCKS, focused, mean_and_error, weighted_points
from .sample import KernelSample, peak_time, volume_of

DIFFERENCE = 1e-4
"""Relative change of time in a difference quotient."""
SMALLEST = 1e-10
"""How negative an eigenvalue may be, as a part of the largest."""
ROUGH = 1.7
"""Root mean square of errors in units of the stated ones: more than one, since neighbours share paths."""
FADED = 1e-3
"""The part of p_t(x, x) that a converted kernel may lose, since it leaves out the highest frequencies."""
UNSEEN = 1e-4
"""The part of an integral that random points may miss, since none falls where the integrand is small."""
FEW = 4
"""Blocks of random points that are enough for the integral of the stated error."""
LONG = 1e3
"""A long time, in units of the one at which the kernel's peak would be as low as the uniform density."""
LATER = 1e8
"""The same for Matern kernels, which become uniform not exponentially but like a power of the time."""


def positive_definite(s: KernelSample) -> Iterator[str]:
    """The converted kernel has no negative eigenvalue beyond rounding, and is within errors of what it was.

    Where errors are larger than the kernel itself, so that nothing is known of it, it may become anything.
    """
    kernel = s.kernel.as_positive_definite()
    own = KernelSample(kernel, s.rng, s.draws, s.tolerance, s.reproducible)
    number = min(40, s.draws // 4)
    x = s.manifold.random(s.rng, number // 3)
    for time in own.times:
        close = [s.around(x, share * math.sqrt(time)) for share in (1e-3, 0.1)]
        for what, points in (("random", s.manifold.random(s.rng, number)), ("close", np.concatenate([x, *close]))):
            eigenvalues = np.linalg.eigvalsh(own.values(points, None, time))
            share = eigenvalues[0] / eigenvalues[-1]
            if not share >= -SMALLEST:
                yield f"smallest eigenvalue of {what} points at time {time:.3g}: {share:.2g} of the largest"
        y = s.near_and_far(time)
        error, largest = s.error(s.x, y, time).max(), s.largest(time)
        limit = SIGMAS * error + FADED * largest if error < largest else math.inf
        yield from s.beyond(f"change at time {time:.3g}", own.values(s.x, y, time), s.values(s.x, y, time), limit)


def mass(s: KernelSample) -> Iterator[str]:
    """The integral of p_t(x, y) over y is one.

    Random points count with five standard errors of their mean. The integral of the stated errors counts twice: it is
    right where a kernel is off by a common factor, and more than needed where every y has counts of its own.
    """
    for time in _integration_times(s):
        for x in s.x[:2]:
            y, weight = weighted_points(s.manifold, x, spread(s) * time, s.rng, s.draws // BLOCKS)
            found, noise = mean_and_error((weight * s.values(x, y, time)).mean(axis=1))
            stated = (weight[:FEW] * s.error(x, y[:FEW], time)).mean()
            yield from s.beyond(f"integral at time {time:.3g}", found, 1.0, SIGMAS * noise + 2 * stated + UNSEEN)


def chapman_kolmogorov(s: KernelSample) -> Iterator[str]:
    """The integral of p_s(x, z) p_t(z, y) over z is p_(s+t)(x, y): here with t = 2 s.

    A Matern kernel composed with itself is one of another smoothness: the gamma laws of the two random times add.
    """
    for time in _integration_times(s):
        other, whole, total = composition(s, time)
        if not whole.accepts(total):
            continue
        v = math.sqrt(time) * s.geometry.tangents(s.x, len(s.x))
        for x, third, y in list(zip(s.x, s.geometry.exp(s.x, v / 3), s.geometry.exp(s.x, v)))[:3]:
            z, weight = weighted_points(
                s.manifold, np.asarray(third), spread(s) * time * 2 / 3, s.rng, s.draws // BLOCKS
            )
            first, second = s.values(x, z, time), s.values(z, y, other)
            found, noise = mean_and_error((weight * first * second).mean(axis=1))
            a, b = first[:FEW], second[:FEW]
            da, db = s.error(x, z[:FEW], time), s.error(z[:FEW], y, other)
            stated = (weight[:FEW] * (da * np.abs(b) + np.abs(a) * db + da * db)).mean()
            stated += float(whole.error(x, y, total))
            limit = SIGMAS * noise + 2 * stated + UNSEEN * whole.largest(total)
            yield from s.beyond(f"times {time:.3g} and {other:.3g}", found, whole.values(x, y, total), limit)


def spread(s: KernelSample) -> float:
    """The variance of the random points of an integral, in units of the time: for the tails of Matern kernels more."""
    if not isinstance(s.kernel, MaternKernel):
        return 1.0
    return 2 * (1 + s.manifold.dim / (2 * s.kernel.smoothness))  # twice the mean of the random time


def composition(s: KernelSample, time: float) -> tuple[float, KernelSample, float]:
    """A second time, and the kernel and time that the kernel at both times, one after the other, makes."""
    if not isinstance(s.kernel, MaternKernel):
        return 2 * time, s, 3 * time
    smoothness = 2 * s.kernel.smoothness + s.manifold.dim / 2
    return time, replace(s, kernel=replace(s.kernel, smoothness=smoothness)), time * smoothness / s.kernel.smoothness


def long_times(s: KernelSample) -> Iterator[str]:
    """After a long time p_t is one over the volume of the component of x, and zero on other components."""
    long = LATER if isinstance(s.kernel, MaternKernel) else LONG
    time, volume = long * peak_time(s.manifold, 1.0), volume_of(s.manifold)
    if not (math.isfinite(volume) and s.accepts(time)):
        return
    y = s.manifold.random(s.rng, 60)
    found = volume * s.values(s.x, y, time)
    reached = found > found.max() / 2
    components = round(1 / reached.mean())
    limit = SIGMAS * volume * s.error(s.x, y, time) + 1e-6
    yield from s.beyond(f"volume * p at time {time:.3g}", found, components * reached, limit)


def derivative(s: KernelSample) -> Iterator[str]:
    """`derivative` is the limit of difference quotients of the kernel in each of its times."""
    for time in s.times:
        y, t = s.near_and_far(time), np.atleast_1d(np.array(s.given(time), dtype=float))
        found = np.asarray(s.kernel.derivative(s.x, y, time=s.given(time)))
        for number, own in enumerate(found if len(t) > 1 else found[None]):
            change = DIFFERENCE * time * np.eye(len(t))[number]
            later, before = (s.kernel(s.x, y, time=u if len(t) > 1 else float(u[0])) for u in (t + change, t - change))
            limit = DIFFERENCE / 10 * (np.abs(own).max() + s.largest(time) / time)
            expected = (later - before) / (2 * DIFFERENCE * time)
            yield from s.beyond(f"derivative {number} at time {time:.3g}", own, expected, limit)


def honest_error(s: KernelSample) -> Iterator[str]:
    """The exact kernel is within five stated errors everywhere, and about one in the mean.

    A kernel that warns of its accuracy when it is asked is checked in the mean only: it has counted next to nothing,
    and single counts are more often five standard errors off than Gaussian numbers.
    """
    if s.kernel.is_exact or s.kernel.parameters > 1:
        return
    exact, shares = heat_kernel(s.manifold, "exact"), [np.zeros(0)]
    if isinstance(s.kernel, MaternKernel):
        exact = with_smoothness(exact, s.kernel.smoothness)
    for time in s.times:
        y = s.near_and_far(time)
        with caught_warnings(AccuracyWarning) as given:
            found = s.values(s.x, y, time)
        error, truth = s.error(s.x, y, time), exact(s.x, y, time=time)
        rounding = s.tolerance * exact(s.x, time=time).max()
        if not given:
            yield from s.beyond(f"exact kernel at time {time:.3g}", found, truth, SIGMAS * error + rounding)
        seen = error > rounding  # elsewhere both are zero
        shares.append((found - truth)[seen] / error[seen])
    rough = math.sqrt(np.square(np.concatenate(shares)).sum() / max(1, sum(map(len, shares))))
    if not rough <= ROUGH:
        yield f"error: {rough:.2g} stated standard errors in the mean square > {ROUGH:g}"


def _integration_times(s: KernelSample) -> list[float]:
    """Times at which random points meet the kernel often enough for an integral.

    Uniform points do so when none weighs more than a fortieth of all: the first such time, and a long one.
    """
    if focused(s.manifold):
        return s.times
    first, volume = peak_time(s.manifold, 1.0), volume_of(s.manifold)
    later = s.allowed([first * 2**k for k in range(-3, 6)])
    spread = [t for t in later if max(volume * s.largest(t), (first / t) ** (s.manifold.dim / 2)) <= s.draws / 40]
    return [*spread[:1], *spread[1:][-1:]]


PROPERTIES = (positive_definite, mass, chapman_kolmogorov, long_times, derivative, honest_error)
