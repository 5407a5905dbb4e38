"""``homophily``: likeness of class labels at every hop, with the measures that papers quote."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import entr, rel_entr

from spectrata.core.stratification import Stratification
from spectrata.inputs.labels import Labels, as_labels
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import chance_interval, looks
from spectrata.stats.observation import Pairs
from spectrata.stats.testing import Results
from spectrata.stats.verbs.correlogram import dataset
from spectrata.stats.verbs.reading import Column, Reading, label_column, label_columns, stratify

MEASURES = ("edge", "node", "class", "informativeness")
AFFORDABLE = 2e9  # pairs times orders of the chance of the measures
LONG_NAMES = {
    "homophily": "edge, node and class homophily, and label informativeness",
    "homophily_low": "2.5 % quantile under permutation of the labels",
    "homophily_high": "97.5 % quantile under permutation of the labels",
    "class_homophily": "share of the weight of a class's pairs that stays inside the class",
}


def homophily(
    graph: Any,
    labels: Any,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    missing: Any = None,
    given: Any = "degree",
    draws: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    r"""Measure the homophily of labels at every hop, and test whether it exceeds chance and degree.

    Parameters
    ----------
    graph : Stratification, or a graph in any form
    labels : list, array, mapping, Series, Categorical, DataArray, DataFrame, path or attribute name
        One class per node: text, whole numbers or truth values. Nodes without a label have None, NaN or empty text,
        or are not in the mapping or the Series. Of a table every column of text is tested by itself, and what is
        returned has a dimension ``column``; ``table["department"]`` chooses one.
    hops, weights, given, draws, seed
        As for :func:`spectrata.correlogram`.
    missing : label or list of labels, optional
        More values that mean "no label". By default -1 is a class like any other.

    Returns
    -------
    Dataset
        As :func:`spectrata.correlogram` gives, with ``r`` the adjusted homophily (Platonov et al. 2023), which is the
        one that is tested. Over ``(hop, measure)``: ``homophily`` with its chance interval ``homophily_low``,
        ``homophily_high``, no p. Over ``(hop, label)``: ``class_homophily``.

    Notes
    -----
    Pairs with a missing label drop out, and only labelled nodes are permuted. "edge" is the share of the weight of
    pairs that joins equal labels; "node" the mean over nodes of their share (Pei et al. 2020); "class" the mean excess
    of each class's share :math:`h_k` over its size, :math:`\frac{1}{C-1}\sum_k \max(0, h_k - n_k/n)` (Lim et al.
    2021), where a class without a pair adds 0; "informativeness" how much a neighbour's label tells, mutual
    information over entropy (Platonov et al. 2023).

    References
    ----------
    Pei et al., Geom-GCN, ICLR 2020. Lim et al., Large scale learning on non-homophilous graphs, NeurIPS 2021. Platonov
    et al., NeurIPS 2023: see :func:`spectrata.correlogram`.

    Examples
    --------
    The two factions of the karate club: alike at one hop, opposite at three.

    >>> import networkx as nx, spectrata as st
    >>> found = st.homophily(nx.karate_club_graph(), "club", weights=False)
    >>> found["r"].values.round(3).tolist()
    [0.718, 0.336, -0.594, -1.0, -1.0]
    >>> found["homophily"].sel(measure="edge").values.round(2).tolist()
    [0.86, 0.67, 0.2, 0.0, 0.0]
    """
    strat = stratify(graph, hops, weights)
    by_column = {name: as_labels(one, strat.graph, missing) for name, one in label_columns(labels, strat.graph).items()}
    return of_columns(strat, by_column, given, draws, seed)


def of_columns(
    strat: Stratification, labels: dict[Any, Labels], given: Any, draws: int | None, seed: int
) -> xr.Dataset:
    """Homophily of labels by column; a single one is not told from labels without a name."""
    columns = tuple(label_column(one, name) for name, one in labels.items())
    reading = Reading(strat, columns, None, "", "labels", len(columns) > 1)
    ds = dataset(Results(reading, given, draws, seed), "homophily")
    found = [_measured(reading, one, known, draws, seed) for one, known in zip(columns, labels.values(), strict=True)]
    beside = found[0]
    if reading.separate:  # classes that a column lacks are NaN in it
        found = [one.assign_coords(label=one["label"].astype(str)) for one in found]
        beside = xr.concat(found, ds["column"], join="outer")
    ds = xr.merge([ds, beside], join="exact", combine_attrs="override")
    counts = [len(one.rows) for one in columns]
    facts = {"n_labelled": counts, "n_missing": [strat.graph.n_nodes - count for count in counts]}
    return ds.assign_attrs(facts if reading.separate else {name: one[0] for name, one in facts.items()})


def _measured(reading: Reading, column: Column, known: Labels, draws: int | None, seed: int) -> xr.Dataset:
    """The measures of one column at every hop, with their chance."""
    codes, pairs = known.codes[column.rows], reading.pairs(column)
    values, low, high = (np.full((len(pairs), len(MEASURES)), np.nan) for _ in range(3))
    own, at = np.full((len(pairs), len(known.classes)), np.nan), looks(len(codes), draws)
    for h, one in enumerate(pairs):
        if not len(one.ends):
            continue
        values[h], own[h] = measures(one, codes, len(known.classes))
        if at and len(one.ends) * at[0] <= AFFORDABLE:
            made = orders(seed, len(codes), 0, at[0])
            drawn = np.array([measures(one, codes[order], len(known.classes))[0] for order in made])
            low[h], high[h] = chance_interval(drawn)
    classes = known.classes if all(type(name) is int for name in known.classes) else map(str, known.classes)
    arrays = {"homophily": values, "homophily_low": low, "homophily_high": high, "class_homophily": own}
    laid = {name: ("hop", "label" if name == "class_homophily" else "measure") for name in arrays}
    variables = {name: (laid[name], array, {"long_name": LONG_NAMES[name]}) for name, array in arrays.items()}
    return xr.Dataset(variables, {"hop": list(reading.hops), "measure": list(MEASURES), "label": list(classes)})


def measures(pairs: Pairs, codes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Edge, node and class homophily and label informativeness, and the share of every class, of labels (n,)."""
    here = codes[pairs.nodes]
    x, y = here[pairs.ends.T]
    weights, k, total = pairs.weights, pairs.k, pairs.total
    once = np.bincount(x * count + y, weights, count * count).reshape(count, count)
    joint = (once + once.T) / total  # both directions, sum 1
    ends = joint.sum(axis=0)  # share of every class among the ends of pairs
    inside = np.diag(joint)
    own = np.divide(inside, ends, out=np.full(count, np.nan), where=ends > 0)
    equal = weights * (x == y)
    by_node = np.bincount(pairs.ends.ravel(), np.repeat(equal, 2), len(k)) / k
    sizes = np.bincount(codes, minlength=count) / len(codes)
    excess = np.maximum(np.nan_to_num(own) - sizes, 0.0).sum() / max(count - 1, 1)
    entropy, mutual = entr(ends).sum(), rel_entr(joint, np.outer(ends, ends)).sum()
    informative = mutual / entropy if entropy > 1e-12 else np.nan
    return np.array([inside.sum(), by_node.mean(), excess, informative]), own
