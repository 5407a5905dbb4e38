"""The probe: what a model gains from the graph, by linear models on views of the features."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from spectrata.core.distances import require_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import NodeCountError, OptionError, SignalTypeError, SignalValueError, UnknownNameError, shown
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.labels import as_labels
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import as_signal
from spectrata.results.notebook import html_table
from spectrata.stats.cross_validation import Scores, Target, cross_validate
from spectrata.stats.nulls.rewiring import swap_edges
from spectrata.stats.verbs.write_back import write_back
from spectrata.stats.views import ALONE, Neighbourhood, chosen_views, make_view

if TYPE_CHECKING:
    import pandas as pd

FOLDS = 5
MOST_REPEATS = 5
MOST_TRAINED = 10_000  # training nodes that are used
DIRECTIONS = 128  # singular directions of the features
LEAST_PER_CLASS = 10  # training nodes below which there is no headline
AFFORDABLE = 2e9  # numbers read in one pass of all models of a repeat; about half a minute on one core
SECOND = "mean at exactly 2 hops"
LOW_PASS, BESIDE, EXACT_HOPS, NO_GRAPH = "low-pass", "beside neighbours", "exact hops", "no graph"
FAMILIES = (NO_GRAPH, LOW_PASS, BESIDE, EXACT_HOPS)  # from the simplest


class About(NamedTuple):
    """A view in words: what it is, the family of models that reads features so, and their depth."""

    words: str
    family: str
    depth: str


ABOUT = {
    ALONE: About("features alone", NO_GRAPH, ""),
    "S x": About("features averaged over neighbours", LOW_PASS, "1 or 2"),
    "S^2 x": About("features averaged over 2 steps", LOW_PASS, "2"),
    "S^4 x": About("features averaged over 4 steps", LOW_PASS, "2 to 4"),
    "x beside neighbours": About("features beside their neighbours' mean", BESIDE, "1"),
    "x beside 2 hops": About("features beside their means over 1 and 2 steps", BESIDE, "2"),
    "x beside x - S x": About("features beside their difference from their surroundings", BESIDE, "1 or 2"),
    SECOND: About("features averaged over nodes at exactly 2 hops", EXACT_HOPS, "2"),
}
MODELS = {
    NO_GRAPH: "A model without a graph (MLP) fits.",
    LOW_PASS: "A low-pass model (GCN, APPNP) of depth {} fits.",
    BESIDE: "A model that keeps a node's features beside its neighbours' (GraphSAGE) of depth {} fits.",
    EXACT_HOPS: "A model that reads exact hops (MixHop, H2GCN) of depth {} fits.",
}


@dataclass(frozen=True, eq=False)
class Probe:
    """What :func:`spectrata.probe` found; print it, or read ``to_frame()``.

    Attributes
    ----------
    views : tuple of str
    scores : Scores
        Per view and fold.
    best : str
        The best view of the simplest family that comes within a standard error of the highest mean score.
    gain, gain_error : float
        Score of the view chosen inside the folds less that of the features alone, and its corrected standard error.
    rewired : ndarray
        Scores of the best view on rewired graphs; empty where the features alone are best.
    verdict : {"neighbours help", "no gain found", "degrees alone", "too few training nodes"}
    """

    views: tuple[str, ...]
    scores: Scores
    target: Target
    best: str
    gain: float
    gain_error: float
    rewired: np.ndarray
    verdict: str
    notes: tuple[str, ...]

    @property
    def alone(self) -> np.ndarray:
        """Scores of the features alone on each fold."""
        return self.scores.score[self.views.index(ALONE)]

    def to_frame(self) -> "pd.DataFrame":
        """One row per view: view, score, error, rewired, gain."""
        import pandas as pd

        rows = {
            "view": self.views,
            "score": np.nanmean(self.scores.score, axis=1),
            "error": self.scores.error(self.scores.score),
            "rewired": [self.rewired.mean() if v == self.best and len(self.rewired) else np.nan for v in self.views],
            "gain": np.nanmean(self.scores.score - self.alone, axis=1),
        }
        return pd.DataFrame(rows)

    @property
    def family(self) -> str:
        """The family of models that fits: "no graph", "low-pass", "beside neighbours", "exact hops"; "" if not judged.

        "no graph" where no gain was found; where degrees explain the gain, the family that can read degrees.
        """
        if self.verdict == "too few training nodes":
            return ""
        return NO_GRAPH if self.verdict == "no gain found" else ABOUT[self.best].family

    @property
    def advice(self) -> str:
        """The family in a sentence."""
        return MODELS[self.family].format(ABOUT[self.best].depth) if self.family else ""

    @property
    def headline(self) -> str:
        """The result in plain words."""
        name, counts = self.target.score_name, self.target.counts
        if self.verdict == "too few training nodes":
            return (
                f"Not judged: the smallest class has {counts.min()} training nodes, and {LEAST_PER_CLASS} are needed. "
                f"Label more nodes, join classes, or leave small ones out of train. Highest in the table: {self.best}."
            )
        alone = f"{_number(self.alone.mean())} +- {_number(self.scores.error(self.alone))}"
        if self.verdict == "no gain found":
            chance = 0.5 if name == "AUC" else 0.0
            if self.alone.mean() - 2 * self.scores.error(self.alone) <= chance:
                said = f"features alone reach {name} {alone} (chance {chance})"
                return f"Nothing found that predicts: {said}, and no view adds to it."
            if self.best == ALONE:
                return f"No gain found: features alone predict best, at {name} {alone}. {self.advice}"
            return (
                f"No gain found: features alone reach {name} {alone}; choosing among the views adds "
                f"{_signed(self.gain)} +- {_number(self.gain_error)}. {self.advice}"
            )
        at = self.views.index(self.best)
        score = f"{_number(self.scores.score[at].mean())} +- {_number(self.scores.error(self.scores.score[at]))}"
        most = self.rewired.max() - self.alone.mean()
        said = f"{ABOUT[self.best].words} predict labels at {name} {score}, alone at {alone}"
        if self.verdict == "degrees alone":
            return f"No gain beyond degrees: {said}, but rewired graphs with the same degrees gain {_signed(most)}."
        vanishes = most <= 0.2 * self.gain
        rewired = "the gain vanishes" if vanishes else f"the gain is at most {_signed(most)}"
        return f"Neighbours help: {said}; on rewired graphs {rewired}. {self.advice}"

    def __str__(self) -> str:
        table = self.to_frame()
        accuracy = np.nanmean(self.scores.accuracy, axis=1) if self.target.classes is not None else None
        heads = f"{'view':<24}{self.target.score_name:>7}{'error':>8}" + (
            "accuracy" if accuracy is not None else ""
        ).rjust(10)
        lines = [fill(self.headline, 80), "", heads + f"{'gain':>8}{'rewired':>9}"]
        for at, row in enumerate(table.itertuples()):
            middle = "" if accuracy is None else _number(accuracy[at])
            cells = f"{row.view:<24}{_number(row.score):>7}{_number(row.error):>8}{middle:>10}"
            lines.append(cells + f"{_signed(row.gain):>8}{_number(row.rewired):>9}".rstrip())
        return "\n".join([*lines, "", *(fill(note, 80) for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self.to_frame().replace({np.nan: None})
        rows = [["" if value is None else value for value in row] for row in table.itertuples(index=False)]
        return html_table(self.headline, list(table.columns), rows, " ".join(self.notes))


def probe(
    graph: Any,
    features: Any,
    labels: Any,
    train: Any = None,
    *,
    task: str = "auto",
    views: Iterable[str] | None = None,
    weights: Any = None,
    repeats: int | None = None,
    rewired: int = 5,
    seed: int = 0,
    write: bool = False,
) -> Probe:
    """Estimate what a model gains from the graph, before any training of graph neural networks.

    Each view of the features is scored by cross-validation of a regularised linear model on the training nodes:
    the features alone, averaged over neighbours by the operator S of GCN, beside their neighbours' mean, and others.
    Neighbours help where the gain over the features alone exceeds two corrected standard errors, with the view chosen
    inside the folds, and exceeds the gain on every rewired graph with the same degrees.

    Parameters
    ----------
    graph : graph-like, path or Stratification
    features : array, sparse matrix, DataFrame, tensor or path
        One row per node, as for :func:`spectrata.spectra`. The features of all nodes are used.
    labels : array, mapping, Series, or the name of a node attribute
        Classes (text, whole numbers, truth values) or numbers. Only the labels of training nodes are read.
    train : sequence of nodes or boolean mask, optional
        The training nodes; by default all that have a label.
    task : {"auto", "classification", "regression"}
        "auto": regression where a training label is not a whole number, a text or a truth value.
    views : iterable of str, optional
        Some of the views; "features alone" is always among them.
    weights
        Edge weights, as for :func:`spectrata.spectra`.
    repeats : int, optional
        How often the 5 folds are drawn; by default up to 5, as many as take about a minute.
    rewired : int
        Rewired graphs, for the best view.
    seed : int
    write : bool
        Put the table into ``uns`` of the AnnData, too.

    Returns
    -------
    Probe
        Printed, a sentence and a table; ``to_frame()`` has view, score, error, rewired and gain.

    Notes
    -----
    The score is the ROC AUC, one class against the rest, averaged over classes, or R2. The model is a logistic
    regression with C = .05 (ridge regression for numbers) on at most 128 singular directions of the features,
    standardised in each training fold, and at most 10,000 training nodes. The singular directions use the features of
    all nodes, and so do the views: the estimate is transductive.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.planted_partition_graph(2, 60, 0.2, 0.02, seed=0)
    >>> club = np.repeat([0, 1], 60)
    >>> noisy = club[:, None] + np.random.default_rng(0).normal(0, 2, (120, 3))
    >>> found = st.probe(graph, noisy, club)
    >>> found.verdict
    'neighbours help'
    >>> found.to_frame().columns.tolist()
    ['view', 'score', 'error', 'rewired', 'gain']
    """
    one_of(task, "task", ("auto", "classification", "regression"))
    seed, rewired = whole(seed, "seed", 0), whole(rewired, "rewired")
    given = _graph(graph, weights)
    near = Neighbourhood.of(given)
    names = tuple(dict.fromkeys((ALONE, *chosen_views(views))))
    names = tuple(name for name in names if name != SECOND or near.has_second)
    rows, target = _training(labels, train, given, task)
    rows, target, notes = _at_most(rows, target, seed)
    x = _reduced(_features(features, given), seed)
    seen = {name: make_view(near, x, name)[rows] for name in names}
    count = _repeats(seen, target) if repeats is None else whole(repeats, "repeats")
    rng = np.random.default_rng([seed, 0])
    folds = np.stack([target.folds(FOLDS, rng) for _ in range(count)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence to more digits than a score has
        scores = cross_validate(seen, target, folds)
        mean = np.nanmean(scores.score, axis=1)
        best = _chosen(names, scores, mean)
        numbers = range(0 if best == ALONE else rewired)
        on_rewired = [_rewired_score(given, x, best, rows, target, folds, [seed, 1, number]) for number in numbers]
    difference = scores.of_choice - scores.score[0]
    gain, error = float(np.nanmean(difference)), float(scores.error(difference))
    again = np.array(on_rewired)
    verdict = _verdict(target, best, gain, error, again - mean[0])
    notes = (*notes, *_notes(rows, target, given, count))
    found = Probe(names, scores, target, best, gain, error, again, verdict, notes)
    if write:
        write_back(graph, found, "probe")
    return found


def _chosen(names: tuple[str, ...], scores: Scores, mean: np.ndarray) -> str:
    """The best view of the simplest family that has one within a standard error of the highest score.

    The one-standard-error rule of Breiman et al. (Classification and Regression Trees, 1984), with the corrected error
    of the paired difference; families from the simplest: no graph, low-pass, beside neighbours, exact hops.
    """
    top = int(np.argmax(mean))
    behind = mean[top] - mean
    near = behind <= np.nan_to_num(scores.error(scores.score[top] - scores.score))
    family = min((ABOUT[name].family for name, ok in zip(names, near, strict=True) if ok), key=FAMILIES.index)
    own = [at for at, name in enumerate(names) if near[at] and ABOUT[name].family == family]
    return names[max(own, key=lambda at: mean[at])]


def _verdict(target: Target, best: str, gain: float, error: float, rewired_gains: np.ndarray) -> str:
    if target.counts.min() < LEAST_PER_CLASS:
        return "too few training nodes"
    if best == ALONE or not gain > 2 * error:
        return "no gain found"
    return "neighbours help" if gain > rewired_gains.max() else "degrees alone"


def _rewired_score(
    graph: Graph, x: np.ndarray, view: str, rows: np.ndarray, target: Target, folds: np.ndarray, seed: list[int]
) -> float:
    rng = np.random.default_rng(seed)
    edges = swap_edges(graph.edges, graph.n_nodes, rng)
    weights = None if graph.weights is None else rng.permutation(graph.weights)
    seen = make_view(Neighbourhood(edges, graph.n_nodes, weights), x, view)[rows]
    return float(np.nanmean(cross_validate({view: seen}, target, folds).score))


def _repeats(seen: Mapping[str, np.ndarray], target: Target) -> int:
    """How often folds are drawn: decided by the size of the work, so that every machine decides alike."""
    classes = 1 if target.classes is None else len(target.classes)
    per_model = sum(x.size for x in seen.values()) * classes
    models = FOLDS + FOLDS * (FOLDS - 1) // 2
    return int(np.clip(AFFORDABLE / max(per_model * models, 1), 1, MOST_REPEATS))


def _notes(rows: np.ndarray, target: Target, graph: Graph, repeats: int) -> tuple[str, ...]:
    said = (
        f"{len(rows):,} training nodes of {graph.n_nodes:,}, {FOLDS} folds x {repeats}. The features of all nodes are "
        "used, labels outside the training nodes never."
    )
    if target.classes is None:
        return (said,)
    return (f"{said} {len(target.classes)} classes; the largest has {_number(target.counts.max() / len(rows))}.",)


# ---- inputs


def _graph(graph: Any, weights: Any) -> Graph:
    if isinstance(graph, Stratification):
        if weights is not None:
            raise OptionError("A Stratification has its graph read already; leave out weights.")
        require_hops(graph, "The probe")
        return graph.graph
    return as_graph(graph, weights=weights)


def _features(features: Any, graph: Graph) -> Any:
    """Features ``(n, d)``, dense or sparse, in the graph's order."""
    if sp.issparse(features):
        if features.shape[0] != graph.n_nodes:
            raise NodeCountError(
                f"The features have {features.shape[0]} rows, but the graph has {graph.n_nodes} nodes."
            )
        return sp.csr_array(features, dtype=np.float64)
    known = as_signal(features, graph)
    if len(known.values) > 1:
        raise SignalTypeError(f"The features have {len(known.values)} snapshots; give one.")
    return known.values[0]


