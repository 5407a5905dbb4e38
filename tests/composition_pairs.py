"""Steps of a chain that read two results together: compare and response.

The second result is made like the first and then permuted, cut or computed otherwise. What is in another order
is matched by label; what was computed otherwise must be refused.
"""

import numpy as np

import brute_readers
import spectrata as st
from composition_cases import draw_case, laplacians, scalings
from composition_ledger import Problem, arrays, near
from composition_rules import ask
from composition_steps import another, step

SHARE = 1e-8  # tolerance of shares and cosines
MEASURES = ("correlation", "cosine", "cosine_flat_a", "cosine_flat_b", "energy_shift")


def other_choices(chain, ledger):
    """How a second result may differ from the first so that the two do not belong together."""
    settings = ledger.settings
    choices = {}
    if ledger.width > 1:
        choices["metric"] = {"metric": "angular" if ledger.metric == "euclidean" else "euclidean"}
    names = [name for name in laplacians() if name != settings.laplacian]
    if names and settings.n_eigs is None:
        name = str(chain.rng.choice(names))
        kept = ("gft",) if "normalized" in (name, settings.laplacian) else settings.algorithms
        choices["laplacian"] = {"laplacian": name, "algorithms": kept}
    if "apprx_ls" in ledger.algorithms:
        choices["orientation"] = {"orientation": "index" if settings.orientation == "rms" else "rms"}
    if "adj_diff" in ledger.algorithms:
        choices["scaling"] = {"scaling": next(s for s in scalings() if s != settings.scaling)}
    cut = len(ledger.held) - 1 if ledger.is_cut else ledger.case.n - 1
    if cut >= 1 and settings.laplacian == "combinatorial":
        choices["cut"] = {"n_eigs": cut, "which": settings.which}
    choices["graph"] = {}
    return choices


def unlike(chain, ledger, choices, what):
    """A second result that differs from the first in one respect."""
    if what == "graph":
        return another(chain, ledger, case=other_graph(chain, ledger.case))
    return another(chain, ledger, **choices[what])


def other_graph(chain, case):
    """Another graph, of the same size where one is met soon."""
    other = case
    for _ in range(20):
        other = draw_case(chain.rng)
        if other.n == case.n and not is_same_graph(case, other):
            return other
    while is_same_graph(case, other):
        other = draw_case(chain.rng)
    return other


def is_same_graph(one, other):
    """Whether two graphs have the same edges, by the rows of nodes or by their names."""

    def edges(case, names):
        return {frozenset((names[x], names[y])) for x, y in case.edges}

    by_names = edges(one, one.names) == edges(other, other.names)
    return one.n == other.n and (by_names or edges(one, range(one.n)) == edges(other, range(other.n)))


def shuffled(chain, ds, ledger, dim, name):
    """The same result with one dimension in another order."""
    labels = getattr(ledger, name)
    order = [int(i) for i in chain.rng.permutation(len(labels))]
    return ds.isel({dim: order}), ledger.but(**{name: tuple(labels[i] for i in order)})


# --- compare ------------------------------------------------------------------------------------------------


@step(2.5)
def compare(chain):
    ds, ledger = chain.pick(lambda ds, ledger: not ledger.components)
    if ds is None:
        return False
    if chain.rng.random() < 0.4 and not ledger.broadcast:
        return refused_compare(chain, ds, ledger)
    made = another(chain, ledger)
    if made is None:
        return None
    other, theirs = made
    rule = "compare"
    if chain.rng.random() < 0.5:
        other, theirs, rule = *shuffled(chain, other, theirs, "hop", "hops"), "compare, hops permuted"
    if theirs.has_snapshots and chain.rng.random() < 0.5:
        other, theirs = shuffled(chain, other, theirs, "snapshot", "snapshots")
        rule = "compare, snapshots permuted"
    if ledger.is_cut:
        rule = "compare, cut alike"
    elif ledger.is_dropped:
        rule = "compare, zeros dropped"
    zero = not ledger.is_dropped and chain.rng.random() < 0.3
    chain.say(f"compare(ds, the last result; hops {theirs.hops}, snapshots {theirs.snapshots}, zero={zero})")
    found = ask(rule, lambda: st.compare(ds, other, zero=zero, draws=9), lenient=ledger.broadcast)
    if found is not None:
        check_compared(found, ledger, theirs, zero, rule)
    return None


