"""Findings in words, each with its numbers, and none without."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.analysis.findings import Finding, Findings
from spectrata.analysis.reading import Reading, read
from spectrata.core.stratification import as_stratification, refuse_graph_arguments
from spectrata.errors import OptionError
from spectrata.inputs.numbers import whole

# Fewer components off zero than this are too few to speak of bands.
LEAST_COMPONENTS = 8
NAMED = 8  # snapshots that are named one by one
# What two random layers with ReLU and no message passing leave of `off_zero`: 0.40 to 0.53 measured,
# the lower end taken.
RECTIFIED = 0.4


@dataclass(frozen=True)
class Thresholds:
    """The levels from which on something is a finding; see :func:`diagnose`."""

    alpha: float
    homophily: float
    community: float
    shift: float
    decay: float
    collapsed: float
    constant: float


def diagnose(
    source: Any,
    signal: Any = None,
    *,
    control: Any = None,
    other: Any = None,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    bands: int = 4,
    fiedler: int = 3,
    alpha: float = 0.01,
    homophily: float = 1.1,
    community: float = 3.0,
    shift: float = 0.1,
    decay: float = 0.25,
    collapsed: float = 0.2,
    constant: float = 0.05,
    metric: str = "auto",
    zero_vectors: str = "nan",
) -> Findings:
    """Say in words what a signal, or a sequence of snapshots, shows, with the numbers behind each sentence.

    Everything is read from ``gft``. Snapshots (layers, epochs) are judged against the first, or against ``control``.

    Parameters
    ----------
    source : Dataset, Stratification, or a graph in any form
        A result with gft; or a graph, with ``signal``. Chance is judged only where the signal is known: kept in the
        result (by itself up to 200 nodes) or given.
    signal : array, mapping, DataFrame, DataArray, tensor or path, optional
    control : signal or Dataset, optional
        What over-smoothing is judged against instead of the first snapshot: the same layers without message passing,
        an untrained model. One snapshot per snapshot, or any number, of which the median counts. ReLU alone moves
        energy to the mean: without a control, snapshots that turned nonnegative are allowed for that, roughly.
    other : signal or Dataset, optional
        A second signal on the graph: the hops where the last snapshot differs from it are named.
    hops, weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a Stratification has its own.
    bands : int
        Bands off zero, equal counts of components.
    fiedler : int
        Eigenspaces next to zero that count as Fiedler eigenspaces.
    alpha : float
        Chance of a false finding in one snapshot, over all hops and bands together (Bonferroni).
    homophily : float
        Energy over null from which the lowest (or highest) band is a finding.
    community : float
        Energy over null from which the Fiedler eigenspaces are.
    shift : float
        Least change of a band's share of energy.
    decay, collapsed : float
        Over-smoothing: ``off_zero`` at most ``decay`` of the control's and at most ``collapsed``.
    constant : float
        ``off_zero`` at or below which a signal without a control is called nearly constant.
    metric, zero_vectors
        As for :func:`spectrata.spectra`.

    Returns
    -------
    Findings
        A list of :class:`~spectrata.analysis.findings.Finding`; ``print`` it, or take ``.table()``. Kinds: homophily,
        heterophily, community, chance, low_pass, high_pass, differ, over_smoothing, collapse, near_constant,
        undefined, unjudged.

    Notes
    -----
    p comes from a gamma distribution with the exact permutation mean and variance of each band's energy. The defaults
    were set on some graphs and judged on graphs of other kinds: see docs/reading.md.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.planted_partition_graph(2, 30, 0.4, 0.02, seed=1)
    >>> strat = st.Stratification(graph, hops=1)
    >>> noise = np.random.default_rng(0).normal(size=(60, 4))
    >>> blocks = noise + 3 * (np.arange(60) < 30)[:, None]
    >>> sorted(st.diagnose(strat, blocks).kinds), sorted(st.diagnose(strat, noise).kinds)
    (['community', 'homophily'], ['chance'])
    """
    limits = Thresholds(alpha, homophily, community, shift, decay, collapsed, constant)
    _check(limits)
    whole(fiedler, "fiedler")
    source = _source(source, hops=hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
    reading = read(source, signal, bands=bands, fiedler=fiedler, metric=metric, zero_vectors=zero_vectors)
    arguments: dict[str, Any] = {"bands": bands, "fiedler": fiedler, "metric": metric, "zero_vectors": zero_vectors}
    found: list[Finding] = list(_undefined(reading, "the signal"))
    usable = np.flatnonzero(reading.defined)
    if len(usable):
        first, last = int(usable[0]), int(usable[-1])
        judged = [first] if first == last else [first, last]
        if np.isnan(reading.std).all():
            found.append(Finding("unjudged", "Chance was not judged: the signal was not kept; pass it as signal=."))
        for t in judged:  # of the last, only what the first did not show already
            said = {(finding.kind, finding.hop) for finding in found}
            found += [f for f in _against_chance(reading, t, limits) if (f.kind, f.hop) not in said]
        if first != last:
            found += _shifts(reading, first, reading, last, limits, ("low_pass", "high_pass"))
        reference = None if control is None else _same_graph(read(*_side(control, source), **arguments), reading)
        if reference is not None and not reference.defined.any():
            found += _undefined(reference, "the control")
        else:
            found += _over_smoothing(reading, reference, first, limits)
        if other is not None:
            beside = _same_graph(read(*_side(other, source), **arguments), reading)
            found += _undefined(beside, "the other signal")
            for s in np.flatnonzero(beside.defined)[-1:]:
                found += _shifts(beside, int(s), reading, last, limits, ("differ",))
    return Findings(found)


def _check(limits: Thresholds) -> None:
    for name, value in limits.__dict__.items():
        if not np.isfinite(value) or value <= 0:
            raise OptionError(f"{name}={value!r} must be a positive number.")


def _source(given: Any, **read_as: Any) -> Any:
    """A result as it is, or the stratification of a graph, made once for all signals."""
    import xarray as xr

    if isinstance(given, xr.Dataset):
        refuse_graph_arguments("A result", **read_as)
        return given
    return as_stratification(given, **read_as)


def _side(given: Any, source: Any) -> tuple[Any, Any]:
    """A second signal may come as a result of its own or as an array on the same graph."""
    import xarray as xr

    return (given, None) if isinstance(given, xr.Dataset) else (source, given)


def _same_graph(reading: Reading, like: Reading) -> Reading:
    if reading.graph_hash != like.graph_hash or reading.hops != like.hops:
        raise OptionError("control and other must be on the same graph, at the same hops.")
    return reading


def _when(reading: Reading, t: int) -> str:
    return "" if reading.snapshots is None else f" in snapshot {reading.snapshots[t]}"


def _label(reading: Reading, t: int) -> Any:
    return None if reading.snapshots is None else reading.snapshots[t]


def _listed(labels: list[Any]) -> str:
    return ", ".join(str(label) for label in labels)


def _undefined(reading: Reading, whose: str) -> Iterator[Finding]:
    bad = np.flatnonzero(~reading.defined)
    if len(bad):
        names = whose
        if reading.snapshots is not None:
            names += f" in snapshot {_listed([_label(reading, int(t)) for t in bad[:NAMED]])}"
            names += f" and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
        text = f"Not judged for zero vectors or no energy: {names}."
        yield Finding("undefined", text, evidence={"snapshots": float(len(bad))})


def _against_chance(reading: Reading, t: int, limits: Thresholds) -> Iterator[Finding]:
    """Bands and Fiedler eigenspaces of one snapshot against permuted nodes."""
    above, below = (tail[t] for tail in reading.tails())  # (hop, B + 1)
    tests = 2 * max(1, int(np.sum(~np.isnan(above))))
    upper, lower = np.minimum(1.0, above * tests), np.minimum(1.0, below * tests)
    ratio, when, snapshot = reading.ratio[t], _when(reading, t), _label(reading, t)
    nothing: list[tuple[int, float]] = []
    for row, hop in enumerate(reading.hops):
        if np.isnan(upper[row]).all() or reading.rank[row, :-1].sum() < LEAST_COMPONENTS:
            continue
        smallest = float(np.nanmin([upper[row], lower[row]]))
        if smallest > limits.alpha:
            nothing.append((hop, smallest))
        for band, kind, words in ((0, "homophily", "alike"), (-2, "heterophily", "unlike")):
            if upper[row, band] <= limits.alpha and ratio[row, band] >= limits.homophily:
                place = "slowest" if band == 0 else "fastest"
                who = "neighbours" if hop == 1 else f"nodes {hop} hops apart"
                text = (
                    f"At K = {hop}{when} {who} are {words}: the {place} band holds "
                    f"{ratio[row, band]:.2f} times the energy of chance ({_p(upper[row, band])})."
                )
                evidence = {"ratio": float(ratio[row, band]), "p": float(upper[row, band])}
                yield Finding(kind, text, hop, snapshot, evidence)
        if upper[row, -1] <= limits.alpha and ratio[row, -1] >= limits.community:
            text = (
                f"At K = {hop}{when} the signal follows the coarsest division of the graph: the Fiedler eigenspaces "
                f"(eigenvalues up to {reading.fiedler[row]:.3g}) hold {ratio[row, -1]:.1f} times the energy of chance "
                f"({_p(upper[row, -1])})."
            )
            evidence = {
                "ratio": float(ratio[row, -1]),
                "p": float(upper[row, -1]),
                "eigenvalue": float(reading.fiedler[row]),
            }
            yield Finding("community", text, hop, snapshot, evidence)
    if nothing:
        hops, values = [hop for hop, _ in nothing], min(p for _, p in nothing)
        text = f"At K = {_listed(hops)}{when} the spectrum is not distinguishable from chance "
        text += f"(smallest {_p(values)})."
        yield Finding(
            "chance", text, hops[0] if len(hops) == 1 else None, snapshot, {"p": values, "hops": float(len(hops))}
        )


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1e-12 else "p < 1e-12"


def _shifts(
    start: Reading, s: int, end: Reading, t: int, limits: Thresholds, kinds: tuple[str, ...]
) -> Iterator[Finding]:
    """Change of bands' shares of energy from one snapshot to another, beyond chance, hop by hop."""
    from scipy.stats import norm

    change = end.share[t, :, :-1] - start.share[s, :, :-1]  # (hop, band)
    spread = np.hypot(end.share_std[t, :, :-1], start.share_std[s, :, :-1])
    z = np.divide(change, spread, out=np.full(change.shape, np.nan), where=spread > 0)
    tests = max(1, int(np.sum(~np.isnan(z))))
    p = np.minimum(1.0, 2 * norm.sf(np.abs(z)) * tests)
    for row, _hop in enumerate(end.hops):
        if end.rank[row, :-1].sum() < LEAST_COMPONENTS or np.isnan(p[row]).all():
            continue
        clear = (np.abs(change[row]) >= limits.shift) & (p[row] <= limits.alpha)
        if "differ" in kinds:
            if clear.any():
                band = int(np.nanargmax(np.where(clear, np.abs(change[row]), -1.0)))
                yield _shift_finding("differ", start, s, end, t, row, band, change, p)
            continue
        rising = clear & (change[row] > 0)
        if rising[0]:
            yield _shift_finding("low_pass", start, s, end, t, row, 0, change, p)
        if rising[-1]:
            yield _shift_finding("high_pass", start, s, end, t, row, change.shape[1] - 1, change, p)


