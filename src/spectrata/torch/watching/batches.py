"""Mini-batches of many small graphs: spectra per graph, brought together by bands.

Eigencomponents of two graphs do not correspond, bands do: components off zero cut into equal counts, so that the
lowest band of every graph is its smoothest quarter. Each graph counts the same.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from spectrata._version import __version__
from spectrata.core.engine import Piece, transform
from spectrata.core.hop import OK
from spectrata.core.plan import Plan
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SpectrataError
from spectrata.inputs.graphs import as_graph, as_pairs
from spectrata.results.schema import OPTIONS
from spectrata.stats.describe.levels import level_groups
from spectrata.torch.watching.rows import TEXT, Row, Snapshot, row_coordinates
from spectrata.torch.watching.spectra import BANDS, Batches, Settings, common_metric, floors, shares_of

if TYPE_CHECKING:
    import xarray as xr

MOST_GRAPHS = 4096  # stratifications kept; loaders bring the same graphs back every epoch
MOST_HOPS = 4096  # every row has a place for each
NO_EDGE = "no edge"


class GraphCache:
    """Stratifications of small graphs, the least used forgotten first.

    Parameters
    ----------
    hops : int or iterable of int or None
        ``3``: up to 3; a list: these. A graph has those of them that it has.
    weights : bool or str, optional
        Whether the edge weights of the mini-batches are used.
    """

    def __init__(
        self, hops: int | Iterable[int] | None = 3, weights: bool | str | None = None, most: int = MOST_GRAPHS
    ) -> None:
        if not (weights is None or isinstance(weights, (bool, str))):
            raise OptionError(
                "Mini-batches bring their own edge weights; give weights=True or their name there, not an array."
            )
        asked = asked_hops(hops)
        if asked is None:
            raise OptionError("hops=None cannot be used with mini-batches; give the largest hop, such as hops=3.")
        highest = asked if isinstance(asked, int) else asked[-1]
        if highest > MOST_HOPS:
            raise OptionError(f"hops={highest} exceeds the limit for mini-batches, {MOST_HOPS}.")
        self.hops = tuple(range(1, asked + 1)) if isinstance(asked, int) else tuple(asked)
        self.most, self.weighted = most, bool(weights)
        self._kept: OrderedDict[str, Stratification | str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def canonical(self, snapshot: Snapshot) -> tuple[np.ndarray, np.ndarray | None]:
        """The edges of a mini-batch as one graph, ``(m, 2)``, each once, and their weights where they are used."""
        edges, n = snapshot.graph["edge_index"], len(snapshot.graph["batch"])
        if self.weighted:
            try:
                known = as_graph(edges=as_pairs(edges.T), n_nodes=n, weights=snapshot.graph["edge_weight"])
                return np.asarray(known.edges), known.weights
            except SpectrataError:
                pass  # which graph has what is wrong, the status of its spectra says
        ends = np.sort(edges.T[edges[0] != edges[1]], axis=1)
        return np.unique(ends, axis=0), None

    def get(self, edges: np.ndarray, n: int, weights: np.ndarray | None = None) -> Stratification | str:
        """The stratification of a graph with edges ``(2, E)`` and weights ``(E,)``, or why it has none."""
        if not (edges[0] != edges[1]).any():
            return NO_EDGE
        try:
            given = False if weights is None else weights
            graph = as_graph(edges=as_pairs(edges.T), n_nodes=n, weights=given, undirected=True)
            if graph.digest not in self._kept:
                made = Stratification(graph, self.hops[-1])
                self._kept[graph.digest] = made.only(*(hop for hop in made.hops if hop in self.hops))
        except SpectrataError as problem:
            return str(problem).rstrip(".")
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        self._kept.move_to_end(graph.digest)
        return self._kept[graph.digest]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of every row of one pass in each of its graphs, NaN where there are none."""

    share: np.ndarray  # (row, graph, algorithm, hop, band)
    off_zero: np.ndarray  # (row, graph, hop)
    computed: np.ndarray  # (row, graph, hop): has the hop and a spectrum, if only a constant one
    words: list[set[str]]  # of each row: why some graphs are left out


def batch_spectra(rows: Sequence[Row], settings: Settings, graphs: GraphCache) -> "xr.Dataset":
    """Bands of every activation, averaged over the graphs of its batch.

    Returns
    -------
    Dataset
        Over ``snapshot`` (pass and layer): ``band_share(algorithm, snapshot, hop, band)`` with its ``band_spread``
        over graphs, ``off_zero(snapshot, hop)``, ``n_graphs(snapshot, hop)`` (graphs that have the hop and could be
        computed), and ``status``.
    """
    import xarray as xr

    plan, tables = settings.plan, []
    for _, group in groupby(rows, key=lambda row: row.step):
        here = list(group)
        found = _one_pass(here, _split(here[0], graphs), settings, graphs.hops)
        tables += [_mean_over_graphs(row, found, index) for index, row in enumerate(here)]
    share, spread, off, count, status = (np.stack(column) for column in zip(*tables, strict=True))
    dims = ("algorithm", "snapshot", "hop", "band")
    variables = {
        "band_share": (dims, share.transpose(1, 0, 2, 3)),
        "band_spread": (dims, spread.transpose(1, 0, 2, 3)),
        "n_graphs": (("snapshot", "hop"), count),
        "status": (dims[:3], np.repeat(status[None], len(plan.rows), axis=0).astype(TEXT["status"])),
    }
    if any(algorithm.exact for algorithm in plan.rows):
        variables["off_zero"] = (("snapshot", "hop"), off)
    attributes = {
        "spectrata_version": __version__,
        "kind": "mini-batches",
        "bands": BANDS,
        "laplacian": plan.options.laplacian,
        "self_loops": int(plan.options.self_loops),
        "weights": "bottleneck" if graphs.weighted else "",
        "metric": common_metric(settings.metric, [row.width for row in rows if row.width]),
        "dtype": plan.dtype,
        "seed": plan.seed,
        OPTIONS: plan.to_json(graphs.hops, settings.zero_vectors),
    }
    coords = {"algorithm": list(plan.algorithms), "hop": list(graphs.hops)}
    return xr.Dataset(variables, coords | row_coordinates(rows), attributes)


