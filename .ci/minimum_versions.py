"""Print the lower bound of every dependency in pyproject.toml as constraints for pip: `make test-minimum`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in dict.fromkeys([*project["dependencies"], *extras["test"], *extras["data"]]):
    if bound := re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement):
        print("==".join(bound.groups()))
    elif requirement != f"{project['name']}[data]":
        raise SystemExit(f"{requirement!r} has no lower bound of the form name>=version")
