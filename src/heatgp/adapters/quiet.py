"""Imports of other libraries that neither print nor change the logging of the program."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import without_warnings_of_others


@contextmanager
def quiet_import() -> Iterator[None]:
    """Inside, modules are imported without their log lines and deprecation warnings; the root logger stays as it is."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with without_warnings_of_others(DeprecationWarning, ImportWarning):
            yield
    finally:
        logging.disable(disabled)
        root.setLevel(level)
        root.handlers[:] = handlers
