"""The probe: what a model gains from the graph, by linear models on views of the features."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from spectrata.core.distance_strata import require_hops
from spectrata.core.spectra import refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import NodeCountError, OptionError, SignalTypeError, SignalValueError, UnknownNameError, shown
from spectrata.inputs.graphs import Graph, as_graph, as_pairs
from spectrata.inputs.labels import coded, label_values
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.readers.arrays import is_labelled
from spectrata.inputs.readers.signal_objects import attribute, is_missing
from spectrata.inputs.signals import as_signal
from spectrata.results.notebook import html_table
from spectrata.stats.cross_validation import FOLDS, Scores, Target, corrected_error, cross_validate, mean_known
from spectrata.stats.nulls.surrogates import swap_edges
from spectrata.stats.verbs.write_back import write_back
from spectrata.stats.views import ALONE, NO_GRAPH, SECOND, VIEWS, Neighbourhood, chosen_views, make_view

MOST_REPEATS = 5
MOST_TRAINED = 10_000  # training nodes that are used
DIRECTIONS = 128  # singular directions of the features
LEAST_PER_CLASS = 10  # training nodes below which there is no headline
AFFORDABLE = 2e9  # numbers read in one pass of all models of a repeat; about half a minute on one core
LEGEND = "S: neighbours' sum, weighted as in a GCN; rewired: score at equal degrees."
PER_EDGE = 450  # numbers that take as long as an edge of one graph, rewired and multiplied with features
MODELS = {  # the families, from the simplest
    NO_GRAPH: "A model without a graph (MLP) fits.",
    "low-pass": "A low-pass model (GCN, APPNP) of depth {} fits.",
    "beside neighbours": "A model that keeps a node's features beside its neighbours' (GraphSAGE) of depth {} fits.",
    "exact hops": "A model that reads exact hops (MixHop, H2GCN) of depth {} fits.",
}


@dataclass(frozen=True, eq=False)
class Probe:
    """The result of :func:`spectrata.probe`; print it, or read ``to_frame()``."""

    views: tuple[str, ...]
    scores: Scores  # per view and fold
    target: Target
    best: str  # the best view of the simplest family within a standard error of the highest mean score
    gain: float  # score of the view chosen inside the folds less that of the features alone
    gain_error: float  # its corrected standard error
    rewired: np.ndarray  # scores of the best view on rewired graphs; empty where the features alone are best
    verdict: str  # "neighbours help", "no gain found", "degrees alone" or "too few training nodes"
    notes: tuple[str, ...]

    @property
    def alone(self) -> np.ndarray:
        """Scores of the features alone on each fold."""
        return self.scores.score[self.views.index(ALONE)]

    def to_frame(self) -> pd.DataFrame:
        """Tabulate the views: view, score, error, rewired, gain."""
        score, on_rewired = self.scores.score, np.full(len(self.views), np.nan)
        if len(self.rewired):
            on_rewired[self.views.index(self.best)] = self.rewired.mean()
        numbers = {"score": mean_known(score), "error": corrected_error(score), "rewired": on_rewired}
        return pd.DataFrame({"view": self.views, **numbers, "gain": mean_known(score - self.alone)})

    @property
    def family(self) -> str:
        """The models that fit: "no graph", "low-pass", "beside neighbours" or "exact hops"; "" if not judged."""
        if self.verdict == "too few training nodes":
            return ""
        return NO_GRAPH if self.verdict == "no gain found" else VIEWS[self.best].family

    @property
    def headline(self) -> str:
        """The result in plain words."""
        name = self.target.score_name
        if self.verdict == "too few training nodes":
            count, scores = int(self.target.counts.min()), self.to_frame()["score"]
            words = f"Not judged: the smallest class has {count} training node{'s' * (count > 1)}, and"
            words += f" {LEAST_PER_CLASS} are needed. Label more nodes, join classes, or leave small ones out of train."
            return words if scores.isna().all() else f"{words} Highest in the table: {self.views[scores.idxmax()]}."
        alone, advice = _mean(self.alone), MODELS[self.family].format(VIEWS[self.best].depth)
        if self.verdict == "no gain found":
            chance = 0.5 if name == "AUC" else 0.0
            if self.alone.mean() - 2 * corrected_error(self.alone) <= chance:
                said = f"features alone reach {name} {alone} (chance {chance})"
                return f"Nothing found that predicts by a linear model: {said}, and no view is shown to add to it."
            more = f"; choosing among the views adds {self.gain:+.2f} +- {_number(self.gain_error)}"
            more = ", and no view is shown to do better" if self.best == ALONE else more
            return f"No gain found: features alone reach {name} {alone}{more}. {advice}"
        score, most = _mean(self.scores.score[self.views.index(self.best)]), self.rewired.max() - self.alone.mean()
        said = f"{VIEWS[self.best].words} predict labels at {name} {score}, alone at {alone}"
        if self.verdict == "degrees alone":
            return f"No gain beyond degrees: {said}, but rewired graphs with the same degrees gain {most:+.2f}."
        left = f"the gain is at most {most:+.2f}" if most > 0 else "no gain is left"
        return f"Neighbours help: {said}; on rewired graphs {left}. {advice}"

    def __str__(self) -> str:
        classes = self.target.classes is not None
        accuracy = mean_known(self.scores.accuracy) if classes else np.full(len(self.views), np.nan)
        middle = "accuracy" if classes else ""
        lines = [fill(self.headline, 80), ""]
        lines.append(f"{'view':<24}{self.target.score_name:>7}{'error':>8}{middle:>10}{'gain':>8}{'rewired':>9}")
        for row, own in zip(self.to_frame().itertuples(), accuracy, strict=True):
            cells = f"{row.view:<24}{_number(row.score):>7}{_number(row.error):>8}{_number(own):>10}"
            gain = "" if np.isnan(row.gain) else f"{row.gain:+.2f}"
            lines.append(cells + f"{gain:>8}{_number(row.rewired):>9}".rstrip())
        return "\n".join([*lines, LEGEND, "", *(fill(note, 80) for note in self.notes)])

    __repr__ = explain = __str__

    def _repr_html_(self) -> str:
        table = self.to_frame().replace({np.nan: ""})
        return html_table(self.headline, list(table.columns), table.values.tolist(), " ".join(self.notes))


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
    inside the folds, and the gain on every rewired graph with the same degrees.

    Parameters
    ----------
    graph : graph-like, path or Stratification
    features : array, sparse matrix, DataFrame, tensor or path
        One row per node, as for :func:`spectrata.spectra`. The features of all nodes are used: the estimate is
        transductive.
    labels : array, mapping, Series, or the name of a node attribute
        Classes (text, whole numbers, truth values) or numbers. Only the labels of training nodes are read.
    train : sequence of nodes, boolean mask, or the name of a node attribute that is one, optional
        The training nodes; by default all that have a label.
    task : {"auto", "classification", "regression"}
        "auto": regression where a training label is not a whole number, a text or a truth value.
    views : iterable of str, optional
        Some of the views; "features alone" is always among them.
    weights
        As for :func:`spectrata.spectra`.
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
    standardised in each training fold, and at most 10,000 training nodes.

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
    if isinstance(graph, Stratification):
        require_hops(graph, "The probe")
        refuse_graph_arguments("A Stratification", weights=weights)
    given = graph.graph if isinstance(graph, Stratification) else as_graph(graph, weights=weights)
    near, names = Neighbourhood(given), dict.fromkeys((ALONE, *chosen_views(views)))
    if SECOND in names and not near.has_second:
        del names[SECOND]
    rows, target, note = _training(labels, train, given, task, seed)
    x = _features(features, given, seed)
    seen = {name: make_view(near, x, name)[rows] for name in names}
    if repeats is None:  # by the size of the work, so that every machine decides alike
        models, classes = FOLDS + FOLDS * (FOLDS - 1) // 2, len(target.classes or (1,))
        work = sum(view.size for view in seen.values()) * classes * models
        left = AFFORDABLE - PER_EDGE * given.n_edges * (rewired + 1)
        count = int(np.clip(left / max(work, 1), 1, MOST_REPEATS))
    else:
        count = whole(repeats, "repeats")
    rng = np.random.default_rng([seed, 0])
    folds = np.stack([target.folds(rng) for _ in range(count)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence to more digits than a score has
        scores = cross_validate(seen, target, folds)
        best = _chosen(tuple(names), scores)
        again = np.zeros(0 if best == ALONE else rewired)
        for number in range(len(again)):
            rng = np.random.default_rng([seed, 1, number])
            edges = as_pairs(swap_edges(given.edges, given.n_nodes, rng))
            moved = None if given.weights is None else rng.permutation(given.weights)
            own = Neighbourhood(as_graph(edges=edges, n_nodes=given.n_nodes, weights=moved))
            again[number] = np.nanmean(cross_validate({best: make_view(own, x, best)[rows]}, target, folds).score)
    difference = scores.of_choice - scores.score[0]
    gain, error = float(mean_known(difference)), float(corrected_error(difference))
    if target.counts.min() < LEAST_PER_CLASS:
        verdict = "too few training nodes"
    elif best == ALONE or not gain > 2 * error:
        verdict = "no gain found"
    else:
        verdict = "neighbours help" if gain > again.max() - mean_known(scores.score[0]) else "degrees alone"
    said = f"{len(rows):,} training nodes of {given.n_nodes:,}, {FOLDS} folds x {count}. The features of all nodes are "
    said += "used, labels outside the training nodes never."
    if target.classes is not None:
        share = _number(target.counts.max() / len(rows))
        said += f" {len(target.classes)} classes; the largest has {share}."
    found = Probe(tuple(names), scores, target, best, gain, error, again, verdict, (*filter(None, [note]), said))
    if write:
        write_back(graph, found, "probe")
    return found


def _chosen(names: tuple[str, ...], scores: Scores) -> str:
    """Choose the best view of the simplest family that has one within a standard error of the highest score.

    The rule of Breiman et al. (Classification and Regression Trees, 1984), with the error of the paired difference.
    """
    mean = mean_known(scores.score)
    top = int(np.argmax(mean))
    near = mean[top] - mean <= np.nan_to_num(corrected_error(scores.score[top] - scores.score))
    ranks = np.where(near, [list(MODELS).index(VIEWS[name].family) for name in names], len(MODELS))
    return names[int(np.argmax(np.where(ranks == ranks.min(), mean, -np.inf)))]


def _features(features: Any, graph: Graph, seed: int) -> np.ndarray:
    """Read features ``(n, d)``, dense or sparse, in the graph's order, on at most 128 of their singular directions."""
    if sp.issparse(features):
        if features.shape[0] != graph.n_nodes:
            words = f"The features have {features.shape[0]} rows"
            raise NodeCountError(f"{words}, but the graph has {graph.n_nodes} nodes.")
        x: Any = sp.csr_array(features, dtype=np.float64)
    else:
        known = as_signal(features, graph)
        if len(known.values) > 1:
            raise SignalTypeError(f"The features have {len(known.values)} snapshots; give one.")
        x = known.values[0]
    if min(x.shape) <= DIRECTIONS:
        return x.toarray() if sp.issparse(x) else x
    from sklearn.utils.extmath import randomized_svd

    left, singular, _ = randomized_svd(x, DIRECTIONS, random_state=seed)
    return left * singular


