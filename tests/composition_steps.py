"""Steps of a chain that make or change results: spectra, selections, concat, drop, merge, normalise, files."""

import copy
import pickle
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

import calls
import spectrata as st
from composition_cases import as_given, draw_hops, draw_settings, draw_signal
from composition_ledger import Problem, arrays, near, open_ledger
from composition_rules import ask, verb

STEPS = []  # (weight, function); a step that does not apply returns False


def step(weight):
    """Register a step."""

    def register(function):
        STEPS.append((weight, function))
        return function

    return register


# --- Making results -----------------------------------------------------------------------------------------


def compute(chain, settings=None, signal=None, hops=None, rule="spectra", case=None):
    """Call ``spectra`` one way or another: a Dataset and its ledger, or None where it must be refused."""
    rng, case = chain.rng, case or chain.case
    settings = settings or draw_settings(case, rng)
    signal = draw_signal(case, rng) if signal is None else signal
    given, form = as_given(case, signal, rng)
    arguments = settings.arguments()
    through = hops is None and case is chain.case and chain.strat is not None and rng.random() < 0.5
    if through:
        wanted = chain.strat_hops
    elif hops is None:
        hops, wanted = draw_hops(case, rng)
    else:
        wanted = hops
    ledger = open_ledger(case, signal, settings, wanted)
    undefined = any(not np.linalg.norm(x, axis=1).all() for x in signal.values()) and ledger.metric == "angular"
    if settings.metric == "angular" and ledger.width == 1:
        rule = "spectra, angles of numbers"
    elif undefined and settings.zero_vectors == "error":
        rule = "spectra, zero vector"
    about = f"{form} {next(iter(signal.values())).shape}, snapshots {list(signal)}, {arguments}"
    if through:
        chain.say(f"strat.spectra({about})")
        ds = ask(rule, lambda: calls.spectra(chain.strat, given, **arguments))
    else:
        chain.say(f"st.spectra(graph, {about}, hops={hops})")
        ds = ask(rule, lambda: calls.spectra(case.graph, given, hops=hops, **arguments))
    if ds is None:
        return None
    names = [str(name) for name in ds["algorithm"].values]
    if sorted(names) != sorted(settings.algorithms):
        raise Problem("wrong labels", f"algorithms {names}, asked for {settings.algorithms}")
    return ds, ledger.but(algorithms=tuple(names))


def another(chain, ledger, **changes):
    """A second result made like the first, of another signal, its hops in ascending order."""
    settings = replace(ledger.settings, metric=ledger.metric, zero_vectors="nan")
    settings = replace(settings, **{k: v for k, v in changes.items() if k in settings.__dataclass_fields__})
    case = changes.get("case", ledger.case)
    labels = changes.get("snapshots", ledger.snapshots)
    fresh = draw_signal(case, chain.rng, ledger.width, len(labels))
    signal = dict(zip(labels, fresh.values(), strict=True))
    hops = [hop for hop in sorted(ledger.hops) if hop in case.strata]
    return compute(chain, settings, signal, hops or [1], case=case)


@step(3)
def spectra(chain):
    made = compute(chain)
    if made is not None:
        chain.add(*made)


@step(1)
def copied_stratification(chain):
    if chain.strat is None:
        return False
    if chain.rng.random() < 0.5:
        chain.say("strat = pickle.loads(pickle.dumps(strat))")
        chain.strat = ask("pickle", lambda: pickle.loads(pickle.dumps(chain.strat)))
    else:
        chain.say("strat = copy.deepcopy(strat)")
        chain.strat = ask("deepcopy", lambda: copy.deepcopy(chain.strat))


# --- Selecting ----------------------------------------------------------------------------------------------


def subset(rng, items):
    """A random non-empty selection in random order."""
    count = int(rng.integers(1, len(items) + 1))
    return [int(i) for i in rng.permutation(len(items))[:count]]


@step(3)
def select_hops(chain):
    ds, ledger = chain.pick()
    order = subset(chain.rng, ledger.hops)
    hops = tuple(ledger.hops[i] for i in order)
    kind = chain.rng.integers(3)
    chain.say(f"select hops {hops} by {('isel', 'sel', 'reindex')[kind]}")
    if kind == 0:
        out = ds.isel(hop=order)
    elif kind == 1:
        out = ds.sel(hop=list(hops))
    else:
        out = ds.reindex(hop=list(hops))
    chain.add(out, ledger.but(hops=hops))


@step(2)
def select_snapshots(chain):
    ds, ledger = chain.pick(lambda ds, ledger: ledger.has_snapshots)
    if ds is None:
        return False
    order = subset(chain.rng, ledger.snapshots)
    if chain.rng.random() < 0.3:
        label = ledger.snapshots[order[0]]
        chain.say(f"select snapshot {label!r} alone")
        signals = {None: ledger.signals[label]}
        chain.add(ds.isel(snapshot=order[0]), ledger.but(signals=signals, snapshots=(None,)))
        return None
    labels = tuple(ledger.snapshots[i] for i in order)
    chain.say(f"select snapshots {labels}")
    chain.add(ds.isel(snapshot=order), ledger.but(snapshots=labels))
    return None


