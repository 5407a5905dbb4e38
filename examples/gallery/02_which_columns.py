"""
Which of my columns have a pattern?
===================================

A tissue slice as a grid of 400 spots, and 20 genes. Three have a pattern; the others are noise.
"""

import networkx as nx
import numpy as np
import pandas as pd

import spectrata as st

grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))
y, x = np.divmod(np.arange(400), 20)
noise = np.random.default_rng(0).normal(size=(400, 17))
genes = pd.DataFrame(noise, columns=[f"gene {letter}" for letter in "ABCDEFGHIJKLMNOPQ"])
genes["gradient"] = x + 3 * noise[:, 0]
genes["spots"] = np.cos(x / 2) * np.cos(y / 2) + 0.5 * noise[:, 1]
genes["checks"] = (x + y) % 2 + 0.8 * noise[:, 2]

ranked = st.rank_columns(grid, genes)
print(ranked[["column", "verdict", "r", "q", "reach", "scale"]].head(5).round(3))

# %%
# A filled marker is a verdict that holds over all columns. The text at the right says how many hops it reaches.

figure = st.plot.columns(ranked)[0].figure
