"""The second stratum of a graph of diameter 2 from the eigenbasis of the first, without a solve.

When every pair of nodes is one or two hops apart, ``L_1 + L_2 = n I - J``. Off the
constant vector the two share their eigenvectors, and ``lam_2 = n - lam_1``.
"""

import numpy as np

from spectrata.core.bases.solve import EigenBasis, Part, checked
from spectrata.core.strata import Stratum

# A vector belongs to a part of the second stratum when all but this share of its energy lies there.
STRAY_ENERGY = 1e-20


def complement(first: EigenBasis, stratum: Stratum) -> EigenBasis | None:
    """The eigenbasis of ``G_2``, or None where the identity does not give it part by part.

    The zero eigenspace is rebuilt from the parts of ``G_2``. When it falls into parts that share an
    eigenvalue, the vectors at hand may mix them; then the parts are better solved.
    """
    n = first.n
    if len(first.parts) != 1 or len(first.singletons) or not isinstance(stratum.edges, np.ndarray):
        return None
    labels, zeros = stratum.parts, stratum.n_parts
    # Ascending in L_2 is descending in L_1; the last of these, lam_1 = n, are zeros of L_2.
    vectors = first.parts[0].vectors[:, :0:-1][:, zeros - 1 :]
    values = n - first.values[:0:-1][zeros - 1 :]
    owner = _owners(vectors, labels, zeros)
    if owner is None:
        return None
    parts, taken = [], np.argsort(np.concatenate([np.arange(zeros), owner]), kind="stable")
    sizes = np.bincount(labels)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for label in np.flatnonzero(sizes > 1):
        nodes = np.flatnonzero(labels == label)
        columns = taken[starts[label] : starts[label + 1]]  # the indicator, then this part's vectors
        own = np.empty((len(nodes), len(nodes)), order="F")
        own[:, 0] = 1.0 / np.sqrt(len(nodes))
        own[:, 1:] = vectors[np.ix_(nodes, columns[1:] - zeros)]
        parts.append(Part(nodes, np.concatenate([[0.0], values[columns[1:] - zeros]]), own, columns))
    single = np.flatnonzero(stratum.degrees == 0)
    basis = EigenBasis(np.concatenate([np.zeros(zeros), values]), tuple(parts), single, labels[single])
    return checked(basis, stratum, "combinatorial")


def _owners(vectors: np.ndarray, labels: np.ndarray, parts: int) -> np.ndarray | None:
    """The part each vector lives on, or None when one lives on several, or the counts do not fit."""
    if parts == 1:
        return np.zeros(vectors.shape[1], dtype=np.int64)
    energy = np.stack([np.sum(vectors[labels == part] ** 2, axis=0) for part in range(parts)])
    owner = np.argmax(energy, axis=0)
    stray = energy.sum(axis=0) - energy[owner, np.arange(len(owner))]
    fits = np.array_equal(np.bincount(owner, minlength=parts), np.bincount(labels) - 1)
    return owner if fits and np.all(stray <= STRAY_ENERGY) else None
