r"""The shallow model of Tasks 3-8: embeddings learned by total variation with a regulariser.

.. math:: \min_s \; \tau + w \varepsilon, \qquad
   \tau = \operatorname{mean}_{x \sim y} \frac{1 - \cos(s_x, s_y)}{2}, \quad
   \varepsilon = \operatorname{mean}_{x \not\sim y} \frac{1 + \cos(s_x, s_y)}{2}

by Adagrad on the raw vectors, which are normalised inside the objective. All runs are one batch: arrays are kept as
(n, R, d), so that a step is one sparse product over the nodes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.inputs.graphs import Graph, as_graph

LEARNING_RATE = 0.01
ADAGRAD_EPS = 1e-10


@dataclass(frozen=True, eq=False)
class Trajectories:
    final: np.ndarray  # (R, n, d), after the last epoch
    tau: np.ndarray  # (epochs + 1, R), at the start and after every epoch
    epsilon: np.ndarray  # the same
    recorded: np.ndarray  # (E, R, n, d) after 0, record, 2 record, ... epochs; empty when none were asked for


class Objective:
    """``tau + w epsilon`` of a graph and its gradient, for vectors laid out as (n, R, d)."""

    def __init__(self, graph: Graph, weights: np.ndarray) -> None:
        from scipy.sparse import csr_array

        n, m = graph.n_nodes, graph.n_edges
        self.neighbours = csr_array((np.ones(2 * m), graph.indices, graph.indptr), shape=(n, n))
        self.degrees = np.diff(graph.indptr).astype(float)[:, None, None]  # (n, 1, 1)
        self.tails, self.heads = graph.edges.T
        self.n_edges = m
        self.n_apart = n * (n - 1) // 2 - m  # pairs that are not joined
        self.weights = weights[:, None]  # (R, 1)

    def terms(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``tau`` and ``epsilon`` of every run: ``(n, R, d) -> (R,), (R,)``."""
        unit = normalised(raw)
        differences = unit[self.tails] - unit[self.heads]  # (m, R, d): exact at small angles, unlike 1 - cos
        squares = np.einsum("mrd,mrd->r", differences, differences)
        tau = squares / (4 * self.n_edges)
        total = unit.sum(axis=0)
        all_cosines = (np.einsum("rd,rd->r", total, total) - len(unit)) / 2
        cosines_apart = all_cosines - (self.n_edges - squares / 2)
        return tau, 0.5 + cosines_apart / (2 * self.n_apart)

    def gradient(self, raw: np.ndarray) -> np.ndarray:
        """Derivative by the raw vectors: ``(n, R, d) -> (n, R, d)``."""
        norms = np.linalg.norm(raw, axis=2, keepdims=True)
        unit = raw / norms
        joined = (self.neighbours @ unit.reshape(len(unit), -1)).reshape(unit.shape)  # sum over neighbours
        slope = (self.degrees * unit - joined) / (2 * self.n_edges)  # of tau
        apart = unit.sum(axis=0) - unit - joined  # sum over the nodes that are not joined
        slope += self.weights * apart / (2 * self.n_apart)
        along = np.einsum("nrd,nrd->nr", slope, unit)[:, :, None]
        return (slope - along * unit) / norms  # lengths do not matter: only what turns the vector is left


def normalised(raw: np.ndarray) -> np.ndarray:
    return raw / np.linalg.norm(raw, axis=-1, keepdims=True)


def learn(graph: Any, starts: np.ndarray, weights: float | np.ndarray, epochs: int, record: int = 0) -> Trajectories:
    raw = np.ascontiguousarray(starts.transpose(1, 0, 2))  # (R, n, d) -> (n, R, d)
    objective = Objective(as_graph(graph), np.broadcast_to(weights, raw.shape[1]))
    recorded = np.empty((epochs // record + 1 if record else 0, raw.shape[1], raw.shape[0], raw.shape[2]))
    tau, epsilon = np.empty((2, epochs + 1, raw.shape[1]))
    squares = np.zeros_like(raw)
    for epoch in range(epochs + 1):
        if epoch:
            gradient = objective.gradient(raw)
            squares += gradient**2
            raw = raw - LEARNING_RATE * gradient / (np.sqrt(squares) + ADAGRAD_EPS)
        tau[epoch], epsilon[epoch] = objective.terms(raw)
        if record and epoch % record == 0:
            recorded[epoch // record] = normalised(raw).transpose(1, 0, 2)
    final = np.ascontiguousarray(normalised(raw).transpose(1, 0, 2))
    return Trajectories(final, tau, epsilon, recorded)
