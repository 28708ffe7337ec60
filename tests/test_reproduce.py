"""`heatgp reproduce`: the report in a browser, on a second run, and without data."""

import csv
import importlib
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from heatgp.cli import main
from heatgp.cli import reproduce as command
from heatgp.datasets import DataMissing, skulls
from heatgp.experiments import gorillas, knots
from heatgp.experiments.experiment import Options
from heatgp.experiments.table import COLUMNS, read_csv

FEW = {
    "compare": ("ball", "strip", "smooth", "exact"),
    "knots": ("heatgp", "rbf"),
    "projective": ("heatgp", "rbf", "rbf projector"),
    "gorillas": ("heatgp", "rbf", "svm", "linear"),
    "dti": ("heatgp", "spd", "rbf", "svm", "linear", "constant"),
}


def make_small(monkeypatch):
    """One repetition of few methods; two sites of each tract, no Gr(5,2)."""
    for name, methods in FEW.items():
        module = importlib.import_module(f"heatgp.experiments.{name}")

        def plan(options, whole=module.EXPERIMENT.plan, methods=methods):
            found = whole(options)
            sites = (12, 0, None)
            chosen = [
                u
                for u in found.units
                if u.repetition == 0
                and u.method in methods
                and u.setting != "Gr(5,2)"
                and dict(u.options).get("site") in sites
            ]
            return replace(found, units=tuple(chosen))

        monkeypatch.setattr(module, "EXPERIMENT", replace(module.EXPERIMENT, plan=plan))


@pytest.fixture(scope="module")
def small_report(data_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("HEATGP_DATA", str(data_home))
        monkeypatch.setenv("HEATGP_CACHE", str(folder / "paths"))
        make_small(monkeypatch)
        assert main(["reproduce", "all", "--quick", "--out", str(folder), "--jobs", "1"]) == 0
    return folder


class Page(HTMLParser):
    """Captions of the tables, sources of the images, and whatever refers to another file."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.images, self.foreign, self.open = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.open = tag
        if tag == "img":
            self.images.append(values)
        for name in ("src", "href"):
            if name in values and not values[name].startswith(("data:", "#")):
                self.foreign.append(values[name])

    def handle_data(self, data):
        if self.open == "span":
            self.tables.append(data)
        self.open = None


def test_report_has_tables_and_pictures_of_every_experiment(small_report):
    for name in command.NAMES:
        with (small_report / f"{name}.csv").open(newline="") as stream:
            assert next(csv.reader(stream)) == list(COLUMNS)
        rows = read_csv(small_report / f"{name}.csv")
        assert {r.experiment for r in rows} == {name}
        assert {r.method for r in rows} == set(FEW[name])
        assert {r.metric for r in rows} <= {"rmse", "cross_entropy", "auc", "error", "seconds", "found"}
        assert all(np.isfinite([r.mean, r.sd]).all() and r.n >= 1 for r in rows)
        assert (small_report / f"{name}.csv").read_text().count(name) >= len(rows)
    text = (small_report / "report.html").read_text()
    page = Page(text)
    pictures = {f.stem for f in small_report.glob("*.png")}
    assert pictures == {f.stem for f in small_report.glob("*.svg")}
    assert set(re.findall(r'<figure id="(\w+)"', text)) == pictures
    assert len(page.images) == len(pictures) == 15
    assert len(page.tables) == 1 + 2 + 3 + 3 + 4 + 5
    assert not page.foreign  # self-contained
    stated = {r.setting for r in read_csv(small_report / "dti.csv") if np.isfinite(r.paper)}
    assert stated == {"all sites"}  # nothing of the paper's beside the simulated tract
    assert text.count('<tr class="paper"><td>paper</td>') == 2
    assert all(image["alt"] and image["src"].startswith("data:image/png;base64,") for image in page.images)


def test_report_again_uses_what_is_there(small_report, tmp_path, monkeypatch):
    make_small(monkeypatch)
    monkeypatch.setattr(knots, "EXPERIMENT", replace(knots.EXPERIMENT, run=None))  # nothing is left to run
    shutil.copytree(small_report / "cache", tmp_path / "cache")
    assert main(["reproduce", "knots", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 0
    assert (tmp_path / "knots.csv").read_text() == (small_report / "knots.csv").read_text()


def test_a_stopped_run_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    def interrupted(unit):
        raise KeyboardInterrupt

    monkeypatch.setattr(knots, "EXPERIMENT", replace(knots.EXPERIMENT, run=interrupted))
    assert main(["reproduce", "knots", "--quick", "--out", str(tmp_path), "--jobs", "1"]) == 130
    assert f"What was computed is in {tmp_path}; the same command continues" in capsys.readouterr().err


CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [1280, 390])
def test_browser_shows_every_table_and_picture(small_report, tmp_path, width):
    """The page as the browser has it after loading: every picture with its size, nothing wider than the window."""
    measure = """<script>addEventListener("load", () => {
        const shown = [...document.images].filter(i => i.complete && i.naturalWidth > 100 && i.clientWidth > 100);
        const rows = [...document.querySelectorAll("table")].filter(t => t.rows.length > 1 && t.clientHeight > 30);
        document.body.setAttribute("data-shown", [shown.length, rows.length,
            document.documentElement.scrollWidth <= innerWidth].join(" "));
    })</script></body>"""
    text = (small_report / "report.html").read_text()
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", measure))
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    quiet += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    size = f"--window-size={width},900"
    dump = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", *quiet, size, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    pictures, tables, fits = re.search(r'data-shown="(\d+) (\d+) (\w+)"', dump).groups()
    assert int(pictures) == text.count("<img ") == 15
    assert int(tables) == text.count("<table>") == 18
    assert fits == "true"


def test_without_data_the_rest_is_run_and_the_report_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HEATGP_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(skulls, "URLS", ())
    monkeypatch.setattr(command, "NAMES", ("gorillas", "dti"))
    make_small(monkeypatch)
    assert main(["reproduce", "all", "--quick", "--out", str(tmp_path / "out"), "--jobs", "1"]) == 0
    assert "gorillas: left out. There is no file" in capsys.readouterr().out
    text = (tmp_path / "out" / "report.html").read_text()
    assert text.count('<p class="left-out">Left out. There is no file') == 2
    assert "The only data set is a simulated tract" in text
    assert "There is no file $HEATGP_DATA/shapes/gorf.dat.rda" in text
    assert str(tmp_path) not in text
    assert not (tmp_path / "out" / "gorillas.csv").exists()
    assert {r.setting.partition(" ")[0] for r in read_csv(tmp_path / "out" / "dti.csv")} == {"simulated"}
    assert main(["reproduce", "gorillas", "--out", str(tmp_path / "out")]) == 2
    assert "Put gorf.dat.rda there" in capsys.readouterr().err
    with pytest.raises(DataMissing):
        gorillas.plan(Options())
