"""Docstrings as the reference page needs them: types apart from sentences.

The docstrings have a type and sentences on one line, `paths : int, default 1000. Number of paths.`; numpydoc has the
sentences on lines of their own. This extension of griffe, which reads the docstrings, moves them there.
"""

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"^(Parameters|Attributes|Raises)\n-+\n.*?(?=\n\n[A-Z]\w+\n---|\Z)", re.DOTALL | re.MULTILINE)
TYPE = re.compile(
    r"^(\w[\w, *]*) : ((?:\([^)\n]*\)|\{[^}\n]*\}|\"[^\"\n]*\"|[^.({\"\n]|\.(?! |$))*)\.(?: +(.*))?$", re.MULTILINE
)
"""A name, its type up to the first full stop that is in no brackets or quotes, and the rest of the line."""
ERROR = re.compile(r"^(\w+) : ", re.MULTILINE)


def with_sentences_apart(section: re.Match[str]) -> str:
    """A section whose sentences begin on lines of their own."""
    if section[1] == "Raises":
        return ERROR.sub(r"\1\n    ", section[0])
    return TYPE.sub(lambda line: f"{line[1]} : {line[2]}" + (f"\n    {line[3]}" if line[3] else ""), section[0])


class Sentences(Extension):
    """Applied to every docstring where it is found."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = SECTION.sub(with_sentences_apart, obj.docstring.value)
