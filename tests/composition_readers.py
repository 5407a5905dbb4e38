"""Steps of a chain that read results: off_zero, summary, tables, calibrate, distinguish, correlate, diagnose.

Each asks by its rule and compares the answer with brute force. ``compare`` and ``response``, which take two
results, are in ``composition_pairs``.
"""

import numpy as np
import pandas as pd

import brute
import brute_readers
import calls
import composition_pairs  # noqa: F401 - registers its steps
import spectrata as st
from composition_cases import as_given, draw_settings, draw_signal
from composition_ledger import TOLERANCE, Problem, near, open_ledger, same
from composition_rules import ask, verb
from composition_steps import another, step

SHARE = 1e-8  # tolerance of shares and cosines


def at(ds, snapshot, **labels):
    """Select by label; a result without snapshots has the snapshot None."""
    return ds.sel(labels | ({"snapshot": snapshot} if snapshot is not None else {}))


def slack(row):
    """Tolerance of a share of the energy off zero."""
    return SHARE + 4 * row.error / row.off


def off_zero_expected(row):
    """The share off zero, and how far a right answer may be off."""
    if row is None:
        return np.nan, 0.0
    share = brute_readers.off_zero(row.merged)
    whole = np.nansum(row.merged**2)
    error = 2 * row.off * row.error + row.error**2
    return share, (TOLERANCE * share + 4 * error / whole) if whole > 0 else 0.0


def require_nan(kind, what, values):
    """What cannot be known must be NaN."""
    if not np.isnan(np.asarray(values, dtype=float)).all():
        raise Problem(kind, f"{what} is {values}, which the result cannot answer")


@step(2)
def off_zero(chain):
    ds, ledger = chain.pick()
    rule = "off_zero"
    if "gft" not in ledger.algorithms:
        rule = "off_zero, no gft"
    elif ledger.is_cut:
        rule = "off_zero, cut"
    elif ledger.is_dropped:
        rule = "off_zero, zeros dropped"
    chain.say("off_zero(ds)")
    found = ask(rule, lambda: st.off_zero(ds), lenient=ledger.broadcast)
    if found is None:
        return
    if rule != "off_zero":
        require_nan(f"silent: {rule}", "off_zero", found.values)
        return
    for snapshot in ledger.snapshots:
        for hop in ledger.hops:
            row = ledger.row("gft", snapshot, hop)
            expected, tolerance = off_zero_expected(row)
            seen = at(found, snapshot, hop=hop)
            kind = row.kind("wrong off_zero") if row else "wrong off_zero"
            near(kind, f"off_zero, snapshot {snapshot}, hop {hop}", seen, expected, tolerance)


@step(2)
def summary(chain):
    ds, ledger = chain.pick()
    rule = "summary, cut" if ledger.is_cut else "summary, zeros dropped" if ledger.is_dropped else "summary"
    chain.say("summary(ds)")
    table = ask(rule, lambda: st.summary(ds), lenient=ledger.broadcast)
    if table is None:
        return
    same("wrong summary", "rows", len(table), len(ledger.algorithms) * len(ledger.hops) * len(ledger.snapshots))
    for record in table.to_dict("records"):
        key = (str(record["algorithm"]), record.get("snapshot"), int(record["hop"]))
        if not ledger.has_snapshots:
            key = (key[0], None, key[2])
        check_summary(record, ledger, ledger.row(*key), f"summary of {key}")


def check_summary(record, ledger, row, where):
    """One row of the table."""
    if row is None:
        return
    if ledger.is_cut:
        for name in ("off_zero", "lowest", "highest", "centroid", "cosine_flat"):
            require_nan("silent: summary, cut", f"{where}: {name}", record[name])
        return
    expected = brute_readers.summary(row.op.levels, row.op.sizes, row.merged)
    for name in ("eigenspaces", "ambiguous"):
        same("wrong summary", f"{where}: {name}", int(record[name]), int(expected[name]))
    if row.algorithm != "gft" or ledger.is_dropped:
        require_nan("silent: summary, zeros dropped", f"{where}: off_zero", record["off_zero"])
    else:
        near(row.kind("wrong summary"), f"{where}: off_zero", record["off_zero"], *off_zero_expected(row))
    if row.is_known and row.unit is not None:
        tolerance = TOLERANCE * max(expected["norm"], np.max(row.scale))
        near("wrong summary", f"{where}: norm", record["norm"], expected["norm"], tolerance)
    if not row.is_readable:
        return
    for name in ("lowest", "highest", "cosine_flat"):
        near(row.kind("wrong summary"), f"{where}: {name}", record[name], expected[name], slack(row))
    top = row.op.levels[-1]
    near("wrong summary", f"{where}: centroid", record["centroid"], expected["centroid"], slack(row) * top)
    strength = np.nan_to_num(row.merged[1:]) / np.sqrt(row.op.sizes[1:])
    peak = strength[np.argmin(np.abs(row.op.levels[1:] - record["peak"]))]
    near("wrong summary", f"{where}: strength at the peak", peak, strength.max(), slack(row) * row.off)


