"""Figures of Task 3: graph, weights, embeddings on the sphere, spectra and eigenvectors."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction import words
from reproduction.figures import drawing as to
from reproduction.tasks import task3
from reproduction.tasks.caveman import COMMUNITIES, EDGES, NODES, caveman_graph, true_labels
from spectrata.core.stratification import Stratification

START, FINAL = to.ORANGE, to.BLUE  # yellow and blue in the paper
CLUSTER_COLOURS = np.array([to.VERMILION, to.BLUE, to.GREEN, to.PURPLE])
SELECTED_EIGENVECTORS = ((1, (2, 9, 12)), (2, (1, 2, 9)), (3, (2, 3, 9)))


def supplements(ds: xr.Dataset, folder: Path) -> dict[str, Path]:
    with to.styled():
        hops = ds["hop"].values.tolist()
        drawn = {f"All eigenvectors at K = {k}": (f"eigenvectors-k{k}", all_eigenvectors(ds, k)) for k in hops}
        for kind in ds["kind"].values.tolist():
            name = f"task3-magnitudes-{kind.replace('/', '-')}"
            drawn[f"Task 3, {words.ALGORITHMS[kind]}: magnitudes before and after"] = name, spectra(ds, kind)
        return to.save_all(drawn, folder, dpi=90)


def positions() -> np.ndarray:
    """Places of the 13 nodes in the plane, three branches around A."""
    place = {"A": np.zeros(2)}
    for turn, branch in enumerate(COMMUNITIES[1:]):
        angle = np.pi / 2 - turn * 2 * np.pi / 3
        rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        places = rotation @ np.array([(1.0, 0.0), (1.8, 0.45), (1.8, -0.45), (2.7, 0.45)]).T
        place |= dict(zip(branch, places.T, strict=True))
    return np.array([place[node] for node in NODES])


def strata(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(1, 6, width=13, height=2.9)
    at, colours = positions(), CLUSTER_COLOURS[true_labels()]
    for ax, stratum in zip(axes[0], Stratification(caveman_graph()).strata, strict=True):
        for x, y in stratum.edges:
            ax.plot(*at[[x, y]].T, color=to.GREY, lw=1, zorder=1)
        ax.scatter(*at.T, c=colours, s=130, zorder=2)
        for node, (x, y) in zip(NODES, at, strict=True):
            ax.text(x, y, node, ha="center", va="center", fontsize=8, color="white", zorder=3)
        ax.set(title=f"K = {stratum.hop}: {stratum.n_edges} edges, {stratum.n_parts} parts", aspect="equal")
        ax.axis("off")
    return figure


def weights(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(1, 2, width=9, height=3.0, sharex=True)
    scores = ds["score"].values
    left, right = axes[0]
    for column, (name, colour) in enumerate(to.SCORES.items()):
        left.plot(task3.WEIGHTS, scores[1:, column], "o-", color=colour, label=name)
        left.axhline(scores[0, column], color=colour, ls=":", lw=1, label=f"{name} of s0: {scores[0, column]:.2f}")
    left.axvline(ds.attrs["selected_weight"], color=to.GREY, lw=6, alpha=0.3, label="selected")
    left.legend(frameon=False, fontsize=7, loc="center right")
    for name, colour, label in (("tau", to.BLUE, "τ, adjacent nodes"), ("epsilon", to.ORANGE, "ε, other nodes")):
        right.plot(task3.WEIGHTS, ds[name].values[-1], "o-", color=colour, label=label)
    right.set_ylabel("objective at the end")
    right.legend(frameon=False)
    left.set_xticks(task3.WEIGHTS)
    return to.finished(figure, axes, "score of the clustering", "weight of the regulariser")


def _stages(ds: xr.Dataset) -> tuple[tuple[int, str, str], ...]:
    """Snapshot, colour and name of s0 and of the selected result."""
    return (0, START, "s0"), (1 + ds.attrs["selected"], FINAL, f"result at weight {ds.attrs['selected_weight']:.1f}")


def embeddings(ds: xr.Dataset) -> Figure:
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    for column, (snapshot, _, title) in enumerate(_stages(ds)):
        ax = figure.add_subplot(1, 2, 1 + column, projection="3d")
        ari, ami = ds["score"].values[snapshot]
        on_sphere(ax, ds["embedding"].values[snapshot], ds["labels"].values[snapshot])
        ax.set_title(f"{title}: ARI {ari:.2f}, AMI {ami:.2f}; colours: clusters found")
    return figure


def on_sphere(ax: Any, embedding: np.ndarray, labels: np.ndarray | None = None) -> None:
    """Nodes as points on the unit sphere, coloured by cluster, with the graph's edges; equal points share a label."""
    u, v = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
    ax.plot_wireframe(np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color=to.GREY, lw=0.2, alpha=0.35)
    row = {node: i for i, node in enumerate(NODES)}
    for edge in EDGES:
        ax.plot(*embedding[[row[edge[0]], row[edge[1]]]].T, color=to.GREY, lw=0.7)
    colours = to.BLUE if labels is None else CLUSTER_COLOURS[labels]
    ax.scatter(*embedding.T, c=colours, s=26, depthshade=False)
    for names, point in _grouped(embedding):
        ax.text(*(1.15 * point), names, fontsize=7, ha="center")
    ax.set_box_aspect((1, 1, 1))
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), xticks=(-1, 0, 1), yticks=(-1, 0, 1), zticks=(-1, 0, 1))
    ax.tick_params(labelsize=6, pad=-2)