def _reduced(x: Any, seed: int) -> np.ndarray:
    """Features on at most 128 of their singular directions, ``(n, d) -> (n, 128)``."""
    if min(x.shape) <= DIRECTIONS:
        return x.toarray() if sp.issparse(x) else x
    from sklearn.utils.extmath import randomized_svd

    left, singular, _ = randomized_svd(x, DIRECTIONS, random_state=seed)
    return left * singular


def _training(labels: Any, train: Any, graph: Graph, task: str) -> tuple[np.ndarray, Target]:
    """Rows of the training nodes, ascending, and what is predicted there; other labels are dropped unread."""
    rows = None if train is None else training_rows(train, graph)
    kept = labels if rows is None else _only(labels, rows, graph)
    numbers = _as_numbers(kept, rows, graph) if task != "classification" else None
    if task == "regression" and numbers is None:
        raise SignalTypeError("task='regression' needs numbers as labels.")
    if numbers is not None and (task == "regression" or (numbers % 1 != 0).any()):
        rows = np.arange(graph.n_nodes) if rows is None else rows
        return rows, Target(numbers, None)
    found = as_labels(kept, graph)
    have = np.flatnonzero(found.codes >= 0) if rows is None else rows
    if rows is not None and (found.codes[rows] < 0).any():
        bad = graph.names[rows[found.codes[rows] < 0][0]]
        raise SignalValueError(f"The training node {shown(bad)} has no label; leave it out of train.")
    classes, codes = np.unique(found.codes[have], return_inverse=True)
    if len(classes) < 2:
        raise OptionError("All training nodes have one class; a probe needs two or more.")
    return have, Target(codes, tuple(found.classes[one] for one in classes))


