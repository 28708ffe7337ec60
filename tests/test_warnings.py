"""Warnings of the library in programs with several threads: the filters of the process stay as they are."""

import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import heatgp as hg
from heatgp.errors import BoundWarning, caught_warnings, warn, warn_again

SOURCE = Path(hg.__file__).parent


def test_filters_of_the_process_are_changed_in_one_place_only():
    users = [file for file in SOURCE.rglob("*.py") if "catch_warnings" in file.read_text()]
    assert [file.name for file in users] == ["errors.py"]
    assert users[0].read_text().count("catch_warnings()") == 1  # with a lock, for warnings of other libraries


def line(number=12):
    x = np.linspace(0, 1, number)[:, None]
    return x, x[:, 0] ** 2


@pytest.mark.filterwarnings("ignore::heatgp.errors.HeatGPWarning")
@pytest.mark.parametrize(
    "options", [{"smoothness": "learn"}, {"inference": hg.Sparse(5)}], ids=["smoothness", "sparse"]
)
def test_other_threads_keep_their_warnings_while_a_model_is_fitted(options):
    """A fit waits in the user's mean function, and this thread warns meanwhile."""
    inside, go_on = threading.Event(), threading.Event()

    def mean(points):
        inside.set()
        assert go_on.wait(30)
        return np.ones(len(points))

    calls, filters = [], warnings.filters

    def seen(points):
        calls.append(warnings.filters is filters)
        return np.ones(len(points))

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        filters = warnings.filters
        model = hg.GPRegressor(hg.Euclidean(1), mean=mean, noise=0.01, **options)
        thread = threading.Thread(target=model.fit, args=line())
        thread.start()
        assert inside.wait(30)
        for _ in range(5):
            warnings.warn("of this thread", UserWarning, stacklevel=1)
        go_on.set()
        thread.join()
        hg.GPRegressor(hg.Euclidean(1), mean=seen, noise=0.01, **options).fit(*line())
        assert warnings.filters is filters
    assert sum(str(each.message) == "of this thread" for each in given) == 5
    assert calls
    assert all(calls)


def test_kept_warnings_are_given_again():
    with caught_warnings() as outer:
        with caught_warnings(BoundWarning) as inner:
            warn("a bound", BoundWarning)
            warn("a column", UserWarning)
        warn_again(inner)
    assert [each.message for each in outer] == ["a column", "a bound"]


def test_a_warning_in_another_thread_is_given_there():
    def in_a_thread():
        thread = threading.Thread(target=warn, args=("of the thread", BoundWarning))
        thread.start()
        thread.join()

    with caught_warnings() as kept, pytest.warns(BoundWarning, match="of the thread"):
        in_a_thread()
    assert kept == []


def test_the_warning_of_the_best_model_is_given_at_the_line_of_the_user():
    x, y = line(6)
    with pytest.warns(hg.errors.SmallSampleWarning, match="N = 6") as given:
        hg.GPRegressor(hg.Euclidean(1), smoothness="learn").fit(x, y)
    small = [each for each in given if each.category is hg.errors.SmallSampleWarning]
    assert len(small) == 1
    assert small[0].filename == __file__
