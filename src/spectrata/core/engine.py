"""The order of work: hops outside, batches of signals inside.

Each hop is decomposed once, however many batches of draws, snapshots or columns follow; its edges and eigenvectors
live only while it is worked on, unless the stratification keeps them. Hops of one signal are worked on side by side.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.checks import doubts_of, errors_of, verify_output, verify_sums, without_unresolved
from spectrata.core.hop import NOT_FINITE, OK, ZERO_VECTOR, Hop, Output
from spectrata.core.operators import Operator
from spectrata.core.parallel import ALONE, CHUNK_BYTES, Progress, run_hops, shares_of
from spectrata.core.plan import Plan
from spectrata.core.registry import row_of
from spectrata.core.strata import Stratum
from spectrata.inputs.signals import Potential
from spectrata.kernels.backend import NUMPY, Array, Backend, to_numpy
from spectrata.results.build import HopResult, add_notes, in_units

if TYPE_CHECKING:
    from spectrata.core.stratification import Stratification

# Nodes per column from which factored eigenvectors are faster than formed ones, which project a column in a tenth of
# the time; measured from 700 to 2,000 nodes.
NODES_PER_COLUMN = 8
# The share of a hop's time that its decomposition takes, for progress: usually, and where line graphs are learned on.
DECOMPOSED, BEFORE_LEARNING = 0.8, 0.1
_counted: list[Counter] = []  # of the blocks of ``counting_decompositions`` that are open
TRIAL_EXTRAS = ("ln_vx_trial_magnitude", "ln_vx_row_norm")


@dataclass(frozen=True, eq=False)
class Piece:
    """One batch at one hop, in main memory and in the signal's units.

    Attributes
    ----------
    stratum, basis
        The hop. Its edges and vectors go when the next hop is worked on.
    magnitude, error : ndarray, shape (A, T, N)
        NaN where a snapshot is undefined; bounds on errors are NaN too where none is known.
    status : ndarray of str, shape (A, T)
    gradient_norm : ndarray, shape (T,)
    extras : dict
        Name to ``(dims, array)``.
    """

    stratum: Stratum
    basis: EigenBasis
    magnitude: np.ndarray
    error: np.ndarray
    status: np.ndarray
    gradient_norm: np.ndarray
    extras: dict[str, tuple[tuple[str, ...], np.ndarray]]


@contextmanager
def counting_decompositions() -> Iterator[Counter]:
    """Count how often each hop is decomposed in a block: ``(hop, operator)`` to a number, over all graphs.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(5), hops=2)
    >>> with counting_decompositions() as counts:
    ...     _ = st.spectra(strat, range(5)), st.spectra(strat, range(5), metric="euclidean")
    >>> {(hop, str(operator)): number for (hop, operator), number in sorted(counts.items(), key=str)}
    {(1, 'combinatorial'): 1, (2, 'combinatorial'): 1}
    """
    counts: Counter = Counter()
    _counted.append(counts)
    try:
        yield counts
    finally:
        _counted.remove(counts)


def count_decomposition(hop: Any, operator: Operator) -> None:
    """Count one decomposition in the open blocks of ``counting_decompositions``."""
    for counts in _counted:
        counts[hop, operator] += 1


def transform(
    strat: "Stratification", batches: Iterable[Potential], plan: Plan, backend: Backend = NUMPY
) -> Iterator[Piece]:
    """Magnitudes of every batch at every hop: hops outside, batches inside.

    ``batches`` is iterated once per hop, so a list, or an object whose iteration makes the same batches again.
    """
    plan.check(strat.hops)
    for hop in strat.hops:
        yield from _at_hop(strat, hop, batches, plan, backend, lambda message, fraction: None, factored=False)


def all_hops(
    strat: "Stratification", field: Potential, plan: Plan, backend: Backend = NUMPY, progress: Progress | None = None
) -> list[HopResult]:
    """What a result keeps of a signal at every hop: hops side by side, as far as cores and memory allow.

    Where the plan only projects few columns and no eigenbasis is kept, eigenvectors stay factored.
    """
    plan.check(strat.hops)
    report = progress or (lambda message, fraction: None)
    n, columns = strat.graph.n_nodes, field.values.shape[0] * field.values.shape[2]
    few = backend == NUMPY and NODES_PER_COLUMN * columns <= n and not strat.keeps_bases

    def one_hop(hop: int, tell: Progress) -> HopResult:
        tell("", 0.0)
        factored = few and plan.only_projects(hop)
        pieces = list(_at_hop(strat, hop, [field], plan, backend, tell, factored=factored))
        tell("", 1.0)
        return hop_result(_joined(pieces), plan)

    dense = backend == NUMPY and plan.n_eigs is None
    shares = shares_of(n, len(strat.hops), len(field.values)) if dense else ALONE
    found = run_hops(one_hop, strat.hops, shares, report)
    report("done", 1.0)
    return found


def _at_hop(
    strat: "Stratification",
    hop: int,
    batches: Iterable[Potential],
    plan: Plan,
    backend: Backend,
    tell: Progress,
    *,
    factored: bool,
) -> Iterator[Piece]:
    """Magnitudes of every batch at one hop."""
    solved = BEFORE_LEARNING if any(row.line_graph for row in plan.needed(hop)) else DECOMPOSED

    def learning(done: int, of: int) -> None:
        tell(", learning", solved + (1.0 - solved) * done / of)

    stratum, basis = strat.prepared(
        hop, plan, backend, factored=factored, tick=lambda done: tell(", decomposing", solved * done)
    )
    scratch: dict[tuple, Any] = {}  # what this hop makes is kept for all of its batches

    for batch in batches:
        pieces = []
        for part in _chunks(batch, stratum.n_edges):
            work = strat.work(stratum, basis, part.values, plan, backend, scratch=scratch, progress=learning)
            pieces.append(measured(work, part, plan))
        yield pieces[0] if len(pieces) == 1 else _joined(pieces)


def apply(work: Hop, plan: Plan) -> dict[str, Output]:
    """Outputs of the algorithms asked for, and of the members of ensembles, where the signal is."""
    return _with_ensembles(work, _computed(work, plan), plan)


def _computed(work: Hop, plan: Plan) -> dict[str, Output]:
    """Outputs of the algorithms asked for and of the members of ensembles, verified."""
    rows = [(row.name, row.function) for row in plan.needed(work.stratum.hop) if row.function]
    return {name: verify_output(work, function(work, plan.options)) for name, function in rows}


def _with_ensembles(work: Hop, computed: dict[str, Output], plan: Plan) -> dict[str, Output]:
    """The outputs where they are defined, with those of the ensembles asked for."""
    outputs = {name: without_unresolved(work, one) for name, one in computed.items()}
    weights = plan.ens_weights(work.stratum.hop)
    for row in plan.rows:
        if row.combine and weights is not None:
            plain = {name: Output(to_numpy(one.magnitude), one.status) for name, one in outputs.items()}
            outputs[row.name] = row.combine(plain, weights)
    return outputs


def collect(pieces: Iterable[Piece], plan: Plan) -> Iterator[HopResult]:
    """What a result keeps of each hop, all batches of a hop joined."""
    waiting: list[Piece] = []
    for piece in pieces:
        if waiting and waiting[0].stratum.hop != piece.stratum.hop:
            yield hop_result(_joined(waiting), plan)
            waiting = []
        waiting.append(piece)
    yield hop_result(_joined(waiting), plan)


def hop_result(piece: Piece, plan: Plan) -> HopResult:
    """What a result keeps of one hop."""
    stratum, basis = piece.stratum, piece.basis
    return HopResult(
        hop=stratum.hop,
        sizes=(stratum.n_edges, stratum.n_parts, stratum.n_singletons),
        axis=basis.axis,
        magnitude=piece.magnitude,
        magnitude_error=piece.error,
        status=piece.status,
        gradient_norm=piece.gradient_norm,
        extras=piece.extras,
        ens_weights=plan.ens_weights(stratum.hop),
        eigenvectors=basis.dense() if "eigenvectors" in plan.keep else None,
    )


def _chunks(batch: Potential, edges: int) -> Iterator[Potential]:
    """Runs of snapshots whose gradients fit in ``CHUNK_BYTES``."""
    step = max(1, CHUNK_BYTES // (8 * max(1, edges)))
    for start in range(0, len(batch.values), step):
        rows = slice(start, start + step)
        values = batch.values[rows]
        # Columns that are rows of their own are a view across the table.
        values = np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
        yield Potential(values, batch.metric, batch.scale[rows], batch.undefined[rows])


def measured(work: Hop, batch: Potential, plan: Plan) -> Piece:
    """One batch at one hop, in main memory and in the signal's units."""
    computed = _computed(work, plan)
    outputs = _with_ensembles(work, computed, plan)
    given = [row_of(name).exact and batch.metric == "euclidean" for name in computed]
    errors = errors_of(work, list(computed.values()), given)
    bounds = dict(zip(computed, errors, strict=True))
    doubts = dict(zip(computed, doubts_of(work, list(computed.values()), errors), strict=True))
    status, extras = [], {}
    for row in plan.rows:
        output, sources = outputs[row.name], plan.sources(row, work.stratum.hop)
        finite = np.all([np.isfinite(_plain(computed[name].magnitude)).all(axis=1) for name in sources], axis=0)
        fine = np.where(finite, work.reservation or OK, NOT_FINITE)  # only a number is "ok"
        words = np.broadcast_to(fine if output.status == OK else output.status, finite.shape).astype(object)
        words = add_notes(words, _joined_doubts(row.name, {name: doubts[name] for name in sources}))
        status.append(np.where(batch.undefined, ZERO_VECTOR, words))
        for key, extra in output.extras.items():
            if key not in TRIAL_EXTRAS or "trials" in plan.keep:
                extras[key] = extra.dims, _extra_in_units(extra, batch)
    norms = _plain(work.edge_norm(work.gradient))
    for row in plan.rows:
        if row.exact and work.is_whole and work.basis.operator.has_constants:
            verify_sums(work.stratum.hop, work.basis, _plain(outputs[row.name].magnitude), {1: norms**2})
    norms = in_units(norms, batch.scale, batch.undefined)
    found = _magnitudes(outputs, batch, plan), _errors(outputs, bounds, batch, plan)
    return Piece(work.stratum, work.basis, *found, np.stack(status).astype(object), norms, extras)


