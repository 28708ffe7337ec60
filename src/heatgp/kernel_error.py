"""How much of a prediction's uncertainty comes from the Monte Carlo error of its kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .gp.kernel import Normalized
from .heat.kernel import HeatKernel

REPLICATES = 4


@dataclass(frozen=True)
class KernelError:
    """Standard error of each prediction due to the kernel, beside the spread that the model itself predicts."""

    error: np.ndarray
    spread: np.ndarray

    @property
    def share(self) -> float:
        """Root mean square of the kernel's error over that of the predictive standard deviation."""
        scale = float(np.sqrt(np.mean(self.spread**2)))
        return float(np.sqrt(np.mean(self.error**2))) / scale if scale > 0 else 0.0

    def __str__(self) -> str:
        if not self.error.any():
            return "the kernel is exact: no part of the predictive error comes from it"
        verdict = "more paths would change the predictions" if self.share > 0.2 else "more paths would change little"
        return f"the kernel's Monte Carlo error is {100 * self.share:.1f} % of the predictive spread: {verdict}"


def kernel_error(model: Any, X: np.ndarray) -> KernelError:
    """Predict with kernels made of disjoint parts of the paths, at the fitted parameters, and compare.

    The kernel of R disjoint parts has R times the variance of the whole, so that the standard error of the prediction
    is the standard deviation over the parts divided by √R.
    """
    classifier = hasattr(model, "classes_")
    if classifier:
        probabilities = model.predict_proba(X)
        spread = np.sqrt(probabilities * (1 - probabilities)).max(axis=1)
    else:
        spread = model.predict(X, return_std=True)[1]
    normalized = isinstance(model.kernel_, Normalized)
    kernel: HeatKernel = model.kernel_.kernel if normalized else model.kernel_
    parts = kernel.replicates(REPLICATES)
    if not parts:
        return KernelError(np.zeros(len(X)), spread)
    predictions = np.array([_predict(model, Normalized(part) if normalized else part, X) for part in parts])
    error = predictions.std(axis=0, ddof=1) / np.sqrt(len(parts))
    return KernelError(error.max(axis=1) if error.ndim > 1 else error, spread)


def _predict(model: Any, kernel: Any, X: np.ndarray) -> np.ndarray:
    """The model's predictions with another kernel and the same parameters."""
    from .gp.classification import condition_classifier, one_against_rest
    from .gp.regression import condition

    if not hasattr(model, "classes_"):
        old = model.posterior_
        return condition(kernel, old.latent.X, old.y, old.params, model.mean).mean(X)
    one = [
        condition_classifier(kernel, old.latent.X, old.y, old.params, model.inference).probability(X)
        for old in model.posteriors_
    ]
    return one[0][:, None] if len(one) == 1 else one_against_rest(np.stack(one, axis=1))
