"""What every algorithm is given at one hop, and what it gives back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from spectrata.core.bases.solve import EigenBasis, Part
from spectrata.core.strata import Stratum
from spectrata.kernels import fast
from spectrata.kernels.backend import like, namespace, to_numpy
from spectrata.kernels.scaling import put_back

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
    potential : array, shape (T, n, d)
        The signal whose plain differences have length ``gradient``.
    gradient : array, shape (T, m)
        Definition 2, one number per edge of the stratum; numpy, or wherever the signal lives.
    line : callable
        Gives the line graph's eigenbasis, solved once and only if asked for.
    remember : callable
        ``remember(key, make)`` gives what ``make()`` gave the first time: for work that depends on the graph alone.
    seed : int
    progress : callable
        ``progress(done, total)`` for work inside one algorithm that takes long.
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

    def blocks(self) -> Iterator[tuple[Part, Any, Any]]:
        """Each part with its edges in the part's own numbering and where they stand among the stratum's edges."""
        edges, xp = self.stratum.edges, namespace(self.stratum.edges)
        alone = len(self.basis.parts) == 1 and self.basis.cut is None
        if alone and len(self.basis.singletons) == 0:
            yield self.basis.parts[0], edges, slice(None)
            return
        local = xp.zeros(self.stratum.n_nodes, dtype=xp.int64, device=edges.device)
        for part in self.basis.parts:
            local[part.nodes] = xp.arange(len(part.nodes), dtype=xp.int64, device=edges.device)
        edges = local[edges]
        if alone:
            yield self.basis.parts[0], edges, slice(None)
            return
        owner = like(self.stratum.parts, edges)[self.stratum.edges[:, 0]]
        order = xp.argsort(owner, stable=True)
        bounds = np.concatenate(
            [[0], np.cumsum(np.bincount(to_numpy(owner), minlength=self.stratum.n_parts))]
        )
        for part in self.basis.parts:
            label = self.stratum.parts[int(part.nodes[0])]
            mine = order[int(bounds[label]) : int(bounds[label + 1])]
            yield part, edges[mine], mine

    @property
    def xp(self) -> ModuleType:
        """The array library of this hop."""
        return namespace(self.gradient)

    @cached_property
    def eigenvalues(self) -> Any:
        """Eigenvalues where the gradients are, shape (n,)."""
        return like(self.basis.values.astype(self.basis.dtype), self.gradient)

    @cached_property
    def is_zero(self) -> Any:
        """1 at zero components and 0 elsewhere, where the gradients are, shape (n,)."""
        return like(self.basis.is_zero.astype(self.basis.dtype), self.gradient)

    def over_eigenvalues(self, sums: Any, power: float = 1.0, at_zero: float = 0.0) -> Any:
        """``sums / lam^power``, and ``at_zero`` at zero components: ``(T, n) -> (T, n)``."""
        scale = np.full(self.basis.n, at_zero)
        np.divide(1.0, self.basis.values**power, out=scale, where=~self.basis.is_zero)
        return sums * like(scale.astype(self.basis.dtype), sums)

    @cached_property
    def difference_sums(self) -> tuple[Any, Any]:
        """``sum_e g abs(u_i(x) - u_i(y))`` and ``sum_e g^2 (u_i(x) - u_i(y))^2``, each ``(T, n)``, made in one pass."""
        return self.sum_differences(self.gradient)

    def sum_differences(self, weights: Any) -> tuple[Any, Any]:
        """The same two sums for any weights ``(T, m)`` on the edges; 0 at zero eigenvalues."""
        absolute = like(np.zeros((len(weights), self.basis.n), dtype=self.basis.dtype), weights)
        squared = self.xp.zeros_like(absolute)
        for part, edges, where in self.blocks():
            found = fast.difference_sums(edges, weights[:, where], part.vectors[:, part.nonzero])
            columns = part.columns[part.nonzero]
            absolute[:, columns], squared[:, columns] = found
        return absolute, squared


@dataclass(frozen=True, eq=False)
class Output:
    """Magnitudes of one algorithm at one hop.

    Attributes
    ----------
    magnitude : ndarray, shape (T, n)
    status : str
        ``"ok"``, or why some or all of it is NaN.
    extras : dict
        Diagnostics: name to ``(dims, array)``; dims may hold ``"snapshot"``, ``"trial"``, ``"component"``, ``"row"``.
    """

    magnitude: np.ndarray
    status: str = OK
    extras: dict[str, tuple[tuple[str, ...], np.ndarray]] = field(default_factory=dict)

    def scaled(self, factor: np.ndarray) -> "Output":
        """The output in main memory for gradients longer by ``factor (T,)``: every algorithm is linear in them."""
        extras = dict(self.extras)
        if "ln_vx_trial_magnitude" in extras:
            dims, trials = extras["ln_vx_trial_magnitude"]
            extras["ln_vx_trial_magnitude"] = (dims, put_back(trials, factor[:, None]))
        magnitude = put_back(to_numpy(self.magnitude).astype(float), factor[:, None])
        return Output(magnitude, self.status, extras)
