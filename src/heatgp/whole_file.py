"""Files that are written whole or not at all: after a full disk or a killed process the old file is still there."""

import os
import re
import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InvalidInput

HOST = re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname())
"""Temporary files are named after their machine and process: on a shared disk nobody removes those of others."""


def check_path(path: Any, name: str = "path") -> Path:
    """A path, or InvalidInput for what is none."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path) or "\0" in str(path):
        raise InvalidInput(f"{name} must be a path, a str or a Path; got {path!r}.")
    return Path(path)


def existing_file(path: Any, name: str = "path") -> Path:
    """The path of a file to read, or InvalidInput where there is none."""
    file = check_path(path, name)
    if os.path.isdir(file):
        raise InvalidInput(f"{path} is a folder. Give the name of a file in it.")
    if os.path.exists(file) and not os.path.isfile(file):
        raise InvalidInput(f"{path} is a device or a pipe, not a file. Write its content to a file first.")
    if not os.path.isfile(file):  # unlike Path.is_file it takes names that are too long
        raise InvalidInput(f"{path}: no such file.")
    return file


@contextmanager
def whole_file(path: Any) -> Iterator[BinaryIO]:
    """A binary stream for a new file, which takes the place of `path` when all of it is on the disk.

    Parameters
    ----------
    path : path-like
        The file to write. A link stays a link, a device or a pipe is written as it is, and a file that was there keeps
        its permissions.

    Raises
    ------
    InvalidInput
        If `path` is no path.
    OSError
        If the file cannot be written. What was there before is unchanged, and no temporary file is left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(folder + "/numbers.txt") as stream:
    ...         _ = stream.write(b"1 2 3")
    ...     Path(folder, "numbers.txt").read_text()
    '1 2 3'
    """
    target = Path(os.path.realpath(check_path(path)))
    if target.exists() and not (target.is_file() and os.access(target, os.W_OK)):
        with open(target, "wb") as stream:  # a device; the system's own error for a folder or a file to be read only
            yield stream
        return
    remove_abandoned(target.parent)
    temporary = target.with_name(f".heatgp.{HOST}.{os.getpid()}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary), temporary):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # it names the file that was asked for
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_bytes(path: Any, data: bytes) -> None:
    """Write bytes as a whole file."""
    with whole_file(path) as stream:
        stream.write(data)


def write_text(path: Any, text: str) -> None:
    """Write a text in UTF-8 as a whole file; ends of lines stay as they are."""
    write_bytes(path, text.encode())


def append_whole(path: Any, record: bytes) -> None:
    """Add a record to the end of a file: all of it, or nothing where the disk is full."""
    with open(path, "ab", buffering=0) as stream:
        before = stream.seek(0, os.SEEK_END)
        try:
            while record:
                record = record[stream.write(record) :]
            os.fsync(stream.fileno())
        except BaseException:
            with suppress(OSError):
                stream.truncate(before)
            raise


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files that killed processes of this machine have left in a folder."""
    for file in folder.glob(f".heatgp.{HOST}.*.tmp"):
        owner = file.name.split(".")[-3]
        if owner.isdigit() and not is_running(int(owner)):
            with suppress(OSError):
                file.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether a process of this machine exists; True where the system does not tell."""
    if os.name != "posix":  # signal 0 asks on POSIX systems only
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
