"""Orientations of the joints of an arm that drills."""

import os

import numpy as np

from ..manifolds import SpecialOrthogonal
from ..points import quaternion_to_matrix
from .files import csv_records, data_file
from .record import Dataset


def drill(*, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Orientations of wrist, elbow and shoulder while drilling, of 8 subjects at 6 positions, 5 times each.

    The file is drill/drill_clean.csv in the data folder, with the columns Subject, Joint, Position, Replicate, Q1, ...,
    Q4: unit quaternions, scalar first.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder; see `data_folder`.

    Returns
    -------
    Dataset
        Points of SpecialOrthogonal(3); y is the joint, `groups` are the subjects, `details` holds position and
        replicate.

    Raises
    ------
    DataMissing
        If the file is not there.

    References
    ----------
    Rancourt (1995), by way of the R package rotations.
    """
    source = "columns Subject, Joint, Position, Replicate, Q1 to Q4, from the data set drill of the R package rotations"
    path = data_file("drill/drill_clean.csv", source, data_home)
    rows = csv_records(path)
    quaternions = np.array([[float(row[f"Q{i}"]) for i in range(1, 5)] for row in rows])
    return Dataset(
        X=quaternion_to_matrix(quaternions, scalar_first=True),
        y=np.array([row["Joint"] for row in rows]),
        manifold=SpecialOrthogonal(3),
        description="orientations of wrist, elbow and shoulder while drilling; groups are the subjects",
        groups=np.array([int(row["Subject"]) for row in rows]),
        details={name.lower(): np.array([int(row[name]) for row in rows]) for name in ("Position", "Replicate")},
    )
