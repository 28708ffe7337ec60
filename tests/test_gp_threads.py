"""How many threads the linear algebra of a fit has."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from heatgp import Euclidean, GPClassifier, GPRegressor, Stiefel, heat_kernel
from heatgp.gp import threads
from heatgp.gp.kernels import Normalized
from heatgp.heat.exact.frames import FramesProfile


def blas_threads():
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


class Watched(Normalized):
    """A kernel that notes how many threads there are whenever its matrices are made."""

    seen: list[int]

    def pairs(self, X, Y=None):
        self.seen.append(blas_threads())
        return super().pairs(X, Y)


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() < 2:
            pytest.skip("this BLAS has one thread")
        yield


@pytest.mark.parametrize(("largest", "quiet", "expected"), [(2000, True, 1), (10, True, 2), (10, False, 1)])
def test_large_data_have_all_threads_of_a_quiet_machine(two_threads, monkeypatch, largest, quiet, expected):
    monkeypatch.setattr(threads, "SMALL", largest)
    monkeypatch.setattr(threads, "machine_is_quiet", lambda number: quiet)
    X = np.linspace(0, 1, 20)[:, None]
    for model, y in ((GPRegressor(Euclidean(1)), X[:, 0] ** 2), (GPClassifier(Euclidean(1)), X[:, 0] > 0.4)):
        model.fit(X, y)
        kernel = Watched(heat_kernel(Euclidean(1)))
        object.__setattr__(kernel, "seen", [])
        for posterior in model.posteriors_:
            object.__setattr__(posterior, "kernel", kernel)
        model.predict(X)
        assert set(kernel.seen) == {expected}
        assert blas_threads() == 2  # as before


@pytest.mark.parametrize(("operations", "quiet", "expected"), [(1e12, True, 2), (1e12, False, 1), (10.0, True, 1)])
def test_one_large_operation_has_all_threads_of_a_quiet_machine(two_threads, monkeypatch, operations, quiet, expected):
    monkeypatch.setattr(threads, "machine_is_quiet", lambda number: quiet)
    with threads.one_thread():
        with threads.all_threads(operations):
            assert blas_threads() == expected
        assert blas_threads() == 1


def test_an_error_leaves_the_threads_as_they_were(two_threads):
    @threads.on_one_thread(len)
    def failing(values):
        raise ValueError(blas_threads())

    with pytest.raises(ValueError, match="1"):
        failing([1])
    assert blas_threads() == 2


def test_a_busy_machine_is_not_quiet(two_threads):
    """Twice as many processes as this one may use processors."""
    work = "print(flush=True)\nwhile True: pass"
    number = 2 * max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    busy = [subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE) for _ in range(number)]
    try:
        for process in busy:
            process.stdout.readline()
        threads._measured.cache_clear()
        assert not threads.machine_is_quiet(2)
        threads._measured.cache_clear()
    finally:
        for process in busy:
            process.kill()
            process.communicate()


def test_times_are_bounded_on_one_thread(two_threads, monkeypatch, rng):
    """Small matrices of the kernel of planes' frames: 38 s on two busy cores, 2.7 s on one."""
    seen, prepare = [], FramesProfile.prepare

    def watched(profile, time):
        seen.append(blas_threads())
        return prepare(profile, time)

    monkeypatch.setattr(FramesProfile, "prepare", watched)
    X = Stiefel(5, 2).random(rng, 25)
    GPRegressor(Stiefel(5, 2)).fit(X, X[:, 0, 0])
    assert set(seen) == {1}
