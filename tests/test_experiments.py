"""The paper's experiments: work that survives a stop, tables, and the promised figures."""

import contextlib
import csv
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heatgp import Grassmann, heat_kernel
from heatgp.cli import reproduce as command
from heatgp.errors import HeatGPWarning, InvalidInput
from heatgp.experiments import compare, dti, gorillas, knots, projective
from heatgp.experiments.experiment import Experiment, Options, Outcome, Plan, Row, Unit
from heatgp.experiments.section import section_text
from heatgp.experiments.table import find, markdown_table, read_csv, row, summarise, write_csv
from heatgp.experiments.work import Ledger, compute, quietly

ROOT = Path(__file__).parent.parent
COLUMNS = ["experiment", "setting", "method", "metric", "mean", "sd", "n", "paper"]


# Units of work

UNITS = tuple(Unit("a", "square", i, (("power", 2),)) for i in range(6))


def squares(calls):
    """An experiment whose scores are squares, and which writes down what it was asked for."""

    def run(unit):
        calls.append(unit.repetition)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return {"rmse": float(unit.repetition ** unit["power"]), "curve": [1.0, 2.0]}

    return Experiment("squares", "Squares", lambda options: Plan(UNITS), run, lambda outcome: None)


def test_a_stopped_run_goes_on_where_it_stopped(tmp_path):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        compute(squares(calls), UNITS, tmp_path, jobs=1)
    assert calls == [0, 1, 2, 3]
    scores = compute(squares(calls), UNITS, tmp_path, jobs=1)
    assert calls == [0, 1, 2, 3, 3, 4, 5]  # what was finished is not done again
    assert [scores[u]["rmse"] for u in UNITS] == [0, 1, 4, 9, 16, 25]
    compute(squares(calls), UNITS, tmp_path, jobs=1)
    assert len(calls) == 7
    other = tuple(replace(u, options=(("power", 3),)) for u in UNITS)
    assert [s["rmse"] for s in compute(squares(calls), other, tmp_path, jobs=1).values()] == [0, 1, 8, 27, 64, 125]


def test_ledger_forgets_a_torn_line_and_the_scores_of_other_code(tmp_path):
    path = tmp_path / "a.jsonl"
    Ledger(path, "code").add("one", {"rmse": 1.0})
    with path.open("a") as stream:
        stream.write('["two", {"rm')
    again = Ledger(path, "code")
    assert again.scores == {"one": {"rmse": 1.0}}
    again.add("two", {"rmse": 2.0})
    assert Ledger(path, "code").scores == {"one": {"rmse": 1.0}, "two": {"rmse": 2.0}}
    assert Ledger(path, "other").scores == {}
    assert path.read_text() == ""


def ledger_lines(path):
    ledger = Ledger(path, "code")
    for name in ("one", "two", "three"):
        ledger.add(name, {"rmse": 1.5, "picture": [0.25, float("nan")]})
    return path.read_bytes()


def test_every_flipped_bit_of_a_ledger_is_noticed(tmp_path):
    """A line that was changed in any way is computed again, with a warning; the others stay."""
    path = tmp_path / "a.jsonl"
    data = ledger_lines(path)
    whole = set(Ledger(path, "code").scores)
    for place in range(0, len(data), 3):
        for bit in (1, 64):
            path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
            last = place == len(data) - 1  # without its end the last line is torn: that may happen, and is no damage
            with contextlib.nullcontext() if last else pytest.warns(HeatGPWarning, match="of 3|of 2|of 4"):
                found = Ledger(path, "code").scores
            assert len(found) >= 1
            assert set(found) < whole
            assert all(str(scores) == str({"rmse": 1.5, "picture": [0.25, float("nan")]}) for scores in found.values())


def test_a_damaged_line_is_computed_again_with_a_message(tmp_path):
    calls = [0, 1, 2, 3]  # `squares` stops at the fourth unit the first time
    expected = compute(squares(calls), UNITS, tmp_path, jobs=1)
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text().replace('"rmse": 9', '"rmse": 8'))
    del calls[4:]
    with pytest.warns(HeatGPWarning, match=r"1 of 6 lines of .* are damaged, or of an earlier version.*computed again"):
        again = compute(squares(calls), UNITS, tmp_path, jobs=1)
    assert again == expected
    assert calls[4:] == [3]


