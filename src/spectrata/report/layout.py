"""Where nodes are drawn, and which eigenvectors a page holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.plot.places import directions, given_places, node_places, two_axes
from spectrata.report.contents import Contents
from spectrata.results.build import graph_of
from spectrata.results.schema import View
from spectrata.stats.describe.spectrum import lengths

ALL_KEPT = 400_000  # numbers up to which every eigenvector is kept, in single precision
NUMBERS_KEPT = 1_000_000  # else as many of the strongest as this, quantised
LOWEST = 5  # eigenspaces next to zero that are always kept: the ones with names
MEMBERS = 8  # of a repeated eigenvalue; its summed squares stand for the rest
STRONGEST_NODES = 8  # named beside the drawing
STRONGEST = 6  # eigenspaces per hop that are always kept
MOST_EDGES = 60_000  # more would be one grey patch, and slow to draw


@dataclass(frozen=True, eq=False)
class Space:
    """One eigenspace of a hop."""

    space: int
    components: list[int]  # of the members kept
    members: np.ndarray  # (kept, n)
    length: np.ndarray | None  # (n,): root of the summed squares over all members, for repeated eigenvalues
    strongest: tuple[np.ndarray, np.ndarray]  # nodes and values


@dataclass(frozen=True, eq=False)
class Drawing:
    """The drawn graph: places of the nodes, edges, eigenspaces per hop, and the signal along two axes."""

    places: np.ndarray  # (n, 2)
    edges: np.ndarray  # (m, 2), empty where there are too many
    spaces: list[list[Space]]  # per hop
    quantised: bool
    embedding: np.ndarray | None  # (T, n, 2)
    axes: str


def drawing(out: Contents, pos: Any = None) -> Drawing:
    """Place the nodes, and keep the strongest eigenvectors when the graph is large."""
    result = out.result
    n, hops = result.n_nodes, len(result.hops)
    edges = result.fixed("edges", "edge", "end")
    everything = n * n * hops <= ALL_KEPT
    spaces: list[list[Space]] = []
    for row in range(hops):
        vectors = _vectors(out, row)
        if vectors is None:
            spaces.append([])
            continue
        wanted = sorted(_strongest(result, row, everything, n, hops))
        spaces.append([_space(result.eigenspace[row], space, vectors) for space in wanted])
    found = given_places(pos, graph_of(result.ds) if out.strat is None else out.strat.graph)
    where = node_places(edges, n) if found is None else found
    places, words = None, ""
    if out.signal is not None:
        places, words = two_axes(directions(out.signal, result.metric))
    return Drawing(where, edges if len(edges) <= MOST_EDGES else edges[:0], spaces, not everything, places, words)


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
    room = max(10, NUMBERS_KEPT // (n * hops))
    low = list(range(min(LOWEST + 1, count)))
    sizes = np.minimum(np.bincount(eigenspace), MEMBERS)
    kept: list[int] = []
    for space in dict.fromkeys([*order[:STRONGEST], *low, *order]):
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


def _space(eigenspace: np.ndarray, space: int, vectors: np.ndarray) -> Space:
    components = np.flatnonzero(eigenspace == space)
    members = vectors[:, components]
    length = np.sqrt(np.sum(members**2, axis=1))
    lead = members[:, 0] if len(components) == 1 else length
    order = np.argsort(-np.abs(lead), kind="stable")[:STRONGEST_NODES]
    kept = np.ascontiguousarray(members[:, :MEMBERS].T)  # a view would keep all eigenvectors of the hop
    repeated = length if len(components) > 1 else None
    return Space(space, components[:MEMBERS].tolist(), kept, repeated, (order, lead[order]))
