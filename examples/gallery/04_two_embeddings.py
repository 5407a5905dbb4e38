"""
Compare two embeddings
======================

Two embeddings of one graph, eight dimensions each: one made from the graph's slowest patterns, and the same with noise.
At which distance and which frequency do they part?
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

random = np.random.default_rng(0)
graph = nx.planted_partition_graph(4, 25, 0.35, 0.02, seed=2)
strat = st.Stratification(graph, hops=3)

clean = strat.basis(1).dense()[:, 1:9]
noisy = clean + 0.07 * random.normal(size=clean.shape)
a, b = strat.spectra(clean), strat.spectra(noisy)

# %%
# The table gives the correlation first. A cosine between spectra of unrelated embeddings is near 1, too, so the table
# shows it with the cosine of a flat spectrum.

table = st.compare(a, b).sel(algorithm="gft")[["correlation", "cosine", "cosine_flat_a"]]
print(table.to_dataframe()[["correlation", "cosine", "cosine_flat_a"]].round(3))

# %%
# The noise adds energy at high frequencies at K = 1. At larger K it changes little, since those pairs differ anyway.

figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
st.plot.compare(a, b, ax=axes, algorithm="gft", names=("clean", "noisy"))
