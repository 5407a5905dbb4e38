"""Which nodes and eigenvectors a page holds, and where the nodes are drawn."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spectrata.analysis.layout import coordinates, magnitudes, parameters
from spectrata.kernels.scaling import squarable
from spectrata.plot.places import MOST_DRAWN, directions, drawn_nodes, node_places, two_axes
from spectrata.report.contents import Contents

if TYPE_CHECKING:
    import xarray as xr

ALL_KEPT = 400_000  # numbers up to which every eigenvector is kept, in single precision
NUMBERS_KEPT = 160_000  # else as many of the strongest as this, quantised
LOWEST = 5  # eigenspaces next to zero that are always kept: the ones with names
MEMBERS = 8  # of a repeated eigenvalue; its summed squares stand for the rest
STRONGEST_NODES = 8  # named beside the drawing, drawn or not
MARKED = 6  # components per hop whose strongest nodes are sure to be drawn


@dataclass(frozen=True, eq=False)
class Space:
    """One eigenspace of a hop on the drawn nodes."""

    space: int
    components: list[int]  # of the members kept
    members: np.ndarray  # (kept, drawn)
    length: (
        np.ndarray | None
    )  # (drawn,): root of the summed squares over all members, for repeated eigenvalues
    shown: float  # share of the eigenspace's energy on drawn nodes
    strongest: tuple[np.ndarray, np.ndarray]  # nodes and values, of the whole graph


@dataclass(frozen=True, eq=False)
class Drawing:
    """The drawn graph: nodes, their places, edges among them, eigenspaces per hop, and the embedding."""

    nodes: np.ndarray  # (drawn,) rows of the graph
    places: np.ndarray  # (drawn, 2)
    edges: np.ndarray  # (m, 2) positions among the drawn
    spaces: list[list[Space]]  # per hop
    quantised: bool
    embedding: np.ndarray | None  # (T, drawn, 2)
    axes: str


def drawing(out: Contents) -> Drawing:
    """Lay out the graph once; thin it, and keep the strongest eigenvectors, when it is large."""
    ds = out.ds
    n, hops = int(ds.attrs["n_nodes"]), len(ds["hop"])
    edges = ds["edges"].values
    everything = n * min(n, MOST_DRAWN) * hops <= ALL_KEPT
    wanted = [_strongest(ds, row, everything, n, hops) for row in range(hops)]
    pieces: list[list[tuple[int, np.ndarray, np.ndarray]]] = []
    marked: list[int] = []
    for row in range(hops):
        vectors = _vectors(out, row)
        pieces.append([] if vectors is None else _columns(ds, row, wanted[row], vectors))
        for _, _, columns in pieces[-1][:MARKED]:
            marked.extend(np.argsort(-np.abs(columns[:, 0]))[:6].tolist())
    nodes = drawn_nodes(edges, n, wanted=list(dict.fromkeys(marked)))
    position = np.full(n, -1)
    position[nodes] = np.arange(len(nodes))
    among = position[edges]
    among = among[(among >= 0).all(axis=1)]
    spaces = [[_space(*piece, nodes) for piece in sorted(row, key=lambda p: p[0])] for row in pieces]
    places, words = None, ""
    if out.signal is not None:
        found, words = two_axes(directions(out.signal, str(ds.attrs["metric"])))
        places = found[:, nodes]
    return Drawing(nodes, node_places(among, len(nodes)), among, spaces, not everything, places, words)


def _strongest(ds: "xr.Dataset", row: int, everything: bool, n: int, hops: int) -> list[int]:
    """Eigenspaces to keep at one hop, strongest first: by their largest share in any algorithm and snapshot."""
    _, eigenspace, multiplicity = coordinates(ds)
    values, _ = squarable(np.nan_to_num(magnitudes(ds)[:, :, row]))  # (algorithm, T, n)
    norms = np.linalg.norm(values, axis=-1, keepdims=True)
    share = (values / np.where(norms > 0, norms, 1.0)).max(axis=(0, 1))
    count = int(eigenspace[row].max()) + 1
    strength = np.zeros(count)
    np.maximum.at(strength, eigenspace[row], share)
    order = np.argsort(-strength, kind="stable").tolist()
    if everything:
        return order
    room = max(10, NUMBERS_KEPT // (min(n, MOST_DRAWN) * hops))
    low = list(range(min(LOWEST + 1, count)))
    sizes = {int(a): int(min(MEMBERS, r)) for a, r in zip(eigenspace[row], multiplicity[row], strict=True)}
    kept: list[int] = []
    for space in dict.fromkeys([*order[:MARKED], *low, *order]):
        room -= sizes[space]
        if room < 0:
            break
        kept.append(space)
    return kept


def _vectors(out: Contents, row: int) -> np.ndarray | None:
    """Eigenvectors of one hop, (n, n), kept in the result or solved by the stratification."""
    if "eigenvectors" in out.ds:
        return out.ds["eigenvectors"].isel(hop=row).transpose("node", "component").values
    if out.strat is None:
        return None
    laplacian = parameters(out.ds).get("laplacian", "combinatorial")
    return out.strat.basis(int(out.ds["hop"].values[row]), laplacian).dense()


def _columns(
    ds: "xr.Dataset", row: int, wanted: list[int], vectors: np.ndarray
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Eigenspace, its components, and columns: the members kept, and last the root of all summed squares."""
    eigenspace = ds["eigenspace"].transpose("hop", "component").values[row]
    found = []
    for space in wanted:
        components = np.flatnonzero(eigenspace == space)
        members = vectors[:, components]
        length = np.sqrt(np.sum(members**2, axis=1, keepdims=True))
        found.append((space, components, np.concatenate([members[:, :MEMBERS], length], axis=1)))
    return found


def _space(space: int, components: np.ndarray, columns: np.ndarray, nodes: np.ndarray) -> Space:
    length = columns[:, -1]
    lead = columns[:, 0] if len(components) == 1 else length
    order = np.argsort(-np.abs(lead), kind="stable")[:STRONGEST_NODES]
    return Space(
        space,
        components[:MEMBERS].tolist(),
        columns[nodes, :-1].T,
        length[nodes] if len(components) > 1 else None,
        float(np.sum(length[nodes] ** 2) / np.sum(length**2)),
        (order, lead[order]),
    )
