"""Full disks, missing permissions and killed processes, at every moment of every file that is written.

The old file is intact or the new one is complete; no temporary file is left; the next run gives the same bits.
"""

import ast
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import faults
import heatgp
from faults import DENIED, FULL, WRITERS, Faults, contents, faulty
from heatgp import Sphere
from heatgp.paths.samples import orbit_samples
from heatgp.whole_file import HOST, append_whole, whole_file, write_text

pytestmark = pytest.mark.filterwarnings("ignore::heatgp.errors.AccuracyWarning")  # few paths are enough here
SOURCE = Path(heatgp.__file__).parent
CACHES = ("samples", "ball", "rows", "reference")
UNFINISHED = (".partial",)
SLOW = ("ball", "reference")
ALL = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in WRITERS]


def outcome(writer, folder, version):
    """What the user gets back, and the files."""
    folder.mkdir(exist_ok=True)
    return writer(folder, version), contents(folder)


def whole_files(found):
    """Without the parts of a simulation that goes on next time."""
    return {name: content for name, content in found.items() if not name.endswith(UNFINISHED)}


def check_old_or_new(found, old, new, name):
    """Every file is as it was, or as it is to be; a ledger may have some of the new lines."""
    assert not [file for file in found if file.endswith(".tmp")]
    for file, content in whole_files(found).items():
        if name == "ledger":
            assert new[file].startswith(content) or content.startswith(old[file])
        else:
            assert content in (old.get(file), new.get(file)), file
    assert set(old) <= set(found)


@pytest.mark.filterwarnings("ignore:.*could not be stored:heatgp.errors.HeatGPWarning")
@pytest.mark.parametrize("name", ALL)
def test_a_write_that_fails_once(tmp_path, name):
    writer = WRITERS[name]
    _, old = outcome(writer, tmp_path / "old", 0)
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    result, new = outcome(writer, tmp_path / "new", 1)
    number = 0
    while True:
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "old", folder)
        error = (FULL, DENIED)[number % 2]
        strike = Faults(number, error)
        failed = None
        with faulty(strike):
            try:
                got = writer(folder, 1)
            except OSError as problem:
                failed = problem
        check_old_or_new(contents(folder), old, new, name)
        if failed is None:
            assert got == result
        else:
            assert failed.errno == error.errno
            assert name not in CACHES, "a cache that cannot be written costs the cache alone"
        assert outcome(writer, folder, 1) == (result, new)  # the next run
        if not strike.struck:
            break
        number += 1
    assert number >= 4  # it was opened, written, flushed and renamed, or appended to


def kill(folder, *names):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, faults.__file__, str(folder), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What is left by processes that were killed, one at each moment, in a folder for each writer."""
    folder = tmp_path_factory.mktemp("killed")
    kill(folder, *(name for name in WRITERS if name not in SLOW))
    return folder


@pytest.mark.parametrize("name", ALL)
def test_a_process_that_is_killed(tmp_path, killed, name):
    writer = WRITERS[name]
    if name in SLOW:
        kill(killed, name)
    _, old = outcome(writer, tmp_path / "before", 0)
    shutil.copytree(tmp_path / "before", tmp_path / "new")
    result, new = outcome(writer, tmp_path / "new", 1)
    folders = sorted((killed / name).glob("[0-9]*"))
    assert len(folders) >= 4
    for folder in folders:
        found = {file: content for file, content in contents(folder).items() if not file.endswith(".tmp")}
        if name == "ledger":  # a torn last line is forgotten
            found = {file: content[: content.rfind(b"\n") + 1] for file, content in found.items()}
        check_old_or_new(found, old, new, name)
        assert outcome(writer, folder, 1) == (result, new)  # the next run, which removes what was left


def test_a_simulation_goes_on_after_a_kill(tmp_path, monkeypatch):
    """Whatever parts a killed process has stored are used; that the result has the same bits is tested above."""
    kill(tmp_path, "samples")
    parts = sorted((f.stat().st_size, f.parent) for f in tmp_path.rglob("*.partial"))
    assert parts[-1][0] > 16 * 1024  # nearly all of 1200 paths, two times
    firsts, simulate = [], heatgp.paths.kept.simulate
    monkeypatch.setattr("heatgp.paths.kept.simulate", lambda *args: firsts.append(args[-1]) or simulate(*args))
    for size, folder in parts:
        WRITERS["samples"](folder, 1)
        assert firsts[-1] * 512 * 2 * 8 <= size
    assert max(firsts) >= 2


def test_threads_do_not_clash(tmp_path):
    """Many threads write the same file and the same cache: each write is whole."""
    problems = []

    def work(number):
        try:
            for _ in range(20):
                write_text(tmp_path / "text", str(number) * 5000)
                assert len(set((tmp_path / "text").read_text())) == 1
            theta.append(orbit_samples(Sphere(2), [0.1], paths=3000, step=0.05, rng=0, cache=tmp_path / "cache").theta)
        except BaseException as problem:
            problems.append(problem)

    theta = []
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert all(np.array_equal(theta[0], other) for other in theta)
    assert [f.name for f in tmp_path.iterdir() if f.is_file()] == ["text"]
    assert [f.suffix for f in (tmp_path / "cache").iterdir()] == [".npz"]


def test_what_killed_processes_left_is_removed_and_that_of_others_is_not(tmp_path):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead = tmp_path / f".heatgp.{HOST}.{int(gone.stdout)}.abc.tmp"
    living = tmp_path / f".heatgp.{HOST}.{os.getpid()}.abc.tmp"
    elsewhere = tmp_path / f".heatgp.other-machine.{int(gone.stdout)}.abc.tmp"
    for file in (dead, living, elsewhere):
        file.write_text("half")
    write_text(tmp_path / "file", "whole")
    assert {f.name for f in tmp_path.iterdir()} == {"file", living.name, elsewhere.name}


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: .*nowhere/file"):
        write_text(tmp_path / "nowhere" / "file", "text")
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path, "text")


def test_links_devices_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    write_text(os.devnull, "nothing")
    assert not Path(os.devnull).is_file()


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def interrupted():
        with whole_file(tmp_path / "file") as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_record_that_does_not_fit_is_not_appended(tmp_path):
    append_whole(tmp_path / "file", b"one\n")
    with faulty(Faults(1, FULL)), pytest.raises(OSError, match="No space left"):
        append_whole(tmp_path / "file", b"two\n" * 100)
    append_whole(tmp_path / "file", b"three\n")
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"


WRITING = {"write_text", "write_bytes", "savez", "savez_compressed", "save", "savetxt", "savefig", "dump", "to_csv"}


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_nothing_is_written_in_any_other_way(file):
    """Files are opened for writing in `whole_file` alone; what writes to a stream gets one from there."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "open" and file.name != "whole_file.py":
            modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            assert not any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes), node.lineno
        if called in WRITING and isinstance(node.func, ast.Attribute) and file.name != "whole_file.py":
            to_stream = any(isinstance(a, ast.Name) and a.id == "stream" for a in node.args)
            own = called in ("save", "to_csv")  # of the library's own objects
            assert to_stream or own, f"{called} in line {node.lineno}"
