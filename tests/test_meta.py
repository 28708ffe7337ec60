"""The project as a whole: layers, a complete catalog, documented names."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from time import perf_counter

import pytest

import heatgp
from catalog import CATALOG
from heatgp import manifolds
from own_manifolds import OWN

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "heatgp"
FILES = sorted(SOURCE.rglob("*.py"))

MAY_IMPORT = {
    "array": {"errors"},
    "errors": set(),
    "whole_file": {"errors"},
    "archive": {"errors", "whole_file"},
    "arguments": {"errors"},
    "covariance": {"errors"},
    "progress": set(),
    "html_table": set(),
    "cost": {"errors", "progress"},
    "manifolds": {"arguments", "array", "cost", "errors", "html_table"},
    "paths": {"arguments", "array", "cost", "errors", "manifolds", "progress", "whole_file"},
    "heat": {
        *("archive", "arguments", "array", "cost", "errors", "covariance", "html_table"),
        *("manifolds", "paths", "progress", "whole_file"),
    },
    "threads": set(),
    "gp": {"arguments", "array", "cost", "errors", "covariance", "threads"},
    "testing": {"arguments", "array", "errors", "manifolds", "heat"},
}
"""What the lower layers see besides themselves; all others may see everything, and only each other see them."""

ONE_FILE_EACH = {
    "jax": {
        *("paths/jax_engine.py", "paths/registers.py", "paths/entries.py", "paths/philox.py", "testing/compiled.py"),
        *("heat/jax_arrays.py", "adapters/jax.py", "gp/device.py", "gp/device_dense.py", "gp/device_posterior.py"),
        "gp/neighbors/device.py",
    },
    "torch": {"adapters/gpytorch.py", "adapters/botorch.py"},
    "gpytorch": {"adapters/gpytorch.py", "adapters/botorch.py"},
    "botorch": {"adapters/botorch.py"},
    "geomstats": {"adapters/geomstats.py"},
    "geometric_kernels": {"adapters/geometric_kernels.py"},
    "lab": {"adapters/geometric_kernels.py"},  # arrays of GeometricKernels
    "dask": {"adapters/dask.py"},
    "pooch": {"datasets/files.py"},
    "rdata": {"datasets/files.py"},
}
"""Optional dependencies, and the files that may import them."""

REQUIRED = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "tqdm", "matplotlib"}


def path_of(file):
    return file.relative_to(SOURCE).as_posix()


def imports(file, text=None):
    """Absolute names of the modules that a file imports."""
    package = ["heatgp", *file.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(file.read_text() if text is None else text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


@pytest.mark.parametrize("file", [f for f in FILES if f.parent != SOURCE or f.name != "__init__.py"], ids=path_of)
def test_layers(file):
    layer = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    inner = {name.split(".")[1] for name in imports(file) if name.startswith("heatgp.")}
    allowed = MAY_IMPORT.get(layer)
    if allowed is not None:
        assert inner <= allowed | {layer}
    assert "heatgp" not in {name for name in imports(file) if "." not in name}, (
        "import from the modules, not the package"
    )


SHARED = {"kernel", "special"}
"""What the packages of `heat` may import of it besides themselves; names for types alone do not count."""


@pytest.mark.parametrize("file", sorted((SOURCE / "heat").glob("*/*.py")), ids=path_of)
def test_packages_of_heat_share_the_kernel_only(file):
    package = file.parent.name
    inner = {name.split(".")[2] for name in runtime_imports(file) if name.startswith("heatgp.heat.")}
    assert inner <= SHARED | {package}
    if package == "special":
        assert inner <= {"special"}


@pytest.mark.parametrize("file", FILES, ids=path_of)
def test_dependencies(file):
    for name in {name.split(".")[0] for name in imports(file)} - {"heatgp"} - set(sys.stdlib_module_names):
        assert name in REQUIRED or path_of(file) in ONE_FILE_EACH.get(name, set()), f"{name} is imported here"


def imported(code, names):
    """Which of these modules are imported after the code has run in a new process."""
    code = f"import sys\n{code}\nprint(*[name for name in {list(names)} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    return found.stdout.split()


SLOW = ["sklearn", "pandas", "polars", "scipy.stats", "scipy.signal", "matplotlib"]
"""What takes longest to import, and what only some users need."""
MAKE_KERNELS = """
import heatgp as hg
kernel = hg.heat_kernel(hg.Sphere(2))
kernel([[1.0, 0, 0]], time=0.1)
hg.matern_kernel(hg.Product(hg.SpecialOrthogonal(3), hg.Euclidean(2)))
"""


def test_imports_are_few():
    assert imported("import heatgp", ["numpy", "scipy", *SLOW]) == []
    assert imported(MAKE_KERNELS, ["numpy", *SLOW]) == ["numpy"]
    everything = "import heatgp\n[getattr(heatgp, name) for name in dir(heatgp)]"
    assert imported(everything, ONE_FILE_EACH) == []


def test_heatgp_is_imported_faster_than_linear_algebra():
    """The shortest of five runs each, which other work on the machine disturbs least."""

    def seconds(code):
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return perf_counter() - start

    ours, theirs = (min(seconds(code) for _ in range(5)) for code in ("import heatgp", "import numpy, scipy.linalg"))
    assert ours < theirs


def test_public_names_have_their_homes():
    """Those that are imported when first asked for are those that type checkers see, from the same modules."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: f"heatgp.{node.module}" for node in block.body for alias in node.names}
    assert sorted(seen) == sorted(heatgp.__all__)
    for name, module in seen.items():
        assert getattr(heatgp, name) is getattr(importlib.import_module(module), name)
    shown = {name for name in dir(heatgp) if not name.startswith("__")}
    assert shown - set(heatgp._PACKAGES) == set(heatgp.__all__) - {"__version__"}
    assert {"errors", "testing", "__version__"} <= set(dir(heatgp))
    with pytest.raises(AttributeError, match="module 'heatgp' has no attribute 'Sphre'"):
        _ = heatgp.Sphre
    namespace = {}
    exec("from heatgp import *", namespace)
    assert set(heatgp.__all__) <= set(namespace)


