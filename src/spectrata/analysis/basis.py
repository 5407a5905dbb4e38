"""How much a magnitude depends on the choice of a basis inside repeated eigenvalues."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.layout import coordinates, group_reduce, merge_rule
from spectrata.analysis.merge import merge_eigenspaces
from spectrata.core.algorithms import ALGORITHMS, ENSEMBLES, Hop, Options, Output, resolve_algorithms
from spectrata.core.algorithms.ens import member_weights
from spectrata.core.algorithms.ln_vx import ln_vx
from spectrata.core.algorithms.options import make_options
from spectrata.core.bases.solve import EigenBasis, decompose
from spectrata.core.strata import line_stratum
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.signals import as_signal, potential
from spectrata.kernels import fast

if TYPE_CHECKING:
    import xarray as xr


def basis_spread(
    strat: Stratification,
    signal: Any,
    algorithms: str | Iterable[str] = "adj_diff",
    draws: int = 100,
    *,
    level: str = "component",
    metric: str = "auto",
    zero_vectors: str = "error",
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    """Spread of magnitudes over random rotations inside repeated eigenspaces.

    Every repeated eigenspace of the stratum, and for learned ln_vx of its line graph too, is turned by a
    Haar-random rotation; simple eigenvectors and their signs stay. The reported magnitude is one such choice.

    Parameters
    ----------
    strat : Stratification
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`.
    algorithms : str or list of str
        adj_diff by default. Learned ln_vx is learned again in every draw, so ask for few draws.
    draws : int
        Rotations, at least 2.
    level : {"component", "eigenspace"}
        Spread of single components, or of the values :func:`spectrata.merge_eigenspaces` gives.
    metric, zero_vectors, seed, **options
        As for :func:`spectrata.spectra`; the seed decides the rotations too.

    Returns
    -------
    Dataset
        ``magnitude`` as reported, and ``basis_mean``, ``basis_std``, ``basis_low``, ``basis_high``
        (smallest and largest).

    Notes
    -----
    adj_diff, gft, apprx_ls, in_agg: the spread is exactly 0 where the eigenvalue is simple, and for
    adj_diff also at
    zero eigenvalues, where the value is a convention and not read from an eigenvector. Learned ln_vx ties
    all components
    together: one repeated eigenvalue anywhere, or in the line graph, moves them all.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.cycle_graph(4), hops=1)
    >>> spread = st.basis_spread(strat, [3.0, 1.0, 0.0, 2.0], draws=50)
    >>> spread["multiplicity"].loc[1].values.tolist()
    [1, 2, 2, 1]
    >>> (spread["basis_std"].loc["adj_diff", 1].values > 0).tolist()
    [False, True, True, False]
    """
    names = resolve_algorithms(algorithms)
    if level not in ("component", "eigenspace"):
        raise OptionError(f"level={level!r} is not known; use 'component' or 'eigenspace'.")
    if not isinstance(draws, (int, np.integer)) or draws < 2:
        raise OptionError(f"draws={draws!r} must be a whole number of at least 2.")
    resolved = make_options(options)
    if resolved.laplacian != "combinatorial":
        raise OptionError("basis_spread works with the combinatorial Laplacian alone.")
    reported = strat.spectra(
        signal, names, metric=metric, zero_vectors=zero_vectors, seed=seed, keep=(), **options
    )
    field = potential(as_signal(signal, strat.graph), metric, zero_vectors, strat.graph.names)
    eigenspace = coordinates(reported)[1]
    rng = np.random.default_rng([seed, 0xBA515])
    # The normalised ensemble alone does not grow with the signal.
    scale = np.stack([field.scale ** (name != "ens") for name in names])[:, :, None]  # (algorithm, T, 1)
    tables = []
    for row, hop in enumerate(strat.hops):
        work = _Work(strat, hop, field.values, resolved, seed)
        drawn = [work.rotated(names, rng) for _ in range(draws)]  # draws x (algorithm, T, n)
        stack = np.stack(drawn)
        stack[:, :, field.undefined] = np.nan
        if level == "eigenspace":
            stack = _merged(stack, eigenspace[row], int(eigenspace.max()) + 1, names, options)
        tables.append({name: array * scale for name, array in _spread(stack).items()})
    ds = merge_eigenspaces(reported) if level == "eigenspace" else reported
    dims = ds["magnitude"].dims
    for name in tables[0]:
        array = np.stack([table[name] for table in tables], axis=2)  # (algorithm, T, hop, component)
        ds[name] = (dims, array if "snapshot" in dims else array[:, 0])
    return ds.assign_attrs(basis_draws=int(draws))


def _spread(stack: np.ndarray) -> dict[str, np.ndarray]:
    """Mean, deviation and range over the first axis; exactly no deviation where all draws agree."""
    low, high = stack.min(axis=0), stack.max(axis=0)
    std = np.where(low == high, 0.0, stack.std(axis=0, ddof=1))
    mean = np.where(low == high, low, stack.mean(axis=0))
    return {
        "basis_mean": mean,
        "basis_std": np.where(np.isnan(low), np.nan, std),
        "basis_low": low,
        "basis_high": high,
    }


def _merged(
    stack: np.ndarray, eigenspace: np.ndarray, count: int, names: tuple[str, ...], options: dict[str, Any]
) -> np.ndarray:
    merged = [
        group_reduce(stack[:, index, :, None], eigenspace[None], count, merge_rule(name, options))[:, :, 0]
        for index, name in enumerate(names)
    ]
    return np.stack(merged, axis=1)


def haar(size: int, rng: np.random.Generator) -> np.ndarray:
    """A random orthogonal matrix, uniform over all of them.

    Examples
    --------
    >>> turn = haar(3, np.random.default_rng(0))
    >>> bool(np.allclose(turn @ turn.T, np.eye(3)))
    True
    """
    frame, triangle = np.linalg.qr(rng.standard_normal((size, size)))
    return frame * np.sign(np.diag(triangle))


def rotate_columns(vectors: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Turn each run of columns with one group by its own random rotation; single columns stay."""
    out = vectors.copy()
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    for start, size in zip(starts, np.diff(starts, append=len(groups)), strict=True):
        if size > 1:
            out[:, start : start + size] = vectors[:, start : start + size] @ haar(size, rng)
    return out


@dataclass(frozen=True, eq=False)
class Dense:
    """As much of an eigenbasis as learning needs, with any orthonormal columns."""

    vectors: np.ndarray

    @property
    def n(self) -> int:
        """Number of components."""
        return self.vectors.shape[1]

    def dense(self) -> np.ndarray:
        """Nodes by components."""
        return self.vectors

    def project(self, signals: np.ndarray) -> np.ndarray:
        """Nodes to components."""
        return self.vectors.T @ signals


class _Work:
    """One hop: its basis, its gradient, and magnitudes in any rotation of the basis."""

    def __init__(
        self, strat: Stratification, hop: int, potential: np.ndarray, options: Options, seed: int
    ) -> None:
        self.stratum, self.basis = strat.strata.at(hop), strat.basis(hop)
        self.potential, self.options, self.seed = potential, options, seed
        self.gradient = fast.edge_lengths(potential, self.stratum.edges)  # (T, m)
        self.vectors = self.basis.dense()
        self.weights = member_weights(options.ens_weights, hop)
        self.line: EigenBasis | None = None

    def rotated(self, names: tuple[str, ...], rng: np.random.Generator) -> np.ndarray:
        """Magnitudes ``(algorithm, T, n)`` in a random basis of every eigenspace."""
        members = [name for name, weight in self.weights.items() if weight > 0]
        ensembles = any(name in ENSEMBLES for name in names)
        wanted = [name for name in ALGORITHMS if name in names or (ensembles and name in members)]
        vectors = rotate_columns(self.vectors, self.basis.eigenspace, rng)
        found = {name: Output(self.magnitude(name, vectors, rng)) for name in wanted}
        for name in names:
            if name in ENSEMBLES:
                found[name] = ENSEMBLES[name](found, self.weights)
        return np.stack([found[name].magnitude for name in names])

    def magnitude(self, name: str, vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One algorithm, ``(T, n)``, straight from its formula."""
        values, zero = self.basis.values, self.basis.is_zero
        edges, gradient, n = self.stratum.edges, self.gradient, self.basis.n
        safe = np.where(zero, 1.0, values)
        if name == "gft":
            return np.linalg.norm(np.einsum("tnd,ni->tid", self.potential, vectors, optimize=True), axis=2)
        if name == "in_agg":
            means = fast.node_sums(edges, gradient, n) / np.maximum(self.stratum.degrees, 1)
            return np.abs(means @ vectors)
        if name == "adj_diff":
            unit = self.options.scaling == "unit"
            flat = gradient.sum(axis=1, keepdims=True) / np.sqrt(len(edges)) if unit else np.nan
            power = 0.5 if unit else 1.0
            return np.where(zero, flat, fast.difference_sums(edges, gradient, vectors)[0] / safe**power)
        if name == "apprx_ls":
            return np.where(zero, 0.0, self._least_squares(vectors) / safe)
        return self._line_to_vertex(vectors, rng)

    def _least_squares(self, vectors: np.ndarray) -> np.ndarray:
        if self.options.orientation == "rms":
            return np.sqrt(fast.difference_sums(self.stratum.edges, self.gradient, vectors)[1])
        flow = self.gradient
        if self.options.orientation == "random":
            flow = flow * self._hop(Dense(vectors), Dense(vectors)).random(purpose=1).choice(
                [-1.0, 1.0], flow.shape[1]
            )
        return np.abs(fast.divergence(self.stratum.edges, flow, self.basis.n) @ vectors)

    def _line_to_vertex(self, vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.line is None:
            self.line = decompose(line_stratum(self.stratum))
        if self.options.transform == "incidence":
            return self._incidence(vectors)
        if self.options.by_part:
            work = self._hop(_rotate_parts(self.basis, rng), _rotate_parts(self.line, rng))
        else:
            line = Dense(rotate_columns(self.line.dense(), self.line.eigenspace, rng))
            work = self._hop(Dense(vectors), line)
        return ln_vx(work, self.options).magnitude

    def _incidence(self, vectors: np.ndarray) -> np.ndarray:
        """By its formula on the vertex side; the line side is invariant and read from the algorithm itself."""
        from spectrata.core.algorithms.ln_vx import _line_density

        assert self.line is not None
        density = _line_density(self._hop(self.basis, self.line), self.line.project(self.gradient.T))
        energy = fast.difference_sums(self.stratum.edges, np.sqrt(density), vectors)[1]
        zero = self.basis.is_zero
        return np.where(
            zero, density.mean(axis=1, keepdims=True), energy / np.where(zero, 1.0, self.basis.values)
        )

    def _hop(self, basis: Any, line: Any) -> Hop:
        return Hop(
            stratum=self.stratum,
            basis=basis,
            potential=self.potential,
            gradient=self.gradient,
            line=lambda: line,
            remember=lambda key, make: make(),
            seed=self.seed,
        )


def _rotate_parts(basis: EigenBasis, rng: np.random.Generator) -> EigenBasis:
    """Rotations that stay inside each connected part."""
    parts = tuple(
        replace(part, vectors=rotate_columns(part.vectors, basis.eigenspace[part.columns], rng))
        for part in basis.parts
    )
    return replace(basis, parts=parts)
