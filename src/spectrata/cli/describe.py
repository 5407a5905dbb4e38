"""A result in lines, tables and JSON, all read out of the Dataset."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.cli.terminal import one_line
from spectrata.kernels.scaling import squarable

if TYPE_CHECKING:
    import xarray as xr
    from rich.table import Table

    from spectrata.core.stratification import Stratification

NOISE = 1e-12  # what is weaker than the strongest by this factor is rounding, not a component
MAX_SNAPSHOTS = 4  # in the table; files and JSON have them all
BASIS_DEPENDENT = ("adj_diff", "ln_vx", "ens", "ens_raw")


def count(number: int, noun: str) -> str:
    """``1 node``, ``2,708 nodes``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


# ---- graph and signal, one line each


def graph_facts(strat: "Stratification", source: str) -> dict[str, Any]:
    """Sizes of the graph and its connected parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = strat.graph
    ones = np.ones(len(graph.indices), dtype=np.int8)
    matrix = csr_array((ones, graph.indices, graph.indptr), shape=(graph.n_nodes, graph.n_nodes))
    n_parts, labels = connected_components(matrix, directed=False)
    return {
        "source": source,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_parts": int(n_parts),
        "largest_part": int(np.bincount(labels).max()),
        "diameter": strat.diameter,
        "hash": graph.digest,
    }


def graph_line(facts: dict[str, Any]) -> str:
    """The graph in one line, disconnected parts said."""
    if facts["n_parts"] == 1:
        parts = "connected"
    else:
        parts = (
            f"not connected: {facts['n_parts']:,} parts, the largest of "
            f"{count(facts['largest_part'], 'node')} (no hop joins two parts)"
        )
    size = f"{count(facts['n_nodes'], 'node')}, {count(facts['n_edges'], 'edge')}"
    return one_line(f"graph: {facts['source']}: {size}, diameter {facts['diameter']}, {parts}")


def signal_facts(ds: "xr.Dataset", source: str, asked_metric: str) -> dict[str, Any]:
    """Size of the signal, and the metric with the reason for it."""
    d = int(ds.attrs["n_dimensions"])
    if asked_metric != "auto":
        why = "as asked"
    else:
        why = "one number a node" if d == 1 else f"vectors of {d} numbers are compared by their directions"
    return {
        "source": source,
        "n_dimensions": d,
        "snapshots": [_plain(value) for value in ds["snapshot"].values] if "snapshot" in ds.dims else None,
        "metric": ds.attrs["metric"],
        "metric_reason": why,
    }


def signal_line(facts: dict[str, Any]) -> str:
    """The signal in one line."""
    size = count(facts["n_dimensions"], "number") + " a node"
    if facts["snapshots"] is not None:
        size += f", {count(len(facts['snapshots']), 'snapshot')}"
    return one_line(f"signal: {facts['source']}: {size}; metric {facts['metric']} ({facts['metric_reason']})")


# ---- strongest eigenspaces


def strongest(at: "xr.Dataset", select: dict[str, Any], top: int) -> list[dict[str, Any]]:
    """The ``top`` eigenspaces of one hop by the l2 norm of their magnitudes; NaN and rounding left out.

    The split inside a repeated eigenvalue is arbitrary, the norm over it is not (for algorithms that
    are linear in the basis); zero components of several parts count as one eigenspace here.
    """
    magnitude = at["magnitude"].sel(select).values
    eigenspace, values = at["eigenspace"].values, at["eigenvalue"].values
    starts = np.flatnonzero(np.diff(eigenspace, prepend=-1))
    even, scale = squarable(np.nan_to_num(magnitude))
    defined = np.add.reduceat((~np.isnan(magnitude)).astype(int), starts) > 0
    norms = np.where(defined, np.sqrt(np.add.reduceat(even**2, starts)) * scale[0], -1.0)
    order = np.argsort(-norms, kind="stable")[:top]
    return [
        {
            "eigenvalue": float(values[starts[i]]),
            "multiplicity": int(at["multiplicity"].values[starts[i]]),
            "zero": bool(starts[i] == 0),
            "magnitude": float(norms[i]),
        }
        for i in order
        if defined[i] and (norms[i] > NOISE * norms[order[0]] or i == order[0])
    ]


def component_text(one: dict[str, Any]) -> str:
    """``0.178*: 0.28``, with * for a repeated eigenvalue."""
    if one["zero"]:
        return f"zero: {one['magnitude']:.4g}"
    star = "*" if one["multiplicity"] > 1 else ""
    return f"{one['eigenvalue']:.4g}{star}: {one['magnitude']:.4g}"


# ---- the table


def snapshots_of(ds: "xr.Dataset") -> list[dict[str, Any]]:
    """Selections of every snapshot; one empty one when the signal has none."""
    return [{"snapshot": value} for value in ds["snapshot"].values] if "snapshot" in ds.dims else [{}]


def spectra_table(ds: "xr.Dataset", top: int) -> "Table":
    """One row per hop, snapshot and algorithm."""
    from rich import box
    from rich.table import Table

    moments = _shown(snapshots_of(ds))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("K", "edges", "parts", "single"):
        table.add_column(name, justify="right")
    if moments[0]:
        table.add_column("snapshot")
    table.add_column("gradient norm", justify="right")
    table.add_column("algorithm")
    table.add_column("strongest: eigenvalue: magnitude", overflow="fold")
    for hop in ds["hop"].values:
        at = ds.sel({"hop": hop})
        sizes = [f"{int(hop)}", *(f"{int(at[name]):,}" for name in ("n_edges", "n_parts", "n_singletons"))]
        for moment in moments:
            inner = [one_line(moment["snapshot"])] if moment else []
            inner.append(f"{float(at['gradient_norm'].sel(moment)):.4g}")
            for name in ds["algorithm"].values:
                table.add_row(
                    *sizes, *inner, str(name), _cell(strongest(at, {"algorithm": name} | moment, top))
                )
                sizes, inner = [""] * 4, [""] * len(inner)
        table.add_section()
    return table


def _shown(moments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    half = MAX_SNAPSHOTS // 2
    return moments if len(moments) <= MAX_SNAPSHOTS else moments[:half] + moments[-half:]


def _cell(found: Sequence[dict[str, Any]]) -> str:
    if not found:
        return "undefined"
    if found[0]["magnitude"] == 0.0:
        return "all zero"
    return "   ".join(component_text(one) for one in found)


def footnotes(ds: "xr.Dataset") -> Iterator[str]:
    """What the table's signs mean, what it leaves out, and every status that is not ok."""
    repeated = (ds["multiplicity"].values > 1) & (
        np.arange(ds.sizes["component"]) >= ds["n_parts"].values[:, None]
    )
    if repeated.any():
        text = (
            "* repeated eigenvalue: how its magnitude splits over single components is arbitrary, "
            "so the l2 norm over the whole eigenspace is shown"
        )
        bound = [str(name) for name in ds["algorithm"].values if name in BASIS_DEPENDENT]
        yield text + (f" (for {', '.join(bound)} even that depends on the basis)." if bound else ".")
    yield "zero: the components of eigenvalue 0, one for each connected part, taken together."
    left_out = ds.sizes.get("snapshot", 1) - len(_shown(snapshots_of(ds)))
    if left_out:
        yield f"{count(left_out, 'snapshot')} in the middle not shown; the files have them all."
    yield from status_lines(ds)


