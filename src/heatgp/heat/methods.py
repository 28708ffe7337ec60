"""Methods to make a heat kernel, as values: each has its options, makes kernels, splits and stores them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ..arguments import as_times, check_flag, check_jobs, check_seed
from ..cost import Cost, check_memory
from ..covariance import DIFFERENCE
from ..errors import InvalidInput, Unsupported
from ..manifolds import Homogeneous, Manifold, Scaled, Stiefel, Symmetric
from ..manifolds.roots import log_unit_ball_volume
from ..paths.samples import Samples, orbit_samples, samples_cost
from ..paths.simulation import Seed, Simulation, check_count, check_step, entropy, schedule
from .composed import compose, composed_of
from .counting.ball import ball_cost, ball_profile
from .counting.ball_kernel import BallKernel
from .counting.coordinates import Coordinates
from .counting.counted import CountedProfile, CountedTable
from .counting.strip import check_counting, check_epsilon, refuse_to_count, strip_profile
from .exact.fibre import Cosets, FibreKernel, exact_stiefel, fibre_group, group_order
from .exact.find import exact_profile
from .kernel import HeatKernel, MadeKernel, OrbitKernel, Profile, Replicates
from .positive import positive_profile
from .reference.build import CELLS, GROUPS, reference_kernel
from .reference.cells import refuse_infinite
from .reference.cost import reference_cost, refuse_unresolved, warn_where_hardly_resolved
from .reference.kept_cells import are_cells_kept
from .reference.kernel import ReferenceKernel
from .smooth.density import has_few_modes
from .smooth.fit import default_design, smooth_profile, smoothable

FIBRE_TERMS = 2000
"""Terms of a fibre average up to which `auto` takes it: some milliseconds for each pair."""
DIFFERENCE_OF_COUNTS = 0.3
"""Steps of differences of counts in the points, over the root of the time."""
DIFFERENCE_OF_AVERAGES = 0.03
"""The same of averages over cosets."""
Arrays = Mapping[str, np.ndarray]
Times = float | tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way to make the heat kernel of a manifold: a small frozen value with its own options.

    Examples
    --------
    >>> from heatgp import Smooth, Sphere
    >>> isinstance(Smooth(), Method), Smooth(paths=500) == Smooth(paths=500)
    (True, True)
    """

    name: ClassVar[str]
    remedy: ClassVar[str] = "other `times`"
    """What to ask for where a time is out of range."""
    detail: ClassVar[float] = DIFFERENCE
    """The length, over the root of the time, over which its kernels are smooth: see `covariance.Kernel`."""

    def kernel(self, manifold: Manifold) -> HeatKernel:
        """The heat kernel of a manifold by this method.

        Products multiply, quotients sum and scaled manifolds change the time of their parts' kernels.

        Parameters
        ----------
        manifold : Manifold

        Returns
        -------
        HeatKernel

        Raises
        ------
        Unsupported : where the method does not work on the manifold, with what to use instead.
        """
        if not isinstance(manifold, Manifold):
            raise InvalidInput(f"heat_kernel needs a manifold, such as Sphere(2); got {manifold!r}.")
        check_memory(16.0 * math.prod(manifold.shape), f"One point of {manifold!r}", "Take a smaller manifold.")
        parts = composed_of(manifold)
        if not parts:
            return self.simple_kernel(manifold)
        self.refuse(manifold)  # the last part may be the one that cannot be done
        kernels, before = [], 0
        for part in parts:  # simulations of different parts are independent: each has a seed of its own
            own = self.independent(before)
            own = own.with_time_scaled(manifold.scale**-2) if isinstance(manifold, Scaled) else own
            kernels.append(own.kernel(part))
            before += count_simple(part)
        return compose(manifold, tuple(kernels))

    @abstractmethod
    def simple_kernel(self, manifold: Manifold) -> HeatKernel:
        """The kernel of a manifold that is not composed of others."""

    def refuse(self, manifold: Manifold) -> None:
        """Raise an error, before any work, where the method does not work on the manifold or on a part of it."""
        parts = composed_of(manifold)
        for part in parts:
            self.refuse(part)
        if not parts:
            self.refuse_simple(manifold)

    def refuse_simple(self, manifold: Manifold) -> None:
        """The same for a manifold that is not composed of others; by default all are taken."""
        return

    def cost(self, manifold: Manifold) -> Cost:
        """Seconds and bytes that the kernel of a manifold is estimated to take, measured on a few steps.

        What is on disk already is counted as if it were not; what is computed when the kernel is called is not counted.

        Parameters
        ----------
        manifold : Manifold

        Returns
        -------
        Cost, with `seconds` and `bytes`.

        Raises
        ------
        Unsupported : where the method does not work on the manifold, with what to use instead.

        Examples
        --------
        >>> from heatgp import Exact, Sphere
        >>> Exact().cost(Sphere(2))
        Cost(seconds=0.0, bytes=0.0)
        """
        parts = composed_of(manifold)
        if not parts:
            return self.simple_cost(manifold)
        scaled = self.with_time_scaled(manifold.scale**-2) if isinstance(manifold, Scaled) else self
        return sum((scaled.cost(part) for part in parts), Cost())

    def simple_cost(self, manifold: Manifold) -> Cost:
        """The cost of a manifold that is not composed of others; by default nothing."""
        return Cost()

    def independent(self, number: int) -> Self:
        """The same method with a random seed of its own, for the part of a manifold with this number."""
        return self

    def with_time_scaled(self, factor: float) -> Self:
        """The same method for times multiplied by a factor."""
        return self

    def positive_profile(self, kernel: OrbitKernel) -> Profile:
        """A profile close to that of an estimated kernel that is positive definite on every set of points."""
        return positive_profile(kernel.manifold, kernel.profile)

    def replicates(self, kernel: Any, number: int) -> list[Replicates]:
        """Kernels from independent parts of what a kernel was made from; none where it is exact."""
        return []

    def arrays(self, kernel: Any) -> Arrays:
        """What a file must hold besides the options, so that nothing is simulated again."""
        return {}

    def restored(self, manifold: Manifold, arrays: Arrays) -> HeatKernel:
        """The kernel of a file: the inverse of `arrays`."""
        return self.simple_kernel(manifold)

    def stored_options(self) -> dict[str, Any]:
        """The options that a file keeps: all that change a result."""
        options = {name: value for name, value in self._options().items() if name not in ("n_jobs", "cache")}
        return {name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()}

    def described(self) -> str:
        """The arguments of `heat_kernel` that make this method, for the repr of kernels."""
        defaults = {f.name: f.default for f in fields(self)}
        given = {name: value for name, value in self.stored_options().items() if name not in ("times", "rng")}
        parts = [
            f"{name}={float(f'{value:.4g}') if name == 'step' else value!r}"
            for name, value in given.items()
            if value != defaults[name] or name in ("paths", "references")
        ]
        return ", ".join([f"method={self.name!r}", *parts])

    def _options(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def independent_seed(rng: Seed, number: int) -> Seed:
    """A seed for the part of a simulation with this number; a Generator goes on by itself, and so does chance."""
    if not number or rng is None or isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, (int, np.integer)):  # an integer again: simulations of integers are kept on disk
        return int(np.random.SeedSequence((int(rng), number)).generate_state(1)[0])
    return (*entropy(rng), number)


