"""docs/points.md: its code runs, and it leaves no conversion out."""

import inspect
import re
from pathlib import Path

from heatgp import points, spd

PAGE = (Path(__file__).parent.parent / "docs" / "points.md").read_text()


def test_code_runs():
    code = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    exec(compile(code, "docs/points.md", "exec"), {})


def test_every_conversion_is_listed():
    for module in (points, spd):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if "_to_" in name and not name.startswith("_") and function.__module__ == module.__name__:
                assert f"`{name}`" in PAGE
