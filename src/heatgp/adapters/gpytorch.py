"""Heat kernels as kernels of GPyTorch, for its models and its sums and products of kernels.

    ScaleKernel(HeatKernel(Sphere(2)))
    ScaleKernel(HeatKernel(Sphere(2), active_dims=[0, 1, 2]) * RBFKernel(active_dims=[3]))

A row of a tensor is a flattened point, complex ones as real parts followed by imaginary parts. Values and derivatives
are computed by NumPy, on the processor and in double precision, and come back in the type of the points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gpytorch
import numpy as np
import torch
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.priors import Prior
from torch import Tensor

from ..arguments import check_flag, shown
from ..covariance import Array, Normalized
from ..errors import InvalidInput, OffManifold, Unsupported
from ..estimators.kernels import check_model_smoothness, chosen_kernel, smoothness_of
from ..heat import kernel as heat
from ..heat.matern import check_smoothness, with_smoothness
from ..heat.methods import Method
from ..manifolds import Manifold
from ..manifolds.composed.product import flat_size, flatten, unflatten
from ..manifolds.gradients import partial_derivatives, through_projection
from ..manifolds.rows import polished

SHORTEST = 1e-10
"""The shortest time by default: optimisers try very short ones, and at this one all points are far from each other."""
MARGIN = 1e-6
"""How far inside the times of a kernel the default constraint is: rounding to single precision does not leave them."""
SMOOTHNESSES = (0.125, 100.0)
"""Bounds of a learned smoothness: differences reach below it, and at 100 about 0.01 is left to the heat kernel."""
DIFFERENCE = 0.01
"""Steps of differences in the logarithm of the smoothness, of fourth order."""
BLOCK = 32
"""Points of a batch whose pairs are computed together, though only those of the same element are asked for."""
NUMBERS = 1 << 24
"""Numbers of gradients that are in memory at once."""


class HeatKernel(gpytorch.kernels.Kernel):
    """The heat kernel of a manifold, or its Matern kernel, over its values on the diagonal: k(x, x) = 1.

    Parameters
    ----------
    manifold : Manifold
    time : positive number, default None
        Where learning starts. The square root of the time is the length over which functions vary. On a product a tuple
        is a time for each factor. None is 1, or another number if the kernel does not know this time, for as many times
        as `GPRegressor` learns.
    smoothness : number, default inf
        That of a Matern kernel, as in `matern_kernel`; inf is the heat kernel.
    learn_smoothness : bool, default False
        Whether the smoothness is learned too, from `smoothness` on. Each step of learning then makes five Matern
        kernels: with 500 points of a sphere it takes seven times as long, with fewer points more.
    kernel : str, Method, HeatKernel of the library, or a list of these for a product; default "auto"
        How the kernel is made, as in `GPRegressor`.
    project : bool, default False
        Whether points are first moved to the nearest points of the manifold, however far these are, and derivatives are
        those of this as well. Needed for inducing points that are learned: steps of an optimiser leave the manifold.
    time_prior : Prior of GPyTorch, default None
    time_constraint : Interval of GPyTorch, default None
        None is all times from 1e-10 on that the kernel knows; where the smoothness is learned, that it knows at the
        least smoothness.
    smoothness_prior : Prior of GPyTorch, default None
    smoothness_constraint : Interval of GPyTorch, default None
        Only with `learn_smoothness=True`. None is 0.125 to 100; its lower bound is 0.125 or more.
    batch_shape : torch.Size, default None
        That of the times and of a learned smoothness, one for each element of a batch of models.
    active_dims : sequence of int, default None
        The columns that hold the point; None is all of them.

    Attributes
    ----------
    time : tensor (*batch_shape, 1, p)
        p is 1, or the number of times; of a sum of kernels, of times and weights. It can be set. The parameter that is
        learned is `raw_time`.
    smoothness : number, or tensor (*batch_shape, 1, 1) where it is learned
        Then the parameter that is learned is `raw_smoothness`, and it can be set.

    Raises
    ------
    InvalidInput : for wrong arguments; when called, for tensors of another type, device or number of columns.
    OffManifold : when called, for rows that are no points of the manifold.

    Notes
    -----
    There are first derivatives in the points, the times and the smoothness, no second ones. Those in the points are
    partial derivatives with no part normal to the manifold. Those in the smoothness are differences of fourth order.

    Examples
    --------
    >>> from heatgp import Sphere
    >>> kernel = HeatKernel(Sphere(2), time=0.5)
    >>> north, east = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[1.0, 0.0, 0.0]])
    >>> kernel(north, east).to_dense().detach()
    tensor([[0.1068]])
    >>> kernel.time = 0.2
    >>> kernel.time.detach()
    tensor([[0.2000]])
    """

    active_dims: Tensor | None
    has_lengthscale = False
    is_stationary = False  # k is no function of x1 - x2, which grids of GPyTorch ask for

    def __init__(
        self,
        manifold: Manifold,
        time: float | Sequence[float] | None = None,
        *,
        smoothness: float = math.inf,
        learn_smoothness: bool = False,
        kernel: str | Method | heat.HeatKernel | Sequence[Any] = "auto",
        project: bool = False,
        time_prior: Prior | None = None,
        time_constraint: Interval | None = None,
        smoothness_prior: Prior | None = None,
        smoothness_constraint: Interval | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | None = None,
    ) -> None:
        """Make the kernel; the arguments are explained in the class."""
        super().__init__(batch_shape=batch_shape, active_dims=active_dims)
        if not isinstance(manifold, Manifold):
            raise InvalidInput(f"manifold = {shown(manifold)} must be a manifold, such as Sphere(2).")
        if isinstance(kernel, str) and kernel == "precomputed":
            raise InvalidInput("kernel = 'precomputed' has no points. GPyTorch takes a kernel of its own for matrices.")
        if isinstance(smoothness, str) and smoothness == "learn":
            raise InvalidInput("smoothness = 'learn' is for GPRegressor. Give learn_smoothness=True, smoothness=2.5.")
        smoothness = check_smoothness(smoothness)
        check_model_smoothness(smoothness, kernel)
        learned = check_flag("learn_smoothness", learn_smoothness)
        if learned and math.isinf(smoothness):
            raise InvalidInput(
                "smoothness = inf, but learn_smoothness=True needs a heat kernel and a finite number to start from, "
                "such as smoothness=2.5."
            )
        if not learned and not (smoothness_prior is None and smoothness_constraint is None):
            raise InvalidInput("smoothness_prior and smoothness_constraint need learn_smoothness=True.")
        made = chosen_kernel(manifold, kernel, time).as_positive_definite()
        self.manifold, self.project = manifold, check_flag("project", project)
        self._learns_smoothness = learned
        self.heat_kernel = known = made if learned else with_smoothness(made, smoothness)
        if learned:
            constraint = Interval(*SMOOTHNESSES) if smoothness_constraint is None else smoothness_constraint
            self._register("smoothness", smoothness, 1, constraint, smoothness_prior)
            known = with_smoothness(made, _roughest(constraint))
            number = made.parameters - made.weight_parameters
            times = np.atleast_1d(0.0 if time is None else made.check_time(time))[:number]
            if times.max(initial=0.0) > known.times[1]:
                raise InvalidInput(
                    f"time = {shown(time)} is longer than {known.times[1]:.3g}, the longest time at the least "
                    "smoothness that can be learned. Give a smoothness_constraint with a larger lower bound."
                )
        time = _start(known) if time is None else known.check_time(time)
        constraint = _constraint(known) if time_constraint is None else time_constraint
        self._register("time", time, made.parameters, constraint, time_prior)

    def _register(self, name: str, start: Any, size: int, constraint: Any, prior: Any) -> None:
        """A parameter that is learned, with its constraint and its prior."""
        if not isinstance(constraint, Interval):
            raise InvalidInput(f"{name}_constraint = {shown(constraint)} must be a constraint of gpytorch.constraints.")
        self.register_parameter(f"raw_{name}", torch.nn.Parameter(torch.zeros(*self.batch_shape, 1, size)))
        self.register_constraint(f"raw_{name}", constraint)
        if prior is not None:
            if not isinstance(prior, Prior):
                raise InvalidInput(f"{name}_prior = {shown(prior)} must be a prior of gpytorch.priors.")
            self.register_prior(f"{name}_prior", prior, partial(_learned, name), partial(_set_learned, name))
        _set_learned(name, self, start)

    def extra_repr(self) -> str:
        return f"{self.heat_kernel!r}{', learn_smoothness=True' if self._learns_smoothness else ''}"

    @property
    def time(self) -> Tensor:
        """The times, between the bounds of their constraint."""
        return _learned("time", self)

    @time.setter
    def time(self, value: Any) -> None:
        _set_learned("time", self, value)

    @property
    def smoothness(self) -> Any:
        """The smoothness; where it is learned, a tensor between the bounds of its constraint."""
        return _learned("smoothness", self) if self._learns_smoothness else smoothness_of(self.heat_kernel)

    @smoothness.setter
    def smoothness(self, value: Any) -> None:
        if not self._learns_smoothness:
            raise InvalidInput(
                f"smoothness = {shown(value)} cannot be set. Make the kernel with this smoothness, or with "
                "learn_smoothness=True."
            )
        _set_learned("smoothness", self, value)

    def __call__(self, x1: Tensor, x2: Tensor | None = None, *arguments: Any, **options: Any) -> Any:
        """The covariance, as of any kernel of GPyTorch, which would compare the shapes of x1 and x2 first."""
        for name, x in (("x1", x1), ("x2", x1 if x2 is None else x2)):
            if not isinstance(x, Tensor):
                raise InvalidInput(f"{name} must be a tensor; got {shown(x)}. Pass torch.as_tensor({name}).")
            if self.active_dims is None and x.ndim > 1:
                _check_tensor(self.manifold, x, name)
        return super().__call__(x1, x2, *arguments, **options)

    def num_outputs_per_input(self, x1: Tensor, x2: Tensor) -> int:
        """One. GPyTorch asks before it evaluates the kernel, also through other kernels, so rows are checked here."""
        for name, x in (("x1", x1), ("x2", x2)):
            if x.ndim > 1 and x.shape[-1] < flat_size(self.manifold):
                _check_tensor(self.manifold, x, name)
        return 1

    def expand_batch(self, *sizes: Any) -> HeatKernel:
        """The kernel with its parameters expanded to a batch shape."""
        return self._with_columns(super().expand_batch, *sizes)

    def __getitem__(self, index: Any) -> HeatKernel:
        """The kernel of some elements of the batch."""
        return self._with_columns(super().__getitem__, index)

    def _with_columns(self, change: Callable[..., HeatKernel], *arguments: Any) -> HeatKernel:
        """A changed copy with the same `active_dims`, which GPyTorch would change as if they belonged to the batch."""
        columns, self.active_dims = self.active_dims, None
        try:
            found = change(*arguments)
        finally:
            self.active_dims = columns
        found.active_dims = columns
        return found

    def forward(
        self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any
    ) -> Tensor:
        """k(x1, x2), (*batch, N, M), or its diagonal (*batch, N)."""
        if last_dim_is_batch:
            raise Unsupported(
                f"last_dim_is_batch takes each column for itself, but a point of {self.manifold!r} is all columns. Add "
                "kernels with active_dims instead."
            )
        for name, x in (("x1", x1), ("x2", x2)):
            _check_tensor(self.manifold, x, name)
        _check_memory(self.raw_time, "the time of the kernel")
        if diag and torch.equal(x1, x2):
            _points(self.manifold, x1.detach().cpu().numpy(), "x1", self.project, False)  # or an error
            batch = torch.broadcast_shapes(x1.shape[:-2], self.batch_shape)
            return torch.ones(*batch, x1.shape[-2], dtype=x1.dtype, device=x1.device)
        if diag:
            return self._values(x1.unsqueeze(-2), x2.unsqueeze(-2), self._numbers().unsqueeze(-3))[..., 0, 0]
        return self._values(x1, x2, self._numbers())

    def _numbers(self) -> Tensor:
        """The times, and then the smoothness if it is learned."""
        if not self._learns_smoothness:
            return self.time
        batch = torch.broadcast_shapes(self.time.shape[:-1], self.smoothness.shape[:-1])
        return torch.cat([each.expand(*batch, each.shape[-1]) for each in (self.time, self.smoothness)], dim=-1)

    def _values(self, x1: Tensor, x2: Tensor, numbers: Tensor) -> Tensor:
        """k of all pairs in each element of a batch; the batch axes of all three broadcast."""
        batch = torch.broadcast_shapes(*(each.shape[:-2] for each in (x1, x2, numbers)))
        x1, x2, numbers = (each.expand(*batch, *each.shape[-2:]) for each in (x1, x2, numbers))
        asked = numbers.shape[-1] if numbers.requires_grad and torch.is_grad_enabled() else 0
        if asked and self._learns_smoothness and not self.smoothness.requires_grad:
            asked -= 1
        return _Covariance.apply(x1, x2, numbers, self.heat_kernel, self.project, asked)


def _start(kernel: heat.HeatKernel) -> float:
    """1, or another time that the kernel knows."""
    low, high = kernel.times
    if low < 1 < high:
        return 1.0
    return min(2 * low, (low + high) / 2) if low >= 1 else (low + high) / 2


def _constraint(kernel: heat.HeatKernel) -> Interval:
    """All times that the kernel knows, from SHORTEST on."""
    low, high = kernel.times
    bounded = math.isfinite(high) and not kernel.weight_parameters
    low = max(low * (1 + MARGIN), SHORTEST)
    return Interval(low, high * (1 - MARGIN)) if bounded else GreaterThan(low)


def _roughest(constraint: Interval) -> float:
    """The least smoothness at which kernels are evaluated, for differences too, where it has this constraint."""
    least = float(constraint.lower_bound.min())
    if least < SMOOTHNESSES[0] * (1 - MARGIN):
        raise InvalidInput(
            f"smoothness_constraint = {shown(constraint)} must have a lower bound of {SMOOTHNESSES[0]:g} or more, such "
            "as gpytorch.constraints.Interval(0.125, 100)."
        )
    return least * math.exp(-2 * DIFFERENCE)


def _learned(name: str, kernel: HeatKernel) -> Tensor:
    """The value of a learned parameter."""
    return getattr(kernel, f"raw_{name}_constraint").transform(getattr(kernel, f"raw_{name}"))


def _set_learned(name: str, kernel: HeatKernel, value: Any) -> None:
    """Set a learned parameter, or InvalidInput."""
    raw, constraint = getattr(kernel, f"raw_{name}"), getattr(kernel, f"raw_{name}_constraint")
    try:
        new = constraint.inverse_transform(torch.as_tensor(value, dtype=raw.dtype, device=raw.device))
        inside = bool(new.isfinite().all())
        if inside:
            kernel.initialize(**{f"raw_{name}": new})
    except (TypeError, ValueError, RuntimeError):
        shape = tuple(raw.shape)
        raise InvalidInput(f"{name} = {shown(value)} must be one number, or numbers of shape {shape}.") from None
    if not inside:
        raise InvalidInput(
            f"{name} = {shown(value)} is not inside the constraint {constraint}. Give {name}_constraint."
        )


def _check_tensor(manifold: Manifold, x: Tensor, name: str) -> None:
    """InvalidInput unless x has rows of real numbers that can be points."""
    if x.dtype not in (torch.float32, torch.float64):
        raise InvalidInput(
            f"{name} has dtype {x.dtype}; needed is torch.float64 or torch.float32. A complex point is a row of its "
            "real parts, then its imaginary parts."
        )
    _check_memory(x, name)
    if x.shape[-1] != flat_size(manifold):
        raise InvalidInput(
            f"{name} has shape {tuple(x.shape)}; a point of {manifold!r} is a row of {flat_size(manifold)} numbers. "
            f"{_remedy(manifold, x)}"
        )


def _remedy(manifold: Manifold, x: Tensor) -> str:
    """What to do with a tensor whose rows have another number of columns."""
    axes = len(manifold.shape)
    if axes > 1 and tuple(x.shape[-axes:]) == manifold.shape:
        return f"Flatten each point: x.reshape(-1, {flat_size(manifold)})."
    return manifold.converter(tuple(x.shape)).strip() or "active_dims says which columns of a longer row are the point."


def _check_memory(x: Tensor, name: str) -> None:
    if x.device.type == "meta":
        raise InvalidInput(f"{name} is on the device 'meta' and has no numbers. Make it on a device that has memory.")


class _Covariance(torch.autograd.Function):
    """Normalised values of a heat kernel."""

    @staticmethod
    def forward(
        ctx: Any, x1: Tensor, x2: Tensor, numbers: Tensor, kernel: heat.HeatKernel, project: bool, asked: int
    ) -> Tensor:
        count = math.prod(x1.shape[:-2])
        rows = [x.detach().cpu().numpy().reshape(count, *x.shape[-2:]) for x in (x1, x2)]
        same = np.array_equal(rows[0], rows[1])
        names = ("x1",) if same else ("x1", "x2")
        points = [_points(kernel.manifold, x, name, project, x1.dim() == 2) for x, name in zip(rows, names)]
        flat = numbers.detach().cpu().numpy().astype(float).reshape(count, numbers.shape[-1])
        pairs = _Pairs(kernel, points[0], None if same else points[1], flat)
        values, slopes = pairs.values_and_slopes(asked)
        ctx.known = pairs, rows, project, slopes
        ctx.save_for_backward(x1, x2, numbers)
        return torch.from_numpy(values.reshape(*x1.shape[:-1], x2.shape[-2])).to(x1)

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> Any:
        found = _Derivatives.apply(weights, *ctx.saved_tensors, ctx.known, ctx.needs_input_grad)
        return *found, None, None, None


class _Derivatives(torch.autograd.Function):
    """The first derivatives of sums of values times weights; there are no second ones."""

    @staticmethod
    def forward(
        ctx: Any,
        weights: Tensor,
        x1: Tensor,
        x2: Tensor,
        numbers: Tensor,
        known: tuple[Any, ...],
        asked: tuple[bool, ...],
    ) -> Any:
        (pairs, rows, project, slopes), (of_x1, of_x2, of_numbers, *_) = known, asked
        w = weights.detach().cpu().numpy().astype(float).reshape(len(rows[0]), *weights.shape[-2:])
        transposed = w.swapaxes(1, 2)

        def like(tensor: Tensor, found: Array) -> Tensor:
            return torch.from_numpy(found.reshape(tensor.shape)).to(tensor)

        def in_rows(number: int, found: Array) -> Tensor:
            return like((x1, x2)[number], _as_rows(pairs.kernel.manifold, rows[number], found, project))

        found: list[Any] = [None, None, None]
        if pairs.y is None and (of_x1 or of_x2):  # one set of gradients serves both
            both = pairs.slopes_in_points(np.stack([w, transposed]))
            found[:2] = in_rows(0, both[0]), in_rows(1, both[1])
        elif of_x1:
            found[0] = in_rows(0, pairs.slopes_in_points(w[None])[0])
        if pairs.y is not None and of_x2:
            found[1] = in_rows(1, pairs.swapped.slopes_in_points(transposed[None])[0])
        if of_numbers:
            found[2] = like(numbers, np.einsum("bnm,bpnm->bp", w, slopes) / pairs.numbers)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *weights: Tensor) -> Any:
        raise Unsupported("HeatKernel has first derivatives only. Use a method that asks for no second ones.")


def _points(manifold: Manifold, rows: Array, name: str, project: bool, single: bool) -> Array:
    """Points (B, N, *shape) of the manifold in double precision, from rows (B, N, size)."""
    points = unflatten(manifold, rows)
    if project:
        return np.asarray(manifold.project(points))
    try:
        return polished(manifold, points[0] if single else points, name).reshape(points.shape)
    except OffManifold as error:
        if not np.isfinite(rows).all():
            raise
        raise OffManifold(
            f"{error} HeatKernel(..., project=True) moves points to the nearest ones. In optimize_acqf of BoTorch give "
            "both ic_generator and gen_candidates of heatgp.adapters.botorch."
        ) from None


def _as_rows(manifold: Manifold, rows: Array, slopes: Array, project: bool) -> Array:
    """Partial derivatives in rows (B, N, size), from those at the points of the rows (B, N, *shape)."""
    if project:
        flat = (unflatten(manifold, rows.astype(float)), slopes)
        found = through_projection(manifold, *(each.reshape(-1, *manifold.shape) for each in flat))
        slopes = found.reshape(slopes.shape)
    return np.asarray(flatten(manifold, slopes))


@dataclass(frozen=True)
class _Pairs:
    """All pairs of points in each element of a batch, for k(x, y) over the roots of k(x, x) and k(y, y)."""

    kernel: heat.HeatKernel
    x: Array
    """(B, N, *shape)"""
    y: Array | None
    """(B, M, *shape); None where the points are x again."""
    numbers: Array
    """(B, p): times. If there is one column more than the kernel has parameters, the last is the smoothness."""

    @property
    def swapped(self) -> _Pairs:
        return self if self.y is None else _Pairs(self.kernel, self.y, self.x, self.numbers)

    def values_and_slopes(self, asked: int) -> tuple[Array, Array]:
        """k, (B, N, M), and its derivatives in the logs of the numbers, (B, p, N, M), zero after the first `asked`."""
        shape = (*self.x.shape[:2], (self.x if self.y is None else self.y).shape[1])
        values, slopes = np.empty(shape), np.zeros((shape[0], self.numbers.shape[1] if asked else 0, *shape[1:]))
        for which, own in self._groups:
            kernel, time = _at(self.kernel, own)
            moved = [_at(self.kernel, near)[0] for near in _near(own)] if asked > self.kernel.parameters else []
            table = partial(_values_and_slopes, kernel, moved, time, asked > 0)
            found = _over_batch(table, self.x[which], None if self.y is None else self.y[which])
            values[which], slopes[which, :asked] = found[..., -1], np.moveaxis(found[..., :-1], -1, 1)
        return values, slopes

    def slopes_in_points(self, weights: Array) -> Array:
        """Partial derivatives (k, B, N, *shape) in x of the sums over y of weights (k, B, N, M) times k."""
        M, y = self.kernel.manifold, self.x if self.y is None else self.y
        found = np.empty((len(weights), *self.x.shape), dtype=self.x.dtype)
        step = max(1, NUMBERS // max(1, y.shape[0] * y.shape[1] * math.prod(M.shape)))
        for which, own in self._groups:
            kernel, time = _at(self.kernel, own)
            for i in range(0, self.x.shape[1], step):
                x, w = self.x[which, i : i + step], weights[:, which, i : i + step]
                slopes = _over_batch(partial(_gradients, kernel, time), x, y[which])
                summed = np.einsum("kbnm,bnm...->kbn...", w, slopes)
                found[:, which, i : i + step] = partial_derivatives(M, x, summed)
        return found

    @property
    def _groups(self) -> list[tuple[Array, Array]]:
        """The elements of the batch with the same numbers, and these numbers."""
        return [(np.flatnonzero((self.numbers == own).all(axis=1)), own) for own in np.unique(self.numbers, axis=0)]


def _at(kernel: heat.HeatKernel, numbers: Array) -> tuple[heat.HeatKernel, Any]:
    """The kernel of these numbers and its time; a number after those of the kernel is the smoothness."""
    time, smoothness = np.split(numbers, [kernel.parameters])
    if smoothness.size:
        kernel = with_smoothness(kernel, float(smoothness[0]))
    return kernel, kernel.check_time(time.tolist())


def _near(numbers: Array) -> list[Array]:
    """The numbers with the smoothness one and two steps below and above, for `_difference`."""
    return [np.append(numbers[:-1], numbers[-1] * math.exp(k * DIFFERENCE)) for k in (-2, -1, 1, 2)]


def _difference(a: Array, b: Array, c: Array, d: Array) -> Array:
    """The derivative in the log of the smoothness from values of those of `_near`."""
    return (8 * (c - b) - (d - a)) / (12 * DIFFERENCE)


def _values_and_slopes(
    kernel: heat.HeatKernel, near: list[heat.HeatKernel], time: Any, derivatives: bool, x: Array, y: Array | None
) -> Array:
    """The derivatives in the log times and the log smoothness, and at last the values, of k(x, y) over the roots.

    The last axis of (n, m, ...) has as many of them as are asked for; without kernels `near`, none in the smoothness.
    """
    found, *others = (Normalized(each).pairs(x, y).at(time) for each in (kernel, *near))
    slopes = [*found.slopes] if derivatives else []  # before the values: some kernels compute both at once
    if near:
        slopes.append(_difference(*(other.value for other in others)))
    return np.stack([*slopes, found.value], axis=-1)


def _gradients(kernel: heat.HeatKernel, time: Any, x: Array, y: Array) -> Array:
    """The gradients in x, (n, m, *shape), of k(x, y) over the roots of k(x, x) and k(y, y)."""
    found = Normalized(kernel).with_gradients(x, y, time)
    return np.exp(found.log_scale) * found.gradient


def _over_batch(function: Callable[..., Array], x: Array, y: Array | None) -> Array:
    """A function of all pairs of n and m points, (n, m, ...), of the pairs in each element of a batch, (B, N, M, ...).

    Where all elements have the same x or the same y, as the training points of predictions are, one call does it. Else
    small elements are put together, and pairs of different ones are left out of the result.
    """
    other = x if y is None else y
    (B, N), M, shape = x.shape[:2], other.shape[1], x.shape[2:]
    if B == 1 and y is None:
        return function(x[0], None)[None]
    if (other == other[:1]).all():
        found = function(x.reshape(-1, *shape), other[0])
        return found.reshape(B, N, M, *found.shape[2:])
    if (x == x[:1]).all():
        found = function(x[0], other.reshape(-1, *shape))
        return np.moveaxis(found.reshape(N, B, M, *found.shape[2:]), 1, 0)
    size, parts = max(1, BLOCK // max(N, M, 1)), []
    for i in range(0, B, size):
        count = min(size, B - i)
        found = function(*(z[i : i + size].reshape(-1, *shape) for z in (x, other)))
        found = found.reshape(count, N, count, M, *found.shape[2:])
        parts.append(found[np.arange(count), :, np.arange(count)])
    return np.concatenate(parts)
