"""
Write a report
==============

``write_report`` puts the answer into one HTML file: at which hops nodes are alike or unlike, drawn on the graph, with
tests, spectra and tables folded below. It works offline. In a notebook the report shows itself.

`Open the page this script writes <../karate-report.html>`_, or read :doc:`how to read it </report>`.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

graph = nx.Graph(nx.karate_club_graph().edges)
strat = st.Stratification(graph, hops=3)
smoothing = np.eye(34) - nx.normalized_laplacian_matrix(graph).toarray() / 2
features = np.random.default_rng(0).normal(size=(34, 8))

# %%
# Features as they are, and smoothed over the graph 4 and 16 times, under names of their own.

results = {}
for name, times in {"raw": 0, "smoothed 4": 4, "smoothed 16": 16}.items():
    vectors = np.linalg.matrix_power(smoothing, times) @ features
    results[name] = strat.spectra(dict(zip(graph, vectors, strict=True)))

folder = Path(tempfile.mkdtemp())
page = st.write_report(results, path=folder / "karate-report.html").path
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")

# %%
# ``st.plot`` draws the same results: here, the spectrogram.

figure, axes = plt.subplots(1, 3, figsize=(8, 3.2), layout="constrained")
st.plot.spectrogram(results, ax=axes, algorithm="gft")
