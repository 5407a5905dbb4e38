"""Numbers and words of a page: what it shows first, and the rest, which is packed; :func:`payload` gives both."""

from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import argument
from spectrata.plot.positions import two_axes
from spectrata.plot.style import count
from spectrata.report.drawing import DRAWN_PAIRS, drawing
from spectrata.report.encode import numbers, packed
from spectrata.report.run import collapse_levels, run_map
from spectrata.results.schema import View, view
from spectrata.stats.describe.spectrum import merge_eigenspaces
from spectrata.stats.findings import LEVEL, VERDICTS, Finding
from spectrata.stats.findings.finding import by_side, correction, footnote
from spectrata.stats.findings.sentences import DIVIDE, SHARES, column_sentences, hops, scale_lines
from spectrata.stats.findings.watched import giving_signal, last_scores
from spectrata.stats.verbs.profile import Profile
from spectrata.stats.verbs.reading import Column

LISTED = 20  # columns of the ranking on the first screen
ROWS = 40  # rows of a result whose spectra a page holds
SMALL = 500  # nodes up to which a result of several algorithms is held for all rows
NUMBERS = ("value", "chance_low", "chance_high", "p", "p_family", "value_given", "p_given", "p_family_given")
# Verdicts on layers of a model, the gravest first.
SAID = {
    "not_finite": "is not finite",
    "dead": "is dead",
    "collapsed": "has collapsed",
    "training": "is not judged",
    "not_collapsed": "has not collapsed",
}
WEIGHTS_BEYOND = {
    "bottleneck": "the smallest edge weight on its best shortest path",
    "product": "the product of the edge weights on its best shortest path",
    "unit": "1",
}
RANKED = ("r", "p", "q", "r_given", "p_given", "q_given", "effect")


