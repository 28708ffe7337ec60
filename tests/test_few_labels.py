"""Few labels: predictions are averaged over the best parameters and no signal, and are as sure as they are right."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import norm

import heatgp as hg
from heatgp.errors import InvalidInput
from heatgp.gp.integration import NO_SIGNAL
from heatgp.gp.label_noise import LabelLikelihood

S2, PLANE = hg.Sphere(2), hg.Euclidean(10)


def labelled(seed, number, M=S2, strength=0.0, classes=2):
    """Points, and labels of the largest of linear functions of their coordinates plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, 10)) if M is PLANE else M.random(rng, number)
    f = X @ rng.standard_normal((X.shape[1], classes))
    return X, (strength * f / f.std(axis=0) + rng.standard_normal(f.shape)).argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_the_weights_are_those_of_the_evidence(classes, strength):
    """With time and noise given the evidence is an integral over the amplitude alone."""
    X, y = labelled(2, 40, strength=strength, classes=classes)
    known = {"time": 0.5, "label_noise": 0.01}
    gp = hg.GPClassifier(S2, **known).fit(X, y)
    logs = np.linspace(np.log(0.01), np.log(1e4), 120)
    prior = LabelLikelihood.weak_priors["amplitude"]
    density = norm.logpdf(logs, np.log(prior.median), prior.spread)
    evidence = logsumexp(density + [gp.log_marginal_likelihood(amplitude=np.exp(z)) for z in logs]) - logsumexp(density)
    against = gp.log_marginal_likelihood(amplitude=0.01) - evidence
    weight = expit(against + np.log(NO_SIGNAL / (1 - NO_SIGNAL)))
    assert weight > 0.05
    assert gp.mixture_.weights[1] == pytest.approx(weight, abs=0.15)  # of Laplace's approximation
    best, none = (hg.GPClassifier(S2, **known, amplitude=a).fit(X, y).predict_proba(X) for a in (gp.amplitude_, 0.01))
    share = gp.mixture_.weights[1]
    np.testing.assert_allclose(gp.predict_proba(X), (1 - share) * best + share * none, atol=1e-5)
    assert f"labels do not depend on the points with the probability {share:.2g}" in gp.summary().notes


def test_a_clear_signal_leaves_one_posterior():
    X, y = labelled(0, 60, strength=8.0)
    gp = hg.GPClassifier(S2).fit(X, y)
    assert len(gp.mixture_.weights) == 1
    np.testing.assert_array_equal(gp.predict_proba(X), hg.GPClassifier(S2, integrate=None).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("options", [{"integrate": None}, {"amplitude": 1.0}, {"priors": None}])
def test_where_no_signal_is_no_hypothesis(options):
    X, y = labelled(0, 30)
    assert len(hg.GPClassifier(S2, **options).fit(X, y).mixture_.weights) == 1


def test_a_fit_says_that_a_signal_is_doubtful(caplog):
    X, y = labelled(4, 60, PLANE)
    with caplog.at_level("INFO", "heatgp"):
        hg.GPClassifier(PLANE).fit(X, y)
    assert "labels do not depend on the points with the probability" in caplog.text


def test_only_classes_have_it():
    with pytest.raises(InvalidInput, match="integrate = 'auto' is not known"):
        hg.GPRegressor(S2, integrate="auto").fit(*labelled(0, 30))
    with pytest.raises(InvalidInput, match="Use 'auto' or 'grid', or None"):
        hg.GPClassifier(S2, integrate="laplace").fit(*labelled(0, 30))


def entropy(p, y):
    return -np.log(p[np.arange(len(y)), y]).mean()


@pytest.mark.slow
@pytest.mark.parametrize("M", [S2, PLANE], ids=repr)
def test_without_a_signal_little_is_lost_to_the_shares_of_the_classes(M):
    lost = []
    for seed in range(30):
        X, y = labelled(seed, 340, M)
        p = hg.GPClassifier(M).fit(X[:40], y[:40]).predict_proba(X[40:])
        share = (y[:40].sum() + 1) / 42
        lost.append(entropy(p, y[40:]) - entropy(np.tile([1 - share, share], (300, 1)), y[40:]))
    assert np.mean(lost) < 0.01 + 2 * np.std(lost) / np.sqrt(len(lost))


@pytest.mark.slow
@pytest.mark.parametrize("M", [S2, PLANE], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_confidence_is_accuracy(M, classes):
    """The probability of the predicted class, on average, is the share of right predictions."""
    over = []
    for seed in range(30):
        X, y = labelled(seed, 340, M, strength=(0.5, 1.0, 3.0)[seed % 3], classes=classes)
        p = hg.GPClassifier(M).fit(X[:40], y[:40]).predict_proba(X[40:])
        over.append(p.max(axis=1).mean() - (p.argmax(axis=1) == y[40:]).mean())
    assert abs(np.mean(over)) < 0.03 + 2 * np.std(over) / np.sqrt(len(over))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_linear_trend_is_that_of_rotated_points(classes, tmp_path):
    """Coordinates have one scale, so that the trend has the symmetry of the embedding; a file keeps it."""
    X, y = labelled(3, 40, strength=2.0, classes=classes)
    R = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    known = {"time": 0.5, "amplitude": 2.0, "label_noise": 0.01, "mean": "linear"}
    gp, turned = hg.GPClassifier(S2, **known).fit(X, y), hg.GPClassifier(S2, **known).fit(X @ R, y)
    new = S2.random(np.random.default_rng(1), 9)
    np.testing.assert_allclose(
        turned.predict_proba(new @ R), gp.predict_proba(new), atol=1e-6 if classes == 2 else 1e-3
    )
    gp.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(hg.load_model(tmp_path / "model.npz").predict_proba(new), gp.predict_proba(new))


def test_each_factor_of_a_product_has_its_share_of_the_trend():
    """The unit of a factor does not matter, and a factor with one value has no trend."""
    X, y = labelled(3, 40, strength=2.0)
    z, M = np.random.default_rng(0).standard_normal((40, 1)), hg.Product(S2, hg.Euclidean(1))
    known = {"amplitude": 2.0, "label_noise": 0.01, "mean": "linear"}
    metres = hg.GPClassifier(M, time=(0.5, 1.0), **known).fit(M.join(X, z), y)
    millimetres = hg.GPClassifier(M, time=(0.5, 1e6), **known).fit(M.join(X, 1e3 * z), y)
    found = millimetres.predict_proba(M.join(X, 1e3 * z))
    np.testing.assert_allclose(found, metres.predict_proba(M.join(X, z)), atol=1e-8)
    np.testing.assert_allclose(millimetres.coefficients_, metres.coefficients_, rtol=1e-6)
    alone = hg.GPClassifier(M, time=(0.5, 1.0), **known).fit(M.join(X, 0 * z + 2), y)
    assert alone.coefficient_names_ == ["constant", "coordinate 0", "coordinate 1", "coordinate 2"]
