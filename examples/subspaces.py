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
# Nobody knows a formula for the heat kernel of this manifold. `auto` simulates Brownian motion on it once and fits a
# smooth density to where the paths went; the paths are kept on disk for the next time.

# %%
M = hg.Grassmann(5, 2)
kernel = hg.heat_kernel(M, paths=5000 if QUICK else 20_000, rng=0)
print(kernel)
same, error = kernel(X[:1], X[:1], time=0.2), kernel.standard_error(X[:1], X[:1], time=0.2)
print(f"p_t(x, x) = {same[0, 0]:.4f} +- {error[0, 0]:.4f}")

# %%
half = count // 2
gp = hg.GPClassifier(M, kernel=kernel).fit(X[:half], machine[:half])
print("right:", np.mean(gp.predict(X[half:]) == machine[half:]))

# %% [markdown]
# Another basis of the same planes, the same answer:

# %%
turn = np.array([[0.6, -0.8], [0.8, 0.6]])
print("largest change:", np.abs(gp.predict_proba(X[half:] @ turn) - gp.predict_proba(X[half:])).max())

# %% [markdown]
# Would more paths change the predictions?

# %%
print(gp.kernel_error(X[half:]))
