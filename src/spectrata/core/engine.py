"""The order of work: hops outside, snapshots inside.

Each hop is decomposed once, however many snapshots or columns follow; its edges and eigenvectors
live only while it is worked on, unless the stratification keeps them. Hops of one signal are worked on side by side.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.checks import doubts_of, error_of, plain, verify_sums, without_unresolved
from spectrata.core.hop import NOT_FINITE, OK, ZERO_VECTOR, Hop, Output
from spectrata.core.parallel import ALONE, CHUNK_BYTES, Progress, run_hops, shares_of
from spectrata.core.plan import Plan
from spectrata.core.registry import Algorithm, row_of
from spectrata.inputs.signals import Potential
from spectrata.kernels.backend import NUMPY, Backend, to_numpy
from spectrata.results.build import HopResult, add_notes, in_units

if TYPE_CHECKING:
    from spectrata.core.stratification import Stratification

# Nodes per column from which factored eigenvectors are faster than formed ones, which project a column in a tenth of
# the time; measured from 700 to 2,000 nodes.
NODES_PER_COLUMN = 8
# The share of a hop's time that its decomposition takes, for progress: usually, and where line graphs are learned on.
DECOMPOSED, BEFORE_LEARNING = 0.8, 0.1
TRIAL_EXTRAS = ("ln_vx_trial_magnitude", "ln_vx_row_norm")


def all_hops(
    strat: "Stratification", field: Potential, plan: Plan, backend: Backend = NUMPY, progress: Progress | None = None
) -> list[HopResult]:
    """The results of a signal at every hop: hops side by side, as far as cores and memory allow."""
    report = progress or (lambda message, fraction: None)
    n, columns = strat.graph.n_nodes, field.values.shape[0] * field.values.shape[2]
    few = backend == NUMPY and NODES_PER_COLUMN * columns <= n and not strat.keeps_bases

    def one_hop(hop: int, tell: Progress) -> HopResult:
        return _at_hop(strat, hop, field, plan, backend, tell, few and plan.only_projects(hop))

    dense = backend == NUMPY and plan.n_eigs is None
    shares = shares_of(n, len(strat.hops), len(field.values)) if dense else ALONE
    found = run_hops(one_hop, strat.hops, shares, report)
    report("done", 1.0)
    return found


def _at_hop(
    strat: "Stratification", hop: int, batch: Potential, plan: Plan, backend: Backend, tell: Progress, factored: bool
) -> HopResult:
    """The result at one hop, some snapshots at a time."""
    tell(", decomposing", 0.0)
    stratum, basis = strat.prepared(hop, plan, backend, factored=factored)
    learns = any(row.line_graph for row in plan.needed(hop))
    tell(*((", learning", BEFORE_LEARNING) if learns else (", decomposed", DECOMPOSED)))
    scratch: dict[tuple, Any] = {}  # what this hop makes is kept for all of its snapshots
    found = []
    for part in chunks(batch, stratum.n_edges):
        work = strat.work(stratum, basis, part.values, plan, backend, scratch)
        found.append(measured(work, part, plan))
    tell("", 1.0)
    return replace(joined(found), eigenvectors=basis.dense() if "eigenvectors" in plan.keep else None)


def apply(work: Hop, plan: Plan) -> dict[str, Output]:
    """Outputs of the algorithms asked for, and of the members of ensembles, where the signal is."""
    return _with_ensembles(work, _computed(work, plan), plan)


def _computed(work: Hop, plan: Plan) -> dict[str, Output]:
    return {row.name: row.function(work, plan.options) for row in plan.needed(work.stratum.hop) if row.function}


def _with_ensembles(work: Hop, computed: dict[str, Output], plan: Plan) -> dict[str, Output]:
    """The outputs where they are defined, with those of the ensembles asked for."""
    outputs = {name: without_unresolved(work, one) for name, one in computed.items()}
    weights = plan.ens_weights(work.stratum.hop)
    for row in plan.rows:
        if row.combine and weights is not None:
            members = {name: Output(to_numpy(one.magnitude), one.status) for name, one in outputs.items()}
            outputs[row.name] = row.combine(members, weights)
    return outputs


def joined(results: Sequence[HopResult]) -> HopResult:
    """Results of one hop as one, their snapshots one after the other."""
    first = results[0]
    if len(results) == 1:
        return first
    extras = {}
    for name, (dims, values) in first.extras.items():
        if "snapshot" in dims:
            values = np.concatenate([one.extras[name][1] for one in results], axis=dims.index("snapshot"))
        extras[name] = dims, values
    along = {"magnitude": 1, "magnitude_error": 1, "status": 1, "gradient_norm": 0}  # where snapshots are
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in results], axis=axis) for name, axis in along.items()
    }
    return replace(first, **arrays, extras=extras)


def chunks(batch: Potential, edges: int) -> Iterator[Potential]:
    """Runs of snapshots whose gradients fit in ``CHUNK_BYTES``."""
    step = max(1, CHUNK_BYTES // (8 * max(1, edges)))
    for start in range(0, len(batch.values), step):
        rows = slice(start, start + step)
        values = batch.values[rows]
        # Columns that are rows of their own are a view across the table.
        values = np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values
        yield Potential(values, batch.metric, batch.scale[rows], batch.undefined[rows])


def measured(work: Hop, batch: Potential, plan: Plan) -> HopResult:
    """One batch at one hop, in main memory and in the signal's units."""
    computed, norms = _computed(work, plan), plain(work.edge_norm(work.gradient))
    outputs = _with_ensembles(work, computed, plan)
    errors, doubts = {}, {}
    for name, output in computed.items():
        exact = row_of(name).exact
        if exact and work.is_whole and output.energy is not None:  # energies at the nodes, and on the edges
            sums = {0: plain(output.energy.off) + plain(output.energy.at_zero)}
            sums |= {1: norms**2} if work.basis.operator.has_constants else {}
            verify_sums(work.stratum.hop, work.basis, plain(output.magnitude), sums)
        errors[name] = error_of(work, output, as_given=exact and batch.metric == "euclidean")
        doubts[name] = doubts_of(work, output, errors[name])
    found = {name: plain(output.magnitude) for name, output in outputs.items()}
    bounds = {name: np.where(np.isfinite(one), errors.get(name, np.nan), np.nan) for name, one in found.items()}
    words = [_status(row, work, plan, computed, outputs[row.name], doubts) for row in plan.rows]
    stratum = work.stratum
    return HopResult(
        hop=stratum.hop,
        sizes=(stratum.n_edges, stratum.n_parts, stratum.n_singletons),
        axis=work.basis.axis,
        magnitude=_in_units(found, batch, plan),
        magnitude_error=_in_units(bounds, batch, plan),
        status=np.where(batch.undefined, ZERO_VECTOR, np.stack(words)).astype(object),
        gradient_norm=in_units(norms, batch.scale, batch.undefined),
        extras=_extras(outputs, batch, plan),
        ens_weights=plan.ens_weights(stratum.hop),
    )


