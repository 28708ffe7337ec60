"""Code of README and docs: it is found, run in order, and its output compared with what the page says.

`python tests/pages.py docs/gallery/*.md` runs pages in their own folders, which draws their pictures again.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

import matplotlib
from matplotlib import pyplot

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
"""A block of code, and the block of text right after it: what the code prints."""


def blocks(page, language):
    """(code, output) of the blocks of a language."""
    return [(code, output) for kind, code, output in BLOCK.findall(page.read_text()) if kind == language]


def name(page):
    return page.relative_to(ROOT).as_posix()


def run(page, left_out=lambda code: False):
    """Run the Python blocks in order, in one namespace, as a reader would type them."""
    matplotlib.use("Agg")
    namespace = {"__name__": "__main__"}
    for number, (code, output) in enumerate(blocks(page, "python")):
        if left_out(code):
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, f"{name(page)}, block {number}", "exec"), namespace)
        assert printed.getvalue() == output, f"{name(page)}, block {number}, prints:\n{printed.getvalue()}"
    pyplot.close("all")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        page = Path(argument).resolve()
        print(name(page))
        with contextlib.chdir(page.parent):
            run(page)
