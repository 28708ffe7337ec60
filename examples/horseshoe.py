# %% [markdown]
# # A lake with two arms: correlation along paths inside the domain
#
# The horseshoe of Ramsay (2002), J. R. Statist. Soc. B 64, 307-319, in the form of Wood, Bravington and Hedley (2008),
# J. R. Statist. Soc. B 70, 931-955: two arms of a lake lie side by side, low values in one and high ones in the other.
# A smoother that uses straight-line distances mixes them across the land. The heat kernel of the domain, whose shore
# reflects the paths, does not.

# %%
import sys

import numpy as np
from matplotlib.figure import Figure
from scipy.interpolate import RBFInterpolator

import heatgp as hg
from heatgp.baselines import baseline
from heatgp.plots import save_figure, styled

QUICK = "--quick" in sys.argv
BEND, WIDTH, LENGTH = 0.5, 0.8, 3.0  # radius of the centre line's bend, width of the channel, length of its arms

# %% [markdown]
# The shore as a polygon: two half circles about the bend, and a round end to each arm. The function rises along the
# centre line, from the end of the lower arm to that of the upper one, and a little towards both shores: a + d², where
# a is the length along the centre line and d the distance from it.

# %%


def arc(centre, radius, start, end, number=24):
    angle = np.linspace(start, end, number)
    return np.array(centre) + radius * np.stack((np.cos(angle), np.sin(angle)), axis=-1)


def shore():
    half, quarter = WIDTH / 2, np.pi / 2
    return np.concatenate(
        (
            arc((0, 0), BEND + half, quarter, 3 * quarter),
            arc((LENGTH, -BEND), half, -quarter, quarter),
            arc((0, 0), BEND - half, 3 * quarter, quarter),
            arc((LENGTH, BEND), half, -quarter, quarter),
        )
    )


def height(p):
    x, y = p[..., 0], p[..., 1]
    along = BEND * np.arctan2(np.abs(y), -np.minimum(x, 0)) + np.maximum(x, 0)
    off = np.hypot(np.minimum(x, 0), y) - BEND
    return np.sign(y) * along + off**2


lake = hg.Domain(hg.Euclidean(2), shore())
print(f"{lake}: area {lake.volume:.2f}, channels about {lake.channel_width:.2f} wide")

# %% [markdown]
# One simulation of Brownian motion serves all data on this lake. Two usual smoothers to compare with: the RBF Gaussian
# process, its length-scale and noise learned, and the thin-plate spline, its smoothing chosen by cross-validation.

# %%
size = {"references": 120, "paths": 12_000} if QUICK else {"references": 400, "paths": 400_000}
kernel = hg.heat_kernel(lake, rng=0, **size)
print(kernel)


def spline(X, y):
    """The thin-plate spline with the smoothing of the least error over five folds, as a function of points."""
    fold = np.arange(len(X)) % 5

    def fitted(kept, smoothing):
        return RBFInterpolator(X[kept], y[kept], kernel="thin_plate_spline", smoothing=smoothing)

    def error(smoothing):
        parts = [(fitted(fold != k, smoothing)(X[fold == k]) - y[fold == k]) ** 2 for k in range(5)]
        return np.mean(np.concatenate(parts))

    return fitted(fold >= 0, min(10.0 ** np.arange(-5, 3), key=error))


def smoothers(X, y):
    return {
        "heat kernel": hg.GPRegressor(lake, kernel=kernel).fit(X, y).predict,
        "RBF": baseline("rbf", lake, "regression").fit(X, y).predict,
        "thin-plate spline": spline(X, y),
    }


# %% [markdown]
# A hundred places measured with noise of standard deviation 0.3; errors of the function itself over the whole lake.

# %%
new = lake.random(np.random.default_rng(1000), 2000)
errors = []
for seed in range(1 if QUICK else 5):
    rng = np.random.default_rng(seed)
    X = lake.random(rng, 100)
    y = height(X) + rng.normal(0, 0.3, len(X))
    models = smoothers(X, y)
    errors.append([np.sqrt(np.mean((predict(new) - height(new)) ** 2)) for predict in models.values()])
    print(f"seed {seed}: " + ", ".join(f"{name} {error:.3f}" for name, error in zip(models, errors[-1])))
mean = np.mean(errors, axis=0)
print("root mean squared error: " + ", ".join(f"{name} {error:.3f}" for name, error in zip(models, mean)))
print(f"the heat kernel's is {mean[0] / mean[1]:.2f} of the RBF's")

# %% [markdown]
# The last of these data sets. The RBF and the spline mix the arms across the land between them. The heat kernel's
# contours meet the shore at right angles, because nothing flows through it. Those of the true function do not, and this
# is the error that remains.

# %%


@styled
def picture(number):
    x, y = np.linspace(-1, LENGTH + 0.5, number), np.linspace(-1, 1, number // 2)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    wet = lake.contains(grid)
    levels = np.linspace(-4.5, 4.5, 19)
    figure = Figure(figsize=(8, 4))
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for place, (name, predict) in zip(axes.flat, {"truth": height, **models}.items()):
        values = np.full(wet.shape, np.nan)
        values[wet] = predict(grid[wet])
        image = place.contourf(x, y, values, levels, extend="both")
        place.plot(*np.append(shore(), shore()[:1], axis=0).T, color="black", lw=0.8)
        place.set(title=name, aspect="equal")
    axes[0, 0].plot(*X.T, "o", ms=2.5, mfc="white", mec="black", mew=0.5)
    figure.colorbar(image, ax=axes, label="f", shrink=0.8)
    return figure


save_figure(picture(100 if QUICK else 300), "horseshoe.png")
