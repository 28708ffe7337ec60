# %% [markdown]
# # A manifold of your own: six members
#
# An arm with two joints that turn freely, one heavier than the other. Its configurations are a torus of two different
# radii, which is not in the library. A class with six members is enough to walk on it, to estimate its heat kernel and
# to fit a Gaussian process.

# %%
import sys
from dataclasses import dataclass

import numpy as np

import heatgp as hg
from heatgp.testing import check_manifold

QUICK = "--quick" in sys.argv


@dataclass(frozen=True, repr=False)
class Arm(hg.Manifold):
    """Two circles in R^4, of radius 1 and `reach`: a point is (cos a, sin a, reach cos b, reach sin b)."""

    reach: float

    @property
    def shape(self):
        return (4,)

    @property
    def dim(self):
        return 2

    def noise(self, x, z):
        """White noise of R^4, its part along each circle: the metric is that of R^4."""
        return self._turned(x) * self._along(x, z)

    def exp(self, x, v):
        """Each joint turns by its speed; `x.__array_namespace__()` is NumPy or JAX, whichever made x."""
        xp = x.__array_namespace__()
        angle = self._along(x, v) / self._radius(x)
        return xp.cos(angle) * x + xp.sin(angle) * self._turned(x) * self._radius(x)

    def random(self, rng, n):
        a, b = rng.uniform(-np.pi, np.pi, (2, n))
        return np.stack((np.cos(a), np.sin(a), self.reach * np.cos(b), self.reach * np.sin(b)), axis=-1)

    def defect(self, x):
        xp = x.__array_namespace__()
        first, second = xp.hypot(x[..., 0], x[..., 1]), xp.hypot(x[..., 2], x[..., 3])
        return xp.maximum(xp.abs(first - 1), xp.abs(second - self.reach))

    # Those were the six. Two more that the estimate of the heat kernel can use:

    @property
    def volume(self):
        return 4 * np.pi**2 * self.reach

    def distance(self, x, y):
        xp = x.__array_namespace__()
        gap = [
            xp.atan2(
                x[..., i] * y[..., i + 1] - x[..., i + 1] * y[..., i],
                x[..., i] * y[..., i] + x[..., i + 1] * y[..., i + 1],
            )
            for i in (0, 2)
        ]
        return xp.hypot(gap[0], self.reach * gap[1])

    def _radius(self, x):
        xp = x.__array_namespace__()
        return xp.asarray([1.0, 1.0, self.reach, self.reach], dtype=x.dtype)

    def _turned(self, x):
        """Unit vectors along the circles, a quarter turn ahead."""
        xp = x.__array_namespace__()
        return xp.stack((-x[..., 1], x[..., 0], -x[..., 3], x[..., 2]), axis=-1) / self._radius(x)

    def _along(self, x, v):
        """Components of v along the circles, each written twice."""
        xp = x.__array_namespace__()
        parts = self._turned(x) * v
        a, b = parts[..., 0] + parts[..., 1], parts[..., 2] + parts[..., 3]
        return xp.stack((a, a, b, b), axis=-1)


# %%
arm = Arm(reach=0.6)
print("problems found:", check_manifold(arm, rng=0))

# %% [markdown]
# Its heat kernel through reference points, from simulated paths, compared with the exact one: the product of the
# kernels of two circles.

# %%
kernel = hg.heat_kernel(arm, paths=50_000 if QUICK else 400_000, references=200 if QUICK else 400, rng=0)
print(kernel)
X = arm.random(np.random.default_rng(1), 40 if QUICK else 80)
circle = hg.heat_kernel(hg.Torus(1))


def exact(x, y, time):
    a, b = (np.arctan2(z[..., [1, 3]], z[..., [0, 2]]) for z in (x, y))
    second = circle(a[..., 1:], b[..., 1:], time=time / arm.reach**2) / arm.reach
    return circle(a[..., :1], b[..., :1], time=time) * second


difference = kernel(X, X, time=0.5) - exact(X, X, 0.5)
print(
    f"largest error at time 0.5: {np.abs(difference).max() / exact(X[:1], X[:1], 0.5)[0, 0]:.3f} of the largest value"
)

# %% [markdown]
# And a Gaussian process: the height of the hand, measured with noise, learned without knowing the arm's geometry.

# %%


def height(x):
    return x[..., 1] + 0.5 * (x[..., 1] * x[..., 2] + x[..., 0] * x[..., 3]) / arm.reach


rng = np.random.default_rng(2)
gp = hg.GPRegressor(arm, kernel=kernel).fit(X, height(X) + rng.normal(0, 0.05, len(X)))
new = arm.random(rng, 200)
mean, std = gp.predict(new, return_std=True)
print("root mean squared error:", np.sqrt(np.mean((mean - height(new)) ** 2)).round(3))
print("inside two standard deviations:", np.mean(np.abs(mean - height(new)) < 2 * std).round(2))
