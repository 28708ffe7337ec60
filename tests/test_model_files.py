"""`save` and `load_model`: the same model, no code of the file, nothing else after damage."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import heatgp as hg
from heatgp.errors import InvalidInput, Unsupported
from heatgp.estimators.files import MODEL
from heatgp.gp.neighbors.posterior import NeighborData
from heatgp.gp.parameters import LogNormal, Priors
from heatgp.gp.posterior import AllData
from heatgp.gp.sparse.regression import SparseData
from heatgp.gp.structure import Forgotten
from heatgp.gp.student import StudentT

S2, R1 = hg.Sphere(2), hg.Euclidean(1)
P = hg.Product(S2, R1)
RNG = np.random.default_rng(0)
X = S2.random(RNG, 60)
Y = X[:, 0] * X[:, 2] + 0.05 * RNG.standard_normal(60)
XP = P.join(X, RNG.standard_normal((60, 1)))
THREE = np.digitize(Y, [-0.2, 0.2])
GIVEN = {"time": 0.5, "amplitude": 1.0, "noise": 0.01}
MANY = S2.random(RNG, 5000)
ROUGH = np.sin(40 * MANY[:, 1]) + 0.05 * RNG.standard_normal(5000)

MODELS = {
    "dense": lambda: hg.GPRegressor(S2).fit(X, Y),
    "grid": lambda: hg.GPRegressor(S2, integrate="grid").fit(X, Y),
    "several outputs": lambda: hg.GPRegressor(S2).fit(X, np.column_stack((Y, Y**2))),
    "linear mean": lambda: hg.GPRegressor(S2, mean="linear").fit(X, Y),
    "known noise": lambda: hg.GPRegressor(S2, noise=np.linspace(0.01, 0.1, 60)).fit(X, Y),
    "student-t": lambda: hg.GPRegressor(S2, likelihood=StudentT(degrees=4.0)).fit(X, Y),
    "poisson": lambda: hg.GPRegressor(S2, likelihood="poisson").fit(X, np.abs(5 * Y).round(), exposure=2.0),
    "matern": lambda: hg.GPRegressor(S2, smoothness=1.5, priors=Priors(noise=LogNormal(0.1, 1.0))).fit(X, Y),
    "times of factors": lambda: hg.GPRegressor(P).fit(XP, Y),
    "sum": lambda: hg.GPRegressor(P, kernel=hg.heat_kernel(S2).on(P, 0) + hg.heat_kernel(R1).on(P, 1)).fit(XP, Y),
    "coordinates": lambda: hg.GPRegressor(hg.Euclidean(3), time="coordinates").fit(X, Y),
    "vectors": lambda: hg.GPRegressor("euclidean", **GIVEN).fit(X, Y),
    "seed": lambda: hg.GPRegressor(S2, random_state=np.random.default_rng(3), **GIVEN).fit(X, Y),
    "smooth": lambda: hg.GPRegressor(S2, kernel=hg.Smooth(paths=2000), **GIVEN).fit(X, Y),
    "reference": lambda: hg.GPRegressor(S2, kernel=hg.Reference(references=60, paths=2000), time=0.8).fit(X, Y),
    "precomputed": lambda: hg.GPRegressor(kernel="precomputed", amplitude=1.0, noise=0.1).fit(np.eye(60), Y),
    "sparse": lambda: hg.GPRegressor(S2, inference="sparse").fit(MANY[:2000], MANY[:2000, 0]),
    "neighbors": lambda: hg.GPRegressor(S2, time=6e-4, amplitude=1.0, noise=0.01).fit(MANY, ROUGH),
    "labels": lambda: hg.GPClassifier(S2).fit(X, np.where(Y > 0, "yes", "no")),
    "three classes": lambda: hg.GPClassifier(S2).fit(X, THREE),
    "sparse labels": lambda: hg.GPClassifier(S2, inference="sparse").fit(MANY[:1500], MANY[:1500, 0] > 0.1),
}
KINDS = {"sparse": SparseData, "neighbors": NeighborData, "sparse labels": Forgotten}


def predicted(gp, points):
    return (
        gp.predict_proba(points) if isinstance(gp, hg.GPClassifier) else np.stack(gp.predict(points, return_std=True))
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::heatgp.errors.HeatGPWarning")
def test_a_model_comes_back_with_the_same_bits(name, tmp_path):
    gp = MODELS[name]()
    gp.save(tmp_path / "model")
    again = hg.load_model(tmp_path / "model")
    assert type(gp.posterior_.structure) is KINDS.get(name, AllData)
    points = {"times of factors": XP[:9], "sum": XP[:9], "precomputed": np.eye(60)[:9]}.get(name, X[:9])
    np.testing.assert_array_equal(predicted(again, points), predicted(gp, points))
    assert set(vars(again)) == set(vars(gp))
    assert str(again.summary()) == str(gp.summary())
    again.save(tmp_path / "again")
    assert (tmp_path / "again").stat().st_size == (tmp_path / "model").stat().st_size


def test_tables_keep_their_names_and_models_go_on(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    gp = hg.GPRegressor(S2, **GIVEN).fit(frame, Y)
    gp.save(tmp_path / "model")
    again = hg.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(frame), gp.predict(frame))
    with pytest.raises(InvalidInput, match=r"The model was fitted to the columns \['a', 'b', 'c'\]"):
        again.predict(frame[list("cab")])
    again.partial_fit(frame, Y)
    assert again.posterior_.count == 120
    assert again.fit(frame, Y + 1).predict(frame).mean() == pytest.approx(gp.predict(frame).mean() + 1, abs=1e-3)


def test_manifolds_of_functions_are_given_again(tmp_path):
    lines = hg.Product(hg.Quotient(S2, (lambda x: x, lambda x: -x)), R1)
    points = lines.join(X, XP[:, 3:])
    gp = hg.GPRegressor(lines, **GIVEN, mean="constant").fit(points, Y**2)
    gp.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"whose functions a file cannot hold\. Pass manifold=\.\.\. too"):
        hg.load_model(tmp_path / "model")
    again = hg.load_model(tmp_path / "model", manifold=lines)
    np.testing.assert_array_equal(again.predict(points), gp.predict(points))
    with pytest.raises(InvalidInput, match=r"holds a model on Product.*; the manifold given is Sphere\(2\)"):
        hg.load_model(tmp_path / "model", manifold=S2)
    other = hg.Product(hg.Quotient(S2, (lambda x: x, lambda x: x * [1, 1, -1])), R1)
    with pytest.raises(InvalidInput, match="is of another Product"):
        hg.load_model(tmp_path / "model", manifold=other)
    gp = hg.GPRegressor(S2, **GIVEN).fit(X, Y)
    gp.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"holds a model on Sphere\(2\); the manifold given is Euclidean\(1\)"):
        hg.load_model(tmp_path / "model", manifold=R1)


def test_what_a_file_cannot_hold_is_an_error(tmp_path):
    gp = hg.GPRegressor(S2, mean=lambda x: x[:, 0], **GIVEN).fit(X, Y)
    with pytest.raises(Unsupported, match=r"mean is <function.*fit again with time=, amplitude= and noise= given"):
        gp.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"not fitted\. Call fit\(X, y\) before save"):
        hg.GPRegressor(S2).save(tmp_path / "model")
    with pytest.raises(InvalidInput, match="path must be a path"):
        hg.GPRegressor(S2, **GIVEN).fit(X, Y).save(3)
    assert not list(tmp_path.iterdir())


def test_damaged_files_predict_nothing_else(tmp_path):
    """One changed byte at 400 places: an error, or the same predictions where zip does not read the byte."""
    gp = hg.GPRegressor(S2, **GIVEN).fit(X, Y)
    gp.save(tmp_path / "model")
    content, expected, refused = (tmp_path / "model").read_bytes(), gp.predict(X), 0
    for place in np.linspace(0, len(content) - 1, 400).astype(int):
        changed = bytearray(content)
        changed[place] ^= 0x10
        (tmp_path / "changed").write_bytes(changed)
        try:
            found = hg.load_model(tmp_path / "changed")
        except InvalidInput:
            refused += 1
        else:
            np.testing.assert_array_equal(found.predict(X), expected)
    assert refused > 350
    (tmp_path / "changed").write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidInput, match=r"it is damaged or was edited\. Fit the model again and save it"):
        hg.load_model(tmp_path / "changed")


class Runs:
    """A pickle that would run code."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code of the file was run')",)


