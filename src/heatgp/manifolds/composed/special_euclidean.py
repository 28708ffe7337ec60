"""Rigid motions, as the product of translations and rotations."""

from ..spaces.euclidean import Euclidean
from ..spaces.orthogonal import SpecialOrthogonal
from .product import Product


def SpecialEuclidean(n: int = 3) -> Product:
    """SE(n), the rigid motions of R^n such as poses of cameras and hands: Product(Euclidean(n), SpecialOrthogonal(n)).

    The squared distance of two motions is that of their translations plus that of their rotations. Models learn a time
    for each, since a metre and a radian cannot be compared. The heat kernel is exact to n = 10. `heatgp.points` has
    conversions: `rigid_to_product` from matrices (n + 1, n + 1), and `product_to_rigid` back.

    Parameters
    ----------
    n : int, default 3
        The dimension of the space that moves, at least 2.

    Returns
    -------
    Product
        A point is a row: the translation, then the rotation matrix row by row.

    Raises
    ------
    InvalidInput
        If n is no integer of at least 2.

    Notes
    -----
    This metric does not change under rotations of space, nor when the frame of reference is moved; it depends on which
    point of the body is called its position. No metric of SE(3) is the same on both sides (Park 1995, J. Mechanical
    Design 117, 48-54).

    Examples
    --------
    >>> SpecialEuclidean(3)
    Product(Euclidean(3), SpecialOrthogonal(3))
    >>> SpecialEuclidean(3).dim
    6
    """
    rotations = SpecialOrthogonal(n)  # first: it refuses a bad n
    return Product(Euclidean(n), rotations)
