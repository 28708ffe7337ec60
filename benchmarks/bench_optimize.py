"""Minima on manifolds by 200 evaluations: ours beside random search, CMA-ES, and BoTorch on the embedding.

The protocol is that of Jaquier, Borovitskiy, Smolensky, Terenin, Asfour and Rozo (2021), Geometry-aware Bayesian
Optimization in Robotics using Riemannian Matern Kernels, CoRL: Ackley's, Rosenbrock's and Levy's functions of normal
coordinates about a base point, 5 random points to begin with, 200 evaluations, 30 seeds; reported is the median of
log10 of the regret. All three functions are at least 0, and 0 is reached: Ackley's at the base point, the others at the
coordinates (1, ..., 1). On Gr(5, 2), where that point is beyond the cut locus, coordinates are doubled.

    python benchmarks/bench_optimize.py --out benchmarks/optimize.csv

Results are added to the file as they come; a second call goes on where the first one stopped. `--steps` measures how
long our search takes to choose a point instead: the mean and the longest time of twenty from 100 observations on.
`--failures 0.2` lets this share of the evaluations fail at random, and prints a table without writing a file.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import heatgp as hg
from heatgp.manifolds.composed.product import flat_size

MANIFOLDS = {
    "S^3": hg.Sphere(3),
    "S^5": hg.Sphere(5),
    "SO(3)": hg.SpecialOrthogonal(3),
    "Gr(5,2)": hg.Grassmann(5, 2),
    "SPD(2)": hg.SPD(2),
    "H^3": hg.Hyperbolic(3),
}
INITIAL = 5
COLUMNS = ["manifold", "function", "method", "seed", "evaluations", "regret", "seconds"]


def ackley(z):
    return 20 * (1 - np.exp(-0.2 * np.sqrt(np.mean(z * z)))) + np.e - np.exp(np.mean(np.cos(2 * np.pi * z)))


def rosenbrock(z):
    return np.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2)


def levy(z):
    w = 1 + (z - 1) / 4
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return np.sin(np.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


FUNCTIONS = {"Ackley": ackley, "Rosenbrock": rosenbrock, "Levy": levy}


def problem(manifold, function):
    """The function on the manifold, and its minimum, where it is 0."""
    M, f = MANIFOLDS[manifold], FUNCTIONS[function]
    base = M.random(np.random.default_rng(2024), 1)[0]
    basis = M.tangent_basis(base[None])[0]
    unit = 2.0 if isinstance(M, hg.Grassmann) else 1.0

    def value(x):
        return float(f(unit * M.metric(base, M.log(base, x)[None], basis)))

    z = np.zeros(M.dim) if f is ackley else np.ones(M.dim)
    minimum = M.exp(base, np.tensordot(z / unit, basis, axes=1))
    return M, value, minimum


def ours(M, f, starts, evaluations, seed):
    return hg.minimize(f, M, evaluations, x0=starts, rng=seed, show_progress=False).values


def random_search(M, f, starts, evaluations, seed):
    rest = M.random(np.random.default_rng([seed, 1]), evaluations - len(starts))
    return np.array([f(x) for x in [*starts, *rest]])


def cma_es(M, f, starts, evaluations, seed):
    """CMA-ES in normal coordinates about the best of the first points."""
    import cma

    values = [f(x) for x in starts]
    centre = starts[int(np.nanargmin(values))]
    basis = M.tangent_basis(centre[None])[0]
    options = {"seed": seed + 1, "verbose": -9, "maxfevals": evaluations - len(starts)}
    search = cma.CMAEvolutionStrategy(np.zeros(M.dim), 0.5, options)
    while len(values) < evaluations:
        asked = search.ask()
        told = [f(M.exp(centre, np.tensordot(v, basis, axes=1))) for v in asked]
        search.tell(asked, told)
        values += told
    return np.array(values[:evaluations])


def flat(M, x):
    """Coordinates for methods that know no geometry: entries, of a hyperboloid without the first."""
    if isinstance(M, hg.Hyperbolic):
        return x[..., 1:]
    if isinstance(M, type(hg.SPD(2))):
        return x[..., *np.triu_indices(M.n)]
    return x.reshape(*x.shape[: x.ndim - len(M.shape)], flat_size(M))


def lifted(M, c):
    """The point of the manifold next to such coordinates."""
    if isinstance(M, hg.Hyperbolic):
        return np.concatenate([[np.sqrt(1 + c @ c)], c])
    if isinstance(M, type(hg.SPD(2))):
        x = np.zeros(M.shape)
        x[np.triu_indices(M.n)] = c
        x = x + np.triu(x, 1).T
        values, vectors = np.linalg.eigh(x)
        return (vectors * np.maximum(values, 1e-2)) @ vectors.T
    if isinstance(M, hg.SpecialOrthogonal):  # the nearest rotation, also of a reflection
        u, _, v = np.linalg.svd(c.reshape(M.shape))
        return np.concatenate([u[:, :-1], u[:, -1:] * np.linalg.det(u @ v)], axis=1) @ v
    return M.project(c.reshape(M.shape))


def botorch(M, f, starts, evaluations, seed):
    """BoTorch's SingleTaskGP and log expected improvement in a box around the manifold; candidates are projected."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    some = flat(M, M.random(np.random.default_rng(0), 1000))
    bounds = torch.tensor(np.stack([some.min(axis=0), some.max(axis=0)]))
    X, y = list(starts), [f(x) for x in starts]
    while len(y) < evaluations:
        x, target = torch.tensor(flat(M, np.stack(X))), -torch.tensor(y, dtype=torch.float64)[:, None]
        scaled = Normalize(x.shape[1], bounds=bounds)
        model = SingleTaskGP(x, target, input_transform=scaled, outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        improvement = LogExpectedImprovement(model, target.max())
        candidate, _ = optimize_acqf(improvement, bounds, 1, num_restarts=5, raw_samples=256)
        X.append(lifted(M, candidate[0].numpy()))
        y.append(f(X[-1]))
    return np.array(y)


METHODS = {"heatgp": ours, "random": random_search, "CMA-ES": cma_es, "BoTorch": botorch}


def run(manifold, function, method, seed, evaluations, failures=0.0):
    warnings.simplefilter("ignore")
    M, value, minimum = problem(manifold, function)
    rng = np.random.default_rng([seed, 7])

    def f(x):
        return np.nan if rng.random() < failures else value(x)

    assert abs(value(minimum)) < 1e-12  # the regret is against this
    starts = M.random(np.random.default_rng([seed, 0]), INITIAL)
    begin = time.perf_counter()
    values = METHODS[method](M, f, starts, evaluations, seed)
    seconds = round(time.perf_counter() - begin, 1)
    return manifold, function, method, seed, evaluations, float(np.nanmin(values)), seconds


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def table(rows, evaluations):
    """Medians of log10 of the regret, and in brackets the quarter and three quarters of the seeds."""
    names = list(METHODS)
    print(f"median log10 regret after {evaluations} evaluations (quartiles; seeds)")
    print("| manifold | function | " + " | ".join(names) + " |\n| --- | --- |" + " --- |" * len(names))
    for manifold in MANIFOLDS:
        for function in FUNCTIONS:
            cells = []
            for method in names:
                key = (manifold, function, method, str(evaluations))
                own = [float(r["regret"]) for r in rows if tuple(r[c] for c in (*COLUMNS[:3], "evaluations")) == key]
                logs = np.log10(np.maximum(own, 1e-16))
                low, middle, high = np.quantile(logs, [0.25, 0.5, 0.75]) if own else (0, 0, 0)
                cells.append(f"{middle:.1f} ({low:.1f}, {high:.1f}; {len(own)})" if own else "")
            if any(cells):
                print(f"| {manifold} | {function} | " + " | ".join(cells) + " |")
    for method in names:
        steps = [float(r["seconds"]) / int(r["evaluations"]) for r in rows if r["method"] == method]
        if steps:
            print(f"{method}: {np.median(steps):.3f} s for one evaluation, at most {np.max(steps):.3f} s")


def steps():
    """Seconds that our search takes to choose one point, at 100 to 120 observations of Ackley's function."""
    print("| manifold | mean (s) | longest (s) |\n| --- | --- | --- |")
    for manifold in MANIFOLDS:
        M, f, _ = problem(manifold, "Ackley")
        optimizer, spent = hg.Optimizer(M), []
        for _ in range(120):
            begin = time.perf_counter()
            x = optimizer.ask()
            spent.append(time.perf_counter() - begin)
            optimizer.tell(x, f(x))
        print(f"| {manifold} | {np.mean(spent[100:]):.2f} | {np.max(spent[100:]):.2f} |", flush=True)


def with_failures(options):
    """Medians and quartiles of log10 of the regret, where a share of the evaluations fails at random."""
    print("| manifold | function | method | median (quartiles) |\n| --- | --- | --- | --- |")
    for manifold in options.manifolds:
        for function in options.functions:
            for method in options.methods:
                seeds = range(options.first_seed, options.first_seed + options.seeds)
                rows = Parallel(n_jobs=options.n_jobs)(
                    delayed(run)(manifold, function, method, seed, options.evaluations, options.failures)
                    for seed in seeds
                )
                logs = np.log10(np.maximum([row[COLUMNS.index("regret")] for row in rows], 1e-16))
                low, middle, high = np.quantile(logs, [0.25, 0.5, 0.75])
                print(f"| {manifold} | {function} | {method} | {middle:.1f} ({low:.1f}, {high:.1f}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifolds", nargs="+", default=list(MANIFOLDS), choices=MANIFOLDS)
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), choices=FUNCTIONS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=np.inf, help="begin no run after so many seconds")
    parser.add_argument("--out", type=Path, default=Path("optimize.csv"))
    parser.add_argument("--steps", action="store_true", help="measure the time of one step of ours instead")
    parser.add_argument("--failures", type=float, default=0.0, help="the share of evaluations that fail at random")
    options = parser.parse_args()
    if options.steps:
        return steps()
    if options.failures:
        return with_failures(options)
    done = {tuple(row[c] for c in COLUMNS[:5]) for row in read(options.out)}
    jobs = [
        (manifold, function, method, seed, options.evaluations)
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        for method in options.methods
        for function in options.functions
        for manifold in options.manifolds
    ]
    jobs = [job for job in jobs if tuple(map(str, job)) not in done]
    begin = time.monotonic()
    left = (job for job in jobs if time.monotonic() - begin < options.seconds)
    new = not options.out.exists()
    with options.out.open("a", newline="") as stream:
        writer = csv.writer(stream)
        if new:
            writer.writerow(COLUMNS)
        for row in Parallel(n_jobs=options.n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(
            delayed(run)(*job) for job in left
        ):
            writer.writerow(row)
            stream.flush()
            print(*row, flush=True)
    table(read(options.out), options.evaluations)


if __name__ == "__main__":
    main()
