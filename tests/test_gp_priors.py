"""Priors of the parameters: against SciPy's distributions, and what is refused."""

import numpy as np
import pytest
from scipy.stats import lognorm, norm

from heatgp.errors import InvalidInput
from heatgp.gp.parameters import LogNormal, Priors, checked_priors, log_density

PRIOR = LogNormal(median=0.3, spread=1.7)
BOUNDS = {"time": (0.01, 10.0), "amplitude": (1e-6, 1e6), "noise": (1e-8, 1e4)}


def test_the_distribution_is_that_of_scipy():
    z = np.linspace(-5, 3, 7)
    theirs = lognorm(s=1.7, scale=0.3)
    np.testing.assert_allclose(PRIOR.log_density(z), norm(np.log(0.3), 1.7).logpdf(z), rtol=1e-13)
    np.testing.assert_allclose(PRIOR.log_density(z), theirs.logpdf(np.exp(z)) + z, rtol=1e-13)  # with respect to z
    np.testing.assert_allclose(
        PRIOR.slope(z), (PRIOR.log_density(z + 1e-5) - PRIOR.log_density(z - 1e-5)) / 2e-5, atol=1e-8
    )
    np.testing.assert_allclose(PRIOR.quantile([0.1, 0.5, 0.99]), theirs.ppf([0.1, 0.5, 0.99]), rtol=1e-12)
    assert PRIOR.mass(0.1, 2.0) == pytest.approx(theirs.cdf(2.0) - theirs.cdf(0.1), rel=1e-12)
    draws = PRIOR.sample(0, 20_000)
    assert abs(np.log(draws).mean() - np.log(0.3)) < 4.5 * 1.7 / np.sqrt(20_000)
    assert LogNormal.between(0.01, 4.0).mass(0.01, 4.0) == pytest.approx(norm.cdf(2) - norm.cdf(-2))


def test_densities_of_coordinates_add():
    names = ("time[0]", "time[1]")
    priors = Priors(time=(PRIOR, None), noise=LogNormal(0.1, 2.0)).by_name(
        dict.fromkeys((*names, "amplitude", "noise"), (0.1, 1.0)), names
    )
    assert set(priors) == {"time[0]", "noise"}
    z = np.array([0.2, 0.3, -1.0])
    value, gradient = log_density(priors, ["time[0]", "time[1]", "noise"], z)
    assert value == pytest.approx(PRIOR.log_density(0.2) + norm(np.log(0.1), 2.0).logpdf(-1.0))
    np.testing.assert_allclose(gradient, [PRIOR.slope(0.2), 0.0, -(-1.0 - np.log(0.1)) / 4.0])
    assert log_density({}, ["time"], z[:1])[0] == 0.0
    assert Priors(time=PRIOR).by_name({"noise": (0.1, 1.0)}) == {}  # a time that is given


def test_weights_have_priors_of_their_own():
    bounds = {"time[0]": (0.1, 1.0), "time[1]": (0.1, 1.0), "weight[1]": (1e-4, 1e4)}
    assert set(Priors(time=PRIOR).by_name(bounds, tuple(bounds), weights=1)) == {"time[0]", "time[1]"}
    wide = LogNormal(1.0, 3.0)
    priors = Priors(time=(PRIOR, None, wide)).by_name(bounds, tuple(bounds), weights=1)
    assert priors == {"time[0]": PRIOR, "weight[1]": wide}
    with pytest.raises(InvalidInput, match="has 4 priors; the kernel has 2 times"):
        Priors(time=(PRIOR,) * 4).by_name(bounds, tuple(bounds), weights=1)


