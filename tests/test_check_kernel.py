"""The property suite of kernels finds planted mistakes, each by its own property, and is content with the library."""

import inspect
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import heatgp as hg
from catalog import FAST_KERNELS, KERNELS, METHODS, is_supported, kernel_case
from heatgp.covariance import Evaluation, TimeFunction
from heatgp.errors import AccuracyWarning, InvalidInput, Unsupported
from heatgp.heat.kernel import HeatKernel
from heatgp.manifolds import Manifold
from heatgp.testing import check_kernel


@dataclass(frozen=True)
class Wrapped(HeatKernel):
    """A kernel in which the mistakes below are planted; without them it is as good as its base."""

    base: HeatKernel
    method = "exact"

    @property
    def manifold(self):
        return self.base.manifold

    @property
    def times(self):
        return self.base.times

    def pairs(self, X, Y=None):
        base = self.base.pairs(X, Y)

        def inner(time):
            return base.at(time).value

        def at(time):
            return Evaluation(
                lambda: self.value(inner, time, Y is None),
                lambda: self.slope(base.at(time).slopes),
                lambda: self.error(base, time),
            )

        return TimeFunction(at)

    @property
    def is_exact(self):
        return self.method == "exact"

    def value(self, inner, time, square):
        return inner(time)

    def slope(self, slopes):
        return slopes

    def error(self, base, time):
        return base.at(time).error


class Heavy(Wrapped):
    def value(self, inner, time, square):
        return 1.01 * inner(time)

    def slope(self, slopes):
        return 1.01 * slopes


class Asymmetric(Wrapped):
    def value(self, inner, time, square):
        values = inner(time)
        return values if square else values * (1 + 1e-6 * np.arange(len(values))[:, None])


class AsymmetricSquare(Wrapped):
    def value(self, inner, time, square):
        values = inner(time)
        return values + 1e-6 * np.triu(values, 1) if square else values


class WrongDerivative(Wrapped):
    def slope(self, slopes):
        return 0.999 * slopes


class Flat(Wrapped):
    """The kernel less a constant: symmetric, and not positive definite."""

    def value(self, inner, time, square):
        return inner(time) - 2 / self.manifold.volume


class Late(Wrapped):
    """Brownian motion that has a start of a twentieth: of mass one, and no semigroup."""

    def value(self, inner, time, square):
        return inner(time + 0.02)


class WrongDiagonal(Wrapped):
    def diag(self, X, time):
        return 1.001 * super().diag(X, time)


class Squeezing(Wrapped):
    def __call__(self, X, Y=None, *, time):
        return np.squeeze(super().__call__(X, Y, time=time))


class ByPosition(Wrapped):
    """A value that depends on the place of a point in the array."""

    def value(self, inner, time, square):
        values = inner(time)
        i = np.arange(values.shape[0])[:, None] + np.arange(values.shape[1])
        return values * (1 + 1e-8 * i)


class Boundless(Wrapped):
    def check_time(self, time):
        return abs(float(time)) if np.isfinite(time) and time else 1.0


class NeverUniform(Wrapped):
    def value(self, inner, time, square):
        return inner(min(time, 2.0))


class Confident(Wrapped):
    """An error that is stated too small."""

    method = "smooth"

    def value(self, inner, time, square):
        return 1.01 * inner(time)

    def error(self, base, time):
        return 0.001 * base.at(time).value


class SomewhatConfident(Confident):
    """Never five stated errors off, but two and a half in the mean."""

    def error(self, base, time):
        return 0.004 * base.at(time).value


class Converted(Wrapped):
    """Positive definite after conversion, and another kernel."""

    def as_positive_definite(self):
        return Heavy(self.base)


class Unpicklable(Wrapped):
    def __reduce__(self):
        raise TypeError("not me")


class Forgetful(Wrapped):
    def __reduce__(self):
        return Heavy, (self.base,)


class Failing(Wrapped):
    def diag(self, X, time):
        raise ZeroDivisionError("no idea")


class Invalid(Wrapped):
    def value(self, inner, time, square):
        return inner(time) * np.nan


SPHERE = hg.heat_kernel(hg.Sphere(2), "exact")


def test_a_kernel_of_ones_own_without_mistakes_passes():
    assert check_kernel(Wrapped(SPHERE)) == []


