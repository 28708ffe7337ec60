# %% [markdown]
# # Orientations: a function of how a body is turned
#
# The drag of a body in a wind depends on its orientation, a point of SO(3). Angles have seams and quaternions have
# two signs; rotation matrices have neither.

# %%
import sys

import numpy as np
from scipy.spatial.transform import Rotation

import heatgp as hg
from heatgp.plots import interval_figure, save_figure
from heatgp.points import rotation_to_matrix

QUICK = "--quick" in sys.argv

# %% [markdown]
# Orientations with measured drag. The body has a flat side: the drag is largest when its third axis meets the wind.

# %%
wind = np.array([1.0, 0, 0])


def drag(rotation):
    axes = rotation.as_matrix()
    return 1 + 2 * (axes[..., 2] @ wind) ** 2 + 0.5 * axes[..., 0] @ wind


rng = np.random.default_rng(2)
turned = Rotation.random(40 if QUICK else 150, random_state=2)
measured = drag(turned) + rng.normal(0, 0.05, len(turned))

# %%
SO3 = hg.SpecialOrthogonal(3)
gp = hg.GPRegressor(SO3).fit(rotation_to_matrix(turned), measured)

# %% [markdown]
# Turn the body once around its second axis: the prediction closes after 360 degrees, as the motion does.

# %%
angle = np.linspace(0, 360, 73)
once = Rotation.from_euler("y", angle[:, None], degrees=True)
mean, std = gp.predict(rotation_to_matrix(once), return_std=True)
print("root mean squared error:", np.sqrt(np.mean((mean - drag(once)) ** 2)).round(3))
print("closes to", abs(mean[0] - mean[-1]))

# %%
figure = interval_figure(
    angle, mean, std, truth=drag(once), xlabel="turn about the second axis (degrees)", ylabel="drag"
)
save_figure(figure, "orientations.png")

# %% [markdown]
# Where would the next measurement help most? Where the process is least certain.

# %%
candidates = rotation_to_matrix(Rotation.random(200, random_state=3))
doubt = gp.predict(candidates, return_std=True)[1]
print(
    "most doubtful orientation:\n", candidates[np.argmax(doubt)].round(2), "\nstandard deviation", doubt.max().round(3)
)
