"""BoTorch's acquisition functions on manifolds: initial conditions and candidates for its `optimize_acqf`.

    optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256,
                  ic_generator=ic_generator(M), gen_candidates=gen_candidates(M))

A row of a tensor is a flattened point, complex ones as real parts followed by imaginary parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction, OneShotAcquisitionFunction
from botorch.optim.initializers import gen_batch_initial_conditions
from torch import Tensor

from ..arguments import check_count, shown
from ..errors import InvalidInput, OffManifold, Unsupported
from ..manifolds import Manifold, Product
from ..manifolds.checks import unchecked
from ..manifolds.composed.product import flat_size, flatten, unflatten
from ..manifolds.rows import polished
from ..optimize.descent import descend, euclidean_coordinates

DEFAULTS = {"maxiter": 200, "gtol": 1e-6, "ftol": 2.2e-9}
"""Options of candidates: the most steps; the length of a gradient and the relative change of the value at the end."""
OF_STARTS = {"topn", "sorted", "largest"}
"""Options of initial conditions that BoTorch passes on to candidates."""


def ic_generator(manifold: Manifold) -> Callable[..., Tensor]:
    """Initial conditions on a manifold, for the argument `ic_generator` of `botorch.optim.optimize_acqf`.

    Random points of the manifold, of which BoTorch chooses by their acquisition values as it does for others.
    Coordinates of Euclidean factors are uniform between finite bounds, and otherwise normal.

    Parameters
    ----------
    manifold : Manifold

    Returns
    -------
    function with the arguments of `botorch.optim.initializers.gen_batch_initial_conditions`. Without a seed in its
        `options` it draws one from PyTorch, so that `torch.manual_seed` decides.

    Raises
    ------
    InvalidInput : when called, if the bounds are no tensor of the type of the model, have another number of columns,
        are reversed or not numbers, or leave out a part of the manifold.
    Unsupported : when called, for fixed features and linear constraints.

    Examples
    --------
    >>> from botorch.acquisition import AcquisitionFunction
    >>> from heatgp import Sphere
    >>> class Height(AcquisitionFunction):
    ...     def forward(self, X):
    ...         return X[..., 0, -1]
    >>> free = torch.tensor([[-torch.inf] * 3, [torch.inf] * 3])
    >>> ic_generator(Sphere(2))(Height(None), free, q=1, num_restarts=4, raw_samples=64).shape
    torch.Size([4, 1, 3])
    """
    _check_manifold(manifold)

    def generate(
        acq_function: AcquisitionFunction,
        bounds: Tensor | None = None,
        q: int = 1,
        num_restarts: int | None = None,
        raw_samples: int | None = None,
        fixed_features: Any = None,
        options: dict[str, Any] | None = None,
        inequality_constraints: Any = None,
        equality_constraints: Any = None,
        **more: Any,
    ) -> Tensor:
        _refuse(fixed_features=fixed_features, inequality=inequality_constraints, equality=equality_constraints)
        if not isinstance(acq_function, AcquisitionFunction):
            raise InvalidInput(
                f"acq_function = {shown(acq_function)} must be an acquisition function of BoTorch. The result of "
                "ic_generator is for the argument ic_generator of botorch.optim.optimize_acqf."
            )
        if num_restarts is None or raw_samples is None:
            raise InvalidInput("num_restarts and raw_samples are needed: how many starts, and from how many points.")
        for name, number in (("q", q), ("num_restarts", num_restarts), ("raw_samples", raw_samples)):
            check_count(name, number)
        _check_bounds(acq_function, bounds)
        assert bounds is not None
        box = _box(manifold, *bounds)
        if isinstance(acq_function, OneShotAcquisitionFunction):
            q = acq_function.get_augmented_q_batch_size(q)

        def draw(n: int, q: int, seed: int | None) -> Tensor:
            rng = np.random.default_rng(int(torch.randint(2**62, ())) if seed is None else seed)
            rows = _random_rows(manifold, box, rng, n * q)
            return torch.from_numpy(rows.reshape(n, q, -1)).to(bounds.dtype)

        anywhere = torch.stack([torch.zeros_like(bounds[0]), torch.ones_like(bounds[1])])  # not used by `generator`
        return gen_batch_initial_conditions(
            acq_function, anywhere, q, num_restarts, raw_samples, options=options, generator=draw, **more
        )

    return generate


def gen_candidates(manifold: Manifold) -> Callable[..., tuple[Tensor, Tensor]]:
    """Maxima of an acquisition function on a manifold, for the argument `gen_candidates` of `optimize_acqf`.

    Limited memory BFGS along geodesics, from all initial conditions side by side; q points are one point of the product
    of q manifolds. Bounds hold for coordinates of Euclidean factors; all other coordinates are those of the manifold.

    Parameters
    ----------
    manifold : Manifold

    Returns
    -------
    function with the arguments of `botorch.generation.gen.gen_candidates_scipy`. Of its `options`, "maxiter" is the
        most steps (200), "gtol" and "ftol" the length of the gradient (1e-6) and the relative change of the value
        (2.2e-9, as in SciPy) at which a descent ends.

    Raises
    ------
    InvalidInput : when called, for initial conditions of another shape, bounds of another number, unknown options.
    OffManifold : when called, if an initial condition is not on the manifold.
    Unsupported : when called, for fixed features and constraints.

    Examples
    --------
    >>> from botorch.acquisition import AcquisitionFunction
    >>> from heatgp import Sphere
    >>> class Height(AcquisitionFunction):
    ...     def forward(self, X):
    ...         return X[..., 0, -1]
    >>> candidates, values = gen_candidates(Sphere(2))(torch.tensor([[[0.6, 0.0, 0.8]]]), Height(None))
    >>> values
    tensor([1.])
    """
    _check_manifold(manifold)

    def generate(
        initial_conditions: Tensor,
        acquisition_function: AcquisitionFunction,
        lower_bounds: Any = None,
        upper_bounds: Any = None,
        inequality_constraints: Any = None,
        equality_constraints: Any = None,
        nonlinear_inequality_constraints: Any = None,
        options: dict[str, Any] | None = None,
        fixed_features: Any = None,
        timeout_sec: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        _refuse(
            fixed_features=fixed_features,
            inequality=inequality_constraints,
            equality=equality_constraints,
            nonlinear_inequality=nonlinear_inequality_constraints,
        )
        if unknown := set(options or {}) - set(DEFAULTS) - OF_STARTS:
            raise InvalidInput(f"options has {shown(min(unknown))}; known is {', '.join(map(repr, DEFAULTS))}.")
        settings = DEFAULTS | (options or {})
        if initial_conditions.dtype not in (torch.float32, torch.float64):
            raise InvalidInput(
                f"initial conditions have dtype {initial_conditions.dtype}; needed is torch.float64 or torch.float32."
            )
        shape = initial_conditions.shape
        if len(shape) < 2 or shape[-1] != flat_size(manifold):
            raise InvalidInput(
                f"initial conditions have shape {tuple(shape)}; needed is (restarts, q, {flat_size(manifold)}), rows "
                f"that are points of {manifold!r}."
            )
        q, box = shape[-2], _box(manifold, lower_bounds, upper_bounds)
        several = Product(*[manifold] * q)
        given = unflatten(manifold, initial_conditions.detach().cpu().numpy())
        try:
            points = polished(manifold, given, "initial conditions")
        except OffManifold as error:
            raise OffManifold(f"{error} Give optimize_acqf both ic_generator and gen_candidates.") from None
        starts = np.asarray(flatten(manifold, points)).reshape(-1, q * shape[-1])

        def minus_acquisition(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            X = torch.from_numpy(x.reshape(-1, *shape[-2:])).to(initial_conditions).requires_grad_()
            values = acquisition_function(X)
            (slopes,) = torch.autograd.grad(values.sum(), X)
            found, slope = (each.detach().cpu().numpy().astype(float) for each in (values, slopes))
            slope = slope.reshape(x.shape)
            possible = np.isfinite(slope).all(axis=1)
            gradient = unchecked(several.gradient)(x, np.where(possible[:, None], -slope, 0.0))
            return np.where(possible, -found.reshape(-1), np.nan), gradient

        end = np.inf if timeout_sec is None else time.monotonic() + timeout_sec
        with _without_parameters(acquisition_function):
            found = descend(
                several,
                minus_acquisition,
                starts,
                steps=settings["maxiter"],
                tolerance=settings["gtol"],
                value_tolerance=settings["ftol"],
                bounds=np.tile(box, q),
                stop=lambda: time.monotonic() > end,
            )
        candidates = torch.from_numpy(found.x.reshape(shape)).to(initial_conditions)
        with torch.no_grad():
            return candidates, acquisition_function(candidates)

    return generate


@contextmanager
def _without_parameters(module: torch.nn.Module) -> Iterator[None]:
    """No derivatives in the parameters of the model, which would be computed and not used."""
    learned = [parameter for parameter in module.parameters() if parameter.requires_grad]
    try:
        for parameter in learned:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in learned:
            parameter.requires_grad_(True)


def _check_manifold(manifold: Any) -> None:
    if not isinstance(manifold, Manifold):
        raise InvalidInput(f"manifold = {shown(manifold)} must be a manifold, such as Sphere(2).")


def _refuse(**given: Any) -> None:
    """Unsupported for arguments that were given."""
    for name, value in given.items():
        if value:
            raise Unsupported(
                f"{name.replace('_', ' ')} constraints do not hold along geodesics. Use bounds of Euclidean factors, "
                "or a Domain of the manifold."
                if name != "fixed_features"
                else "fixed features do not hold along geodesics. Use the manifold of the others."
            )


def _check_bounds(acquisition: torch.nn.Module, bounds: Any) -> None:
    """InvalidInput unless starts can have the type of the bounds."""
    if not (isinstance(bounds, Tensor) and bounds.dtype in (torch.float32, torch.float64) and bounds.ndim == 2):
        kind = f"{bounds.dtype}" if isinstance(bounds, Tensor) else type(bounds).__name__
        raise InvalidInput(
            f"bounds = {shown(bounds)} ({kind}) must be a tensor (2, columns) of torch.float64 or torch.float32, such "
            "as torch.tensor(bounds, dtype=torch.float64)."
        )
    types = {parameter.dtype for parameter in acquisition.parameters()}
    if types and bounds.dtype not in types:
        wanted = min(types, key=str)
        raise InvalidInput(f"bounds have dtype {bounds.dtype}, the model {wanted}. Give bounds.to({wanted}).")


def _box(manifold: Manifold, low: Any, high: Any) -> np.ndarray:
    """The bounds (2, size) of coordinates of Euclidean factors, infinite for all others, or InvalidInput."""
    size, box = flat_size(manifold), []
    for bound, default in ((low, -np.inf), (high, np.inf)):
        if isinstance(bound, Tensor) and bound.device.type == "meta":
            raise InvalidInput("bounds are on the device 'meta' and have no numbers. Make them on one that has memory.")
        values = (
            np.full(size, default) if bound is None else torch.as_tensor(bound).detach().cpu().numpy().astype(float)
        )
        if values.shape not in ((), (size,)):
            raise InvalidInput(f"bounds have shape {values.shape}; a point of {manifold!r} is {size} numbers.")
        box.append(np.broadcast_to(values, (size,)))
    wrong = ~(box[0] <= box[1])  # nan too
    if wrong.any():
        where = int(np.argmax(wrong))
        raise InvalidInput(
            f"bounds of column {where} are {box[0][where]:g} to {box[1][where]:g}. Give the smaller number first; -inf "
            "and inf are no bounds."
        )
    curved = ~euclidean_coordinates(manifold)
    points = np.asarray(flatten(manifold, manifold.random(np.random.default_rng(0), 256)))
    outside = curved & ((points < box[0] - 1e-6) | (points > box[1] + 1e-6)).any(axis=0)
    if outside.any():
        where = int(np.argmax(outside))
        raise InvalidInput(
            f"bounds of column {where}, {box[0][where]:g} to {box[1][where]:g}, leave out points of {manifold!r}. Give "
            "-inf and inf; a part of a manifold is a Domain."
        )
    return np.stack([np.where(curved, -np.inf, box[0]), np.where(curved, np.inf, box[1])])


def _random_rows(manifold: Manifold, box: np.ndarray, rng: np.random.Generator, number: int) -> np.ndarray:
    """Random points as rows, uniform between finite bounds."""
    rows = np.asarray(flatten(manifold, manifold.random(rng, number)))
    finite = np.isfinite(box).all(axis=0)
    low, high = np.where(finite, box, [[0.0], [1.0]])
    return np.clip(np.where(finite, rng.uniform(low, high, rows.shape), rows), *box)
