"""Put the result of a reading into the object that it was computed from: an AnnData, or a networkx graph."""

from typing import Any

import numpy as np

from spectrata.errors import OptionError

PREFIX = "spectrata"
# Of each gene, and of each cell or node: what a table beside the data should have.
OF_COLUMNS = ("r", "p", "q", "p_given", "q_given", "verdict", "reach", "scale")
OF_NODES = ("r", "p", "q", "q_given", "verdict")


def write_back(target: Any, result: Any, verb: str) -> None:
    """Write what is tested per gene to ``var``, per cell to ``obs``, and all to ``uns``; or to the nodes of a graph."""
    if all(hasattr(target, name) for name in ("obs", "var", "uns", "obsp")):
        if hasattr(result, "to_frame"):
            table = result.to_frame()
        elif hasattr(result, "data_vars"):
            kept = [name for name, found in result.data_vars.items() if not {"edge", "axis"} & set(found.dims)]
            table = result[kept].to_dataframe().reset_index()
        else:
            table = result.copy()
        table.columns = [str(name) for name in table.columns]  # what a file can hold
        facts = {name: value for name, value in getattr(result, "attrs", {}).items() if value is not None}
        facts = {name: one if isinstance(one, str | int | float | bool) else str(one) for name, one in facts.items()}
        target.uns[f"{PREFIX}_{verb}"] = {"table": table, "arguments": facts}
        if verb == "local":
            for name, values in _per_node(result).items():
                target.obs[f"{PREFIX}_{name}"] = values
        elif "column" in table and set(table["column"]) <= set(target.var_names):
            first = table.drop_duplicates("column").set_index("column").reindex(target.var_names)
            for name in (name for name in OF_COLUMNS if name in first):
                target.var[f"{PREFIX}_{verb}_{name}" if verb != "rank_columns" else f"{PREFIX}_{name}"] = first[name]
    elif hasattr(target, "adj") and hasattr(target, "nodes") and verb == "local":
        for name, values in _per_node(result).items():
            for node, value in zip(target.nodes, values.tolist(), strict=True):
                target.nodes[node][f"{PREFIX}_{name}"] = value
    else:
        where = "an AnnData, or a networkx graph" if verb == "local" else "an AnnData"
        kind = type(target).__name__
        raise OptionError(f"write=True puts the result into {where}, and this is a {kind}; leave it out.")


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