def test_no_code_of_a_file_is_run(tmp_path):
    """A pickle, a pickled array in an archive, and names of functions in the place of classes are refused."""
    (tmp_path / "model").write_bytes(pickle.dumps(Runs()))
    with pytest.raises(InvalidInput, match="is not a model that heatgp saved"):
        hg.load_model(tmp_path / "model")
    np.savez(tmp_path / "model.npz", description=np.array([Runs()], dtype=object), format=np.array(MODEL.version))
    with pytest.raises(InvalidInput, match="is not a model that heatgp saved"):
        hg.load_model(tmp_path / "model.npz")
    for where in ("os.system", "heatgp.cli.main", "heatgp.threads.on_one_thread", "heatgp.gp.search.Missing"):
        description = {"heatgp": "0", "objects": [["class", where, {"command": "exit 1"}]], "model": {"object": 0}}
        MODEL.write(tmp_path / "model", description, {})
        with pytest.raises(InvalidInput, match=r"was written by heatgp 0 and cannot be read"):
            hg.load_model(tmp_path / "model")


@pytest.mark.parametrize(
    "description",
    [{}, {"objects": [["unknown"]], "model": 1}, {"objects": [["list", [1]]], "model": {"object": 0}}],
    ids=["empty", "unknown kind", "no model"],
)
def test_other_content_is_refused(description, tmp_path):
    MODEL.write(tmp_path / "model", description, {})
    with pytest.raises(InvalidInput, match=r"cannot be read by"):
        hg.load_model(tmp_path / "model")


