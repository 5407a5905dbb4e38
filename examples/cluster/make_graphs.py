"""Write random graphs with signals, and a manifest of them: python make_graphs.py FOLDER COUNT."""

import csv
import sys
from pathlib import Path

import networkx as nx
import numpy as np


def main():
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    with (folder / "manifest.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["graph", "signal", "name"])
        for i in range(count):
            n = int(rng.integers(20, 60))
            nx.write_gml(nx.gnp_random_graph(n, 0.15, seed=i), folder / f"{i}.gml")
            np.save(folder / f"{i}.npy", rng.standard_normal((n, 8)))
            table.writerow([f"{i}.gml", f"{i}.npy", f"graph {i}"])


if __name__ == "__main__":
    main()
