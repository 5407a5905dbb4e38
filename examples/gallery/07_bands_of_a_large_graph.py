"""
Bands of a graph with 20,000 nodes
==================================

A full decomposition of 20,000 nodes takes 13 GB of memory, and time that grows with the cube of the nodes.
``band_spectra`` gives the energy per frequency band instead, with bounds that hold, in about a second.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import cKDTree

import spectrata as st

# %%
# Points in the unit square, joined when they are near: a mesh with a smooth signal on it, and the same with noise.

random = np.random.default_rng(0)
points = random.random((20_000, 2))
edges = cKDTree(points).query_pairs(0.012, output_type="ndarray")
smooth = np.sin(6 * points[:, 0]) * np.cos(9 * points[:, 1])
noisy = smooth + 0.3 * random.normal(size=20_000)

results = {
    name: st.band_spectra(
        edges=edges, n_nodes=20_000, signal=signal, bands=24, algorithms="gft"
    )
    for name, signal in {"smooth": smooth, "with noise": noisy}.items()
}

# %%
# Left: energy per band. Right: the share of energy at or below each frequency; the shaded area is where the true curve
# can be, whatever the rest of the spectrum.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
for name, ds in results.items():
    one = ds.sel(algorithm="gft", hop=1)
    left.stairs(
        one["energy"].values, [0.0, *one["band_upper"].values], label=name, linewidth=1.6
    )
    right.plot(one["band_upper"], one["cumulative"], label=name)
    right.fill_between(
        one["band_upper"], one["cumulative_lower"], one["cumulative_upper"], alpha=0.25
    )
    width = float((one["cumulative_upper"] - one["cumulative_lower"]).max())
    print(f"{name}: {int(one['steps'])} steps, bounds within {width / 2:.3f}")
left.set(xlabel="eigenvalue", ylabel="energy", yscale="log")
right.set(xlabel="eigenvalue", ylabel="share of energy off zero")
left.legend()
