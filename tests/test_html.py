"""What notebooks show of manifolds, kernels, models and tables."""

from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import heatgp as hg
from catalog import CATALOG, FAST_MATERN_KERNELS
from heatgp.baselines import Comparison, Row
from heatgp.html_table import html_table
from own_manifolds import OWN

S2 = hg.Sphere(2)
X = S2.random(np.random.default_rng(0), 40)
Y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(40)
COLORS = np.array(["red", "green", "blue"])[np.abs(X).argmax(axis=1)]


class Cells(HTMLParser):
    """The text of a piece of HTML, tag by tag; every tag that opens must be closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += [data.strip()] if data.strip() else []


def cells(thing):
    return Cells(thing._repr_html_()).text


def value_of(thing, name):
    text = cells(thing)
    return text[text.index(name) + 1]


def learned(model):
    """What is below the diagram of scikit-learn, by name."""
    diagram, start, table = model._repr_html_().rpartition("<div><table>")
    assert "sk-container" in diagram
    title, *text = Cells(start + table).text
    assert title == "Parameters of the fit"
    return dict(zip(text[::2], text[1::2], strict=True))


def test_text_is_not_taken_for_html():
    html = html_table("<b>", [("<i>", "a & b")], ["<u>"], ["<script>"])
    assert Cells(html).text == ["<b>", "<u>", "<i>", "a & b", "<script>"]


@pytest.mark.parametrize("manifold", [*CATALOG, *OWN], ids=repr)
def test_manifolds(manifold):
    text = cells(manifold)
    assert text[0] == repr(manifold)
    assert value_of(manifold, "dimension") == str(manifold.dim)
    assert str(manifold.shape) in value_of(manifold, "a point")
    assert text[-1] == type(manifold).__doc__.strip().splitlines()[0]


def test_a_manifold_without_a_docstring():
    class Line(hg.Manifold):
        shape, dim = (1,), 1
        noise = exp = random = defect = None

    assert cells(Line())[1:] == ["dimension", "1", "a point", "real array of shape (1,)"]


@pytest.mark.parametrize("case", FAST_MATERN_KERNELS[:3], ids=repr)
def test_kernels(case):
    kernel = case.build()
    assert cells(kernel)[0] == repr(kernel)
    assert value_of(kernel, "manifold") == repr(case.manifold)
    assert value_of(kernel, "parameters") == "time"
    assert value_of(kernel, "times") == "0 to inf"
    few = hg.Smooth(paths=500, rng=0, cache=False).kernel(S2)
    assert value_of(few, "values") == "estimated: see standard_error"
    assert value_of(hg.heat_kernel(S2), "values") == "exact to rounding"


def test_fitted_models_show_what_they_have_learned():
    unfitted = hg.GPRegressor(S2)
    assert "Parameters of the fit" not in unfitted._repr_html_()
    gp = hg.GPRegressor(S2).fit(X, Y)
    for name in ("time_", "amplitude_", "noise_"):
        assert float(learned(gp)[name]) == pytest.approx(getattr(gp, name), rel=1e-3)
    assert gp._repr_mimebundle_()["text/html"].count("Parameters of the fit") == 1
    assert gp._repr_mimebundle_()["text/plain"] == repr(gp)
    with sklearn.config_context(display="text"):
        assert not hasattr(gp, "_repr_html_")
        assert list(gp._repr_mimebundle_()) == ["text/plain"]
    assert "Parameters of the fit" not in make_pipeline(FunctionTransformer(), unfitted)._repr_html_()


@pytest.mark.parametrize(
    "model, y",
    [
        (hg.GPRegressor(S2, time=1.0, amplitude=1.0, noise=np.full(40, 0.1)), Y),
        (hg.GPRegressor(S2, time=1.0), np.stack((Y, -Y), axis=1)),
        (hg.GPRegressor(S2, likelihood="student-t", time=1.0), Y),
        (hg.GPRegressor(hg.Product(S2), kernel=[hg.heat_kernel(S2)], time=1.0, smoothness=1.5), Y),
        (hg.GPClassifier(S2, amplitude=4.0), COLORS),
        (hg.GPClassifier(S2, amplitude=4.0), Y > 0),
        (hg.GPRegressor(S2, time=1.0, amplitude=1.0, noise=0.1, inference="sparse"), Y),
    ],
)
def test_models_of_all_kinds(model, y):
    found = learned(model.fit(X, y))
    assert float(found["log evidence"]) == pytest.approx(model.log_marginal_likelihood(), abs=1e-3)
    assert len(found["time_"].split(", ")) == np.size(model.time_)
    assert "weights_" not in found


def test_precomputed_kernels_have_no_time():
    gram = hg.heat_kernel(S2)(X, time=0.5)
    for model, y in [
        (hg.GPRegressor(kernel="precomputed"), Y),
        (hg.GPClassifier(kernel="precomputed", amplitude=4.0), COLORS),
    ]:
        found = learned(model.fit(gram, y))
        assert "time_" not in found
        assert "amplitude_" in found


def test_summaries_and_comparisons():
    gp = hg.GPRegressor(S2, time=0.5, amplitude=1.0, noise=0.01).fit(X, Y)
    summary = gp.summary()
    assert cells(summary)[:7] == [summary.title, "parameter", "value", "90 % interval", "time", "0.5", "given"]
    assert cells(summary)[-1] == str(summary).splitlines()[-1]
    table = Comparison((Row("rbf", "rmse", 0.5, 0.25, 5),), "regression on Sphere(2)", ("nearest: left out.",))
    assert cells(table) == ["regression on Sphere(2)", "rmse", "rbf", "0.5 (0.25)", "nearest: left out."]
