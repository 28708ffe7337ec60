# %% [markdown]
# # A surface given by its equation
#
# A torus of revolution in R^3: the equation is all that the library is told. Points, Brownian motion and the heat
# kernel follow from it; nothing is meshed.

# %%
import sys

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

import heatgp as hg
from heatgp.baselines import baseline
from heatgp.plots import save_figure, styled

QUICK = "--quick" in sys.argv
TUBE = 0.4  # radius of the tube; its centre runs on the unit circle


def equation(x):
    return np.hypot(np.hypot(x[..., 0], x[..., 1]) - 1, x[..., 2]) - TUBE


torus = hg.Implicit(equation, 2, 3)
print(f"{torus}: area {torus.volume:.3f}, exactly {4 * np.pi**2 * TUBE:.3f}")

# %%
size = {"references": 120, "paths": 12_000} if QUICK else {"references": 400, "paths": 200_000}
kernel = hg.heat_kernel(torus, rng=0, **size)
print(kernel)

# %% [markdown]
# Two functions of the angle around the axis and the angle around the tube. The first is smooth in space too, which the
# RBF is made for. The second, stripes that wind around both, changes fast across the tube and across the hole, where
# places are near each other in space and farther apart on the surface. The heat kernel is not always ahead: try
# np.sin(3 * around) + np.cos(2 * tube).

# %%


def angles(x):
    ring = np.hypot(x[..., 0], x[..., 1])
    return np.arctan2(x[..., 1], x[..., 0]), np.arctan2(x[..., 2], ring - 1)


def stripes(x):
    around, tube = angles(x)
    return np.sin(2 * around + tube)


def smooth(x):
    around, tube = angles(x)
    return np.sin(around) * np.cos(tube) + 0.5 * np.cos(2 * around)


# %% [markdown]
# A hundred places, noise of standard deviation 0.1; errors of the function itself over the whole surface, for the heat
# kernel and for the RBF in R^3 with its length-scale and noise learned.

# %%
new = torus.random(np.random.default_rng(1000), 2000)


def models(X, y):
    return {
        "heat kernel": hg.GPRegressor(torus, kernel=kernel).fit(X, y).predict,
        "RBF": baseline("rbf", torus, "regression").fit(X, y).predict,
    }


for f in (smooth, stripes):
    errors = []
    for seed in range(1 if QUICK else 5):
        rng = np.random.default_rng(seed)
        X = torus.random(rng, 100)
        y = f(X) + rng.normal(0, 0.1, len(X))
        fitted = models(X, y)
        errors.append([np.sqrt(np.mean((predict(new) - f(new)) ** 2)) for predict in fitted.values()])
        print(f"{f.__name__}, seed {seed}: " + ", ".join(f"{n} {e:.3f}" for n, e in zip(fitted, errors[-1])))
    mean = np.mean(errors, axis=0)
    print(f"{f.__name__}: root mean squared error {mean[0]:.3f}, {mean[0] / mean[1]:.2f} of the RBF's {mean[1]:.3f}")

# %% [markdown]
# The stripes, and how far off the two are on the last data set, over the two angles.

# %%


@styled
def picture(number):
    around, tube = np.meshgrid(np.linspace(-np.pi, np.pi, 2 * number), np.linspace(-np.pi, np.pi, number))
    ring = 1 + TUBE * np.cos(tube)
    grid = np.stack((ring * np.cos(around), ring * np.sin(around), TUBE * np.sin(tube)), axis=-1)
    truth = stripes(grid)
    figure = Figure(figsize=(9, 2.8))
    axes = figure.add_subplot(1, 3, 1, projection="3d")
    colours = colormaps["viridis"]((truth[1:, 1:] + 1) / 2)
    axes.plot_surface(*np.moveaxis(grid, -1, 0), facecolors=colours, rcount=number, ccount=2 * number, shade=False)
    axes.set(title="stripes", box_aspect=(1, 1, 0.3), xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(-0.36, 0.36))
    axes.view_init(50, -60)
    axes.set_axis_off()
    flat = [figure.add_subplot(1, 3, place) for place in (2, 3)]
    for axes, (name, predict) in zip(flat, fitted.items()):
        error = np.abs(predict(grid.reshape(-1, 3)).reshape(ring.shape) - truth)
        image = axes.contourf(around, tube, error, np.linspace(0, 0.4, 9), cmap="magma_r", extend="max")
        axes.plot(*angles(X), "o", ms=2.5, mfc="white", mec="black", mew=0.5)
        axes.set(title=name, xlabel="angle around the axis (radians)", aspect="equal")
    flat[0].set_ylabel("around the tube (radians)")
    figure.colorbar(image, ax=flat, label="absolute error", shrink=0.7)
    return figure


save_figure(picture(24 if QUICK else 48), "torus_of_revolution.png")
