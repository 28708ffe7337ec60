"""Methods by name, and their scores with what pictures need."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..baselines import baseline, evaluate
from ..baselines.estimators import Task
from ..errors import Unsupported
from ..estimators import GPClassifier, GPRegressor
from ..heat.kernel import HeatKernel
from ..heat.methods import heat_kernel
from ..manifolds import Manifold
from .work import Scores

SIMULATED = ("ball", "strip", "smooth")
"""Kernels from paths; `heatgp` takes the best kernel there is, on these manifolds the exact one."""


def model(method: str, manifold: Manifold, task: Task, paths: int = 0) -> Any:
    """The estimator: `heatgp`, one of SIMULATED (our process with the kernel from so many paths), or a baseline."""
    process = GPRegressor if task == "regression" else GPClassifier
    if method == "heatgp":
        return process(manifold)
    if method in SIMULATED:
        return process(manifold, kernel=simulated(manifold, method, paths))
    return baseline(method, manifold, task)


@cache
def simulated(manifold: Manifold, method: Any, paths: int) -> HeatKernel:
    """One simulation in each process, for all fits."""
    return heat_kernel(manifold, method, paths=paths, rng=0)


def regression(estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, keep: bool) -> Scores:
    """rmse and seconds; with `keep` the predictions, with their standard deviation where there is one."""
    scores: Scores = evaluate(estimator, X, y, X_test, y_test, task="regression")
    scores.pop("nlpd", None)
    if keep:
        try:
            mean, std = estimator.predict(X_test, return_std=True)
        except Unsupported:
            mean, std = estimator.predict(X_test), np.zeros(len(X_test))
        scores |= {"prediction": mean.tolist(), "std": std.tolist()}
    return scores


def classification(estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Scores:
    """cross_entropy, auc, error and seconds, and the probability of the class 1 with the truth."""
    scores: Scores = evaluate(estimator, X, y, X_test, y_test, task="classification")
    return {
        **scores,
        "probability": estimator.predict_proba(X_test)[:, 1].tolist(),
        "truth": np.asarray(y_test).tolist(),
    }
