"""The study's tables as they are published, and the page of the docs that shows two of them between markers.

A marker pair is ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; :func:`fill` replaces what stands between them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.studies.models.protocol import CHOOSE, REPORT
from reproduction.studies.models.records import GROUPS, POSITIONS
from reproduction.studies.tables import markdown
from reproduction.words import MEASURES, SENTENCES, TRAINING
from spectrata.errors import ResultError

HALVES = {CHOOSE: "choosing", REPORT: "held-out"}


def words(name: str) -> str:
    if name in MEASURES:
        return MEASURES[name]
    kind, _, hop = name.partition("_")
    kinds = {"contrast": "contrast", "low": "lowest quarter of frequencies", "high": "highest quarter of frequencies"}
    return f"{kinds[kind]} at hop {hop}"


def percent(rates: Mapping[str, Any]) -> str:
    """A rate with its interval: ``93 % (88-97)``."""
    if rates["rate"] is None or not rates["models"]:
        return "none"
    low, high = (100 * rates[name] for name in ("low", "high"))
    return f"{100 * rates['rate']:.0f} % ({low:.0f}-{high:.0f})"


def level_text(level: float | None) -> str:
    return "no level" if level is None or level != level else f"{level:g}"


def _table(rows: Sequence[Mapping[str, Any]], digits: int = 2) -> pd.DataFrame:
    return pd.DataFrame(rows).map(lambda cell: f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell))


def _levelled(levels: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, str]]:
    """Every position and measure with its rates and its level; "either" flags by the levels of both positions."""
    for position in (*POSITIONS, "either"):
        for name, found in levels["positions"][position].items():
            yield position, name, found, "each" if position == "either" else level_text(found["level"])


def verdict_table(levels: Mapping[str, Any]) -> str:
    """The levels of the verdict and their rates on the held-out half, in Markdown."""
    titles = {name: name for name in GROUPS} | {name: f"failed, {title}" for name, title in TRAINING.items()}
    rows = [
        {"place": position, "level": level} | {title: percent(found[REPORT][name]) for name, title in titles.items()}
        for position, measure, found, level in _levelled(levels)
        if measure == "off_zero"
    ]
    return markdown(pd.DataFrame(rows))


def rates_table(levels: Mapping[str, Any]) -> pd.DataFrame:
    shown = [(half, group) for half in (CHOOSE, REPORT) for group in ("failed", "good")] + [(REPORT, "middle")]
    rows = []
    for position, name, found, level in _levelled(levels):
        row = {"position": position, "measure": words(name), "flagged below": level.replace("each", "each level")}
        rows.append(row | {f"{g} flagged, {HALVES[h]} half": percent(found[h][g]) for h, g in shown})
    return _table(rows)


def fitting_table(levels: Mapping[str, Any]) -> pd.DataFrame:
    titles = {group: f"failed, {title}: flagged" for group, title in TRAINING.items()} | {"good": "good: flagged"}
    rows = []
    for position, name, found, _ in _levelled(levels):
        rates = {title: found[REPORT][group] for group, title in titles.items()}
        told = {title: f"{percent(one)} of {one['models']}" for title, one in rates.items()}
        rows.append({"position": position, "measure": words(name)} | told)
    return _table(rows)


def by_graph_table(levels: Mapping[str, Any], measure: str) -> pd.DataFrame:
    rows = []
    for graph, facts in levels["graphs"].items():
        row = {"graph": graph, "half": HALVES[facts["half"]]}
        for position in POSITIONS:
            counts = levels["positions"][position][measure]["by_graph"].get(graph, {})
            cells = {group: f"{one['flagged']} of {one['models']}" for group, one in counts.items()}
            row |= {f"{position}: {group}": cells.get(group, "") for group in GROUPS}
        rows.append(row)
    return _table(sorted(rows, key=lambda row: row["half"]))


def graphs_table(graphs: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for name, facts in graphs.iterrows():
        here = models[(models["graph"] == name) & (models["trained"] == "messages")]
        row = {"graph": name, "half": HALVES[facts["half"]], "nodes": facts["nodes"], "edges": facts["edges"]}
        row |= {"classes": facts["classes"], "baseline": float(facts["baseline"]), "best": float(facts["best"])}
        row |= {"best model": facts["best_model"], "enters": "yes" if facts["enters"] else "no"}
        rows.append(row | {group: int((here["group"] == group).sum()) for group in GROUPS})
    return _table(rows, 3)


def areas_table(areas: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    rows = []
    for name in names:
        row: dict[str, Any] = {"measure": words(name)}
        for position in POSITIONS:
            found = areas[(areas["measure"] == name) & (areas["position"] == position)].iloc[0]
            row[position] = f"{found['area']:.2f} ({found['low']:.2f}-{found['high']:.2f})"
            row[f"{position}, held-out half"] = float(found[REPORT])
            row[f"{position}, lowest of any graph"] = float(found["smallest_by_graph"])
            row[f"{position}, failed in training too"] = float(found["untrained"])
        rows.append(row)
    return _table(rows)


def spearman_table(found: pd.DataFrame, position: str, which: str, names: tuple[str, ...]) -> pd.DataFrame:
    chosen = found[(found["position"] == position) & (found["models"] == which)]
    rows: list[dict[str, Any]] = []
    for graph, here in chosen.groupby("graph", sort=False):
        table = here.set_index("measure")
        cells = {words(n): "{rho:.2f} ({low:.2f} to {high:.2f})".format_map(table.loc[n]) for n in names}
        rows.append({"graph": graph, "models": int(here["count"].max())} | cells)
    mean = chosen.groupby("measure")["rho"].mean().reindex(names)
    rows.append({"graph": "mean", "models": ""} | {words(name): f"{mean[name]:.2f}" for name in names})
    return _table(rows)


def family_table(found: pd.DataFrame, position: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Rank correlations within an architecture: mean over graphs, with the lowest and highest graph."""
    rows = []
    for architecture, here in found[found["position"] == position].groupby("architecture", sort=False):
        rho = here.groupby("measure")["rho"].agg(["mean", "min", "max"])
        cells = {words(n): "{mean:.2f} ({min:.2f} to {max:.2f})".format_map(rho.loc[n]) for n in names}
        rows.append({"architecture": architecture} | cells)
    return _table(rows)


