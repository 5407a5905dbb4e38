"""What every method is given at one hop, and what it gives back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from spectrata.eigen import EigenBasis, Part
from spectrata.kernels import fast
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


    @cached_property
    def difference_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """``sum_e g abs(u_i(x) - u_i(y))`` and ``sum_e g^2 (u_i(x) - u_i(y))^2``, each ``(T, n)``, made in one pass."""
        return self.sum_differences(self.gradient)

    def sum_differences(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same two sums for any weights ``(T, m)`` on the edges; 0 at zero eigenvalues."""
        absolute = np.zeros((len(weights), self.basis.n))
        squared = np.zeros_like(absolute)
        for part, edges, where in self.blocks():
            found = fast.difference_sums(edges, weights[:, where], part.vectors[:, 1:])
            absolute[:, part.columns[1:]], squared[:, part.columns[1:]] = found
        return absolute, squared


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
