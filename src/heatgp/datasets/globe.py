"""Wind and geopotential of the whole Earth."""

import os
from typing import Literal, get_args

import numpy as np
from scipy.io import netcdf_file

from ..arguments import check_flag
from ..errors import InvalidInput
from ..manifolds import Sphere
from ..points import latlon_to_sphere
from .files import DataMissing, data_folder, download_file, missing, verify
from .record import Dataset

URL = "https://github.com/pydata/xarray-data/raw/master/eraint_uvz.nc"
SHA256 = "8f4cd0f75418a8e8f8f957c3b007f49e68a58d1bdd0e028adeeb057889f635d2"
SOURCE = "eraint_uvz.nc of the public repository pydata/xarray-data"
LEVELS = (200, 500, 850)
MONTHS = (1, 7)

Variable = Literal["u", "v", "z"]


def atmosphere(
    variable: Variable = "u",
    level: int = 500,
    month: int = 1,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """Monthly means of wind or geopotential on the whole Earth, from the reanalysis ERA-Interim.

    The grid has 241 latitudes and 480 longitudes, 0.75 degrees apart: 115,680 points, which crowd at the poles. Take
    them with probabilities in proportion to the area that each stands for.

    Parameters
    ----------
    variable : {"u", "v", "z"}, default "u"
        "u", the wind to the east, in m/s; "v", the wind to the north, in m/s; "z", the geopotential, in m²/s². East and
        north turn around at the poles, where u and v are no continuous functions.
    level : {200, 500, 850}, default 500
        The pressure, in hPa, at which the field is given: about 12, 5.5 and 1.5 km above the sea.
    month : {1, 7}, default 1
        January or July.
    data_home : path-like, optional
        The data folder; see `data_folder`.
    download : bool, default True
        Download the file where it is missing, era/eraint_uvz.nc.

    Returns
    -------
    Dataset
        Points of Sphere(2); `details` holds the latitude, the longitude, both in degrees, and the `area` of each point,
        whose sum is one. The area of the poles is zero: all their points are one.

    Raises
    ------
    DataMissing
        If the file is neither in the data folder nor could be downloaded.
    InvalidInput
        If an argument is not as above, or the file has the wrong content.

    References
    ----------
    Dee et al. (2011), The ERA-Interim reanalysis.
    """
    choices = {"variable": get_args(Variable), "level": LEVELS, "month": MONTHS}
    for name, value in {"variable": variable, "level": level, "month": month}.items():
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value not in choices[name]:
            raise InvalidInput(f"{name} = {value!r} is not there. Use one of {', '.join(map(repr, choices[name]))}.")
    path = data_folder(data_home) / "era" / "eraint_uvz.nc"
    check_flag("download", download)
    if not path.is_file():
        if not download:
            raise DataMissing(missing(path, SOURCE))
        download_file(URL, SHA256, path, SOURCE)
    verify(path, SHA256, str(path))
    with netcdf_file(path, mmap=False) as file:
        found = file.variables[variable]
        packed = found.data[MONTHS.index(month), LEVELS.index(level)]
        y = packed * float(found.scale_factor) + float(found.add_offset)
        latitude, longitude = (np.asarray(file.variables[name].data, float) for name in ("latitude", "longitude"))
    latitude, longitude = (each.ravel() for each in np.meshgrid(latitude, longitude, indexing="ij"))
    area = np.where(np.abs(latitude) == 90, 0.0, np.cos(np.radians(latitude)))
    return Dataset(
        X=latlon_to_sphere(latitude, longitude),
        y=y.ravel(),
        manifold=Sphere(2),
        description=f"ERA-Interim, {variable} at {level} hPa, mean of {'January' if month == 1 else 'July'}",
        details={"latitude": latitude, "longitude": longitude, "area": area / area.sum()},
    )
