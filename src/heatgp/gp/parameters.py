"""The parameters of a Gaussian process: time, amplitude and noise, which of them are given, and the priors of the rest.

Priors are of the natural logarithm z of a parameter, and densities are with respect to z. So the estimate with priors,
the maximum of log evidence + log density (maximum a posteriori), is one in logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..arguments import EXTREME, as_array, generator, has_same_values, is_list, is_number, shown
from ..covariance import Array, Kernel
from ..errors import InvalidInput

Time = float | tuple[float, ...]

LARGEST_VARIANCE = 1e280
"""The square of the largest target."""


@dataclass(frozen=True)
class Params:
    """The covariance of observations: amplitude * k(x, y; time) + noise * [same observation].

    Parameters
    ----------
    time : positive number; a tuple for a kernel that takes several times, or none.
    amplitude : positive number, a variance; of several outputs an array (p,).
    noise : number of at least 0, a variance, default 0; of several outputs an array (p,).

    Raises
    ------
    InvalidInput : if a value is outside its range.

    Examples
    --------
    >>> Params(time=0.1, amplitude=2.0, noise=0.01).amplitude
    2.0
    """

    time: Time
    amplitude: Any
    noise: Any = 0.0

    def __post_init__(self) -> None:
        times = np.asarray(self.time, dtype=float)
        if not np.all((times > 0) & np.isfinite(times)):
            raise InvalidInput(f"time = {shown(self.time)} must be positive and finite. Give None to learn it.")
        if not np.all((times >= 1 / EXTREME) & (times <= EXTREME)):
            raise InvalidInput(
                f"time = {shown(self.time)} is not from {1 / EXTREME:g} to {EXTREME:g}. Change the unit."
            )
        if max(float(np.max(self.amplitude)), float(np.max(self.noise))) > LARGEST_VARIANCE:
            raise InvalidInput(
                f"amplitude = {shown(self.amplitude)}, noise = {shown(self.noise)}: variances beyond "
                f"{LARGEST_VARIANCE:g} leave floating point when they are multiplied. Change the unit of y."
            )
        for name, value, least in ("amplitude", self.amplitude, "positive"), ("noise", self.noise, "0 or positive"):
            low, high = np.min(value), np.max(value)
            if not 0 <= low <= high < np.inf or (least == "positive" and low == 0):
                raise InvalidInput(
                    f"{name} = {value} is a variance and must be {least} and finite. Give None to learn it."
                )

    def __getitem__(self, output: int) -> Params:
        """The parameters of one output."""
        return Params(self.time, float(self.amplitude[output]), float(self.noise[output]))


@dataclass(frozen=True)
class Given:
    """The parameters that are held fixed; those that are None are learned."""

    time: tuple[float | None, ...]
    amplitude: float | None
    noise: float | None
    names: tuple[str, ...] = ()
    """What the kernel calls its numbers, for messages."""

    @classmethod
    def of(cls, kernel: Kernel, time: Any, amplitude: float | None, noise: float | None) -> Given:
        """Checked values; one `time` for all times of the kernel, or one for each. Weights are learned unless given."""
        count = kernel.parameters
        own = count - kernel.weight_parameters
        times = tuple(time) if is_list(time) else (time,) * own
        if len(times) == own:
            times += (None,) * kernel.weight_parameters
        if not all(t is None or is_number(t) for t in times):
            raise InvalidInput(f"time = {shown(time)} must be a number, or None to learn it.")
        for name, value in (("amplitude", amplitude), ("noise", noise)):
            if not (value is None or is_number(value)):
                raise InvalidInput(f"{name} = {shown(value)} must be a finite number, or None to learn it.")
        if len(times) != count:
            raise InvalidInput(f"time = {shown(time)} has {len(times)} values; the kernel has {own}.")
        known = [None if value is None else float(value) for value in (amplitude, noise)]
        given = cls(times, known[0], known[1], kernel.names)
        # checks what is given; a one in the place of what is learned
        Params(given.times(np.zeros(count)), 1.0 if amplitude is None else amplitude, 0.0 if noise is None else noise)
        return given

    @property
    def params(self) -> Params | None:
        """The parameters, None where one of them is to be learned."""
        if self.free or self.amplitude is None or self.noise is None:
            return None
        return Params(self.times(np.empty(0)), self.amplitude, self.noise)

    @property
    def free(self) -> list[int]:
        """The numbers of the times that are learned."""
        return [k for k, t in enumerate(self.time) if t is None]

    @property
    def time_names(self) -> list[str]:
        """The names of the times and weights that are learned."""
        return [self.names[k] for k in self.free]

    def times(self, z: Array) -> Time:
        """The kernel's time (a number if it has one, else a tuple); exp of the first coordinates of z where learned."""
        learned = iter(np.exp(z))
        times = tuple(float(next(learned)) if t is None else float(t) for t in self.time)
        return times[0] if len(times) == 1 else times