@step(1)
def select_algorithms(chain):
    ds, ledger = chain.pick(lambda ds, ledger: len(ledger.algorithms) > 1)
    if ds is None:
        return False
    names = tuple(ledger.algorithms[i] for i in subset(chain.rng, ledger.algorithms))
    chain.say(f"select algorithms {names}")
    chain.add(ds.sel(algorithm=list(names)), ledger.but(algorithms=names))
    return None


@step(0.5)
def select_components(chain):
    ds, ledger = chain.pick(lambda ds, ledger: not ledger.is_merged and not ledger.is_normalized)
    if ds is None:
        return False
    count = int(chain.rng.integers(1, len(ledger.held) + 1))
    chosen = slice(0, count) if chain.rng.random() < 0.5 else slice(len(ledger.held) - count, None)
    chain.say(f"isel(component={chosen})")
    chain.add(ds.isel(component=chosen), ledger.but(components=ledger.held[chosen]))
    return None


@step(1.5)
def concat(chain):
    ds, ledger = chain.pick(lambda ds, ledger: ledger.has_snapshots and not ledger.steps and not ledger.components)
    if ds is None:
        return False
    labels = tuple(f"more {len(chain.log)}.{i}" for i in range(int(chain.rng.integers(1, 4))))
    if isinstance(ledger.snapshots[0], int):
        labels = tuple(range(100 * len(chain.log), 100 * len(chain.log) + len(labels)))
    made = another(chain, ledger, snapshots=labels)
    if made is None:
        return None
    more, theirs = made
    more = more.sel(hop=list(ledger.hops), algorithm=list(ledger.algorithms))
    plain = chain.rng.random() < 0.3
    chain.say(f"xr.concat(..., 'snapshot', {'all' if plain else 'minimal'} variables)")
    how = {"data_vars": "all", "coords": "different", "compat": "equals", "join": "outer"}
    if not plain:
        how = {"data_vars": "minimal", "coords": "minimal", "compat": "override", "join": "exact"}
    out = xr.concat([ds, more], dim="snapshot", combine_attrs="override", **how)
    chain.add(
        out.transpose(*ds.dims, missing_dims="ignore") if plain else out,
        ledger.but(
            signals=ledger.signals | theirs.signals,
            snapshots=ledger.snapshots + theirs.snapshots,
            broadcast=ledger.broadcast or plain,
        ),
    )
    return None


# --- Verbs that give a result -------------------------------------------------------------------------------


def has_cut_eigenspace(ledger):
    """Whether a selection of components divides an eigenspace at some hop."""
    for hop in ledger.hops:
        op = ledger.operator(hop)
        held = np.bincount(op.space[list(ledger.held)], minlength=len(op.sizes))
        if np.any((held > 0) & (held < op.sizes)):
            return True
    return False


def apply(chain, name, rule, step_name=None):
    """Apply a verb that takes and gives a result."""
    ds, ledger = chain.picked
    chain.say(f"{name}(ds)")
    out = ask(rule, lambda: verb(name)(ds), lenient=ledger.broadcast)
    if out is not None:
        chain.add(out, ledger.but(steps=(*ledger.steps, step_name or name)))


@step(1.5)
def drop_zero(chain):
    chain.pick()
    apply(chain, "drop_zero", "drop_zero")


@step(2)
def merge_eigenspaces(chain):
    _, ledger = chain.pick()
    rule = "merge_eigenspaces, cut eigenspace" if has_cut_eigenspace(ledger) else "merge_eigenspaces"
    apply(chain, "merge_eigenspaces", rule, "merge")


@step(1.5)
def normalize(chain):
    _, ledger = chain.pick()
    apply(chain, "normalize", "normalize, cut" if ledger.is_cut else "normalize")
    out, theirs = chain.states[-1]
    if ledger.is_normalized or not theirs.is_normalized:
        return
    norms = arrays(out, "magnitude_norm")
    for m, t, k in np.ndindex(norms.shape):
        row = theirs.row(theirs.algorithms[m], theirs.snapshots[t], theirs.hops[k])
        if row is not None and row.unit is not None and row.is_known:
            tolerance = 1e-9 * max(row.unit, row.unit * row.scale.max())
            near(row.kind("wrong magnitude_norm"), f"magnitude_norm {m, t, k}", norms[m, t, k], row.unit, tolerance)


@step(0.25)
def save_and_open(chain):
    ds, ledger = chain.pick()
    ending = str(chain.rng.choice(["nc", "zarr"]))
    chain.say(f"save and open .{ending}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"result.{ending}"
        if ask("save", lambda: st.save(ds, path), lenient=ledger.broadcast) is None:
            return
        out = ask("open", lambda: st.open(path))
    chain.add(out, ledger)
