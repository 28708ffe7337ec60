"""Labels that do not depend on the points: the model that a Gaussian process has to beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, gammaln, ndtri

from ..covariance import Array
from .integration import curvature
from .latent_objective import LatentObjective
from .mixture import Mixture

DECIDED = 20.0
"""Log odds at the best parameters from which on labels depend on the points, however few parameters do as well.

As many against it, were all parameters within the bounds as good, and they do not.
"""


@dataclass(frozen=True)
class NoSignal:
    """Labels whose law is the same at all points: the shares of the classes have the uniform law.

    It stands beside posteriors of the same labels in a `Mixture`, and has their methods.
    """

    kernel: Any  # that of the other posteriors; not used
    y: Array  # -1 and 1, or the numbers of several classes
    counts: Array  # (classes,), labels of each class

    @classmethod
    def of(cls, posterior: Any, classes: int | None) -> NoSignal:
        """The model of the same labels; `classes` is None for -1 and 1."""
        y = posterior.y
        numbers = (y > 0).astype(int) if classes is None else y
        return cls(posterior.kernel, y, np.bincount(numbers, minlength=classes or 2))

    @property
    def log_marginal_likelihood(self) -> float:
        """log p(y): the integral of the product of the shares over all shares.

        >>> round(NoSignal(None, np.array([1.0]), np.array([0, 1])).log_marginal_likelihood, 4)  # one of two classes
        -0.6931
        """
        number, classes = self.counts.sum(), len(self.counts)
        return float(gammaln(classes) + gammaln(self.counts + 1).sum() - gammaln(number + classes))

    def probabilities(self, points: Any, label_noise: bool = True) -> Array:
        """Of several classes, (M, classes): the rule of succession."""
        return np.tile((self.counts + 1) / (self.counts.sum() + len(self.counts)), (len(points), 1))

    def probability(self, points: Any) -> Array:
        return self.probabilities(points)[:, 1]

    def moments(self, points: Any, noise: Any = False) -> tuple[Array, Array]:
        """Those of a function f with Phi(f) the probability of the label 1."""
        return ndtri(self.probability(points)), np.zeros(len(points))

    def loo(self) -> Array:
        """The probabilities of each label given all others: of the label 1, (N,), or of several classes."""
        several = self.y.dtype.kind != "f"
        own = np.eye(len(self.counts))[self.y if several else (self.y > 0).astype(int)]
        rows = (self.counts - own + 1) / (self.counts.sum() - 1 + len(self.counts))
        return rows if several else rows[:, 1]


def processes(mixture: Mixture) -> Mixture:
    """The Gaussian processes of a mixture alone."""
    kept = [k for k, posterior in enumerate(mixture.posteriors) if not isinstance(posterior, NoSignal)]
    weights = mixture.weights[kept]
    return Mixture([mixture.posteriors[k] for k in kept], weights / weights.sum())


def with_no_signal(
    mixture: Mixture,
    constant: NoSignal,
    log_posterior: float,
    objective: Callable[[], tuple[Any, Array, Array]],
) -> tuple[Mixture, float]:
    """A mixture that allows for labels without signal, and the probability that they have one.

    Both models have the prior probability one half. The evidence of the Gaussian process is the integral of the
    density of labels and parameters over the parameters, from its height and curvature at the best ones.

    Reference: Rasmussen & Williams (2006), eq. 5.7.

    Parameters
    ----------
    mixture : Mixture, the Gaussian process at one or several parameters.
    constant : NoSignal.
    log_posterior : number, the log density of labels and parameters at the best parameters.
    objective : function that returns this density as a function of the log parameters, the best ones, and the bounds,
        where the priors end.
    """
    if log_posterior - constant.log_marginal_likelihood > DECIDED:
        return mixture, 1.0
    function, best, box = objective()
    odds = log_posterior - constant.log_marginal_likelihood
    decided = odds + log_volume(function, best, box, flat=True) < -DECIDED
    signal = float(expit(odds + log_volume(function, best, box, flat=decided)))
    weights = np.append(signal * mixture.weights, 1 - signal)
    return Mixture([*mixture.posteriors, constant], weights), signal


def log_volume(objective: LatentObjective, best: Array, box: Array, flat: bool = False) -> float:
    """The log of the integral of exp(objective) over the box, less the objective at its best place.

    It is that of a normal law with the same curvature, but not longer than the box. Priors have the mass one in the
    box; flat ones are uniform. With `flat` it is the most that it can be, without curvature.
    """
    values = np.zeros(len(box)) if flat else np.linalg.eigvalsh(curvature(objective, best, box))
    widths = np.ptp(box, axis=1)
    lengths = np.sqrt(2 * np.pi / np.maximum(values, 2 * np.pi / widths.max(initial=1.0) ** 2))
    laws = [objective.laws.get(name) for name in objective.names]
    masses = [w if law is None else law.mass(*np.exp(side)) for law, side, w in zip(laws, box, widths)]
    return float(np.log(lengths).sum() - np.log(masses).sum())