LEAST_MASS = 1e-3
"""A prior with less probability than this within the bounds of the search contradicts them."""
WEAK_AMPLITUDE = 3.0
"""The spread of the weak prior of the prior variance, about the mean square of y."""
WEAK_NOISE = 2.0
"""The spread of the weak prior of noise / prior variance, about 0.1."""
EDGE = 2.0
"""Standard deviations from the median to the bounds of a prior that comes from bounds: 95 % are within."""


@dataclass(frozen=True)
class LogNormal:
    """The log-normal distribution of a positive number: its logarithm is normal.

    Parameters
    ----------
    median : positive number.
    spread : positive number, the standard deviation of the natural logarithm. With 0.7 the number is within a factor of
        two of the median with probability 2/3, with 2.3 within a factor of ten.

    Raises
    ------
    InvalidInput : if a value is not positive and finite.

    Examples
    --------
    >>> LogNormal(median=2.0, spread=1.0).quantile([0.025, 0.5, 0.975]).round(2)
    array([ 0.28,  2.  , 14.2 ])
    """

    median: float
    spread: float

    def __post_init__(self) -> None:
        for name, value in (("median", self.median), ("spread", self.spread)):
            if not (is_number(value) and value > 0):
                raise InvalidInput(f"{name} = {value!r} of a LogNormal must be a positive, finite number.")

    @classmethod
    def between(cls, low: float, high: float, edge: float = EDGE) -> LogNormal:
        """The distribution about the middle of two numbers that has these at `edge` standard deviations.

        With the default edge of 2, a probability of 95 % is between them; with 1 it is 68 %.

        Examples
        --------
        >>> [round(LogNormal.between(0.1, 10.0, edge).mass(0.1, 10.0), 2) for edge in (2, 1)]
        [0.95, 0.68]
        """
        if not (is_number(low) and is_number(high) and 0 < low < high):
            raise InvalidInput(
                f"LogNormal.between({low!r}, {high!r}) needs two positive, finite numbers, the smaller first."
            )
        if not (is_number(edge) and edge > 0):
            raise InvalidInput(f"edge = {edge!r} of LogNormal.between must be a positive, finite number.")
        return cls(float(np.sqrt(low) * np.sqrt(high)), float(np.log(high / low) / (2 * edge)))

    def log_density(self, z: Any) -> Any:
        """The log density of z, the logarithm of the parameter, with respect to z."""
        return -0.5 * self._units(z) ** 2 - np.log(self.spread * np.sqrt(2 * np.pi))

    def slope(self, z: Any) -> Any:
        """The derivative of `log_density`."""
        return -self._units(z) / self.spread

    def quantile(self, probability: Any) -> Any:
        """The value of the parameter that is not exceeded with this probability."""
        return self.median * np.exp(self.spread * ndtri(probability))

    def mass(self, low: float, high: float) -> float:
        """The probability that the parameter is between two numbers."""
        return float(ndtr(self._units(np.log(high))) - ndtr(self._units(np.log(low))))

    def sample(self, rng: Any, size: Any = None) -> Any:
        """Random values of the parameter, from a seed or a numpy Generator."""
        return self.median * np.exp(self.spread * generator(rng).standard_normal(size))

    def _units(self, z: Any) -> Any:
        """Standard deviations from the median."""
        return (z - np.log(self.median)) / self.spread


ParameterPriors = Mapping[str, LogNormal]
"""The priors of coordinates by their names: "time" (of several, "time[0]" and so on), "amplitude", "noise", ...

A name that is not there has a flat prior.
"""


PARAMETERS = ("time", "amplitude", "noise", "label_noise")
"""The parameters that have a prior in `Priors`."""
NO_PRIOR = "priors.{name} is given, but not possible with {model}: priors are of {possible}. Leave it out."


def is_weak(prior: Any) -> bool:
    """Whether a prior is the default one."""
    return isinstance(prior, str) and prior == "weak"


def check_prior(name: str, prior: Any, value: Any) -> None:
    """Raise InvalidInput where a prior, or one of several in a value, is none."""
    if not (prior is None or isinstance(prior, LogNormal) or is_weak(prior)):
        raise InvalidInput(f'{name} = {shown(value)} must be a LogNormal(median, spread), "weak", or None: flat.')


def checked_intervals(name: str, intervals: Any) -> Any:
    """One interval, or a tuple of one for each time."""
    if is_list(intervals) and any(map(is_list, intervals)):
        return tuple(checked_interval(name, interval) for interval in intervals)
    return checked_interval(name, intervals)


