"""Data sets of the paper and others, one loader for each; files are looked for, and kept, in a data folder.

The folder is the argument data_home, else the environment variable HEATGP_DATA, else heatgp in XDG_CACHE_HOME or
~/.cache. The skulls, and downloads, need the packages that `pip install 'heatgp[data]'` installs.
"""

from .files import DataMissing, data_folder
from .globe import atmosphere
from .orientations import drill
from .record import Dataset
from .regressions import projective_regression, torus_knot
from .skulls import gorillas
from .tracts import dti, simulated_tract

__all__ = [
    "DataMissing",
    "Dataset",
    "atmosphere",
    "data_folder",
    "drill",
    "dti",
    "gorillas",
    "projective_regression",
    "simulated_tract",
    "torus_knot",
]
