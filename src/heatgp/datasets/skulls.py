"""Gorilla skulls: planar landmarks of 30 females and 29 males."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from ..arguments import as_labels, check_flag, generator
from ..errors import InvalidInput
from ..manifolds import ComplexProjective, Euclidean
from ..points import Contrast, landmarks_to_shape
from .files import DataMissing, data_folder, download_members, missing, packages, verify
from .record import Dataset

URLS = (
    "https://cran.r-project.org/src/contrib/shapes_1.2.7.tar.gz",
    "https://cran.r-project.org/src/contrib/Archive/shapes/shapes_1.2.7.tar.gz",
)
SHA256 = {
    "shapes/data/gorf.dat.rda": "6e2fb0aa98b9cde63d5f6be09609cce8d3f40f1881e669a8cac0d3e8bfe25e94",
    "shapes/data/gorm.dat.rda": "36a0432b50a718361c17c9ffe7fb35e84f13acdba42fd5beb412f1b26c9cc930",
}
SOURCE = "both gorf.dat.rda and gorm.dat.rda are in the folder data of the R package shapes 1.2.7"

Representation = Literal["shape", "raw", "unit", "rotated"]


def gorillas(
    landmarks: Sequence[int] = (1, 2, 3, 4),
    representation: Representation = "shape",
    *,
    contrast: Contrast = "helmert",
    seed: int = 0,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """Gorilla skulls by sex, 30 females (y = 0) and 29 males (y = 1).

    Parameters
    ----------
    landmarks : sequence of int, default (1, 2, 3, 4)
        Three or more of the eight, numbered from 1. The paper takes four and does not say which.
    representation : {"shape", "raw", "unit", "rotated"}, default "shape"
        "shape" gives points of ComplexProjective(k - 2). The others give coordinates (x1, y1, x2, ...) in
        Euclidean(2 k), for methods that know no shapes: "raw", where landmark 3 is the origin, 4 is above it, and
        size alone tells the sexes apart; "unit", centred with unit size; "rotated", the same with each skull turned by
        a random angle, so that only shape is left. All have the same shapes.
    contrast : {"helmert", "first"}, default "helmert"
        Of shapes; see `heatgp.points.landmarks_to_shape`.
    seed : int, default 0
        Of the random angles.
    data_home : path-like, optional
        The data folder; see `data_folder`.
    download : bool, default True
        Download the files where they are missing.

    Returns
    -------
    Dataset

    Raises
    ------
    DataMissing
        If the files are neither in the data folder nor could be downloaded.
    InvalidInput
        If an argument is not as above, or a file has the wrong content.

    References
    ----------
    O'Higgins and Dryden (1993); Dryden and Mardia (2016), Statistical Shape Analysis.
    """
    chosen = as_labels(landmarks, "landmarks", "numbers from 1 to 8")
    known = chosen.ndim == 1 and chosen.dtype.kind in "iu" and set(chosen.tolist()) <= set(range(1, 9))
    if not known or len(chosen) < 3 or len(set(chosen.tolist())) != len(chosen):
        raise InvalidInput(f"landmarks must be three or more different numbers from 1 to 8; got {landmarks!r}.")
    check_flag("download", download)
    rng = generator(seed, "seed")
    if not isinstance(representation, str) or representation not in ("shape", "raw", "unit", "rotated"):
        raise InvalidInput(f"representation must be 'shape', 'raw', 'unit' or 'rotated'; got {representation!r}.")
    files = skull_files(data_folder(data_home), download)
    female, male = map(read_skulls, files, SHA256.values())
    z = np.concatenate((female, male))[:, chosen - 1]
    y = np.repeat((0, 1), (len(female), len(male)))
    description = f"gorilla skulls, landmarks {', '.join(map(str, landmarks))}, {representation}; y = 1 for males"
    if representation == "shape":
        return Dataset(landmarks_to_shape(z, contrast), y, ComplexProjective(len(chosen) - 2), description)
    if representation != "raw":
        z = z - z.mean(axis=1, keepdims=True)
        z = z / np.linalg.norm(z, axis=1, keepdims=True)
    if representation == "rotated":
        z = z * np.exp(2j * np.pi * rng.random((len(z), 1)))
    X = np.stack((z.real, z.imag), axis=-1).reshape(len(z), -1)
    return Dataset(X, y, Euclidean(X.shape[1]), description)


def skull_files(folder: Path, download: bool = True) -> list[Path]:
    """The files of the females and of the males in the data folder, downloaded if need be; they are not read.

    Raises DataMissing where a file is neither there nor could be downloaded, or the packages to read it are missing.
    """
    paths = [folder / "shapes" / Path(member).name for member in SHA256]
    absent = [path for path in paths if not path.is_file()]
    if absent and not download:
        raise DataMissing(missing(absent[0], SOURCE))
    packages()
    if absent:
        download_members(URLS, SHA256, folder / "shapes", SOURCE)
    return paths


def read_skulls(path: Path, sha256: str) -> np.ndarray:
    """All eight landmarks of each skull of a file, complex (N, 8)."""
    _, rdata = packages()
    verify(path, sha256, str(path))
    (array,) = rdata.read_rda(path).values()  # landmarks x coordinates x skulls
    return (array[:, 0] + 1j * array[:, 1]).T