def count_simple(manifold: Manifold) -> int:
    """How many manifolds that are not composed of others a manifold is made of."""
    return sum(map(count_simple, composed_of(manifold))) or 1


@dataclass(frozen=True, kw_only=True)
class Exact(Method):
    """Series and closed forms, exact to rounding.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> Exact().kernel(Sphere(2))
    heat_kernel(Sphere(2), method='exact')
    """

    name: ClassVar[str] = "exact"

    def refuse_simple(self, manifold: Manifold) -> None:
        self.simple_kernel(manifold)

    def simple_kernel(self, manifold: Manifold) -> HeatKernel:
        kernel = self.find(manifold)
        if kernel is None:
            raise Unsupported(
                f"no exact heat kernel of {manifold!r} is known here. Use method='auto', the best there is."
            )
        return kernel

    def find(self, manifold: Manifold) -> MadeKernel | None:
        """The exact kernel of a manifold that is not composed of others; None where no formula is known."""
        profile = exact_profile(manifold)
        if profile is None and isinstance(manifold, Stiefel):
            found = exact_stiefel(manifold)
            return found and FibreKernel(manifold, self, OrbitKernel(found[0], self, found[1]), found[2])
        if profile is None:
            return None
        if not isinstance(manifold, Homogeneous):
            raise Unsupported(
                f"{manifold!r} is not homogeneous: a line of PROFILES is a function of orbit coordinates."
            )
        return OrbitKernel(manifold, self, profile)


