"""
Which frequencies hold more energy than chance?
===============================================

The spectrum of the karate club's split, for every pair of members one and two hops apart.
"""

import networkx as nx

import spectrata as st

club = nx.karate_club_graph()
officer = {member: float(club.nodes[member]["club"] == "Officer") for member in club}
strat = st.Stratification(club, hops=2, weights=False)

found = st.calibrate(strat, officer, "gft", draws=1999)
one = found.sel(algorithm="gft", hop=1)
print(
    f"{float(one['share'][1]):.0%} of the energy at λ = {float(one['eigenvalue'][1]):.2f}"
)

# %%
# Stems are eigenspaces. Boxes hold 2.5 to 97.5 % of the permuted signals; filled markers are beyond chance.

figure = st.plot.spectra(found)[0].figure

# %%
# Repeated averaging, as graph convolutions do it, moves the energy to the lowest frequencies.

average = nx.to_numpy_array(club, weight=None)
average /= average.sum(axis=1, keepdims=True)
layers = {"split": officer}
for steps in (1, 2, 4):
    values = list(layers.values())[-1]
    for _ in range(max(1, steps // 2)):
        values = dict(zip(club, average @ list(values.values()), strict=True))
    layers[f"averaged {steps} times"] = values
results = {name: strat.spectra(values, "gft") for name, values in layers.items()}
figure = st.plot.spectra(results, hops=[1])[0].figure
