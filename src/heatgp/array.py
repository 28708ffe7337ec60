"""Small linear algebra that works with the arrays of NumPy, JAX and PyTorch.

Each function takes its operations from the namespace of the array that it gets: with NumPy arrays it computes at once,
under JAX it can be compiled. Leading axes are batch axes, the last one or two are the vector or matrix. No function
changes its arguments.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InvalidInput

Array = Any
"""An array that answers ``__array_namespace__``: NumPy, JAX (tracers included), PyTorch through the adapter."""


SHORT = 16
"""Terms of a sum that compilers get written out."""


def namespace(x: Array) -> Any:
    """The module whose functions work on x."""
    try:
        return x.__array_namespace__()
    except AttributeError:
        raise InvalidInput(f"an array is needed; got {type(x).__name__}. Pass numpy.asarray(x, dtype=float).") from None


def is_jax(x: Any) -> bool:
    """Whether x is an array of JAX, or stands for one in a function that JAX compiles."""
    return "jax" in sys.modules and isinstance(x, sys.modules["jax"].Array)


def is_traced(x: Any) -> bool:
    """Whether x stands for an array in a function that JAX compiles or differentiates, and has no values yet."""
    return "jax" in sys.modules and isinstance(x, sys.modules["jax"].core.Tracer)


def adjoint(x: Array) -> Array:
    """Conjugate transpose of the last two axes."""
    xp = namespace(x)
    return xp.conj(xp.swapaxes(x, -1, -2))


def hermitian(x: Array) -> Array:
    """The Hermitian part (x + x*)/2 of a matrix."""
    return (x + adjoint(x)) / 2


def from_eigen(values: Array, vectors: Array) -> Array:
    """The matrix with these eigenvalues (..., n) and orthonormal eigenvectors, the columns of (..., n, n)."""
    return matmul(vectors * values[..., None, :], adjoint(vectors))


def matmul(a: Array, b: Array) -> Array:
    """Matrix product of many small matrices, by the method that suits their layout in memory.

    If each matrix is contiguous, NumPy calls BLAS for each. If the batch axis is contiguous (see `paths.walk`), einsum
    runs one long loop. Other libraries get small products written out, which compile to one fused kernel on a GPU.
    """
    xp = namespace(a)
    if xp is np:
        matrices_contiguous = min(a.strides[-2:]) <= a.itemsize or a.ndim == 2
        return np.matmul(a, b) if matrices_contiguous else np.einsum("...ij,...jk->...ik", a, b)
    if a.shape[-1] > 5:
        return xp.matmul(a, b)
    terms = [a[..., :, j, None] * b[..., None, j, :] for j in range(a.shape[-1])]
    return sum(terms[1:], terms[0])


def stack_last(entries: Sequence[Array]) -> Array:
    """Arrays (...) stacked on a new last axis; in memory each of them stays contiguous."""
    xp = namespace(entries[0])
    return xp.moveaxis(xp.stack(entries), 0, -1)


def inner(x: Array, y: Array) -> Array:
    """Hermitian inner product x* y over the last axis, kept as an axis of length one."""
    xp = namespace(x)
    terms = xp.conj(x) * y if is_complex(x) else x * y
    return _sum_last(terms)[..., None]


def real_inner(x: Array, y: Array) -> Array:
    """Re tr(x* y) of matrices."""
    xp = namespace(x)
    return xp.sum(xp.real(xp.conj(x) * y) if is_complex(x) else x * y, axis=(-2, -1))


def norm(x: Array, axes: int = 1) -> Array:
    """Euclidean norm over the last `axes` axes."""
    xp = namespace(x)
    squares = xp.real(x) ** 2 + xp.imag(x) ** 2 if is_complex(x) else x * x
    return xp.sqrt(_sum_last(squares) if axes == 1 else xp.sum(squares, axis=tuple(range(-axes, 0))))


def _sum_last(x: Array) -> Array:
    """The sum over the last axis. For compilers short sums are written out: they fuse with the operations around."""
    xp = namespace(x)
    if xp is np or not 0 < x.shape[-1] <= SHORT:
        return xp.sum(x, axis=-1)
    return sum((x[..., i] for i in range(1, x.shape[-1])), x[..., 0])


def is_complex(x: Array) -> bool:
    """Whether the entries of x are complex numbers."""
    return bool(namespace(x).isdtype(x.dtype, "complex floating"))


def sinc(r: Array) -> Array:
    """sin(r)/r, one at zero."""
    xp = namespace(r)
    safe = xp.where(r == 0, 1.0, r)
    return xp.where(r == 0, 1.0, xp.sin(safe) / safe)


def sinhc(r: Array) -> Array:
    """sinh(r)/r, one at zero."""
    xp = namespace(r)
    safe = xp.where(r == 0, 1.0, r)
    return xp.where(r == 0, 1.0, xp.sinh(safe) / safe)


def log_sinhc(r: Array) -> Array:
    """log(sinh(r)/r) of r >= 0, 0 at 0; it does not overflow."""
    xp = namespace(r)
    small = r < 1e-2
    safe = xp.where(small, 1.0, r)
    square = r * r  # a fourth power takes as long as a logarithm
    return xp.where(small, square / 6 - square * square / 180, safe + xp.log(-xp.expm1(-2 * safe) / (2 * safe)))


def wrap(angle: Array) -> Array:
    """The representative of an angle in [-pi, pi]; angles inside that range keep every digit."""
    return angle - 2 * math.pi * namespace(angle).round(angle / (2 * math.pi))


def identity_like(x: Array) -> Array:
    """The identity matrix of the size of the last axis, in x's type."""
    xp = namespace(x)
    return xp.eye(x.shape[-1], dtype=x.dtype)