@dataclass(frozen=True, kw_only=True)
class Simulated(Method):
    """Options that all methods with simulated paths have."""

    paths: int = 20_000
    step: float | None = None
    times: Times = None
    rng: Seed = 0
    n_jobs: int | None = None
    cache: bool | str | Path = True

    def __post_init__(self) -> None:
        check_count("paths", self.paths)
        if self.step is not None:
            check_step(self.step)
        object.__setattr__(self, "times", checked_times(self.times))
        object.__setattr__(self, "rng", check_seed(self.rng))
        check_jobs(self.n_jobs)
        if not isinstance(self.cache, (bool, str, Path)) or self.cache == "":
            raise InvalidInput(f"cache must be True, False or a folder; got {self.cache!r}.")

    @property
    def lasting(self) -> bool | str | Path:
        """Where simulations are kept; nowhere without a seed: no later call could ask for the same."""
        return self.rng is not None and self.cache

    def independent(self, number: int) -> Self:
        return replace(self, rng=independent_seed(self.rng, number))

    def with_time_scaled(self, factor: float) -> Self:
        times = tuple(t * factor for t in self.times) if isinstance(self.times, tuple) else self.times
        times = times * factor if isinstance(times, float) else times
        return replace(self, times=times, step=None if self.step is None else self.step * factor)

    def resolved(self, times: np.ndarray, step: float) -> Self:
        """The same method with what was left open decided: its times, its step and its seed."""
        schedule(times, step)
        rng = int(self.rng) if isinstance(self.rng, (int, np.integer)) else entropy(self.rng)
        return replace(self, times=tuple(np.asarray(times).tolist()), step=float(step), rng=rng, cache=self.lasting)

    def simulation(self, times: Sequence[float] | np.ndarray, step: float) -> Simulation:
        """The paths that the method needs for these times."""
        return Simulation.of(times, paths=self.paths, step=step, rng=self.rng, n_jobs=self.n_jobs, cache=self.lasting)

    def design(self, manifold: Manifold) -> tuple[np.ndarray, float]:
        """Times at which paths are read and the step of the simulation: a dozen times, eight steps to the first."""
        if isinstance(self.times, tuple):
            times = np.array(self.times)
        else:
            times = np.geomspace(1 / 30, 1, 12) * (self.times or spread_time(manifold))
        return times, self.step or float(times[0]) / 8


def checked_times(times: Any) -> Times:
    """One positive time, a tuple of times, or None; else an error."""
    if times is None:
        return None
    values = as_times(times)
    if values.ndim == 0 and values <= 0:
        raise InvalidInput(f"times must be positive and finite; got {times!r}.")
    return tuple(values.tolist()) if values.ndim else float(values)


