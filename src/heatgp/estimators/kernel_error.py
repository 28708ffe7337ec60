"""How much of a prediction's uncertainty comes from the Monte Carlo error of its kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..gp.classification import condition_classifier, one_against_rest
from ..gp.kernel import Normalized
from ..gp.regression import condition
from ..manifolds.rows import as_points

REPLICATES = 4


@dataclass(frozen=True)
class KernelError:
    """Standard error of each prediction due to the kernel, beside the spread that the model itself predicts."""

    error: np.ndarray
    spread: np.ndarray

    @property
    def share(self) -> float:
        """Root mean square of the kernel's error over that of the predictive standard deviation."""
        if not self.error.any():
            return 0.0
        error, spread = (float(np.sqrt(np.mean(np.square(x)))) for x in (self.error, self.spread))
        return error / spread if spread > 0 else np.inf

    def __str__(self) -> str:
        if not self.error.any():
            return "the kernel is exact: no part of the predictive error comes from it"
        verdict = "more paths would change the predictions" if self.share > 0.2 else "more paths would change little"
        return f"the kernel's Monte Carlo error is {100 * self.share:.1f} % of the predictive spread: {verdict}"


def kernel_error(model: Any, X: Any) -> KernelError:
    """Predict with kernels made of disjoint parts of the paths, at the fitted parameters, and compare.

    The kernel of one of R disjoint parts has R times the variance of the whole, so that the standard error of the
    prediction is the standard deviation over the parts divided by √R. The spread of a regression is the standard
    deviation of f, that of a classification √(p (1 - p)), the largest over the classes as is the error.
    """
    if isinstance(model.kernel, str) and model.kernel == "precomputed":
        raise Unsupported("a precomputed kernel does not say how it was estimated, so its error is not known.")
    points = as_points(model.manifold, X)
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(points)
        spread = np.sqrt(probabilities * (1 - probabilities)).max(axis=1, initial=0.0)
    else:
        spread = model.predict(points, return_std=True)[1]
    normalized = isinstance(model.kernel_, Normalized)
    parts = (model.kernel_.kernel if normalized else model.kernel_).replicates(REPLICATES)
    if not parts:
        return KernelError(np.zeros(len(points)), spread)
    predictions = [_predict(model, Normalized(part) if normalized else part, points) for part in parts]
    error = np.std(predictions, axis=0, ddof=1) / np.sqrt(len(parts))
    return KernelError(error.max(axis=1), spread)


def _predict(model: Any, kernel: Any, points: np.ndarray) -> np.ndarray:
    """The model's predictions with another kernel and the same parameters: (N, 1), or (N, classes)."""
    if not hasattr(model, "classes_"):
        old = model.posterior_
        return condition(kernel, old.latent.X, old.y, old.params, model.mean).mean(points)[:, None]
    one = [
        condition_classifier(kernel, old.latent.X, old.y, old.params, model.inference).probability(points)
        for old in model.posteriors_
    ]
    return one[0][:, None] if len(one) == 1 else one_against_rest(np.stack(one, axis=1))
