"""Sites of a tract that tell two groups apart. Ye, Niu, Cheung, Dai, Liu (2024), Tables 3 to 5."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from ..baselines.rows import distinct
from ..datasets import DataMissing, Dataset, dti, simulated_tract
from ..datasets.tracts import stand_in_file
from ..errors import InvalidInput
from ..estimators import GPClassifier
from ..heat.kernel import HeatKernel
from ..heat.methods import heat_kernel
from ..manifolds import SPD
from ..plots import reliability_figure, tract_figure
from ..whole_file import existing_file
from .experiment import Experiment, Grid, Options, Outcome, Plan, Row, Scores, Section, Unit
from .models import classification, model, pooled
from .section import section_text, setting_grid
from .table import find, paper_figures, row, shown

Source = tuple[str, str]
"""A file and a digest of its content."""

METHODS = {"heatgp": "heatgp", "spd": "", "rbf": "rbf raw", "svm": "svm raw", "linear": "linear raw", "constant": ""}
"""The baselines see the seven numbers of a point, as the paper's do; `constant` predicts the training frequency, and
`spd` is our process on the matrices themselves."""
TIMES = (0.1, 0.5, 2.5)
"""Of the heat kernel of SPD(3). The median distance of two subjects at a site is 0.7 and 1.1 in the two data sets."""
TRAIN, TEST = (15, 20), (3, 8)
"""Healthy and ill subjects of a batch: the paper's 35 and 11 of its 46."""
TOP = 5
SCORES = ("cross_entropy", "auc", "error")
FOUND = (12, 28, 38, 49, 54)
"""The sites that the paper found, counted from zero."""
SIMULATED = "simulated "
"""Before the names of settings of the simulated tract."""
ALL, BEST, PLANTED = "all sites", f"best {TOP} sites", "planted sites"


def plan(options: Options) -> Plan:
    """The stand-in (or a file of diffusion tensors) and the simulated tract; without data the latter alone.

    The paper's figures are of its own data. None stand beside the simulated tract. Beside the stand-in, whose sites
    are others, only those over all sites do, for comparison.
    """
    every = 15 if options.quick else 1
    sources: dict[str, Source | None] = {SIMULATED: None}
    left_out: tuple[str, ...] = ()
    try:
        sources = {"": source(options.dti), **sources}
    except DataMissing as reason:
        left_out = (str(reason),)
    units = [
        Unit(f"{part}site {site + 1}", method, batch, (("part", part), ("site", site), ("file", file)))
        for part, file in sources.items()
        for site in sites(tract(file).X.shape[1], every)
        for method in METHODS
        if method != "svm" or not part  # support vectors take a third of the time: once is enough
        for batch in range(options.repetitions)
    ]
    paper = paper_figures("dti")
    return Plan(units, left_out, paper if options.dti else {p: f for p, f in paper.items() if p[0] == ALL})


def sites(number: int, every: int) -> list[int]:
    """One of `every` sites, and those that the paper found."""
    return [site for site in range(number) if site % every == 0 or site in FOUND]


def source(file: str | None) -> Source:
    """The file, or the stand-in, and a digest of its content, which together determine the scores."""
    path = stand_in_file() if file is None else existing_file(file)
    return str(path), hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@cache
def tract(file: Source | None) -> Dataset:
    """The tract of a file, or the simulated one; read once in each process."""
    d = dti(file[0]) if file else simulated_tract()
    for label, least in enumerate(np.add(TRAIN, TEST)):
        number = int(np.sum(d.y == label))
        if number < least:
            raise InvalidInput(f"{d.description}: {number} subjects have y = {label}; a batch takes {least}.")
    return d


