"""Random surrogates of a signal: permuted, rotated or given signals, and exchanged pairs of signals.

Draw ``b`` of a row depends on the seed, the row and ``b`` alone, whichever draws are asked for with it. Signals are
drawn for some rows, one row after the other: ``(rows draws, n, d)``.
"""

import numpy as np

from spectrata.inputs.signals import Potential, Signal, potential
from spectrata.stats.nulls.spectral import haar

BLOCK = 64  # rotated signals made by one random generator


def exchange_signs(seed: int, n: int, draws: int) -> np.ndarray:
    """Draw for every node whether two signals are exchanged there (-1): ``(1 + draws, n)``, the first row without."""
    signs = np.ones((1 + draws, n))
    signs[1:] = np.random.default_rng([seed, 0x5A4B]).choice([-1.0, 1.0], size=(draws, n))
    return signs


def permuted(field: Potential, made: np.ndarray, rows: np.ndarray) -> Potential:
    """The nodes' vectors in orders ``(B, n)``; a metric does not depend on the order of nodes."""
    values = field.values[rows][:, made].reshape(-1, *field.values.shape[1:])
    scale, undefined = (np.repeat(one[rows], len(made)) for one in (field.scale, field.undefined))
    return Potential(values, field.metric, scale, undefined)


def rotated(values: np.ndarray, metric: str, seed: int, rows: np.ndarray, start: int, stop: int) -> Potential:
    """Random signals with the mean and covariance of ``values (T, n, d)``, and no preferred direction among nodes."""
    first, last = start // BLOCK, -(-stop // BLOCK)
    cut = slice(start - first * BLOCK, stop - first * BLOCK)

    def block(row: int, number: int) -> np.ndarray:
        return rotate_signal(values[[row]], BLOCK, np.random.default_rng([seed, 0x5EC, row, number]))[0]

    drawn = [np.concatenate([block(row, number) for number in range(first, last)])[cut] for row in rows]
    return potential(Signal(np.concatenate(drawn), None), metric, "zero")


def given_draws(field: Potential, columns: int, rows: np.ndarray, start: int, stop: int) -> Potential:
    """Given signals, such as those of untrained models, the same for every snapshot; a row goes with its own column.

    ``field`` has draws times columns that are signals of their own.
    """
    where = (np.arange(start, stop) * columns + (rows % columns)[:, None]).ravel()
    values = np.ascontiguousarray(field.values[where])
    return Potential(values, field.metric, field.scale[where], field.undefined[where])


def rotate_signal(values: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw signals with the same mean and covariance of columns: ``(S, n, d) -> (S, draws, n, d)``.

    The centred signal is turned by a Haar-random rotation of the space orthogonal to the constants: no direction
    there, and so no eigencomponent, is preferred.
    """
    mean = values.mean(axis=1, keepdims=True)
    out = np.empty((len(values), draws, *values.shape[1:]))
    for s, centred in enumerate(values - mean):
        _, singular, right = np.linalg.svd(centred, full_matrices=False)
        rank = min(len(singular), len(centred) - 1)
        gauss = rng.standard_normal((draws, len(centred), rank))
        frame = haar(gauss - gauss.mean(axis=1, keepdims=True))
        out[s] = mean[s] + (frame * singular[:rank]) @ right[:rank]
    return out
