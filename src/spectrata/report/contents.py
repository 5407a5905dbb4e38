"""What a report says: the analyses of a result, each made where it can be, else named with the reason."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.calibrate import calibrate
from spectrata.analysis.compare import compare
from spectrata.analysis.diagnose import diagnose
from spectrata.analysis.layout import kept_signal, parameters, rebuild, snapshot_names
from spectrata.analysis.merge import merge_eigenspaces
from spectrata.analysis.smoothness import smoothness
from spectrata.core.algorithms.options import Options
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError, SpectrataError
from spectrata.inputs.signals import Signal, as_signal
from spectrata.results.files import graph_of

if TYPE_CHECKING:
    import xarray as xr

REBUILT = 1000  # nodes up to which a page decomposes the graph again when no stratification is given
DRAWS = 199
DRAWN = 2e10  # products of signal and eigenvectors beyond which chance is taken from closed forms alone
LEARNED = ("ln_vx", "ens", "ens_raw")


@dataclass(eq=False)
class Contents:
    """Everything a page shows besides the result itself."""

    ds: "xr.Dataset"
    strat: Stratification | None
    signal: np.ndarray | None  # (T, n, d), as given
    findings: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    calibrated: "xr.Dataset | None" = None
    smoothness: "xr.Dataset | None" = None
    similarity: "xr.Dataset | None" = None
    comparison: "xr.Dataset | None" = None


def contents(ds: "xr.Dataset", strat: Stratification | None, signal: Any, most_snapshots: int) -> Contents:
    """Ask the analyses; what cannot be had is named in ``missing``."""
    strat = _stratification(ds, strat)
    known = _signal(ds, strat, signal)
    out = Contents(ds, strat, known)
    out.missing += statuses(ds)
    _try(out, "Findings", lambda: _find(out))
    _thin(out, most_snapshots)
    if strat is None:
        out.missing.append(
            f"Eigenvectors on the graph, chance and smoothness: the graph has more than {REBUILT:,} nodes, and its "
            "stratification was not given (strat=)."
        )
    elif known is None:
        out.missing.append(
            "Chance, smoothness and the embedding: the signal was not kept (keep=['signal'], or signal=)."
        )
    else:
        _try(out, "Chance", lambda: _calibrate(out))
        _try(out, "Smoothness", lambda: _smoothness(out))
    _try(out, "Similarity", lambda: _similarity(out))
    if out.ds.sizes.get("snapshot", 1) > 1:
        _try(out, "Comparison", lambda: _comparison(out))
    _not_asked(out)
    return out


def _try(out: Contents, what: str, make: Callable[[], None]) -> None:
    """A page with one part missing is better than no page."""
    try:
        make()
    except SpectrataError as problem:
        out.missing.append(f"{what}: {problem}")


def _stratification(ds: "xr.Dataset", strat: Stratification | None) -> Stratification | None:
    if strat is None:
        return rebuild(ds) if int(ds.attrs["n_nodes"]) <= REBUILT else None
    if strat.graph.digest != ds.attrs.get("graph_hash"):
        raise ResultError("The stratification is of another graph than the result.")
    lacking = [int(hop) for hop in ds["hop"].values if int(hop) not in strat.hops]
    if lacking:
        raise ResultError(
            f"The stratification lacks hop {lacking[0]} of the result; make it with those hops."
        )
    return strat


def _signal(ds: "xr.Dataset", strat: Stratification | None, signal: Any) -> np.ndarray | None:
    if signal is None:
        return kept_signal(ds)
    graph = graph_of(ds) if strat is None else strat.graph
    values = signal.values if isinstance(signal, Signal) else as_signal(signal, graph).values
    shape = (ds.sizes.get("snapshot", 1), int(ds.attrs["n_nodes"]), int(ds.attrs["n_dimensions"]))
    if values.shape != shape:
        raise ResultError(f"The signal has shape {values.shape}, the result is of one of shape {shape}.")
    return values


def as_snapshots(out: Contents) -> Any:
    """The signal as the analyses take it, snapshots named as in the result."""
    names = snapshot_names(out.ds)
    assert out.signal is not None
    return Signal(out.signal, None if names is None else tuple(names))


def _find(out: Contents) -> None:
    if out.strat is not None and out.signal is not None:
        found = diagnose(out.strat, as_snapshots(out), metric=str(out.ds.attrs["metric"]))
    else:
        found = diagnose(out.ds)
    hops = set(out.ds["hop"].values.tolist())
    kept = [one for one in found if one.hop is None or one.hop in hops]
    out.findings = [one.text for one in kept if one.kind not in ("undefined", "unjudged")]
    out.missing += [one.text for one in kept if one.kind in ("undefined", "unjudged")]


def _thin(out: Contents, most: int) -> None:
    """Keep as many snapshots as a page takes, evenly spread, first and last among them."""
    total = out.ds.sizes.get("snapshot", 1)
    if total <= most:
        return
    rows = np.unique(np.linspace(0, total - 1, most).round().astype(int))
    out.ds = out.ds.isel(snapshot=rows)
    out.signal = None if out.signal is None else out.signal[rows]
    out.missing.append(
        f"{total - len(rows):,} of {total:,} snapshots: left out of this page to keep it small."
    )


def _calibrate(out: Contents) -> None:
    ds, strat, signal = out.ds, out.strat, out.signal
    assert strat is not None
    assert signal is not None
    options = parameters(ds)
    if options.get("laplacian", "combinatorial") != "combinatorial":
        out.missing.append("Chance: it is known for the combinatorial Laplacian only.")
        return
    names = [str(name) for name in ds["algorithm"].values]
    learned = [n for n in names if n in LEARNED and (n != "ln_vx" or options.get("transform") != "incidence")]
    names = [name for name in names if name not in learned]
    if learned:
        out.missing.append(
            f"Chance for {', '.join(learned)}: each draw would be learned anew; spectrata.calibrate does it on request."
        )
    work = DRAWS * signal.size * signal.shape[1] * len(strat.hops) * max(1, len(names))
    draws = DRAWS if work <= DRAWN else 0
    if not draws:
        rest = [name for name in names if name != "gft"]
        if rest or "gft" not in names:
            out.missing.append(
                f"Chance for {', '.join(rest)}: {DRAWS} draws would take long at this size; "
                "spectrata.calibrate does it on request."
            )
        names = [name for name in names if name == "gft"]
    if not names:
        return
    known = {one.name for one in fields(Options)} - {"ens_weights"}
    given = {name: value for name, value in options.items() if name in known and value is not None}
    found = calibrate(
        strat,
        as_snapshots(out),
        draws=draws,
        algorithms=names,
        metric=str(ds.attrs["metric"]),
        zero_vectors="nan",
        seed=int(ds.attrs["seed"]),
        **given,
    )
    out.calibrated = found.sel({"hop": ds["hop"].values})


def _smoothness(out: Contents) -> None:
    assert out.strat is not None
    found = smoothness(out.strat, as_snapshots(out), metric=str(out.ds.attrs["metric"]))
    out.smoothness = found.sel({"hop": out.ds["hop"].values})


def _similarity(out: Contents) -> None:
    """Every algorithm against gft, or the first: correlation, and cosines beside the flat one's."""
    import xarray as xr

    merged = merge_eigenspaces(out.ds)
    names = [str(name) for name in merged["algorithm"].values]
    base = "gft" if "gft" in names else names[0]
    first = merged.sel({"algorithm": [base]})
    found = []
    for name in names:
        # Under the base's label the two count as the same algorithm; they were merged by their own rules before.
        other = merged.sel({"algorithm": [name]}).assign_coords(algorithm=[base])
        found.append(compare(first, other).assign_coords(algorithm=[name]))
    out.similarity = xr.concat(
        found, dim="algorithm", data_vars="minimal", coords="minimal", compat="override"
    ).assign_attrs(base=base)


