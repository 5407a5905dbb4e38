"""The analyses that a report shows; those that cannot be made are named with the reason."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import ALGORITHMS, Algorithm, row_of
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError, SpectrataError
from spectrata.inputs.signals import Signal, as_signal
from spectrata.plot.style import one_algorithm
from spectrata.report.overview import (
    Likeness,
    bands_over_chance,
    cumulative,
    grouped,
    likeness,
    tested_rows,
    with_operator,
)
from spectrata.results.build import graph_of
from spectrata.results.schema import View, view
from spectrata.stats.describe.compare import compare
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.describe.nodes import node_energy
from spectrata.stats.describe.smoothness import smoothness
from spectrata.stats.describe.spectrum import merge_eigenspaces
from spectrata.stats.findings import Findings
from spectrata.stats.findings.sentences import SINGULAR
from spectrata.stats.verbs.calibrate import calibrate_result
from spectrata.stats.verbs.diagnose import diagnose, found_in
from spectrata.stats.verbs.reading import of_signal
from spectrata.stats.verdict import LAST_HIDDEN, is_layers, places
from spectrata.stats.watched import giving_signal

if TYPE_CHECKING:
    import xarray as xr

REBUILT = 1000  # nodes up to which a page decomposes the graph again when no stratification is given
DRAWS = 199
FINDING = 1e8  # nodes squared times columns, hops and snapshots, up to which a page tests: about 20 seconds
UNTESTED = ("undefined", "described")
DRAWN = 2e10  # products of signal and eigenvectors beyond which chance is taken from closed forms alone


@dataclass(eq=False)
class Contents:
    """Everything a page shows besides the result itself."""

    result: View
    strat: Stratification | None
    signal: np.ndarray | None  # (R, n, d), as given
    names: tuple[str, ...] | None = None  # of its d columns, where they have some
    found: Findings | None = None
    findings: list[tuple[str, list[str]]] = field(default_factory=list)  # by what they are about
    missing: list[str] = field(default_factory=list)
    likeness: Likeness | None = None
    bands: "xr.Dataset | None" = None
    cumulative: "xr.Dataset | None" = None
    calibrated: "xr.Dataset | None" = None
    smoothness: "xr.Dataset | None" = None
    nodes: "xr.Dataset | None" = None
    similarity: "xr.Dataset | None" = None
    comparison: "xr.Dataset | None" = None


def contents(result: View, strat: Stratification | None, signal: Any, most_snapshots: int) -> Contents:
    """Ask the analyses; what cannot be had is named in ``missing``."""
    strat = _stratification(result, strat)
    known, names = _signal(result, strat, signal)
    out = Contents(result, strat, known, names)
    out.missing += statuses(result)
    if "n_tested" not in result.ds.attrs:  # columns chosen by their ranking: further tests would not count the choice
        _try(out, "Findings", lambda: _find(out))
    _thin(out, most_snapshots)
    if strat is None:
        out.missing.append(
            f"Eigenvectors, chance, smoothness and energies at nodes: the graph has more than {REBUILT:,} nodes, "
            "and neither it nor its stratification was given; use st.write_report(result, path, graph)."
        )
    if known is None:
        lacking = giving_signal(result.ds, "st.write_report(result, path, signal=x)", "w.report(path)")
        out.missing.append(
            f"Findings, chance, likeness by hop, smoothness, energies at the nodes and the embedding: {lacking}"
        )
    elif strat is not None:
        _try(out, "Likeness by hop", lambda: _likeness(out))
        _try(out, "Chance", lambda: _calibrate(out))
        _try(out, "Energy over chance", lambda: _overview(out))
        _try(out, "Smoothness", lambda: _smoothness(out))
        _try(out, "Energy at the nodes", lambda: _nodes(out))
    _try(out, "Similarity", lambda: _similarity(out))
    if len(out.result.status[0]) > 1:
        _try(out, "Comparison", lambda: _comparison(out))
    _not_asked(out)
    return out


def _try(out: Contents, what: str, make: Callable[[], None]) -> None:
    """A page with one part missing is better than no page."""
    try:
        make()
    except SpectrataError as problem:
        out.missing.append(f"{what}: {problem}")


def _stratification(result: View, strat: Stratification | None) -> Stratification | None:
    if strat is None:
        return rebuild(result) if result.n_nodes <= REBUILT and "bins" not in result.ds.attrs else None
    if strat.graph.digest != result.ds.attrs.get("graph_hash"):
        raise ResultError("The stratification is of another graph than the result, or has other edge weights.")
    rule = str(result.ds.attrs.get("weights", ""))
    if strat.weights != rule:
        raise ResultError(f"The stratification has hop_weights={strat.weights!r}, and the result has {rule!r}.")
    lacking = [hop for hop in result.hops if hop not in strat.hops]
    if lacking:
        raise ResultError(f"The stratification lacks hop {lacking[0]} of the result; make it with those hops.")
    return strat


def _signal(
    result: View, strat: Stratification | None, signal: Any
) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """The signal given, or the one that the result kept, ``(R, n, d)``, and names of its columns."""
    if signal is None:
        return result.signal, result.column_names
    known = as_signal(signal, graph_of(result.ds) if strat is None else strat.graph)
    values, names = known.values, tuple(name for name in known.columns or () if isinstance(name, str))
    shape = (len(result.status[0]), result.n_nodes, int(result.ds.attrs["n_dimensions"]))
    if values.shape != shape:
        raise ResultError(f"The signal has shape {values.shape}, the result is of one of shape {shape}.")
    return values, names if len(names) == shape[2] else None


def row_word(result: View) -> str:
    """What a row of a result is: a layer, an epoch, a column, or else a snapshot."""
    kind = str(result.ds.attrs.get("snapshot_kind", ""))
    return str(result.ds.attrs.get("row_word") or SINGULAR.get(kind, "snapshot"))


def first_shown(result: View) -> int:
    """The row that a page shows first: the last hidden layer of a watched model, else the last."""
    last = len(result.status[0]) - 1
    return places(result.ds).get(LAST_HIDDEN, last) if is_layers(result.ds) else last


def as_snapshots(out: Contents) -> Signal:
    """The signal as the analyses take it, snapshots named as in the result."""
    assert out.signal is not None
    rows, kind = out.result.rows, str(out.result.ds.attrs.get("snapshot_kind", ""))
    return Signal(out.signal, None if rows is None else tuple(rows), kind if kind in SINGULAR else "", out.names)


def findings(result: View, strat: Stratification | None, signal: Any) -> Findings:
    """Findings of the snapshots that are tested; a stratification's bases are used again."""
    seed = int(result.ds.attrs.get("seed", 0))
    if is_layers(result.ds) or strat is None or signal is None:
        return diagnose(result.ds, signal, seed=seed)
    known = as_signal(signal, strat.graph)
    rows = tested_rows(result)
    names = None if known.snapshots is None else tuple(known.snapshots[row] for row in rows)
    known = Signal(known.values[rows], names, known.kind, known.columns, rounding=known.rounding)
    metric = "auto" if known.values.shape[2] == 1 else result.metric
    return found_in(of_signal(strat, known, metric, "joint", "zero"), seed=seed)


