"""The examples run as they stand, in quick mode, and are in percent format."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
EXPECTED = {
    "diffusion_tensors": ("times the RBF's", "diffusion_tensors.png"),
    "horseshoe": ("of the RBF's", "horseshoe.png"),
    "hyperbolic": ("of the RBF's", "hyperbolic.png"),
    "orientations": ("closes to", "orientations.png"),
    "own_manifold": ("problems found: []", None),
    "shapes": ("right:", "shapes.png"),
    "sphere": ("in Berlin and at the pole", "sphere.png"),
    "subspaces": ("more paths would change", None),
    "torus_of_revolution": ("of the RBF's", "torus_of_revolution.png"),
}


def test_there_is_an_example_of_each_kind():
    assert [e.stem for e in EXAMPLES] == sorted(EXPECTED)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_example_runs(example, tmp_path):
    settings = {"MPLBACKEND": "Agg", "HEATGP_CACHE": str(tmp_path / "paths"), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "error", example, "--quick"],
        cwd=tmp_path,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    text, picture = EXPECTED[example.stem]
    assert text in run.stdout
    assert picture is None or (tmp_path / picture).stat().st_size > 10_000


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_example_is_cells_that_begin_with_a_title(example):
    text = example.read_text()
    assert text.startswith("# %% [markdown]\n# # ")
    cells = text.split("\n# %%")
    assert len(cells) > 4
    for cell in cells:
        ast.parse(cell if cell.startswith("# %%") else f"# %%{cell}")  # each can be run on its own
