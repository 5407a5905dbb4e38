"""Magnitudes against chance: z, p and q per component, eigenspace or band."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.engine import transform
from spectrata.core.plan import Plan, make_plan
from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.columns import by_column
from spectrata.inputs.graphs import as_pairs
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY
from spectrata.kernels.scaling import require_squarable
from spectrata.results.build import HopResult, Rows, attributes_of, build, laid_out, named
from spectrata.results.schema import MERGED, is_bands, view
from spectrata.stats.approximate import FIRST, Approximate, approximate_p, choose_method, confirmed, why_refused
from spectrata.stats.describe.levels import level_coordinates, level_groups
from spectrata.stats.draws import Given, Permuted, Rotated, Source, compressed
from spectrata.stats.judge import Judge
from spectrata.stats.moments import SignalMoments, gft_null, row_norms, signal_moments
from spectrata.stats.nulls.surrogates import rewire
from spectrata.stats.sequential import Orders, Sequential, p_floor
from spectrata.stats.statuses import statuses, with_draws_needed
from spectrata.stats.tally import FLOOR, TIE, Tally, against_chance, joined

if TYPE_CHECKING:
    import xarray as xr

NULLS = ("permute", "rotate", "rewire")
ALTERNATIVES = ("two-sided", "greater", "less")
SINGLE_TIE, SINGLE_FLOOR = 1e-4, 1e-5  # of bases in single precision: see ``tally``
VARIABLES = ("magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used", "p_floor")
FAMILY = "one algorithm and snapshot, all hops and components or bands, and all columns, degenerate ones left out"


def calibrate(
    strat: Any,
    signal: Any,
    null: Any = "permute",
    draws: int = 999,
    *,
    max_draws: int = 99_999,
    p_method: str = "auto",
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
    columns: str = "joint",
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
        Monte Carlo draws of every cell. With 0, only z and ratios of ``gft`` under "permute", which are exact.
    max_draws : int
        Draws of a cell that is still clear after ``draws``: fewer than 10 of its draws are as extreme. It continues
        until there are 10, or to ``max_draws``, or to what a bound on the work allows; ``draws_used`` has the
        number. On a graph with at most this many orders of its nodes all of them are used, and p is exact.
    p_method : {"auto", "permutations", "moments"}
        "moments": Pearson type III from three exact moments, for bands of ``gft`` on at least 1,000 nodes, with 200
        random cells confirmed by permutations. Cells whose skewness exceeds .5 get permutations, as many as they need;
        ``draws_used`` is 0 in the others. "auto": this where the draws would take more than about half a minute, such
        as for hundreds of columns, else permutations. The attribute ``p_method`` says which.
    algorithms : str or list of str, optional
        As for :func:`spectrata.spectra`.
    hops, weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification.
    level : {"component", "eigenspace", "band"}
        What is calibrated. Single components of a repeated eigenvalue are arbitrary, hence the default.
    bands : int
        Number of bands off zero, equal counts of components.
    alternative : {"two-sided", "greater", "less"}
    relative : bool
        Divide magnitudes by their norm off zero first: what counts is then how energy is spread, not how much there
        is. Advisable for "rewire" and for untrained models, whose embeddings are of another size.
    columns : {"joint", "separate"}
        The d columns as one vector per node, or as d signals of one number each, with q over all of them.
    metric, zero_vectors, seed, dtype, n_eigs, which, **options
        As for :func:`spectrata.spectra`; the seed decides the draws too.

    Returns
    -------
    Dataset
        Over ``(algorithm, [snapshot,] [column,] hop, component or band)``: ``magnitude``; ``null_energy`` and
        ``null_std``, mean and standard deviation of the squared magnitude under the null (closed form for gft under
        "permute"); ``ratio``, the squared magnitude over ``null_energy``; ``z``; ``p``; ``q``; ``degenerate``, where
        no draw differs from the observed (then p = 1 and z is NaN); ``draws_used`` of each cell, and ``p_floor``, the
        smallest p they can give: a p equal to it is an upper bound. ``status`` says what is NaN and why, and names
        the draws needed where those made let no cell reach q <= .05 by itself. With p from moments: ``confirmed_p`` and
        ``confirmed_p_moments`` of the cells confirmed, and the attribute ``p_agreement``, the share that agree.

    Notes
    -----
    ``p = (1 + g) / (n + 1)`` after ``n`` draws, ``g`` of them at least as extreme, ties included; ``p = 10 / n`` where
    the ``n``-th draw beyond the first ``draws`` was the tenth [1]_. Both are valid: under the null ``P(p <= a) <= a``
    for every ``a``, with less for signals of few distinct values. Two-sided p is twice the smaller tail, so that
    unusually little energy counts as much as unusually much; its floor is 2 over the draws plus 1. The family of q is
    one algorithm and snapshot over all hops, components (or bands) and columns, degenerate ones left out.

    For gft under "permute" and the combinatorial Laplacian every component off zero has
    :math:`E[M^2] = v = \sum \|t - \bar t\|^2 / (n - 1)`. Mean and variance are exact for every Laplacian
    (``stats.moments``).

    References
    ----------
    .. [1] Besag, Clifford: Sequential Monte Carlo p-values, Biometrika 78, 1991.

    Examples
    --------
    A path whose values rise along it: the slowest component stands out.

    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(12), hops=1)
    >>> found = st.calibrate(strat, range(12), algorithms="gft")
    >>> float(found["p"].loc["gft", 1][1]), round(float(found["ratio"].loc["gft", 1][1]), 1)
    (2e-05, 10.9)
    """
    one_of(alternative, "alternative", ALTERNATIVES)
    if is_bands(strat):
        from spectrata.stats.verbs.calibrate_bands import calibrate_result

        refuse_graph_arguments("A result", hops=hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
        asked = {"algorithms": algorithms, "level": level, "bands": bands, "relative": relative, "columns": columns}
        asked |= {"metric": metric, "zero_vectors": zero_vectors, "p_method": p_method, **options}
        return calibrate_result(strat, signal, null, draws, alternative, seed, asked)
    _check_null(null, draws, level)
    limit = max(draws, whole(max_draws, "max_draws", 0))
    strat = as_stratification(strat, hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
    _check_rewired(null, strat)
    known = by_column(as_signal(signal, strat.graph), columns, metric)
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
    source = _source(null, limit, strat, known, field, plan, metric)
    if not relative and field.metric == "euclidean":
        for given in (field, source.field) if isinstance(source, Given) else (field,):
            largest = np.abs(given.values).max(axis=(1, 2)) * given.scale
            require_squarable(largest[:, None, None], "Energies", power=4)
    closed = isinstance(null, str) and null == "permute" and not relative
    test = Against(source, _first_draws(source, draws), limit, alternative, closed, relative)
    refused = why_refused(plan, level, closed, strat.graph.n_nodes)
    method = choose_method(p_method, refused, _cost(test, plan, field, strat))
    strat.announce(plan, NUMPY)
    found = [_judge_hop(strat, hop, plan, field, (level, bands), test, method) for hop in strat.hops]
    if isinstance(null, str) and null == "rewire":
        _count_rewired([one.tally for one in found], strat, known, plan, metric, (draws, level, bands, relative))
    facts = {"null": null if isinstance(null, str) else "given", "draws": test.first or int(draws)}
    extended = source is not None and not isinstance(source, Given)
    facts |= {"max_draws": limit if extended else facts["draws"], "p_method": method, "alternative": alternative}
    all_orders = isinstance(source, Permuted) and source.orders.exhaustive
    facts |= {"level": level, "argument": "" if all_orders else "max_draws" if extended else "draws"}
    facts["affordable"] = max((one.cells.affordable for one in found if one.cells is not None), default=limit)
    return _labelled(strat, known, field, plan, zero_vectors, found, facts, bands)


@dataclass(frozen=True, eq=False)
class Against:
    """What every hop is compared with."""

    source: Source | None
    first: int  # draws of every cell
    limit: int  # draws of a clear cell, at most
    alternative: str
    closed: bool  # whether moments of the exact algorithm are those over all permutations
    relative: bool


@dataclass(frozen=True, eq=False)
class Judged:
    """One hop against chance."""

    shown: HopResult  # of the first row: what labels need
    status: np.ndarray  # (A, T)
    gradient_norm: np.ndarray  # (T,)
    tally: Tally
    cells: Sequential | None
    approximate: Approximate | None = None

    def result(self, alternative: str) -> dict[str, np.ndarray]:
        """Arrays ``(A, T, group)`` named as in the Dataset."""
        out = self.tally.result(alternative)
        if self.cells is not None:
            out["p"] = np.where(out["degenerate"], 1.0, self.cells.p)
            out["draws_used"] = self.cells.used
        out["p_floor"] = p_floor(out["draws_used"], alternative)
        if self.approximate is not None:
            drawn = self.approximate.skewed
            out["p"] = np.where(out["degenerate"], 1.0, np.where(drawn, out["p"], self.approximate.p))
            out["draws_used"] = np.where(drawn, out["draws_used"], 0)
            out["p_floor"] = np.where(drawn, out["p_floor"], np.nan)
        return out


def _judge_hop(
    strat: Stratification, hop: int, plan: Plan, field: Potential, level: tuple[str, int], test: Against, method: str
) -> Judged:
    """One hop: the signal, its moments, the first draws and more of the clear cells."""
    stratum, basis = strat.prepared(hop, plan)
    groups, count = level_groups(basis.axis, *level)
    judge = Judge(strat, stratum, basis, plan, groups, count, test.relative)
    magnitude, status, norms = judge.observe(field)
    single = plan.dtype == "float32"
    floor = row_norms(field, test.relative)[None, :, None] * (SINGLE_FLOOR if single else FLOOR)
    whole_null = isinstance(test.source, Permuted) and test.source.orders.exhaustive
    tally = Tally(magnitude, floor, SINGLE_TIE if single else TIE, whole_null)
    moments = signal_moments(field.values) if test.closed and any(row.exact for row in plan.rows) else None
    if moments is not None:
        tally.exact = _exact_moments(basis, plan, judge, field, moments)
    cells = approximate = None
    if method == "moments":
        assert isinstance(test.source, Permuted)
        approximate = approximate_p(judge, tally, field, test.source, test.alternative, len(strat.hops))
        judge.count_first(
            tally, test.source, min(test.first, FIRST), np.flatnonzero(approximate.skewed.any(axis=(0, 2)))
        )
        cells = judge.count_more(tally, test.source, test.limit, test.alternative, approximate.skewed)
    elif test.source is not None and test.first:
        judge.count_first(tally, test.source, test.first)
        cells = judge.count_more(tally, test.source, test.limit, test.alternative)
    axis = basis.axis
    blank = np.full((len(plan.rows), 1, len(axis.eigenvalue)), np.nan)
    sizes = (stratum.n_edges, stratum.n_parts, stratum.n_singletons)
    shown = HopResult(hop, sizes, axis, blank, blank, status[:, :1], norms[:1])
    return Judged(shown, status, norms, tally, cells, approximate)


def _exact_moments(
    basis: EigenBasis, plan: Plan, judge: Judge, field: Potential, moments: SignalMoments
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Closed-form mean and standard deviation of energies, for the algorithms that have them."""
    mean, variance = gft_null(basis, judge.groups[0], judge.count, moments)
    factor = np.where(field.undefined, np.nan, field.scale**2)[:, None]
    found = mean * factor, np.sqrt(variance) * factor
    return {index: found for index, row in enumerate(plan.rows) if row.exact}


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


def _cost(test: Against, plan: Plan, field: Potential, strat: Stratification) -> float:
    """Multiplications of the first draws."""
    n, width = strat.graph.n_nodes, 0 if test.source is None else test.source.width
    return 2.0 * test.first * len(field) * n * n * width * len(plan.algorithms) * len(strat.hops)


def _source(
    null: Any, limit: int, strat: Stratification, known: Signal, field: Potential, plan: Plan, metric: str
) -> Source | None:
    """What is drawn under the null; nothing for rewired graphs, which come later."""
    seed = (plan.seed, 0x5EC)
    if not isinstance(null, str):
        given = _given_draws(null, strat, known)
        return Given(potential(given, metric, "zero"), 1 if known.separate is None else len(known.separate))
    if null == "permute":
        return Permuted(compressed(field), Orders(strat.graph.n_nodes, seed, limit))
    return Rotated(known.values, metric, seed, limit) if null == "rotate" else None


def _first_draws(source: Source | None, draws: int) -> int:
    """Draws of every cell: all of them, where there are few."""
    if isinstance(source, Given) or (draws and isinstance(source, Permuted) and source.orders.exhaustive):
        return source.total
    return int(draws) if source is not None else 0


def _given_draws(null: Any, strat: Stratification, known: Signal) -> Signal:
    given = as_signal(null, strat.graph)
    if len(given.values) < 2:
        raise OptionError(
            "null holds one signal; give the embeddings of several untrained models, shape (draws, n, d)."
        )
    columns = known.values.shape[2] if known.separate is None else len(known.separate)
    if given.values.shape[2] != columns:
        raise OptionError(
            f"The signal has {columns} columns and those of null have {given.values.shape[2]}, so that their "
            "magnitudes do not compare; give embeddings of the same width."
        )
    return given if known.separate is None else by_column(replace(given, columns=None), "separate")


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
                groups, count = level_groups(piece.basis.axis, level, bands)
                judge = Judge(other, piece.stratum, piece.basis, plan, groups, count, relative)
                found = judge.grouped(piece.magnitude)
                tallies[strat.hops.index(piece.stratum.hop)].add(slice(None), found[:, :, None])


def _labelled(
    strat: Stratification,
    known: Signal,
    field: Potential,
    plan: Plan,
    zero_vectors: str,
    found: list[Judged],
    facts: dict[str, Any],
    bands: int,
) -> "xr.Dataset":
    """The Dataset; its labels come from a result of the first row."""
    import xarray as xr

    level, alternative = facts["level"], facts["alternative"]
    made = strat.facts(plan, field.metric, zero_vectors, "joint" if known.separate is None else "separate")
    one = Rows(None, known.values.shape[2], known.kind)
    spectra = view(build(strat.graph, one, [hop.shown for hop in found], plan.algorithms, made))
    columns = 1 if known.separate is None else len(known.separate)
    axes = Rows(known.snapshots, 1, columns=known.separate).axes
    groups, count = level_groups(spectra, level, bands)
    out = joined([hop.result(alternative) for hop in found], count)
    out = against_chance(out, columns)
    labels = level_coordinates(spectra, groups, count, level)
    last = "band" if level == "band" else "component"
    variables: dict[str, Any] = {
        name: laid_out(out[name], ("algorithm", "snapshot", "hop", last), axes) for name in VARIABLES
    }
    # A signal and its draws are read in one basis, so that its errors do not decide between them.
    variables["magnitude_error"] = (variables["magnitude"][0], np.full_like(variables["magnitude"][1], np.nan))
    variables["gradient_norm"] = laid_out(
        np.stack([hop.gradient_norm for hop in found], axis=1), ("snapshot", "hop"), axes
    )
    variables |= {name: spectra.ds[name] for name in ("edges", "edge_weight") if name in spectra.ds}
    sizes = labels["band_size"][1] if level == "band" else None
    given = np.stack([hop.status for hop in found], axis=2)
    words = with_draws_needed(statuses(given, out, sizes), out, facts, columns)
    variables["status"] = laid_out(words.astype(str), ("algorithm", "snapshot", "hop"), axes)
    names = ("complete", "n_edges", "n_parts", "n_singletons", "node", "made_with")
    coords: dict[str, Any] = {name: spectra.ds[name] for name in names if name in spectra.ds.coords}
    coords |= {"algorithm": list(spectra.algorithms), "hop": list(spectra.hops)} | axes | labels
    if level == "component":
        coords["component"] = spectra.component
    kept = {name: value for name, value in facts.items() if name not in ("argument", "affordable")}
    attributes = attributes_of(spectra.ds, "calibration") | kept | {"q_family": FAMILY}
    if level == "eigenspace":
        attributes[MERGED] = "eigenspaces"
    ds = xr.Dataset(variables, coords, attributes)
    if found[0].approximate is not None:
        ds = confirmed(ds, [hop.approximate for hop in found if hop.approximate is not None])
    return named(ds)