def to_complex(x: Array) -> Array:
    """Complex numbers from real and imaginary parts, which the last axis, of length two, holds."""
    return x[..., 0] + 1j * x[..., 1]


def white_noise(rng: np.random.Generator, shape: tuple[int, ...], complex_: bool) -> np.ndarray:
    """Independent N(0, 1) numbers; complex ones where asked for, with N(0, 1) real and imaginary parts."""
    z = rng.standard_normal((2, *shape) if complex_ else shape)
    return z[0] + 1j * z[1] if complex_ else z


def real_vector(x: Array, axes: int, complex_: bool) -> Array:
    """The last `axes` axes as one real axis: real parts, followed by imaginary parts where `complex_`."""
    xp = namespace(x)
    flat = xp.reshape(x, (*x.shape[: x.ndim - axes], math.prod(x.shape[x.ndim - axes :])))
    return xp.concat((xp.real(flat), xp.imag(flat)), axis=-1) if complex_ else flat


def expm_skew(x: Array) -> Array:
    """Exponential of a skew-Hermitian matrix of any size, by the eigendecomposition of the Hermitian -ix."""
    xp = namespace(x)
    w, u = xp.linalg.eigh(-1j * x)
    y = xp.matmul(u * xp.exp(1j * w)[..., None, :], adjoint(u))
    return y if is_complex(x) else xp.real(y)


def cos_sinc(s: Array) -> tuple[Array, Array]:
    """cos(√s) and sin(√s)/√s of a positive semidefinite Hermitian matrix of any size."""
    xp = namespace(s)
    w, u = xp.linalg.eigh(s)
    root = xp.sqrt(xp.where(w > 0, w, 0.0))
    cosine, quotient = (xp.matmul(u * f[..., None, :], adjoint(u)) for f in (xp.cos(root), sinc(root)))
    return cosine, quotient


LARGE = 16.0
"""Norms beyond which the terms of a series cancel too much: they grow to exp(16) = 1e7."""


def taylor_degree(radius: float, tolerance: float) -> int:
    """The degree after which the remaining terms of the exponential series sum to less than the tolerance."""
    degree, term = 1, radius * radius / 2
    while term * math.exp(min(radius, 50.0)) > tolerance and degree < 150:
        degree += 1
        term *= radius / (degree + 1)
    return degree