def _training(labels: Any, train: Any, graph: Graph, task: str, seed: int) -> tuple[np.ndarray, Target, str]:
    """Find rows of training nodes, ascending, what is predicted there, and a note; other labels stay unread."""
    values, _ = label_values(labels, graph)
    rows = _labelled_rows(values) if train is None else training_rows(train, graph)
    if len(have := _labelled_rows([values[row] for row in rows])) < len(rows):
        bad = rows[np.setdiff1d(np.arange(len(rows)), have)[0]]
        raise SignalValueError(f"The training node {shown(graph.names[bad])} has no label; leave it out of train.")
    if len(rows) < 2 * FOLDS:
        raise OptionError(f"{len(rows)} training nodes have a label; {FOLDS} folds need at least {2 * FOLDS}.")
    note = ""
    if len(rows) > MOST_TRAINED:
        note = f"{MOST_TRAINED:,} of {len(rows):,} training nodes were used, chosen at random."
        rows = np.sort(np.random.default_rng([seed, 2]).choice(rows, MOST_TRAINED, replace=False))
    own = [values[row] for row in rows]
    numbers = None if task == "classification" else _as_numbers(own, isinstance(labels, (str, os.PathLike)))
    if numbers is None and task == "regression":
        raise SignalTypeError("task='regression' needs numbers as labels.")
    if numbers is not None and (task == "regression" or (numbers % 1 != 0).any()):
        target = Target(numbers, None)
    else:
        found = coded(own)
        target = Target(found.codes, found.classes)
        count = int((numbers == -1).sum()) if train is None and numbers is not None and len(found.classes) > 2 else 0
        if count:
            note = f"-1 is a class of {count:,} nodes; give train= or missing values where it means no label. {note}"
    if len(np.unique(target.values)) < 2:
        what = "number" if target.classes is None else "class"
        raise OptionError(f"All training nodes have one {what}; a probe needs two or more.")
    return rows, target, note


