"""``correlogram``: at which hop distance nodes are alike, unlike or independent."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.stats.labelled import labelled, of_tests
from spectrata.stats.testing import Results
from spectrata.stats.verbs.reading import read, signal_or_table
from spectrata.stats.verbs.write_back import said_given, write_back

if TYPE_CHECKING:
    import xarray as xr


def correlogram(
    graph: Any,
    signal: Any = None,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "auto",
    given: Any = "degree",
    labels: bool = False,
    nodes: Any = None,
    draws: int | None = None,
    seed: int = 0,
    write: bool = False,
) -> "xr.Dataset":
    r"""Test at each hop distance whether nodes are alike or unlike, and whether degree explains it.

    .. math:: r_K = \frac{\sum_{ij} W_{ij} \langle t_i - \mu, t_j - \mu \rangle}{\sum_i k_i \|t_i - \mu\|^2},
       \qquad k = W 1, \quad \mu = k^T t / \sum_i k_i

    is the correlation between the two ends of a pair at hop K. At K = 1 it is the assortativity coefficient
    (``networkx.numeric_assortativity_coefficient``), and for labels adjusted homophily [1]_.

    Parameters
    ----------
    graph : Stratification, or a graph in any form
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`; snapshots are tested together.
    hops, weights
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification. Above 4,000 nodes
        ``hops=None`` reads three hops, above 20,000 one.
    metric
        As for :func:`spectrata.spectra`: vectors are compared by direction, unless ``metric="euclidean"``. A zero
        vector stays zero, half a unit from every direction, and ``note`` counts them.
    columns : {"auto", "joint", "separate"}
        "joint": one vector per node. "separate": every column by itself. "auto": "separate" for a table with column
        names, "joint" for an array.
    given : "degree", None, numbers, categories, or a list of these
        Covariates of the second test: arrays, tables, or names: of a node attribute, a column of the signal's table, a
        file, or a column of a file ("people.csv:department"). Without "degree" among them degree is not accounted for.
    labels : bool
        Take the signal as class labels.
    nodes : str, optional
        Which column of a table names the nodes.
    draws : int, optional
        Largest number of permutations; by default 9,999 up to 300 nodes, beyond 999, and 9,999 where p is near .05.
        0 for no p.
    seed : int
        p of the same signal and seed is the same in every call; above 20 columns each column stops drawing early
        (Besag and Clifford 1991), and its p differs from that of the column in a smaller table by chance.
    write : bool
        Put the result into the AnnData, too (``adata.uns``).

    Returns
    -------
    Dataset
        Over ``([snapshot,] [column,] hop)``: ``r``, ``p``, ``p_family``, ``r_given``, ``p_given``,
        ``p_family_given``, ``verdict``, ``near_level``, ``chance_low``, ``chance_high``, ``participation``,
        ``between_parts``, ``geary``, ``moran`` for numbers, ``status``, ``n_pairs``; with columns ``q``, ``q_given``,
        ``p_from_tail``.

    Notes
    -----
    The first test permutes the nodes. The second permutes, within runs of nodes of neighbouring degree, what a linear
    model of degree leaves of the signal (Freedman and Lane 1983), and asks whether likeness goes beyond degree. A
    verdict rests on both, corrected over everything the call looked at.

    References
    ----------
    .. [1] Platonov et al.: Characterizing graph datasets for node classification: homophily-heterophily dichotomy and
       beyond, NeurIPS 2023.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.correlogram(nx.path_graph(30), range(30), hops=[1, 10, 29])
    >>> found["r"].values.round(3).tolist()
    [0.993, 0.142, -1.0]
    >>> found["verdict"].values.tolist()
    ['alike', 'chance', 'not tested']
    """
    signal = signal_or_table(graph, signal, "correlogram")
    reading = read(graph, signal, hops, weights, metric, columns, labels, nodes)
    found = dataset(Results(reading, given, draws, seed), "correlogram")
    if write:
        write_back(graph, found, "correlogram", signal, {"given": said_given(given)})
    return found


def variables(results: Results) -> dict[str, np.ndarray]:
    """The tests of r and what describes the pairs, arrays ``(T, C, H)`` by name."""
    of_r = of_tests(*results.both)
    if results.reading.separate:
        of_r |= {"q": results.q[0], "q_given": results.q[1], "p_from_tail": results.plain.by_tail}
    found = {name: array[0] for name, array in of_r.items()}
    found |= {name: array for name, array in results.facts.items() if name != "moran" or np.isfinite(array).any()}
    found |= {"geary": found["participation"] * (1 - found["r"])}
    return found | {"verdict": results.verdicts()[0], "status": results.status.astype(str)}


def dataset(results: Results, kind: str) -> "xr.Dataset":
    reading = results.reading
    same = (results.n_pairs == results.n_pairs[0]).all()
    n_pairs = ("hop", results.n_pairs[0]) if same else (("column", "hop"), results.n_pairs)
    facts = {"kind": kind, "columns": "separate" if reading.separate else "joint", "draws": results.draws}
    facts |= {"seed": results.seed, "given": results.given, "n_dimensions": reading.columns[0].values.shape[2]}
    note = f"{reading.note} {results.covariates.note}".strip()
    facts |= {name: words for name, words in (("note", note), ("snapshot_kind", reading.snapshot_kind)) if words}
    return labelled(reading, variables(results), ("hop",), {"n_pairs": n_pairs}, {}, facts)
