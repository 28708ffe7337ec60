"""How many heat kernels a Matern kernel costs: Gram matrices of 500 and 1,000 points, ratios of processor time.

`first` makes the tables of heat kernels, `again` has them; `fit` is another time of the same points, with slopes.
"""

import time

import numpy as np

import heatgp as hg

MANIFOLDS = [
    hg.Sphere(2),
    hg.SpecialOrthogonal(3),
    hg.ComplexProjective(2),
    hg.Torus(2),
    hg.SpecialOrthogonal(4),
    hg.Grassmann(4, 2, "complex"),
    hg.Product(hg.Sphere(2), hg.Euclidean(3)),
    hg.Euclidean(3),
]


def seconds(work, *arguments, **options):
    start = time.process_time()
    work(*arguments, **options)
    return time.process_time() - start


def ratios(manifold, number, smoothness):
    X = manifold.random(np.random.default_rng(0), number)
    hg.heat_kernel(manifold)(X[:10], time=0.2)
    heat = np.median([seconds(hg.heat_kernel(manifold), X, time=0.3) for _ in range(5)])
    first, again = (seconds(hg.matern_kernel(manifold, smoothness), X, time=t) for t in (0.3, 0.31))
    pairs = hg.matern_kernel(manifold, smoothness).pairs(X)
    seconds(lambda: pairs.at(0.3).relative_value)
    fit = seconds(lambda: pairs.at(0.4).relative_slopes)
    return [part / heat for part in (first, again, fit)]


def main():
    print(f"{'manifold':36}{'points':>7}{'smoothness':>11}{'first':>7}{'again':>7}{'fit':>7}")
    for manifold in MANIFOLDS:
        for number, smoothness in ((500, 2.5), (1000, 0.5)):
            columns = "".join(f"{ratio:7.1f}" for ratio in ratios(manifold, number, smoothness))
            print(f"{manifold!r:36}{number:7}{smoothness:11}{columns}")


if __name__ == "__main__":
    main()
