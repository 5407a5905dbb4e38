"""
Over-smoothing, layer by layer
==============================

A graph convolution without weights is a product with the normalised adjacency matrix. After many repetitions all
vectors of a connected graph are equal. Where does their energy go?
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

random = np.random.default_rng(0)
graph = nx.connected_watts_strogatz_graph(120, 6, 0.1, seed=1)
adjacency = nx.to_numpy_array(graph) + np.eye(120)
step = adjacency / adjacency.sum(axis=1, keepdims=True)

layers = [random.normal(size=(120, 16))]
for _ in range(40):
    layers.append(step @ layers[-1])
ds = st.spectra(graph, np.stack(layers), hops=2)

# %%
# Left: ``off_zero``, the share of energy that is not at eigenvalue 0, falls with every layer. It is the energy that
# distinguishes nodes. Right: the rest of it moves to the low frequencies, at the bottom, at K = 1 more than at
# K = 2. Every column has unit length.

figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
axes[0].plot(range(41), st.off_zero(ds).sel(hop=1))
axes[0].set(xlabel="layer", ylabel="share of energy off zero, K = 1", ylim=(0, 1))
st.plot.spectrogram(ds, ax=axes[1:], algorithm="gft")

# %%
# Findings for a few of the layers:

print(st.diagnose(ds.isel(snapshot=[0, 20, 40])))
