"""Methods by name, and their scores with the predictions that pictures show."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..baselines import baseline
from ..baselines.comparison import process, timed_prediction
from ..baselines.estimators import Task
from ..gp.scores import classification_scores, rmse
from ..heat.kernel import HeatKernel
from ..heat.methods import heat_kernel
from ..manifolds import Manifold
from .experiment import Scores

SIMULATED = ("ball", "strip", "smooth")
"""Kernels from paths; `heatgp` takes the best kernel there is, on these manifolds the exact one."""


def model(method: str, manifold: Manifold, task: Task, paths: int = 0) -> Any:
    """The estimator: `heatgp`, one of SIMULATED (our process, its kernel from `paths` paths), or a baseline."""
    if method in SIMULATED:
        return process(manifold, task, time="shared", kernel=simulated(manifold, method, paths))
    return process(manifold, task, time="shared") if method == "heatgp" else baseline(method, manifold, task)


@cache
def simulated(manifold: Manifold, method: Any, paths: int) -> HeatKernel:
    """One simulation in each process, for all fits."""
    return heat_kernel(manifold, method, paths=paths, rng=0)


def regression(estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, keep: bool) -> Scores:
    """rmse and seconds; with `keep` the predictions and their standard deviation, zero where there is none."""
    mean, std, seconds = timed_prediction(estimator, X, y, X_test, "regression")
    scores: Scores = {"rmse": rmse(y_test, mean), "seconds": seconds}
    if keep:
        scores |= {"prediction": mean.tolist(), "std": (0 * mean if std is None else std).tolist()}
    return scores


def classification(estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Scores:
    """cross_entropy, auc, error and seconds, and the probability of class 1 with the true class."""
    probabilities, _, seconds = timed_prediction(estimator, X, y, X_test, "classification")
    return {
        **classification_scores(estimator.classes_, probabilities, y_test),
        "seconds": seconds,
        "probability": probabilities[:, 1].tolist(),
        "truth": np.asarray(y_test).tolist(),
    }


def pooled(scores: Sequence[Scores]) -> tuple[np.ndarray, np.ndarray]:
    """Predicted probabilities and true classes of several classifications together."""
    return np.concatenate([s["probability"] for s in scores]), np.concatenate([s["truth"] for s in scores])
