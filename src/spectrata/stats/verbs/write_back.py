"""Put the result of a reading into the object that it was computed from: an AnnData, or a networkx graph."""

from typing import Any

import numpy as np
import pandas as pd

from spectrata.errors import OptionError, warn
from spectrata.inputs.readers.objects import is_anndata
from spectrata.results.files import to_table
from spectrata.stats.nulls.given import as_list

PREFIX = "spectrata"
# Of each gene, and of each cell or node: what a table beside the data should have.
OF_COLUMNS = (
    "r",
    "chance_low",
    "chance_high",
    "p",
    "q",
    "r_given",
    "p_given",
    "q_given",
    "verdict",
    "reach",
    "reach_open",
    "scale",
)
OF_NODES = ("r", "p", "q", "q_given", "verdict")


def write_back(graph: Any, result: Any, verb: str, signal: Any = None, asked: dict[str, Any] | None = None) -> None:
    """Write a result into ``var`` and ``obs`` of an AnnData, else into its ``uns``, or into attributes of nodes.

    The AnnData is the graph or, beside another graph, the signal. Every name begins with ``spectrata_``. What is tested
    per gene goes to ``var``, what is tested per cell to ``obs``, and everything, with the arguments of the call, to
    ``uns``. Texts are categories of objects, which anndata can write into a file whatever pandas makes of text.
    """
    target = signal if is_anndata(signal) and not is_anndata(graph) else graph
    if is_anndata(target):
        table, facts = _table(result), {**getattr(result, "attrs", {}), **(asked or {})}
        arguments = {name: _storable(value) for name, value in facts.items() if value is not None}
        target.uns[f"{PREFIX}_{verb}"] = {"table": table, "arguments": arguments}
        if verb == "local":
            by_node, cells = _by_node(result), [str(name) for name in target.obs_names]
            if by_node.index.is_unique and set(by_node.index) == set(cells):  # else cells are in the order of nodes
                by_node = by_node.loc[cells]
            _take_out(target.obs)
            for name, values in by_node.items():
                target.obs[f"{PREFIX}_{name}"] = _storable(values.to_numpy())
        elif "column" in table and set(table["column"]) <= set(target.var_names):
            first = table.drop_duplicates("column").set_index("column").reindex(target.var_names)
            for name in (name for name in OF_COLUMNS if name in first):
                own = f"{PREFIX}_{verb}_{name}" if verb != "rank_columns" else f"{PREFIX}_{name}"
                target.var[own] = _storable(first[name])
        elif "column" in table:
            held = f"the result is in adata.uns['{PREFIX}_{verb}']"
            warn(f"The columns are not named as the genes are, so adata.var stays as it is; {held}.")
    elif hasattr(target, "adj") and hasattr(target, "nodes") and verb == "local":
        for held in target.nodes.values():
            _take_out(held)
        for name, values in _by_node(result).items():
            for node, value in zip(target.nodes, values.tolist(), strict=True):
                target.nodes[node][f"{PREFIX}_{name}"] = value
    else:
        where = "an AnnData, or a networkx graph" if verb == "local" else "an AnnData"
        kind = type(target).__name__
        raise OptionError(f"write=True puts the result into {where}, and this is a {kind}; leave it out.")


def _take_out(held: Any) -> None:
    """Take out the values of nodes of an earlier call, which may have had other columns and tests."""
    ends = tuple(f"_{name}" for name in OF_NODES)
    for name in [name for name in held if str(name).startswith(f"{PREFIX}_") and str(name).endswith(ends)]:
        del held[name]


def _table(result: Any) -> Any:
    """One row per test, in columns that a file can hold."""
    if hasattr(result, "to_frame"):
        table = result.to_frame()
    elif hasattr(result, "data_vars"):
        table = to_table(result)
    else:
        table = result.copy()
    table.columns = [str(name) for name in table.columns]
    return table.apply(_storable)


def _storable(values: Any) -> Any:
    """Values that anndata can write into a file: texts as categories of objects, of arguments their text."""
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
    return ", ".join(one if isinstance(one, str) else f"values of shape {np.shape(one)}" for one in as_list(given))


def _by_node(result: Any) -> pd.DataFrame:
    """One row per node, at the first hop and the last snapshot; of several columns with their names."""
    one = result.isel({dim: at for dim, at in (("hop", 0), ("snapshot", -1)) if dim in result.dims})
    names = [name for name in OF_NODES if name in one]
    found = {name: one[name].values for name in names}
    if "column" in one.dims:
        places = enumerate(one["column"].values.tolist())
        found = {f"{column}_{name}": one[name].isel(column=at).values for at, column in places for name in names}
    return pd.DataFrame(found, index=[str(node) for node in one["node"].values])
