"""The views of the probe as a scikit-learn transformer."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.errors import NodeCountError, missing_extra
from spectrata.inputs.graphs import as_graph
from spectrata.stats.views import Neighbourhood, chosen_views, make_view

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise missing_extra("scikit-learn", "probe", "spectrata.sklearn") from problem


class SpectralViews(TransformerMixin, BaseEstimator):
    """Replace node features by views of them on a graph, side by side.

    Parameters
    ----------
    graph : graph-like, path or Stratification, optional
        Rows of ``X`` are its nodes, in its order. Without a graph the features stay as they are.
    views : str or iterable of str
        Names of views, as :func:`spectrata.probe` lists them.
    weights
        Edge weights, as for :func:`spectrata.spectra`.

    Notes
    -----
    A view of a node uses the features of other nodes. Transform all nodes of the graph first and split them into
    training and test nodes afterwards.

    Examples
    --------
    >>> import networkx as nx, numpy as np
    >>> views = SpectralViews(nx.path_graph(3), views="x beside neighbours")
    >>> views.fit_transform(np.array([[1.0], [0.0], [3.0]])).tolist()
    [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]
    """

    def __init__(self, graph: Any = None, views: str | Iterable[str] = "x beside neighbours", weights: Any = None):
        self.graph = graph
        self.views = views
        self.weights = weights

    def fit(self, X: Any, y: Any = None) -> "SpectralViews":
        """Read the graph; ``y`` is not used."""
        X = validate_data(self, X, dtype=np.float64)
        self.views_ = chosen_views(self.views)
        self.operators_ = None
        if self.graph is not None:
            read = self.graph.graph if isinstance(self.graph, Stratification) else None
            self.operators_ = Neighbourhood(read or as_graph(self.graph, weights=self.weights))
            self._require_rows(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Views of the features, ``(n, d) -> (n, columns)``."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.operators_ is None:
            return X
        self._require_rows(X)
        return np.hstack([make_view(self.operators_, X, name) for name in self.views_])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: the feature, and the view it belongs to."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        if self.operators_ is None:
            return np.asarray(input_features, dtype=object)
        probe = np.zeros((self.operators_.graph.n_nodes, 1))
        blocks = [(name, make_view(self.operators_, probe, name).shape[1]) for name in self.views_]
        labels = [f"{name} {at}" if count > 1 else name for name, count in blocks for at in range(count)]
        return np.array([f"{feature} ({label})" for label in labels for feature in input_features], dtype=object)

    def _require_rows(self, X: np.ndarray) -> None:
        assert self.operators_ is not None
        n = self.operators_.graph.n_nodes
        if len(X) != n:
            words = f"X has {len(X)} rows, but the graph has {n} nodes"
            raise NodeCountError(f"{words}; transform all nodes, then select rows.")
