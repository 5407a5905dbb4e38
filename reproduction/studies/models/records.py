"""The records of a study as one Dataset, and as a table of models beside arrays of measures."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from reproduction.studies.models import graphs, running
from reproduction.studies.models import protocol as rules
from reproduction.studies.models.graphs import SPLITS
from reproduction.studies.models.protocol import HOPS, MESSAGES, SELF_LOOPS, WITHOUT_MESSAGES, Protocol
from spectrata.errors import ResultError

EDGES = (MESSAGES, SELF_LOOPS)
LAST_HIDDEN, OUTPUTS = "last hidden", "outputs"
POSITIONS = (LAST_HIDDEN, OUTPUTS)
GROUPS = ("failed", "middle", "good")
CONFIGURATION = ("graph", "architecture", "depth", "trained")


def collect(protocol: Protocol, out: Path, data: Path | None = None) -> xr.Dataset:
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
    counts = [len(held[unit.name]["seed"]) for unit in known]
    n_states = np.repeat([held[unit.name]["measure"].shape[2] for unit in known], counts)
    measure = np.full((len(n_states), len(EDGES), n_states.max(), len(MEASURES)), np.nan, dtype=np.float32)
    for unit, rows in zip(known, np.split(np.arange(len(n_states)), np.cumsum(counts)[:-1]), strict=True):
        found = held[unit.name]["measure"]  # (R, edges, state, measure)
        for index, name in enumerate(unit.evaluated):
            measure[rows, EDGES.index(name), : found.shape[2]] = found[:, index]
    score, loss, seed, recipe = (
        np.concatenate([held[unit.name][name] for unit in known]) for name in ("score", "loss", "seed", "recipe")
    )
    of_model = {name: np.repeat([getattr(unit, name) for unit in known], counts) for name in CONFIGURATION}
    of_model |= {"recipe": np.array([one.name for one in protocol.recipes])[recipe], "seed": seed, "n_states": n_states}
    loaded = [graphs.load(spec, data, protocol.seed) for spec in protocol.graphs]
    of_graph = {"half": [spec.half for spec in protocol.graphs], "classes": [graph.classes for graph in loaded]}
    of_graph |= {"nodes": [graph.n for graph in loaded], "n_edges": [len(graph.edges) for graph in loaded]}
    nothing = {"measure": np.full((1, 1, len(MEASURES)), np.nan, dtype=np.float32)}
    inputs = [held.get(f"{graph.name}-{running.INPUT}", nothing)["measure"][0, 0] for graph in loaded]
    ds = xr.Dataset(
        {
            "measure": (("model", "edges", "state", "measure_name"), measure),
            "score": (("model", "split"), score),
            "loss": ("model", loss),
            "input_measure": (("graph_name", "measure_name"), np.stack(inputs)),
            "baseline": (("graph_name", "split"), [[graph.baseline(split) for split in SPLITS] for graph in loaded]),
        },
        {"edges": list(EDGES), "measure_name": list(MEASURES), "split": list(SPLITS)}
        | {"graph_name": [graph.name for graph in loaded]}
        | {name: ("graph_name", values) for name, values in of_graph.items()}
        | {name: ("model", values) for name, values in of_model.items()},
    )
    return ds.assign_attrs(kind="models study", protocol=protocol.name, protocol_digest=protocol.digest)


@dataclass(frozen=True, eq=False)
class Models:
    ds: xr.Dataset  # of collect
    seed: int = 0  # of the bootstrap

    @cached_property
    def graphs(self) -> pd.DataFrame:
        """One row per graph: size, half, baseline and best scores, and whether it enters."""
        ds = self.ds
        columns = {name: ds[name].values for name in ("half", "nodes", "n_edges", "classes")}
        index = pd.Index(ds["graph_name"].values, name="graph")
        table = pd.DataFrame(columns, index).rename(columns={"n_edges": "edges"})
        means = self._scored[self._scored["trained"] == MESSAGES]
        means = means.groupby(["graph", "architecture", "depth", "recipe"])[["train", "test"]].mean()
        for prefix, split in (("", "test"), ("train_", "train")):
            table[f"{prefix}baseline"] = ds["baseline"].sel(split=split).values
            table[f"{prefix}best"] = means[split].groupby("graph").max()
        best = means["test"].groupby("graph").idxmax().reindex(table.index)
        table["best_model"] = [f"{a}, {d} layers, {r}" for _, a, d, r in best]
        table["enters"] = table["best"] - table["baseline"] >= rules.ENTERS
        return table

    @cached_property
    def _scored(self) -> pd.DataFrame:
        ds = self.ds
        columns = {name: ds[name].values for name in (*CONFIGURATION, "recipe", "seed", "n_states", "loss")}
        return pd.DataFrame(columns | {split: ds["score"].sel(split=split).values for split in SPLITS})

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per model: what it is, its scores, ``progress``, ``group``, whether it ``fits``, its ``half``."""
        table, known = self._scored.copy(), self.graphs
        of = table["graph"]
        for name in ("half", "classes", "enters"):
            table[name] = of.map(known[name])
        for prefix, split in (("", "test"), ("train_", "train")):
            low, high = of.map(known[f"{prefix}baseline"]), of.map(known[f"{prefix}best"])
            table[f"{prefix}progress"] = (table[split] - low) / (high - low)
        table["fits"] = table["train_progress"] > rules.FITS
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
                values[f"low_{hop}"] = values[f"band_{hop}_1"] / off
                values[f"high_{hop}"] = values[f"band_{hop}_4"] / off
        values[~(values["dead_share"].to_numpy() < 1)] = -np.inf  # all dead, or not finite
        values[(state < 0) | ((own == 1) & (row == 0))] = np.nan  # absent
        return values


def group_of(progress: np.ndarray) -> np.ndarray:
    """Group of each model by its progress."""
    return np.where(progress < rules.FAILED, "failed", np.where(progress > rules.GOOD, "good", "middle"))
