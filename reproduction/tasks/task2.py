"""Task 2: how well the algorithms agree with each other, on the graphs of Task 1."""

from itertools import combinations

import numpy as np
import xarray as xr

from reproduction.tasks.random_graphs import SERIES
from reproduction.tasks.task1 import cosine

PAIRS = tuple(combinations(("adj_diff", "apprx_ls", "in_agg", "ln_vx"), 2))


def run(task1: xr.Dataset) -> xr.Dataset:
    """Pairwise cosines ``agreement(series, graph, hop, pair)`` of the magnitudes of Task 1.

    Beside them ``flat(series, graph, hop, kind)``: each algorithm's cosine with the flat spectrum, since two
    algorithms that are both close to flat agree on nothing else.
    """
    names = [series.name for series in SERIES]
    magnitude = task1["magnitude"].sel(series=names)
    first = magnitude.sel(kind=[a for a, _ in PAIRS]).values
    second = magnitude.sel(kind=[b for _, b in PAIRS]).values
    kinds = ["gft", "adj_diff", "apprx_ls", "in_agg", "ln_vx", "ens"]
    chosen = magnitude.sel(kind=kinds).values
    at = ("series", "graph", "hop")
    return xr.Dataset(
        {
            "agreement": ((*at, "pair"), cosine(first, second)),
            "flat": ((*at, "kind"), cosine(chosen, np.ones_like(chosen))),
        },
        {"series": names, "hop": task1["hop"].values, "pair": [label(*pair) for pair in PAIRS], "kind": kinds},
        {**task1.attrs, "task": 2},
    )


def label(first: str, second: str) -> str:
    """The name of a pair, in the order of :data:`PAIRS`."""
    return "~".join(sorted((first, second)))


def means(ds: xr.Dataset, series: str, first: str, second: str) -> np.ndarray:
    return ds["agreement"].sel(series=series, pair=label(first, second)).mean("graph").values


def flat_means(ds: xr.Dataset, series: str, kind: str) -> np.ndarray:
    return ds["flat"].sel(series=series, kind=kind).mean("graph").values
