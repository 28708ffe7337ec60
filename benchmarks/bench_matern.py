"""How many heat kernels a Matern kernel costs: Gram matrices of 500 and 1,000 points, ratios of processor time.

`first` makes the tables of heat kernels, `again` has them; `fit` is another time of the same points, with slopes, over
the same of the heat kernel. Each figure is the median of 3 runs, with the largest in brackets. Times are "shared" by
all factors, one for "each", or one for each factor and each of the "coordinates" of R^n. Run with OMP_NUM_THREADS=1.
"""

import time
from functools import partial

import numpy as np

import heatgp as hg
from heatgp.heat.averaged import table

S2, R3 = hg.Sphere(2), hg.Euclidean(3)
CASES = [
    (S2, "shared"),
    (hg.SpecialOrthogonal(3), "shared"),
    (hg.ComplexProjective(2), "shared"),
    (hg.Torus(2), "shared"),
    (hg.SpecialOrthogonal(4), "shared"),
    (hg.Grassmann(4, 2, "complex"), "shared"),
    (R3, "shared"),
    (R3, "coordinates"),
    (hg.Product(hg.Euclidean(1), hg.Euclidean(2)), "shared"),
    (hg.Product(hg.Euclidean(1), hg.Euclidean(2)), "coordinates"),
    (hg.Product(S2, R3), "shared"),
    (hg.Product(S2, R3), "each"),
    (hg.Product(S2, R3), "coordinates"),
    (hg.Product(S2, hg.Torus(1)), "shared"),
    (hg.Product(S2, hg.Torus(1)), "each"),
    (hg.Product(hg.SpecialOrthogonal(3), R3), "each"),
    (hg.Product(S2, hg.SpecialOrthogonal(4)), "each"),
    (hg.Product(*[S2] * 6), "each"),
]
RUNS = 3


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def slopes(pairs, times):
    return pairs.at(times).relative_slopes


def ratios(manifold, which, number, smoothness):
    X = manifold.random(np.random.default_rng(0), number)
    heat = hg.heat_kernel(manifold).with_times(which)

    def times(first):
        several = tuple((first + 0.03 * np.arange(heat.parameters)).tolist())
        return several if heat.parameters > 1 else first

    heat(X[:10], time=times(0.2))
    one = np.median([seconds(partial(hg.heat_kernel(manifold).with_times(which), X, time=times(0.3))) for _ in "12345"])
    pairs = heat.pairs(X)
    one_fit = np.median([seconds(partial(slopes, pairs, times(t))) for t in (0.4, 0.41, 0.42, 0.43, 0.44)])
    table._shared_table.cache_clear()  # as in a fresh process
    first, again = (
        seconds(partial(hg.matern_kernel(manifold, smoothness).with_times(which), X, time=times(t)))
        for t in (0.3, 0.31)
    )
    pairs = hg.matern_kernel(manifold, smoothness).with_times(which).pairs(X)
    slopes(pairs, times(0.3))
    return [first / one, again / one, seconds(partial(slopes, pairs, times(0.4))) / one_fit]


def main():
    print(f"{'manifold':44}{'times':12}{'points':>7}{'smoothness':>11}{'first':>14}{'again':>14}{'fit':>14}")
    for manifold, which in CASES:
        for number, smoothness in ((500, 2.5), (1000, 0.5)):
            runs = np.array([ratios(manifold, which, number, smoothness) for _ in range(RUNS)])
            columns = "".join(f"{middle:7.1f} ({most:4.1f})" for middle, most in zip(np.median(runs, 0), runs.max(0)))
            name = repr(manifold) if len(repr(manifold)) < 44 else "six spheres"
            print(f"{name:44}{which:12}{number:7}{smoothness:11}{columns}", flush=True)


if __name__ == "__main__":
    main()
