"""Every file that the library writes, and faults that strike while it is written.

As a script, `python faults.py FOLDER WRITER ...`, it runs writers again and again in processes of their own, each of
which kills itself at another moment.
"""

import errno
import io
import os
import shutil
import signal
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import matplotlib
import numpy as np

from heatgp import (
    Domain,
    Euclidean,
    GPRegressor,
    Grassmann,
    Manifold,
    Sphere,
    compare,
    heat_kernel,
    load_kernel,
    load_model,
)
from heatgp import whole_file as module
from heatgp.cli.tables import write_columns
from heatgp.datasets import files as data_files
from heatgp.errors import HeatGPWarning
from heatgp.experiments.experiment import Experiment, Grid, Plan, Section, Unit
from heatgp.experiments.report import write_report
from heatgp.experiments.table import row, write_csv
from heatgp.experiments.work import compute
from heatgp.paths.samples import orbit_samples
from heatgp.plots import save_figure

# What is written: each takes a folder and a version of the content, 0 or 1, and returns what the user gets back.


def kernel_file(folder, version):
    kernel = heat_kernel(Sphere(2), "strip", paths=300, times=[0.2, 0.4], step=0.1, rng=version, cache=False)
    kernel.save(folder / "kernel.npz")
    return load_kernel(folder / "kernel.npz").samples.theta.tolist()


def model_file(folder, version):
    """What `heatgp fit --save` writes, without the fit."""
    from heatgp.cli import fit

    absent = dict.fromkeys(("model", "predict", "out", "columns", "paths", "references"))
    options = mock.Mock(
        save=str(folder / "model"), train="t.csv", kernel="auto", smoothness=None, project=False, **absent
    )
    X = Sphere(2).random(np.random.default_rng(0), 6)
    model = GPRegressor(Sphere(2), time=0.3, amplitude=1.0 + version, noise=0.1).fit(X, X[:, 0])
    table = mock.Mock()
    with (
        mock.patch.object(fit, "read_manifold", return_value=Sphere(2)),
        mock.patch.object(fit, "read_table", return_value=table),
        mock.patch.object(fit, "read_target", return_value=X[:, 0]),
        mock.patch.object(fit, "points_of", return_value=(X, None, 0.0)),
        mock.patch.object(fit, "train", return_value=model),
    ):
        fit.run(options)
    return load_model(folder / "model").amplitude_


def predictions_csv(folder, version):
    write_columns(str(folder / "p.csv"), {"mean": np.arange(2000.0) + version})


def predictions_npz(folder, version):
    write_columns(str(folder / "p.npz"), {"mean": np.arange(2000.0) + version})


def comparison_csv(folder, version):
    X = Sphere(2).random(np.random.default_rng(version), 12)
    table = compare(Sphere(2), X, X[:, 2], methods=["linear"], splits=2)
    still = type(table)(tuple(r for r in table.rows if r.metric != "seconds"), table.title)
    still.to_csv(folder / "c.csv")


def figure_of(version):
    figure = matplotlib.figure.Figure(figsize=(1, 1))
    figure.add_subplot().plot([0, 1 + version])
    return figure


def picture(suffix):
    def write(folder, version):
        save_figure(figure_of(version), folder / f"picture{suffix}")

    return write


def experiment_csv(folder, version):
    write_csv(folder / "e.csv", [row("e", "s", "m", "rmse", [1.0 + version, 2.0], {})])


def report(folder, version):
    experiment = Experiment("knots", "Knots", lambda o: Plan(()), lambda u: {}, lambda o: Section())
    section = Section(text=f"version {version}", pictures={"knots_predictions": figure_of(version)})
    with mock.patch("heatgp.experiments.report._figure", faulty_figure):
        write_report(folder, {experiment: section}, Grid("", ("a",), [("1",)]), "")


def faulty_figure(path, figure):
    for suffix in (".png", ".svg"):
        save_figure(figure, path.with_name(path.name + suffix))
    return f"<img alt='{len(path.with_name(path.name + '.png').read_bytes())}'>"


def ledger(folder, version):
    """Three units, the scores of which depend on the version, which is among their options."""
    units = [Unit("a", "b", i, (("version", version),)) for i in range(3)]
    made = Experiment("ledger", "", lambda o: Plan(units), lambda u: {"rmse": float(u.repetition + version)}, None)
    return list(compute(made, units, folder, 1).values())


def download(folder, version):
    """Members of an archive, from a `pooch` that has them already."""
    import hashlib

    members = {f"data/{name}": bytes([version]) * 9000 for name in ("a.rda", "b.rda")}

    class Pooch:
        def get_logger(self):
            return mock.Mock()

        def Untar(self, *_, **__):
            return None

        def retrieve(self, url, known, path, processor):
            for name, content in members.items():
                Path(path, name).parent.mkdir(exist_ok=True)
                Path(path, name).write_bytes(content)

    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    with mock.patch.object(data_files, "packages", return_value=(Pooch(), None)):
        data_files.download_members(("url",), sums, folder / "data", "the source")