def _comparison(out: Contents) -> None:
    first, last = (out.ds.isel(snapshot=index, drop=True) for index in (0, -1))
    out.comparison = compare(first, last)


def statuses(ds: "xr.Dataset") -> list[str]:
    """Every status that is not ok in a sentence, hops and snapshots gathered."""
    found: dict[tuple[str, str], tuple[list[int], set[str]]] = {}
    time = "snapshot" in ds["status"].dims
    order = ("algorithm", "hop", "snapshot") if time else ("algorithm", "hop")
    array = ds["status"].transpose(*order).values
    for index in np.argwhere(array != "ok"):
        key = str(ds["algorithm"].values[index[0]]), str(array[tuple(index)])
        hops, moments = found.setdefault(key, ([], set()))
        hop = int(ds["hop"].values[index[1]])
        if hop not in hops:
            hops.append(hop)
        if time:
            moments.add(str(ds["snapshot"].values[index[2]]))
    lines = []
    for (name, status), (hops, moments) in found.items():
        when = f" in {len(moments):,} of {ds.sizes['snapshot']:,} snapshots" if time else ""
        lines.append(
            f"{name} at K = {', '.join(map(str, hops[:8]))}{' …' if len(hops) > 8 else ''}{when}: {status}."
        )
    return lines


def _not_asked(out: Contents) -> None:
    """Hops and algorithms that were left out by choice are said too."""
    if out.strat is not None and out.strat.diameter > len(out.ds["hop"]):
        have = set(out.ds["hop"].values.tolist())
        lacking = [hop for hop in range(1, out.strat.diameter + 1) if hop not in have]
        if lacking:
            span = f"{lacking[0]}" if len(lacking) == 1 else f"{lacking[0]} to {lacking[-1]}"
            if lacking != list(range(lacking[0], lacking[-1] + 1)):
                span = ", ".join(map(str, lacking[:8])) + (" …" if len(lacking) > 8 else "")
            out.missing.append(f"K = {span}: not asked for (the diameter is {out.strat.diameter}).")
    names = out.ds["algorithm"].values.tolist()
    lacking_algorithms = [
        m for m in ("gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens") if m not in names
    ]
    if lacking_algorithms:
        out.missing.append(f"{', '.join(lacking_algorithms)}: not asked for.")
