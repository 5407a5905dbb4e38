"""Mini-batches of many small graphs: spectra per graph, brought together by bands.

Eigencomponents of two graphs do not correspond, bands do: components off zero cut into equal counts, so that the
lowest band of every graph is its smoothest quarter. Each graph counts the same.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from spectrata._version import __version__
from spectrata.core.engine import Piece, transform
from spectrata.core.hop import OK
from spectrata.core.plan import Plan
from spectrata.core.strata import HOP_WEIGHTS, asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError, SpectrataError
from spectrata.inputs.graphs import as_pairs
from spectrata.inputs.numbers import one_of
from spectrata.inputs.weights import merged
from spectrata.results.schema import OPTIONS
from spectrata.stats.describe.levels import level_groups
from spectrata.torch.buffer import Snapshot
from spectrata.torch.transform import (
    MEASURES,
    TEXT,
    Batches,
    Row,
    Settings,
    backend_for,
    common_metric,
    floors,
    measured,
    row_coordinates,
    rows_of,
    shares_of,
    with_measures,
)

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
    hop_weights : {"bottleneck", "product", "unit"}
    """

    def __init__(
        self,
        hops: int | Iterable[int] | None = 3,
        weights: bool | str | None = None,
        hop_weights: str = "bottleneck",
        most: int = MOST_GRAPHS,
    ) -> None:
        one_of(hop_weights, "hop_weights", HOP_WEIGHTS)
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
        self.most, self.hop_weights = most, hop_weights
        self.weights = hop_weights if weights else ""
        self._kept: OrderedDict[bytes, Stratification | str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, edges: np.ndarray, n: int, weights: np.ndarray | None = None) -> Stratification | str:
        """The stratification of a graph with edges ``(2, E)`` and weights ``(E,)``, or why it has none."""
        arcs = edges.T[edges[0] != edges[1]].astype(np.int64)
        keys = arcs.min(axis=1) * n + arcs.max(axis=1)  # undirected, simple
        try:
            if weights is None:
                keys = np.unique(keys)
            else:
                keys, weights = merged(keys, weights[edges[0] != edges[1]], arcs, range(n))
        except SpectrataError as problem:
            return str(problem).rstrip(".")
        key = n.to_bytes(8, "little") + keys.tobytes() + (b"" if weights is None else weights.tobytes())
        if key not in self._kept:
            self._kept[key] = self._made(np.stack([keys // n, keys % n], axis=1), n, weights)
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _made(self, pairs: np.ndarray, n: int, weights: np.ndarray | None) -> Stratification | str:
        if not len(pairs):
            return NO_EDGE
        try:
            made = Stratification(
                edges=as_pairs(pairs), n_nodes=n, hops=self.hops[-1], weights=weights, hop_weights=self.hop_weights
            )
        except SpectrataError as problem:
            return str(problem).rstrip(".")
        return made.only(*(hop for hop in made.hops if hop in self.hops))


@dataclass(frozen=True, eq=False)
class Found:
    """Shares of every row of one pass in each of its graphs, NaN where there are none."""

    share: np.ndarray  # (row, graph, algorithm, hop, band)
    off_zero: np.ndarray  # (row, graph, hop)
    computed: np.ndarray  # (row, graph, hop): has the hop and a spectrum, if only a constant one
    words: list[set[str]]  # of each row: why some graphs are left out
    measures: dict[str, np.ndarray]  # (row, graph) each


def batch_spectra(
    snapshots: Sequence[Snapshot], settings: Settings, graphs: GraphCache, device: torch.device
) -> "xr.Dataset":
    """Bands of every activation, averaged over the graphs of its batch.

    Returns
    -------
    Dataset
        Over ``snapshot`` (pass and layer): ``band_share(algorithm, snapshot, hop, band)`` with its ``band_spread``
        over graphs, ``off_zero(snapshot, hop)``, ``n_graphs(snapshot, hop)`` (graphs that have the hop and could be
        computed), ``status``; and the measures of :func:`spectrata.smoothness` at the first hop, each the mean over
        the graphs that have that hop.
    """
    import xarray as xr

    plan = settings.plan(settings.dtype or "float64")
    rows: list[Row] = []
    tables: list[tuple[np.ndarray, ...]] = []
    measures: dict[str, list[np.ndarray]] = {}
    for snapshot in snapshots:
        here = rows_of([snapshot])
        found = _one_pass(here, _split(snapshot, graphs), settings, plan, graphs.hops, device)
        rows += here
        tables += [_mean_over_graphs(row, found, index) for index, row in enumerate(here)]
        for name, column in found.measures.items():
            count = np.sum(~np.isnan(column), axis=1)
            measures.setdefault(name, []).append(np.nansum(column, axis=1) / np.where(count, count, np.nan))
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
    coords = {"algorithm": list(plan.algorithms), "hop": list(graphs.hops)}
    widths = [row.values.shape[1] for row in rows if row.values is not None]
    attributes = {
        "spectrata_version": __version__,
        "kind": "mini-batches",
        "bands": settings.bands,
        "laplacian": plan.options.laplacian,
        "self_loops": int(plan.options.self_loops),
        "weights": graphs.weights,
        "metric": common_metric(settings.metric, widths),
        "dtype": plan.dtype,
        "seed": plan.seed,
        OPTIONS: plan.to_json(graphs.hops, settings.zero_vectors),
    }
    ds = xr.Dataset(variables, coords | row_coordinates(rows), attributes)
    return with_measures(ds, {name: np.concatenate(pieces) for name, pieces in measures.items()}, graphs.hops[0])


def _split(snapshot: Snapshot, graphs: GraphCache) -> list[tuple[np.ndarray, Stratification | str]]:
    """The nodes of each graph of a batch, and its stratification."""
    edges, batch = np.asarray(snapshot.graph["edge_index"]), np.asarray(snapshot.graph["batch"])
    if graphs.weights and "edge_weight" not in snapshot.graph:  # copies of a run without weights
        raise ResultError(f"The pass {snapshot.step} was recorded without edge weights; use weights=False.")
    weights = np.asarray(snapshot.graph["edge_weight"]) if graphs.weights else None
    count = int(batch.max()) + 1 if len(batch) else 0
    order = np.argsort(batch, kind="stable")
    local = np.empty(len(batch), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(batch, minlength=count))])
    local[order] = np.arange(len(batch)) - starts[batch[order]]
    owner = batch[edges[0]]
    by_owner = np.argsort(owner, kind="stable")
    cuts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
    pieces = []
    for index in range(count):
        nodes = order[starts[index] : starts[index + 1]]
        mine = by_owner[cuts[index] : cuts[index + 1]]
        own = None if weights is None else weights[mine]
        pieces.append((nodes, graphs.get(local[edges[:, mine]], len(nodes), own)))
    return pieces


def _one_pass(
    rows: list[Row],
    pieces: list[tuple[np.ndarray, Stratification | str]],
    settings: Settings,
    plan: Plan,
    hops: tuple[int, ...],
    device: torch.device,
) -> Found:
    """All rows of one pass, graph by graph: each graph's hops outside, its rows inside."""
    shape = (len(rows), len(pieces), len(plan.rows), len(hops), settings.bands)
    per_hop = (*shape[:2], shape[3])
    found = Found(
        np.full(shape, np.nan),
        np.full(per_hop, np.nan),
        np.zeros(per_hop, dtype=bool),
        [set() for _ in rows],
        {name: np.full(shape[:2], np.nan) for name in (MEASURES if settings.measures else ())},
    )
    for index, (nodes, strat) in enumerate(pieces):
        if isinstance(strat, str):
            for words in found.words:
                words.add(strat)
            continue
        own = [replace(row, values=None if row.values is None else row.values[nodes]) for row in rows]
        batches = Batches(own, len(nodes), settings.metric, settings.zero_vectors)
        made = transform(strat, batches, plan, backend_for(device)) if batches.groups else ()
        for number, piece in enumerate(made):
            group = batches.groups[number % len(batches.groups)]
            hop = hops.index(piece.stratum.hop)
            share, off = _shares(piece, plan, settings.bands, floors([own[row] for row in group]))
            found.share[group, index, :, hop] = share
            found.off_zero[group, index, hop] = off
            found.computed[group, index, hop] = np.isfinite(piece.magnitude).any(axis=(0, 2))
            for row, words in zip(group, piece.status.T, strict=True):
                found.words[row].update(word for word in words if word != OK)
        if settings.measures and hops[0] in strat.hops:
            for name, column in measured(strat.strata.at(hops[0]), own).items():
                found.measures[name][:, index] = column
    return found


def _shares(piece: Piece, plan: Plan, bands: int, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of energy ``(T, algorithm, band)`` and energy off zero ``(T,)`` of one graph at one hop."""
    axis = piece.basis.axis
    groups, _ = level_groups(axis, "band", bands)
    rules = [row.merge_rule(vars(plan.options)) for row in plan.rows]
    exact = next((index for index, row in enumerate(plan.rows) if row.exact), None)
    shares = shares_of(piece.magnitude[:, :, None], groups, bands, rules, floor, exact)[:, :, 0].transpose(1, 0, 2)
    # A graph may have fewer components than bands; bands without one hold nothing.
    shares = np.where(np.isnan(shares).all(axis=2, keepdims=True), np.nan, np.nan_to_num(shares))
    off = np.full(len(shares), np.nan)
    for row, magnitude in zip(plan.rows, piece.magnitude, strict=True):
        if row.exact:
            energy = magnitude**2
            total = energy.sum(axis=1)
            np.divide(energy[:, ~axis.is_zero].sum(axis=1), total, out=off, where=total > 0)
    return shares, off


def _mean_over_graphs(row: Row, found: Found, index: int) -> tuple[np.ndarray, ...]:
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
    reason = row.reason if row.values is None else "; ".join(sorted(found.words[index]))
    said = f"{OK}, without some: {reason}" if reason else OK
    status = np.where(empty, reason or "no graph has this hop", said).astype(object)
    return mean, spread, energy, count, status
