"""Put the result of a reading into the object that it was computed from: an AnnData, or a networkx graph."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.readers.objects import is_anndata
from spectrata.stats.nulls.given import several

PREFIX = "spectrata"
# Of each gene, and of each cell or node: what a table beside the data should have.
OF_COLUMNS = ("r", "chance_low", "chance_high", "p", "q", "r_given", "p_given", "q_given", "verdict", "reach", "scale")
OF_NODES = ("r", "p", "q", "q_given", "verdict")


def write_back(
    graph: Any, result: Any, verb: str, signal: Any = None, asked: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write a result into ``var`` and ``obs`` of an AnnData, else into its ``uns``, or into attributes of nodes.

    The AnnData is the graph or, beside another graph, the signal. Every name begins with ``spectrata_``. What is tested
    per gene goes to ``var``, what is tested per cell to ``obs``, and everything, with the arguments of the call, to
    ``uns``. Texts are categories of objects, which anndata can write into a file whatever pandas makes of text.
    """
    target = signal if is_anndata(signal) and not is_anndata(graph) else graph
    if is_anndata(target):
        table = _table(result)
        facts = {**getattr(result, "attrs", {}), **asked}
        target.uns[f"{PREFIX}_{verb}"] = {
            "table": table,
            "arguments": {name: _storable(value) for name, value in facts.items() if value is not None},
        }
        if verb == "local":
            order = _rows_of(target, result)
            for name, values in _per_node(result).items():
                target.obs[f"{PREFIX}_{name}"] = _storable(values[order])
        elif "column" in table and set(table["column"]) <= set(target.var_names):
            first = table.drop_duplicates("column").set_index("column").reindex(target.var_names)
            for name in (name for name in OF_COLUMNS if name in first):
                own = f"{PREFIX}_{verb}_{name}" if verb != "rank_columns" else f"{PREFIX}_{name}"
                target.var[own] = _storable(first[name])
    elif hasattr(target, "adj") and hasattr(target, "nodes") and verb == "local":
        for name, values in _per_node(result).items():
            for node, value in zip(target.nodes, values.tolist(), strict=True):
                target.nodes[node][f"{PREFIX}_{name}"] = value
    else:
        where = "an AnnData, or a networkx graph" if verb == "local" else "an AnnData"
        kind = type(target).__name__
        raise OptionError(f"write=True puts the result into {where}, and this is a {kind}; leave it out.")


def _table(result: Any) -> Any:
    """One row per test, in columns that a file can hold."""
    if hasattr(result, "to_frame"):
        table = result.to_frame()
    elif hasattr(result, "data_vars"):
        kept = [name for name, found in result.data_vars.items() if not {"edge", "axis"} & set(found.dims)]
        table = result[kept].to_dataframe().reset_index()
    else:
        table = result.copy()
    table.columns = [str(name) for name in table.columns]
    return table.apply(_storable)


def _storable(values: Any) -> Any:
    """Values that anndata can write into a file: texts as categories of objects, of arguments their text."""
    import pandas as pd

    if not hasattr(values, "dtype"):
        plain = isinstance(values, str | int | float) or (isinstance(values, list) and np.ndim(values) == 1)
        return values if plain else str(values)
    if isinstance(values.dtype, pd.CategoricalDtype) or values.dtype.kind in "biufmM":
        return values
    codes, texts = pd.factorize(np.asarray(values, dtype=object), sort=True)
    found = pd.Categorical.from_codes(codes, pd.Index(texts, dtype=object))
    return pd.Series(found, values.index) if hasattr(values, "index") else found


def said_given(given: Any) -> str:
    """The argument ``given=`` as text: names as they are, of values their shape."""
    if given is None or isinstance(given, bool):
        return str(given)
    return ", ".join(one if isinstance(one, str) else f"values of shape {np.shape(one)}" for one in several(given))


def _rows_of(target: Any, result: Any) -> np.ndarray:
    """The node of each cell: by name where the result has the cells' names, else in order."""
    names, nodes = [str(name) for name in target.obs_names], [str(node) for node in result["node"].values]
    place = {node: row for row, node in enumerate(nodes)}
    by_name = place.keys() == set(names) and len(place) == len(nodes)
    return np.array([place[name] for name in names]) if by_name else np.arange(len(nodes))


def _per_node(result: Any) -> dict[str, np.ndarray]:
    """Values of each node at the first hop; of several columns with their names."""
    one = result.isel(hop=0)
    if "snapshot" in one.dims:
        one = one.isel(snapshot=-1)
    names = [name for name in OF_NODES if name in one]
    if "column" not in one.dims:
        return {name: one[name].values for name in names}
    columns = one["column"].values.tolist()
    return {f"{column}_{name}": one[name].sel(column=column).values for column in columns for name in names}
