"""Settings and comparisons that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from heatgp.heat.shared import forget_kernels


@pytest.fixture
def rng():
    return np.random.default_rng(20240601)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Simulations of earlier runs, and of earlier versions, are not used."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("HEATGP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def own_kernels():
    """Kernels that other tests have made are not used."""
    yield
    forget_kernels()


@pytest.fixture(scope="session")
def data_home():
    """The data folder, or the reason to skip: the files belong to others and are not in the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ["HEATGP_DATA"]) if "HEATGP_DATA" in os.environ else beside
    if not (folder / "shapes").is_dir() or not (folder / "connectomes").is_dir():
        pytest.skip("no data folder: set HEATGP_DATA to one")
    return folder