def _find(out: Contents) -> None:
    if out.signal is None and not is_layers(out.result.ds):
        return  # said once, with all else that needs the signal
    if out.signal is not None and not is_layers(out.result.ds):
        n, width = out.signal.shape[1:]
        if n * n * width * len(out.result.hops) * len(tested_rows(out.result)) > FINDING:
            out.missing.append(
                "Findings: the permutations would take long at this size; spectrata.diagnose does it on request."
            )
            return
    found = findings(out.result, out.strat, None if out.signal is None else as_snapshots(out))
    out.found, out.findings = found, grouped(found, out.result.hops, UNTESTED)
    kept = [one for one in found if one.hop is None or one.hop in out.result.hops]
    out.missing += dict.fromkeys(one.text for one in kept if one.kind == "undefined")


def _likeness(out: Contents) -> None:
    assert out.strat is not None
    out.likeness = likeness(out.strat, as_snapshots(out), out.result, out.found)


def _overview(out: Contents) -> None:
    assert out.strat is not None
    out.bands = bands_over_chance(out.strat, as_snapshots(out), out.result)
    out.cumulative = cumulative(out.strat, as_snapshots(out), out.result)


def _thin(out: Contents, most: int) -> None:
    """Keep as many snapshots as a page takes, evenly spread, with the first, the last and the layers judged."""
    total = len(out.result.status[0])
    if total <= most:
        return
    judged = list(places(out.result.ds).values()) if is_layers(out.result.ds) else []
    even = np.linspace(0, total - 1, max(2, most - len(judged))).round().astype(int)
    rows = np.unique([*even, *judged])
    out.result = view(out.result.ds.isel(snapshot=rows))
    out.signal = None if out.signal is None else out.signal[rows]
    word = row_word(out.result)
    out.missing.append(f"{total - len(rows):,} of {total:,} {word}s: left out of this page to keep it small.")


