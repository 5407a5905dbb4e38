"""Graphs too large to decompose while a model trains: bands of eigenvalues instead of components."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.bands.spectra import band_spectra
from spectrata.core import resources
from spectrata.core.registry import row_of
from spectrata.core.strata import Stratum, asked_hops
from spectrata.errors import OptionError, warn
from spectrata.inputs.graphs import Graph
from spectrata.kernels.backend import NUMPY
from spectrata.torch.transform import TEXT, Row, Settings, backend_for, by_width, common_metric, row_coordinates

if TYPE_CHECKING:
    import xarray as xr

LARGE = 4000  # nodes above which a decomposition takes longer than one waits for
COMPONENTS = 32  # bands that take the place of components
TOLERANCE = 0.02  # of cumulative shares: some 40 Lanczos steps for bands of equal width, whatever the graph


def asked(hops: Any, default: int) -> Any:
    """Hops as given, or the default for "auto"."""
    return default if isinstance(hops, str) and hops == "auto" else hops


def large_hops(hops: Any) -> tuple[int, ...]:
    """The hops of a large graph: the first where nobody asked for others."""
    wanted = asked_hops(asked(hops, 1))
    if wanted is None:
        raise OptionError("hops=None needs all hop distances of a large graph; name the hops, such as hops=[1].")
    return tuple(range(1, wanted + 1)) if isinstance(wanted, int) else tuple(wanted)


def served_by_bands(settings: Settings) -> tuple[str, ...]:
    """The algorithms that bands serve, refused where one of them was asked for that they do not."""
    assert settings.algorithms is not None
    for name in settings.algorithms:
        if not row_of(name).in_bands:
            raise OptionError(
                f"{name} needs a decomposition, and graphs of more than {LARGE:,} nodes are watched in bands; use "
                "algorithms='gft', or decompose=True."
            )
    return settings.algorithms


def announce(graph: Graph, hops: Sequence[int], settings: Settings, hop_weights: str, device: torch.device) -> None:
    """Warn once, with the cost of one column measured on this machine."""
    signal = np.random.default_rng(0).normal(size=(graph.n_nodes, 1))
    start = time.perf_counter()
    _bands(graph, signal[None], hops, settings, hop_weights, device)
    seconds = time.perf_counter() - start
    dense = resources.duration(resources.solve_seconds([graph.n_nodes] * len(hops)))
    warn(
        f"The graph has {graph.n_nodes:,} nodes: spectra are computed in {COMPONENTS} bands of eigenvalues, of equal "
        f"width, at hops={list(hops)}. One column of an activation takes about {seconds:.2g} s, after "
        f"training or when the buffer is full; a decomposition (decompose=True) would take about {dense} once."
    )


def band_rows(
    graph: Graph, rows: Sequence[Row], hops: Sequence[int], settings: Settings, hop_weights: str, device: torch.device
) -> "xr.Dataset":
    """What ``spectra_of`` gives of a graph that is decomposed: one result whose components are bands."""
    import xarray as xr

    pieces, order = [], []
    for group in by_width(rows):
        values = np.stack([rows[i].values for i in group]).astype(np.float64)  # type: ignore[misc]
        pieces.append(_bands(graph, values, hops, settings, hop_weights, device))
        order += group
    absent = [index for index, row in enumerate(rows) if row.values is None]
    if absent:
        like = (
            pieces[0] if pieces else _bands(graph, np.ones((1, graph.n_nodes, 1)), hops, settings, hop_weights, device)
        )
        pieces.append(_nothing(like, [rows[i].reason for i in absent]))
        order += absent
    moving = [name for name in pieces[0].data_vars if "snapshot" in pieces[0][name].dims]
    words: Any = {"dim": "snapshot", "coords": "minimal", "compat": "override", "join": "override"}
    joined = xr.concat([piece[moving] for piece in pieces], combine_attrs="override", **words)
    joined = joined.isel(snapshot=np.argsort(order, kind="stable"))
    fixed = {name: pieces[0][name] for name in pieces[0].data_vars if name not in moving}
    ds = joined.assign(fixed).assign_coords(row_coordinates(rows))
    widths = [row.values.shape[1] for row in rows if row.values is not None]
    facts = {"metric": common_metric(settings.metric, widths), "n_dimensions": max(widths, default=1)}
    return ds.assign(status=ds["status"].astype(TEXT["status"])).assign_attrs(facts)


def first_stratum(graph: Graph, hops: Sequence[int]) -> Stratum | None:
    """The graph itself as a stratum, where its edges are the first hop."""
    return Stratum(1, graph.n_nodes, graph.edges, graph.weights) if hops[0] == 1 else None


def _bands(
    graph: Graph, values: np.ndarray, hops: Sequence[int], settings: Settings, hop_weights: str, device: torch.device
) -> "xr.Dataset":
    backend = backend_for(device)
    options = {name: settings.options[name] for name in ("laplacian", "self_loops") if name in settings.options}
    return band_spectra(
        graph,
        values,
        COMPONENTS,
        list(hops),
        settings.algorithms,
        settings.metric,
        tol=TOLERANCE,
        seed=settings.seed,
        zero_vectors=settings.zero_vectors,
        hop_weights=hop_weights,
        device=None if backend == NUMPY else backend,
        **options,
    )


def _nothing(like: "xr.Dataset", reasons: Sequence[str]) -> "xr.Dataset":
    """Rows without values, each with its reason."""
    rows = like.isel(snapshot=[0] * len(reasons)).copy(deep=True)
    for name in rows.data_vars:
        if "snapshot" in rows[name].dims and rows[name].dtype.kind == "f":
            rows[name] = rows[name] * np.nan
    rows["status"] = rows["status"].astype(object)
    rows["status"][:] = np.array(reasons, dtype=object)[None, :, None]
    return rows
