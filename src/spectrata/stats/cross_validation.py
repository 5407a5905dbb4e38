"""Cross-validated scores of regularised linear models, with the choice of a view inside the folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from spectrata.errors import missing_extra

FOLDS = 5
REGULARISATION = 0.05  # C of the logistic regression, 1 / penalty of the ridge regression
MOST_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class Target:
    """Targets at the training nodes: class codes, or numbers."""

    values: np.ndarray
    classes: tuple[Any, ...] | None  # None for numbers

    @property
    def score_name(self) -> str:
        return "R2" if self.classes is None else "AUC"

    @property
    def counts(self) -> np.ndarray:
        """Training nodes of each class; of numbers, all of them."""
        return np.array([len(self.values)]) if self.classes is None else np.bincount(self.values)

    def folds(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a fold for each training node, every class spread evenly over the folds."""
        group = np.zeros(len(self.values), dtype=np.int64) if self.classes is None else self.values
        mixed = [rng.permutation(np.flatnonzero(group == one)) for one in np.unique(group)]
        # Each class goes on where the last one ended, so that folds are of equal size.
        return np.argsort(np.concatenate(mixed)) % FOLDS

    def scores(self, x: np.ndarray, train: np.ndarray, *tests: np.ndarray) -> list[tuple[float, float]]:
        """Score a linear model of the rows ``train`` of ``x`` on others: score and accuracy, NaN where undefined."""
        try:
            from sklearn import linear_model
        except ImportError as problem:
            raise missing_extra("scikit-learn", "probe", "st.probe") from problem
        middle, width = x[train].mean(axis=0), x[train].std(axis=0)
        width[width <= 1e-12 * np.abs(middle)] = np.inf  # a constant column plays no part
        scaled, y = (x - middle) / width, self.values
        held_out = [(scaled[test], y[test]) for test in tests]
        if self.classes is None:
            ridge = linear_model.Ridge(alpha=1 / REGULARISATION).fit(scaled[train], y[train])
            return [(float(ridge.score(x, y)) if np.ptp(y) > 0 else np.nan, np.nan) for x, y in held_out]
        if len(np.unique(y[train])) < 2:
            return [(np.nan, np.nan)] * len(tests)
        model = linear_model.LogisticRegression(C=REGULARISATION, max_iter=MOST_ITERATIONS).fit(scaled[train], y[train])
        return [(roc_auc(model.predict_proba(x), model.classes_, y), float(model.score(x, y))) for x, y in held_out]


def roc_auc(chance: np.ndarray, known: np.ndarray, truth: np.ndarray) -> float:
    """Compute the ROC AUC of each class against the rest, mean over the classes that have both among ``truth``."""
    from scipy.stats import rankdata

    inside = truth[:, None] == known  # (m, classes)
    positive = inside.sum(axis=0)
    both = (positive > 0) & (positive < len(truth))
    below = np.sum(rankdata(chance, axis=0) * inside, axis=0) - positive * (positive + 1) / 2
    return float(np.mean(below[both] / (positive * (len(truth) - positive))[both])) if both.any() else np.nan


class Scores(NamedTuple):
    """Scores over the outer folds of all repeats, J in all."""

    score: np.ndarray  # (V, J)
    accuracy: np.ndarray  # (V, J)
    chosen: np.ndarray  # (J,) position of the view that the inner folds chose

    @property
    def of_choice(self) -> np.ndarray:
        """Score of the chosen view on each outer fold, which had no part in the choice: ``(J,)``."""
        return self.score[self.chosen, np.arange(len(self.chosen))]


def mean_known(values: np.ndarray) -> np.ndarray:
    """Compute the mean of known values over the last axis, NaN where there is none."""
    return np.ma.filled(np.ma.masked_invalid(values).mean(axis=-1), np.nan)


def corrected_error(values: np.ndarray) -> Any:
    """Compute the standard error of a mean over cross-validation folds whose training sets overlap, over the last axis.

    The variance of the fold means is multiplied by ``1/J + n_test / n_train`` instead of ``1/J`` (Nadeau and Bengio:
    Inference for the Generalization Error, Machine Learning 52, 2003).
    """
    count = np.sum(np.isfinite(values), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=-1) / count
        spread = np.nansum((values - np.expand_dims(mean, -1)) ** 2, axis=-1) / (count - 1)
        return np.where(count > 1, np.sqrt((1 / count + 1 / (FOLDS - 1)) * spread), np.nan)


def cross_validate(views: Mapping[str, np.ndarray], target: Target, folds: np.ndarray) -> Scores:
    """Score every view ``(n_train, columns)`` on every fold ``(repeats, n_train)``, and choose one by the other folds.

    For the outer fold f, the score of a view is its mean over inner folds g, each with a model of all folds but f and
    g. One such model serves both f and g, which halves the number of models.
    """
    scores, accuracies, chosen = [], [], []
    for fold in folds:
        at = [fold == f for f in range(FOLDS)]
        outer = np.array([[target.scores(x, ~test, test)[0] for test in at] for x in views.values()])
        inner = np.zeros((len(views), FOLDS))  # sums over inner folds, of every outer one
        for (row, x), (f, g) in product(enumerate(views.values()), combinations(range(FOLDS), 2)):
            if len(views) > 1:
                both = target.scores(x, ~(at[f] | at[g]), at[g], at[f])
                inner[row, [f, g]] += np.nan_to_num([score for score, _ in both])
        scores.append(outer[..., 0])
        accuracies.append(outer[..., 1])
        chosen.append(np.argmax(inner, axis=0))
    return Scores(np.hstack(scores), np.hstack(accuracies), np.concatenate(chosen))
