"""The same lines under JAX."""

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from ..array import Array
from ..errors import Unsupported
from ..manifolds import Homogeneous
from .sample import Sample


def under_jax(s: Sample) -> Iterator[str]:
    """The same lines under JAX, compiled, in double precision and without touching its global flag."""
    if find_spec("jax") is None:
        return
    import jax

    m = s.manifold
    white = s.rng.standard_normal((len(s.x), *m.step_shape))

    def step(x: Array, v: Array, z: Array) -> dict[str, Array]:
        y = s.exp(x, v)
        results = {"exp": y, "step": m.step(x, z, 0.01), "polish": m.polish(x), "defect": m.defect(x)}
        return results | ({"orbit": m.orbit(x, y)} if isinstance(m, Homogeneous) else {})

    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        try:
            results = jax.jit(step)(*(jax.numpy.asarray(a) for a in (s.x, s.v, white)))
        except Unsupported:  # it says that it is for NumPy alone
            return
        except Exception as error:
            text = str(error).splitlines()[0]
            yield f"{type(error).__name__} under JAX: {text} Write it over x.__array_namespace__(), with no x[i] = ..."
            return
        for name, expected in step(s.x, s.v, white).items():
            yield from s.apart(f"{name} under JAX differs", np.asarray(results[name]), expected)
