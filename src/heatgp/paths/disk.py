"""Arrays kept on disk between runs: what determines them names their file, so that a file is never out of date."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import HeatGPWarning, warn
from ..whole_file import append_whole, whole_file, write_bytes

HEAD = 48
"""Bytes before each appended part: a checksum (32), the first path and the number of bytes (8 each)."""


def cache_folder(cache: bool | str | Path) -> Path:
    """The folder that an option `cache` asks for: True is HEATGP_CACHE or ~/.cache/heatgp."""
    if cache is True:
        return Path(os.environ.get("HEATGP_CACHE") or Path.home() / ".cache" / "heatgp")
    return Path(str(cache))


@dataclass(frozen=True)
class StoredArrays:
    """Arrays on disk: their file is named by what determines them, written whole or not at all, checked when read.

    While they are computed, a second file holds the parts so far: each is appended, with a checksum of its own.
    """

    folder: Path
    description: str

    def path(self, kind: str) -> Path:
        return self.folder / f"{hashlib.sha256(self.description.encode()).hexdigest()[:24]}.{kind}"

    def write(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Store the arrays in place of the parts; a disk that is full or read-only costs the cache, not the result."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(self.path("npz")) as stream:
                content: dict[str, Any] = {"description": self.description, "digest": self._digest(arrays), **arrays}
                np.savez(stream, **content)
        except OSError as error:
            return self._not_stored(error)
        self.remove_parts()
        return True

    def read(self) -> dict[str, np.ndarray] | None:
        """The stored arrays; None where there are none. A damaged file is renamed, with a warning."""
        path = self.path("npz")
        try:
            with open(path, "rb") as stream, np.load(stream) as stored:
                arrays = {name: stored[name] for name in stored.files}
            description, digest = str(arrays.pop("description")), str(arrays.pop("digest"))
            problem = None if description == self.description else "it describes another table"
            if digest != self._digest(arrays):
                problem = "its checksum is wrong"
        except OSError:  # not there, or not for us to read
            return None
        except Exception as error:  # zip, npy and zlib each have their own for what a flipped bit does
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            return arrays
        self._set_aside(path, problem)
        return None

    def append(self, first: int, part: np.ndarray) -> bool:
        """Store a part of arrays that are not complete yet: what begins at the path `first`."""
        return self._store_part(append_whole, first, part)

    def replace(self, first: int, part: np.ndarray) -> bool:
        """Store a part in place of those before it."""
        return self._store_part(write_bytes, first, part)

    def _store_part(self, write: Callable[[Path, bytes], None], first: int, part: np.ndarray) -> bool:
        data = np.ascontiguousarray(part).tobytes()
        head = first.to_bytes(8, "little") + len(data).to_bytes(8, "little")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(self.path("partial"), self._part_digest(head, data) + head + data)
        except OSError as error:
            return self._not_stored(error)
        return True

    def parts(self) -> Iterator[tuple[int, bytes]]:
        """The first path and the bytes of every part.

        The file is cut off before a part that is damaged, with a warning, or that a killed process has left torn.
        """
        path = self.path("partial")
        try:
            data = path.read_bytes()
        except OSError:
            return
        place = 0
        while len(data) - place >= HEAD:
            digest, head = data[place : place + 32], data[place + 32 : place + HEAD]
            end = place + HEAD + int.from_bytes(head[8:], "little")
            if end > len(data):
                break
            if digest != self._part_digest(head, data[place + HEAD : end]):
                warn(
                    f"The stored table {path} is damaged (a checksum is wrong): paths from there on are simulated "
                    "again.",
                    HeatGPWarning,
                )
                break
            yield int.from_bytes(head[:8], "little"), data[place + HEAD : end]
            place = end
        if place < len(data):
            with suppress(OSError):
                os.truncate(path, place)

    def remove_parts(self) -> None:
        with suppress(OSError):
            self.path("partial").unlink(missing_ok=True)

    def _part_digest(self, head: bytes, data: bytes) -> bytes:
        return hashlib.sha256(self.description.encode() + head + data).digest()

    def _digest(self, arrays: Mapping[str, np.ndarray]) -> str:
        digest = hashlib.sha256()
        for array in arrays.values():
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(self.description.encode())
        return digest.hexdigest()

    def _not_stored(self, error: OSError) -> bool:
        warn(
            f"The table could not be stored in {self.folder} ({error}). Set HEATGP_CACHE to a folder "
            "that can be written, or pass cache=False.",
            HeatGPWarning,
        )
        return False

    def _set_aside(self, path: Path, problem: str) -> None:
        aside = path.with_name(path.name + ".damaged")
        with suppress(OSError):  # a folder that is only to be read keeps it
            os.replace(path, aside)
        warn(
            f"The stored table {path} is damaged ({problem}). It is now {aside.name}; the paths are simulated again.",
            HeatGPWarning,
        )
