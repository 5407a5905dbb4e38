"""Spectra and measures of recorded rows, with the time they take: decomposed graphs and graphs read in bands."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from spectrata.core.plan import DTYPES
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.inputs.graphs import Graph
from spectrata.torch.large import band_rows, first_stratum
from spectrata.torch.overhead import Overhead
from spectrata.torch.transform import Row, Settings, add_measures, backend_for, spectra_of

if TYPE_CHECKING:
    import xarray as xr


class Computation:
    """Computes the rows of one graph.

    Parameters
    ----------
    graph, strat : Graph, Stratification or None
        The graph, and its stratification; None where it is read in bands.
    hops : tuple of int
        Of a graph that is read in bands.
    settings, hop_weights, device
        How to compute.
    overhead : Overhead
        Where the time is counted.
    cache : path, optional
        A folder for the graph's bases.
    """

    def __init__(
        self,
        graph: Graph,
        strat: Stratification | None,
        hops: Any,
        settings: Settings,
        hop_weights: str,
        device: torch.device,
        overhead: Overhead,
        cache: str | Path | None = None,
    ) -> None:
        self.graph, self.strat, self.hops = graph, strat, hops
        self.settings, self.hop_weights, self.device = settings, hop_weights, device
        self.overhead, self.cache = overhead, cache
        self._ready = False

    def rows(self, rows: Sequence[Row]) -> "xr.Dataset":
        """Spectra and measures of rows."""
        if self.strat is None:
            start = time.perf_counter()
            ds = band_rows(self.graph, rows, self.hops, self.settings, self.hop_weights, self.device)
            self.overhead.count(time.perf_counter() - start, len(rows))
            return self._measured(first_stratum(self.graph, self.hops), rows, ds)
        self._prepare(self.strat)
        start = time.perf_counter()
        ds = spectra_of(self.strat, rows, self.settings, self.device)
        self.overhead.count(time.perf_counter() - start, len(rows))
        return self._measured(self.strat.strata.at(self.strat.hops[0]), rows, ds)

    def _measured(self, stratum: Stratum | None, rows: Sequence[Row], ds: "xr.Dataset") -> "xr.Dataset":
        start = time.perf_counter()
        ds = add_measures(stratum, rows, ds, self.settings)
        self.overhead.measure += time.perf_counter() - start
        return ds

    def _prepare(self, strat: Stratification) -> None:
        """Solve the bases, once."""
        if self._ready:
            return
        start = time.perf_counter()
        self._ready = True
        if self.cache is not None:
            strat.use_cache(self.cache)
        if not fits(strat):
            return
        for hop in strat.hops:
            for dtype in DTYPES if self.settings.dtype is None else (self.settings.dtype,):
                strat.prepared(hop, self.settings.plan(dtype), backend_for(self.device))
        self.overhead.basis += time.perf_counter() - start


def fits(strat: Stratification) -> bool:
    """Whether a stratification can keep all bases, in both precisions; else each transform solves them."""
    return 12 * strat.graph.n_nodes**2 * len(strat.hops) <= strat.max_basis_bytes
