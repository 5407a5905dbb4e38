"""Draw the label spectra of homophilous and heterophilous graphs: `python benchmarks/label_spectra.py --data FOLDER`.

Reads cora.npz, wisconsin.npz, chameleon_filtered.npz, actor.npz and minesweeper.npz (`edges`, `n_nodes`, `labels`)
from the folder, prints a table, and writes `docs/images/recipe_labels.png`.
"""

import argparse
from pathlib import Path

import numpy as np

import spectrata as st

GRAPHS = ("cora", "wisconsin", "chameleon_filtered", "actor", "minesweeper")
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "recipe_labels.png"
EDGES = np.linspace(0.0, 2.0, 22)  # 1, where twins put many eigenvalues, lies in the middle of a band


def label_spectrum(path: Path) -> dict:
    """Share of the labels' energy off zero per band of the normalised Laplacian, and that of the eigenvalues."""
    with np.load(path) as file:
        edges, n, labels = file["edges"], int(file["n_nodes"]), file["labels"]
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    classes, index = np.unique(labels, return_inverse=True)
    one_hot = np.eye(len(classes))[index]
    one_hot -= one_hot.mean(axis=0)
    strat = st.Stratification(edges=edges, n_nodes=n, hops=1, laplacian="normalized")
    ds = st.band_spectra(strat, one_hot, bands=EDGES, algorithms="gft", metric="euclidean")
    energy = ds["energy"].sel(algorithm="gft", hop=1).values
    return {
        "nodes": n,
        "edges": len(edges),
        "homophily": float(np.mean(labels[edges[:, 0]] == labels[edges[:, 1]])),
        "chance": float(np.sum((np.bincount(index) / n) ** 2)),
        "energy": energy / energy.sum(),
        "eigenvalues": ds["band_size"].sel(hop=1).values / ds["band_size"].sel(hop=1).values.sum(),
        "status": str(ds["status"].values.ravel()[0]),
    }


def draw(found: dict[str, dict]) -> None:
    """One panel per graph: the labels' energy, and a line for signals without structure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 4.4), layout="constrained")
    middle, width = (EDGES[1:] + EDGES[:-1]) / 2, EDGES[1] - EDGES[0]
    *panels, last = figure.subplots(2, 3, sharex=True).flat
    for ax, (name, one) in zip(panels, found.items(), strict=False):
        ax.bar(middle, one["energy"], width=0.9 * width, color="#0072B2", label="labels")
        ax.stairs(one["eigenvalues"], EDGES, color="#D55E00", label="chance: eigenvalues")
        ax.set_title(f"{name.replace('_', ' ')}\nedge homophily {one['homophily']:.2f}", fontsize=10)
        ax.set_ylim(0, 1.1 * max(one["energy"].max(), one["eigenvalues"].max()))
    for ax in panels[len(found) :]:
        ax.axis("off")
    panels[2].xaxis.set_tick_params(labelbottom=True)
    last.axis("off")
    last.legend(*panels[0].get_legend_handles_labels(), loc="center", frameon=False)
    figure.supylabel("share of the energy off zero", fontsize=10)
    figure.supxlabel("eigenvalue of the normalised Laplacian", fontsize=10)
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the .npz files")
    folder = parser.parse_args().data
    found = {name: label_spectrum(folder / f"{name}.npz") for name in GRAPHS}
    above = EDGES[:-1] > 1.0
    heads = ("graph", "nodes", "edges", "edge homophily", "of shuffled labels", "energy above 1.05")
    print(f"| {' | '.join(heads)} | eigenvalues above 1.05 |")
    print("|---|---|---|---|---|---|---|")
    for name, one in found.items():
        high, chance = one["energy"][above].sum(), one["eigenvalues"][above].sum()
        print(
            f"| {name} | {one['nodes']:,} | {one['edges']:,} | {one['homophily']:.2f} | {one['chance']:.2f} "
            f"| {high:.0%} | {chance:.0%} |" + ("" if one["status"] == "ok" else f" {one['status']}")
        )
    draw(found)


if __name__ == "__main__":
    main()
