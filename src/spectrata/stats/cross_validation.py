"""Cross-validated scores of regularised linear models, with the choice of a view inside the folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from spectrata.errors import missing_extra

REGULARISATION = 0.05  # C of the logistic regression, 1 / penalty of the ridge regression
MOST_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class Target:
    """What is predicted at the training nodes: class codes, or numbers."""

    values: np.ndarray
    classes: tuple[Any, ...] | None  # None for numbers

    @property
    def score_name(self) -> str:
        """The name of the score."""
        return "R2" if self.classes is None else "AUC"

    @property
    def counts(self) -> np.ndarray:
        """Training nodes of each class; of numbers, all of them."""
        return np.array([len(self.values)]) if self.classes is None else np.bincount(self.values)

    def folds(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """A random fold for each training node, every class spread evenly over the folds."""
        group = np.zeros(len(self.values), dtype=np.int64) if self.classes is None else self.values
        fold = np.empty(len(group), dtype=np.int64)
        start = 0
        for members in (np.flatnonzero(group == one) for one in np.unique(group)):
            fold[rng.permutation(members)] = (start + np.arange(len(members))) % count
            start += len(members)  # the next class goes on where this one ended: folds stay of equal size
        return fold

    def fit(self, x: np.ndarray, train: np.ndarray) -> "Fitted":
        """A linear model of the rows ``train`` of ``x``, standardised there."""
        linear_model = _linear_models()
        middle, width = x[train].mean(axis=0), x[train].std(axis=0)
        width[width <= 1e-12 * np.abs(middle)] = np.inf  # a constant column plays no part
        width[width == 0] = np.inf
        scaled, y = (x[train] - middle) / width, self.values[train]
        if self.classes is None:
            model = linear_model.Ridge(alpha=1 / REGULARISATION).fit(scaled, y)
        elif len(np.unique(y)) < 2:
            model = None
        else:
            model = linear_model.LogisticRegression(C=REGULARISATION, max_iter=MOST_ITERATIONS).fit(scaled, y)
        return Fitted(self, model, middle, width)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the scale of its features."""

    target: Target
    model: Any
    middle: np.ndarray
    width: np.ndarray

    def score(self, x: np.ndarray, test: np.ndarray) -> tuple[float, float]:
        """Score and accuracy on some rows; NaN where undefined."""
        truth = self.target.values[test]
        if self.target.classes is None:
            left = np.sum((truth - self.model.predict((x[test] - self.middle) / self.width)) ** 2)
            total = np.sum((truth - truth.mean()) ** 2)
            return (1 - left / total if total > 0 else np.nan), np.nan
        if self.model is None:
            return np.nan, np.nan
        chance = self.model.predict_proba((x[test] - self.middle) / self.width)
        known = self.model.classes_
        return roc_auc(chance, known, truth), float(np.mean(known[np.argmax(chance, axis=1)] == truth))


def roc_auc(chance: np.ndarray, known: np.ndarray, truth: np.ndarray) -> float:
    """ROC AUC of each class against the rest, mean over the classes that have both among ``truth``.

    Examples
    --------
    >>> chance = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]])
    >>> roc_auc(chance, np.array([0, 1]), np.array([0, 0, 1, 1]))
    0.75
    """
    from scipy.stats import rankdata

    found = []
    for column, one in zip(chance.T, known, strict=True):
        inside = truth == one
        positive = int(inside.sum())
        if 0 < positive < len(truth):
            ranks = rankdata(column)[inside].sum()
            found.append((ranks - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))
    return float(np.mean(found)) if found else np.nan


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores over the outer folds of all repeats, J in all.

    Attributes
    ----------
    score, accuracy : ndarray, shape (V, J)
    chosen : ndarray, shape (J,)
        The view that the inner folds chose, by its position.
    folds : int
    """

    score: np.ndarray
    accuracy: np.ndarray
    chosen: np.ndarray
    folds: int

    @property
    def of_choice(self) -> np.ndarray:
        """Score of the chosen view on each outer fold, which had no part in the choice: ``(J,)``."""
        return self.score[self.chosen, np.arange(len(self.chosen))]

    def error(self, values: np.ndarray) -> Any:
        """Corrected standard error of the mean over folds (Nadeau and Bengio 2003), over the last axis."""
        return corrected_error(values, self.folds)


def corrected_error(values: np.ndarray, folds: int) -> Any:
    """Standard error of a mean over cross-validation folds whose training sets overlap.

    The variance of the fold means is multiplied by ``1/J + n_test / n_train`` instead of ``1/J`` (Nadeau and Bengio:
    Inference for the Generalization Error, Machine Learning 52, 2003).

    Examples
    --------
    >>> float(corrected_error(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 5).round(4))
    1.0607
    """
    count = np.sum(np.isfinite(values), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=-1) / count
        spread = np.nansum((values - np.expand_dims(mean, -1)) ** 2, axis=-1) / (count - 1)
        return np.where(count > 1, np.sqrt((1 / count + 1 / (folds - 1)) * spread), np.nan)


def cross_validate(views: Mapping[str, np.ndarray], target: Target, folds: np.ndarray) -> Scores:
    """Scores of every view on every fold, and the view that the other folds choose.

    Parameters
    ----------
    views : mapping from name to ndarray, shape (n_train, columns)
    target : Target
    folds : ndarray of int, shape (repeats, n_train)

    Notes
    -----
    For the outer fold f, the score of a view is its mean over inner folds g, each with a model of all folds but f and
    g. One such model serves both f and g, which halves the number of models.
    """
    names = list(views)
    scores, accuracies, chosen = [], [], []
    for fold in folds:
        count = int(fold.max()) + 1
        outer = np.array([[target.fit(x, fold != f).score(x, fold == f) for f in range(count)] for x in views.values()])
        inner = np.full((len(names), count, count), np.nan)  # view, outer fold, inner fold
        if len(names) > 1:
            for row, x in enumerate(views.values()):
                for f, g in combinations(range(count), 2):
                    fitted = target.fit(x, (fold != f) & (fold != g))
                    inner[row, f, g] = fitted.score(x, fold == g)[0]
                    inner[row, g, f] = fitted.score(x, fold == f)[0]
        filled = np.nansum(np.where(np.isnan(inner), 0.0, inner), axis=2)
        scores.append(outer[..., 0])
        accuracies.append(outer[..., 1])
        chosen.append(np.argmax(filled, axis=0))
    return Scores(np.hstack(scores), np.hstack(accuracies), np.concatenate(chosen), count)


def _linear_models() -> Any:
    try:
        from sklearn import linear_model
    except ImportError as problem:
        raise missing_extra("scikit-learn", "probe", "st.probe") from problem
    return linear_model