def controls_table(controls: pd.DataFrame) -> pd.DataFrame:
    titles = {"without_messages_too": "collapsed with self-loops alone too", "only_with_messages": "only with messages"}
    titles["good_without_messages"] = "good, below the level with self-loops alone"
    return controls.assign(measure=controls["measure"].map(words)).rename(columns=titles).astype(str)


def failures_table(failures: pd.DataFrame) -> pd.DataFrame:
    depths = sorted(failures["depth"].unique())
    rows = []
    for (trained, architecture), here in failures.groupby(["trained", "architecture"], sort=False):
        row = {"trained with": "self-loops" if architecture == "mlp" else trained, "architecture": architecture}
        share = here.set_index("depth")["failed"]
        rows.append(row | {f"depth {d}": f"{100 * share[d]:.0f} %" if d in share else "" for d in depths})
    return _table(rows)


def summary(levels: Mapping[str, Any], found: Mapping[str, pd.DataFrame], judged: Sequence[str]) -> str:
    """The findings as a list of sentences, every number from the tables."""
    entered = sum(facts["enters"] for facts in levels["graphs"].values())
    lines = [SENTENCES["models"].format_map({**levels, "graphs": len(levels["graphs"]), "entered": entered})]
    lines += [_detection(found["areas"], position, judged) for position in POSITIONS]
    told = [_told(levels["positions"][position][name], position, name) for position in POSITIONS for name in VERDICTS]
    lines += [SENTENCES["flagged" if one["level"] != "no level" else "no_level"].format_map(one) for one in told]
    lines += [SENTENCES["training"].format_map(one) for one in told]
    for position in POSITIONS:
        row = found["controls"].set_index(["position", "measure"]).loc[(position, "off_zero")]
        rarely = row["without_messages_too"] > row["only_with_messages"]
        lines.append(SENTENCES["messages_rarely" if rarely else "messages"].format_map({**row, "position": position}))
    lines.append(_ranking(found["correlations"], judged))
    return "\n".join(f"- {line}" for line in lines)


VERDICTS = ("off_zero", "directions_effective_rank")  # in the list of sentences


def _detection(areas: pd.DataFrame, position: str, judged: Sequence[str]) -> str:
    here = areas[(areas["position"] == position) & areas["measure"].isin(judged)].set_index("measure")
    best = here["area"].sort_values(ascending=False).index[:3]
    parts = [f"{words(name)} {here['area'][name]:.2f}" for name in (*best, "off_zero", "mad", "rayleigh_normalized")]
    return f"Failed against good, area under the ROC curve, {position}: {', '.join(dict.fromkeys(parts))}."


def _told(found: Mapping[str, Any], position: str, name: str) -> dict[str, Any]:
    """What the sentences say of a measure: its level, and the rates on the held-out half with their counts."""
    rates = found[REPORT]
    none = not rates["failed"]["models"] or not rates["good"]["models"]
    told = {"measure": words(name), "position": position, "level": "no level" if none else level_text(found["level"])}
    met = not none and rates["failed"]["rate"] >= 0.9 and rates["good"]["rate"] <= 0.05
    told |= {f"n_{group}": one["models"] for group, one in rates.items()} | {"met": "met" if met else "not met"}
    return told | {group: percent(one) for group, one in rates.items()}


def _ranking(found: pd.DataFrame, judged: Sequence[str]) -> str:
    parts = []
    for which, title in (("all", "all models"), ("fit", "models that fit their training data")):
        chosen = found[(found["models"] == which) & found["measure"].isin(judged)]
        means = chosen.groupby(["position", "measure"])["rho"].agg(["mean", "min"])
        if len(means):
            position, name = means["mean"].idxmax()
            mean, low = means.loc[(position, name)]
            parts.append(f"{title}: {words(name)} ({position}), mean {mean:.2f} over graphs, {low:.2f} on the lowest")
    return f"Highest rank correlation of any measure with the test score. {'; '.join(parts)}."


def fill(text: str, tables: Mapping[str, str]) -> str:
    """Put tables between their markers."""
    wanted = set(re.findall(r"<!-- begin (\S+) -->", text))
    if missing := sorted(wanted - set(tables)):
        raise ResultError(f"The page asks for tables that the study does not write: {', '.join(missing)}.")
    for name in wanted:
        start, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        head, _, rest = text.partition(start)
        _, found, tail = rest.partition(end)
        if not found:
            raise ResultError(f"The page has {start} without {end}.")
        text = f"{head}{start}\n\n{tables[name].strip()}\n\n{end}{tail}"
    return text
