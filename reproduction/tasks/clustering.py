"""Spectral clustering of embeddings, as the released program does it, and its scores."""

import warnings
from functools import cache

import numpy as np

from reproduction.store import Arrays
from reproduction.tasks.caveman import true_labels


def cluster(embedding: np.ndarray) -> np.ndarray:
    """Labels ``(n,)`` of the nodes of one normalised embedding ``(n, d)``.

    Spectral clustering on the affinity ``(1 + cos)/2``, four clusters, labels by discretisation, seed 0.
    """
    from sklearn.cluster import SpectralClustering

    affinity = np.clip((1.0 + embedding @ embedding.T) / 2.0, 0.0, 1.0)
    model = SpectralClustering(4, affinity="precomputed", assign_labels="discretize", random_state=0)
    with warnings.catch_warnings():
        # Opposite vectors have affinity 0; the released program does not mind either.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return model.fit_predict(affinity)


def scores(embeddings: np.ndarray) -> np.ndarray:
    """ARI and AMI against the true communities: ``(T, n, d) -> (T, 2)``."""
    return np.array([_score(tuple(cluster(embedding).tolist())) for embedding in embeddings]).reshape(-1, 2)


@cache  # neighbouring epochs mostly share their labels
def _score(labels: tuple[int, ...]) -> tuple[float, float]:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    truth = true_labels()
    return float(adjusted_rand_score(truth, labels)), float(adjusted_mutual_info_score(truth, labels))


def score_unit(embeddings: np.ndarray) -> Arrays:
    return {"scores": scores(embeddings)}
