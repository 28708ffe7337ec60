"""Parameters that were learned from few data: intervals of predictions are then too narrow."""

from collections.abc import Sequence

from ..errors import SmallSampleWarning, warn

FEW = 20
"""Data below which learned parameters make intervals clearly too narrow: those of 90 % cover 65 to 85 %."""

FEW_INTEGRATED = 5
"""The same with integrate="grid": 84 % at N = 3, 89 % at N = 5."""


def is_few(number: int, integrated: bool) -> bool:
    """Whether so many data are few, where parameters are learned, or integrated over."""
    return number < (FEW_INTEGRATED if integrated else FEW)


def warn_of_few(number: int, learned: Sequence[str], integrated: bool) -> None:
    """A SmallSampleWarning where parameters of these names were learned from few data.

    Class probabilities need none: the uncertainty of f makes up for that of the parameters (docs/warnings.md).
    """
    if not learned or not is_few(number, integrated):
        return
    names = ", ".join(learned)
    if integrated:
        warn(
            f"{names} learned from N = {number} points, fewer than {FEW_INTEGRATED}: intervals are somewhat too narrow "
            "even with integrate='grid', as the scale of the priors comes from the data too. Give priors of your own.",
            SmallSampleWarning,
        )
    else:
        warn(
            f"{names} learned from N = {number} points, fewer than {FEW}: intervals are too narrow, those of 90 % "
            "cover 65 to 85 % of new observations. Give the parameters that are known from elsewhere, average over "
            "them with integrate='grid', or add data.",
            SmallSampleWarning,
        )
