"""Memory and time of a million paths of a thousand steps on the sphere, read at two times.

python benchmarks/bench_memory.py [--jobs 1]
"""

from __future__ import annotations

import argparse
import resource
import time

import heatgp as hg


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    begin = time.perf_counter()
    x = hg.walk(hg.Sphere(2), [1.0, 0, 0], [0.5, 1.0], paths=options.paths, step=0.001, rng=0, n_jobs=options.jobs)
    seconds = time.perf_counter() - begin
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024
    rate = options.paths * 1000 / seconds
    print(f"{x.shape}: {seconds:.0f} s, {rate:.3g} path-steps a second, peak memory of a process {peak:.0f} MB")


if __name__ == "__main__":
    main()
