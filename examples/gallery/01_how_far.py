"""
How far does likeness reach?
============================

Zachary's karate club split in two. Members who are friends took the same side. Does that hold for friends of friends,
and where does it end?
"""

import networkx as nx

import spectrata as st

club = nx.karate_club_graph()
found = st.diagnose(club, "club", hops=4, weights=False)
print(found)

# %%
# Each stem is the correlation between members that many hops apart. Grey boxes hold 95 % of random orders of the
# members; a filled marker is a verdict, a hollow one none.

figure = st.plot.diagnose(found, club, "club")[0].figure

# %%
# Not everything that differs from chance is likeness. In Les Miserables, characters with many scenes appear with
# characters who have few: a consequence of degree, and the verdict says so.

novel = nx.les_miserables_graph()
between = nx.betweenness_centrality(novel)
figure = st.plot.diagnose(st.diagnose(novel, between, weights=False), novel, between)[
    0
].figure
