"""Where data files are, and how they get there: the packages pooch and rdata, which the extra `data` installs."""

import csv
import hashlib
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import HeatGPError, InvalidInput
from ..whole_file import check_path, write_bytes


class DataMissing(HeatGPError, FileNotFoundError):
    """A data file is neither in the data folder nor could it be downloaded, or a package that reads it is missing."""


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder where data files are looked for and kept.

    Parameters
    ----------
    data_home : path-like, optional
        By default the environment variable HEATGP_DATA, else the folder heatgp in XDG_CACHE_HOME or ~/.cache.

    Returns
    -------
    Path
        It need not exist.

    Examples
    --------
    >>> data_folder("folder").name
    'folder'
    """
    if data_home is not None:
        return check_path(data_home, "data_home").expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("HEATGP_DATA") or cache / "heatgp").expanduser()


def data_file(name: str, source: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """The file `name` in the data folder, or an error that says where to put it and where to get it."""
    path = data_folder(data_home) / name
    if not path.is_file():
        raise DataMissing(missing(path, source))
    return path


def csv_records(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """The lines of a CSV file with a header, as cells by name of their column."""
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def missing(path: Path, source: str) -> str:
    """The message about a file that is not there: where to put it, and where to get it."""
    return (
        f"There is no file {path}. Put {path.name} there ({source}), or name another folder by the argument "
        "data_home or the environment variable HEATGP_DATA."
    )


def packages() -> tuple[Any, Any]:
    """The packages pooch, which downloads, and rdata, which reads R's files; or an error that says how to get them."""
    try:
        import pooch
        import rdata
    except ImportError as error:
        raise DataMissing(
            f"These data need the packages pooch and rdata ({error}): pip install 'heatgp[data]'."
        ) from None
    return pooch, rdata


def verify(path: Path, sha256: str, name: str) -> None:
    """Raise InvalidInput where the SHA-256 of a file is another one."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise InvalidInput(f"{name} has SHA-256 {found}, expected {sha256}. Remove the file and fetch it again.")


def _short(error: Exception) -> str:
    """An error of a download in a few words: the text of requests repeats the address and names its own classes."""
    response = getattr(error, "response", None)
    return type(error).__name__ if response is None else f"{type(error).__name__}, status {response.status_code}"


def download_members(urls: tuple[str, ...], sha256: Mapping[str, str], folder: Path, source: str) -> None:
    """Take the named members of a .tar.gz from the first URL that has them, check them, and keep them in the folder."""
    pooch, _ = packages()
    pooch.get_logger().setLevel("WARNING")  # without the advice to note the hash of the archive: its members have one
    problems = []
    with TemporaryDirectory() as temporary:
        for url in urls:
            try:
                pooch.retrieve(url, None, path=temporary, processor=pooch.Untar(list(sha256), extract_dir="."))
                for member, expected in sha256.items():
                    verify(Path(temporary, member), expected, f"{member} in {url}")
                break
            except (OSError, tarfile.TarError) as error:
                problems.append(f"{url}: {_short(error)}")
        else:
            first = folder / Path(next(iter(sha256))).name
            raise DataMissing(f"{missing(first, source)} The download failed ({'; '.join(problems)}).")
        folder.mkdir(parents=True, exist_ok=True)
        for member in sha256:  # each is there whole or not at all, also when two processes download
            write_bytes(folder / Path(member).name, Path(temporary, member).read_bytes())


def download_file(url: str, sha256: str, path: Path, source: str) -> None:
    """Fetch a file, check it, and keep it."""
    pooch, _ = packages()
    pooch.get_logger().setLevel("WARNING")
    with TemporaryDirectory() as temporary:
        try:
            found = Path(pooch.retrieve(url, None, path=temporary))
        except OSError as error:
            raise DataMissing(f"{missing(path, source)} The download failed ({url}: {_short(error)}).") from None
        verify(found, sha256, url)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, found.read_bytes())
