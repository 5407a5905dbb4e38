"""Bands of one graph whose rows live on a cluster's workers: python one_large_graph.py ADDRESS [NODES]."""

import sys
import tempfile

import networkx as nx
import numpy as np

import spectrata as st
from spectrata.inputs.graphs import as_graph
from spectrata.many.dask import DaskLaplacian, connect, save_rows


def main():
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    graph = as_graph(nx.fast_gnp_random_graph(n, 10 / n, seed=1))
    signal = np.random.default_rng(0).standard_normal((n, 8))
    with connect(sys.argv[1]) as client, tempfile.TemporaryDirectory() as folder:
        # Workers read their own rows; here the folder is written for them, on a cluster it is already there.
        operator = DaskLaplacian.from_folder(client, save_rows(graph, folder))
        ds = st.band_spectra(operator, signal, bands=8, algorithms="gft", lanczos={"steps": 40})
    print(ds["energy"].sel(hop=1).values.round(2))


if __name__ == "__main__":
    main()
