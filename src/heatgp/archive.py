"""Files of arrays and plain data, with a format version and a checksum. Reading one runs no code."""

import hashlib
import json
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InvalidInput
from .whole_file import existing_file, whole_file

Arrays = dict[str, np.ndarray]


def read_arrays(path: Any, name: str = "path") -> Arrays:
    """The arrays of an .npz archive, by name; InvalidInput if it is none or holds anything else."""
    file = existing_file(path, name)
    if not zipfile.is_zipfile(file):
        raise InvalidInput(f"{path} is not an .npz archive, as numpy.savez writes them.")
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except Exception as error:  # zip, npy and pickle raise different errors
        raise InvalidInput(f"{path} cannot be read as an .npz of plain arrays: {error}") from None
    if any(isinstance(array, bytes) for array in arrays.values()):  # what zip files hold beside arrays
        raise InvalidInput(f"{path} is a zip file of {', '.join(arrays)}, not of arrays that numpy.savez has written.")
    return arrays


@dataclass(frozen=True)
class FileFormat:
    """A kind of file: an .npz archive of arrays, one of which is a description in JSON, and their SHA-256.

    Parameters
    ----------
    content : str, what such a file holds: the end of "... is not".
    version : int, which changes when files of before can no longer be read.
    remedy : str, what to do about a file that cannot be read: a sentence.
    name : str, default "description". The name of the array with the description.

    Examples
    --------
    >>> import tempfile
    >>> numbers = FileFormat("a file of numbers", 1, "Write it again.")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numbers.write(folder + "/file", {"name": "primes"}, {"values": np.array([2, 3, 5])})
    ...     numbers.read(folder + "/file")
    ({'name': 'primes'}, {'values': array([2, 3, 5])})
    """

    content: str
    version: int
    remedy: str
    name: str = "description"

    def write(self, path: Any, description: dict[str, Any], arrays: Arrays) -> None:
        """Write a file, whole or not at all: where the disk is full, what was there before is unchanged."""
        content = {**arrays, self.name: np.array(json.dumps(description))}
        stamp = {"kind": self.content, "format": self.version, "checksum": _checksum(content)}
        with whole_file(path) as stream:  # a name without .npz stays as it is
            np.savez(stream, **content, **{key: np.array(value) for key, value in stamp.items()})  # type: ignore[arg-type]

    def read(self, path: Any) -> tuple[dict[str, Any], Arrays]:
        """The description and the arrays of a file.

        Raises
        ------
        InvalidInput : if there is no such file, if it is of another kind or format, or if it is damaged or was edited.
        """
        file = existing_file(path)
        wrong = f"{path} is not {self.content}, or it is damaged or was edited. {self.remedy}"
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
                content = {name: archive[name] for name in archive.files}
            kind = str(content.pop("kind", self.content))
            if kind != self.content:
                raise InvalidInput(f"{path} is {kind}, not {self.content}. Give another file.")
            description = dict(json.loads(str(content[self.name])))
            version = content.pop("format").item() if "format" in content else description["format"]
            checksum = str(content.pop("checksum", ""))
        except (MemoryError, InvalidInput):
            raise
        except Exception:  # zip, zlib, npy and json each have their own errors for a changed byte
            raise InvalidInput(wrong) from None
        if version != self.version:
            raise InvalidInput(f"{path} has format {version!r}; this version reads {self.version}. {self.remedy}")
        if checksum != _checksum(content):
            raise InvalidInput(wrong)
        del content[self.name]
        return description, content


def _checksum(content: Arrays) -> str:
    """The SHA-256 of arrays: their names, types, shapes and bytes."""
    found = hashlib.sha256()
    for name in sorted(content):
        array = content[name]
        found.update(f"{name} {np.lib.format.dtype_to_descr(array.dtype)} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()
