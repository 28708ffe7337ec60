"""Every number set by hand is explained: docs/theory.md derives it, or docs/constants.md says what measured it.

After a file has moved, `python tests/test_constants.py` corrects the column `module` of both pages.
"""

import ast
import importlib
import operator
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "heatgp"
PACKAGES = (
    *("arguments.py", "array.py", "cost.py", "covariance.py", "progress.py", "threads.py"),
    *("adapters", "estimators", "gp", "heat", "manifolds", "optimize", "paths", "testing"),
)
PAGES = (ROOT / "docs" / "theory.md", ROOT / "docs" / "constants.md")
ROW = re.compile(r"^\| `(?P<name>[\w.]+)` \| (?P<module>[\w/]+) \| `(?P<value>[^`]+)` \|", re.MULTILINE)
"""A line of a table with the columns name, module and value."""
ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}


def number(node):
    """The value of an expression of numbers, tuples and dictionaries; ValueError for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -number(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            return ARITHMETIC[type(op)](number(left), number(right))
        case ast.Tuple(elts=[_, *_] as elements):
            return tuple(map(number, elements))
        case ast.Dict(keys=[_, *_] as keys, values=values):
            return {number(key): number(value) for key, value in zip(keys, values)}
    raise ValueError(ast.unparse(node))


def in_code():
    """(name, module) -> value of every constant in upper case, those of classes with the name of the class."""
    found = {}
    files = [file for name in PACKAGES for file in [SOURCE / name, *(SOURCE / name).rglob("*.py")] if file.is_file()]
    for file in files:
        tree = ast.parse(file.read_text())
        classes = [(f"{node.name}.", node) for node in tree.body if isinstance(node, ast.ClassDef)]
        for owner, scope in [("", tree), *classes]:
            for node in scope.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    target = node.targets[0]
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                    target = node.target
                else:
                    continue
                if target.id.isupper():
                    try:
                        value = number(node.value)
                    except ValueError:
                        continue
                    found[owner + target.id, file.relative_to(SOURCE).with_suffix("").as_posix()] = value
    return found


def in_docs():
    """[((name, module), value)] of the rows of both pages."""
    rows = [match for page in PAGES for match in ROW.finditer(page.read_text())]
    return [((row["name"], row["module"]), number(ast.parse(row["value"], mode="eval").body)) for row in rows]


def test_every_constant_is_explained_once():
    places = [place for place, _ in in_docs()]
    missing = sorted(set(in_code()) - set(places))
    gone = sorted(set(places) - set(in_code()))
    assert not missing, f"in the code, but neither in docs/theory.md nor in docs/constants.md: {missing}"
    assert not gone, f"in the docs, but not in the code (moved? run python tests/test_constants.py): {gone}"
    twice = sorted({place for place in places if places.count(place) > 1})
    assert not twice, f"explained twice: {twice}"


def test_the_docs_have_the_values_of_the_code():
    code = in_code()
    wrong = [(place, value, code[place]) for place, value in in_docs() if place in code and value != code[place]]
    assert not wrong, f"place, value in the docs, value in the code: {wrong}"


@pytest.fixture
def calibrate(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("calibrate")


def test_the_script_measures_around_the_values_of_the_code(calibrate):
    for group in calibrate.GROUPS.values():
        for _, knobs in group:
            for name, (_, value, _) in knobs.items():
                if name in calibrate.MODULE:
                    found = calibrate.found(name)
                    assert value == ({k: found[k] for k in value} if isinstance(value, dict) else found), name


def test_the_table_names_groups_of_the_script(calibrate):
    text = PAGES[1].read_text()
    assert set(re.findall(r"calibrate\.py ([a-z]+)", text)) == set(calibrate.GROUPS)


def correct_modules():
    """Write the module of each constant into the pages, where its name and value occur in one module only."""
    places = {}
    for (name, module), value in in_code().items():
        places.setdefault((name, repr(value)), []).append(module)

    def corrected(row):
        value = number(ast.parse(row["value"], mode="eval").body)
        modules = places.get((row["name"], repr(value)), [])
        new = modules[0] if len(modules) == 1 else row["module"]
        return f"| `{row['name']}` | {new} | `{row['value']}` |"

    for page in PAGES:
        page.write_text(ROW.sub(corrected, page.read_text()))


if __name__ == "__main__":
    correct_modules()
