"""Which nodes and eigenvectors a page holds, and where the nodes are drawn."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.analysis.spectrum import lengths
from spectrata.plot.places import MOST_DRAWN, directions, drawn_nodes, given_places, node_places, two_axes
from spectrata.report.contents import Contents
from spectrata.results.build import graph_of
from spectrata.results.schema import View

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
    length: np.ndarray | None  # (drawn,): root of the summed squares over all members, for repeated eigenvalues
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


def drawing(out: Contents, pos: Any = None) -> Drawing:
    """Place the nodes; thin the graph, and keep the strongest eigenvectors, when it is large."""
    result = out.result
    n, hops = result.n_nodes, len(result.hops)
    edges = result.fixed("edges", "edge", "end")
    everything = n * min(n, MOST_DRAWN) * hops <= ALL_KEPT
    wanted = [_strongest(result, row, everything, n, hops) for row in range(hops)]
    pieces: list[list[tuple[int, np.ndarray, np.ndarray]]] = []
    marked: list[int] = []
    for row in range(hops):
        vectors = _vectors(out, row)
        pieces.append([] if vectors is None else _columns(result.eigenspace[row], wanted[row], vectors))
        for _, _, columns in pieces[-1][:MARKED]:
            marked.extend(np.argsort(-np.abs(columns[:, 0]))[:6].tolist())
    nodes = drawn_nodes(edges, n, wanted=list(dict.fromkeys(marked)))
    position = np.full(n, -1)
    position[nodes] = np.arange(len(nodes))
    among = position[edges]
    among = among[(among >= 0).all(axis=1)]
    spaces = [[_space(*piece, nodes) for piece in sorted(row, key=lambda p: p[0])] for row in pieces]
    found = given_places(pos, graph_of(result.ds) if out.strat is None else out.strat.graph)
    where = node_places(among, len(nodes)) if found is None else found[nodes]
    places, words = None, ""
    if out.signal is not None:
        axes, words = two_axes(directions(out.signal, result.metric))
        places = axes[:, nodes]
    return Drawing(nodes, where, among, spaces, not everything, places, words)


def _strongest(result: View, row: int, everything: bool, n: int, hops: int) -> list[int]:
    """Eigenspaces to keep at one hop, strongest first: by their largest share in any algorithm and snapshot."""
    eigenspace = result.eigenspace[row]
    values = np.nan_to_num(result.magnitude[:, :, row])  # (algorithm, R, n)
    norms = lengths(values)[..., None]
    share = (values / np.where(norms > 0, norms, 1.0)).max(axis=(0, 1))
    count = int(eigenspace.max()) + 1
    strength = np.zeros(count)
    np.maximum.at(strength, eigenspace, share)
    order = np.argsort(-strength, kind="stable").tolist()
    if everything:
        return order
    room = max(10, NUMBERS_KEPT // (min(n, MOST_DRAWN) * hops))
    low = list(range(min(LOWEST + 1, count)))
    sizes = np.minimum(np.bincount(eigenspace), MEMBERS)
    kept: list[int] = []
    for space in dict.fromkeys([*order[:MARKED], *low, *order]):
        room -= sizes[space]
        if room < 0:
            break
        kept.append(space)
    return kept


def _vectors(out: Contents, row: int) -> np.ndarray | None:
    """Eigenvectors of one hop, (n, n), kept in the result or solved by the stratification."""
    result = out.result
    if "eigenvectors" in result.ds:
        return result.fixed("eigenvectors", "hop", "node", "component")[row]
    if out.strat is None:
        return None
    facts = result.ds.attrs
    return out.strat.basis(result.hops[row], facts["laplacian"], self_loops=bool(facts["self_loops"])).dense()


def _columns(
    eigenspace: np.ndarray, wanted: list[int], vectors: np.ndarray
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Eigenspace, its components, and columns: the members kept, and last the root of all summed squares."""
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