@pytest.mark.parametrize(
    "mistake, problem",
    [
        (Heavy, "mass: integral at time 0.0313: 1.01"),
        (Asymmetric, "symmetric: kernel(Y, X) and kernel(X, Y)"),
        (AsymmetricSquare, "symmetric: kernel(X) at time"),
        (WrongDerivative, "derivative: derivative 0 at time"),
        (Flat, "positive_definite: smallest eigenvalue of random points"),
        (Late, "chapman_kolmogorov: times 0.0313 and 0.0625"),
        (WrongDiagonal, "diagonal: diag at time"),
        (Squeezing, "batches: kernel of one row and one: shape () instead of (1, 1)"),
        (ByPosition, "order: kernel of another order"),
        (Boundless, "time_limits: time = -1 does not raise InvalidInput; kernel.times are 0 to inf"),
        (NeverUniform, "long_times: volume * p at time 2e+03"),
        (Confident, "honest_error: exact kernel at time"),
        (SomewhatConfident, "honest_error: error: 2.5 stated standard errors in the mean square > 1.7"),
        (Converted, "positive_definite: change at time 0.0313"),
        (Unpicklable, "pickling: raised TypeError: not me"),
        (Forgetful, "pickling: a pickled copy at time"),
        (Failing, "diagonal: raised ZeroDivisionError: no idea"),
        (Invalid, "mass: integral at time"),
    ],
)
def test_finds_planted_mistakes(mistake, problem):
    problems = check_kernel(mistake(SPHERE))
    assert any(found.startswith(problem) for found in problems), problems


def test_a_kernel_without_values_does_not_pass():
    kernel = hg.heat_kernel(hg.Implicit(lambda x: (x * x).sum(-1) - 1, 2, 3), "ball", paths=100)
    [problem] = check_kernel(kernel)
    assert problem.startswith("values: raised Unsupported: Implicit")


def test_what_is_no_kernel_is_named():
    assert check_kernel(3) == ["int is not a HeatKernel, such as heatgp.heat_kernel(Sphere(2)) makes."]


def test_products_with_a_time_for_each_factor():
    base = hg.heat_kernel(hg.Product(hg.Sphere(2), hg.Torus(1)))
    assert check_kernel(type(base)(base.manifold, base.factors, own_times=True)) == []


@pytest.mark.parametrize("method", ["strip", "smooth", "ball"])
def test_kernels_made_positive_definite_are_kernels_too(method):
    kernel = hg.heat_kernel(hg.Sphere(2), method, paths=20_000, rng=0)
    assert check_kernel(kernel.as_positive_definite()) == []


def marks(case):
    return [] if case in FAST_KERNELS else [pytest.mark.slow]


@pytest.mark.parametrize("case", [pytest.param(case, marks=marks(case)) for case in KERNELS], ids=repr)
def test_kernels_of_the_library(case):
    taken = [method for method in ("exact", "fibre-average") if is_supported(case.manifold, method)]
    if case.method == "auto" and taken:
        assert case.build() == kernel_case(case.manifold, taken[0]).build()
        return
    if is_supported(case.manifold, case.method):
        assert check_kernel(case.build(), **case.check) == []
        return
    with pytest.raises(Unsupported):
        any_value(case)


def any_value(case):
    """Some kernels say what is not supported only when they are asked for a value."""
    kernel = case.build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return kernel(case.manifold.random(np.random.default_rng(0), 1), time=kernel.times[1])


def test_the_catalog_of_kernels_is_complete():
    """Every concrete class by every method that `heat_kernel` names; the fast part has each class and each method."""
    with pytest.raises(InvalidInput) as message:
        hg.heat_kernel(hg.Sphere(2), "none of them")
    named = re.search("one of (.*); got", str(message.value))[1].split(", ")
    classes = {
        value
        for value in vars(hg.manifolds).values()
        if inspect.isclass(value) and issubclass(value, Manifold) and not inspect.isabstract(value)
    }
    classes |= {type(hg.SPD(2)), type(hg.SPD(2, "log-euclidean"))}
    assert set(named) == set(METHODS)
    assert {(type(case.manifold), case.method) for case in KERNELS} == {(c, m) for c in classes for m in named}
    assert {type(case.manifold) for case in FAST_KERNELS} == classes
    assert {case.method for case in FAST_KERNELS} == set(named)
    assert all(case in KERNELS for case in FAST_KERNELS)
