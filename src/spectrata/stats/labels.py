r"""Categorical labels per hop: homophily and the label spectrum, against random orders of the labels.

Over the pairs at one hop with both labels known, with weights :math:`w`, the share of weight between equal labels is
:math:`h = 1 - Q / (2 \sum w)`, where :math:`Q = \sum w \|t(x) - t(y)\|^2 = \mathrm{tr}(t^T L t)` and :math:`t` has the
labels as one-hot rows. Mean and variance under permutations of the labels are those of any sum over pairs (Mantel 1967,
``pairs.null_moments``). Node homophily is the same share with the weights :math:`w (1/d(x) + 1/d(y))`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.bases.solve import decompose
from spectrata.core.engine import measured
from spectrata.core.operators import Operator
from spectrata.core.plan import make_plan
from spectrata.core.registry import EXACT
from spectrata.core.spectra import as_stratification
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalValueError, shown
from spectrata.inputs.labels import as_labels
from spectrata.inputs.numbers import whole
from spectrata.inputs.signals import Potential
from spectrata.stats.describe.levels import group_reduce
from spectrata.stats.moments import gft_null, signal_moments
from spectrata.stats.pairs import adjacency_moments, null_moments
from spectrata.stats.sequential import p_floor
from spectrata.stats.tally import TIE

if TYPE_CHECKING:
    import xarray as xr

MEASURES = ("edge", "node", "class", "adjusted")
CLOSED = 2  # the first measures, whose moments are exact
SMALL = 500  # labelled nodes up to which the spectrum is computed without being asked for
BATCH = 2**20  # labels times draws at a time
NO_PAIR = "undefined: no pair of labelled nodes"
ONE_CLASS = "adjusted is undefined: every pair joins two nodes of one class"
NO_PAIR_OF = "class_homophily is undefined for classes without a pair"
NULL = "the labels of the labelled nodes in random order, the same orders at every hop"


def homophily(
    strat: Any,
    labels: Any,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    missing: Any = None,
    draws: int = 999,
    seed: int = 0,
    spectrum: bool | None = None,
    laplacian: str = "combinatorial",
    self_loops: bool = False,
) -> "xr.Dataset":
    r"""Measure the homophily of labels at every hop, and compare it with chance.

    Parameters
    ----------
    strat : Stratification, or a graph in any form
    labels : list, array, mapping, Series, Categorical, DataArray, path or attribute name
        One class per node: text, whole numbers or truth values. Nodes without a label have None, NaN or empty text,
        or are not in the mapping or the Series.
    hops, weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification.
    missing : label or list of labels, optional
        More values that mean "no label". By default -1 is a class like any other.
    draws : int
        Permutations of the labels, for p and for the moments of "class" and "adjusted"; 0 for none.
    seed : int
    spectrum : bool, optional
        Whether to compute the spectrum of the labels, which decomposes each hop; by default for up to 500 labelled
        nodes.
    laplacian, self_loops
        Of the spectrum, as for :func:`spectrata.spectra`.

    Returns
    -------
    Dataset
        Over ``(hop, measure)``:

        ``homophily``
            "edge": share of the weight of pairs that joins equal labels. "node": mean over nodes of the share of their
            pairs' weight that joins them to equal labels (Pei et al. 2020). "class": mean excess of each class's share
            over its size (Lim et al. 2021). "adjusted": "edge" corrected for the degrees of the classes (Platonov et
            al. 2023).
        ``expected``, ``std``, ``z``
            Mean and standard deviation under random orders of the labels, and the distance from the mean in standard
            deviations. Exact for "edge" and "node"; from the draws for "class" and "adjusted".
        ``p``
            Two-sided permutation p, of each cell by itself, not corrected over hops or measures. No p is below the
            attribute ``p_floor``.

        Over ``(hop, label)``: ``class_homophily``, the share of the weight of a class's pairs that stays inside the
        class, and ``class_expected``, ``class_std``, ``class_z``, ``class_p``, all from the draws. Over ``(hop,
        component)``, where the spectrum was computed: ``label_energy``, the ``gft`` energy of the one-hot labels in
        each eigenspace, with its exact ``label_energy_expected``, ``label_energy_std`` and ``label_energy_z``.
        ``status(hop)`` says what is undefined.

    Notes
    -----
    Pairs with a missing label drop out, and only labelled nodes are permuted. At a hop a node counts for "node" when it
    has a pair there. With :math:`D_k` the summed degrees of class k and :math:`h_k` its ``class_homophily``,

    .. math:: h_\mathrm{class} = \frac{1}{C - 1} \sum_k \max(0, h_k - n_k / n), \qquad
       h_\mathrm{adjusted} = \frac{h_\mathrm{edge} - \sum_k D_k^2 / (2m)^2}{1 - \sum_k D_k^2 / (2m)^2}.

    A class without a pair adds 0 to "class".

    References
    ----------
    Pei et al., Geom-GCN, ICLR 2020. Lim et al., Large scale learning on non-homophilous graphs, NeurIPS 2021. Platonov
    et al., Characterizing graph datasets for node classification: homophily-heterophily dichotomy and beyond, NeurIPS
    2023.

    Examples
    --------
    The two factions of the karate club: alike at one hop, opposite at three.

    >>> import networkx as nx, spectrata as st
    >>> found = st.homophily(nx.karate_club_graph(), "club", weights=False)
    >>> found["homophily"].sel(measure="edge").values.round(2).tolist()
    [0.86, 0.67, 0.2, 0.0, 0.0]
    >>> found["z"].sel(measure="edge").values.round(1).tolist()
    [7.9, 9.1, -8.2, -9.9, -3.1]
    """
    whole(draws, "draws", 0)
    whole(seed, "seed", 0)
    operator = Operator(laplacian, self_loops)
    strat = as_stratification(strat, hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
    known = as_labels(labels, strat.graph, missing)
    if len(known.classes) < 2:
        raise SignalValueError(
            f"All labels are {shown(known.classes[0])}; homophily compares classes and needs two or more of them."
        )
    chosen = np.flatnonzero(known.codes >= 0)
    codes = known.codes[chosen]
    wanted = len(chosen) <= SMALL if spectrum is None else bool(spectrum)
    counts = np.bincount(codes)
    cells, spectra, sizes = [], [], []
    for hop in strat.hops:
        pairs = labelled_pairs(strat.strata.at(hop), chosen)
        sizes.append((pairs.n_edges, int(np.count_nonzero(pairs.counts))))
        cells.append(_hop_cells(pairs, codes, counts, draws, seed))
        if wanted:
            spectra.append(label_spectrum(strat, pairs, codes, operator))
    attributes = {
        "kind": "homophily",
        "spectrata_version": __version__,
        "n_nodes": strat.graph.n_nodes,
        "n_edges": strat.graph.n_edges,
        "graph_hash": strat.graph.digest,
        "weights": strat.weights,
        "n_labelled": len(chosen),
        "n_missing": strat.graph.n_nodes - len(chosen),
        "draws": draws,
        "seed": seed,
        "p_floor": p_floor(np.array(draws), "two-sided").item(),
        "p_correction": "none: each p is of one cell",
        "null": NULL,
        "laplacian": laplacian if wanted else "",
        "self_loops": int(self_loops),
    }
    classes = (
        known.classes if all(type(name) is int for name in known.classes) else [str(name) for name in known.classes]
    )
    if len(set(classes)) < len(classes):
        raise OptionError("Two classes have the same text, such as 1 and '1'; give labels of one type.")
    return _labelled(strat.hops, list(classes), counts, sizes, cells, spectra, attributes)


# ---- pairs


def labelled_pairs(stratum: Stratum, chosen: np.ndarray) -> Stratum:
    """The pairs of a stratum with both nodes among the chosen ones, which become the rows 0, 1, ..."""
    if len(chosen) == stratum.n_nodes:
        return stratum
    row = np.full(stratum.n_nodes, -1)
    row[chosen] = np.arange(len(chosen))
    edges = row[stratum.edges]
    kept = (edges >= 0).all(axis=1)
    weights = None if stratum.weights is None else stratum.weights[kept]
    return Stratum(stratum.hop, len(chosen), edges[kept], weights)


@dataclass(frozen=True, eq=False)
class Counting:
    """What the measures need of the pairs at one hop."""

    pairs: Stratum
    n_classes: int

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Both nodes of every pair, each contiguous."""
        x, y = self.pairs.edges.T
        return np.ascontiguousarray(x), np.ascontiguousarray(y)

    @cached_property
    def edge(self) -> np.ndarray:
        """Weights of pairs."""
        return np.ones(self.pairs.n_edges) if self.pairs.weights is None else self.pairs.weights

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sums of ``edge`` over the pairs of each node, as shares of the whole weight; they add up to 2."""
        ends = self.pairs.edges
        return np.bincount(ends.ravel(), np.repeat(self.edge, 2), self.pairs.n_nodes) / self.edge.sum()

    @cached_property
    def node(self) -> np.ndarray:
        """Weights of pairs for the mean over nodes, adding up to 1."""
        x, y = self.ends
        shares = self.edge / self.degrees[x] + self.edge / self.degrees[y]
        return shares / self.edge.sum() / np.count_nonzero(self.pairs.counts)

    def measures(self, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """The four measures and one share per class, for labels ``(B, n) -> (B, 4 + C)``."""
        x, y = self.ends
        count = len(codes)
        inside, node = np.empty((count, self.n_classes)), np.empty(count)
        for row, labels in enumerate(codes):
            first = labels[x]
            at = np.flatnonzero(first == labels[y])
            inside[row] = np.bincount(first[at], self.edge[at], self.n_classes)
            node[row] = self.node[at].sum()
        inside /= self.edge.sum()  # sums of ones are exact
        rows = np.arange(count)[:, None] * self.n_classes + codes
        degrees = np.bincount(
            rows.ravel(), np.broadcast_to(self.degrees, codes.shape).ravel(), count * self.n_classes
        ).reshape(count, -1)
        share = np.divide(2 * inside, degrees, out=np.full(inside.shape, np.nan), where=degrees > 0)
        excess = np.maximum(np.nan_to_num(share) - sizes / sizes.sum(), 0.0).sum(axis=1) / (self.n_classes - 1)
        edge, by_degree = inside.sum(axis=1), np.sum((degrees / 2) ** 2, axis=1)
        room = 1 - by_degree
        adjusted = np.divide(edge - by_degree, room, out=np.full(count, np.nan), where=room > TIE)
        return np.column_stack([edge, node, excess, adjusted, share])


def _hop_cells(pairs: Stratum, codes: np.ndarray, sizes: np.ndarray, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Value, mean, deviation, z and p of the four measures and of every class at one hop: ``(4 + C,)`` each."""
    names = ("homophily", "expected", "std", "z", "p")
    if not pairs.n_edges:
        return {name: np.full(len(MEASURES) + len(sizes), np.nan) for name in names}
    counting = Counting(pairs, len(sizes))
    observed = counting.measures(codes[None], sizes)[0]
    drawn = [counting.measures(batch, sizes) for batch in _orders(codes, draws, seed)]
    mean, std, p = _monte_carlo(observed, np.concatenate(drawn) if drawn else np.empty((0, len(observed))))
    for at, weights in enumerate((counting.edge, counting.node)):
        mean[at], std[at] = share_moments(pairs.edges, weights, sizes)
    z = np.divide(observed - mean, std, out=np.full(len(std), np.nan), where=std > 0)
    return dict(zip(names, (observed, mean, std, z, p), strict=True))


