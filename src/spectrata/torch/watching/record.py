"""Activations in, measures and spectra out: the state of a recording."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.core.distance_strata import require_hops
from spectrata.core.hop import NOT_FINITE, OK
from spectrata.core.plan import Computing, make_plan
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import NodeCountError, OptionError, ResultError
from spectrata.inputs.graphs import as_graph, as_pairs
from spectrata.inputs.numbers import one_of, whole
from spectrata.results.schema import FIELDS
from spectrata.stats.findings.watched import MODES, as_grid, one_layer, one_pass, with_scores
from spectrata.torch.log.tables import Writer, table
from spectrata.torch.log.zarr import ZarrLog, read_scores, scores_json
from spectrata.torch.watching.hooks import copied
from spectrata.torch.watching.layers import node_rows
from spectrata.torch.watching.measures import MEASURES, Neighbours, measure
from spectrata.torch.watching.overhead import Overhead
from spectrata.torch.watching.passes import INPUT, Pass
from spectrata.torch.watching.rows import Row, join, labelled, layer_name, measures_of, with_signal
from spectrata.torch.watching.spectra import Settings, band_rows, large_hops, spectra_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.report.shown import Report

LARGE = 4000  # nodes above which spectra are computed in bands of eigenvalues
HOPS = 3  # of spectra, where nobody asked for others


class Recorder:
    """Record activations by hand: measures of each, and spectra where algorithms are named.

    Parameters
    ----------
    graph : graph-like, Stratification or None
        What :func:`spectrata.spectra` takes; None for mini-batches, each with its own graph. A Stratification also
        says how spectra are computed (``laplacian``, ``self_loops``, ``dtype``, ``device``, ``cache``).
    algorithms : str or list of str, optional
        Of :func:`spectrata.spectra`; None: measures alone, which need no decomposition. Graphs of more than 4,000
        nodes are read in 32 bands of eigenvalues, unless they are given as a Stratification.
    hops : "auto", int or iterable of int
        Of the spectra; "auto": up to 3, and 1 in bands. Measures are those of K = 1.
    weights : str, bool or array, optional
        As for :func:`spectrata.spectra`. With mini-batches True uses the edge weights given with each.
    metric : {"auto", "euclidean", "angular"}
        Of the spectra.
    zero_vectors : {"zero", "nan"}
        A row of zeros under the angular metric stays 0, half a unit from every direction, or leaves the spectrum
        undefined. ``dead_rows`` counts such rows in both cases.
    keep : tuple of str
        ``("signal",)``: keep the activations, for :meth:`over_layers` and :meth:`over_epochs`.
    seed : int
        Decides random orientations and the learning of LN-VX.
    writers : list
        Objects with ``write(dataset)`` and ``close()``.
    memory_bytes : int
        Copies that wait for their spectra, or are kept; spectra are computed when they are more.
    flush_every : int, optional
        Compute after so many recorded passes. By default when copies fill the memory, at the end, and with a log of
        spectra after every pass.
    **options
        Options of the algorithms, as for :func:`spectrata.spectra`: one mapping each.

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from spectrata.torch import Recorder
    >>> recorder = Recorder(nx.cycle_graph(6))
    >>> for epoch in range(3):
    ...     recorder.record({"hidden": torch.eye(6)[:, :4] + epoch}, epoch=epoch)
    >>> dict(recorder.dataset.sizes)["epoch"]
    3
    >>> [round(value, 3) for value in recorder.dataset["off_zero_live"].sel(layer="hidden").values.tolist()]
    [0.75, 0.072, 0.024]
    >>> [round(value, 2) for value in recorder.dataset["dead_rows"].sel(layer="hidden").values.tolist()]
    [0.33, 0.0, 0.0]
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        algorithms: str | Iterable[str] | None = None,
        hops: int | Iterable[int] | str | None = "auto",
        weights: Any = None,
        metric: str = "auto",
        zero_vectors: str = "zero",
        keep: Iterable[str] = (),
        seed: int = 0,
        writers: Sequence[Writer] = (),
        memory_bytes: int = 2**28,
        flush_every: int | None = None,
        **options: Any,
    ) -> None:
        one_of(zero_vectors, "zero_vectors", ("nan", "zero"))
        self.keep = (keep,) if isinstance(keep, str) else tuple(keep)
        for name in self.keep:
            one_of(name, "keep", ("signal",))
        hops = hops if isinstance(hops, str) else asked_hops(hops)
        self.weights, self.strat = weights, graph if isinstance(graph, Stratification) else None
        if self.strat is not None:
            if weights is not None or hops != "auto":
                raise OptionError("A Stratification has its graph read already; leave out hops and weights.")
            require_hops(self.strat, "Watching a model")
        read = None if graph is None or self.strat is not None else as_graph(graph, weights=weights)
        self.graph = read if self.strat is None else self.strat.graph
        self.settings = _settings(self.strat, algorithms, metric, seed, zero_vectors, options)
        self.hops = self._prepare_spectra(hops)
        self.writers = list(writers)
        self.log = next((one for one in self.writers if isinstance(one, ZarrLog)), None)
        self.memory_bytes = memory_bytes
        self.flush_every = whole(flush_every, "flush_every") if flush_every is not None else None
        if self.flush_every is None and self.log is not None and self.settings.algorithms:
            self.flush_every = 1  # a log holds what was computed: spectra of a killed run that wait are lost
        self.overhead = Overhead()
        self.facts: dict[str, Any] = {"model": ""}  # attributes of every result
        self.labels: dict[int, int] = {}  # epoch of each step
        self.scores: dict[int, dict[str, float]] = {}
        self.undefined: dict[str, list[int]] = {}  # by layer: rows, and those with NaN or infinite values
        self.next_step, self._continues = 0, False
        self.last_epoch: int | None = None  # of a log that is continued; -1: without labels
        self._waiting: list[Row] = []
        self.lowest = 1.0  # off_zero_live of the last pass, over its layers
        self._held = self._since = 0  # bytes of copies that wait, passes since the last flush
        self._pieces: list[xr.Dataset] = []  # results, where no log holds them
        self._kept: dict[tuple[str, int], np.ndarray] = {}
        self._neighbours: Neighbours | None = None

    def _prepare_spectra(self, hops: Any) -> tuple[int, ...]:
        """The hops of the spectra, the stratification they need, and refusals before the training begins."""
        if self.graph is None and self.settings.algorithms:
            raise OptionError(
                "Mini-batches are measured, and their graphs have no common components; leave out algorithms, or use "
                "st.spectra_many(graphs, activations) for the spectra of many graphs."
            )
        if self.graph is None and not isinstance(self.weights, (bool, str, type(None))):
            raise OptionError(
                "Mini-batches bring their own edge weights; give weights=True or their name there, not an array."
            )
        if self.graph is None or not self.settings.algorithms:
            return (1,)
        if self.strat is None and self.graph.n_nodes > LARGE:
            return large_hops(hops, self.settings)
        if self.strat is None:
            self.strat = Stratification(self.graph, HOPS if hops == "auto" else hops)
        self.strat.announce(self.settings.plan, self.settings.backend)
        return tuple(self.strat.hops)

    @property
    def n_nodes(self) -> int | None:
        """Nodes of the graph; None for mini-batches."""
        return None if self.graph is None else self.graph.n_nodes

    # ---- in

    def record(
        self,
        layers: Mapping[str, torch.Tensor],
        *,
        epoch: int | None = None,
        step: int | None = None,
        edge_index: torch.Tensor | None = None,
        edge_weight: torch.Tensor | None = None,
        mode: str = "train",
    ) -> None:
        """Take activations, one tensor with a row per node for each layer.

        Parameters
        ----------
        layers : mapping of str to Tensor
        epoch, step : int, optional
            Labels; steps count up by themselves.
        edge_index, edge_weight : Tensor, optional
            The graph of this pass, for a recorder without one; weights count where it was made with ``weights``.
        mode : {"train", "eval", "control"}
        """
        one_of(mode, "mode", MODES)
        self.resume()
        if self.graph is None and edge_index is None:
            raise OptionError("This recorder has no graph; give edge_index.")
        n = self.n_nodes
        if self.graph is None and edge_index is not None:
            n = max((len(tensor) for tensor in layers.values()), default=0)
        given = Pass(self.next_step if step is None else step, True, mode, n_nodes=n)
        for name, tensor in layers.items():
            rows = node_rows(tensor, n)
            if rows is None:
                raise NodeCountError(f"{name!r} has shape {tuple(tensor.shape)}, but the graph has {n} nodes.")
            given.layers[name] = copied(rows)
        if self.graph is None and edge_index is not None:
            given.graph["edge_index"] = copied(edge_index)
            if self.weights and edge_weight is None:
                raise OptionError(f"This recorder has weights={self.weights!r}; give edge_weight with edge_index.")
            if self.weights and edge_weight is not None:
                given.graph["edge_weight"] = copied(edge_weight.reshape(-1))
        self.overhead.passes += 1
        self.overhead.recorded += 1
        if epoch is not None:
            self.label([given.step], int(epoch))
        self.add(given)

    def add(self, given: Pass) -> None:
        """Measure a pass, and keep its copies while their spectra wait."""
        start = time.perf_counter()
        self.next_step = max(self.next_step, given.step + 1)
        needs_copies = bool(self.settings.algorithms or self.keep)
        near, rows = self._graph_of(given), []
        for key in (*given.layers, *given.missing):
            x, name = given.layers.get(key), layer_name(key)
            what = name, given.roles.get(key, "layer"), given.step, given.mode
            if x is None:
                rows.append(Row(*what, 0, None, f"missing: {given.missing[key]}"))
                continue
            found = measure(x, near)
            reason, kept = NOT_FINITE if found is None else OK, x.cpu() if needs_copies else None
            rows.append(Row(*what, int(x.shape[1]), found, reason, kept))
            self._held += x.nbytes if needs_copies else 0
            counted = self.undefined.setdefault(name, [0, 0])
            counted[0], counted[1] = counted[0] + 1, counted[1] + (found is None)
        self._waiting += rows
        shares = [row.measures["off_zero_live"] for row in rows if row.measures and row.role != INPUT]
        self.lowest = min(shares, default=1.0)
        self._since += 1
        self.overhead.activations += len(given.layers)
        if self.log is not None and not self.settings.algorithms:
            self.log.note({"rows": [row.to_json() for row in rows]})
        self.overhead.measure += time.perf_counter() - start
        if self._held > self.memory_bytes or (self.flush_every is not None and self._since >= self.flush_every):
            self.flush()

    def _graph_of(self, given: Pass) -> Neighbours:
        """The graph that measures are taken on; a mini-batch is one graph."""
        if self.graph is not None:
            if self._neighbours is None:
                own = np.asarray(self.graph.edges), self.graph.n_nodes, self.graph.weights
                self._neighbours = Neighbours.of(*own)
            return self._neighbours
        pairs, n = given.graph["edge_index"].cpu().numpy().T, int(given.n_nodes or 0)
        if not pairs.size:
            return Neighbours.of(pairs, n)
        weights = given.graph["edge_weight"].cpu().numpy() if self.weights else False
        graph = as_graph(edges=as_pairs(pairs), n_nodes=n, weights=weights, undirected=True)
        return Neighbours.of(np.asarray(graph.edges), n, graph.weights)

    def label(self, steps: Iterable[int], epoch: int) -> None:
        """Label passes, before or after they were recorded."""
        self.resume()
        chosen = list(steps)
        self.labels |= dict.fromkeys(chosen, epoch)
        if self.log is not None and chosen:
            self.log.note({"steps": chosen, "epoch": epoch})

    def score(self, epoch: int, scores: Mapping[str, Any]) -> None:
        """Take scores of an epoch, and hand them to the writers that have a place for them."""
        self.resume()
        numbers = {name: _number(name, value) for name, value in scores.items()}
        self.scores.setdefault(epoch, {}).update(numbers)
        if self.log is not None and numbers:
            self.log.note({"epoch": epoch, "scores": numbers})
        for writer in self.writers if numbers else ():
            if hasattr(writer, "write_scores"):
                writer.write_scores(epoch, numbers)

    def resume(self) -> None:
        """Continue the log of an earlier run, once, which must be of the same graph, model and options."""
        if self.log is None or self._continues:
            return
        self.log.lock()
        found, self._continues = self.log.resume(self.facts | self.attributes()), True
        if found is not None:
            self.facts["model"] = self.facts["model"] or found.attrs["model"]
            self.next_step = max(self.next_step, int(found["step"].values.max(initial=-1)) + 1)
            self.scores = read_scores(found)
            self.last_epoch = int(found["epoch"].values.max(initial=-1))
            self.facts |= {name: found.attrs[name] for name in ("first_step",) if name in found.attrs}

    def attributes(self) -> dict[str, Any]:
        """Attributes that two runs must share to write to one log."""
        weights = self.strat.weights if self.strat is not None else bool(self.weights)
        compared = self.settings.to_json() | {"hops": list(self.hops), "weights": weights}
        graph = "" if self.graph is None else self.graph.digest
        return {
            "graph_hash": graph, "model": self.facts["model"], "recorded": json.dumps(compared, sort_keys=True)
        }  # fmt: skip

    # ---- out

    def flush(self) -> None:
        """Compute what waits, and hand it to the writers."""
        with self.overhead.counting_rest():
            rows = self._waiting
            if rows:
                ds = labelled(self._computed(rows), self.labels).assign_attrs(self.facts | self.attributes())
                for writer in sorted(self.writers, key=lambda one: one is self.log):  # a log last
                    writer.write(ds)
                if self.log is None:
                    self._pieces.append(ds)
                else:  # which has their labels now
                    gone = {row.step for row in rows}
                    self.labels = {step: epoch for step, epoch in self.labels.items() if step not in gone}
            for row in rows if self.keep else ():
                if row.values is not None:
                    self._kept[row.layer, row.step] = row.values.numpy()
            self._waiting, self._held, self._since = [], 0, 0

    def _computed(self, rows: list[Row]) -> "xr.Dataset":
        """Measures of rows, beside spectra where algorithms were named."""
        if not self.settings.algorithms:
            return measures_of(rows, self.graph is None)
        start = time.perf_counter()
        assert self.graph is not None
        if self.strat is None:
            ds = band_rows(self.graph, rows, self.hops, self.settings)
        else:
            ds = spectra_of(self.strat, rows, self.settings)
        ds = ds.assign(measures_of(rows, batches=False).drop_vars("status").data_vars)
        self.overhead.spectra += time.perf_counter() - start
        return ds

    @property
    def snapshots(self) -> "xr.Dataset":
        """Everything so far as one result whose snapshots are (pass, layer) pairs."""
        return with_scores(self._rows().load())

    @property
    def dataset(self) -> "xr.Dataset":
        """Everything so far with dims ``layer`` and ``epoch`` (or ``step``) instead of ``snapshot``."""
        return with_scores(as_grid(self._rows().load()))

    def _rows(self) -> "xr.Dataset":
        """All rows with their labels and scores; those of a log are read when used."""
        self.flush()
        if self.log is not None and self.log.exists():
            ds = self.log.lazy()
        elif self._pieces:
            self._pieces = [join(self._pieces)]
            ds = self._pieces[0]
        else:
            words = "run a forward pass of the watched model inside `with watch(model, data) as w:`, then read w"
            raise ResultError(f"Nothing was recorded; {words}.")
        return labelled(ds, self.labels).assign_attrs(self.facts | {"scores": scores_json(self.scores)})

    def over_layers(self, step: int | None = None, mode: str | None = None) -> "xr.Dataset":
        """One pass, its layers as snapshots in the order of the model.

        Parameters
        ----------
        step : int, optional
            A pass by its number, or from the end; by default the last in evaluation mode, or the last where there is
            none. The attributes ``pass_mode``, ``pass_step`` and ``pass_epoch`` name it.
        mode : {"train", "eval", "control"}, optional
            The last pass of this mode.
        """
        return with_signal(with_scores(one_pass(self._rows(), step, mode)), self._kept)

    def over_epochs(self, layer: str, mode: str | None = None) -> "xr.Dataset":
        """One layer, its passes as snapshots: those in evaluation mode where there are any, or those of a mode."""
        return with_signal(with_scores(one_layer(self._rows(), layer_name(layer), mode)), self._kept)

    def table(self) -> "pd.DataFrame":
        """One row per layer and pass, and per hop where there are spectra."""
        return table(self.snapshots)

    def report(self, path: str | Path | None = None, **words: Any) -> "Report":
        """Make one HTML page about the run; see :func:`spectrata.write_report`."""
        import spectrata

        if self.graph is None:
            raise ResultError("A page needs one graph: watch(model, data). For mini-batches use table() or a log.")
        from spectrata.stats.verbs.profile import Profile, profile

        words.setdefault("name", self.facts.get("model_name", "activations"))
        words.setdefault("pos", self.graph.positions)
        layers = self.over_layers()
        if self.settings.algorithms:
            found = replace(profile(layers), run=self.dataset)
        else:
            strat = self.strat or Stratification(self.graph, 1)
            found = Profile(strat, None, spectrata.diagnose(layers), result=layers, run=self.dataset)
        return spectrata.write_report(found, path=path, **words)

    def close(self) -> None:
        """Compute what is left and close the writers."""
        try:
            self.flush()
            if self.log is not None:
                self.log.finish(self.labels, self.facts | {"scores": scores_json(self.scores)})
        finally:
            for writer in self.writers:
                writer.close()


def _settings(
    strat: Stratification | None, algorithms: Any, metric: str, seed: int, zero_vectors: str, options: dict[str, Any]
) -> Settings:
    """Settings of the spectra of every activation, refused at once where they cannot be computed."""
    how = Computing() if strat is None else strat.computing
    options = {"laplacian": how.laplacian, "self_loops": how.self_loops} | options
    precision: Any = {"dtype": how.dtype, "solved_in_double": True}
    plan = make_plan(algorithms or "gft", options, 0, seed=seed, keep=(), diagnose=False, **precision)
    return Settings(plan.algorithms if algorithms else (), plan, metric, zero_vectors, how.device)


TAKEN = {"layer", "role", "step", "epoch", "mode", "width", "hop", "snapshot", "evaluation", *MEASURES, *FIELDS}


def _number(name: str, value: Any) -> float:
    if name in TAKEN:
        raise OptionError(f"A score cannot be called {name!r}, which names something in every result; choose another.")
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        raise OptionError(f"The score {name}={value!r} is not one number.") from None