def test_parameters_of_the_likelihood_that_are_not_named_keep_their_weak_priors():
    bounds = dict.fromkeys(("time", "noise", "degrees", "shape"), (0.1, 10.0))
    weak = {"noise": LogNormal(0.5, 2.0), "degrees": LogNormal(4.0, 1.0), "shape": LogNormal(2.0, 1.0)}
    for likelihood, left in ({}, weak), ({"degrees": PRIOR}, weak | {"degrees": PRIOR}), ("weak", weak):
        found = Priors(time=None, likelihood=likelihood).by_name(bounds, weak=weak)
        assert found == left
    assert set(Priors(likelihood={"degrees": None}).by_name(bounds, weak=weak)) == {"time", "noise", "shape"}
    assert set(Priors(likelihood=None).by_name(bounds, weak=weak)) == {"time", "noise"}
    assert Priors(noise=PRIOR).by_name(bounds, weak=weak)["noise"] == PRIOR


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf, "1", None, True])
def test_numbers_are_checked(wrong):
    for arguments in ((wrong, 1.0), (1.0, wrong)):
        with pytest.raises(InvalidInput, match="of a LogNormal must be a positive, finite number"):
            LogNormal(*arguments)


def test_errors_say_what_to_do():
    with pytest.raises(InvalidInput, match=r"priors\.time = 3\.0 must be a LogNormal\(median, spread\), \"weak\""):
        Priors(time=3.0)
    for name in ("time", "amplitude", "noise", "label_noise"):
        with pytest.raises(InvalidInput, match=rf"likelihood names '{name}', .* Use Priors\({name}=\.\.\.\)"):
            Priors(likelihood={name: PRIOR})
    with pytest.raises(InvalidInput, match=r"priors\.likelihood\['degrees'\] = 4 must be a LogNormal"):
        Priors(likelihood={"degrees": 4})
    with pytest.raises(InvalidInput, match=r"priors\.likelihood = .* must be a dict of priors"):
        Priors(likelihood=PRIOR)
    with pytest.raises(
        InvalidInput, match=r"prior of time, LogNormal\(.*\), has a probability of .* between the bounds"
    ):
        Priors(time=LogNormal(1e6, 1.0)).by_name(BOUNDS)
    with pytest.raises(InvalidInput, match=r"priors\.time has 3 priors; the kernel has 1 times"):
        Priors(time=(PRIOR, PRIOR, PRIOR)).by_name(BOUNDS)
    with pytest.raises(InvalidInput, match=r'priors = \'strong\' is not known\. Use "weak", None'):
        checked_priors("strong")


@pytest.mark.parametrize("scale", ["a", 0, -1.0, np.nan, True, [1.0, 0.0], [[1.0]]])
def test_scales_of_coefficients_are_checked(scale):
    with pytest.raises(InvalidInput, match=r"priors\.coefficients (= .* must be a positive number|must be numbers)"):
        Priors(coefficients=scale)
    assert Priors(coefficients=np.inf) != Priors(coefficients=[1.0, np.inf])


@pytest.mark.parametrize(
    "bounds",
    [
        (3.0, 3.0),
        (1.0, 0.1),
        np.ones(40),
        "ab",
        (True, 2),
        (1, 2, 3),
        5,
        [(1, 2), 3],
        [(1, 2), (2, 1)],
        (1, np.inf),
        (1, 10**400),
    ],
)
def test_bounds_of_times_are_checked(bounds):
    with pytest.raises(InvalidInput, match=r"time_bounds = .* must be two positive numbers, the smaller first"):
        Priors(time_bounds=bounds)
    assert Priors(time_bounds=[[1, 2], (3, 4)]).time_bounds == ((1.0, 2.0), (3.0, 4.0))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.0, 1.0), r"LogNormal\.between\(0\.0, 1\.0\) needs two positive, finite numbers, the smaller first"),
        ((2.0, 1.0), "the smaller first"),
        ((float("nan"), 1.0), r"between\(nan, 1\.0\) needs two positive"),
        ((1.0, 2.0, float("nan")), r"edge = nan of LogNormal\.between must be a positive"),
    ],
)
def test_numbers_that_no_law_is_between(numbers, message):
    with pytest.raises(InvalidInput, match=message):
        LogNormal.between(*numbers)
