"""What spectrata is measured against: the algorithms as printed, vectorised, and the released learning."""

import numpy as np
from scipy.linalg import eigh


def strata_by_powers(adjacency: np.ndarray) -> list[np.ndarray]:
    """Algorithm 1: matrix powers, non-negative subtraction, zero diagonal."""
    strata, power, seen, new = [], adjacency.copy(), np.zeros_like(adjacency), adjacency
    while new.any():
        strata.append(new)
        seen = seen + new
        power = np.minimum(power @ adjacency, 1.0)
        new = np.maximum(power - seen, 0.0)
        np.fill_diagonal(new, 0.0)
    return strata


def as_printed(adjacency: np.ndarray, signal: np.ndarray) -> list[np.ndarray]:
    """Algorithms 1 to 4 for every hop: SVD least squares and one outer product per eigenvector."""
    unit = signal / np.linalg.norm(signal, axis=1, keepdims=True)
    results = []
    for stratum in strata_by_powers(adjacency):
        x, y = np.nonzero(np.triu(stratum))
        gradient = np.sqrt(np.maximum(1 - np.sum(unit[x] * unit[y], axis=1), 0) / 2)
        values, vectors = eigh(np.diag(stratum.sum(0)) - stratum)
        incidence = np.zeros((len(x), len(adjacency)))
        rows = np.arange(len(x))
        incidence[rows, x], incidence[rows, y] = 1.0, -1.0
        f = np.linalg.lstsq(incidence, gradient, rcond=None)[0]
        means = np.abs(incidence).T @ gradient / np.maximum(stratum.sum(0), 1)
        differences = np.empty(len(values))
        for i, vector in enumerate(vectors.T):
            squares = np.add.outer(vector**2, vector**2) - 2 * np.outer(vector, vector)
            row = np.sqrt(np.maximum(squares, 0))[x, y]
            differences[i] = gradient @ row / max(np.linalg.norm(row), 1e-300)
        results += [np.abs(vectors.T @ f), np.abs(vectors.T @ means), differences]
    return results


def released_learning(vertex: np.ndarray, line: np.ndarray, trials: int, seed: int = 0) -> list[float]:
    """Step 7 of Algorithm 5 as released: ``H_ln`` and ``H_vx`` themselves, one trial after the other."""
    n, m = len(vertex), len(line)
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(trials):
        h_ln, h_vx = rng.uniform(-1, 1, (2, n, m)) / np.sqrt(m)
        sums = [np.zeros((n, m)), np.zeros((n, m))]
        for _ in range(1000):
            mapped = h_ln @ line
            error = mapped @ h_vx.T - vertex.T
            if np.mean(error**2) <= 1e-6:
                break
            error *= 2 / error.size
            for weights, total, gradient in ((h_ln, sums[0], error @ h_vx @ line.T), (h_vx, sums[1], error.T @ mapped)):
                total += gradient**2
                weights -= 0.01 * gradient / (np.sqrt(total) + 1e-10)
        errors.append(float(np.mean(error**2)))
    return errors