def magnitudes(work: Hop, batch: Potential, plan: Plan) -> np.ndarray:
    """Magnitudes alone ``(A, T, N)`` of one batch, in main memory and in the signal's units."""
    return _in_units({name: plain(one.magnitude) for name, one in apply(work, plan).items()}, batch, plan)


def _in_units(values: dict[str, np.ndarray], batch: Potential, plan: Plan) -> np.ndarray:
    """Values of the algorithms asked for, ``(A, T, N)``."""
    return np.stack([in_units(values[row.name], batch.scale**row.grows, batch.undefined) for row in plan.rows])


def _status(
    row: Algorithm, work: Hop, plan: Plan, computed: dict[str, Output], output: Output, doubts: dict[str, np.ndarray]
) -> np.ndarray:
    """The words of one algorithm, ``(T,)``: "ok" where every number is finite, and within its bounds."""
    sources, status = plan.sources(row, work.stratum.hop), output.status
    finite = np.all([np.isfinite(plain(computed[name].magnitude)).all(axis=1) for name in sources], axis=0)
    words = np.where(finite, work.reservation or OK, NOT_FINITE) if status == OK else np.full(finite.shape, status)
    if row.combine:  # because of its members
        named = [np.where(doubts[name], f"{name}: " + doubts[name], "") for name in sources]
        own = np.array(["; ".join(filter(None, some)) for some in zip(*named, strict=True)], dtype=object)
    else:
        own = doubts[row.name]
    return add_notes(words.astype(object), own)


def _extras(outputs: dict[str, Output], batch: Potential, plan: Plan) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Diagnostics of the algorithms asked for, in the signal's units."""
    found = {}
    for row in plan.rows:
        for key, extra in outputs[row.name].extras.items():
            if key in TRIAL_EXTRAS and "trials" not in plan.keep:
                continue
            values = extra.values
            if "snapshot" in extra.dims:
                along = np.moveaxis(values, extra.dims.index("snapshot"), 0)
                scaled = in_units(along, batch.scale**extra.grows, batch.undefined)
                values = np.moveaxis(scaled, 0, extra.dims.index("snapshot"))
            found[key] = extra.dims, values
    return found
