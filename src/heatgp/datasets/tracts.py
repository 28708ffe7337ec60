"""Tracts: a positive definite 3 x 3 matrix at each site of each subject."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..archive import read_arrays
from ..arguments import as_array, check_count, check_number, generator
from ..array import wrap
from ..cost import check_memory
from ..errors import InvalidInput
from ..points import product_to_spd, spd_manifold, spd_to_product
from ..whole_file import existing_file
from .files import data_file
from .record import Dataset

STAND_IN = "connectomes/sites75_spd3.npz"


def dti(
    file: str | os.PathLike[str] | None = None,
    *,
    half_circle: bool = True,
    log: bool = False,
    data_home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Diffusion tensors along a tract, at each site a point of S^2 x S^1 x R^3.

    The paper's own data are not public. Without a file, a stand-in of the same layout is read: blocks of
    functional-connectivity matrices of patients with schizophrenia and of healthy subjects.

    Parameters
    ----------
    file : path-like, optional
        An .npz with A (subjects, sites, 3, 3), positive definite, and y (subjects,).
    half_circle, log : bool
        As in `heatgp.points.spd_to_product`.
    data_home : path-like, optional
        The data folder, where the stand-in is; see `data_folder`.

    Returns
    -------
    Dataset
        X is (subjects, sites, 7); `details["A"]` holds the matrices.

    Raises
    ------
    DataMissing
        If there is no file and no stand-in.
    InvalidInput
        If the file has another layout.
    """
    path = stand_in_file(data_home) if file is None else existing_file(file, "file")
    stand_in = "STAND-IN for the DTI data (functional connectivity, not diffusion)"
    name = stand_in if file is None else f"diffusion tensors of {path.name}"
    arrays = read_arrays(path)
    absent = {"A", "y"} - set(arrays)
    if absent:
        raise InvalidInput(f"{path} has no array {min(absent)!r}; it must hold A (subjects, sites, 3, 3) and y.")
    A, y = as_array(arrays["A"], f"A of {path}"), arrays["y"]
    if A.ndim != 4 or A.shape[2:] != (3, 3) or y.shape != A.shape[:1]:
        raise InvalidInput(
            f"{path} has A of shape {A.shape} and y of shape {y.shape}; (N, sites, 3, 3) and (N,) needed."
        )
    return tract(A, y, name, half_circle, log)


def stand_in_file(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The file of the stand-in, which is not read; raises DataMissing where there is none."""
    return data_file(STAND_IN, "a stand-in for the DTI data: npz with A (subjects, sites, 3, 3) and y", data_home)


def tract(A: np.ndarray, y: np.ndarray, name: str, half_circle: bool, log: bool, **details: object) -> Dataset:
    """The data set of the matrices A (subjects, sites, 3, 3)."""
    return Dataset(
        X=spd_to_product(A, half_circle=half_circle, log=log),
        y=y,
        manifold=spd_manifold(half_circle=half_circle),
        description=f"{name}, {A.shape[0]} subjects x {A.shape[1]} sites",
        details={"A": A, **details},
    )


def simulated_tract(
    seed: int = 0,
    *,
    subjects: int = 46,
    positives: int = 28,
    sites: int = 75,
    planted: Sequence[int] = (12, 28, 38, 49, 54),
    effect: float = 1.0,
    half_circle: bool = True,
    log: bool = False,
) -> Dataset:
    """A simulated tract whose planted sites, and no others, differ between the classes.

    The main direction bends along the tract and the second one turns around it, by two half-turns in all. Every
    subject has its own overall diffusivity; directions and eigenvalues vary from site to site (standard deviations
    0.1 rad for the tilt, 0.25 rad for the turn, 0.1 for log eigenvalues). At planted sites the positives' second
    direction is turned by 0.6 effect rad and their two smaller eigenvalues are larger by a factor e^(0.1 effect).

    Parameters
    ----------
    seed : int, default 0
    subjects : int, default 46
    positives : int, default 28
        Subjects with y = 1.
    sites : int, default 75
    planted : sequence of int, default (12, 28, 38, 49, 54)
        Counted from zero; the default sites are those that the paper found.
    effect : float, default 1
    half_circle, log : bool
        As in `heatgp.points.spd_to_product`.

    Returns
    -------
    Dataset
        X is (subjects, sites, 7); `details["planted"]` names the sites.

    Raises
    ------
    InvalidInput
        If a planted site or the number of positives is out of range.

    Examples
    --------
    >>> simulated_tract().X.shape
    (46, 75, 7)
    """
    for name, value in (("subjects", subjects), ("positives", positives), ("sites", sites)):
        check_count(name, value)
    check_memory(400.0 * subjects * sites, f"A tract of {subjects} subjects at {sites} sites", "Ask for less.")
    if positives >= subjects:
        raise InvalidInput(f"positives must be between 1 and subjects - 1 = {subjects - 1}; got {positives}.")
    at = as_array(planted, "planted")
    if at.ndim != 1 or (at.size and at.dtype.kind not in "iu") or not ((at >= 0) & (at < sites)).all():
        raise InvalidInput(f"planted must be sites from 0 to {sites - 1}; got {planted!r}.")
    effect = check_number("effect", effect)
    rng = generator(seed, "seed")
    y = rng.permutation(np.arange(subjects) < positives).astype(int)
    sick = y[:, None] * np.isin(np.arange(sites), at)

    along = np.linspace(0, 1, sites)
    azimuth = np.radians(100) * (along - 0.5) + 0.1 * rng.standard_normal((subjects, sites))
    height = np.radians(15) * np.sin(2 * np.pi * along) + 0.1 * rng.standard_normal((subjects, sites))
    v1 = np.stack((np.cos(height) * np.cos(azimuth), np.cos(height) * np.sin(azimuth), np.sin(height)), axis=-1)
    turn = wrap(2 * np.pi * along + 0.25 * rng.standard_normal((subjects, sites)) + 0.6 * effect * sick)
    spread = 0.1 * rng.standard_normal((subjects, 1, 1)) + 0.1 * rng.standard_normal((subjects, sites, 3))
    logs = np.log([1.6, 0.6, 0.25]) + spread + 0.1 * effect * sick[..., None] * np.array([0, 1, 1])
    x = np.concatenate((v1, turn[..., None], logs), axis=-1)
    A = product_to_spd(x, half_circle=False, log=True)
    return tract(A, y, "simulated tract with planted sites", half_circle, log, planted=at.astype(int))
