"""README and docs: the code runs and prints what the page says, commands exist, every page is linked."""

import contextlib
import re
import shlex

import pytest

import heatgp as hg
from heatgp import errors, points
from heatgp.cli.main import _parser
from pages import BLOCK, ROOT, blocks, name, run

DOCS = ROOT / "docs"
GALLERY = sorted(set((DOCS / "gallery").glob("*.md")) - {DOCS / "gallery" / "index.md"})
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


PRINTED_ELSEWHERE = {"docs/reproduce.md"}
"""It prints the table of the README, which tests/test_experiments.py compares."""
DRAWN = {name(page) for page in [*GALLERY, DOCS / "optimize.md"]}
"""Their code runs in tests/test_gallery.py, which looks at the pictures too."""
WITH_CODE = [page for page in PAGES if blocks(page, "python") and name(page) not in PRINTED_ELSEWHERE | DRAWN]


OPTIONAL = {"dask", "geomstats", "geometric_kernels", "torch"}
"""Modules that are not installed for all tests."""


def needs_optional(code):
    """Blocks that name such a module: tests/test_dask.py and tests/adapters run them."""
    return any(module in code for module in OPTIONAL)


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, needs_optional)


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
    """Those of the gallery and of the reference are linked from the site's own pages."""
    text = (ROOT / "README.md").read_text()
    for page in set(PAGES[1:]) - {*GALLERY, *REFERENCE, DOCS / "results" / "README.md"}:
        assert f"]({name(page)})" in text, f"README.md does not link {name(page)}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert re.match("https?://", link) or (page.parent / link).exists(), f"{name(page)}: {link}"


def test_the_site_lists_every_page():
    text = (ROOT / "mkdocs.yml").read_text()
    for page in DOCS.rglob("*.md"):
        assert re.search(rf"[ ]{page.relative_to(DOCS).as_posix()}\n", text), f"mkdocs.yml does not list {name(page)}"


def test_the_site_loads_nothing_from_another_host():
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    for text in (settings, (DOCS / "style.css").read_text(), (DOCS / "iframe-worker.js").read_text()):
        assert "//" not in re.sub("^//.*$", "", text, flags=re.MULTILINE)  # comments apart


def test_the_reference_has_every_public_name():
    text = "".join(page.read_text() for page in REFERENCE)
    assert "::: heatgp.points\n" in text
    for public in set(hg.__all__) - set(points.__all__):
        assert f"::: heatgp.{public}\n" in text, f"docs/reference does not have {public}"
