"""The records of a study as one Dataset, and as a table of models beside arrays of measures."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from reproduction.studies.models import graphs, running
from reproduction.studies.models.protocol import (
    ENTERS,
    FAILED,
    FITS,
    GOOD,
    HOPS,
    MESSAGES,
    SELF_LOOPS,
    WITHOUT_MESSAGES,
    Protocol,
)
from spectrata.errors import ResultError

EDGES = (MESSAGES, SELF_LOOPS)
SPLITS = ("train", "val", "test")
LAST_HIDDEN, OUTPUTS = "last hidden", "outputs"
POSITIONS = (LAST_HIDDEN, OUTPUTS)
GROUPS = ("failed", "middle", "good")


def collect(protocol: Protocol, out: str | Path, data: str | Path | None = None) -> xr.Dataset:
    """Every record as one Dataset over ``(model, edges, state, measure)``.

    ``state`` counts hidden states from 0, the last of a model's ``n_states`` being its outputs; what a model does not
    have is NaN. MLPs and controls have values for self-loops only. ``input_measure(graph, measure)`` is that of the
    features.
    """
    from reproduction.studies.models.measures import MEASURES
    from reproduction.studies.models.training import units

    store = running.store_of(protocol, out)
    held = {path.stem: arrays for path in sorted(store.folder.glob("*.npz")) if (arrays := store.load(path.stem))}
    known = [unit for unit in units(protocol) if unit.name in held]
    if not known:
        raise ResultError(f"{out} holds no record of the {protocol.name} study; run it first.")
    columns: dict[str, list[Any]] = {name: [] for name in ("graph", "architecture", "depth", "trained")}
    for unit in known:
        for name, values in columns.items():
            values += [getattr(unit, name)] * len(held[unit.name]["seed"])
    states = max(held[unit.name]["measure"].shape[2] for unit in known)
    measure = np.full((len(columns["graph"]), len(EDGES), states, len(MEASURES)), np.nan, dtype=np.float32)
    n_states, row = np.empty(len(measure), dtype=int), 0
    for unit in known:
        found = held[unit.name]["measure"]  # (R, edges, state, measure)
        rows = slice(row, row + len(found))
        for index, name in enumerate(unit.evaluated):
            measure[rows, EDGES.index(name), : found.shape[2]] = found[:, index]
        n_states[rows], row = found.shape[2], rows.stop
    joined = {
        name: np.concatenate([held[unit.name][name] for unit in known]) for name in ("score", "loss", "recipe", "seed")
    }
    loaded = [graphs.load(spec, data, protocol.seed) for spec in protocol.graphs]
    names = [graph.name for graph in loaded]
    inputs = [held.get(f"{name}-{running.INPUT}") for name in names]
    nothing = np.full(len(MEASURES), np.nan, dtype=np.float32)
    recipes = np.array([recipe.name for recipe in protocol.recipes])
    ds = xr.Dataset(
        {
            "measure": (("model", "edges", "state", "measure_name"), measure),
            "score": (("model", "split"), joined["score"]),
            "loss": ("model", joined["loss"]),
            "input_measure": (
                ("graph_name", "measure_name"),
                np.stack([nothing if found is None else found["measure"][0, 0] for found in inputs]),
            ),
            "baseline": (("graph_name", "split"), [[graph.baseline(split) for split in SPLITS] for graph in loaded]),
        },
        {
            "edges": list(EDGES),
            "measure_name": list(MEASURES),
            "split": list(SPLITS),
            "graph_name": names,
            "half": ("graph_name", [spec.half for spec in protocol.graphs]),
            "classes": ("graph_name", [graph.classes for graph in loaded]),
            "nodes": ("graph_name", [graph.n for graph in loaded]),
            "n_edges": ("graph_name", [len(graph.edges) for graph in loaded]),
            "graph": ("model", columns["graph"]),
            "architecture": ("model", columns["architecture"]),
            "depth": ("model", columns["depth"]),
            "trained": ("model", columns["trained"]),
            "recipe": ("model", recipes[joined["recipe"]]),
            "seed": ("model", joined["seed"]),
            "n_states": ("model", n_states),
        },
    )
    return ds.assign_attrs(kind="models study", protocol=protocol.name, protocol_digest=protocol.digest)


@dataclass(frozen=True, eq=False)
class Models:
    """A collected study, judged by the protocol's rules.

    Attributes
    ----------
    ds : Dataset
        Of :func:`collect`.
    """

    ds: xr.Dataset
    seed: int = 0  # of the bootstrap

    @cached_property
    def graphs(self) -> pd.DataFrame:
        """One row per graph: size, half, baseline and best scores, and whether it enters."""
        ds = self.ds
        table = pd.DataFrame(
            {
                "graph": ds["graph_name"].values,
                "half": ds["half"].values,
                "nodes": ds["nodes"].values,
                "edges": ds["n_edges"].values,
                "classes": ds["classes"].values,
                "baseline": ds["baseline"].sel(split="test").values,
                "train_baseline": ds["baseline"].sel(split="train").values,
            }
        ).set_index("graph")
        means = self._scored[self._scored["trained"] == MESSAGES]
        means = means.groupby(["graph", "architecture", "depth", "recipe"])[["train", "test"]].mean()
        best = means["test"].groupby("graph").idxmax()
        table["best"] = means["test"].groupby("graph").max()
        table["best_model"] = [f"{a}, {d} layers, {r}" for _, a, d, r in best.reindex(table.index)]
        table["train_best"] = means["train"].groupby("graph").max()
        table["enters"] = table["best"] - table["baseline"] >= ENTERS
        return table

    @cached_property
    def _scored(self) -> pd.DataFrame:
        ds = self.ds
        names = ("graph", "architecture", "depth", "trained", "recipe", "seed", "n_states")
        columns = {name: ds[name].values for name in names} | {"loss": ds["loss"].values}
        return pd.DataFrame(columns | {split: ds["score"].sel(split=split).values for split in SPLITS})

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per model: what it is, its scores, ``progress``, ``group``, whether it ``fits``, its ``half``."""
        table, known = self._scored.copy(), self.graphs
        of = table["graph"]
        table["half"], table["classes"] = of.map(known["half"]), of.map(known["classes"])
        table["enters"] = of.map(known["enters"])
        low, high = of.map(known["baseline"]), of.map(known["best"])
        table["progress"] = (table["test"] - low) / (high - low)
        low, high = of.map(known["train_baseline"]), of.map(known["train_best"])
        table["train_progress"] = (table["train"] - low) / (high - low)
        table["fits"] = table["train_progress"] > FITS
        table["group"] = group_of(table["progress"].to_numpy())
        table["gnn"] = ~table["architecture"].isin(WITHOUT_MESSAGES)
        table["cluster"] = of + "/" + table["architecture"] + "/" + table["depth"].astype(str)
        return table

    @cached_property
    def main(self) -> np.ndarray:
        """Mask of the models judged: trained as they are meant to be, on graphs that enter."""
        return ((self.table["trained"] == MESSAGES) & self.table["enters"]).to_numpy()

    def values(self, position: str, edges: str | None = None) -> pd.DataFrame:
        """Measures at a position ``(model, measure)``; minus infinity for dead states and those that are not finite.

        By default over the edges a model is meant to have: messages, or self-loops for MLPs and controls. A model
        without such a state has NaN.
        """
        ds, table = self.ds, self.table
        own = np.where((table["trained"] == MESSAGES) & table["gnn"], 0, 1)
        row = own if edges is None else np.full(len(table), EDGES.index(edges))
        state = table["n_states"].to_numpy() - (2 if position == LAST_HIDDEN else 1)
        found = ds["measure"].values[np.arange(len(table)), row, np.maximum(state, 0)].astype(float)
        values = pd.DataFrame(found, columns=ds["measure_name"].values)
        width = np.where(position == OUTPUTS, table["classes"], np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            classes = np.minimum(table["classes"], width) - 1
            values["effective_rank_per_class"] = (values["effective_rank"] - 1) / classes
            for hop in HOPS:
                off = 1 - values[f"band_{hop}_0"]
                values[f"low_{hop}"], values[f"high_{hop}"] = (
                    values[f"band_{hop}_1"] / off,
                    values[f"band_{hop}_4"] / off,
                )
        absent = (state < 0) | ((own == 1) & (row == 0))
        gone = ~(values["dead_share"].to_numpy() < 1)  # all dead, or not finite
        values[gone] = -np.inf
        values[absent] = np.nan
        return values


def group_of(progress: np.ndarray) -> np.ndarray:
    """Group of each model by its progress.

    Examples
    --------
    >>> group_of(np.array([0.09, 0.1, 0.75, 0.76])).tolist()
    ['failed', 'middle', 'middle', 'good']
    """
    return np.where(progress < FAILED, "failed", np.where(progress > GOOD, "good", "middle"))
