"""Mini-batches of many small graphs: spectra per graph, brought together by bands.

Eigencomponents of two graphs do not correspond, bands do: components off zero cut into equal counts, so
that the lowest band of every graph is its smoothest quarter. Each graph counts the same.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata._version import __version__
from spectrata.analysis.layout import band_groups, group_reduce, merge_rule
from spectrata.core.algorithms.base import OK, ZERO_VECTOR
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SpectrataError
from spectrata.inputs.graphs import as_pairs
from spectrata.inputs.signals import resolve_metric
from spectrata.torch import formulas
from spectrata.torch.bases import tensor_basis
from spectrata.torch.buffer import Snapshot
from spectrata.torch.transform import Row, Settings, row_coordinates, rows_of

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
        Hops wanted; a graph has those of them that it has.
    """

    def __init__(self, hops: int | Iterable[int] | None = 3, most: int = MOST_GRAPHS) -> None:
        asked = asked_hops(hops)
        if asked is None:
            raise OptionError(
                "hops=None cannot be asked of mini-batches; say up to which hop, such as hops=3."
            )
        self.hops, self.most = asked if isinstance(asked, int) else asked[-1], most
        if self.hops > MOST_HOPS:
            raise OptionError(f"hops={self.hops} is more than mini-batches have room for, {MOST_HOPS}.")
        self._kept: OrderedDict[bytes, Stratification | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, edges: np.ndarray, n: int) -> Stratification | None:
        """The stratification of a graph with edges ``(2, E)``; None where it has none (a single node, no edge)."""
        edges = np.sort(edges, axis=0)
        edges = np.unique(edges[:, edges[0] != edges[1]], axis=1)  # undirected, simple
        key = n.to_bytes(8, "little") + edges.tobytes()
        if key not in self._kept:
            try:
                pairs = as_pairs(edges.T)
                made = Stratification(edges=pairs, n_nodes=n, hops=self.hops) if edges.size else None
            except SpectrataError:
                made = None
            self._kept[key] = made
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def batch_spectra(
    snapshots: Sequence[Snapshot], settings: Settings, graphs: GraphCache, device: torch.device
) -> "xr.Dataset":
    """Bands of every activation, averaged over the graphs of its batch.

    Returns
    -------
    Dataset
        Over ``snapshot`` (pass and layer): ``band_share(algorithm, snapshot, hop, band)`` with its
        ``band_spread`` over graphs, ``off_zero(snapshot,
        hop)``, ``n_graphs(snapshot, hop)`` (graphs that have the hop and could be computed), ``status``.
    """
    import xarray as xr

    if any(name not in formulas.FORMULAS for name in settings.algorithms) or settings.options:
        raise OptionError(f"Mini-batches work with {', '.join(formulas.FORMULAS)} and their default options.")
    rows: list[Row] = []
    found: list[dict[str, Any]] = []
    for snapshot in snapshots:
        pieces = _split(snapshot, graphs)
        for row in rows_of([snapshot]):
            rows.append(row)
            found.append(_one_row(row, pieces, settings, graphs.hops, device))
    names = found[0].keys()
    stacked = {name: np.stack([one[name] for one in found]) for name in names}
    status = np.stack([np.broadcast_to(one, (graphs.hops,)) for one in stacked["status"]])
    algorithms = len(settings.algorithms)
    dims = ("algorithm", "snapshot", "hop", "band")
    variables = {
        "band_share": (dims, stacked["share"].transpose(1, 0, 2, 3)),
        "band_spread": (dims, stacked["spread"].transpose(1, 0, 2, 3)),
        "n_graphs": (("snapshot", "hop"), stacked["count"]),
        "status": (
            ("algorithm", "snapshot", "hop"),
            np.repeat(status[None], algorithms, axis=0).astype("<U64"),
        ),
    }
    if "gft" in settings.algorithms:
        variables["off_zero"] = (("snapshot", "hop"), stacked["off_zero"])
    coords = {"algorithm": list(settings.algorithms), "hop": np.arange(1, graphs.hops + 1)}
    ds = xr.Dataset(variables, coords | row_coordinates(rows))
    return ds.assign_attrs(spectrata_version=__version__, kind="mini-batches", bands=settings.bands)


