"""
Do two maps agree beyond their smoothness?
==========================================

Two smooth maps correlate by accident: each has few independent regions. ``agree`` compares their correlation with
surrogates that are as smooth as they are.
"""

import networkx as nx
import numpy as np

import spectrata as st

grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(15, 15))
strat = st.Stratification(grid, hops=1)
random = np.random.default_rng(1)


def smooth(noise):
    """Keep the 20 slowest of 225 frequencies."""
    basis = strat.basis(1).dense()[:, 1:21]
    return basis @ (basis.T @ noise)


first, other = smooth(random.normal(size=225)), smooth(random.normal(size=225))
related = smooth(first + 0.15 * random.normal(size=225))

# %%
# The interval of chance is wide, as it should be for maps as smooth as these.

for name, map_ in {"independent": other, "related": related}.items():
    found = st.agree(strat, first, map_)
    print(name, found["r"].values.round(2), found["verdict"].values)

figure = st.plot.agree(found)[0].figure
