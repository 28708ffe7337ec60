"""Docstrings as the reference page needs them: types apart from sentences.

The docstrings have a type and sentences on one line, `paths : int, default 1000. Number of paths.`; numpydoc has the
sentences on lines of their own. This extension of griffe, which reads the docstrings, moves them there.
"""

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(
    r"(?<=^Parameters\n----------\n|^Attributes\n----------\n).*?(?=\n\n[A-Z]\w+\n---|\Z)", re.S | re.M
)
RAISES = re.compile(r"(?<=^Raises\n------\n).*?(?=\n\n[A-Z]\w+\n---|\Z)", re.S | re.M)
TYPE = re.compile(
    r"^(\w[\w, *]*) : ((?:\([^)\n]*\)|\{[^}\n]*\}|\"[^\"\n]*\"|[^.({\"\n]|\.(?! |$))*)\.(?: +(.*))?$", re.M
)
"""A name, its type up to the first full stop that is in no brackets or quotes, and the rest of the line."""


def typed(line: re.Match[str]) -> str:
    name, kind, rest = line.groups()
    return f"{name} : {kind}\n    {rest}" if rest else f"{name} : {kind}"


class Sentences(Extension):
    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            value = SECTION.sub(lambda section: TYPE.sub(typed, section[0]), obj.docstring.value)
            obj.docstring.value = RAISES.sub(lambda part: re.sub(r"^(\w+) : ", r"\1\n    ", part[0], flags=re.M), value)
