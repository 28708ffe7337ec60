"""Arrays kept on disk between runs: what determines them names their file, so that a file is never out of date."""

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import HeatGPWarning, warn


def cache_folder(cache: bool | str | Path) -> Path:
    """The folder that an option `cache` asks for: True is HEATGP_CACHE or ~/.cache/heatgp."""
    if cache is True:
        return Path(os.environ.get("HEATGP_CACHE") or Path.home() / ".cache" / "heatgp")
    return Path(str(cache))


@dataclass(frozen=True)
class StoredArray:
    """An array on disk: its file is named by what determines it, written whole or not at all, and checked when read."""

    folder: Path
    description: str

    def path(self, kind: str) -> Path:
        return self.folder / f"{hashlib.sha256(self.description.encode()).hexdigest()[:24]}.{kind}"

    def write(self, kind: str, theta: np.ndarray) -> None:
        """Store the array; a disk that is full or read-only costs the cache, not the result."""
        path = self.path(kind)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb") as stream:
                np.savez(stream, theta=theta, description=self.description, digest=self._digest(theta))
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except OSError as error:
            warn(
                f"The table could not be stored in {self.folder} ({error}). Set HEATGP_CACHE to a folder "
                "that can be written, or pass cache=False.",
                HeatGPWarning,
            )

    def read(self, kind: str) -> np.ndarray | None:
        """The stored array; None where there is none. A damaged file is renamed, with a warning."""
        path = self.path(kind)
        try:
            with open(path, "rb") as stream, np.load(stream) as stored:
                theta, description, digest = stored["theta"], str(stored["description"]), str(stored["digest"])
            problem = None if description == self.description else "it describes another table"
            if digest != self._digest(theta):
                problem = "its checksum is wrong"
        except OSError:  # not there, or not for us to read
            return None
        except Exception as error:  # zip, npy and zlib each have their own for what a flipped bit does
            problem = f"{type(error).__name__}: {error}"
        if problem is None:
            return theta
        aside = path.with_name(path.name + ".damaged")
        with suppress(OSError):  # a folder that is only to be read keeps it
            os.replace(path, aside)
        warn(
            f"The stored table {path} is damaged ({problem}). It is now {aside.name}; the paths are simulated again.",
            HeatGPWarning,
        )
        return None

    def remove(self, kind: str) -> None:
        with suppress(OSError):
            self.path(kind).unlink(missing_ok=True)

    def _digest(self, theta: np.ndarray) -> str:
        return hashlib.sha256(np.ascontiguousarray(theta).tobytes() + self.description.encode()).hexdigest()