def refused_compare(chain, ds, ledger):
    """Two results that do not belong together."""
    choices = other_choices(chain, ledger)
    if ledger.has_snapshots:
        choices["snapshots"] = {"snapshots": tuple(f"foreign {i}" for i in range(len(ledger.snapshots)))}
    what = str(chain.rng.choice(list(choices)))
    made = unlike(chain, ledger, choices, what)
    if made is None:
        return None
    if what in ("orientation", "scaling"):
        name = "apprx_ls" if what == "orientation" else "adj_diff"
        chain.say(f"compare(ds, the last result: other {what}, {name} alone)")
        ask(f"compare, other {what}", lambda: st.compare(ds, made[0].sel(algorithm=[name])))
        return None
    chain.say(f"compare(ds, the last result: other {what})")
    ask(f"compare, other {what}", lambda: st.compare(ds, made[0]))
    return None


def check_compared(found, ledger, theirs, zero, rule):
    """Every measure of every algorithm, snapshot and hop."""
    labels = {"algorithm": list(ledger.algorithms), "hop": list(ledger.hops)}
    labels |= {"snapshot": list(ledger.snapshots)} if ledger.has_snapshots else {}
    found = found.sel(labels)
    names = (*MEASURES, "wasserstein", "largest_difference", "at_eigenspace", "off_zero_a", "off_zero_b")
    tables = {name: arrays(found, name) for name in names if name in found}
    for k, hop in enumerate(ledger.hops):
        for t, snapshot in enumerate(ledger.snapshots):
            for m, algorithm in enumerate(ledger.algorithms):
                a, b = (book.row(algorithm, snapshot, hop) for book in (ledger, theirs))
                if a is not None and b is not None:
                    off = ("off_zero_a", "off_zero_b")
                    one = {name: x[t, k] if name in off else x[m, t, k] for name, x in tables.items()}
                    where = f"compare, {algorithm}, snapshot {snapshot}, hop {hop}"
                    check_pair(one, a, b, zero, ledger, rule, where)


def check_pair(one, a, b, zero, ledger, rule, where):
    """The measures of two spectra."""
    for name, cannot in (("off_zero_a", ledger.is_dropped or ledger.is_cut), ("off_zero_b", ledger.is_cut)):
        if cannot and name in one and not np.isnan(one[name]):
            raise Problem("silent: compare", f"{where}: {name} is {float(one[name])}, which cannot be known")
    if ledger.is_cut:
        if not np.isnan(one["energy_shift"]).all():
            raise Problem("silent: compare, cut", f"{where}: energy_shift is {one['energy_shift']}")
        return
    if not (a.is_readable and b.is_readable and (not zero or (a.is_known and b.is_known))):
        return
    expected = brute_readers.compare(a.op.levels, a.op.sizes, a.merged, b.merged, zero)
    slack = SHARE + 8 * (a.error / a.off + b.error / b.off)
    if zero:  # zero components are rounded on a scale of their own
        slack += 8 * 1e-9
    kind = a.kind(b.kind(f"wrong: {rule}"))
    for name in (*MEASURES, "wasserstein"):
        if name in expected:
            factor = {"correlation": 1e3, "wasserstein": a.op.levels[-1]}.get(name, 1)
            seen, right = (np.nan_to_num(x) for x in (one[name], expected[name]))
            near(kind, f"{where}: {name}", seen, right, slack * factor)
    seen, places = float(one["largest_difference"]), expected["at_eigenspace"]
    near(kind, f"{where}: largest_difference", abs(seen), abs(expected["largest_difference"]), slack)
    if abs(seen) > 1e3 * slack:  # in ties every place is right, with its own sign
        place = int(one["at_eigenspace"])
        if place not in places:
            raise Problem(kind, f"{where}: at_eigenspace {place}, expected one of {list(places)}")
        near(kind, f"{where}: largest_difference", seen, places[place], slack + 1e-7)


# --- response -----------------------------------------------------------------------------------------------


