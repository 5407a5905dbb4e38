"""``calibrate``: shares of energy in eigenspaces or bands against chance."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.bases.basis import coefficients_of
from spectrata.core.engine import magnitudes
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import EXACT
from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError
from spectrata.inputs.graphs import as_pairs
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, Signal, aligned, as_signal, by_column, potential
from spectrata.results.build import add_notes, attributes_of, graph_of, with_long_names
from spectrata.results.schema import MERGED, View, is_bands, view
from spectrata.stats.describe import levels
from spectrata.stats.describe.levels import group_reduce, level_groups
from spectrata.stats.describe.spectrum import band_energy_shares
from spectrata.stats.nulls.correction import TIE, adjust
from spectrata.stats.nulls.orders import arrangements, orders
from spectrata.stats.nulls.stopping import LEVEL, looks
from spectrata.stats.nulls.surrogates import given_draws, permuted, rotated, swap_edges
from spectrata.stats.statistics.shares import FLOOR, NUMBERS, Drawn, chance_of_shares, shares_of
from spectrata.stats.verbs.reading import kept_signal

NULLS = ("permutation", "rotate", "rewire")
REWIRED = 99  # graphs that "rewire" draws unasked: each is decomposed
WIDE = 16  # columns of a vector up to which all arrangements are counted
FITTED = 200  # draws from which a small p comes from their fitted tail, and has no floor
SINGLE_TIE = 1e-4  # shares in single precision that differ by less than this share of the larger are tied
BAND_DRAWS = 99  # of a result of band_spectra: each costs as much as the signal itself
BAND_NUMBERS = 2**24  # of a batch of their drawn signals
# What such a draw is computed with again, from the result's own options.
REPEATED = ("algorithms", "bands", "spacing", "tol", "zero_vectors")
FAMILY = "one algorithm and snapshot, all hops and eigenspaces or bands, and all columns"
NO_ENERGY, NO_DRAWS = "undefined: no energy off zero", "no draws: p and q not computed"
FIXED = "degenerate: no draw differs"
Draw = Callable[[np.ndarray, int, int], Potential]  # rows, start, stop -> (rows draws, n, d)


def calibrate(
    graph: Any,
    signal: Any = None,
    algorithms: str | Iterable[str] | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "joint",
    null: Any = "permutation",
    level: str = "eigenspace",
    bands: int = 4,
    draws: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    r"""Test which frequencies hold more or less of the signal's energy than chance: p and q for each.

    The statistic is the share of the energy off zero, :math:`M(a)^2 / \sum M^2`, of an eigenspace or a band.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        Or a result: its graph, operator and options are used, and its signal where it kept one. The bands of a result
        of :func:`spectrata.band_spectra` are tested as they are; each draw then costs as much as the signal.
    signal, metric, columns
        As for :func:`spectrata.spectra`; snapshots are tested one by one, and q counts all columns.
    algorithms : str or list of str
        "gft" by default.
    hops, weights
        As for :func:`spectrata.spectra`; not with a Stratification, which also names the Laplacian.
    null : {"permutation", "rotate", "rewire"} or a signal with snapshots
        "permutation": the nodes' vectors in random order. "rotate": random signals with the same mean and covariance
        of columns and no preferred direction among nodes. "rewire": random graphs with the same degrees and the signal
        as it is (bands only: eigenspaces of two graphs do not correspond; p is approximate, since the graphs come from
        a Markov chain of edge swaps). A signal ``(draws, n, d)``: given draws, such as embeddings of untrained models.
    level : {"eigenspace", "band", "component"}
        Single components of a repeated eigenvalue are arbitrary.
    bands : int
        Number of bands off zero, equal counts of components.
    draws : int, optional
        By default 999, and up to 9,999 where p is small and its tail cannot be fitted; 99 for "rewire". 0 gives no p.
        At most 50,000 arrangements are all counted under "permutation", up to 20 rows of them.
    seed : int

    Returns
    -------
    Dataset
        Over ``(algorithm, [snapshot,] [column,] hop, component or band)``: ``magnitude``; ``share`` of the energy off
        zero; ``chance``, the share expected (closed form for gft under "permutation", else the mean of the draws), and
        ``chance_low``, ``chance_high``, 2.5 and 97.5 % of the draws; ``ratio`` of share and chance; two-sided ``p``;
        ``q``, adjusted over hops, eigenspaces and columns (Benjamini and Hochberg). Zero components are not tested.
        ``energy(algorithm, ..., hop)`` is the energy off zero; ``status`` says what is NaN and why.

    Notes
    -----
    Each cell stops when 20 draws are at least as extreme as the signal (Besag and Clifford 1991). A p with fewer than
    10 such draws comes from the generalised Pareto tail of the draws where one fits (Knijnenburg et al. 2009), and is
    then no less than 1e-6.

    Examples
    --------
    A path whose values rise along it: the slowest component stands out.

    >>> import networkx as nx, spectrata as st
    >>> found = st.calibrate(nx.path_graph(12), range(12), hops=1).sel(algorithm="gft", hop=1)
    >>> bool(found["p"][1] < 0.001), round(float(found["ratio"][1]), 1)
    (True, 10.9)
    """
    one_of(level, "level", levels.LEVELS)
    whole(seed, "seed", 0)
    if hasattr(graph, "variables"):
        refuse_graph_arguments("A result", hops=hops, weights=weights)
        if is_bands(graph):
            return _of_bands(graph, signal, algorithms, null, draws, seed)
        case = _of_result(view(graph), signal, algorithms, level, bands)
    else:
        strat = as_stratification(graph, hops, weights)
        known = by_column(as_signal(signal, strat.graph), columns, metric)
        how: dict[str, Any] = {"seed": seed, "keep": (), "diagnose": False} | strat.computing.components
        plan = make_plan(algorithms or EXACT, strat.computing.operator().arguments, strat.graph.n_nodes, **how)
        case = Case(strat, known, metric, "error", plan, level, bands)
    return _calibrated(case, null, draws, seed)


def _of_result(result: View, signal: Any, algorithms: Any, level: str, bands: int) -> "Case":
    """A result as it was computed: the same graph, operator, metric and options."""
    names = algorithms or ([EXACT] if EXACT in result.algorithms else list(result.algorithms))
    plan = levels.repeated_plan(result, [names] if isinstance(names, str) else list(names))
    strat = levels.rebuild(result)
    known = as_signal(signal, strat.graph) if signal is not None else kept_signal(result)
    if known is None:
        raise ResultError(f"{result.name} keeps no signal; pass it, or compute the result with keep=['signal'].")
    if known.separate is None:
        known = by_column(known, result.options.get("columns", "joint"), result.metric)
    return Case(strat, known, result.metric, result.options["zero_vectors"], plan, level, bands)


@dataclass(frozen=True, eq=False)
class Case:
    """A signal on a graph, and how its shares are computed."""

    strat: Stratification
    signal: Signal
    metric: str
    zero_vectors: str
    plan: Plan
    level: str
    bands: int
    scratch: dict[Any, Any] = field(default_factory=dict)

    def drawn_shares(self, strat: Stratification, hop: int, drawn: Potential) -> np.ndarray:
        """Shares of drawn signals ``(A, T, G)`` at a hop, also of another graph."""
        stratum, basis = strat.prepared(hop, self.plan)
        scratch = self.scratch.setdefault(hop, {}) if strat is self.strat else {}
        work = strat.work(stratum, basis, drawn.values, self.plan, scratch=scratch)
        found = magnitudes(work, drawn, self.plan)[:, :, None]  # (A, T, 1, N)
        return self.grouped(found, basis.axis)[2][:, :, 0]

    def grouped(self, magnitude: np.ndarray, axis: Any) -> tuple[np.ndarray, ...]:
        """Groups of components, their magnitudes and shares ``(A, R, H, G)``, and the energy off zero."""
        groups, count = level_groups(axis, self.level, self.bands)
        rules = [row.merge_rule(vars(self.plan.options)) for row in self.plan.rows]
        merged = group_reduce(magnitude, groups, count, rules)  # (A, R, H, N) -> (A, R, H, G)
        return groups, merged, *shares_of(merged, groups, np.atleast_2d(axis.is_zero))

    def in_batches(self, draw: Draw, rows: np.ndarray, h: int, start: int, stop: int) -> np.ndarray:
        """Shares of the signals that are drawn for some rows, ``(A, rows, stop - start, G)``, a few at a time."""
        hop = self.strat.hops[h]
        pairs = 0 if all(one.exact for one in self.plan.rows) else self.strat.strata.at(hop).n_edges
        width = max(self.signal.values[0].size, len(self.plan.rows) * self.strat.graph.n_nodes, pairs)
        found, step = [], max(1, NUMBERS // width)
        for begin in range(start, stop, step):
            one = self.drawn_shares(self.strat, hop, draw(rows, begin, min(begin + step, stop)))
            found.append(one.reshape(len(one), len(rows), -1, one.shape[2]))
        return np.concatenate(found, axis=2)

    def all_arrangements(self, row: int) -> Callable[[int], np.ndarray] | None:
        """Shares of all arrangements of one row's vectors, hop by hop; None where they are too many."""
        values = self.field.values[row]
        found = arrangements(values, np.arange(len(values))) if values.shape[1] <= WIDE else None
        if found is None:
            return None
        made = found[0]
        draw = partial(self.in_order, lambda start, stop: made[start:stop])
        return lambda h: self.in_batches(draw, np.array([row]), h, 0, len(made))[:, 0]

    def in_order(self, made: Callable[[int, int], np.ndarray], rows: np.ndarray, start: int, stop: int) -> Potential:
        return permuted(self.field, made(start, stop), rows)

    @cached_property
    def field(self) -> Potential:
        return potential(self.signal, self.metric, self.zero_vectors, self.strat.graph.names)


