"""Whether two groups of spectra differ: the scheme of Tasks 5, 7 and 8."""

from typing import Any

import numpy as np
import xarray as xr

from spectrata.errors import OptionError, ResultError
from spectrata.inputs.numbers import whole
from spectrata.results.build import attributes_of
from spectrata.results.schema import NORMALIZED, ZERO_DROPPED
from spectrata.stats.describe.align import align
from spectrata.stats.describe.spectrum import normalize

PAIRS = ("AB-AA", "AB-BB", "AA-BB")
KINDS = ("mean", "max")


def distinguish(
    group_a: xr.Dataset, group_b: xr.Dataset, *, normalized: bool = True, draws: int = 199, seed: int = 0
) -> xr.Dataset:
    r"""Tell two groups of signals apart by their spectra, with permutation p-values.

    For every two snapshots the mean and the maximum over components of :math:`|M - M'|`; then the Wasserstein
    distances between the distributions of these numbers over pairs across the groups (AB) and within them (AA, BB):
    low where the groups cannot be told apart.

    Parameters
    ----------
    group_a, group_b : Dataset
        Results on one graph with snapshots, two or more each. Merge eigenspaces or drop zeros before, if wanted.
    normalized : bool
        Compare spectra of unit length (Tasks 5 and 7), or as they are (Task 8).
    draws : int
        Random divisions of all snapshots into groups of the same sizes, for the p-values.
    seed : int

    Returns
    -------
    Dataset
        ``wasserstein`` and ``p(algorithm, hop, pair, kind)``; ``largest_mean_difference(algorithm, hop)`` of the
        groups' mean spectra with its ``largest_p`` and ``at_component``. ``p = (1 + count) / (draws + 1)``, large
        distances being extreme.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> strat = st.Stratification(nx.cycle_graph(12), hops=2)
    >>> x = np.random.default_rng(0).normal(size=(16, 12, 2))
    >>> same = st.stats.distinguish(strat.spectra(x[:8], "gft"), strat.spectra(x[8:], "gft"), draws=99)
    >>> dict(same.sizes)
    {'algorithm': 1, 'hop': 2, 'pair': 3, 'kind': 2}
    """
    whole(draws, "draws", 0)
    if normalized:
        group_a, group_b = normalize(group_a), normalize(group_b)
    first, second = align(group_a, group_b, ("group_a", "group_b"), rows=False)
    if not normalized and (NORMALIZED in group_a.attrs) != (NORMALIZED in group_b.attrs):
        raise ResultError("One group has spectra of unit length and the other has not; pass normalized=True.")
    if (ZERO_DROPPED in group_a.attrs) != (ZERO_DROPPED in group_b.attrs):
        raise ResultError("One group has its zero components dropped and the other has not; drop them in both.")
    for group in (first, second):
        if len(group.rows or ()) < 2:
            raise OptionError(f"{group.name} needs at least two snapshots, shape (T, n, d).")
    values = np.concatenate([first.magnitude, second.magnitude], axis=1)  # (algorithm, N, hop, n)
    in_a = np.arange(values.shape[1]) < len(first.rows or ())
    rng = np.random.default_rng([seed, 0xD15])
    labels = np.stack([in_a, *(rng.permutation(in_a) for _ in range(draws))])  # (1 + draws, N)
    shape = (values.shape[0], values.shape[2])
    distance, p = (np.full((*shape, len(PAIRS), len(KINDS)), np.nan) for _ in range(2))
    largest, largest_p, at = (np.full(shape, np.nan) for _ in range(3))
    for index in np.ndindex(shape):
        spectra = values[index[0], :, index[1]]  # (N, n)
        known = np.flatnonzero(~np.isnan(spectra).any(axis=0))
        if not len(known):
            continue
        spectra = spectra[:, known]
        for kind, table in enumerate(pairwise(spectra)):
            found = distances(table, labels)  # (1 + draws, pair)
            distance[index][:, kind], p[index][:, kind] = found[0], _p_value(found)
        a, b = (side / side.sum(axis=1, keepdims=True) for side in (labels, ~labels))
        gaps = np.abs((a - b) @ spectra)  # of the mean spectra, (1 + draws, n)
        largest[index], at[index] = gaps[0].max(), first.component[known[gaps[0].argmax()]]
        largest_p[index] = _p_value(gaps.max(axis=1)[:, None])[0]
    dims = ("algorithm", "hop", "pair", "kind")
    variables: dict[str, Any] = {"wasserstein": (dims, distance), "p": (dims, p)}
    for name, array in (("largest_mean_difference", largest), ("largest_p", largest_p), ("at_component", at)):
        variables[name] = (dims[:2], array)
    coords = {"algorithm": list(first.algorithms), "hop": list(first.hops), "pair": list(PAIRS), "kind": list(KINDS)}
    sizes = {"n_a": int(in_a.sum()), "n_b": int((~in_a).sum()), "draws": int(draws), "normalized": int(normalized)}
    return xr.Dataset(variables, coords, attributes_of(first.ds, "groups") | sizes)


def pairwise(spectra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and maximum of ``abs(M - M')`` over components for every two rows: two ``(N, N)``."""
    mean, most = (np.zeros((len(spectra), len(spectra))) for _ in range(2))
    for row, spectrum in enumerate(spectra):
        gap = np.abs(spectra - spectrum)
        mean[row], most[row] = gap.mean(axis=1), gap.max(axis=1)
    return mean, most


def distances(table: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Wasserstein distances AB-AA, AB-BB, AA-BB for every labelling ``(L, N)``: ``(L, 3)``."""
    i, j = np.triu_indices(len(table), 1)
    order = np.argsort(table[i, j])
    i, j = i[order], j[order]
    gaps = np.diff(table[i, j])
    out = np.empty((len(labels), 3))
    for row, in_a in enumerate(labels):
        both = in_a[i].astype(np.int8) + in_a[j]
        aa, ab, bb = (np.cumsum(both == k) / np.count_nonzero(both == k) for k in (2, 1, 0))
        out[row] = [np.abs(x - y)[:-1] @ gaps for x, y in ((ab, aa), (ab, bb), (aa, bb))]
    return out


def _p_value(found: np.ndarray) -> np.ndarray:
    """``(1 + count) / (draws + 1)`` per column, the observed in the first row, ties counted."""
    tie = 1e-9 * np.abs(found[0])
    return (1 + np.sum(found[1:] >= found[0] - tie, axis=0)) / len(found)