def _orders(codes: np.ndarray, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Labels in random order, ``(B, n)`` at a time; the same at every hop."""
    rng = np.random.default_rng([seed, 0x1ABE1])
    kind = np.min_scalar_type(int(codes.max()))
    step = max(1, BATCH // len(codes))
    for done in range(0, draws, step):
        rows = np.broadcast_to(codes.astype(kind), (min(step, draws - done), len(codes)))
        yield np.stack([rng.permutation(row) for row in rows])


def _monte_carlo(observed: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and two-sided p; draws in which a measure is undefined drop out."""
    present = ~np.isnan(drawn)
    used = present.sum(axis=0)
    filled = np.where(present, drawn, 0.0)
    mean = np.divide(filled.sum(axis=0), used, out=np.full(len(observed), np.nan), where=used > 0)
    spread = np.where(present, drawn - mean, 0.0)
    enough = used > 1
    variance = np.divide((spread**2).sum(axis=0), used - 1, out=np.full(len(observed), np.nan), where=enough)
    std = np.sqrt(np.where(variance > TIE**2, variance, 0.0 * variance))
    above = np.sum(present & (drawn >= observed - TIE), axis=0)
    below = np.sum(present & (drawn <= observed + TIE), axis=0)
    p = np.minimum(1.0, 2 * (1 + np.minimum(above, below)) / (used + 1))
    return mean, std, np.where((used > 0) & ~np.isnan(observed), p, np.nan)


def share_moments(edges: np.ndarray, weights: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """Exact mean and standard deviation of the share of weight between equal labels, over all orders of the labels.

    Parameters
    ----------
    edges : ndarray of int, shape (m, 2)
    weights : ndarray, shape (m,)
    sizes : ndarray of int, shape (C,)
        Nodes of each class; their sum is the number of nodes.

    Examples
    --------
    One pair among four nodes, two of each class: equal with probability 1/3.

    >>> mean, std = share_moments(np.array([[0, 1]]), np.ones(1), np.array([2, 2]))
    >>> round(mean, 6), round(std**2, 6)
    (0.333333, 0.222222)
    """
    n = int(sizes.sum())
    degrees = np.bincount(edges.ravel(), np.repeat(weights, 2), n)
    graph = adjacency_moments(np.array([2 * np.sum(weights**2)]), degrees[None])
    others = np.repeat(n - sizes, sizes)  # nodes of other classes than each node's: at distance 1, one-hot rows at 2
    mean, variance = null_moments(graph, adjacency_moments(np.array([others.sum()]), others[None].astype(float)))
    total = float(weights.sum())
    return 1 - mean.item() / total, float(np.sqrt(variance.item())) / total


# ---- spectrum


def label_spectrum(
    strat: Stratification, pairs: Stratum, codes: np.ndarray, operator: Operator
) -> dict[str, np.ndarray] | None:
    """Energy of the one-hot labels per eigenspace of one hop, with its exact moments; None without a pair."""
    if not pairs.n_edges:
        return None
    options = {"laplacian": operator.laplacian, "self_loops": operator.self_loops}
    plan = make_plan(EXACT, options, pairs.n_nodes, keep=(), diagnose=False)
    whole_graph = pairs.n_nodes == strat.graph.n_nodes
    basis = strat.planned_basis(pairs, plan) if whole_graph else decompose(pairs, operator)
    one_hot = np.eye(int(codes.max()) + 1)[codes][None]  # (1, n, C)
    field = Potential(one_hot, "euclidean", np.ones(1), np.zeros(1, dtype=bool))
    magnitude = measured(strat.work(pairs, basis, one_hot, plan, scratch={}), field, plan).magnitude[0]  # (1, N)
    groups, count = basis.eigenspace, int(basis.eigenspace.max()) + 1
    energy = group_reduce(magnitude, groups[None], count)[0] ** 2
    mean, variance = (array[0] for array in gft_null(basis, groups, count, signal_moments(one_hot)))
    std = np.sqrt(variance)
    z = np.divide(energy - mean, std, out=np.full(count, np.nan), where=std > 0)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    return {
        "eigenvalue": basis.values[first],
        "multiplicity": basis.multiplicity[first],
        "label_energy": energy,
        "label_energy_expected": mean,
        "label_energy_std": std,
        "label_energy_z": z,
    }


# ---- labels

LONG_NAMES = {
    "homophily": "share of equal labels, by the definition of the measure",
    "expected": "mean of the measure under random orders of the labels",
    "std": "standard deviation of the measure under random orders of the labels",
    "z": "distance from the expected value in standard deviations",
    "p": "two-sided permutation p of one cell, not corrected",
    "class_homophily": "share of the weight of a class's pairs that stays inside the class",
    "label_count": "nodes with this label",
    "n_pairs": "pairs at this hop with both labels known",
    "n_in_pairs": "labelled nodes with a pair at this hop",
    "label_energy": "gft energy of the one-hot labels in an eigenspace",
    "label_energy_expected": "mean of the energy under random orders of the labels, exact",
    "label_energy_std": "standard deviation of the energy under random orders of the labels, exact",
    "label_energy_z": "distance from the expected energy in standard deviations",
}


def _status(values: np.ndarray) -> str:
    """What is undefined of the measures and classes at one hop."""
    if np.isnan(values).all():
        return NO_PAIR
    undefined = np.isnan(values)
    reasons = [(ONE_CLASS, undefined[MEASURES.index("adjusted")]), (NO_PAIR_OF, undefined[len(MEASURES) :].any())]
    return "; ".join(words for words, holds in reasons if holds) or "ok"


def _labelled(
    hops: tuple[int, ...],
    classes: list[Any],
    counts: np.ndarray,
    sizes: list[tuple[int, int]],
    cells: list[dict[str, np.ndarray]],
    spectra: list[dict[str, np.ndarray] | None],
    attributes: dict[str, Any],
) -> "xr.Dataset":
    import xarray as xr

    variables: dict[str, Any] = {}
    for name in cells[0]:
        values = np.stack([cell[name] for cell in cells])
        variables[name] = (("hop", "measure"), values[:, : len(MEASURES)])
        per_class = "class_homophily" if name == "homophily" else f"class_{name}"
        variables[per_class] = (("hop", "label"), values[:, len(MEASURES) :])
    variables["status"] = ("hop", np.array([_status(cell["homophily"]) for cell in cells]))
    coords: dict[str, Any] = {
        "hop": list(hops),
        "measure": list(MEASURES),
        "label": classes,
        "label_count": ("label", counts),
        "n_pairs": ("hop", np.array([count for count, _ in sizes])),
        "n_in_pairs": ("hop", np.array([count for _, count in sizes])),
    }
    found = [one for one in spectra if one is not None]
    if found:
        width = max(len(one["eigenvalue"]) for one in found)
        for name in found[0]:
            fill = 0 if name == "multiplicity" else np.nan
            rows = np.full((len(hops), width), fill)
            for row, one in enumerate(spectra):
                if one is not None:
                    rows[row, : len(one[name])] = one[name]
            place = coords if name in ("eigenvalue", "multiplicity") else variables
            place[name] = (("hop", "component"), rows)
        coords["component"] = np.arange(width)
    out = xr.Dataset(variables, coords, attributes)
    for name, words in LONG_NAMES.items():
        if name in out.variables:
            out[name].attrs["long_name"] = words
    return out
