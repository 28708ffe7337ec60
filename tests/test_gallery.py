"""The gallery: each page has a picture with a description, and its code draws that picture."""

import re

import numpy as np
import pytest
from PIL import Image

from pages import ROOT, blocks, name, run
from test_docs import GALLERY

FOLDER = ROOT / "docs" / "gallery"
SAME = 0.002
"""Largest mean difference of two drawings of one page, where black and white differ by one. Those of other data are
above it: the last test."""


def difference(one, other):
    """The mean difference of two pictures of one size; zero where different versions of matplotlib drew them."""
    with Image.open(one) as one, Image.open(other) as other:
        assert one.size == other.size
        if one.info["Software"] != other.info["Software"]:
            return 0.0
        return np.abs(np.asarray(one, float) - np.asarray(other, float))[..., :3].mean() / 255


@pytest.fixture
def data(page, request, monkeypatch):
    """The data folder, for pages with files that belong to others."""
    if re.search(r"\b(atmosphere|drill|gorillas)\(", page.read_text()):
        monkeypatch.setenv("HEATGP_DATA", str(request.getfixturevalue("data_home")))


@pytest.mark.parametrize("page", GALLERY, ids=name)
def test_code_prints_what_the_page_says_and_draws_its_picture(page, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page)
    picture = f"{page.stem}.png"
    assert difference(tmp_path / picture, FOLDER / picture) < SAME, f"`make gallery` draws {picture} again"


def test_the_page_on_minima_draws_its_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(ROOT / "docs" / "optimize.md")
    assert difference(tmp_path / "optimize.png", ROOT / "docs" / "images" / "optimize.png") < SAME


@pytest.mark.parametrize("page", GALLERY, ids=name)
def test_picture_is_described_and_small(page):
    ((text, picture),) = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", page.read_text())
    assert len(text) > 50
    assert picture == f"{page.stem}.png"
    assert (FOLDER / picture).stat().st_size < 100_000


def test_the_index_shows_every_page():
    text = (FOLDER / "index.md").read_text()
    for page in GALLERY:
        assert f"]({page.stem}.png)]({page.name})" in text


def test_a_picture_of_other_data_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (0, 1):
        namespace = {}
        for code, _ in blocks(FOLDER / "unitary.md", "python"):
            exec(
                code.replace("default_rng(0)", f"default_rng({seed})").replace("unitary.png", f"{seed}.png"), namespace
            )
    assert difference(tmp_path / "0.png", tmp_path / "1.png") > 2 * SAME
