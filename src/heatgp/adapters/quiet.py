"""Imports of other libraries that neither print nor change the logging of the program."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_import() -> Iterator[None]:
    """Inside, modules are imported without their log lines and deprecation warnings; the root logger stays as it is."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for category in (DeprecationWarning, ImportWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        logging.disable(disabled)
        root.setLevel(level)
        root.handlers[:] = handlers
