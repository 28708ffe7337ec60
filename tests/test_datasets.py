import csv
import hashlib
import io
import re
import sys
import tarfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import rdata

from heatgp import ComplexProjective, Sphere, TorusKnot
from heatgp.datasets import (
    DataMissing,
    atmosphere,
    data_folder,
    drill,
    dti,
    globe,
    gorillas,
    projective_regression,
    simulated_tract,
    skulls,
    torus_knot,
)
from heatgp.errors import InvalidInput
from heatgp.points import landmarks_to_shape


@pytest.fixture
def serve(tmp_path_factory):
    """Files by name to the address of an HTTP server on this machine that has them."""
    folder = tmp_path_factory.mktemp("served")
    handler = partial(type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None}), directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()

        def address(name, content=None):
            if content is not None:
                (folder / name).write_bytes(content)
            return f"http://127.0.0.1:{server.server_port}/{name}"

        yield address
        server.shutdown()


def archive(contents):
    """The bytes of a .tar.gz with these members."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def made_up_skulls(folder, monkeypatch):
    """R files like the real ones, 3 females and 2 males, and their checksums: members of the archive to contents."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((8, 2, number)) for number in (3, 2)]
    contents = {}
    for member, array in zip(skulls.SHA256, arrays):
        rdata.write_rda(folder / "made.rda", {Path(member).name.removesuffix(".rda"): array})
        contents[member] = (folder / "made.rda").read_bytes()
    monkeypatch.setattr(skulls, "SHA256", {m: hashlib.sha256(c).hexdigest() for m, c in contents.items()})
    return contents, arrays


def test_gorillas_equal_the_csv(data_home):
    with (data_home / "shapes" / "gorilla.csv").open() as file:
        rows = list(csv.DictReader(file))
    expected = np.array([[float(row[f"{axis}{j}"]) for j in range(1, 9) for axis in "xy"] for row in rows])
    found = gorillas(range(1, 9), "raw", data_home=data_home)
    np.testing.assert_array_equal(found.X, expected)
    np.testing.assert_array_equal(found.y, [int(row["y"]) for row in rows])
    assert (np.sum(found.y == 0), np.sum(found.y == 1)) == (30, 29)


def test_gorillas_have_one_shape_in_every_representation(data_home):
    shapes = gorillas(data_home=data_home)
    assert shapes.manifold == ComplexProjective(2)
    for representation in ("raw", "unit", "rotated"):
        X = gorillas(representation=representation, data_home=data_home).X
        assert shapes.manifold.distance(landmarks_to_shape(X.reshape(-1, 4, 2)), shapes.X).max() < 1e-7
        if representation != "raw":
            np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    assert gorillas((1, 3, 5), data_home=data_home).X.shape == (59, 2)


def test_gorillas_reject_unknown_landmarks(tmp_path):
    with pytest.raises(InvalidInput, match="from 1 to 8; got"):
        gorillas((0, 1, 2), data_home=tmp_path)
    with pytest.raises(InvalidInput, match="got 'procrustes'"):
        gorillas(representation="procrustes", data_home=tmp_path)


def test_missing_files_say_where_to_put_what(tmp_path, monkeypatch, serve):
    monkeypatch.setattr(skulls, "URLS", (serve("nowhere.tar.gz"),))
    for load, name in ((gorillas, "gorf.dat.rda"), (drill, "drill_clean.csv"), (dti, "sites75_spd3.npz")):
        with pytest.raises(DataMissing, match=f"There is no file .*{re.escape(name)}. Put .* there .*HEATGP_DATA"):
            load(data_home=tmp_path)
    login = serve("login.html", b"<html>")  # what a network that wants a password answers
    for url in (serve("nowhere"), login, serve("other.tar.gz", archive({"a": b"b"}))):
        monkeypatch.setattr(skulls, "URLS", (url,))
        with pytest.raises(DataMissing, match=re.escape(f"The download failed ({url}: ")):
            gorillas(data_home=tmp_path)
    url = "http://127.0.0.1:9/closed.tar.gz"
    monkeypatch.setattr(skulls, "URLS", (url,))
    with pytest.raises(DataMissing, match=rf"The download failed \({url}: ConnectionError\)\.$"):
        gorillas(data_home=tmp_path)
    with pytest.raises(DataMissing, match="of the R package shapes"):
        gorillas(data_home=tmp_path, download=False)
    assert not list(tmp_path.iterdir())  # nothing half-finished is left