def _labelled_rows(values: Sequence[Any]) -> np.ndarray:
    """Find the values that are a label: neither None, NaN nor empty text."""
    return np.flatnonzero([not (is_missing(one) or (isinstance(one, str) and not one.strip())) for one in values])


def training_rows(train: Any, graph: Graph) -> np.ndarray:
    """Find rows of the training nodes, ascending: from a mask, an attribute that is one, or from the nodes' names."""
    if isinstance(train, str):
        train = np.asarray(attribute(train, graph.attributes or {}))
        if train.dtype != bool:
            raise OptionError("train names a node attribute that is not a mask of true and false values.")
    train = train.detach().cpu().numpy() if hasattr(train, "detach") else train
    if isinstance(train, Mapping) or (is_labelled(train) and str(getattr(train, "dtype", "")).startswith("bool")):
        train = [str(one) == "True" for one in label_values(train, graph)[0]]  # by the nodes' names
    given = np.array(list(train)) if isinstance(train, (set, frozenset)) else np.asarray(train)
    if given.dtype == bool:
        if given.shape != (graph.n_nodes,):
            raise NodeCountError(f"train is a mask of shape {given.shape}, but the graph has {graph.n_nodes} nodes.")
        return np.flatnonzero(given)
    unknown = [node for node in given.tolist() if node not in graph.row]
    if unknown:
        raise UnknownNameError(f"train names {shown(unknown[0])}, which is not a node of the graph.")
    return np.unique(np.array([graph.row[node] for node in given.tolist()], dtype=np.int64))


def _as_numbers(values: list[Any], from_file: bool) -> np.ndarray | None:
    """Turn labels into finite numbers; None where some are no numbers. Only of a file text may be a number."""
    if not from_file and any(isinstance(value, (str, bytes)) for value in values):
        return None
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found).all() else None


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.0e}"


def _mean(values: np.ndarray) -> str:
    return f"{_number(values.mean())} +- {_number(corrected_error(values))}"