def _shift_finding(
    kind: str, start: Reading, s: int, end: Reading, t: int, row: int, band: int, change: np.ndarray, p: np.ndarray
) -> Finding:
    hop, before, after = end.hops[row], float(start.share[s, row, band]), float(end.share[t, row, band])
    place = {0: "the slowest band", change.shape[1] - 1: "the fastest band"}.get(band, f"band {band + 1}")
    evidence = {"before": before, "after": after, "band": float(band), "p": float(p[row, band])}
    if kind == "differ":
        text = f"At K = {hop} the two signals differ: of the energy off zero, {place} holds {before:.2f} in the "
        text += f"other signal and {after:.2f} in this one"
    else:
        name = "low-pass" if kind == "low_pass" else "high-pass"
        what = "" if end.snapshots is None else f" from snapshot {_label(start, s)} to {_label(end, t)}"
        text = f"At K = {hop} the step is {name}{what}: the share of energy off zero in {place} "
        text += f"goes from {before:.2f} to {after:.2f}"
    return Finding(kind, f"{text} ({_p(float(p[row, band]))}).", hop, _label(end, t), evidence)


def _over_smoothing(reading: Reading, control: Reading | None, first: int, limits: Thresholds) -> Iterator[Finding]:
    """Energy off zero against the control's, at the first hop."""
    off, hop = reading.off_zero[:, 0], reading.hops[0]
    if control is None and np.count_nonzero(reading.defined) == 1:
        if off[first] <= limits.constant:
            text = (
                f"The signal is nearly constant: {off[first]:.3g} of its energy at K = {hop} is off zero; "
                "whether something smoothed it away needs a control."
            )
            yield Finding("near_constant", text, hop, _label(reading, first), {"off_zero": float(off[first])})
        return
    reference = _reference(reading, control, first)  # (T,)
    rate = _rate(reading, off)
    above = reading.tails()[0][:, 0, 0]
    for t in np.flatnonzero(reading.defined):
        if control is None and t == first:
            continue
        if off[t] > limits.decay * reference[t] or off[t] > limits.collapsed:
            continue
        ratio, p = float(reading.ratio[t, 0, 0]), float(above[t])
        smooth = ratio >= limits.homophily and not p > limits.alpha
        where = "in the control" if control is not None else _when(reading, first).strip()
        if control is None and reference[t] < reading.off_zero[first, 0]:
            where += " less what ReLU alone takes"
        text = (
            f"{'Over-smoothing' if smooth else 'Collapse'}{_when(reading, int(t))}: "
            f"{off[t]:.3g} of the energy at K = {hop} is off zero, "
            f"against {reference[t]:.3g} {where}"
        )
        text += f", and the slowest band holds {ratio:.2f} times the energy of chance" if smooth else ""
        text += (
            f"; on average it falls by a factor of {np.exp(-rate):.3g} per step"
            if np.isfinite(rate) and rate < 0
            else ""
        )
        evidence = {"off_zero": float(off[t]), "control": float(reference[t]), "rate": rate, "ratio": ratio, "p": p}
        yield Finding("over_smoothing" if smooth else "collapse", text + ".", hop, _label(reading, int(t)), evidence)


def _reference(reading: Reading, control: Reading | None, first: int) -> np.ndarray:
    if control is None:
        # ReLU alone moves energy to the mean, which is no smoothing over the graph.
        rectified = reading.nonnegative & ~reading.nonnegative[first]
        return reading.off_zero[first, 0] * np.where(rectified, RECTIFIED, 1.0)
    values = control.off_zero[:, 0]
    if len(values) == reading.n_snapshots and len(values) > 1:
        return values
    return np.full(reading.n_snapshots, np.nanmedian(values))


def _rate(reading: Reading, off: np.ndarray) -> float:
    """Slope of ``log off_zero`` over the snapshots' numbers, or their order; NaN below three."""
    used = np.flatnonzero(reading.defined & (off > 0))
    if len(used) < 3:
        return float("nan")
    labels = [_label(reading, int(t)) for t in used]
    numeric = all(isinstance(x, (int, float, np.integer, np.floating)) for x in labels)
    steps = np.asarray(labels if numeric else used, dtype=float)
    return float(np.polyfit(steps, np.log(off[used]), 1)[0])