def _split(snapshot: Snapshot, graphs: GraphCache) -> list[tuple[np.ndarray, Stratification | None]]:
    """The nodes of each graph of a batch, and its stratification."""
    edges, batch = np.asarray(snapshot.graph["edge_index"]), np.asarray(snapshot.graph["batch"])
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
        mine = local[edges[:, by_owner[cuts[index] : cuts[index + 1]]]]
        pieces.append((nodes, graphs.get(mine, len(nodes))))
    return pieces


def _one_row(
    row: Row,
    pieces: list[tuple[np.ndarray, Stratification | None]],
    settings: Settings,
    hops: int,
    device: torch.device,
) -> dict[str, Any]:
    shape = (len(pieces), len(settings.algorithms), hops, settings.bands)
    share, off = np.full(shape, np.nan), np.full((len(pieces), hops), np.nan)
    words: set[str] = set()
    if row.values is not None:
        metric = resolve_metric(settings.metric, row.values.shape[1])
        for index, (nodes, strat) in enumerate(pieces):
            values = row.values[nodes]
            if strat is None:
                words.add(NO_EDGE)
            elif metric == "angular" and (values == 0).all(axis=1).any():
                words.add(ZERO_VECTOR)
            else:
                _one_graph(strat, values, metric, settings, device, share[index], off[index])
    known = ~np.isnan(share).all(axis=(1, 3))  # (graph, hop)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        some = np.maximum(np.sum(~np.isnan(share), axis=0), 1)
        mean = np.nansum(share, axis=0) / some
        spread = np.sqrt(np.nansum((share - mean) ** 2, axis=0) / some)
        energy = np.nansum(off, axis=0) / np.maximum(np.sum(~np.isnan(off), axis=0), 1)
    empty = count == 0
    mean[:, empty], spread[:, empty], energy[empty] = np.nan, np.nan, np.nan
    reason = row.reason if row.values is None else "; ".join(sorted(words))
    word = np.where(
        empty, reason or "no graph has this hop", f"{OK}, without some: {reason}" if reason else OK
    )
    return {
        "share": mean,
        "spread": spread,
        "off_zero": energy,
        "count": count,
        "status": word.astype(object),
    }


def _one_graph(
    strat: Stratification,
    values: np.ndarray,
    metric: str,
    settings: Settings,
    device: torch.device,
    share: np.ndarray,
    off: np.ndarray,
) -> None:
    """Fill shares ``(algorithm, hop, band)`` and energies off zero ``(hop,)`` of one graph."""
    with torch.no_grad():
        # Shares do not depend on the signal's size, and squares must keep their digits.
        t, _ = formulas.scaled(
            formulas.potential(torch.as_tensor(values, device=device).double()[None], metric)
        )
        for hop in strat.hops:
            tensors = tensor_basis(strat, hop, device)
            basis = strat.basis(hop)
            groups = band_groups(basis.eigenspace[None], basis.multiplicity[None], settings.bands)
            for index, name in enumerate(settings.algorithms):
                magnitude = formulas.FORMULAS[name](t, tensors).cpu().numpy()  # (1, n)
                energy = group_reduce(magnitude, groups, settings.bands, merge_rule(name, {}))[0] ** 2
                total = np.nansum(energy)
                # A graph may have fewer components than bands; bands without one hold nothing.
                share[index, hop - 1] = np.nan_to_num(energy) / total if total > 0 else np.nan
                if name == "gft":
                    all_energy = float(np.sum(magnitude**2))
                    off[hop - 1] = total / all_energy if all_energy > 0 else np.nan