def test_gorillas_are_downloaded_checked_and_kept(tmp_path, monkeypatch, serve):
    contents, (female, male) = made_up_skulls(tmp_path, monkeypatch)
    urls = (serve("gone.tar.gz"), serve("shapes.tar.gz", archive(contents)))
    monkeypatch.setattr(skulls, "URLS", urls)  # a newer release moves the archive: the second address answers
    found = gorillas(range(1, 9), "raw", data_home=tmp_path / "new")
    np.testing.assert_array_equal(found.X.reshape(-1, 8, 2), np.moveaxis(np.concatenate((female, male), -1), -1, 0))
    assert found.y.tolist() == [0, 0, 0, 1, 1]
    assert sorted(f.name for f in (tmp_path / "new").rglob("*")) == ["gorf.dat.rda", "gorm.dat.rda", "shapes"]
    assert len(gorillas(data_home=tmp_path / "new", download=False).y) == 5
    (tmp_path / "new" / "shapes" / "gorf.dat.rda").write_bytes(b"broken")
    with pytest.raises(InvalidInput, match=r"has SHA-256 .*, expected .* fetch it again"):
        gorillas(data_home=tmp_path / "new")


def test_a_wrong_download_is_not_kept(tmp_path, monkeypatch, serve):
    monkeypatch.setattr(skulls, "URLS", (serve("a.tar.gz", archive(dict.fromkeys(skulls.SHA256, b"something else"))),))
    with pytest.raises(InvalidInput, match=r"SHA-256 .*, expected 6e2fb0aa"):
        gorillas(data_home=tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_the_extra_packages_the_error_names_them(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(DataMissing, match=re.escape("pip install 'heatgp[data]'")):
        gorillas(data_home=tmp_path)
    with pytest.raises(DataMissing, match="There is no file"):
        drill(data_home=tmp_path)  # it needs no package


def test_the_data_folder_is_the_argument_then_the_variable_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HEATGP_DATA", str(tmp_path / "variable"))
    assert data_folder(tmp_path) == tmp_path
    assert data_folder() == tmp_path / "variable"
    monkeypatch.delenv("HEATGP_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "heatgp"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "heatgp"


def test_drill_orientations_are_rotations(data_home):
    data = drill(data_home=data_home)
    assert data.X.shape == (614, 3, 3)
    assert data.manifold.defect(data.X).max() < 1e-12
    assert set(data.y) == {"Wrist", "Elbow", "Shoulder"}
    assert len(set(data.groups)) == 8
    q = [0.944424089938854, -0.192022006751695, -0.15577573502727, 0.216620884595494]  # the first row, scalar first
    np.testing.assert_allclose(np.trace(data.X[0]), 4 * q[0] ** 2 - 1)
    assert "614 on SpecialOrthogonal(3)" in repr(data)


def test_the_stand_in_is_named_as_such(data_home):
    data = dti(data_home=data_home)
    assert data.description.startswith("STAND-IN")
    assert data.X.shape == (86, 75, *data.manifold.shape)
    assert data.manifold.defect(data.X).max() < 1e-12
    np.testing.assert_allclose(data.X[..., 4:].sum(axis=-1), 3)  # unit diagonals: the trace is three


def test_dti_reads_the_documented_layout_only(tmp_path):
    data = simulated_tract(subjects=5, positives=2, sites=3, planted=())
    np.savez(tmp_path / "tract.npz", A=data.details["A"], y=data.y)
    found = dti(tmp_path / "tract.npz", half_circle=False, log=True)
    np.testing.assert_allclose(np.exp(found.X[..., 4:]), data.X[..., 4:])
    np.savez(tmp_path / "bad.npz", A=data.details["A"])
    with pytest.raises(InvalidInput, match="has no array 'y'"):
        dti(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", A=data.details["A"], y=data.y[1:])
    with pytest.raises(InvalidInput, match=re.escape("A of shape (5, 3, 3, 3) and y of shape (4,)")):
        dti(tmp_path / "bad.npz")


@pytest.mark.parametrize("seed", range(5))
def test_planted_sites_differ_most_between_the_classes(seed):
    """By the doubled angle of the second direction about the first, whose mean the planted effect moves."""
    data = simulated_tract(seed)
    assert data.y.sum() == 28
    assert np.linalg.eigvalsh(data.details["A"]).min() > 0
    phase = np.exp(1j * data.X[..., 3])
    gap = np.abs(phase[data.y == 1].mean(axis=0) - phase[data.y == 0].mean(axis=0))
    assert set(np.argsort(gap)[-5:]) == set(data.details["planted"])
    none = simulated_tract(seed, effect=0.0)
    other = np.setdiff1d(np.arange(75), data.details["planted"])
    np.testing.assert_array_equal(none.details["A"][:, other], data.details["A"][:, other])


def test_simulated_tract_rejects_impossible_plans():
    with pytest.raises(InvalidInput, match="positives must be between 1 and subjects - 1 = 9; got 10"):
        simulated_tract(subjects=10, positives=10)
    with pytest.raises(InvalidInput, match="planted must be sites from 0 to 9"):
        simulated_tract(sites=10)


def test_a_knot_is_the_same_regression_however_tied():
    a, b = torus_knot(2, 3, seed=4), torus_knot(9, 8, seed=4)
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert (a.manifold, b.manifold) == (TorusKnot(2, 3), TorusKnot(9, 8))
    s = a.X_test[:, 0]
    np.testing.assert_allclose(a.y_test, 8 * np.cos(s) ** 2 + 2 * np.cos(s) * np.sin(s) + 2 * np.sin(s) ** 2)
    assert not np.array_equal(a.y, torus_knot(2, 3, seed=5).y)
    with pytest.raises(InvalidInput, match=r"least eigenvalue is -1\.0e"):
        torus_knot(2, 3, matrix=[[1, 0], [0, -1]])


def test_projective_noise_has_the_ratio_asked_for():
    data = projective_regression(0, n=2000, n_test=40_000, snr_db=10)
    se = np.sqrt(2 / 40_000)  # of a variance, relative, for light tails
    noise = data.details["noise"]
    np.testing.assert_allclose(np.var(data.y_test) / noise**2, 10, rtol=5 * se)
    x, M = data.X, data.details["matrix"]
    np.testing.assert_allclose(M, M.conj().T)
    assert np.linalg.eigvalsh(M).min() > 0
    residual = data.y - np.real(np.einsum("ni,ij,nj->n", x.conj(), M, x))
    np.testing.assert_allclose(residual.std(), noise, rtol=5 * np.sqrt(0.5 / 2000))
    np.testing.assert_array_equal(projective_regression(0, n=2000, snr_db=30).X, x)


def test_wind_on_the_globe_blows_along_the_geopotential(data_home):
    # geostrophic balance: u = -dz/dy / c, v = dz/dx / c, c = 2 * (the Earth's rotation) * sin(latitude)
    u, v, z = (atmosphere(name, 500, 7, data_home=data_home) for name in ("u", "v", "z"))
    shape = (241, 480)
    latitude, longitude = (np.radians(z.details[name].reshape(shape)) for name in ("latitude", "longitude"))
    radius, rotation = 6.371e6, 7.292e-5
    north = np.gradient(z.y.reshape(shape), latitude[:, 0], axis=0) / radius
    east = np.gradient(z.y.reshape(shape), longitude[0], axis=1) / (radius * np.cos(latitude))
    middle = (np.abs(latitude) > np.radians(25)) & (np.abs(latitude) < np.radians(75))
    middle &= (longitude > 0.1) & (longitude < 6)  # differences around the globe are not those of np.gradient
    twice = 2 * rotation * np.sin(latitude[middle])
    for wind, balanced in ((u, -north[middle] / twice), (v, east[middle] / twice)):
        found = wind.y.reshape(shape)[middle]
        assert np.corrcoef(found, balanced)[0, 1] > 0.95
        assert 0.8 < np.polyfit(balanced, found, 1)[0] < 1.2
    assert z.manifold == Sphere(2)
    assert z.X.shape == (115_680, 3)
    assert z.manifold.defect(z.X).max() < 1e-12
    area = z.details["area"]
    np.testing.assert_allclose(area.sum(), 1)
    np.testing.assert_allclose(area @ z.X, 0, atol=1e-12)  # that of the sphere
    np.testing.assert_allclose(area @ z.X**2, 1 / 3, rtol=1e-4)
    assert np.ptp(z.y[np.abs(z.details["latitude"]) == 90].reshape(2, -1), axis=1).max() < 2  # one value at a pole
    assert abs(area @ z.y / 9.80665 - 5574) < 200  # the height of 500 hPa in the standard atmosphere, in m


def test_the_atmosphere_is_downloaded_checked_and_kept(tmp_path, monkeypatch, serve, data_home):
    content = (data_home / "era" / "eraint_uvz.nc").read_bytes()
    monkeypatch.setattr(globe, "URL", serve("eraint_uvz.nc", content))
    assert len(atmosphere(data_home=tmp_path / "new").y) == 115_680
    assert [path.name for path in (tmp_path / "new" / "era").iterdir()] == ["eraint_uvz.nc"]
    assert len(atmosphere(data_home=tmp_path / "new", download=False).y) == 115_680
    with pytest.raises(DataMissing, match="There is no file"):
        atmosphere(data_home=tmp_path, download=False)
    monkeypatch.setattr(globe, "URL", serve("nowhere"))
    with pytest.raises(DataMissing, match=r"Put eraint_uvz.nc there .* The download failed"):
        atmosphere(data_home=tmp_path)
    monkeypatch.setattr(globe, "URL", serve("wrong", b"something else"))
    with pytest.raises(InvalidInput, match=r"SHA-256 .*, expected 8f4cd0f7"):
        atmosphere(data_home=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]  # nothing half-finished is left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variable": "t"}, "variable = 't' is not there. Use one of 'u', 'v', 'z'."),
        ({"level": 700}, "level = 700 is not there. Use one of 200, 500, 850."),
        ({"month": True}, "month = True is not there. Use one of 1, 7."),
        ({"month": [1]}, "month = [1] is not there"),
    ],
)
def test_the_atmosphere_rejects_what_is_not_there(options, message, tmp_path):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        atmosphere(**options, data_home=tmp_path)