def noisy(unit):
    import warnings

    warnings.warn("too few paths", HeatGPWarning, stacklevel=1)
    return {"rmse": 0.0}


def test_warnings_of_the_library_do_not_stop_a_run_on_two_cores(tmp_path):
    experiment = Experiment("noisy", "Noisy", lambda options: Plan(UNITS), noisy, lambda outcome: None)
    assert len(compute(experiment, UNITS, tmp_path, jobs=2)) == 6


# Tables


def test_table_has_mean_and_sd_over_repetitions_and_the_papers_figure(tmp_path):
    scores = {u: {"rmse": float(u.repetition), "curve": [0.0]} for u in UNITS[:3]}
    rows = summarise("squares", scores, {("a", "square", "rmse"): (0.5, 0.1)})
    assert rows == [Row("square", "rmse", 1.0, 1.0, 3, "squares", "a", 0.5)]
    rows.append(row("squares", "a, b", "cube", "auc", [0.7, 0.7, 0.7], {}))
    assert rows[1].sd == 0
    write_csv(tmp_path / "squares.csv", rows)
    with (tmp_path / "squares.csv").open(newline="") as stream:
        table = list(csv.reader(stream))
    assert table[0] == COLUMNS
    assert table[2] == ["squares", "a, b", "cube", "auc", "0.7", "0", "3", ""]
    back = read_csv(tmp_path / "squares.csv")
    assert back[0] == rows[0]
    assert math.isnan(back[1].paper)


def test_markdown_table_has_a_line_where_every_method_has_a_figure(tmp_path):
    rows = [
        Row("heatgp", "rmse", 0.0712, 0.01, 10, "knots", "(2, 3)", 0.072),
        Row("rbf", "rmse", 1.614, 0.24, 10, "knots", "(2, 3)", 0.103),
        Row("rbf", "rmse", 1.0, 0.1, 10, "knots", "(4, 3)", 1.78),
    ]
    write_csv(tmp_path / "knots.csv", rows)
    assert markdown_table([tmp_path / "knots.csv"]).splitlines() == [
        "| experiment | setting | metric | heatgp | rbf | paper's heatgp | paper's rbf |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| knots | (2, 3) | rmse | 0.071 (0.010) | 1.61 (0.24) | 0.072 | 0.103 |",
    ]
    only = markdown_table([tmp_path / "knots.csv"], methods=("rbf",)).splitlines()
    assert only[3] == "| knots | (4, 3) | rmse | 1.00 (0.10) | 1.78 |"
    sites = [Row(m, "auc", 0.5, 0.1, 10, "dti", "site 13") for m in ("heatgp", "rbf")]
    write_csv(tmp_path / "dti.csv", [*sites, *(replace(r, setting="all sites") for r in sites)])
    assert markdown_table([tmp_path / "dti.csv"]).splitlines()[2:] == [
        "| dti | all sites | auc | 0.500 (0.100) | 0.500 (0.100) |"  # no single sites, nothing of the paper's
    ]


# The promised figures, on few repetitions


def score(module, setting, method, metric, repetitions=2, **options):
    """Mean over repetitions."""
    units = [Unit(setting, method, i, tuple({"paths": 5000, **options}.items())) for i in range(repetitions)]
    return float(np.mean([quietly(module.run, u)[1][metric] for u in units]))


def test_knots_have_one_error_and_the_extrinsic_process_is_five_times_worse():
    own = {k: score(knots, str(k), "heatgp", "rmse") for k in knots.KNOTS}
    assert own[2, 3] == pytest.approx(own[4, 3], rel=1e-9) == pytest.approx(own[9, 8], rel=1e-9)
    for knot in ((4, 3), (9, 8)):
        assert own[knot] <= 0.2 * score(knots, str(knot), "rbf", "rmse")


def test_projective_regression_beats_the_raw_rbf_and_ties_with_projectors():
    own = score(projective, "30 dB", "heatgp", "rmse")
    assert own <= 0.1 * score(projective, "30 dB", "rbf", "rmse")
    assert own == pytest.approx(score(projective, "30 dB", "rbf projector", "rmse"), rel=0.1)