@step(1)
def to_table(chain):
    ds, ledger = chain.pick()
    chain.say("to_table(ds)")
    table = ask("to_table", lambda: st.to_table(ds), lenient=ledger.broadcast)
    if table is None:
        return
    keys = ["algorithm", *(["snapshot"] if ledger.has_snapshots else []), "hop"]
    held = ds["magnitude"].where(ds["multiplicity"] > 0, drop=False)  # merged hops of few eigenspaces are padded
    padding = (ds["multiplicity"] == 0).broadcast_like(held).sum()
    same("wrong table", "rows", len(table), ds["magnitude"].size - int(padding))
    for key, rows in table.groupby(keys, sort=False):
        labels = dict(zip(keys, key, strict=True))
        one = ds.sel(labels)
        one = one.isel(component=one["multiplicity"].values > 0)
        rows = rows.sort_values("component")
        for name in ("magnitude", "eigenvalue", "eigenspace", "multiplicity"):
            near("wrong table", f"{labels} {name}", rows[name].to_numpy(), one[name].values, 0.0)


# --- Chance -------------------------------------------------------------------------------------------------


@step(1.5)
def calibrate(chain):
    settings = draw_settings(chain.case, chain.rng)
    signal = draw_signal(chain.case, chain.rng)
    ledger = open_ledger(chain.case, signal, settings, chain.strat_hops)
    if any(brute.potential(x, ledger.metric) is None for x in signal.values()):
        return False
    level = str(chain.rng.choice(["component", "eigenspace", "band"]))
    draws = int(chain.rng.choice([0, 39])) if settings.laplacian != "normalized" else 0
    given, form = as_given(chain.case, signal, chain.rng)
    taken = ("laplacian", "self_loops", "metric", "dtype", "n_eigs", "which", "seed")
    arguments = {name: value for name, value in settings.arguments().items() if name in taken}
    arguments |= {"level": level, "draws": draws}
    chain.say(f"calibrate(strat, {form}, snapshots {list(signal)}, {arguments})")
    rule = "calibrate" if settings.n_eigs is None else "calibrate, cut"
    if settings.metric == "angular" and ledger.width == 1:
        rule = "calibrate, angles of numbers"
    found = ask(rule, lambda: calls.with_graph(st.calibrate, chain.strat, given, **arguments))
    if found is None:
        return None
    for name in ("p", "q"):
        values = found[name].values[~np.isnan(found[name].values)]
        if np.any((values < 0) | (values > 1)):
            raise Problem("wrong calibrate", f"{name} outside [0, 1]: {values}")
    for snapshot in ledger.snapshots:
        for hop in ledger.hops:
            one = at(found, snapshot, algorithm="gft", hop=hop)
            check_null(one, ledger, snapshot, hop, level)
    return None


def null_groups(ledger, op, level):
    """Position in the answer -> components of the whole spectrum, where the null does not depend on the basis."""
    if level == "component":
        whole = {position: [i] for position, i in enumerate(ledger.held)}
        return {p: columns for p, columns in whole.items() if op.sizes[op.space[columns[0]]] == 1}
    if level == "eigenspace":
        return {s: np.flatnonzero(op.space == s).tolist() for s in range(len(op.sizes))}
    band = brute_readers.bands_of(op.sizes)[op.space]
    return {b: np.flatnonzero(band == b).tolist() for b in range(brute_readers.BANDS) if np.any(band == b)}


def check_null(one, ledger, snapshot, hop, level):
    """Energies of gft at one hop, their shares and what chance gives."""
    op, t = ledger.operator(hop), brute.potential(ledger.signals[snapshot], ledger.metric)
    row = ledger.row("gft", snapshot, hop)
    values = brute.gft(op, t)
    kind = row.kind("wrong calibrate")
    for position, columns in null_groups(ledger, op, level).items():
        where = f"calibrate, snapshot {snapshot}, hop {hop}, {level} {position}"
        scale = row.scale[op.space[columns[0]]]
        size = np.linalg.norm(values[columns])
        seen = float(one["magnitude"][position])
        near(kind, f"{where}: magnitude", seen, size, TOLERANCE * max(scale, size))
        off = [i for i in range(len(op.space)) if op.space[i] > 0]
        total = np.sum(values[off] ** 2)
        if op.space[columns[0]] == 0 or total < 1e-6 * np.sum(values**2):
            continue
        near(kind, f"{where}: share", float(one["share"][position]), size**2 / total, 1e-6)
        if op.laplacian != "normalized":
            means = [brute.null_moments(op, t, group)[0] for group in (columns, off)]
            near(kind, f"{where}: chance", float(one["chance"][position]), means[0] / means[1], 1e-7)


