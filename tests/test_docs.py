"""README and docs: the code runs and prints what the page says, commands exist, every page is linked."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import matplotlib
import pytest

from heatgp import errors
from heatgp.cli.main import _parser

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
"""A block of code, and the block of text right after it: what the code prints."""


def blocks(page, language):
    """(code, output) of the blocks of a language."""
    return [(code, output) for kind, code, output in BLOCK.findall(page.read_text()) if kind == language]


def name(page):
    return page.relative_to(ROOT).as_posix()


PRINTED_ELSEWHERE = {"docs/reproduce.md"}
"""It prints the table of the README, which tests/test_experiments.py compares."""
WITH_CODE = [page for page in PAGES if blocks(page, "python") and name(page) not in PRINTED_ELSEWHERE]


OPTIONAL = {"dask", "geomstats", "geometric_kernels", "torch"}
"""Modules that are not installed for all tests."""


def needs_optional(code):
    """Blocks that name such a module: tests/test_dask.py and tests/adapters run them."""
    return any(module in code for module in OPTIONAL)


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    """Its blocks in order, in one namespace, as a reader would type them."""
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    run(page, needs_optional)


def run(page, left_out=lambda code: False):
    namespace = {"__name__": "__main__"}
    for number, (code, output) in enumerate(blocks(page, "python")):
        if left_out(code):
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, f"{name(page)}, block {number}", "exec"), namespace)
        assert printed.getvalue() == output, f"{name(page)}, block {number}"


def test_printed_output_is_compared():
    """The pages have output, and a wrong one is found."""
    assert sum(bool(output) for page in PAGES for _, output in blocks(page, "python")) >= 5
    (block,) = BLOCK.findall("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    assert block == ("python", "print(1)\n", "2\n")


COMMANDS = [
    (name(page), " ".join(command.split()))
    for page in PAGES
    for command in [
        *(line.partition("#")[0] for code, _ in blocks(page, "sh") for line in code.splitlines()),
        *re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)),
    ]
    if re.match(r"heatgp \w+", command) and "<" not in command
]


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[" ".join(pair) for pair in COMMANDS])
def test_commands_have_the_arguments_that_pages_give_them(page, command, capsys):
    arguments = shlex.split(command)[1:]
    if len(arguments) == 1:  # only the name of a command
        arguments.append("--help")
    with contextlib.suppress(SystemExit):
        _parser().parse_args(arguments)
    assert not capsys.readouterr().err, page


def test_every_error_and_warning_is_explained():
    text = (ROOT / "docs" / "warnings.md").read_text()
    bases = {errors.HeatGPError, errors.HeatGPWarning}
    for kind in {v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, Exception)} - bases:
        assert f"`{kind.__name__}`" in text, f"docs/warnings.md does not explain {kind.__name__}"


def test_readme_links_every_page():
    text = (ROOT / "README.md").read_text()
    for page in PAGES[1:]:
        assert f"]({name(page)})" in text, f"README.md does not link {name(page)}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert re.match("https?://", link) or (page.parent / link).exists(), f"{name(page)}: {link}"
