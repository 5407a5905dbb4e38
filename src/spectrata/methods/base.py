"""What every method is given at one hop, and what it gives back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from spectrata.eigen import EigenBasis, Part
from spectrata.strata import Stratum

OK = "ok"
UNDEFINED_AT_ZERO = "undefined at zero eigenvalues"
LINE_GRAPH_TOO_LARGE = "skipped: line graph too large"
ZERO_VECTOR = "undefined: zero vector"


@dataclass(frozen=True, eq=False)
class Hop:
    """One stratum with its eigenbasis and the gradients of the signal on it.

    Attributes
    ----------
    stratum, basis
        The graph at this hop and its eigencomponents.
    potential : ndarray, shape (T, n, d)
        The signal whose plain differences have length ``gradient``.
    gradient : ndarray, shape (T, m)
        Definition 2, one number per edge of the stratum.
    line : callable
        Gives the line graph's eigenbasis, solved once and only if asked for.
    remember : callable
        ``remember(key, make)`` gives what ``make()`` gave the first time: for work that depends on the graph alone.
    seed : int
    progress : callable
        ``progress(done, total)`` for work inside one method that takes long.
    """

    stratum: Stratum
    basis: EigenBasis
    potential: np.ndarray
    gradient: np.ndarray
    line: Callable[[], EigenBasis]
    remember: Callable[[tuple, Callable[[], object]], object]
    seed: int = 0
    progress: Callable[[int, int], None] = field(default=lambda done, total: None)

    def random(self, purpose: int) -> np.random.Generator:
        """A generator that depends on the seed, the hop and the purpose alone."""
        return np.random.default_rng([self.seed, self.stratum.hop, purpose])

    def blocks(self) -> Iterator[tuple[Part, np.ndarray, np.ndarray | slice]]:
        """Each part with its edges in the part's own numbering and where they stand among the stratum's edges."""
        edges = self.stratum.edges
        local = np.empty(self.stratum.n_nodes, dtype=np.int64)
        if len(self.basis.parts) == 1:
            part = self.basis.parts[0]
            local[part.nodes] = np.arange(len(part.nodes))
            yield part, local[edges], slice(None)
            return
        owner = self.stratum.parts[edges[:, 0]]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(self.stratum.n_parts + 1))
        for part in self.basis.parts:
            label = self.stratum.parts[part.nodes[0]]
            mine = order[bounds[label] : bounds[label + 1]]
            local[part.nodes] = np.arange(len(part.nodes))
            yield part, local[edges[mine]], mine


@dataclass(frozen=True, eq=False)
class Output:
    """Magnitudes of one method at one hop.

    Attributes
    ----------
    magnitude : ndarray, shape (T, n)
    status : str
        ``"ok"``, or why some or all of it is NaN.
    extras : dict
        Diagnostics: name to ``(dims, array)``; dims may hold ``"snapshot"``, ``"trial"``, ``"component"``.
    """

    magnitude: np.ndarray
    status: str = OK
    extras: dict[str, tuple[tuple[str, ...], np.ndarray]] = field(default_factory=dict)

    def scaled(self, factor: np.ndarray) -> "Output":
        """The output for gradients longer by ``factor (T,)``: every method is linear in their length."""
        extras = dict(self.extras)
        if "ln_vx_trial_magnitude" in extras:
            dims, trials = extras["ln_vx_trial_magnitude"]
            extras["ln_vx_trial_magnitude"] = (dims, trials * factor[:, None])
        return Output(self.magnitude * factor[:, None], self.status, extras)
