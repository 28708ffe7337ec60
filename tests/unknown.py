"""A symmetric space of the user's own, of which the library knows no formula: methods have to simulate it."""

from heatgp import Grassmann


class Planes(Grassmann):
    """Gr(n, k), not known by its name."""