def status_lines(ds: "xr.Dataset") -> list[str]:
    """Every status that is not ok, hops and snapshots gathered."""
    found: dict[tuple[str, str], tuple[list[int], list[str]]] = {}
    for moment in snapshots_of(ds):
        for name in ds["algorithm"].values:
            for hop in ds["hop"].values:
                status = str(ds["status"].sel({"algorithm": name, "hop": hop} | moment).values)
                if status == "ok":
                    continue
                hops, moments = found.setdefault((str(name), status), ([], []))
                if int(hop) not in hops:
                    hops.append(int(hop))
                label = one_line(moment["snapshot"]) if moment else ""
                if moment and label not in moments:
                    moments.append(label)
    return [
        f"{name} at K = {_some(hops)}" + (f", snapshot {_some(moments)}" if moments else "") + f": {status}"
        for (name, status), (hops, moments) in found.items()
    ]


def _some(values: Sequence[Any]) -> str:
    return ", ".join(str(value) for value in values[:8]) + (
        f" and {len(values) - 8} more" if len(values) > 8 else ""
    )


# ---- JSON


def spectra_json(ds: "xr.Dataset", top: int) -> list[dict[str, Any]]:
    """The table's content, all snapshots, as plain lists and numbers; NaN as null."""
    hops = []
    for hop in ds["hop"].values:
        at = ds.sel({"hop": hop})
        results = []
        for moment in snapshots_of(ds):
            algorithms = {
                str(name): {
                    "status": str(at["status"].sel({"algorithm": name} | moment).values),
                    "strongest": strongest(at, {"algorithm": name} | moment, top),
                }
                for name in ds["algorithm"].values
            }
            norm = float(at["gradient_norm"].sel(moment))
            results.append(
                {
                    "snapshot": _plain(moment["snapshot"]) if moment else None,
                    "gradient_norm": norm if np.isfinite(norm) else None,
                    "algorithms": algorithms,
                }
            )
        sizes = {name: int(at[name]) for name in ("n_edges", "n_parts", "n_singletons")}
        hops.append({"hop": int(hop)} | sizes | {"results": results})
    return hops


def to_json(document: dict[str, Any]) -> str:
    """One JSON document; anything that is not a number or text is an error here, not in the reader."""
    return json.dumps(document, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufU" else str(value)