def test_other_formats_and_edited_files_are_refused(tmp_path):
    gp = hg.GPRegressor(S2, **GIVEN).fit(X, Y)
    gp.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as archive:
        content = dict(archive)
    for number in (1, 99):
        np.savez(tmp_path / "model.npz", **content | {"format": np.array(number)})
        with pytest.raises(InvalidInput, match=f"has format {number}; this version reads 2. Fit the model again"):
            hg.load_model(tmp_path / "model.npz")
    edited = json.loads(str(content["description"]))
    np.savez(tmp_path / "model.npz", **content | {"description": np.array(json.dumps(edited | {"heatgp": "9"}))})
    with pytest.raises(InvalidInput, match="was edited"):
        hg.load_model(tmp_path / "model.npz")
    with pytest.raises(InvalidInput, match="no such file"):
        hg.load_model(tmp_path / "nothing")


def test_files_of_another_kind_are_named(tmp_path):
    """Formats are counted for each kind: the format of a model says nothing of a kernel."""
    model, kernel, search = (tmp_path / name for name in ("model", "kernel", "search"))
    hg.GPRegressor(S2, **GIVEN).fit(X, Y).save(model)
    hg.heat_kernel(S2).save(kernel)
    optimizer = hg.Optimizer(S2)
    optimizer.save(search)
    readers = {
        "a model that heatgp saved": (model, hg.load_model),
        "a kernel that heatgp saved": (kernel, hg.load_kernel),
        "a file of an Optimizer": (search, optimizer.load),
    }
    for wanted, (_, read) in readers.items():
        for kind, (path, _) in readers.items():
            if kind != wanted:
                with pytest.raises(InvalidInput, match=f"is {kind}, not {wanted}. Give another file"):
                    read(path)
            else:
                read(path)
