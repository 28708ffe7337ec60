"""What combines with what: the table of heatgp.estimators.plan, which docs/api.md prints. Each cell is tried."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import heatgp as hg
from heatgp.errors import InvalidInput, Unsupported
from heatgp.estimators import plan

S2 = hg.Sphere(2)
RNG = np.random.default_rng(0)
X, Z = S2.random(RNG, 24), RNG.normal(size=(24, 1))
Y = X[:, 0] + 0.1 * RNG.standard_normal(24)
FIXED = {"time": 0.5, "amplitude": 1.0}
NOISY = {"noise": 0.05, **FIXED}

MODELS = {
    "normal": (hg.GPRegressor(S2, **NOISY), Y),
    "Student-t": (hg.GPRegressor(S2, likelihood="student-t", **NOISY), Y),
    "Poisson": (hg.GPRegressor(S2, likelihood="poisson", **FIXED), RNG.poisson(np.exp(X[:, 0]))),
    "several outputs": (hg.GPRegressor(S2, **NOISY), np.column_stack([Y, Y**2])),
    "sparse": (hg.GPRegressor(S2, inference="sparse", inducing=10, **NOISY), Y),
    "Student-t or Poisson, sparse": (
        hg.GPRegressor(S2, inference="sparse", inducing=10, likelihood="poisson", **FIXED),
        RNG.poisson(np.exp(X[:, 0])),
    ),
    "local": (hg.GPRegressor(S2, inference="local", **NOISY), Y),
    "two classes": (hg.GPClassifier(S2, label_noise=0.0, **FIXED), Y > 0),
    "more classes": (hg.GPClassifier(S2, label_noise=0.0, **FIXED), np.arange(24) % 3),
    "two, sparse": (hg.GPClassifier(S2, inference="sparse", inducing=10, label_noise=0.0, **FIXED), Y > 0),
    "more, sparse": (hg.GPClassifier(S2, inference="sparse", inducing=10, label_noise=0.0, **FIXED), np.arange(24) % 3),
}
HEAT, MATERN = hg.heat_kernel(S2), hg.matern_kernel(S2, smoothness=1.5)
COLUMNS = {name: [name] for name in list(MODELS)[:7]}
COLUMNS |= {"classes": ["two classes", "more classes"], "classes, sparse": ["two, sparse", "more, sparse"]}


def with_option(model, y, X=X, **options):
    return type(model)(**model.get_params(deep=False) | options).fit(X, y)


def fitted(ask):
    return lambda model, y: ask(model.fit(X, y), y)


ROWS = {
    "fit(sample_weight=)": lambda model, y: model.fit(X, y, sample_weight=np.linspace(1, 2, 24)),
    "fit(covariates=)": lambda model, y: model.fit(X, y, covariates=Z).predict(X, covariates=Z),
    "fit(exposure=)": lambda model, y: model.fit(X, y, exposure=np.linspace(1, 2, 24)),
    "noise=array": lambda model, y: with_option(model, y, noise=np.full(24, 0.05)),
    "noise_bounds=": lambda model, y: with_option(model, y, noise=None, noise_bounds=(0.01, 1.0)),
    "coefficient_scale=": lambda model, y: with_option(model, y, mean="linear", coefficient_scale=1.0),
    'likelihood="student-t"': lambda model, y: with_option(model, y, likelihood="student-t"),
    'mean="zero"': lambda model, y: with_option(model, y, mean="zero"),
    "mean=number": lambda model, y: with_option(model, y, mean=0.5),
    'mean="linear"': lambda model, y: with_option(model, y, mean="linear"),
    "mean=function": lambda model, y: with_option(model, y, mean=lambda points: points[:, :1]),
    'smoothness="learn"': lambda model, y: with_option(model, y, smoothness="learn"),
    'kernel="precomputed"': lambda model, y: with_option(
        model, y, X=np.exp(X @ X.T), manifold=None, kernel="precomputed", time=None
    ),
    "kernel=k1 + k2": lambda model, y: with_option(model, y, kernel=HEAT + MATERN, time=(0.5, 0.5)),
    "normalize=False": lambda model, y: with_option(model, y, normalize=False),
    "partial_fit": lambda model, y: model.partial_fit(X, y),
    "partial_fit after fit": fitted(lambda gp, y: gp.partial_fit(X, y)),
    'integrate="grid"': lambda model, y: with_option(model, y, integrate="grid", amplitude=None),
    "predict(return_std=True)": fitted(lambda gp, y: gp.predict(X, return_std=True)),
    "predict(return_cov=True)": fitted(lambda gp, y: gp.predict(X, return_cov=True)),
    "predict_proba, decision_function": fitted(lambda gp, y: (gp.predict_proba(X), gp.decision_function(X))),
    "predict_interval": fitted(lambda gp, y: gp.predict_interval(X)),
    "log_density": fitted(lambda gp, y: gp.log_density(X, y)),
    "nlpd_scorer": fitted(lambda gp, y: hg.nlpd_scorer(gp, X, y)),
    "gradient": fitted(lambda gp, y: gp.gradient(X)),
    "sample_y": fitted(lambda gp, y: gp.sample_y(X)),
    "sample_functions": fitted(lambda gp, y: gp.sample_functions()(X)),
    "loo": fitted(lambda gp, y: gp.loo()),
    "summary": fitted(lambda gp, y: str(gp.summary())),
    "plot": fitted(lambda gp, y: gp.plot()),
    "kernel_error": fitted(lambda gp, y: gp.kernel_error(X)),
    "log_marginal_likelihood(gradient=True)": fitted(lambda gp, y: gp.log_marginal_likelihood(gradient=True)),
}


def works(row, name):
    model, y = MODELS[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ROWS[row](clone(model), y)
    except (InvalidInput, Unsupported):
        return False
    except (AttributeError, TypeError) as error:  # the class has no such method or argument
        if not re.search(r"'GP\w+' object has no attribute|GP\w+\.\w+\(\) got an unexpected keyword", str(error)):
            raise
        return False
    return True


def test_the_table_has_all_rows_and_columns():
    assert list(plan.PLAN) == list(ROWS)
    assert list(COLUMNS) == list(plan.KINDS)
    assert plan.table() in (Path(__file__).parents[1] / "docs" / "api.md").read_text()


@pytest.mark.parametrize("row", ROWS)
def test_each_cell_is_as_the_table_says(row):
    tried = {column: {works(row, model) for model in models} for column, models in COLUMNS.items()}
    assert tried == {column: {column not in plan.PLAN[row]} for column in COLUMNS}