def test_gorillas_are_told_apart_by_shape_alone(data_home, monkeypatch):
    monkeypatch.setenv("HEATGP_DATA", str(data_home))
    units = [Unit(s, "heatgp", split, (("paths", 0),)) for s in ("raw", "rotated") for split in range(3)]
    scores = [quietly(gorillas.run, u)[1] for u in units]
    entropy = [s["cross_entropy"] for s in scores]
    assert entropy[:3] == pytest.approx(entropy[3:], rel=1e-4)  # turned skulls have the same shape
    assert np.mean(entropy) <= 0.10
    assert np.mean([s["auc"] for s in scores]) >= 0.99
    assert len(gorillas.plan(Options()).units) == 10 * (3 * 8 + 3)


def test_the_text_names_the_kernel_that_is_compared():
    """Gr(5,2) has its own exact kernel, and is no average over a fibre."""
    assert heat_kernel(Grassmann(5, 2)).method == "exact"
    assert "fibre" not in section_text("compare", paths=1, width=0.1, distances=2)


def test_compare_measures_estimates_against_the_exact_kernel():
    ball, strip = (score(compare, "R^3", m, "error", paths=20_000) for m in ("ball", "strip"))
    assert strip < ball / 2
    assert score(compare, "S^2", "smooth", "error", 1) < 1e-3
    exact = compare.run(Unit("CP^4", "exact", 0, (("paths", 0),)))
    assert exact["error"] == 0
    assert exact["curve"][0] == 1


# Sites of a tract


def test_batches_are_the_papers(rng):
    y = rng.permutation(np.arange(46) < 28).astype(int)
    for seed in range(3):
        train, test = dti.batch(y, seed)
        assert [np.sum(y[train] == label) for label in (0, 1)] == [15, 20]
        assert [np.sum(y[test] == label) for label in (0, 1)] == [3, 8]
        assert not set(train) & set(test)


def test_planted_sites_are_counted_among_the_five_best():
    planted = dti.planted()
    sites = [*planted, 0, 1, 2, 3, 4]
    scores = {}
    for method in dti.METHODS:
        for site in sites:
            for batch in range(2):
                good = site in planted and not (batch == 1 and site == planted[0])
                unit = Unit(f"simulated site {site + 1}", method, batch, (("part", "simulated "), ("site", site)))
                scores[unit] = {"cross_entropy": 0.3 if good else 0.7 + site / 100, "auc": 0.5, "error": 0.5}
    outcome = Outcome(tuple(summarise("dti", scores, {})), scores, Options())
    assert sorted(dti.top_sites(outcome.rows, "simulated ")) == planted
    assert dti.found(outcome, "linear") == [5.0, 4.0]
    rows = dti.conclude(outcome)
    counted = find(rows, "simulated planted sites", "heatgp", "found")
    assert (counted.mean, counted.n) == (4.5, 2)
    assert find(rows, "simulated all sites", "rbf", "cross_entropy").n == 20
    whole = replace(outcome, rows=(*outcome.rows, *rows))
    assert dti.found_grid(whole).lines[0][:2] == ("heatgp", "5 of 5")


def test_planted_sites_beat_the_constant_and_others_do_not():
    options = {"part": "simulated ", "file": None}
    constant = score(dti, "simulated site 1", "constant", "cross_entropy", site=0, **options)
    assert constant == pytest.approx(-(8 * math.log(20 / 35) + 3 * math.log(15 / 35)) / 11)
    for method in ("heatgp", "spd"):
        planted, empty = (
            score(dti, f"simulated site {s + 1}", method, "cross_entropy", 3, site=s, **options) for s in (54, 0)
        )
        assert planted < constant - 0.2 < empty


def test_a_tract_needs_enough_subjects_of_both_groups(tmp_path):
    A = np.diag([3.0, 2, 1]) * np.ones((20, 2, 1, 1))
    np.savez(tmp_path / "few.npz", A=A, y=np.arange(20) % 2)
    with pytest.raises(InvalidInput, match="10 subjects have y = 0; a batch takes 18"):
        dti.plan(Options(dti=str(tmp_path / "few.npz")))
    with pytest.raises(InvalidInput, match="no such file"):
        dti.plan(Options(dti=str(tmp_path / "none.npz")))
    with pytest.raises(InvalidInput, match="is a folder"):
        dti.plan(Options(dti=str(tmp_path)))
    assert [u["site"] for u in dti.plan(Options(quick=True)).units if u.method == "rbf" and u["part"]][::3] == [
        0, 12, 15, 28, 30, 38, 45, 49, 54, 60,
    ]  # fmt: skip