@step(2)
def response(chain):
    ds, ledger = chain.pick(
        lambda ds, ledger: not ledger.has_snapshots and {*ledger.steps} <= {"merge"} and not ledger.components
    )
    if ds is None or ledger.row("gft", None, ledger.hops[0]) is None or "gft" not in ledger.algorithms:
        return False
    algorithm = str(chain.rng.choice(ledger.algorithms))
    level = str(chain.rng.choice(["band", "eigenspace"]))
    arguments = {"algorithm": algorithm, "level": level}
    if chain.rng.random() < 0.3:
        choices = other_choices(chain, ledger)
        what = str(chain.rng.choice([name for name in choices if name not in ("orientation", "scaling")]))
        made = unlike(chain, ledger, choices, what)
        if made is not None:
            chain.say(f"response(ds, the last result: other {what})")
            ask(f"response, other {what}", lambda: st.response(ds, made[0], **arguments | {"algorithm": "gft"}))
        return None
    made = another(chain, ledger)
    if made is None:
        return None
    other, theirs = made
    other = other.sel(hop=list(ledger.hops))
    theirs, rule = theirs.but(hops=ledger.hops), "response"
    if chain.rng.random() < 0.4:
        other, theirs = shuffled(chain, other, theirs, "hop", "hops")
        rule = "response, hops permuted"
    rule = "response, merged" if ledger.is_merged else rule
    rule = "response, cut" if ledger.is_cut else rule
    chain.say(f"response(ds, the last result with hops {theirs.hops}, {arguments})")
    found = ask(rule, lambda: st.response(ds, other, **arguments))
    if found is None:
        return None
    for hop in ledger.hops:
        rows = ledger.row(algorithm, None, hop), theirs.row(algorithm, None, hop)
        check_response(found.sel(hop=hop), *rows, level, ledger, f"response, {algorithm}, hop {hop}")
    if chain.rng.random() < 0.3 and not ledger.is_cut and rule == "response" and len(ledger.hops) > 1:
        check_order(chain, ds, other, ledger, arguments)
    return None


def check_response(one, before, after, level, ledger, where):
    """Gain, response and relative of one hop."""
    if before is None or after is None:
        return
    if ledger.is_cut:
        if level == "band" and not np.isnan(one["response"]).all():
            raise Problem("silent: response, cut", f"{where}: response of bands is {one['response'].values}")
        if not np.isnan(one["gain"]):
            raise Problem("silent: response, cut", f"{where}: gain is {float(one['gain'])}")
        return
    if not (before.is_readable and after.is_readable):
        return
    gain, ratio, start = brute_readers.response(before.op.sizes, before.merged, after.merged, level)
    slack = SHARE + 8 * (before.error / before.off + after.error / after.off)
    kind = before.kind(after.kind("wrong response"))
    near(kind, f"{where}: gain", one["gain"], gain, slack * gain)
    count = len(ratio)
    use = np.nan_to_num(start) > 1e-3 * before.off
    if level == "eigenspace":
        use[0] = False  # a scale of its own
    for name, expected, usual in (("response", ratio, gain), ("relative", ratio / gain, 1.0)):
        seen = one[name].values[:count]
        tolerance = 1e4 * slack * np.maximum(expected[use], usual)
        near(kind, f"{where}: {name}", seen[use], expected[use], tolerance)


def check_order(chain, ds, other, ledger, arguments):
    """The numbers of a hop are the same in whatever order the hops are."""
    chain.say(f"response of both with hops reversed, {arguments}")
    back = {"hop": list(ledger.hops)[::-1]}
    plain = ask("response", lambda: st.response(ds, other, **arguments))
    turned = ask("response, both permuted", lambda: st.response(ds.sel(back), other.sel(back), **arguments))
    for hop in ledger.hops:
        for name in ("share_before", "share_after", "relative"):
            seen, expected = turned[name].sel(hop=hop).values, plain[name].sel(hop=hop).values
            count = min(len(seen), len(expected))
            tolerance = 1e-6 * np.maximum(np.nan_to_num(np.abs(expected[:count])), 1)
            near("wrong response order", f"{name} at hop {hop}", seen[:count], expected[:count], tolerance)
