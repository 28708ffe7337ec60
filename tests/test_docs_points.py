"""docs/points.md: its code runs, and it leaves no conversion out."""

import inspect
import re
from pathlib import Path

from heatgp import points

PAGE = (Path(__file__).parent.parent / "docs" / "points.md").read_text()


def test_code_runs():
    code = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    exec(compile(code, "docs/points.md", "exec"), {})


def test_every_conversion_is_listed():
    conversions = [name for name, _ in inspect.getmembers(points, inspect.isfunction) if "_to_" in name]
    assert len(conversions) > 10
    for name in conversions:
        assert f"`{name}`" in PAGE
