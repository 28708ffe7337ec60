"""Predictions scored by their log density, for cross-validation with scikit-learn."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..errors import InvalidInput
from ..gp.scores import classification_scores, negative_log_density
from .regressor import GPRegressor


def nlpd_scorer(estimator: Any, X: Any, y: Any, *, covariates: Any = None, exposure: Any = None) -> float:
    """The mean log density of observations, or the mean log probability of labels: a scorer of scikit-learn.

    It is minus the negative log predictive density (NLPD), or minus the cross entropy: greater is better. Other than
    R² or accuracy it sees whether the stated uncertainty is right.

    Parameters
    ----------
    estimator : a fitted regressor or classifier, or a pipeline or search of one. Regressors of other libraries must
        have `predict(X, return_std=True)` with the standard deviation of observations; classifiers `predict_proba`.
    X, y : the data to score.
    covariates, exposure : default None. Those of the data to score, where a GPRegressor was fitted with them. Functions
        of scikit-learn that take `scoring=` do not pass them on: docs/api.md has the few lines of a cross-validation.

    Returns
    -------
    float, in nats. A label that was not in the training data counts as one of probability 1e-15.

    Raises
    ------
    InvalidInput : if a GPRegressor was fitted with covariates or exposure and they are not given here, or if they are
        given to another estimator.

    Examples
    --------
    >>> import heatgp as hg
    >>> from sklearn.model_selection import cross_val_score
    >>> X = hg.Sphere(2).random(np.random.default_rng(0), 60)
    >>> gp = hg.GPRegressor(hg.Sphere(2), time=0.5, amplitude=1.0, noise=0.01)
    >>> bool(cross_val_score(gp, X, X[:, 0], scoring=hg.nlpd_scorer, cv=3).min() > 0)
    True
    """
    given = {name: value for name, value in (("covariates", covariates), ("exposure", exposure)) if value is not None}
    classifies = is_classifier(estimator)
    while not classifies and (isinstance(estimator, Pipeline) or hasattr(estimator, "best_estimator_")):
        if isinstance(estimator, Pipeline):
            X, estimator = estimator[:-1].transform(X) if len(estimator) > 1 else X, estimator[-1]
        else:
            estimator = estimator.best_estimator_
    if isinstance(estimator, GPRegressor):
        return float(np.mean(estimator.log_density(X, y, **given)))
    for name in given:
        raise InvalidInput(f"{name} is for GPRegressor, and {type(estimator).__name__} has none. Leave it None.")
    if classifies:
        return -classification_scores(estimator.classes_, estimator.predict_proba(X), y)["cross_entropy"]
    mean, deviation = estimator.predict(X, return_std=True)
    return -negative_log_density(y, mean, np.square(deviation))
