"""docs/points.md leaves no conversion out."""

import inspect
from pathlib import Path

from heatgp import points

PAGE = (Path(__file__).parent.parent / "docs" / "points.md").read_text()


def test_every_conversion_is_listed():
    conversions = [name for name, _ in inspect.getmembers(points, inspect.isfunction) if "_to_" in name]
    assert len(conversions) > 10
    for name in conversions:
        assert f"`{name}`" in PAGE
