"""Magnitudes against chance: z, p and q per component, eigenspace or band."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.draws import SAMPLES, Draws
from spectrata.analysis.levels import group_reduce, level_coordinates, level_groups
from spectrata.analysis.moments import SignalMoments, gft_null, signal_moments
from spectrata.analysis.nulls import permute_nodes, rewire
from spectrata.analysis.spectrum import lengths
from spectrata.analysis.tally import FLOOR, Tally, against_chance, joined
from spectrata.core.algorithms.options import shows_options
from spectrata.core.engine import Piece, hop_result, transform
from spectrata.core.plan import Plan, make_plan
from spectrata.core.stratification import Stratification, as_stratification, refuse_graph_arguments
from spectrata.errors import OptionError
from spectrata.inputs.graphs import as_pairs
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY
from spectrata.kernels.scaling import require_squarable
from spectrata.results.build import Axis, attributes_of, named
from spectrata.results.schema import MERGED, View, is_bands, view

if TYPE_CHECKING:
    import xarray as xr

NULLS = (*SAMPLES, "rewire")
ALTERNATIVES = ("two-sided", "greater", "less")


@shows_options
def calibrate(
    strat: Any,
    signal: Any,
    null: Any = "permute",
    draws: int = 999,
    *,
    algorithms: str | Iterable[str] | None = None,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    level: str = "eigenspace",
    bands: int = 4,
    alternative: str = "two-sided",
    relative: bool = False,
    metric: str = "auto",
    zero_vectors: str = "error",
    seed: int = 0,
    dtype: str = "float64",
    n_eigs: int | None = None,
    which: str = "lowest",
    **options: Any,
) -> "xr.Dataset":
    r"""Compare magnitudes with chance: z, p and Benjamini-Hochberg q for each.

    Parameters
    ----------
    strat : Stratification, or a graph in any form
        Or a result of :func:`spectrata.band_spectra`, whose bands are then calibrated by ``draws`` orders of the nodes.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`; snapshots are calibrated one by one.
    null : {"permute", "rotate", "rewire"} or a signal with snapshots
        What chance means: "permute": the nodes' vectors in random order; "rotate": random signals with the same mean
        and covariance of columns and no preferred direction among nodes; "rewire": random graphs with the same
        degrees and the signal as it is (bands only: eigencomponents of two graphs do not correspond; the graphs come
        from a Markov chain of edge swaps, so this p is approximate); or embeddings of untrained models, ``(draws, n,
        d)``.
    draws : int
        Monte Carlo draws; q cannot fall below the size of its family over ``draws + 1`` (twice that, two-sided) for a
        single cell. With 0, only z and ratios of ``gft`` under "permute", which are exact.
    algorithms : str or list of str, optional
        As for :func:`spectrata.spectra`.
    hops, weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a Stratification has its own.
    level : {"component", "eigenspace", "band"}
        What is calibrated. Single components of a repeated eigenvalue are arbitrary, hence the default.
    bands : int
        Number of bands off zero, equal counts of components.
    alternative : {"two-sided", "greater", "less"}
    relative : bool
        Divide magnitudes by their norm off zero first: what counts is then how energy is spread, not how much there
        is. Advisable for "rewire" and for untrained models, whose embeddings are of another size.
    metric, zero_vectors, seed, dtype, n_eigs, which, **options
        As for :func:`spectrata.spectra`; the seed decides the draws too.

    Returns
    -------
    Dataset
        Over ``(algorithm, [snapshot,] hop, component or band)``: ``magnitude``; ``null_energy`` and ``null_std``,
        mean and standard deviation of the squared magnitude under the null (closed form for gft under "permute");
        ``ratio``, the squared magnitude over ``null_energy``; ``z``; ``p``; ``q``; ``degenerate``, where no draw
        differs from the observed (then p = 1 and z is NaN). ``status(algorithm, hop[, snapshot])`` says what is NaN
        and why.

    Notes
    -----
    ``p = (1 + count) / (draws + 1)``, where ``count`` is the number of draws at least as extreme, ties included:
    valid for any number of draws, exact when there are no ties and ``(draws + 1) alpha`` (half of it, two-sided) is
    whole. Two-sided p is twice the smaller tail. The family of q is one algorithm and snapshot over all hops and
    components (or bands), degenerate ones left out.

    For gft under "permute" and every component off zero :math:`E[M^2] = v = \sum \|t - \bar t\|^2 / (n - 1)`; the
    variance is exact too (``analysis.moments``).

    Examples
    --------
    A path whose values rise along it: the slowest component stands out.

    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(12), hops=1)
    >>> found = st.calibrate(strat, range(12), algorithms="gft", draws=199)
    >>> float(found["p"].loc["gft", 1][1]), round(float(found["ratio"].loc["gft", 1][1]), 1)
    (0.01, 10.9)
    """
    one_of(alternative, "alternative", ALTERNATIVES)
    if is_bands(strat):
        from spectrata.analysis.calibrate_bands import calibrate_result

        refuse_graph_arguments("A result", hops=hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
        asked = {"algorithms": algorithms, "level": level, "bands": bands, "relative": relative}
        asked |= {"metric": metric, "zero_vectors": zero_vectors, **options}
        return calibrate_result(strat, signal, null, draws, alternative, seed, asked)
    _check_null(null, draws, level)
    strat = as_stratification(strat, hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
    _check_rewired(null, strat)
    known = as_signal(signal, strat.graph)
    plan = make_plan(
        algorithms,
        options,
        strat.graph.n_nodes,
        seed=seed,
        keep=(),
        dtype=dtype,
        n_eigs=n_eigs,
        which=which,
        diagnose=False,
    )
    field = potential(known, metric, zero_vectors, strat.graph.names)
    drawn = _batches(null, draws, strat, known, plan, metric)
    if not relative and field.metric == "euclidean":
        for given in (field, drawn.field) if isinstance(drawn, Given) else (field,):
            require_squarable(given.values * given.scale[:, None, None], "Energies", power=4)
    strat.announce(plan, NUMPY)
    pieces = transform(strat, Batches(field, drawn), plan)
    closed = isinstance(null, str) and null == "permute" and not relative
    moments = signal_moments(field.values) if closed and any(row.exact for row in plan.rows) else None
    results, tallies = [], []
    for _ in strat.hops:
        first = next(pieces)  # the signal itself; the draws follow
        reading = Reading(plan, first.basis.axis, *level_groups(first.basis.axis, level, bands), relative)
        tally = Tally(reading.of(first.magnitude), _floor(field, relative))
        for rows, count in drawn.layout:
            found = reading.of(next(pieces).magnitude)  # (A, S c, group)
            tally.add(rows, found.reshape(len(found), -1, count, found.shape[-1]))
        if moments is not None:
            tally.exact = _exact_moments(first, plan, reading, field, moments)
        results.append(hop_result(first, plan))
        tallies.append(tally)
    next(pieces, None)  # lets the work end
    spectra = view(strat.labelled(known, field, results, plan, zero_vectors))
    if isinstance(null, str) and null == "rewire":
        _count_rewired(tallies, strat, known, plan, metric, (draws, level, bands, relative))
    kind = null if isinstance(null, str) else "given"
    facts = {"null": kind, "draws": int(draws), "alternative": alternative, "level": level}
    groups, count = level_groups(spectra, level, bands)
    out = joined([tally.result(alternative) for tally in tallies], count)
    return _labelled(spectra, groups, count, against_chance(out), facts)


@dataclass(frozen=True, eq=False)
class Batches:
    """The signal, then the draws; iterated once per hop."""

    field: Potential
    drawn: Iterable[Potential]

    def __iter__(self) -> Iterator[Potential]:
        yield self.field
        yield from self.drawn


@dataclass(frozen=True, eq=False)
class Given:
    """Signals to compare with, as one batch of draws for every snapshot."""

    field: Potential

    @property
    def layout(self) -> list[tuple[slice, int]]:
        """One batch, whose draws go with all snapshots."""
        return [(slice(None), len(self.field))]

    def __iter__(self) -> Iterator[Potential]:
        yield self.field


@dataclass(frozen=True, eq=False)
class Reading:
    """From magnitudes per component of one hop to those of a level, as they are or relative to all off zero."""

    plan: Plan
    axis: Axis
    groups: np.ndarray  # (1, N)
    count: int
    relative: bool

    def of(self, magnitude: np.ndarray) -> np.ndarray:
        """Magnitudes of every algorithm by group: ``(A, T, N) -> (A, T, count)``."""
        options = asdict(self.plan.options)
        found = np.stack(
            [
                group_reduce(piece[:, None], self.groups, self.count, row.merge_rule(options))[:, 0]
                for piece, row in zip(magnitude, self.plan.rows, strict=True)
            ]
        )
        if not self.relative:
            return found
        off = np.where(self.axis.is_zero, 0.0, np.nan_to_num(magnitude))
        norm, whole = (lengths(values)[..., None] for values in (off, magnitude))
        # What rounding leaves off zero is nothing to be relative to.
        return np.divide(found, norm, out=np.full(found.shape, np.nan), where=norm > FLOOR * whole)


def _floor(field: Potential, relative: bool) -> np.ndarray:
    """Differences of magnitudes that are rounding: ``(1, T, 1)``."""
    centred = field.values - field.values.mean(axis=1, keepdims=True)  # a large mean costs magnitudes no digits
    size = field.scale * np.linalg.norm(centred, axis=(1, 2))
    return FLOOR * (np.ones_like(size) if relative else size)[None, :, None]


def _check_null(null: Any, draws: int, level: str) -> None:
    if not isinstance(null, str):
        return
    if null not in NULLS:
        raise OptionError(f"null={null!r} is not one of {', '.join(NULLS)}; or give the signals of untrained models.")
    if null == "rewire" and level != "band":
        raise OptionError(
            "null='rewire' changes the graph, and eigencomponents of two graphs do not correspond; use level='band'."
        )
    whole(draws, "draws", 0)


def _check_rewired(null: Any, strat: Stratification) -> None:
    if isinstance(null, str) and null == "rewire" and strat.weights:
        raise OptionError("null='rewire' swaps edges and leaves them no weights; use weights=False or null='permute'.")


def _batches(null: Any, draws: int, strat: Stratification, known: Signal, plan: Plan, metric: str) -> "Draws | Given":
    """What is drawn under the null; nothing for rewired graphs, which come later."""
    if not isinstance(null, str):
        return Given(potential(_given_draws(null, strat, known), metric, "zero"))
    width = len(plan.algorithms) * strat.graph.n_nodes
    sample = SAMPLES.get(null, permute_nodes)
    return Draws(known.values, sample, draws if null in SAMPLES else 0, metric, [plan.seed, 0x5EC], width)


def _given_draws(null: Any, strat: Stratification, known: Signal) -> Signal:
    given = as_signal(null, strat.graph)
    if len(given.values) < 2:
        raise OptionError(
            "null holds one signal; give the embeddings of several untrained models, shape (draws, n, d)."
        )
    if given.values.shape[2] != known.values.shape[2]:
        raise OptionError(
            f"The signal has {known.values.shape[2]} columns and those of null have {given.values.shape[2]}, so that "
            "their magnitudes do not compare; give embeddings of the same width."
        )
    return given


def _count_rewired(
    tallies: list[Tally], strat: Stratification, known: Signal, plan: Plan, metric: str, asked: tuple
) -> None:
    """Count the signal on rewired graphs; hops that a graph lacks are left out."""
    draws, level, bands, relative = asked
    rng = np.random.default_rng([plan.seed, 0x5EC])
    field = potential(known, metric, "nan")
    for _ in range(draws):
        edges = as_pairs(rewire(strat.graph, rng))
        other = Stratification(edges=edges, n_nodes=strat.graph.n_nodes, hops=max(strat.hops), max_basis_bytes=0)
        for piece in transform(other, [field], plan):
            if piece.stratum.hop in strat.hops:
                axis = piece.basis.axis
                found = Reading(plan, axis, *level_groups(axis, level, bands), relative).of(piece.magnitude)
                tallies[strat.hops.index(piece.stratum.hop)].add(slice(None), found[:, :, None])


def _exact_moments(
    piece: Piece, plan: Plan, reading: Reading, field: Potential, moments: SignalMoments
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Closed-form mean and standard deviation of energies, for the algorithms that have them."""
    mean, variance = gft_null(piece.basis, reading.groups[0], reading.count, moments)
    factor = np.where(field.undefined, np.nan, field.scale**2)[:, None]
    found = mean * factor, np.sqrt(variance) * factor
    return {index: found for index, row in enumerate(plan.rows) if row.exact}


def _labelled(
    spectra: View, groups: np.ndarray, count: int, out: dict[str, np.ndarray], facts: dict[str, Any]
) -> "xr.Dataset":
    import xarray as xr

    level = facts["level"]
    labels = level_coordinates(spectra, groups, count, level)
    last = "band" if level == "band" else "component"
    order = ("magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used")
    variables: dict[str, Any] = {name: spectra.placed(out[name], "hop", last) for name in order}
    kept = ("edges", "edge_weight", "gradient_norm")
    variables |= {name: spectra.ds[name] for name in kept if name in spectra.ds}
    sizes = labels["band_size"][1] if level == "band" else None
    variables["status"] = spectra.placed(_statuses(spectra.status, out, sizes).astype(str), "hop")
    names = ("complete", "n_edges", "n_parts", "n_singletons", "node", "made_with")
    coords: dict[str, Any] = {name: spectra.ds[name] for name in names if name in spectra.ds.coords}
    coords |= {"algorithm": list(spectra.algorithms), "hop": list(spectra.hops)} | spectra.row_coordinates() | labels
    if level == "component":
        coords["component"] = spectra.component
    family = "one algorithm and snapshot, all hops and components or bands, degenerate ones left out"
    attributes = attributes_of(spectra.ds, "calibration") | facts | {"q_family": family}
    if level == "eigenspace":
        attributes[MERGED] = "eigenspaces"
    return named(xr.Dataset(variables, coords, attributes))


def _statuses(given: np.ndarray, out: dict[str, np.ndarray], sizes: np.ndarray | None) -> np.ndarray:
    """The result's own status, and where nothing could be calibrated, why: ``(A, R, H)``."""
    present = ~np.isnan(out["magnitude"])
    degenerate = (out["degenerate"] & present).sum(axis=-1)
    cells = present.sum(axis=-1)
    words = np.full(cells.shape, "", dtype=object)
    some = degenerate > 0
    words[some] = [
        "degenerate: no draw differs" if bad == of else f"{bad} of {of} degenerate: no draw differs there"
        for bad, of in zip(degenerate[some], cells[some], strict=True)
    ]
    words[(out["draws_used"] == 0).all(axis=-1) & (cells > 0)] = "no draws: p and q not computed"
    if sizes is not None:  # a hop with few distinct eigenvalues leaves bands empty
        empty = np.array([f"{k} empty bands" if k else "" for k in (sizes == 0).sum(axis=1)], dtype=object)
        words = np.where(words == "", empty, np.where(empty == "", words, words + "; " + empty))
    words[(cells == 0) & (given == "ok")] = "undefined: no energy off zero"  # nothing to be relative to
    return np.where(words == "", given, np.where(given == "ok", words, given + "; " + words))