@dataclass(frozen=True, kw_only=True)
class Ball(Simulated):
    """Counts of paths in balls, divided by their volume: the ball algorithm of Ye, Niu, Cheung, Dai, Liu (2024).

    Parameters
    ----------
    paths : int, default 20000. Simulated paths; on a manifold without symmetry, from each point.
    step : float, default an eighth of the first time. Time of one step of Brownian motion.
    times : float or sequence of floats, default None. Where paths are counted. One number is the largest time, with
        earlier ones filled in; None is a time by which the kernel is spread over the manifold.
    epsilon : float, default None. Radius of the balls; None chooses it from the number of paths.
    rng : int or numpy Generator, default 0.
    n_jobs : int, default None. Number of cores, as in joblib.
    cache : bool or folder, default True. Keep simulations on disk (folder HEATGP_CACHE or ~/.cache/heatgp), where they
        take longer than a moment; one that was stopped goes on.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> Ball(paths=5000, times=[0.5], step=0.05).kernel(Sphere(2))
    heat_kernel(Sphere(2), method='ball', paths=5000, step=0.05)
    """

    name: ClassVar[str] = "ball"
    detail: ClassVar[float] = DIFFERENCE_OF_COUNTS
    epsilon: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counting(self.paths, self.epsilon)

    def refuse_simple(self, manifold: Manifold) -> None:
        refuse_to_count(manifold)
        x = manifold.random(np.random.default_rng(0), 1)
        manifold.within(x, x, 1.0)  # or it says that it has no distance

    def simple_cost(self, manifold: Manifold) -> Cost:
        """The walk, where one simulation serves all pairs; else a call of the kernel simulates."""
        if not (isinstance(manifold, Homogeneous) and manifold.rank == 1) or isinstance(manifold, Stiefel):
            return Cost()
        self.refuse_simple(manifold)
        return ball_cost(manifold, self.simulation(*self.design(manifold)), self.epsilon)

    def simple_kernel(self, manifold: Manifold) -> HeatKernel:
        refuse_to_count(manifold)
        times, step = self.design(manifold)
        own = self.resolved(times, step)
        if not (isinstance(manifold, Homogeneous) and manifold.rank == 1) or isinstance(manifold, Stiefel):
            return BallKernel(manifold, own)
        seeded = replace(own, rng=np.random.SeedSequence((*entropy(own.rng), 0)))
        return OrbitKernel(manifold, own, ball_profile(manifold, seeded.simulation(times, step), own.epsilon))

    def replicates(self, kernel: Any, number: int) -> list[Replicates]:
        """New simulations of fewer paths, each with its own seed."""
        if not isinstance(kernel, OrbitKernel):
            return []
        few = replace(self, paths=self.paths // number)
        parts = (replace(few, rng=(*entropy(self.rng), k)).simple_kernel(kernel.manifold) for k in range(number))
        return [Replicates(tuple(parts), 1 / number)]

    def arrays(self, kernel: Any) -> Arrays:
        if not isinstance(kernel, OrbitKernel):
            return {}
        profile = kernel.profile.estimate
        assert isinstance(profile, CountedProfile)
        arrays = {"table_times": np.array([table.time for table in profile.tables])}
        for i, table in enumerate(profile.tables):
            arrays |= {f"{i}.p": table.p, f"{i}.error": table.error, f"{i}.count": table.count}
            arrays[f"{i}.axis"] = table.axes[0]
        return arrays

    def restored(self, manifold: Manifold, arrays: Arrays) -> HeatKernel:
        if "table_times" not in arrays:
            return self.simple_kernel(manifold)
        assert isinstance(manifold, Homogeneous)
        assert isinstance(self.times, tuple)
        tables = tuple(
            CountedTable(
                float(time), (arrays[f"{i}.axis"],), *(arrays[f"{i}.{name}"] for name in ("p", "error", "count"))
            )
            for i, time in enumerate(arrays["table_times"])
        )
        return OrbitKernel(manifold, self, CountedProfile(Coordinates(manifold), tables, self.times[0]))


@dataclass(frozen=True, kw_only=True)
class FromSamples(Simulated):
    """Methods that fit a kernel to the orbit coordinates of one simulation from the origin."""

    @abstractmethod
    def check(self, manifold: Homogeneous) -> None:
        """Say what cannot be done before anything is simulated."""

    @abstractmethod
    def profile(self, samples: Samples) -> Profile:
        """The estimate from simulated orbit coordinates."""

    def refuse_simple(self, manifold: Manifold) -> None:
        self.checked_design(manifold)

    def simple_cost(self, manifold: Manifold) -> Cost:
        homogeneous, times, step = self.checked_design(manifold)
        return samples_cost(homogeneous, self.simulation(times, step))

    def checked_design(self, manifold: Manifold) -> tuple[Homogeneous, np.ndarray, float]:
        """The manifold, the times and the step; or an error that says what to use instead."""
        if not isinstance(manifold, Homogeneous):
            raise Unsupported(
                f"{manifold!r} is not homogeneous: no one simulation serves every pair, which method={self.name!r} "
                "needs. Use method='reference' (what 'auto' takes), or 'ball'."
            )
        self.check(manifold)
        times, step = self.design(manifold)
        return manifold, times, step

    def simple_kernel(self, manifold: Manifold) -> HeatKernel:
        manifold, times, step = self.checked_design(manifold)
        own = self.resolved(times, step)
        samples = orbit_samples(
            manifold, times, paths=own.paths, step=step, rng=own.rng, n_jobs=own.n_jobs, cache=own.cache
        )
        return own.from_samples(samples)

    def from_samples(self, samples: Samples) -> OrbitKernel:
        """The kernel of a simulation."""
        return OrbitKernel(samples.manifold, replace(self, paths=samples.paths), self.profile(samples), samples)

    def replicates(self, kernel: Any, number: int) -> list[Replicates]:
        """Every `number`-th path in each."""
        samples = kernel.samples
        parts = (self.from_samples(replace(samples, theta=samples.theta[:, k::number])) for k in range(number))
        return [Replicates(tuple(parts), 1 / number)]

    def arrays(self, kernel: Any) -> Arrays:
        return {"theta": kernel.samples.theta}

    def restored(self, manifold: Manifold, arrays: Arrays) -> HeatKernel:
        assert isinstance(manifold, Homogeneous)
        assert self.step is not None
        samples = Samples(manifold, np.array(self.times), self.step, entropy(self.rng), arrays["theta"])
        return self.from_samples(samples)


@dataclass(frozen=True, kw_only=True)
class Strip(FromSamples):
    """Counts of paths in strips of orbit coordinates: the strip algorithm of Ye, Niu, Cheung, Dai, Liu (2024).

    Parameters
    ----------
    paths, step, times, rng, n_jobs, cache : as in `Ball`.
    epsilon : float, default None. Half the width of the strips; None chooses it from the paths.
    distance : bool, default False. On a manifold of higher rank, count in strips of the distance as the paper does.
        There the kernel is not a function of the distance: the result is its average over all points at that distance.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> Strip(paths=20_000, times=[0.5], step=0.05, cache=False).kernel(Sphere(2))
    heat_kernel(Sphere(2), method='strip', paths=20000, step=0.05)
    """

    name: ClassVar[str] = "strip"
    detail: ClassVar[float] = DIFFERENCE_OF_COUNTS
    epsilon: float | None = None
    distance: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counting(self.paths, self.epsilon)
        check_flag("distance", self.distance)

    def check(self, manifold: Homogeneous) -> None:
        refuse_to_count(manifold)
        Coordinates(manifold, self.distance)

    def profile(self, samples: Samples) -> Profile:
        return strip_profile(samples, epsilon=self.epsilon, distance=self.distance)


@dataclass(frozen=True, kw_only=True)
class Smooth(FromSamples):
    """A smooth log-density around the short-time expansion, fitted to simulated paths on a symmetric space.

    Parameters
    ----------
    paths, step, times, rng, n_jobs, cache : as in `Strip`. The kernel can be asked for any time.

    Examples
    --------
    >>> from heatgp import Grassmann
    >>> kernel = Smooth(paths=1000, cache=False).kernel(Grassmann(4, 2))
    >>> kernel.method, kernel.times
    ('smooth', (0.0, inf))
    """

    name: ClassVar[str] = "smooth"
    remedy: ClassVar[str] = "another method: there are too many spherical functions to go on with"

    def check(self, manifold: Homogeneous) -> None:
        smoothable(manifold)

    def design(self, manifold: Manifold) -> tuple[np.ndarray, float]:
        if isinstance(self.times, tuple) or not isinstance(manifold, Symmetric):
            return super().design(manifold)
        times, step = default_design(manifold, self.times or math.inf)
        return times, self.step or step

    def profile(self, samples: Samples) -> Profile:
        return smooth_profile(samples)


@dataclass(frozen=True, kw_only=True)
class Reference(Simulated):
    """Half-time densities of paths from reference points, on any manifold with finite volume.

    The kernel is positive definite, and Gaussian processes are linear in the number of points.

    Parameters
    ----------
    references : int, default 400. Points that paths start from, spread evenly.
    paths : int, default 400000. Paths in all, the same number from each reference point.
    step : float, default what the shortest time and the geometry need.
    times : float or sequence of floats, default None. The range of times simulated, or the longest; by default from
        what the reference points resolve to at most 16 times that. Longer times follow from the semigroup.
    epsilon : float, default None. Root of the variance of the last step (by default three quarters of half the time, at
        most 24 averages over neighbouring cells), or radius of the balls.
    ball : bool, default False. Count in balls around the points at half the time, the paper's estimate, instead of a
        last step; needs `epsilon`.
    rng, n_jobs, cache : as in `Ball`.

    Examples
    --------
    >>> from heatgp import Domain, Euclidean
    >>> triangle = Domain(Euclidean(2), [(0, 0), (1, 0), (0, 1)])
    >>> Reference(references=20, paths=400).kernel(triangle).features(triangle.random(np.random.default_rng(0), 5)).at(
    ...     1.0
    ... ).value.shape
    (5, 20)
    """

    name: ClassVar[str] = "reference"
    remedy: ClassVar[str] = "more `references`"
    references: int = 400
    paths: int = 400_000
    epsilon: float | None = None
    ball: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("references", self.references)
        if self.references < 2 or self.paths < GROUPS * self.references:
            raise InvalidInput(
                f"method='reference' needs references >= 2 and paths >= {GROUPS} * references; got references = "
                f"{self.references}, paths = {self.paths}."
            )
        check_epsilon(self.epsilon)
        check_flag("ball", self.ball)
        if self.ball and self.epsilon is None:
            raise InvalidInput("ball=True needs epsilon, the radius of the balls.")

    def refuse_simple(self, manifold: Manifold) -> None:
        refuse_unresolved(manifold, self.references, without_references(manifold))
        if isinstance(manifold, Homogeneous):
            refuse_infinite(manifold, manifold.volume)

    def simple_cost(self, manifold: Manifold) -> Cost:
        self.refuse_simple(manifold)
        return reference_cost(manifold, self)

    def simple_kernel(self, manifold: Manifold) -> ReferenceKernel:
        self.refuse_simple(manifold)
        warn_where_hardly_resolved(manifold, self.references)
        self.simple_cost(manifold).accept(
            f"The kernel of {manifold!r} through {self.references} reference points",
            "Take fewer `references`, fewer `paths`, or more cores (`n_jobs`).",
            announce=not are_cells_kept(manifold, CELLS * self.references, self.references, self.rng, self.lasting),
        )
        return reference_kernel(manifold, self)

    def replicates(self, kernel: Any, number: int) -> list[Replicates]:
        number = max(n for n in range(1, number + 1) if len(kernel.table) % n == 0)
        parts = tuple(replace(kernel, table=kernel.table[k::number]) for k in range(number))
        return [Replicates(parts, 1 / number)]

    def arrays(self, kernel: Any) -> Arrays:
        return kernel.arrays()

    def restored(self, manifold: Manifold, arrays: Arrays) -> HeatKernel:
        return ReferenceKernel.of_arrays(manifold, self, arrays)


def without_references(manifold: Manifold) -> str:
    """What to use on a manifold of too many dimensions for reference points: a sentence."""
    if Exact().find(manifold) is not None:
        return "Use method='exact'."
    terms, other = FibreAverage.terms(manifold), ""
    if terms:
        other = f"method='fibre-average', with {terms:,} terms for each pair of points, or "
    with suppress(Unsupported):
        if has_few_modes(smoothable(manifold)):
            return "Use method='smooth'."
        other = "method='smooth', up to its horizon and not for models, or "
    return (
        f"Use {other}an RBF kernel of the embedding, which is no heat kernel but works in any dimension: "
        "heatgp.baselines.baseline('rbf', manifold, 'regression')."
    )


@dataclass(frozen=True, kw_only=True)
class FibreAverage(Method):
    """The exact kernel of the group averaged over the fibre of a Stiefel manifold: positive definite.

    Averages run over random cosets of a finite group.

    Parameters
    ----------
    fibre : int, default None. Number of cosets; None is 2, or 1 where 2 would take thousands of terms for each pair.
    rng : int or numpy Generator, default 0. Seed of the random cosets.

    Examples
    --------
    >>> from heatgp import Stiefel
    >>> FibreAverage().kernel(Stiefel(5, 2))
    heat_kernel(Stiefel(5, 2), method='fibre-average', fibre=2)
    """

    name: ClassVar[str] = "fibre-average"
    detail: ClassVar[float] = DIFFERENCE_OF_AVERAGES
    remedy: ClassVar[str] = "a larger `fibre`"
    fibre: int | None = None
    rng: Seed = 0

    def independent(self, number: int) -> Self:
        return replace(self, rng=independent_seed(self.rng, number))

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", check_seed(self.rng))
        if self.fibre is not None:
            check_count("fibre", self.fibre)

    @staticmethod
    def terms(manifold: Manifold) -> int | None:
        """Terms of the average for each pair with one coset; None where the method does not work."""
        if not isinstance(manifold, Stiefel) or exact_profile(fibre_group(manifold)) is None:
            return None
        if not manifold.is_complex and (manifold.k == 1 or manifold.n - manifold.k == 1):  # a sphere, or the group
            return None
        return group_order(manifold.n - manifold.k, manifold.is_complex)

    def refuse_simple(self, manifold: Manifold) -> None:
        if self.terms(manifold) is None:
            raise Unsupported(
                f"{manifold!r} is no Stiefel manifold of a group with an exact kernel: there is no fibre to average "
                "over. Use method='auto', the best there is."
            )

    def simple_kernel(self, manifold: Manifold) -> HeatKernel:
        self.refuse_simple(manifold)
        terms = self.terms(manifold)
        assert isinstance(manifold, Stiefel)
        assert terms is not None
        number = self.fibre or (2 if 4 * terms <= FIBRE_TERMS else 1)
        check_memory(
            16.0 * number**2 * terms * (manifold.n - manifold.k) ** 2,
            f"The average over {number} cosets of {terms} elements on {manifold!r}",
            "Take fewer (`fibre`).",
        )
        group = Exact().find(fibre_group(manifold))
        assert isinstance(group, OrbitKernel)
        seed = self.rng if isinstance(self.rng, (int, np.integer)) else entropy(self.rng)[0]
        own = replace(self, fibre=int(number), rng=int(seed))
        return FibreKernel(manifold, own, group, Cosets(int(number), int(seed)))

    def replicates(self, kernel: Any, number: int) -> list[Replicates]:
        """Averages over other random cosets, as many as the kernel has."""
        seeds = (kernel.fibre.seed + 1 + k for k in range(number))
        return [Replicates(tuple(replace(self, rng=seed).simple_kernel(kernel.manifold) for seed in seeds), 1.0)]


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """The first of `Exact`, `Smooth`, `FibreAverage` and `Reference` that works well on the manifold.

    Parameters
    ----------
    paths, step, times, epsilon, references, fibre, rng, n_jobs, cache : those of the method that is taken; the others
        are not used. What is None has that method's default.

    Examples
    --------
    >>> from heatgp import Sphere, Stiefel
    >>> Auto().kernel(Sphere(2)).method, Auto().kernel(Stiefel(7, 3)).method
    ('exact', 'fibre-average')
    """

    name: ClassVar[str] = "auto"
    paths: int | None = None
    step: float | None = None
    times: Times = None
    epsilon: float | None = None
    references: int | None = None
    fibre: int | None = None
    rng: Seed = 0
    n_jobs: int | None = None
    cache: bool | str | Path = True

    def __post_init__(self) -> None:
        self._as(Smooth)
        self._as(FibreAverage)
        check_epsilon(self.epsilon)
        if self.references is not None:
            check_count("references", self.references)

    def independent(self, number: int) -> Self:
        return replace(self, rng=independent_seed(self.rng, number))

    def with_time_scaled(self, factor: float) -> Self:
        scaled = self._as(Smooth).with_time_scaled(factor)
        return replace(self, times=scaled.times, step=scaled.step)

    def refuse_simple(self, manifold: Manifold) -> None:
        if Exact().find(manifold) is None:
            self._as(self._estimate(manifold)).refuse_simple(manifold)

    def simple_cost(self, manifold: Manifold) -> Cost:
        exact = Exact().find(manifold)
        return Cost() if exact else self._as(self._estimate(manifold)).simple_cost(manifold)

    def simple_kernel(self, manifold: Manifold) -> HeatKernel:
        exact = Exact().find(manifold)
        return exact or self._as(self._estimate(manifold)).simple_kernel(manifold)

    def _estimate(self, manifold: Manifold) -> type[Method]:
        if isinstance(manifold, Symmetric) and manifold.rank <= 3 and has_few_modes(manifold):
            return Smooth
        terms = FibreAverage.terms(manifold)
        return Reference if terms is None or terms > FIBRE_TERMS else FibreAverage

    def _as(self, method: type[Method]) -> Any:
        return method(**known_options(method.name, **self._options()))


METHODS: dict[str, type[Method]] = {
    method.name: method for method in (Auto, Exact, Ball, Strip, Smooth, Reference, FibreAverage)
}


def method_named(name: Any, **options: Any) -> Method:
    """The method of this name with these options, or an error that names what there is.

    >>> method_named("smooth", paths=1000).paths
    1000
    """
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {name!r}.")
    known = [f.name for f in fields(METHODS[name])]
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"its options are {', '.join(known)}" if known else "it has no options"
        raise InvalidInput(f"method {name!r} has no option {unknown[0]!r}; {has}.")
    return METHODS[name](**options)


def known_options(name: str, **options: Any) -> dict[str, Any]:
    """Those of the options that the method of this name has; None stands for its default, except for `rng`.

    >>> known_options("exact", paths=1000), known_options("smooth", paths=1000, step=None)
    ({}, {'paths': 1000})
    """
    known = {f.name for f in fields(METHODS[name])}
    return {
        option: value for option, value in options.items() if option in known and (value is not None or option == "rng")
    }


def heat_kernel(manifold: Manifold, method: str | Method = "auto", **options: Any) -> HeatKernel:
    """The heat kernel p_t(x, y) of a manifold.

    Parameters
    ----------
    manifold : Manifold. Products multiply, quotients sum and scaled manifolds change the time of their parts' kernels.
    method : str or Method, default "auto". "exact", to rounding; "ball" and "strip", estimates by counting paths;
        "smooth", the same paths fitted by a smooth log-density; "reference", through reference points, for any
        manifold; "fibre-average", for Stiefel manifolds; "auto", the first of exact, smooth, fibre-average and
        reference that works well. Or a value: `Exact()`, `Ball(...)`, `Strip(...)`, `Smooth(...)`, `Reference(...)`,
        `FibreAverage(...)`.
    options : those of the method, see `Ball`, `Strip`, `Smooth`, `Reference` and `FibreAverage`.

    Returns
    -------
    HeatKernel

    Raises
    ------
    InvalidInput : for an unknown method or option.
    Unsupported : where the method does not work on the manifold.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> kernel = heat_kernel(Sphere(2))
    >>> kernel
    heat_kernel(Sphere(2), method='exact')
    >>> kernel([[1.0, 0, 0]], [[1.0, 0, 0], [0, 0, 1.0]], time=0.1).round(4)
    array([[1.6183, 0.    ]])
    """
    if isinstance(method, Method):
        if options:
            raise InvalidInput(f"{method!r} has its options already; got {', '.join(options)} too.")
        return method.kernel(manifold)
    return method_named(method, **options).kernel(manifold)


def spread_time(manifold: Manifold) -> float:
    """A time by which the kernel is spread over the manifold: √(t dim) is half the radius of a ball of its volume."""
    try:
        volume = manifold.volume
    except Unsupported:
        return 1.0
    if not math.isfinite(volume):
        return 1.0
    return math.exp(2 * (math.log(volume) - log_unit_ball_volume(manifold.dim)) / manifold.dim) / 4
