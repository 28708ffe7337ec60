# %% [markdown]
# # A Gaussian process on the sphere in five lines
#
# Measurements at places on the Earth, a smooth function through them, and its uncertainty.

# %%
import sys

import numpy as np

import heatgp as hg
from heatgp.plots import save_figure, sphere_figure
from heatgp.points import latlon_to_sphere

QUICK = "--quick" in sys.argv

# %% [markdown]
# Say that we have temperatures at a hundred stations: warm at the equator, cold at the poles, with a wave around it.

# %%
rng = np.random.default_rng(0)
latitude = np.degrees(np.arcsin(rng.uniform(-1, 1, 40 if QUICK else 100)))
longitude = rng.uniform(-180, 180, len(latitude))
temperature = 30 * np.cos(np.radians(latitude)) ** 2 + 5 * np.sin(np.radians(2 * longitude)) - 5
temperature += rng.normal(0, 1, len(latitude))

# %% [markdown]
# Five lines:

# %%
sphere = hg.Sphere(2)
X = latlon_to_sphere(latitude, longitude)
gp = hg.GPRegressor(sphere).fit(X, temperature)
mean, std = gp.predict(latlon_to_sphere([0, 52, 90], [0, 13, 0]), return_std=True)
print("at (0, 0), in Berlin and at the pole:", mean.round(1), "+-", std.round(1))

# %% [markdown]
# The time is a squared length-scale: its root is the distance, in radians, over which values are correlated. All three
# parameters were learned from the data.

# %%
print(f"time {gp.time_:.3f}, amplitude {gp.amplitude_:.1f}, noise {gp.noise_:.2f}")

# %%
figure = sphere_figure(gp.predict, points=X, label="temperature (degrees Celsius)", number=20 if QUICK else 60)
save_figure(figure, "sphere.png")
