# %% [markdown]
# # A tree in the hyperbolic plane: functions of its nodes
#
# The number of nodes within so many branches of one grows exponentially, as the area of a disc of the hyperbolic plane
# does with its radius. So a tree has room there, all branches of one length, and none in the flat plane (Sarkar 2011,
# "Low distortion Delaunay trees in hyperbolic plane"). Here the nodes are subjects, and a function of them is learned
# from half of the nodes: the interest of a reader, which falls off with the number of branches from some favourites.

# %%
import sys

import numpy as np
from matplotlib.figure import Figure

import heatgp as hg
from heatgp.baselines import baseline
from heatgp.plots import save_figure, styled
from heatgp.points import ball_to_hyperboloid

QUICK = "--quick" in sys.argv
DEPTH = 5 if QUICK else 7  # generations
LENGTH = 1.6  # of a branch
FAVOURITES = 12
H2 = hg.Hyperbolic(2)

# %% [markdown]
# The tree in Poincare's disc. A Moebius transformation carries a node to the centre; from there its two children are at
# angles of 120 degrees to its parent. The root has three children.

# %%


def grown(depth):
    """Places z of the nodes, complex numbers of the disc, and the numbers of their parents, -1 for the root."""
    places, parents, ends = [0j], [-1], [0]
    for _ in range(depth):
        tips = []
        for node in ends:
            z, parent = places[node], parents[node]
            back = np.angle((places[parent] - z) / (1 - np.conj(z) * places[parent])) if parent >= 0 else np.pi
            for turn in (np.pi / 3, -np.pi / 3) if parent >= 0 else (-np.pi / 3, np.pi / 3, np.pi):
                w = np.tanh(LENGTH / 2) * np.exp(1j * (back + np.pi + turn))
                tips.append(len(places))
                places.append((w + z) / (1 + np.conj(z) * w))
                parents.append(node)
        ends = tips
    return np.array(places), np.array(parents)


z, parents = grown(DEPTH)
disc = np.stack([z.real, z.imag], axis=-1)
X = ball_to_hyperboloid(disc)
branches = H2.distance(X[1:], X[parents[1:]])
print(f"{len(z)} nodes; branches are {branches.min():.3f} to {branches.max():.3f} long")

# %% [markdown]
# The number of branches between two nodes is counted on the tree, not measured in the plane. The Gaussian process of H²
# beside an RBF process of the disc's flat coordinates, both with everything learned from values with noise of 0.02.

# %%


def steps(parents):
    """Branches between all pairs of nodes; a node comes after its parent."""
    count = np.zeros((len(parents), len(parents)))
    for node in range(1, len(parents)):
        count[node, :node] = count[:node, node] = count[parents[node], :node] + 1
    return count


far = steps(parents)
errors = []
for seed in range(2 if QUICK else 20):
    rng = np.random.default_rng(seed)
    interest = np.exp(-far[:, rng.choice(len(z), FAVOURITES, replace=False)] / 2).sum(axis=1)
    shuffled = rng.permutation(len(z))
    known, new = shuffled[::2], shuffled[1::2]
    y = interest[known] + 0.02 * rng.standard_normal(len(known))
    gp = hg.GPRegressor(H2).fit(X[known], y)
    flat = baseline("rbf", hg.Euclidean(2), "regression").fit(disc[known], y)
    found = gp.predict(X[new]), flat.predict(disc[new]), np.full(len(new), y.mean())
    errors.append([np.sqrt(np.mean((f - interest[new]) ** 2)) for f in found])
mean = np.mean(errors, axis=0)
names = ("hyperbolic plane", "RBF in the disc", "mean of the values")
print("root mean squared error: " + ", ".join(f"{name} {error:.3f}" for name, error in zip(names, mean)))
print(f"the hyperbolic plane's is {mean[0] / mean[1]:.2f} of the RBF's")

# %% [markdown]
# The last of these data sets, in the disc. Near its edge, where the flat picture has no room, the twigs of the tree
# have colours of their own: there the RBF sees one place. The standard deviation grows away from the tree.

# %%


def branch(a, b, number=20):
    """The geodesic from a to b in the disc."""
    w = (b - a) / (1 - np.conj(a) * b)
    along = np.tanh(np.linspace(0, 1, number) * np.arctanh(np.abs(w))) * w / np.abs(w)
    return (along + a) / (1 + np.conj(a) * along)


@styled
def picture(number):
    side = np.linspace(-1, 1, number)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    inside = np.linalg.norm(grid, axis=-1) < 0.995
    values = np.full((3, number, number), np.nan)
    values[0][inside], values[1][inside] = gp.predict(ball_to_hyperboloid(grid[inside]), return_std=True)
    values[2][inside] = flat.predict(grid[inside])
    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    titles = "hyperbolic plane: mean", "its standard deviation", "RBF in the disc: mean"
    for axes, value, title in zip(figure.subplots(1, 3), values, titles):
        limits = {"vmin": 0, "vmax": y.max(), "cmap": "viridis"} if "mean" in title else {"cmap": "magma"}
        image = axes.imshow(value, extent=(-1, 1, -1, 1), origin="lower", **limits)
        for node, parent in enumerate(parents[1:], 1):
            path = branch(z[parent], z[node])
            axes.plot(path.real, path.imag, color="black", linewidth=0.4)
        if "mean" in title:
            axes.scatter(*disc[known].T, c=y, s=12, edgecolors="black", linewidths=0.4, zorder=3, **limits)
        axes.set_title(title)
        axes.set_axis_off()
        figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


save_figure(picture(120 if QUICK else 400), "hyperbolic.png")