SIMULATED = {"paths": 1200, "step": 0.05}  # three blocks
SQUARE = Domain(Euclidean(2), [(0, 0), (1, 0), (1, 1), (0, 1)])


class Plane(Manifold):
    """A user's own manifold without symmetry."""

    shape, dim, volume, scalar_curvature = (2,), 2, 1.0, 0.0

    def noise(self, x, z):
        return z

    def exp(self, x, v):
        return x + v

    def random(self, rng, n):
        return rng.random((n, 2))

    def defect(self, x):
        return 0 * x[..., 0]

    def distance(self, x, y):
        return np.linalg.norm(x - y, axis=-1)


def samples_cache(folder, version):
    return orbit_samples(Sphere(2), [0.1, 0.2], rng=version, cache=folder, **SIMULATED).theta.tolist()


def ball_cache(folder, version):
    planes = Grassmann(4, 2)
    kernel = heat_kernel(planes, "ball", rng=version, times=[0.2], cache=folder, **SIMULATED)
    return kernel(planes.random(np.random.default_rng(0), 3), time=0.2).tolist()


def rows_cache(folder, version):
    """Balls on a manifold without symmetry: paths from each point."""
    kernel = heat_kernel(Plane(), "ball", rng=version, times=[0.1], step=0.05, paths=300, cache=folder)
    return kernel(Plane().random(np.random.default_rng(0), 3), time=0.1).tolist()


def reference_cache(folder, version):
    return heat_kernel(SQUARE, "reference", references=8, paths=1200, rng=version, cache=folder).table.tolist()


WRITERS = {
    "kernel": kernel_file,
    "model": model_file,
    "predictions.csv": predictions_csv,
    "predictions.npz": predictions_npz,
    "comparison": comparison_csv,
    "png": picture(".png"),
    "svg": picture(".svg"),
    "pdf": picture(".pdf"),
    "experiment": experiment_csv,
    "report": report,
    "ledger": ledger,
    "download": download,
    "samples": samples_cache,
    "ball": ball_cache,
    "rows": rows_cache,
    "reference": reference_cache,
}

# What can go wrong: the number-th time that a file is opened, written, flushed to the disk or renamed.


class Faults:
    """Strike once, at the number-th moment: raise the error, or call it where it is a function."""

    def __init__(self, number, error):
        self.number, self.error, self.moments, self.struck = number, error, 0, False

    def moment(self, before=lambda: None):
        self.moments += 1
        if self.moments - 1 == self.number:
            self.struck = True
            before()
            if callable(self.error):
                self.error()
            raise self.error


class FaultyFile(io.FileIO):
    """A file whose disk is full in the middle of a write."""

    def __init__(self, name, mode, faults):
        super().__init__(name, mode)
        self.faults = faults

    def write(self, data):
        half = bytes(data)[: len(data) // 2]
        self.faults.moment(lambda: super(FaultyFile, self).write(half))
        return super().write(data)


@contextmanager
def faulty(faults):
    """The library's files are written under these faults."""

    def faulty_open(name, mode, buffering=-1):
        faults.moment()
        file = FaultyFile(name, mode.replace("b", ""), faults)
        return file if buffering == 0 else io.BufferedWriter(file)

    def faulty_call(original):
        def call(*args):
            faults.moment()
            return original(*args)

        return call

    with (
        mock.patch.object(module, "open", faulty_open, create=True),
        mock.patch.object(os, "fsync", faulty_call(os.fsync)),
        mock.patch.object(os, "replace", faulty_call(os.replace)),
        mock.patch("heatgp.paths.kept.STORE_SECONDS", 0.0),
        mock.patch("heatgp.paths.walk.CACHE_BYTES", 20_000),
    ):
        yield


FULL = OSError(errno.ENOSPC, "No space left on device")
DENIED = PermissionError(errno.EACCES, "Permission denied")


def contents(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def kill_at_every_moment(writer, folder):
    """Old content, then new content by processes that are killed; what is there after each."""
    old = folder / "old"
    old.mkdir(parents=True)
    writer(old, 0)
    for number in range(1000):
        here = folder / str(number)
        shutil.copytree(old, here)
        with warnings.catch_warnings():  # Python 3.12 warns of threads, none of which the writers need
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process == 0:
            try:
                with faulty(Faults(number, lambda: os.kill(os.getpid(), signal.SIGKILL))):
                    writer(here, 1)
            finally:
                os._exit(0)
        _, status = os.waitpid(process, 0)
        if not os.WIFSIGNALED(status):
            return


if __name__ == "__main__":
    warnings.simplefilter("ignore", HeatGPWarning)
    for name in sys.argv[2:]:
        kill_at_every_moment(WRITERS[name], Path(sys.argv[1]) / name)