def _calibrate(out: Contents) -> None:
    assert out.strat is not None
    assert out.signal is not None
    learned = [name for name in out.result.algorithms if _is_learned(row_of(name), out.result.options)]
    names = [name for name in out.result.algorithms if name not in learned]
    if learned:
        out.missing.append(
            f"Chance for {', '.join(learned)}: learning takes long; spectrata.calibrate does it on request."
        )
    work = DRAWS * out.signal.size * out.signal.shape[1] * len(out.strat.hops) * max(1, len(names))
    draws = DRAWS if work <= DRAWN else 0
    if not draws:
        rest = [name for name in names if not row_of(name).exact]
        if rest:
            out.missing.append(
                f"Chance for {', '.join(rest)}: {DRAWS} draws would take long at this size; "
                "spectrata.calibrate does it on request."
            )
        names = [name for name in names if row_of(name).exact]
    if names:
        found = calibrate_result(out.result.ds, as_snapshots(out), names, strat=out.strat, draws=draws)
        out.calibrated = found.sel({"hop": list(out.result.hops)})


def _is_learned(row: Algorithm, options: dict[str, Any]) -> bool:
    """Whether an algorithm learns from the line graph, or combines others that may."""
    return row.combine is not None or (row.line_graph and not row.invariant(options))


def _smoothness(out: Contents) -> None:
    assert out.strat is not None
    strat = with_operator(out.strat, out.result)
    found = smoothness(strat, as_snapshots(out), metric=out.result.metric)
    out.smoothness = found.sel({"hop": list(out.result.hops)})


def _nodes(out: Contents) -> None:
    """Energy per node and band at the first hop."""
    assert out.strat is not None
    # A result of all components comes from a decomposition, which wide signals need more than large graphs do.
    exact = True if bool(out.result.complete.all()) and not out.result.is_bands else None
    given = {"metric": out.result.metric, "zero_vectors": out.result.options["zero_vectors"], "exact": exact}
    strat = with_operator(out.strat, out.result)
    out.nodes = node_energy(strat, as_snapshots(out), hops=[out.result.hops[0]], **given)


def _similarity(out: Contents) -> None:
    """Every algorithm against the exact one, or the first: correlation, and cosines beside the flat one's."""
    import xarray as xr

    merged = merge_eigenspaces(out.result.ds)
    base = one_algorithm(out.result, None)
    first = merged.sel({"algorithm": [base]})
    found = []
    for name in out.result.algorithms:
        # Under the base's label the two count as the same algorithm; they were merged by their own rules before.
        other = merged.sel({"algorithm": [name]}).assign_coords(algorithm=[base])
        found.append(compare(first, other, draws=0).assign_coords(algorithm=[name]))
    out.similarity = xr.concat(
        found, dim="algorithm", data_vars="minimal", coords="minimal", compat="override"
    ).assign_attrs(base=base)


def _comparison(out: Contents) -> None:
    first, last = (out.result.ds.isel(snapshot=index, drop=True) for index in (0, -1))
    out.comparison = compare(first, last, draws=0)


def statuses(result: View) -> list[str]:
    """Every status that is not ok in a sentence, hops and snapshots gathered."""
    found: dict[tuple[str, str], tuple[list[int], set[int]]] = {}
    for algorithm, row, at in np.argwhere(result.status != "ok").tolist():
        key = result.algorithms[algorithm], str(result.status[algorithm, row, at])
        hops, rows = found.setdefault(key, ([], set()))
        if result.hops[at] not in hops:
            hops.append(result.hops[at])
        rows.add(row)
    lines = []
    for (name, status), (hops, rows) in found.items():
        when = f" in {len(rows):,} of {len(result.rows):,} {row_word(result)}s" if result.rows is not None else ""
        some = ", ".join(map(str, sorted(hops)[:8])) + (" …" if len(hops) > 8 else "")
        lines.append(f"{name} at K = {some}{when}: {status}.")
    return lines


def _not_asked(out: Contents) -> None:
    """Hops and algorithms that were left out by choice are named too."""
    have = set(out.result.hops)
    farthest = (None if out.strat is None else out.strat.diameter) or 0
    lacking = [k for k in range(1, farthest + 1) if k not in have]
    if lacking:
        span = f"{lacking[0]}" if len(lacking) == 1 else f"{lacking[0]} to {lacking[-1]}"
        if lacking != list(range(lacking[0], lacking[-1] + 1)):
            span = ", ".join(map(str, lacking[:8])) + (" …" if len(lacking) > 8 else "")
        out.missing.append(f"K = {span}: not asked for (the diameter is {farthest}).")
    others = [name for name in ALGORITHMS if name not in out.result.algorithms]
    if others:
        out.missing.append(f"{', '.join(others)}: not asked for.")