def _grouped(embedding: np.ndarray, reach: float = 0.16) -> list[tuple[str, np.ndarray]]:
    """Nodes whose points nearly coincide, with their mean point, so that their labels do not overlap."""
    groups: list[list[int]] = []
    for row, point in enumerate(embedding):
        for group in groups:
            if np.linalg.norm(embedding[group].mean(axis=0) - point) < reach:
                group.append(row)
                break
        else:
            groups.append([row])
    return [("".join(NODES[row] for row in group), embedding[group].mean(axis=0)) for group in groups]


def spectra(ds: xr.Dataset, kind: str) -> Figure:
    magnitude = ds["magnitude"].loc[kind].values

    def paint(ax: Axes, k: int) -> str:
        start, final = magnitude[0, k], magnitude[1 + ds.attrs["selected"], k]
        x = np.arange(len(start))
        ax.plot(x, start, "o-", color=START, ms=3.5, label="s0")
        ax.plot(x, final, "s-", color=FINAL, ms=3.5, label=f"result at weight {ds.attrs['selected_weight']:.1f}")
        ax.set_ylim(bottom=0)
        return f", largest change {np.nanmax(np.abs(final - start)):.3f}"

    return to.hop_panels(ds, kind, paint)


def merged(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(2, 3, width=12, height=2.9)
    for k, ax in enumerate(axes.flat):
        values = ds["merged_eigenvalue"].values[k]
        spaces = np.flatnonzero(np.isfinite(values))
        sizes = np.bincount(ds["eigenspace"].values[k])
        for stage, (snapshot, colour, label) in enumerate(_stages(ds)):
            point = ds["merged"].values[snapshot, k, spaces]
            low, high = np.percentile(ds["basis_merged"].values[:, stage, k][:, spaces], [2.5, 97.5], axis=0)
            shift = (stage - 0.5) * 0.22
            ax.vlines(spaces + shift, low, high, color=colour, lw=4, alpha=0.35)
            ax.plot(spaces + shift, point, "o", color=colour, ms=4, label=label)
        names = [f"{v:.2f}" + (f" ×{s}" if s > 1 else "") for v, s in zip(values[spaces], sizes, strict=True)]
        ax.set_xticks(spaces, names, rotation=90, fontsize=6.5)
        ax.set_title(f"K = {k + 1}")
        ax.set_ylim(bottom=0)
    return to.finished(figure, axes, "merged ENS (l2)", "eigenvalue × multiplicity", 2)


def chosen_eigenvectors(ds: xr.Dataset) -> Figure:
    figure, axes = to.sheet(3, 3, width=12, height=1.9, sharex=True, sharey=True)
    for row, (hop, components) in enumerate(SELECTED_EIGENVECTORS):
        for ax, component in zip(axes[row], components, strict=True):
            _eigenvector(ax, ds, hop, component)
    return to.finished(figure, axes, [f"K = {hop}" for hop, _ in SELECTED_EIGENVECTORS], "node")


def all_eigenvectors(ds: xr.Dataset, hop: int) -> Figure:
    figure, axes = to.sheet(4, 4, width=12, height=1.6, sharex=True, sharey=True)
    for component, ax in enumerate(axes.flat):
        ax.set_visible(component < ds.sizes["component"])
        if ax.get_visible():
            _eigenvector(ax, ds, hop, component)
    return figure


def _eigenvector(ax: Axes, ds: xr.Dataset, hop: int, component: int) -> None:
    vector = ds["eigenvectors"].values[hop - 1, :, component]
    times = int(ds["multiplicity"].values[hop - 1, component])
    ax.bar(range(len(vector)), vector, color=to.GREY if times > 1 else to.BLUE)
    ax.axhline(0, color="black", lw=0.5)
    ax.set_xticks(range(len(vector)), NODES)
    ax.tick_params(labelbottom=True, labelsize=7)
    value = abs(ds["eigenvalue"].values[hop - 1, component])
    repeated = f", {times}-fold: one of many bases" if times > 1 else ""
    ax.set_title(f"λ{component} = {value:.3f}{repeated}", fontsize=8)