def test_catalog_is_complete():
    concrete = {
        value
        for value in vars(manifolds).values()
        if inspect.isclass(value) and issubclass(value, manifolds.Manifold) and not inspect.isabstract(value)
    }
    concrete |= {type(manifolds.SPD(2, metric)) for metric in ("affine-invariant", "log-euclidean")}
    assert concrete == {type(m) for m in [*CATALOG, *OWN]}  # those of users' functions have tests of their own
    assert len({repr(m) for m in CATALOG}) == len(CATALOG)


def test_public_names_are_few_sorted_and_documented():
    values = [getattr(heatgp, name) for name in heatgp.__all__]
    families = heatgp.Method, heatgp.RegressionLikelihood, heatgp.Sparse, heatgp.Neighbors
    counted = [
        v for v in values if v not in vars(manifolds).values() and not (inspect.isclass(v) and issubclass(v, families))
    ]
    assert len(counted) <= 18, "few names besides manifolds, methods and likelihoods: a new one may belong in a module"
    assert heatgp.__all__ == sorted(heatgp.__all__, key=lambda name: (not name.isupper(), name))  # as ruff does
    for name in heatgp.__all__:
        assert (getattr(heatgp, name).__doc__ or "").strip(), f"heatgp.{name} has no docstring"


def test_type_checkers_may_read_the_package():
    """The empty file of PEP 561."""
    assert (SOURCE / "py.typed").read_bytes() == b""


@pytest.mark.parametrize("file", FILES, ids=path_of)
def test_modules_are_documented(file):
    text = file.read_text()
    assert ast.get_docstring(ast.parse(text)) or not text


def test_nothing_names_this_machine():
    for file in [*FILES, *ROOT.glob("*.md")]:
        assert not re.search(r"/work/|/tmp/|/home/", file.read_text()), file


def runtime_imports(file):
    """Absolute names of the modules that a file imports when it runs: names for types alone do not count."""
    return imports(file, re.sub(r"if TYPE_CHECKING:\n(    .*\n)+", "", file.read_text()))


WAYS = re.findall(r"### `(.*?)`\n\n(.*?)\n\n(?=#)", (ROOT / "docs" / "architecture.md").read_text(), re.DOTALL)


@pytest.mark.parametrize(("call", "steps"), WAYS, ids=[call for call, _ in WAYS])
def test_the_data_go_one_way_through_at_most_a_dozen_files(call, steps):
    """Files of docs/architecture.md: none imports one that comes before it."""
    files = [SOURCE / name for name in re.findall(r"`([\w/]+\.py)`", steps)]
    assert len(WAYS) == 4
    assert 5 < len(files) <= 12
    for i, file in enumerate(files):
        before = {".".join(["heatgp", *f.relative_to(SOURCE).with_suffix("").parts]) for f in files[:i]}
        assert not [name for name in runtime_imports(file) if name in before or name.rpartition(".")[0] in before]


def test_every_dependency_has_one_lower_bound():
    """`make test-minimum` installs exactly the lower bounds, from one place: pyproject.toml."""
    script = ROOT / ".ci" / "minimum_versions.py"
    lines = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.partition("==")[0] for line in lines}
    assert len(names) == len(lines)
    assert {name.replace("scikit-learn", "sklearn") for name in names} >= REQUIRED | {"jax", "pooch", "rdata"}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    bounds = dict(line.split("==") for line in lines)
    for requirement in (r for extra in ("jax", "data") for r in extras[extra]):
        name, bound = requirement.split(">=")
        assert bounds[name] == bound