def batch(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test subjects, as many of each group as TRAIN and TEST say."""
    rng = np.random.default_rng(seed)
    groups = [rng.permutation(np.flatnonzero(y == label)) for label in (0, 1)]
    train = np.concatenate([g[:n] for g, n in zip(groups, TRAIN)])
    test = np.concatenate([g[n : n + m] for g, n, m in zip(groups, TRAIN, TEST)])
    return train, test


def run(unit: Unit) -> Scores:
    d = tract(unit["file"])
    train, test = batch(d.y, unit.repetition)
    X = (d.details["A"] if unit.method == "spd" else d.X)[:, unit["site"]]
    own = {"spd": TensorClassifier(), "constant": DummyClassifier(strategy="prior")}
    estimator = own.get(unit.method) or model(METHODS[unit.method], d.manifold, "classification")
    return classification(estimator, X[train], d.y[train], X[test], d.y[test])


class TensorClassifier:
    """Our process on SPD(3), at the one of TIMES with the largest evidence.

    A search of its own asks for 16 to 37 long times, each of which is prepared for a second or more: half a minute or
    more for a fit. These few are prepared once in each process.
    """

    def fit(self, A: np.ndarray, y: np.ndarray) -> None:
        fits = [(time, GPClassifier(kernel="precomputed").fit(correlations(A, A, time), y)) for time in TIMES]
        self.time, self.model = max(fits, key=lambda fit: fit[1].log_marginal_likelihood())
        self.A, self.classes_ = A, self.model.classes_

    def predict_proba(self, A: np.ndarray) -> Any:
        return self.model.predict_proba(correlations(A, self.A, self.time))


def correlations(A: np.ndarray, B: np.ndarray, time: float) -> np.ndarray:
    """p_t / p_t(x, x) between matrices A and B."""
    kernel = spd_kernel()
    return kernel(A, B, time=time) / kernel(np.eye(3), time=time)


@cache
def spd_kernel() -> HeatKernel:
    """One in each process, which keeps the times that it has prepared."""
    return heat_kernel(SPD(3))


def conclude(outcome: Outcome) -> list[Row]:
    """Means over groups of sites, and how many of the planted sites were found."""
    rows = []
    for part in parts(outcome):
        here = methods(outcome, part)
        for (name, chosen), method, metric in product(site_groups(outcome, part).items(), here, SCORES):
            scores = [
                s for u, s in outcome.scores.items() if (u["part"], u.method) == (part, method) and u["site"] in chosen
            ]
            values = [s[metric] for s in scores if metric in s]
            rows.append(row("dti", part + name, method, metric, values, outcome.paper))
        if part:
            rows += [row("dti", part + PLANTED, m, "found", found(outcome, m), {}) for m in here if m != "constant"]
    return rows


def site_groups(outcome: Outcome, part: str) -> dict[str, list[int]]:
    """Groups of sites over which scores are averaged."""
    sites = distinct(u["site"] for u in outcome.scores if u["part"] == part)
    groups = {ALL: sites, BEST: top_sites(outcome.rows, part)}
    return {**groups, PLANTED: planted()} if part else groups


def parts(outcome: Outcome) -> list[str]:
    return distinct(u["part"] for u in outcome.scores)


def methods(outcome: Outcome, part: str) -> list[str]:
    return distinct(u.method for u in outcome.scores if u["part"] == part)


def planted() -> list[int]:
    return tract(None).details["planted"].tolist()


def site_scores(rows: Sequence[Row], part: str, method: str) -> dict[int, float]:
    """Mean cross entropy at each site, numbered from 0."""
    start = f"{part}site "
    return {
        int(r.setting.removeprefix(start)) - 1: r.mean
        for r in rows
        if r.setting.startswith(start) and (r.method, r.metric) == (method, "cross_entropy")
    }


def best_sites(scores: Mapping[int, float]) -> list[int]:
    """The sites of least score, the best first."""
    return sorted(scores, key=scores.__getitem__)[:TOP]


def top_sites(rows: Sequence[Row], part: str, method: str = "heatgp") -> list[int]:
    """The sites of least cross entropy over all batches, the best first."""
    return best_sites(site_scores(rows, part, method))


def found(outcome: Outcome, method: str) -> list[float]:
    """In each batch alone: how many of the planted sites are among the five of least cross entropy."""
    batches: dict[int, dict[int, float]] = {}
    for unit, scores in outcome.scores.items():
        if unit["part"] and unit.method == method:
            batches.setdefault(unit.repetition, {})[unit["site"]] = scores["cross_entropy"]
    return [float(len(set(planted()).intersection(best_sites(b)))) for b in batches.values()]


def present(outcome: Outcome) -> Section:
    tables, pictures = [], {}
    for part in parts(outcome):
        name = "simulated tract" if part else "tract" if outcome.options.dti else "stand-in"
        here = methods(outcome, part)
        best = [f"site {site + 1}" for site in top_sites(outcome.rows, part)]
        settings = [part + setting for setting in (*site_groups(outcome, part), *best)]
        for metric, label in (("cross_entropy", "Cross entropy in nats"), ("auc", "Area under the ROC curve")):
            grid = setting_grid(outcome, metric, f"{label}, {name}, mean (sd) over batches", here, settings)
            tables.append(replace(grid, lines=[(line[0].removeprefix(part), *line[1:]) for line in grid.lines]))
        if part:
            tables.append(found_grid(outcome))
        curves = {m: site_scores(outcome.rows, part, m) for m in here if m != "constant"}
        constant = find(outcome.rows, part + ALL, "constant", "cross_entropy")
        predicted = {method: pooled(outcome.select(part=part, method=method)) for method in curves}
        file = f"dti_{name.split()[0].replace('-', '_')}"
        pictures[file] = tract_figure(
            {m: np.array(list(c.values())) for m, c in curves.items()},
            sites=[site + 1 for site in curves["heatgp"]],
            marked=[site + 1 for site in planted()] if part else (),
            chance=constant.mean if constant else None,
            chance_label="constant",
            title=name,
        )
        pictures[f"{file}_reliability"] = reliability_figure(predicted, bins=10, title=name)
    measured = "A file of diffusion tensors takes their place." if outcome.options.dti else section_text("stand_in")
    measured = measured if "" in parts(outcome) else ""
    text = section_text(
        "dti",
        batches=outcome.options.repetitions,
        measured=measured,
        position="second" if measured else "only",
        lucky=lucky(outcome),
        times=", ".join(map(str, TIMES)),
    )
    return Section(text, tables, pictures)


def lucky(outcome: Outcome) -> str:
    """Mean cross entropy of the best five sites where nothing was planted."""
    scores = {s: v for s, v in site_scores(outcome.rows, SIMULATED, "heatgp").items() if s not in planted()}
    return f"{np.mean(sorted(scores.values())[:TOP]):.2f}"


def found_grid(outcome: Outcome) -> Grid:
    """How often the planted sites are among the five best."""
    lines = []
    for method in METHODS:
        if counted := find(outcome.rows, SIMULATED + PLANTED, method, "found"):
            best = top_sites(outcome.rows, SIMULATED, method)
            right = f"{len({*planted()} & {*best})} of {len(planted())}"
            lines.append((method, right, numbered(best), shown(counted)))
    return Grid(
        f"Planted sites ({numbered(sorted(planted()))}) among the five of least cross entropy",
        ("method", "by the mean of all batches", "the five", "by one batch, mean (sd)"),
        lines,
    )


def numbered(sites: Sequence[int]) -> str:
    """Sites as they are shown, counted from one."""
    return ", ".join(str(site + 1) for site in sites)


EXPERIMENT = Experiment("dti", "Sites of a tract", plan, run, present, conclude)