def test_data_are_read_once_in_a_process_and_looked_for_without_reading(data_home, monkeypatch):
    monkeypatch.setenv("HEATGP_DATA", str(data_home))
    reads = []

    def counted(module, name):
        load = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, **k: (reads.append(name), load(*a, **k))[1])

    counted(gorillas, "gorillas")
    counted(dti, "dti")
    gorillas.skulls.cache_clear()
    dti.tract.cache_clear()
    gorillas.plan(Options(quick=True))
    assert reads == []
    units = [Unit("raw", "linear untuned", split, (("paths", 0),)) for split in range(3)]
    assert all(quietly(gorillas.run, u)[1]["seconds"] > 0 for u in units)
    assert reads == ["gorillas"]
    units = [u for u in dti.plan(Options(quick=True)).units if u.method == "constant" and not u["part"]]
    assert all(quietly(dti.run, u)[1]["seconds"] > 0 for u in units[:3])
    assert reads == ["gorillas", "dti"]


def test_figures_of_the_paper_stand_only_beside_data_like_its_own(data_home, tmp_path, monkeypatch):
    """None beside the simulated tract; beside the stand-in, whose sites are others, those over all sites alone."""
    monkeypatch.setenv("HEATGP_DATA", str(data_home))
    assert {setting for setting, _, _ in dti.plan(Options()).paper} == {"all sites"}
    d = dti.tract(None)
    np.savez(tmp_path / "own.npz", A=d.details["A"], y=d.y)
    own = dti.plan(Options(dti=str(tmp_path / "own.npz"))).paper
    assert {setting for setting, _, _ in own} == {"all sites", *(f"site {s + 1}" for s in dti.FOUND)}
    assert own["site 13", "heatgp", "cross_entropy"] == (0.48, 0.08)
    (committed,) = RESULTS
    rows = [r for r in read_csv(committed) if r.experiment == "dti"]
    assert {r.setting for r in rows if not math.isnan(r.paper)} == {"all sites"}


# The committed full run


RESULTS = sorted((ROOT / "docs" / "results").glob("*.csv"))


def test_committed_results_keep_the_promises():
    (file,) = RESULTS
    rows = {name: [row for row in read_csv(file) if row.experiment == name] for name in command.NAMES}
    assert all(rows.values())

    def mean(name, setting, method, metric):
        return find(rows[name], setting, method, metric).mean

    own = [mean("knots", str(k), "heatgp", "rmse") for k in knots.KNOTS]
    assert np.ptp(own) < 1e-6
    for knot in knots.KNOTS[1:]:
        assert own[0] <= 0.2 * mean("knots", str(knot), "rbf", "rmse")
    for setting, limit in (("30 dB", 0.1), ("10 dB", 2.66 / 6.6)):
        assert mean("projective", setting, "heatgp", "rmse") <= limit * mean("projective", setting, "rbf", "rmse")
    for setting in gorillas.SETTINGS:
        assert mean("gorillas", setting, "heatgp", "cross_entropy") <= 0.10
        assert mean("gorillas", setting, "heatgp", "auc") >= 0.99
    assert sorted(dti.top_sites(rows["dti"], "simulated ")) == dti.planted()
    assert find(rows["dti"], "simulated planted sites", "heatgp", "found").n == 10
    assert mean("compare", "R^3", "strip", "error") < mean("compare", "R^3", "ball", "error")
    for setting in ("S^2", "S^9", "CP^4", "SO(3)", "Gr(5,2)"):
        assert mean("compare", setting, "smooth", "error") < 0.01


def test_the_table_of_the_readme_is_the_committed_one():
    text = (ROOT / "README.md").read_text()
    lines = [line for line in text.splitlines() if re.match(r"\| (knots|projective|gorillas|dti|compare) \|", line)]
    assert lines or "docs/results" not in text
    kernels = markdown_table(RESULTS, methods=("ball", "strip", "smooth"), metrics=("error", "seconds"))
    assert set(lines) <= {*markdown_table(RESULTS).splitlines(), *kernels.splitlines()}


def test_code_of_the_page_on_reproducing_prints_the_table(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "reproduce.md").read_text(), re.DOTALL)
    exec(compile(code, "docs/reproduce.md", "exec"), {})
    assert capsys.readouterr().out.strip() == markdown_table(RESULTS)