def magnitudes(work: Hop, batch: Potential, plan: Plan) -> np.ndarray:
    """Magnitudes alone ``(A, T, N)`` of one batch, in main memory and in the signal's units."""
    return _magnitudes(apply(work, plan), batch, plan)


def _magnitudes(outputs: dict[str, Output], batch: Potential, plan: Plan) -> np.ndarray:
    found = []
    for name in plan.algorithms:
        scale = batch.scale ** row_of(name).grows
        found.append(in_units(_plain(outputs[name].magnitude), scale, batch.undefined))
    return np.stack(found)


def _errors(outputs: dict[str, Output], bounds: dict[str, np.ndarray], batch: Potential, plan: Plan) -> np.ndarray:
    """Bounds on errors ``(A, T, N)`` in the signal's units, NaN where there is none or no magnitude."""
    found = []
    for row in plan.rows:
        there = np.isfinite(_plain(outputs[row.name].magnitude))
        bound = np.where(there, bounds.get(row.name, np.nan), np.nan)
        found.append(in_units(bound, batch.scale**row.grows, batch.undefined))
    return np.stack(found)


def _joined_doubts(algorithm: str, doubts: dict[str, np.ndarray]) -> np.ndarray:
    """Why an algorithm's magnitudes are not "ok", ``(T,)``; those of an ensemble because of its members."""
    if algorithm in doubts:
        return doubts[algorithm]
    named = [np.where(words, f"{name}: " + words, "") for name, words in doubts.items()]
    return np.array(["; ".join(filter(None, words)) for words in zip(*named, strict=True)], dtype=object)


def _plain(array: Array) -> np.ndarray:
    return to_numpy(array).astype(np.float64)


def _extra_in_units(extra: Any, batch: Potential) -> np.ndarray:
    if "snapshot" not in extra.dims:
        return extra.values
    along = np.moveaxis(extra.values, extra.dims.index("snapshot"), 0)
    scale = batch.scale if extra.grows else np.ones_like(batch.scale)
    return np.moveaxis(in_units(along, scale, batch.undefined), 0, extra.dims.index("snapshot"))


def _joined(pieces: list[Piece]) -> Piece:
    """Pieces of one hop, their snapshots one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    extras = {}
    for name, (dims, first) in pieces[0].extras.items():
        arrays = [piece.extras[name][1] for piece in pieces]
        along = dims.index("snapshot") if "snapshot" in dims else None
        extras[name] = dims, first if along is None else np.concatenate(arrays, axis=along)
    return Piece(
        pieces[0].stratum,
        pieces[0].basis,
        np.concatenate([piece.magnitude for piece in pieces], axis=1),
        np.concatenate([piece.error for piece in pieces], axis=1),
        np.concatenate([piece.status for piece in pieces], axis=1),
        np.concatenate([piece.gradient_norm for piece in pieces]),
        extras,
    )
