"""Labels that do not depend on the points: the model that a Gaussian process has to beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, gammaln, logsumexp, ndtri, softmax
from scipy.stats import qmc

from ..covariance import Array
from ..threads import on_one_thread
from .mixture import Mixture
from .objective import Objective, Place, values_at
from .parameters import log_density

DECIDED = 15.0
"""Log odds at the best parameters from which on labels depend on the points, however few parameters do as well.

Labels do not depend on the points where the odds are as much against it, and no other parameters are better.
"""
PLACES = 32
"""Parameters over which the evidence is averaged; fewer for more than `MANY` labels times functions, but four."""
MANY = 1000
NEGLIGIBLE = -5.0
"""Log odds of a signal below which other parameters than the best ones do not matter."""
LEARNED = 1 / 3
"""The part of its prior that a learned parameter has left, where labels have a signal."""


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

    def latent(self, points: Any) -> tuple[Array, Array]:
        """Those of a function f with Phi(f) the probability of the label 1."""
        return ndtri(self.probability(points)), np.zeros(len(points))

    def loo_probability(self) -> Array:
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


@on_one_thread(lambda mixture, *others: len(mixture.posteriors[0].X))
def with_no_signal(
    mixture: Mixture,
    constant: NoSignal,
    log_marginal_likelihood: float,
    objective: Callable[[], tuple[Objective, Array]],
    condition: Callable[[Objective, Array], Any],
    values: Callable[[Objective, Array], list[Place]] | None = None,
) -> tuple[Mixture, float]:
    """A mixture that allows for labels without signal, and the probability that they have one.

    Both models have the prior probability one half. Where it is in doubt, many parameters explain the labels as well as
    the best ones, and predict less. The evidence is averaged over some of them, and the mixture has the heavier half
    of these. The best ones stand for what `LEARNED` leaves of the priors.

    Parameters
    ----------
    mixture : Mixture, the Gaussian process at the best parameters, or at several, which are kept.
    constant : NoSignal.
    log_marginal_likelihood : number, the evidence of the Gaussian process at the best parameters.
    objective : function that returns the evidence with priors as a function of the log parameters, and their bounds.
    condition : function of this function and of log parameters that returns the posterior there.
    values : function, default None: `loosely`. Log evidences at several log parameters, see `evidences`. It is given
        where the best parameters are those of some labels, and others may be better for all.
    """
    odds = log_marginal_likelihood - constant.log_marginal_likelihood
    if odds > DECIDED:
        return mixture, 1.0
    if odds > -DECIDED or values is not None:
        function, box = objective()
        logs, places = evidences(function, box, int(constant.counts.sum()), values or loosely)
        near = LEARNED ** len(box)
        best, rest = log_marginal_likelihood + np.log(near), logsumexp(logs, b=(1 - near) / len(logs))
        odds = float(np.logaddexp(best, rest) - constant.log_marginal_likelihood)
        if len(mixture.weights) == 1 and odds > NEGLIGIBLE and len(logs) > 1:
            heaviest = np.argsort(-logs)[: len(logs) // 2]
            share = expit(best - rest)
            others = Mixture.over(partial(condition, function), places[heaviest], softmax(logs[heaviest]))
            weights = np.append(share, (1 - share) * others.weights)
            mixture = Mixture([*mixture.posteriors, *others.posteriors], weights)
    signal = float(expit(odds))
    weights = np.append(signal * mixture.weights, 1 - signal)
    return Mixture([*mixture.posteriors, constant], weights), signal


def loosely(objective: Objective, places: Array) -> list[Place]:
    """Log evidences at log parameters, from the objective's own inference; without the priors."""
    return [
        (value - log_density(objective.laws, objective.names, z)[0], z) for value, z in values_at(objective, places)
    ]


def evidences(
    objective: Objective,
    box: Array,
    count: int,
    values: Callable[[Objective, Array], list[Place]] = loosely,
) -> tuple[Array, Array]:
    """Log evidences at log parameters that stand for the priors, which end at the bounds; flat ones are uniform there.

    The places are of a Sobol sequence, fewer for many labels. Labels with little signal change little along it; with
    much signal the average is right to about one, and far above that of no signal.

    Parameters
    ----------
    objective : Objective, whose coordinates and priors count.
    box : array (d, 2), the bounds of the log parameters.
    count : int, the number of labels.
    values : function of the objective and of several log parameters that returns pairs of a log evidence of all labels,
        without the priors, and the log parameters; -inf where the inference fails.
    """
    size = count * (objective.likelihood(box[:, 0]).functions or 1)
    unit = qmc.Sobol(len(box), scramble=False).random(max(PLACES >> (size // MANY), 4))
    unit += 0.5 / len(unit)
    places = np.empty(unit.shape)
    for k, name in enumerate(objective.names):
        law, (low, high), u = objective.laws.get(name), box[k], unit[:, k]
        places[:, k] = low + u * (high - low) if law is None else law.log_quantile(u, low, high)
    found = values(objective, places[np.argsort(places[:, objective.names.index("amplitude")])])
    converged = [pair for pair in found if np.isfinite(pair[0])] or found[:1]
    return np.array([value for value, _ in converged]), np.array([z for _, z in converged])
