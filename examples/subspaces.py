# %% [markdown]
# # Subspaces: the directions in which measurements vary
#
# A recording is a matrix, five sensors times many samples. Its two principal directions span a plane: a point of the
# Grassmannian Gr(5, 2), the same whichever basis an algorithm returns. Which of two machines made the recording?

# %%
import sys

import numpy as np

import heatgp as hg
from heatgp.points import matrix_to_subspace

QUICK = "--quick" in sys.argv

# %%
rng = np.random.default_rng(4)
count = 24 if QUICK else 60
machine = rng.integers(0, 2, count)
planes = np.linalg.qr(rng.standard_normal((2, 5, 2)))[0]


def recording(which):
    """Two strong directions that wander a little from one recording to the next, and noise in all five sensors."""
    directions = planes[which] + 0.25 * rng.standard_normal((5, 2))
    return directions @ rng.standard_normal((2, 40)) + 0.1 * rng.standard_normal((5, 40))


X = np.stack([matrix_to_subspace(recording(which), 2) for which in machine])
print("subspaces:", X.shape)

# %% [markdown]
# The heat kernel of this manifold is a sum over its spherical functions, exact at all times.

# %%
M = hg.Grassmann(5, 2)
kernel = hg.heat_kernel(M)
print(kernel)

# %%
half = count // 2
gp = hg.GPClassifier(M).fit(X[:half], machine[:half])
print("right:", np.mean(gp.predict(X[half:]) == machine[half:]))

# %% [markdown]
# Another basis of the same planes, the same answer:

# %%
turn = np.array([[0.6, -0.8], [0.8, 0.6]])
print("largest change:", np.abs(gp.predict_proba(X[half:] @ turn) - gp.predict_proba(X[half:])).max())

# %% [markdown]
# On most manifolds nobody knows a formula. There the kernel is estimated from simulated Brownian motion, with its
# error; here we can see how good that is. Would more paths change the predictions?

# %%
estimate = hg.heat_kernel(M, "smooth", paths=5000 if QUICK else 20_000, rng=0)
difference = np.abs(estimate(X, time=0.2) - kernel(X, time=0.2)).max() / kernel(X[0], time=0.2)
print(f"largest error of the estimate: {difference:.1e} of p_t(x, x)")
print(hg.GPClassifier(M, kernel=estimate).fit(X[:half], machine[:half]).kernel_error(X[half:]))
