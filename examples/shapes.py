# %% [markdown]
# # Shapes: what is left when position, size and rotation do not matter
#
# Two species of leaf, each drawn by five landmarks, photographed from any distance and at any angle. The shape of k
# planar landmarks is a point of the complex projective space CP^(k-2), and a classifier there cannot be misled by how
# the leaf lay on the table.

# %%
import sys

import numpy as np

import heatgp as hg
from heatgp.baselines import compare
from heatgp.plots import reliability_figure, save_figure
from heatgp.points import landmarks_to_shape

QUICK = "--quick" in sys.argv

# %%
rng = np.random.default_rng(1)
count = 40 if QUICK else 120
species = rng.integers(0, 2, count)
leaf = np.array([[0, 1 + 1j, 2 + 1.2j, 3 + 0.2j, 1.5 - 1j], [0, 1 + 1.3j, 2 + 0.9j, 3 + 0.2j, 1.5 - 1j]])
noise = 0.12 * (rng.standard_normal((count, 5)) + 1j * rng.standard_normal((count, 5)))
pose = rng.uniform(0.5, 3, (count, 1)) * np.exp(2j * np.pi * rng.random((count, 1)))
photographs = pose * (leaf[species] + noise) + 10 * rng.standard_normal((count, 1))

# %% [markdown]
# From complex landmarks (pairs of real coordinates do as well) to shapes:

# %%
X = landmarks_to_shape(photographs)
M = hg.ComplexProjective(3)
half = count // 2
gp = hg.GPClassifier(M).fit(X[:half], species[:half])
probability = gp.predict_proba(X[half:])[:, 1]
print("right:", np.mean((probability > 0.5) == species[half:]))

# %% [markdown]
# The same shapes in another pose get the same probabilities:

# %%
moved = landmarks_to_shape(3j * photographs[half:] + 5)
print("largest change:", np.abs(gp.predict_proba(moved)[:, 1] - probability).max())

# %% [markdown]
# Are the probabilities right? And how do the usual methods do on the same splits?

# %%
save_figure(reliability_figure({"heatgp": (probability, species[half:])}, bins=4), "shapes.png")
print(compare(M, X, species, methods=("heatgp", "rbf", "rbf raw", "linear"), splits=2 if QUICK else 5))