def payload(found: Profile, title: str, name: str, pos: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data of the first screen, and those that the page unpacks later."""
    graph, has_spectra = found.strat.graph, found.result is not None and "magnitude" in found.result
    result = view(found.result) if has_spectra else None
    cells = [_cell(found, column, time, name) for column, time in _places(found, result)]
    first = len(cells) - 1 if found.ranking is None else 0  # the last snapshot or layer, the first of a ranking
    rows = _rows(found, result)
    run = run_map(found.run)
    page = {
        "title": title,
        "name": name,
        "headline": _headline(found, name, cells[first]["body"] if cells else None),
        "facts": [*([] if title.startswith("Graph of ") else [title]), *_facts(found)],
        "status": [one.text for one in found.findings if one.kind in VERDICTS],
        "notes": _notes(found),
        "foot": _foot(found),
        "given": found.findings.given,
        "hops": [str(hop) for hop in found.hops],
        "cells": [cell["head"] for cell in cells],
        "first": first,
        "cell": cells[first]["body"] if cells else None,
        "ranking": _ranking(found),
        "drawing": drawing(found, pos),
        "run": run,
        "collapse": collapse_levels(found.result) if run is not None and found.result is not None else None,
        "rows": "column" if found.ranking is not None else _row_word(found),
        "made": _made(found, result),
    }
    rest = {
        "cells": [cell["body"] for cell in cells],
        "details": [cell["details"] for cell in cells],
        "names": [str(one) for one in graph.names],
        "degrees": packed(np.bincount(graph.edges.ravel(), minlength=graph.n_nodes), "i4"),
        "result": rows,
        "strata": [[str(s.hop), s.n_edges, s.n_parts, s.n_singletons] for s in map(found.strat.strata.at, found.hops)],
    }
    return page, rest


# ---- one signal: a column at a snapshot


def _places(found: Profile, result: View | None) -> list[tuple[Column | None, int]]:
    """Columns and snapshots that can be chosen; the rows of a result without a signal."""
    if found.shown is None:
        return [(None, row) for row in range(min(ROWS, len(result.status[0])) if result is not None else 0)]
    times = range(len(found.shown.columns[0].values))
    return [(column, time) for column in found.shown.columns for time in times]


def _label(found: Profile, column: Column | None, time: int) -> str:
    if column is None:
        rows = None if found.result is None else view(found.result).rows
        return "" if rows is None else str(rows[time])
    parts = [str(column.name)] if found.ranking is not None else []
    snapshots = found.shown.snapshots if found.shown is not None else None
    return ", ".join([*parts, *([str(snapshots[time])] if snapshots is not None else [])])


def _cell(found: Profile, column: Column | None, time: int, name: str) -> dict[str, Any]:
    label = _label(found, column, time)
    if column is None or found.shown is None:
        lacking = (
            "" if found.result is None else giving_signal(found.result, "st.write_report(result, x)", "w.report(path)")
        )
        nothing: dict[str, Any] = {"headline": label, "cards": [], "paint": None, "local": None}
        nothing["lines"] = [f"Not tested: {lacking}"] if lacking else []
        return {"head": {"label": label, "column": ""}, "body": nothing, "details": {"tests": [], "spectra": None}}
    snapshot = None if found.shown.snapshots is None else found.shown.snapshots[time]
    tests = [one for one in found.findings if (one.column, one.snapshot) == (column.name, snapshot)]
    rows = {one.hop: one for one in tests if one.statistic == "r"}
    own = [replace(one, column=None, snapshot=None) for one in tests]
    lines = [" ".join(scale_lines(own, found.findings.given)), *(one.text for one in tests if one.kind == "dominated")]
    pairs = dict(zip(found.hops, found.shown.pairs(column), strict=True))
    body = {
        "headline": _answer(found, column, snapshot, label, name),
        "cards": [_card(found, rows.get(hop), pairs[hop], column) for hop in found.hops],
        "parts": [_parts(found, column, time, hop) for hop in found.hops],
        "lines": [line for line in lines if line],
        "paint": _paint(column, time, found.strat.graph.n_nodes, name or "value"),
        "local": _local(found, column, snapshot),
    }
    details = {
        "tests": [_test(one, found.findings.given) for one in tests if one.statistic],
        "spectra": _spectra(found, column, snapshot),
    }
    return {"head": {"label": label, "column": str(column.name)}, "body": body, "details": details}


def _card(found: Profile, one: Finding | None, pairs: Any, column: Column) -> dict[str, Any]:
    """The numbers of one hop."""
    facts: dict[str, Any] = {"pairs": len(pairs.ends), "remark": pairs.remark, "verdict": "not tested", "tone": ""}
    if column.kind == "labels" and len(pairs.ends):
        classes = column.values[0].argmax(axis=1)[pairs.nodes]
        same = (classes[pairs.ends[:, 0]] == classes[pairs.ends[:, 1]]) @ pairs.weights / pairs.weights.sum()
        facts["same"] = numbers(same)
    if one is None:
        return facts
    facts |= {"verdict": by_side(one.verdict, one.value), "near": one.near_level, "described": one.kind == "described"}
    facts["tone"] = one.verdict if one.verdict in ("alike", "unlike") else ""
    values = {"r": one.value, "low": one.chance_low, "high": one.chance_high, "p": one.p_family}
    values |= {"r_given": one.value_given, "p_given": one.p_family_given}
    return facts | {key: numbers(value) for key, value in values.items()}


def _parts(found: Profile, column: Column, time: int, hop: Any) -> dict[str, Any]:
    """How alike each drawn pair is, in steps of 1/100 of the mean variation; -128 where it is not known."""
    parts = found.pair_parts(column, time, hop, found.pairs(hop, DRAWN_PAIRS))
    return packed(np.where(np.isnan(parts), -128, np.clip(np.nan_to_num(parts) * 100, -127, 127)), "i1")


def _paint(column: Column, time: int, n: int, name: str) -> dict[str, Any]:
    """The colour of every node: its class, its number, or its place along the first principal axis."""
    values = column.values[time]  # of the nodes that have a value
    if column.kind == "labels":
        codes = np.full(n, -1)
        codes[column.rows] = values.argmax(axis=1)
        return {"kind": "class", "classes": [str(one) for one in column.classes], "values": packed(codes, "i2")}
    shown, known = np.full(n, np.nan), values if values.shape[1] == 1 else two_axes(values[None])[0][0]
    shown[column.rows] = known[:, 0]
    words = "first principal axis" if values.shape[1] > 2 else "first column"
    words = words if values.shape[1] > 1 else name if column.name is None else str(column.name)
    return {"kind": "value", "words": words, "values": packed(shown)}


def _local(found: Profile, column: Column, snapshot: Any) -> dict[str, Any] | None:
    """The part of every node in r at the first hop, and its word."""
    ds = found.local
    if ds is None:
        return None
    at: dict[str, Any] = {"hop": found.hops[0]}
    if "column" in ds.dims:
        if column.name not in ds["column"].values.tolist():
            return None
        at["column"] = column.name
    if "snapshot" in ds.dims:
        at["snapshot"] = snapshot
    one = ds.sel(at)
    words = sorted(set(one["verdict"].values.tolist()))
    codes = [words.index(word) for word in one["verdict"].values.tolist()]
    return {"words": words, "codes": packed(codes, "i1")} | {name: packed(one[name].values) for name in ("r", "q")}


def _test(one: Finding, given: str) -> list[Any]:
    """A row of all tests. A share below chance has no kind of its own, and is no "chance"."""
    word = by_side({"coarse": DIVIDE}.get(one.verdict, one.verdict), one.value)
    if one.statistic in SHARES and one.kind == "chance" and one.p_family <= LEVEL:
        word = SHARES[one.statistic][2].removeprefix("is ") + " than chance"
        word += f", not beyond {given}" if given and not one.beyond_degree else ""
    return [one.statistic, str(one.hop), word, *(numbers(getattr(one, name)) for name in NUMBERS)]


def _spectra(found: Profile, column: Column, snapshot: Any) -> list[dict[str, Any]] | None:
    """Shares of energy at each hop with their chance interval, by eigenspace or in bins."""
    ds = found.chance
    if ds is None:
        return None
    at = {"algorithm": "gft"} | ({"snapshot": snapshot} if "snapshot" in ds.dims else {})
    if "column" in ds.dims:
        if column.name not in ds["column"].values.tolist():
            return None
        at["column"] = column.name
    out = []
    for hop in found.hops:
        one = ds.sel(at | {"hop": hop})
        share = one["share"].values
        kept = np.isfinite(share)
        names = ("band_lower", "band_upper") if "band_lower" in one else ("eigenvalue", "eigenvalue")
        arrays = {"lower": one[names[0]], "upper": one[names[1]], "share": one["share"]}
        arrays |= {"low": one["chance_low"], "high": one["chance_high"], "chance": one["chance"]}
        out.append({key: packed(array.values[kept]) for key, array in arrays.items()})
    return out


# ---- words of the page


def _answer(found: Profile, column: Column, snapshot: Any, label: str, name: str) -> str:
    """The headline of one signal: its name, how its vectors are read, the snapshot, and what was found."""
    if found.shown is not None and found.shown.is_watched:  # widths of layers differ
        return f"{label}: r without p, because message passing makes neighbours alike"
    if column.kind == "directions":
        name = f"{name or 'signal'} (directions of {column.values.shape[2]} numbers)"
    time = f"{_row_word(found)} {label}" if label and found.ranking is None else ""
    subject = label if found.ranking is not None else ", ".join(part for part in (name, time) if part)
    return found.headline(subject, column.name, snapshot)


def _headline(found: Profile, name: str, first: dict[str, Any] | None) -> str:
    """The answer in words: of several columns how many, of a watched run its verdicts, else that of the first cell."""
    judged = sorted((one for one in found.findings if one.kind in SAID), key=lambda one: list(SAID).index(one.kind))
    if judged:
        return f"{name or 'model'}: {judged[0].snapshot} {SAID[judged[0].kind]}"
    if found.ranking is not None:
        table = found.ranking
        clear = {word: int((table["verdict"] == word).sum()) for word in ("alike", "unlike")}
        words = [f"neighbours are {word} in {number:,}" for word, number in clear.items() if number]
        if not words:
            beyond = "alike or unlike beyond chance and degree"
            return f"In none of {count(len(table), 'column')} neighbours are shown to be {beyond}"
        return f"{' and '.join(words)} of {count(len(table), 'column')}".capitalize()
    return first["headline"] if found.shown is not None and first else f"Spectra of {name or 'a signal'}"


def _facts(found: Profile) -> list[str]:
    """Graph, signal and tests, a few words each."""
    graph, tests = found.strat.graph, found.findings.tests
    facts = [f"{count(graph.n_nodes, 'node')}, {count(graph.n_edges, 'edge')}"]
    parts = found.strat.strata.at(found.hops[0]).n_parts if found.hops[0] == 1 else 1
    facts += [f"{parts:,} connected parts"] if parts > 1 else []
    rule = found.strat.weights
    facts += [f"edge weights (a pair beyond one hop has {WEIGHTS_BEYOND[rule]}: {rule})"] if rule else []
    if found.reading is not None:
        facts += [] if found.reading is not None and found.reading.is_watched else [_signal_words(found)]
        if found.reading.snapshots is not None and found.ranking is None:
            facts.append(count(len(found.reading.snapshots), _row_word(found)) + " shown")
    for name, values in ({} if found.run is None else last_scores(found.run)).items():
        facts.append(f"{name} {values:.3g}")
    if tests:
        given = f", and given {found.findings.given}" if found.findings.given else ""
        facts.append(
            f"each hop tested against random orders of the nodes{given}; p: {correction(found.findings, tests)}"
        )
    return facts


def _signal_words(found: Profile) -> str:
    assert found.reading is not None
    column, total = found.reading.columns[0], len(found.reading.columns)
    if found.ranking is not None:
        return f"{count(total, 'column')}, each a signal of its own"
    width = column.values.shape[2]
    if column.kind == "labels":
        missing = found.strat.graph.n_nodes - len(column.rows)
        shown = ", ".join(str(one) for one in column.classes[:4]) + (", ..." if len(column.classes) > 4 else "")
        rest = f", missing for {count(missing, 'node')}" if missing else ""
        return f"{len(column.classes)} labels ({shown}{rest}); r is adjusted homophily"
    return {"numbers": "one number per node", "vectors": f"{width} numbers per node, differences are compared"}.get(
        column.kind, f"directions of {width} numbers per node"
    )


def _foot(found: Profile) -> str:
    """What the words of the tests mean, and what "given" accounts for: the first line where there is a second test."""
    known = found.findings
    return " ".join([footnote(known, known.given, known.tests), *known.lines[: bool(known.given)]])


def _row_word(found: Profile) -> str:
    kind = "" if found.reading is None else found.reading.snapshot_kind
    return {"layers": "layer", "epochs": "epoch"}.get(kind, "snapshot")


def _notes(found: Profile) -> list[str]:
    """How the signal was read, and what was left out."""
    scale = scale_lines(found.findings, found.findings.given)
    said = {*scale, *(one.text for one in found.findings)}
    rest = [line for line in found.findings.lines[bool(found.findings.given) :] if line not in said]
    notes = [*found.findings.notes, *rest]
    diameter, last = found.strat.diameter, found.hops[-1]
    if isinstance(last, int) and diameter is not None and diameter > last:
        is_first = len(found.hops) == last > 1
        words = f"Hops up to {last}" if is_first else hops(found.hops).capitalize()
        words += f" of {diameter} {'were' if len(found.hops) > 1 else 'was'} read"
        notes.append(f"{words}; {argument('hops', diameter)} reads all.")
    if found.ranking is not None:
        notes += column_sentences(found.ranking, found.given)
    return list(dict.fromkeys(notes))


def _ranking(found: Profile) -> dict[str, Any] | None:
    """The first columns of the ranking with the verdicts of their hops."""
    table = found.ranking
    if table is None:
        return None
    rows = table.head(LISTED)
    snapshot = None if found.reading is None or found.reading.snapshots is None else found.reading.snapshots[-1]
    said: dict[tuple[Any, Any], tuple[str, str]] = {}
    for one in found.findings:
        if one.statistic == "r" and one.snapshot == snapshot:
            said[one.column, one.hop] = by_side(one.verdict, one.value), _mark(one)
    cells = [[said.get((name, hop), ("not tested", "")) for hop in found.hops] for name in rows["column"]]
    return {
        "column": [str(name) for name in rows["column"]],
        "verdict": [found.verdict_of(name) for name in rows["column"]],
        "tone": [
            word if (word := found.told[name][0].verdict) in ("alike", "unlike") else "" for name in rows["column"]
        ],
        "hops": [[word for word, _ in row] for row in cells],
        "marks": [[mark for _, mark in row] for row in cells],
        "scale": [
            None if one is None or one != one else int(one)
            for one in rows["scale"].astype(object).where(rows["scale"].notna(), None)
        ],
        "total": len(table),
    } | {name: numbers(rows[name].tolist()) for name in RANKED}


def _mark(one: Finding) -> str:
    """The side of chance on which r lies; "open" where that is not shown beyond the covariates."""
    side = one.kind if one.kind in ("alike", "unlike") else ""
    return side if not side or one.verdict == side else f"{side} open"


def _made(found: Profile, result: View | None) -> list[list[str]]:
    """How the page was made, as names and values."""
    from spectrata._version import __version__

    graph = found.strat.graph
    rows = [["spectrata", __version__], ["seed", str(found.seed)], ["graph", f"sha256 {graph.digest[:16]}"]]
    if found.reading is not None:
        rows.append(["metric", found.reading.metric])
    rows.append(["Laplacian of r and of the spectra", "random walk"])
    if result is not None:
        rows += [["given result", f"{', '.join(result.algorithms)}; {result.operator_name}; metric {result.metric}"]]
        rows += [["options", str(result.ds.attrs.get("options", ""))]]
    return rows


# ---- a result that was given


def _rows(found: Profile, result: View | None) -> dict[str, Any] | None:
    """Magnitudes of a given result by eigenspace, for the rows that can be chosen."""
    if result is None or result.is_bands:
        return None
    merged = result if result.is_merged else view(merge_eigenspaces(result.ds))
    labels = [""] if merged.rows is None else [str(row) for row in merged.rows]
    wanted = [_label(found, column, time) for column, time in _places(found, result)]
    rows = [labels.index(label) if label in labels else 0 for label in wanted]
    return {
        "algorithms": list(merged.algorithms),
        "operator": merged.operator_name,
        "hops": [str(hop) for hop in merged.hops],
        "eigenvalue": packed(merged.eigenvalue),
        "magnitude": packed(merged.magnitude[:, rows]),  # (A, rows, H, N)
        "status": [f"{a}, hop {h}: {s}" for a, h, s in _statuses(merged)],
    }


def _statuses(merged: View) -> list[tuple[str, str, str]]:
    at = np.argwhere(merged.status != "ok").tolist()
    found = [(merged.algorithms[a], str(merged.hops[h]), str(merged.status[a, r, h])) for a, r, h in at]
    return list(dict.fromkeys(found))[:20]
