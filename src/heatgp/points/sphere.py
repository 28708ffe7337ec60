"""Latitude and longitude to points of the sphere, and back."""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..manifolds import Sphere
from .checks import check, real_numbers, reject


def latlon_to_sphere(latitude: ArrayLike, longitude: ArrayLike) -> np.ndarray:
    """Latitude and longitude in degrees to points of Sphere(2).

    Parameters
    ----------
    latitude : array_like
        In [-90, 90].
    longitude : array_like
        In [-360, 360]; it is broadcast against the latitude.

    Returns
    -------
    ndarray (..., 3)
        z points to the north pole, x to latitude 0 and longitude 0.

    Raises
    ------
    InvalidInput
        If a value is not finite or outside its interval.

    Examples
    --------
    >>> latlon_to_sphere(90, 0).round(12) + 0
    array([0., 0., 1.])
    """
    latitude, longitude = real_numbers(latitude, "latitude"), real_numbers(longitude, "longitude")
    try:
        np.broadcast_shapes(latitude.shape, longitude.shape)
    except ValueError:
        raise InvalidInput(
            f"latitude has shape {latitude.shape} and longitude {longitude.shape}: they do not broadcast. Give one "
            "longitude for each latitude."
        ) from None
    limit = "is {value} degrees, outside [-%d, %d]. Pass degrees, latitude first."
    reject(np.abs(latitude) > 90, latitude, "latitude", limit % (90, 90))
    reject(np.abs(longitude) > 360, longitude, "longitude", limit % (360, 360))
    lat, lon = np.broadcast_arrays(np.radians(latitude), np.radians(longitude))
    return np.stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)), axis=-1)


def sphere_to_latlon(x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Points of Sphere(2) to latitude and longitude in degrees.

    Parameters
    ----------
    x : array_like (..., 3)

    Returns
    -------
    latitude, longitude : ndarray (...)
        In [-90, 90] and [-180, 180].

    Raises
    ------
    OffManifold
        If a point is not on the sphere.

    Examples
    --------
    >>> [angle.round(6).tolist() for angle in sphere_to_latlon([0.0, 1, 0])]
    [0.0, 90.0]
    """
    a, b, c = np.moveaxis(check(Sphere(2), x, "x"), -1, 0)
    return np.degrees(np.arctan2(c, np.hypot(a, b))), np.degrees(np.arctan2(b, a))