# --- Groups and scores --------------------------------------------------------------------------------------


@step(1)
def distinguish(chain):
    ds, ledger = chain.pick(
        lambda ds, ledger: len(ledger.snapshots) > 1 and not ledger.is_cut and not ledger.is_normalized
    )
    if ds is None:
        return False
    labels = tuple(range(int(chain.rng.integers(2, 4))))
    made = another(chain, ledger, snapshots=labels)
    if made is None:
        return None
    other, theirs = made
    for name in ledger.steps:
        other = after(other, {"merge": "merge_eigenspaces"}.get(name, name))
    theirs = theirs.but(steps=ledger.steps)
    chain.say(f"distinguish(ds, the last result after {ledger.steps})")
    found = ask("distinguish", lambda: verb("distinguish")(ds, other, draws=3), lenient=ledger.broadcast)
    if found is None:
        return None
    for algorithm in ledger.algorithms:
        for hop in ledger.hops:
            check_distinguished(found.sel(algorithm=algorithm, hop=hop), ledger, theirs, algorithm, hop)
    return None


def after(ds, name):
    """A result after one more verb."""
    return ask(name, lambda: verb(name)(ds))


def check_distinguished(one, ledger, theirs, algorithm, hop):
    """The largest difference of mean unit spectra, and its component by label."""
    groups = [[book.row(algorithm, label, hop) for label in book.snapshots] for book in (ledger, theirs)]
    rows = [row for group in groups for row in group]
    if any(row is None or not row.is_readable or not row.is_known for row in rows):
        return
    op = rows[0].op
    plain = np.all(op.sizes[1:] == 1) and (ledger.is_dropped or op.sizes[0] == 1)
    if not (ledger.is_merged or plain):
        return
    means = [np.mean([brute_readers.normalized(row.merged) for row in group], axis=0) for group in groups]
    gap = np.abs(means[0] - means[1])
    where = f"distinguish, {algorithm}, hop {hop}"
    tolerance = 2 * max(slack(row) for row in rows)
    near("wrong distinguish", where, one["largest_mean_difference"], np.nanmax(gap), tolerance)
    label = int(one["at_component"])
    space = label if ledger.is_merged else int(op.space[label])
    if not gap[space] >= np.nanmax(gap) - 2 * tolerance:
        raise Problem("wrong distinguish", f"{where}: at_component {label}, differences {gap}")


@step(1)
def correlate(chain):
    ds, ledger = chain.pick(lambda ds, ledger: len(ledger.snapshots) > 3)
    if ds is None:
        return False
    labels = list(ledger.snapshots)
    score = dict(zip(labels, chain.rng.normal(size=len(labels)), strict=True))
    order = chain.rng.permutation(len(labels))
    series = pd.Series([score[labels[i]] for i in order], index=[labels[i] for i in order])
    if chain.rng.random() < 0.2:
        series.index = [f"not {label}" for label in series.index]
        chain.say("correlate(ds, a Series of other labels)")
        ask("correlate, other labels", lambda: verb("correlate")(ds, series))
        return None
    chain.say(f"correlate(ds, Series of {list(series.index)})")
    found = ask("correlate", lambda: verb("correlate")(ds, series), lenient=ledger.broadcast)
    if found is None:
        return None
    target = np.array([score[label] for label in labels])
    for hop in ledger.hops:
        t = [brute.potential(ledger.signals[label], ledger.metric) for label in labels]
        if any(x is None for x in t):
            continue
        values = np.array([np.linalg.norm(brute.gradient(x, ledger.operator(hop))) for x in t])
        if np.std(values) > 1e-6 * np.abs(values).max() and np.abs(values).max() > 1e-9:
            expected = np.corrcoef(values, target)[0, 1]
            near("wrong correlate", f"pearson at hop {hop}", found["pearson"].sel(hop=hop), expected, 1e-7)
    return None


@step(1)
def diagnose(chain):
    ds, ledger = chain.pick()
    rule = "diagnose"
    if chain.rng.random() < 0.3 and "signal" in ds:
        ds = ds.drop_vars("signal")
        rule = "diagnose, cut without its signal" if ledger.is_cut else rule
    chain.say(f"diagnose(ds{'' if 'signal' in ds else ' without its signal'})")
    found = ask(rule, lambda: st.diagnose(ds, draws=39))
    if found is not None and rule != "diagnose" and not set(found.kinds) <= {"unjudged", "undefined"}:
        raise Problem(f"silent: {rule}", str(found))
