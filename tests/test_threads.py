"""How many threads the linear algebra of a fit has."""

from threading import get_ident

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from heatgp import Euclidean, GPClassifier, GPRegressor, Stiefel, heat_kernel, threads
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


@pytest.mark.parametrize(("largest", "expected"), [(2000, 1), (10, 2)])
def test_large_data_have_all_threads(two_threads, monkeypatch, largest, expected):
    monkeypatch.setattr(threads, "SMALL", largest)
    X = np.linspace(0, 1, 20)[:, None]
    for model, y in ((GPRegressor(Euclidean(1)), X[:, 0] ** 2), (GPClassifier(Euclidean(1)), X[:, 0] > 0.4)):
        model.fit(X, y)
        kernel = Watched(heat_kernel(Euclidean(1)))
        object.__setattr__(kernel, "seen", [])
        for posterior in model.mixture_.posteriors:
            object.__setattr__(posterior, "kernel", kernel)
        model.predict(X)
        assert set(kernel.seen) == {expected}
        assert blas_threads() == 2  # as before


@pytest.mark.parametrize(("operations", "expected"), [(1e12, 2), (10.0, 1)])
def test_one_large_operation_has_all_threads(two_threads, operations, expected):
    with threads.one_thread():
        with threads.all_threads(operations):
            assert blas_threads() == expected
        assert blas_threads() == 1


@pytest.mark.parametrize(("operations", "elsewhere", "expected"), [(1e12, True, 1), (10.0, False, 2)])
def test_large_work_is_done_in_several_threads_of_one_blas_thread(two_threads, operations, elsewhere, expected):
    def work(item):
        return item, get_ident() != here, blas_threads()

    here = get_ident()
    found = list(threads.on_all_threads(work, range(5), operations))
    assert found == [(item, elsewhere, expected) for item in range(5)]
    assert blas_threads() == 2


def test_limits_of_the_user_hold_for_large_work():
    with threadpool_limits({"blas": 1, "openmp": 2}):
        here = get_ident()
        assert list(threads.on_all_threads(lambda item: get_ident(), range(3), 1e12)) == [here] * 3
        with threads.one_thread(), threads.all_threads(1e12):
            assert blas_threads() == 1


def test_an_error_leaves_the_threads_as_they_were(two_threads):
    @threads.on_one_thread(len)
    def failing(values):
        raise ValueError(blas_threads())

    with pytest.raises(ValueError, match="1"):
        failing([1])
    assert blas_threads() == 2


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
