"""Several classes: which model is the best calibrated on new data?

Labels of three classes (60 points) and of six (150 points) on S^2, CP^2, SO(3) and Gr(4, 2): clouds around random
centres that overlap or not, and the largest of functions drawn from the model with small and large variance. Models are
asked about 600 new points. Compared are, with time and amplitude learned by each,

- joint: the multinomial probit, expectation propagation with the covariance between classes (the default);
- one-vs-rest: one binary model for each class, rows divided by their sum;
- both without a constant, label noise and priors ("plain"), beside two others of that kind: the same likelihood with
  functions that are independent in the posterior (Seeger & Jordan 2004), and softmax with Laplace's approximation
  (Rasmussen & Williams 2006, Alg. 3.3 and 3.4).

Printed are means over the tasks: cross entropy, with one standard error of its difference to that of the joint model;
confidence (the probability of the predicted class) less accuracy; the mean of its absolute value over tasks; the
expected calibration error (ten bins of equally many points); accuracy; seconds of processor time. Then the reliability
of the joint model and of one-vs-rest over all tasks: confidence and accuracy in bins.

    OMP_NUM_THREADS=1 python benchmarks/multiclass.py [--seeds 1]
    OMP_NUM_THREADS=1 python benchmarks/multiclass.py --plain       # all models, on the tasks of three classes
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp
from sklearn.multiclass import OneVsRestClassifier

import heatgp as hg
from heatgp.errors import NotConverged, NotPositiveDefinite
from heatgp.estimators.time_bounds import time_bounds
from heatgp.gp.approximation import cavity
from heatgp.gp.ep import DAMPING, evidence, matching_sites, next_sites
from heatgp.gp.factors import Dense
from heatgp.gp.kernels import Normalized
from heatgp.gp.scores import cross_entropy

MANIFOLDS = (hg.Sphere(2), hg.ComplexProjective(2), hg.SpecialOrthogonal(3), hg.Grassmann(4, 2))
KINDS = ("overlapping clouds", "separate clouds", "functions, variance 4", "functions, variance 100")
SIZES = ((60, 3), (150, 6))
NEW = 600
BINS = 10
PLAIN = {"mean": "zero", "label_noise": 0, "priors": None}


def task(manifold, kind, number, classes, rng):
    """Points and labels, all classes among the first `number`."""
    total = number + NEW
    if kind.endswith("clouds"):
        y = rng.integers(classes, size=total)
        X = manifold.random(rng, classes)[y]
        spread = (1.2 if kind.startswith("overlapping") else 0.45) / np.sqrt(manifold.dim)
        for _ in range(20):
            z = rng.standard_normal(X.shape) + (1j * rng.standard_normal(X.shape) if np.iscomplexobj(X) else 0)
            X = manifold.exp(X, manifold.noise(X, z) * spread / np.sqrt(20))
    else:
        X = manifold.random(rng, total)
        K = float(kind.split()[-1]) * Normalized(hg.heat_kernel(manifold)).pairs(X).at(0.3).value
        values, vectors = np.linalg.eigh(K)
        f = vectors * np.sqrt(np.maximum(values, 0)) @ rng.standard_normal((total, classes))
        y = (f + rng.standard_normal(f.shape)).argmax(axis=1)
    known = np.unique(y[:number])
    kept = np.concatenate([np.arange(number), number + np.flatnonzero(np.isin(y[number:], known))])
    return X[kept], np.searchsorted(known, y[kept])


def library(manifold, X, y, new, **options):
    """The probabilities of `GPClassifier`."""
    return hg.GPClassifier(manifold, **options).fit(X, y).predict_proba(new)


def one_vs_rest(manifold, X, y, new, **options):
    """Those of one model for each class against the rest."""
    return OneVsRestClassifier(hg.GPClassifier(manifold, **options)).fit(X, y).predict_proba(new)


def learned(approximate, manifold, X, y, new):
    """Probabilities of an approximation at the time and amplitude of its greatest evidence."""
    kernel = Normalized(hg.heat_kernel(manifold))
    pairs, classes = kernel.pairs(X), int(y.max()) + 1
    box = np.log([np.ravel(time_bounds(hg.heat_kernel(manifold), X)), (1e-2, 1e4)])

    def loss(z):
        try:
            return -approximate(np.exp(z[1]) * pairs.at(np.exp(z[0])).value, y, classes)[0]
        except (NotConverged, NotPositiveDefinite, linalg.LinAlgError):
            return 1e10

    grid = [np.array([t, a]) for t in np.linspace(*box[0], 6) for a in np.linspace(*box[1], 5)[1:-1]]
    best = minimize(loss, min(grid, key=loss), method="L-BFGS-B", bounds=box, options={"eps": 1e-3, "ftol": 1e-7}).x
    time, amplitude = np.exp(best)
    _, predict = approximate(amplitude * pairs.at(time).value, y, classes)
    return predict(amplitude * kernel.pairs(new, X).at(time).value, amplitude)


def softmax_laplace(K, y, classes):
    """The evidence, and predictions by 400 samples. Reference: Rasmussen & Williams (2006), Alg. 3.3 and 3.4."""
    seen = np.arange(classes)[:, None] == y
    f = a = np.zeros((classes, len(y)))

    def height(f, a):
        return -0.5 * np.vdot(a, f) + f[seen].sum() - logsumexp(f, axis=0).sum()

    for _ in range(100):
        p = np.exp(f - logsumexp(f, axis=0))
        factors = [Dense.of(K, one) for one in p]
        E = np.stack([factor.solve(np.eye(len(y))) for factor in factors])
        M = linalg.cholesky(E.sum(axis=0), lower=True)
        b = p * f - p * (p * f).sum(axis=0) + seen - p
        c = np.einsum("cij,cj->ci", E, b @ K)
        target = b - c + E @ linalg.cho_solve((M, True), c.sum(axis=0))
        if np.abs(target @ K - f).max() < 1e-7 * (1 + np.abs(f).max()):
            break
        step = 1.0
        while height(f + step * (target @ K - f), a + step * (target - a)) < height(f, a) and step > 1e-6:
            step /= 2
        f, a = f + step * (target @ K - f), a + step * (target - a)
    else:
        raise NotConverged("Newton's method did not reach the mode.")

    def predict(cross, prior):
        pulls = E @ cross.T
        white = np.stack([linalg.solve_triangular(M, pull, lower=True) for pull in pulls], axis=-1).swapaxes(0, 1)
        covariance = white.swapaxes(1, 2) @ white
        covariance += np.maximum(prior - np.einsum("mi,cim->mc", cross, pulls), 1e-9)[:, :, None] * np.eye(classes)
        draws = np.random.default_rng(0).standard_normal((400, classes))
        f = ((seen - p) @ cross.T).T[:, None] + draws @ np.linalg.cholesky(covariance).swapaxes(1, 2)
        return np.exp(f - logsumexp(f, axis=2, keepdims=True)).mean(axis=1)

    return height(f, a) - 0.5 * sum(x.log_det for x in factors) - np.log(np.diagonal(M)).sum(), predict


def by_integration(y, mean, variance):
    """log Z of the multinomial probit for independent functions, and its derivatives, by 128 nodes."""
    m, T = mean.T, np.sqrt(1 + variance.T)  # (N, classes)
    low, high = (m - 8 * T).max(axis=1), (m + 8 * T).max(axis=1)
    node, weight = np.polynomial.legendre.leggauss(128)
    s = low[:, None] + (high - low)[:, None] * (node + 1) / 2
    z = (s[..., None] - m[:, None]) / T[:, None]
    own = np.arange(m.shape[1]) == y[:, None]
    log_phi = np.where(own[:, None], 0.0, log_ndtr(z))
    normal = np.where(own[:, None], -0.5 * z**2 - np.log(T[:, None] * np.sqrt(2 * np.pi)), 0.0)
    terms = (log_phi + normal).sum(axis=2) + np.log(weight * (high - low)[:, None] / 2)
    log_z = logsumexp(terms, axis=1)
    p = np.exp(terms - log_z[:, None])[..., None]
    h = np.where(own[:, None], 0.0, np.exp(-0.5 * z**2 - log_phi) / np.sqrt(2 * np.pi))
    slope, bend = -h / T[:, None], h * (z + h) / T[:, None] ** 2
    slope, bend = (
        np.where(own[:, None], -sign * a.sum(axis=2, keepdims=True), a) for a, sign in ((slope, 1), (bend, -1))
    )
    average = (p * slope).sum(axis=1)
    curvature = (p * bend).sum(axis=1) - (p * (slope - average[:, None]) ** 2).sum(axis=1)
    return log_z, average.T, np.maximum(curvature.T, 0)


def independent(K, y, classes):
    """The evidence and predictions of expectation propagation whose posterior is independent over classes."""
    sites, history, change = np.zeros((2, classes, len(y))), [], np.inf
    for _ in range(200):
        factors = [Dense.of(K, one) for one in sites[0]]
        variance = np.stack([factor.marginal_variance() for factor in factors])
        mean = np.stack([factor.posterior_mean(shift) for factor, shift in zip(factors, sites[1])])
        center, spread = cavity(mean, variance, *sites)
        log_z, *derivatives = by_integration(y, center, spread)
        step, scale = matching_sites(center, spread, *derivatives) - sites, np.stack([variance, np.sqrt(variance)])
        last, change = change, np.abs(step * scale).max()
        if change < 1e-5:
            break
        history = [*(history if change < 2 * last else []), (sites, step)][-6:]
        sites = next_sites(history, scale, DAMPING)
    else:
        raise NotConverged("expectation propagation did not converge.")

    def predict(cross, prior):
        mean = (sites[1] - sites[0] * mean_at) @ cross.T
        variance = np.stack([prior - np.square(factor.whiten(cross)).sum(axis=0) for factor in factors])
        rows = [by_integration(np.full(len(cross), c), mean, np.maximum(variance, 0))[0] for c in range(classes)]
        return np.exp(np.stack(rows, axis=1))

    mean_at = mean
    return evidence(log_z, mean, variance, *sites, sum(factor.log_det for factor in factors)), predict


def scores(P, y):
    """Cross entropy, confidence less accuracy, expected calibration error, accuracy."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence), BINS)
    error = sum(abs(confidence[b].mean() - right[b].mean()) * len(b) for b in bins) / len(y)
    return cross_entropy(y, P), confidence.mean() - right.mean(), error, right.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="all models, on the tasks of three classes")
    options = parser.parse_args()
    models = {"joint": partial(library), "one-vs-rest": partial(one_vs_rest)}
    if options.plain:
        models |= {
            "joint, plain": partial(library, **PLAIN),
            "one-vs-rest, plain": partial(one_vs_rest, **PLAIN),
            "independent functions, plain": partial(learned, independent),
            "softmax, Laplace, plain": partial(learned, softmax_laplace),
        }
    warnings.simplefilter("ignore")
    found = {name: [] for name in ("shares", *models)}
    tables = {name: [] for name in models}
    sizes = SIZES[:1] if options.plain else SIZES
    for seed in range(options.seeds):
        for place, manifold in enumerate(MANIFOLDS):
            for kind in KINDS:
                for number, classes in sizes:
                    rng = np.random.default_rng([seed, place, KINDS.index(kind), number])
                    X, y = task(manifold, kind, number, classes, rng)
                    new, truth = X[number:], y[number:]
                    shares = np.bincount(y[:number]) / number
                    found["shares"].append((*scores(np.tile(shares, (len(new), 1)), truth), 0.0))
                    for name, model in models.items():
                        start = time.process_time()
                        P = model(manifold, X[:number], y[:number], new)
                        found[name].append((*scores(P, truth), time.process_time() - start))
                        tables[name].append((P.max(axis=1), P.argmax(axis=1) == truth))
                    print(manifold, kind, number, *(f"{found[name][-1][0]:.3f}" for name in found), flush=True)
    print(
        "\n| model | cross entropy | less joint | confidence - accuracy | its size | calibration error | accuracy | s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    joint = np.array(found["joint"])[:, 0]
    for name, rows in found.items():
        table = np.array(rows)
        mean, less = table.mean(axis=0), table[:, 0] - joint
        error = less.std() / np.sqrt(len(less))
        print(
            f"| {name} | {mean[0]:.3f} | {less.mean():+.3f} ± {error:.3f} | {mean[1]:+.3f} | "
            f"{np.abs(table[:, 1]).mean():.3f} | {mean[2]:.3f} | {mean[3]:.3f} | {mean[4]:.1f} |"
        )
    for name, pairs in tables.items():
        confidence, right = (np.concatenate(parts) for parts in zip(*pairs))
        bins = np.digitize(confidence, np.linspace(0, 1, BINS + 1)[1:-1])
        line = (f"{confidence[bins == b].mean():.2f}: {right[bins == b].mean():.2f}" for b in np.unique(bins))
        print(f"{name}, confidence: accuracy. ", ", ".join(line))


if __name__ == "__main__":
    main()