def training_rows(train: Any, graph: Graph) -> np.ndarray:
    """Rows of the training nodes, ascending: from a mask, or from the nodes' names."""
    if hasattr(train, "detach"):
        train = train.detach().cpu().numpy()
    given = np.asarray(train) if not isinstance(train, (set, frozenset)) else np.array(list(train))
    if given.dtype == bool:
        if given.shape != (graph.n_nodes,):
            raise NodeCountError(f"train is a mask of shape {given.shape}, but the graph has {graph.n_nodes} nodes.")
        rows = np.flatnonzero(given)
    else:
        unknown = [node for node in given.tolist() if node not in graph.row]
        if unknown:
            raise UnknownNameError(f"train names {shown(unknown[0])}, which is not a node of the graph.")
        rows = np.unique([graph.row[node] for node in given.tolist()])
    if len(rows) < 2 * FOLDS:
        raise OptionError(f"train has {len(rows)} nodes; {FOLDS} folds need at least {2 * FOLDS}.")
    return rows.astype(np.int64)


def _only(labels: Any, rows: np.ndarray, graph: Graph) -> Any:
    """The labels of some rows, as a mapping from node; nothing else is read."""
    if isinstance(labels, Mapping):
        return {graph.names[row]: labels[graph.names[row]] for row in rows if graph.names[row] in labels}
    if hasattr(labels, "loc") and getattr(labels, "ndim", 0) == 1:
        return labels.loc[[graph.names[row] for row in rows]]
    if isinstance(labels, str) or hasattr(labels, "__fspath__"):  # a file or an attribute is read as a whole
        found = as_labels(labels, graph)
        return {graph.names[row]: found.classes[found.codes[row]] for row in rows if found.codes[row] >= 0}
    values = labels.detach().cpu().numpy() if hasattr(labels, "detach") else labels
    if len(values) != graph.n_nodes:
        raise NodeCountError(f"There are {len(values)} labels, but the graph has {graph.n_nodes} nodes.")
    if getattr(values, "ndim", 1) != 1:
        raise SignalTypeError(f"Labels have shape (n,), one per node, not {values.shape}.")
    return {graph.names[row]: values[int(row)] for row in rows}


def _as_numbers(kept: Any, rows: np.ndarray | None, graph: Graph) -> np.ndarray | None:
    """The labels as finite numbers; None where some are texts or missing."""
    try:
        values = (
            list(kept.values()) if isinstance(kept, Mapping) else kept.tolist() if hasattr(kept, "tolist") else kept
        )
        found = np.array(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return None
    wanted = graph.n_nodes if rows is None else len(rows)
    return found if len(found) == wanted and np.isfinite(found).all() else None


def _at_most(rows: np.ndarray, target: Target, seed: int) -> tuple[np.ndarray, Target, tuple[str, ...]]:
    """At most 10,000 training nodes, chosen at random."""
    if len(rows) <= MOST_TRAINED:
        return rows, target, ()
    kept = np.sort(np.random.default_rng([seed, 2]).choice(len(rows), MOST_TRAINED, replace=False))
    note = f"{MOST_TRAINED:,} of {len(rows):,} training nodes were used, chosen at random."
    return rows[kept], Target(target.values[kept], target.classes), (note,)


# ---- numbers in sentences


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.0e}"


def _signed(value: float) -> str:
    return "" if np.isnan(value) else f"{value:+.2f}"