def step_tolerance(x: Array) -> float:
    """Truncation error allowed in one step of a walk; the next polish by `newton_schulz` removes it."""
    return 1e-10 if x.dtype.itemsize >= (16 if is_complex(x) else 8) else 1e-6


def polynomial(x: Array, coefficients: list[float]) -> Array:
    """Σ c_j x^j of a square matrix with about 2√degree products.

    Reference: Paterson and Stockmeyer (1973), SIAM J. Comput. 2, 60-66.
    """
    width = max(1, math.isqrt(len(coefficients)))
    powers = [identity_like(x), x]
    while len(powers) <= width:
        powers.append(matmul(powers[-1], x))
    blocks = [coefficients[i : i + width] for i in range(0, len(coefficients), width)]
    sums = (sum((c * p for c, p in zip(cs[1:], powers[1:])), cs[0] * powers[0]) for cs in reversed(blocks))
    y = next(sums)
    for block in sums:
        y = matmul(powers[width], y) + block
    return y


def expm_series(x: Array, radius: float) -> Array:
    """Exponential of a skew-Hermitian matrix whose norm is at most `radius`, by its Taylor series: products only."""
    if radius > LARGE:
        return expm_skew(x)
    degree = taylor_degree(radius, step_tolerance(x))
    return polynomial(x, [1 / math.factorial(j) for j in range(degree + 1)])


def cos_sinc_series(s: Array, radius: float) -> tuple[Array, Array]:
    """cos(√s) and sin(√s)/√s of a matrix whose root has norm at most `radius`: products only."""
    if radius > LARGE:
        return cos_sinc(s)
    terms = range((taylor_degree(radius, step_tolerance(s)) + 1) // 2 + 1)
    cosine, quotient = (polynomial(s, [(-1) ** j / math.factorial(2 * j + odd) for j in terms]) for odd in (0, 1))
    return cosine, quotient


def cos_sinc_numbers(s: Array, radius: float) -> tuple[Array, Array]:
    """cos(√s) and sin(√s)/√s of numbers s up to radius²: polynomials where they are small, else trigonometric."""
    if radius > 1.5:
        xp = namespace(s)
        root = xp.sqrt(s)
        return xp.cos(root), sinc(root)
    degree = (taylor_degree(radius, step_tolerance(s)) + 1) // 2
    c = k = 1.0
    # Horner's scheme: each term is the one before it times -s / ((2j - 1) 2j), or times -s / (2j (2j + 1)).
    for j in range(degree, 0, -1):
        c = 1 - s * c * (1 / ((2 * j - 1) * 2 * j))
        k = 1 - s * k * (1 / (2 * j * (2 * j + 1)))
    return c, k


def cosh_sinhc_numbers(s: Array, radius: float) -> tuple[Array, Array]:
    """cosh(√s) and sinh(√s)/√s of numbers s up to radius²: the same polynomials, of -s, where they are small."""
    if radius > 1.5:
        root = namespace(s).sqrt(s)
        return namespace(s).cosh(root), sinhc(root)
    return cos_sinc_numbers(-s, radius)


def newton_schulz(x: Array) -> Array:
    """One step towards the nearest matrix with orthonormal columns: an error e becomes about 3e²/2.

    Reference: Higham (2008), Functions of Matrices, eq. (8.20).
    """
    return 1.5 * x - 0.5 * matmul(x, matmul(adjoint(x), x))


def orthonormality_defect(x: Array) -> Array:
    """Largest entry of x* x - I."""
    xp = namespace(x)
    return xp.max(xp.abs(xp.matmul(adjoint(x), x) - identity_like(x)), axis=(-2, -1))


def skew(z: Array) -> Array:
    """White noise z to the Lie algebra with <X, Y> = Re tr(X* Y)/2: entries above the diagonal N(0, 1)."""
    return (z - adjoint(z)) / math.sqrt(2)