def _calibrated(case: Case, null: Any, draws: int | None, seed: int) -> xr.Dataset:
    strat, signal = case.strat, case.signal
    if case.plan.n_eigs is not None:
        raise OptionError("A share of the energy needs all components; leave out n_eigs.")
    drawn, at = _null(case, null, draws, seed)
    spectra = view(strat.compute(signal, case.plan, case.metric, case.zero_vectors))
    groups, magnitude, share, energy = case.grouped(spectra.magnitude, spectra)
    count = magnitude.shape[-1]
    permutes, tie = isinstance(null, str) and null == NULLS[0], SINGLE_TIE if case.plan.dtype == "float32" else 0.0
    out = chance_of_shares(share, drawn, at, case.all_arrangements if permutes and at else None, tie)
    if permutes:
        _expect(case, out["chance"], groups, count)
    columns = len(signal.separate or (1,))
    fixed = (out["chance_high"] - out["chance_low"] <= TIE) & (np.abs(share - out["chance_low"]) <= TIE)
    family = np.where(fixed, np.nan, out["p"]).reshape(len(share), share.shape[1] // columns, -1)
    out["q"] = np.where(fixed, 1.0, adjust(family).reshape(share.shape))
    facts = {"null": null if isinstance(null, str) else "draws", "draws": at[0] if at else 0, "level": case.level}
    facts |= {"draws_seed": seed, "q_family": FAMILY}
    out |= {"magnitude": magnitude, "share": share, "ratio": levels.over(share, out["chance"])}
    # A signal and its draws are read in one basis, so that its errors do not decide between them.
    out |= {"magnitude_error": np.full_like(magnitude, np.nan)}
    status = add_notes(spectra.status, _words(out, fixed, facts)).astype(str)
    last = "band" if case.level == "band" else "component"
    variables: dict[str, Any] = {name: spectra.placed(array, "hop", last) for name, array in out.items()}
    variables |= {"energy": spectra.placed(energy, "hop"), "status": spectra.placed(status, "hop")}
    coords = levels.level_coordinates(spectra, groups, count, case.level)
    coords |= {"component": spectra.component} if case.level == "component" else {}
    facts |= {MERGED: "eigenspaces"} if case.level == "eigenspace" else {}
    ds = spectra.ds.drop_dims("component").assign(variables).assign_coords(coords)
    ds.attrs = attributes_of(spectra.ds, "calibration") | facts
    return with_long_names(ds)


def _null(case: Case, null: Any, draws: int | None, seed: int) -> tuple[Drawn, tuple[int, ...]]:
    """Choose what gives shares under the null, and at how many draws p is looked at."""
    strat, signal, n = case.strat, case.signal, case.strat.graph.n_nodes
    if not isinstance(null, str):
        given, columns = _given_draws(null, strat, signal), len(signal.separate or (1,))
        field = potential(given, case.metric, "zero")
        return partial(case.in_batches, partial(given_draws, field, columns)), (len(field) // columns,)
    if null not in NULLS:
        raise OptionError(f"null={null!r} is not one of {', '.join(NULLS)}; or give the signals of untrained models.")
    if null == "rewire":
        if case.level != "band":
            words = "changes the graph, and eigenspaces of two graphs do not correspond; use level='band'."
            raise OptionError(f"null='rewire' {words}")
        if strat.weights:
            raise OptionError("null='rewire' swaps edges and leaves them no weights; use weights=False.")
        return _on_rewired(case, seed), looks(n, REWIRED if draws is None else draws)
    if null == "rotate":
        return partial(case.in_batches, partial(rotated, signal.values, case.metric, seed)), looks(n, draws)
    return partial(case.in_batches, partial(case.in_order, partial(orders, seed, n))), looks(n, draws)


def _on_rewired(case: Case, seed: int) -> Drawn:
    """Shares of the signal on rewired graphs; NaN at hops that they lack."""
    graph, hops, field = case.strat.graph, case.strat.hops, potential(case.signal, case.metric, "nan")
    lacking = np.full((len(case.plan.rows), len(field), case.bands), np.nan)

    @cache
    def shares(number: int) -> list[np.ndarray]:
        edges = as_pairs(swap_edges(graph.edges, graph.n_nodes, np.random.default_rng([seed, 0x4E, number])))
        other = Stratification(edges=edges, n_nodes=graph.n_nodes, hops=max(hops), max_basis_bytes=0)
        return [case.drawn_shares(other, hop, field) if hop in other.hops else lacking for hop in hops]

    return lambda rows, h, start, stop: np.stack([shares(one)[h][:, rows] for one in range(start, stop)], axis=2)


def _given_draws(null: Any, strat: Stratification, known: Signal) -> Signal:
    given = as_signal(null, strat.graph)
    if len(given.values) < 2:
        raise OptionError("null holds one signal; give embeddings of several untrained models, shape (draws, n, d).")
    columns, width = len(known.separate or range(known.values.shape[2])), given.values.shape[2]
    if width != columns:
        words = f"The signal has {columns} columns and those of null have {width}, so that their magnitudes do not"
        raise OptionError(f"{words} compare; give embeddings of the same width.")
    given = replace(given, values=aligned(given.values, given.columns, known.separate or known.columns), columns=None)
    return given if known.separate is None else by_column(given, "separate")


def _expect(case: Case, chance: np.ndarray, groups: np.ndarray, count: int) -> None:
    """Put the ratio of exact mean energies in place of the mean share of gft, ``(A, R, H, count)``.

    A component off zero whose coefficients ``A_i`` add up to 0 has the mean energy ``v norm(A_i)^2``, with the
    variance ``v`` of the signal; for the combinatorial Laplacian all norms are 1.
    """
    exact = [index for index, row in enumerate(case.plan.rows) if row.exact]
    if not exact or not case.plan.options.operator.has_constants:
        return
    for at, hop in enumerate(case.strat.hops):
        basis = case.strat.prepared(hop, case.plan)[1]
        weight = np.where(basis.is_zero, 0.0, 1.0)
        if basis.operator.weighs_signals and basis.root is not None:
            weight = weight * np.sum(coefficients_of(basis) ** 2, axis=0)
        inside = groups[at, : basis.n]
        sizes = np.bincount(inside[inside >= 0], weight[inside >= 0], count)
        chance[exact, :, at] = np.where(sizes > 0, sizes / max(weight.sum(), FLOOR), np.nan)


def _words(out: dict[str, np.ndarray], fixed: np.ndarray, facts: dict[str, Any]) -> np.ndarray:
    """Say per hop why p is missing, or how many draws it takes: ``(A, R, H)``, "" where all is well."""
    known, made = ~np.isnan(out["share"]), facts["draws"]
    tested = known & ~fixed
    reached = np.any(out["q"] <= LEVEL, axis=(2, 3))
    short = (2 * tested.sum(axis=(2, 3)) / (made + 1) > LEVEL) & ~reached & (made < FITTED)  # (A, R)
    more = "give more" if facts["null"] == "draws" else "use draws=999"
    words = {NO_ENERGY: ~known.any(axis=-1), FIXED: ~tested.any(axis=-1), NO_DRAWS: np.isnan(out["p"]).all(axis=-1)}
    words[f"With {made} draws no {facts['level']} can reach q <= .05; {more}"] = short[..., None]
    return np.select(list(words.values()), list(words), "")


def _of_bands(ds: xr.Dataset, signal: Any, algorithms: Any, null: Any, draws: int | None, seed: int) -> xr.Dataset:
    """Test the bands of a result of ``band_spectra``."""
    if not isinstance(null, str) or null != NULLS[0]:
        raise OptionError("The bands of a large graph have only null='permutation'.")
    if algorithms is not None:
        raise OptionError("algorithms is decided by the result of band_spectra; leave it out.")
    if signal is None:
        raise OptionError("A result of band_spectra keeps no signal; pass signal=.")
    if not ds.sizes["edge"]:
        raise OptionError("The result was made from an operator and holds no edges, so that draws cannot be computed.")
    from spectrata.bands.settings import OPTIONS
    from spectrata.bands.spectra import band_spectra

    spectra = view(ds)
    at = looks(spectra.n_nodes, BAND_DRAWS if draws is None else draws)
    base, given = graph_of(ds), spectra.options
    arguments = {name: given[name] for name in REPEATED}
    arguments |= {name: {option: given[option] for option in own} for name, own in OPTIONS.items()}
    arguments |= {"metric": spectra.metric, "seed": ds.attrs["seed"]}
    read_as = {"hop_weights": ds.attrs["weights"] or "bottleneck", "laplacian": given["laplacian"]}
    strat = Stratification(base, given["hops"], self_loops=given["self_loops"], **read_as)
    known = by_column(as_signal(signal, base), given.get("columns", "joint"))
    share = _shares(spectra)  # (A, R, H, B)

    def drawn(rows: np.ndarray, h: int, start: int, stop: int) -> np.ndarray:
        found, step = [], max(1, BAND_NUMBERS // (len(rows) * known.values[0].size))
        for begin in range(start, stop, step):
            mixed = orders(seed, spectra.n_nodes, begin, min(begin + step, stop))
            values = known.values[rows][:, mixed].reshape(-1, *known.values.shape[1:])
            signal = Signal(values, tuple(range(len(values))))
            one = _shares(view(band_spectra(strat.only(spectra.hops[h]), signal, **arguments)))[:, :, 0]
            found.append(one.reshape(len(one), len(rows), len(mixed), -1))
        return np.concatenate(found, axis=2)

    out = {"share": share} | chance_of_shares(share, drawn, at)
    q = adjust(out["p"].reshape(*share.shape[:2], -1)).reshape(share.shape)
    out |= {"q": q, "ratio": levels.over(share, out["chance"])}
    # Without the share of components in each band, which band_spectra calls chance too.
    kept = ds[["energy", "status", "edges", "gradient_norm"]].drop_vars("chance", errors="ignore")
    kept.attrs = attributes_of(ds, "calibration") | {"null": null, "draws": max(at, default=0), "level": "band"}
    return kept.assign({name: spectra.placed(array, "hop", "band") for name, array in out.items()})


def _shares(spectra: View) -> np.ndarray:
    known = view(spectra.ds.assign(energy=band_energy_shares(spectra.ds)), spectra.name)
    return known.stacked("energy", "algorithm", "hop", "band")