def _split(row: Row, graphs: GraphCache) -> list[tuple[np.ndarray, Stratification | str]]:
    """The nodes of each graph of a batch, and its stratification."""
    assert row.graph is not None
    edges, batch = row.graph["edge_index"], row.graph["batch"]
    weights = row.graph["edge_weight"] if graphs.weighted else None
    count = int(batch.max()) + 1 if len(batch) else 0
    order = np.argsort(batch, kind="stable")
    local = np.empty(len(batch), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(batch, minlength=count))])
    local[order] = np.arange(len(batch)) - starts[batch[order]]
    owner = batch[edges[0]]
    pieces = []
    for index in range(count):
        nodes, mine = order[starts[index] : starts[index + 1]], owner == index
        own = None if weights is None else weights[mine]
        pieces.append((nodes, graphs.get(local[edges[:, mine]], len(nodes), own)))
    return pieces


def _one_pass(
    rows: list[Row], pieces: list[tuple[np.ndarray, Stratification | str]], settings: Settings, hops: tuple[int, ...]
) -> Shares:
    """All rows of one pass, graph by graph: each graph's hops outside, its rows inside."""
    plan = settings.plan
    shape = (len(rows), len(pieces), len(plan.rows), len(hops), BANDS)
    per_hop = (*shape[:2], shape[3])
    words: list[set[str]] = [set() for _ in rows]
    found = Shares(np.full(shape, np.nan), np.full(per_hop, np.nan), np.zeros(per_hop, dtype=bool), words)
    arrays, floor = [row.array for row in rows], floors(rows)
    for index, (nodes, strat) in enumerate(pieces):
        if isinstance(strat, str):
            for own in words:
                own.add(strat)
            continue
        here = [None if array is None else array[nodes] for array in arrays]
        batches = Batches(here, len(nodes), settings.metric, settings.zero_vectors)
        made = transform(strat, batches, plan, settings.backend) if batches.groups else ()
        for number, piece in enumerate(made):
            group = batches.groups[number % len(batches.groups)]
            hop = hops.index(piece.stratum.hop)
            share, off = _shares(piece, plan, floor[group])
            found.share[group, index, :, hop] = share
            found.off_zero[group, index, hop] = off
            found.computed[group, index, hop] = np.isfinite(piece.magnitude).any(axis=(0, 2))
            for row, status in zip(group, piece.status.T, strict=True):
                words[row].update(word for word in status if word != OK)
    return found


def _shares(piece: Piece, plan: Plan, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of energy ``(T, algorithm, band)`` and energy off zero ``(T,)`` of one graph at one hop."""
    axis = piece.basis.axis
    groups, _ = level_groups(axis, "band", BANDS)
    rules = [row.merge_rule(vars(plan.options)) for row in plan.rows]
    exact = next((index for index, row in enumerate(plan.rows) if row.exact), None)
    shares = shares_of(piece.magnitude[:, :, None], groups, BANDS, rules, floor, exact)[:, :, 0].transpose(1, 0, 2)
    # A graph may have fewer components than bands; bands without one hold nothing.
    shares = np.where(np.isnan(shares).all(axis=2, keepdims=True), np.nan, np.nan_to_num(shares))
    off = np.full(len(shares), np.nan)
    for row, magnitude in zip(plan.rows, piece.magnitude, strict=True):
        if row.exact:
            energy = magnitude**2
            total = energy.sum(axis=1)
            np.divide(energy[:, ~axis.is_zero].sum(axis=1), total, out=off, where=total > 0)
    return shares, off


def _mean_over_graphs(row: Row, found: Shares, index: int) -> tuple[np.ndarray, ...]:
    """Of one row: shares and their spread, energy off zero, graphs counted, status."""
    share, off = found.share[index], found.off_zero[index]
    count = found.computed[index].sum(axis=0)  # graphs by hop
    some = np.sum(~np.isnan(share), axis=0).astype(float)
    some[some == 0] = np.nan  # constant activations have no shares
    mean = np.nansum(share, axis=0) / some
    spread = np.sqrt(np.nansum((share - mean) ** 2, axis=0) / some)
    energy = np.nansum(off, axis=0) / np.maximum(np.sum(~np.isnan(off), axis=0), 1)
    empty = count == 0
    mean[:, empty], spread[:, empty], energy[empty] = np.nan, np.nan, np.nan
    reason = row.reason if row.array is None else "; ".join(sorted(found.words[index]))
    said = f"{OK}, without some: {reason}" if reason else OK
    status = np.where(empty, reason or "no graph has this hop", said).astype(object)
    return mean, spread, energy, count, status
