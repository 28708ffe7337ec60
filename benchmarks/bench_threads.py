"""Fits with the threads that heatgp takes by itself, against one and all threads, alone and beside a busy process.

Each fit runs in a process of its own, the three kinds in turn, so that all see the same machine. `one` is
OMP_NUM_THREADS=1; `all` leaves the BLAS its threads; `own` is heatgp as it is.

    python benchmarks/bench_threads.py [--large]
"""

import argparse
import os
import subprocess
import sys

FITS = {
    "six classes, N = 150": "hg.GPClassifier(S2).fit(X[:150], np.digitize(X[:150, 2], np.linspace(-0.7, 0.7, 5)))",
    "regression, N = 800": "hg.GPRegressor(S2).fit(X[:800], f[:800]).predict(X[:800])",
}
LARGE = {"regression, N = 2500": "hg.GPRegressor(S2).fit(X[:2500], f[:2500])"}
PROGRAM = """
import sys, time, warnings
import numpy as np, heatgp as hg
warnings.simplefilter("ignore")
if sys.argv[1] == "all":
    from heatgp import threads
    threads.SMALL = 0
S2, rng = hg.Sphere(2), np.random.default_rng(0)
X = S2.random(rng, 2500)
f = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(2500)
start = time.perf_counter()
{fit}
print(time.perf_counter() - start)
"""
BUSY = "import numpy as np\nA = np.random.rand(1000, 1000)\nwhile True: A @ A"


def seconds(fit: str, kind: str) -> float:
    threads = {"OMP_NUM_THREADS": "1"} if kind == "one" else {}
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | threads
    command = [sys.executable, "-c", PROGRAM.replace("{fit}", fit), kind]
    try:
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout
    except subprocess.TimeoutExpired:
        return float("inf")
    return float(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="N = 2500 too")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    kinds = ("one", "own", "all")
    print(f"{'fit':26}{'beside':>8}" + "".join(f"{kind:>8}" for kind in kinds) + f"{'own/one':>9}")
    for name, fit in (FITS | (LARGE if options.large else {})).items():
        for beside in ("nothing", "busy"):
            busy = subprocess.Popen([sys.executable, "-c", BUSY]) if beside == "busy" else None
            try:
                rounds = [[seconds(fit, kind) for kind in kinds] for _ in range(options.rounds)]
            finally:
                if busy is not None:
                    busy.kill()
                    busy.wait()
            best = [min(column) for column in zip(*rounds)]
            print(
                f"{name:26}{beside:>8}" + "".join(f"{s:8.2f}" for s in best) + f"{best[1] / best[0]:9.2f}", flush=True
            )


if __name__ == "__main__":
    main()
