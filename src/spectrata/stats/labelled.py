"""Arrays of tests and descriptions as Datasets."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.operators import Laplacian
from spectrata.core.stratification import Stratification
from spectrata.inputs.graphs import Graph
from spectrata.results.build import along_rows, node_labels

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.stats.nulls.stopping import Chance
    from spectrata.stats.verbs.reading import Reading

LONG_NAMES = {
    "r": "correlation between the two ends of a pair: above 0 alike, below 0 unlike",
    "p": "two-sided p of this test by itself",
    "p_family": "p corrected over the hops and snapshots",
    "r_given": "r of what the covariates leave of the signal",
    "p_given": "two-sided p given the covariates, of this test by itself",
    "p_family_given": "p_given corrected over the hops and snapshots",
    "q": "false discovery rate over columns or nodes (Benjamini and Hochberg)",
    "q_given": "the same given the covariates",
    "verdict": "alike, unlike, chance, how the two tests differ at the level .05, or not tested, or undefined",
    "near_level": "whether a corrected p is so near .05 that more permutations could change the verdict",
    "chance_low": "2.5 % quantile of r under permutation, of one hop at a time",
    "chance_high": "97.5 % quantile of r under permutation, of one hop at a time",
    "participation": "endpoint variance over the variance of all nodes",
    "between_parts": "share of the variation that lies between connected parts of the pairs",
    "geary": "Geary's ratio: participation times 1 - r",
    "moran": "Moran's I",
    "p_from_tail": "whether p comes from a generalised Pareto tail of the permutations",
    "status": "ok, or why values are NaN, or what makes the hop weak evidence",
    "n_pairs": "pairs of nodes at this hop distance",
}


def of_tests(plain: "Chance", conditional: "Chance") -> dict[str, np.ndarray]:
    """The variables of r and of r given covariates, by name."""
    found = {"r": plain.value, "p": plain.p, "p_family": plain.p_family}
    found |= {"r_given": conditional.value, "p_given": conditional.p, "p_family_given": conditional.p_family}
    found |= {"near_level": plain.near_level | conditional.near_level}
    return found | {"chance_low": plain.low, "chance_high": plain.high}


def labelled(
    reading: "Reading",
    arrays: dict[str, np.ndarray],
    last: tuple[str, ...],
    coords: dict[str, Any],
    words: dict[str, str],
    facts: dict[str, Any],
) -> "xr.Dataset":
    """Arrays ``(T, C, ...)`` as a Dataset, with the dimensions snapshot and column where the signal has them."""
    import xarray as xr

    graph = reading.strat.graph
    axes: dict[str, Any] = {} if reading.snapshots is None else {"snapshot": list(reading.snapshots)}
    axes |= {"column": [column.name for column in reading.columns]} if reading.separate else {}
    rows = {name: array.reshape(-1, *array.shape[2:]) for name, array in arrays.items()}
    variables: dict[str, Any] = {name: along_rows(row, ("snapshot", *last), axes) for name, row in rows.items()}
    coords = {"hop": list(reading.hops)} | coords
    if "node" in last:
        variables |= graph_variables(graph)
        coords |= node_coordinates(graph)
    known = {"metric": reading.metric, "n_edges": graph.n_edges} | made_from(reading.strat)
    ds = xr.Dataset(variables, coords | axes, known | facts)
    words = LONG_NAMES | words
    for name in (*ds.data_vars, "n_pairs"):
        ds[name].attrs |= {"long_name": words[str(name)]} if name in words else {}
    return ds


def made_from(strat: Stratification, operator: Laplacian | None = None) -> dict[str, Any]:
    """The attributes that say what a description was made with."""
    known = {} if operator is None else {"laplacian": operator.laplacian, "self_loops": int(operator.self_loops)}
    graph = {"weights": strat.weights, "graph_hash": strat.graph.digest, "n_nodes": strat.graph.n_nodes}
    return known | graph | {"spectrata_version": __version__}


def node_coordinates(graph: Graph) -> dict[str, Any]:
    return {"node": node_labels(graph.names)[0], "node_row": ("node", np.arange(graph.n_nodes))}


def graph_variables(graph: Graph) -> dict[str, Any]:
    """Edges of the graph and, where it has them, positions, for pictures of nodes."""
    words = {"long_name": "rows of the nodes that each edge of the graph joins"}
    found: dict[str, Any] = {"edges": (("edge", "end"), graph.edges, words)}
    words = {"long_name": "where the node is, as the graph says"}
    return found if graph.positions is None else found | {"position": (("node", "axis"), graph.positions, words)}