def checked_scales(scale: Any, columns: int | None = None) -> Array:
    """Prior standard deviations of coefficients, one or one for each column; their number may not be known yet."""
    scales = as_array(scale, "priors.coefficients")
    fits = scales.ndim <= 1 if columns is None else scales.shape in ((), (columns,))
    if not (fits and scales.dtype.kind in "iuf" and np.all(scales > 0)):
        each = "coefficient" if columns is None else f"of {columns} coefficients"
        raise InvalidInput(
            f"priors.coefficients = {shown(scale)} must be a positive number, or one for each {each}; inf is a flat "
            "prior."
        )
    return scales.astype(float)


def checked_interval(name: str, interval: Any) -> tuple[float, float] | None:
    """Two positive numbers, the smaller first; None stays."""
    if interval is None:
        return None
    pair = isinstance(interval, (tuple, list, np.ndarray)) and np.shape(interval) == (2,)
    if not (pair and all(map(is_number, interval)) and 0 < interval[0] < interval[1] < np.inf):
        raise InvalidInput(
            f"{name} = {shown(interval)} must be two positive numbers, the smaller first, such as (0.01, 100)."
        )
    return float(interval[0]), float(interval[1])


@dataclass(frozen=True, eq=False)
class Priors:
    """What is known of the parameters before the data: their priors, and the intervals in which they are searched for.

    A prior is "weak" (the default), a LogNormal, or None: flat. Parameters that are left out keep their weak prior.
    Weak priors matter with few data only: that of a time has the bounds of its search at two standard deviations, that
    of the amplitude is about the mean square of y, that of noise / amplitude about 0.1; those of other likelihoods are
    their own. Weights of a sum of kernels have none. Priors and intervals of parameters that are given are not used.

    Parameters
    ----------
    time : prior, or a tuple of one for each time of the kernel.
    amplitude : prior of the prior variance of f (its mean over the data: amplitude times the mean of k(x, x)).
    noise : prior of the ratio of the noise to that variance; where the likelihood has a noise of its own, of that
        noise: with Student-t noise the square of its scale, in the squared unit of y.
    label_noise : prior of the rate of wrong labels in classification.
    likelihood : the priors of the other parameters of the likelihood, such as the degrees of Student-t noise: "weak",
        None, or a dict such as {"degrees": LogNormal(4, 1)}, where those that are not named keep their weak prior.
    coefficients : number or array (q,), default None: flat. The prior standard deviation of the coefficients of basis
        functions and covariates, but not of the constant; an array has one for each coefficient, inf is flat.
    time_bounds : tuple (low, high), or one for each factor, default None: from the distances of the data.
    amplitude_bounds, noise_bounds : tuples (low, high), default None. Where the prior variance of f, and the ratio of
        the noise to it, are searched for: from 1e-6 to 1e6 times the mean square of y, and from 1e-8 to 1e4.

    Raises
    ------
    InvalidInput : if a value is no prior, or an interval not two positive numbers, the smaller first; if `likelihood`
        names what has an argument of its own. A model refuses names that its likelihood does not have.

    Examples
    --------
    >>> Priors(time=LogNormal(1.0, 0.5), noise=None).amplitude
    'weak'
    """

    time: Any = "weak"
    amplitude: LogNormal | str | None = "weak"
    noise: LogNormal | str | None = "weak"
    label_noise: LogNormal | str | None = "weak"
    likelihood: Any = "weak"
    coefficients: Any = None
    time_bounds: Any = None
    amplitude_bounds: tuple[float, float] | None = None
    noise_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in PARAMETERS:
            value = vars(self)[name]
            for prior in value if name == "time" and isinstance(value, (tuple, list)) else (value,):
                check_prior(f"priors.{name}", prior, value)
        if isinstance(self.likelihood, Mapping):
            for name, prior in self.likelihood.items():
                if name in PARAMETERS:
                    raise InvalidInput(
                        f"priors.likelihood names {name!r}, which has an argument of its own. Use Priors({name}=...)."
                    )
                check_prior(f"priors.likelihood[{name!r}]", prior, prior)
        elif not (self.likelihood is None or is_weak(self.likelihood)):
            raise InvalidInput(
                f"priors.likelihood = {shown(self.likelihood)} must be a dict of priors by the names of parameters, "
                '"weak", or None: flat.'
            )
        for name in ("amplitude_bounds", "noise_bounds"):
            object.__setattr__(self, name, checked_interval(name, vars(self)[name]))
        object.__setattr__(self, "time_bounds", checked_intervals("time_bounds", self.time_bounds))
        if self.coefficients is not None:
            checked_scales(self.coefficients)

    def __eq__(self, other: object) -> bool:
        return has_same_values(self, other)

    def by_name(
        self,
        intervals: Mapping[str, Sequence[float]],
        names: Sequence[str] = ("time",),
        weights: int = 0,
        weak: ParameterPriors | None = None,
        edge: float = EDGE,
    ) -> dict[str, LogNormal]:
        """The priors of the coordinates that have an interval of search, by name.

        Parameters
        ----------
        intervals : dict of (low, high), the bounds of what is learned, by the names of `ParameterPriors`.
        names : the names of the numbers that the kernel takes, times and then weights; default one time.
        weights : int, default 0. How many of these are weights; their priors are flat unless `time` has them too.
        weak : the weak priors by name, default none. They are about the nearest value of the interval.
        edge : number. Weak priors of times have the bounds at so many standard deviations from their median.

        Raises
        ------
        InvalidInput : if times have another number, or a prior has no mass on its bounds.
        """
        own = len(names) - weights
        times = tuple(self.time) if isinstance(self.time, (tuple, list)) else (self.time,) * own
        if len(times) not in (own, len(names)):
            raise InvalidInput(
                f"priors.time has {len(times)} priors; the kernel has {own} times. Give one LogNormal for all times, "
                "or a tuple with one for each."
            )
        searched = {name: intervals[name] for name in names[:own] if name in intervals}
        weak = dict(weak or {}) | {name: LogNormal.between(low, high, edge) for name, (low, high) in searched.items()}
        named = dict(zip(names, times)) | {name: vars(self)[name] for name in PARAMETERS if name != "time"}
        others = [name for name in intervals if name not in named]
        named |= dict.fromkeys(others, None if self.likelihood is None else "weak")
        named |= self.likelihood if isinstance(self.likelihood, Mapping) else {}
        found: dict[str, LogNormal] = {}
        for name, prior in named.items():
            if name not in intervals or prior is None or (is_weak(prior) and name not in weak):
                continue
            low, high = intervals[name]
            if is_weak(prior):
                prior = replace(weak[name], median=float(np.clip(weak[name].median, low, high)))
            elif prior.mass(low, high) < LEAST_MASS:
                raise InvalidInput(
                    f"the prior of {name}, {prior}, has a probability of {prior.mass(low, high):.1e} between the "
                    f"bounds {low:.3g} and {high:.3g} of its search, less than {LEAST_MASS:g}. Move the prior, or the "
                    "bounds."
                )
            found[name] = prior
        return found

    def check(self, parameters: Sequence[str], model: str, of_likelihood: Iterable[str] = ()) -> None:
        """Raise InvalidInput for what is given of parameters that the model does not have: it would have no effect.

        `parameters` have priors and intervals here, those `of_likelihood` priors alone.
        """
        fields = [name for name in (*PARAMETERS, "coefficients") if name in (*parameters, *of_likelihood)]
        possible = " and ".join(filter(None, (", ".join(fields[:-1]), fields[-1])))
        for name in (*PARAMETERS, "coefficients"):
            prior, interval = vars(self)[name], vars(self).get(f"{name}_bounds")
            for what, value, known in (name, prior, fields), (f"{name}_bounds", interval, parameters):
                if name not in known and not (value is None or is_weak(value)):
                    raise InvalidInput(NO_PRIOR.format(name=what, model=model, possible=possible))
        others = [name for name in of_likelihood if name not in PARAMETERS]
        for name in self.likelihood if isinstance(self.likelihood, Mapping) else ():
            if name not in others:
                raise InvalidInput(
                    f"priors.likelihood names {name!r}, but the parameters of {model} beside {possible} are: "
                    f"{', '.join(others) or 'none'}. Leave it out."
                )


FLAT = Priors(time=None, amplitude=None, noise=None, label_noise=None, likelihood=None)


def checked_priors(priors: Any) -> Priors:
    """The argument of estimators: "weak", None (flat) or Priors."""
    if isinstance(priors, Priors):
        return priors
    if priors is None:
        return FLAT
    if is_weak(priors):
        return Priors()
    raise InvalidInput(f'priors = {shown(priors)} is not known. Use "weak", None (plain evidence) or a Priors(...).')


def log_density(priors: ParameterPriors, names: Sequence[str], z: Array) -> tuple[float, Array]:
    """The log density of the coordinates z of these names, and its gradient; both 0 where priors are flat."""
    value, gradient = 0.0, np.zeros(len(z))
    for k, name in enumerate(names):
        if name in priors:
            value += float(priors[name].log_density(z[k]))
            gradient[k] = priors[name].slope(z[k])
    return value, gradient
