"""Where data files are, and how they get there.

The package pooch is not used: it checks a hash of the archive, where we know those of the two files in it, it has no
second address, and it would be one more dependency of `heatgp reproduce`.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import sys
import tarfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from ..errors import HeatGPError, InvalidInput


class DataMissing(HeatGPError, FileNotFoundError):
    """A data file is neither in the data folder nor could it be downloaded."""


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder where data files are looked for and kept.

    Parameters
    ----------
    data_home : path-like, optional
        By default the environment variable HEATGP_DATA, else the folder heatgp in the user's cache folder.

    Returns
    -------
    Path
        It need not exist.

    Examples
    --------
    >>> data_folder("folder").name
    'folder'
    """
    if data_home is None:
        data_home = os.environ.get("HEATGP_DATA")
    if data_home:
        return Path(data_home).expanduser()
    home = Path.home()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        cache = home / "Library" / "Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(cache) / "heatgp"


def data_file(name: str, source: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """The file `name` in the data folder, or an error that says where to put it and where to get it."""
    path = data_folder(data_home) / name
    if not path.is_file():
        raise DataMissing(missing(path, source))
    return path


def missing(path: Path, source: str) -> str:
    """What to say of a file that is not there."""
    return (
        f"There is no file {path}. Put {path.name} there ({source}), or name another folder by the argument "
        "data_home or the environment variable HEATGP_DATA."
    )


def verified(content: bytes, sha256: str, name: str) -> bytes:
    """The content, if its SHA-256 is the one expected."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InvalidInput(f"{name} has SHA-256 {found}, expected {sha256}. Remove the file and fetch it again.")
    return content


def download_members(urls: tuple[str, ...], sha256: Mapping[str, str], folder: Path, source: str) -> None:
    """Take the named members of a .tar.gz from the first URL that has them, check them, and keep them in the folder."""
    problems = []
    for url in urls:
        try:
            contents = read_members(url, list(sha256))
            break
        except (OSError, http.client.HTTPException, tarfile.TarError, KeyError) as error:
            problems.append(f"{url}: {error}")
    else:
        first = folder / Path(next(iter(sha256))).name
        raise DataMissing(f"{missing(first, source)} The download failed ({'; '.join(problems)}).")
    for member, expected in sha256.items():
        verified(contents[member], expected, f"{member} in {url}")
    folder.mkdir(parents=True, exist_ok=True)
    for member, content in contents.items():
        name = Path(member).name
        part = folder / f"{name}.{os.getpid()}.part"
        part.write_bytes(content)
        part.replace(folder / name)  # all or nothing, also when two processes download


def read_members(url: str, members: list[str]) -> dict[str, bytes]:
    """Contents of these members of the .tar.gz at the URL; KeyError where one is missing."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        archive = io.BytesIO(answer.read())
    with tarfile.open(fileobj=archive, mode="r:gz") as tar:
        files = {member: tar.extractfile(member) for member in members}
        return {member: file.read() for member, file in files.items() if file}
