"""The study's tables as they are published, and the page of the docs that shows two of them between markers.

A marker pair is ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; :func:`fill` replaces what stands between them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reproduction.studies.models.protocol import CHOOSE, REPORT
from reproduction.studies.models.records import LAST_HIDDEN, OUTPUTS
from reproduction.studies.tables import markdown
from reproduction.words import MEASURES, TRAINING
from spectrata.errors import ResultError

HALVES = {CHOOSE: "choosing", REPORT: "held-out"}


def words(name: str) -> str:
    """A measure as the tables write it."""
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
    """A level; "no level" where none keeps the rule."""
    return "no level" if level is None or level != level else f"{level:g}"


def _table(rows: Sequence[Mapping[str, Any]], digits: int = 2) -> pd.DataFrame:
    """Rows as text, floats rounded."""
    return pd.DataFrame(rows).map(lambda cell: f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell))


def verdict_table(levels: Mapping[str, Any]) -> str:
    """The levels of the verdict and their rates on the held-out half, in Markdown."""
    rows = []
    for position in (LAST_HIDDEN, OUTPUTS, "either"):
        found = levels["positions"][position]["off_zero"]
        row = {"place": position, "level": "each" if position == "either" else level_text(found["level"])}
        row |= {group: percent(found[REPORT][group]) for group in ("failed", "middle", "good")}
        rows.append(row | {f"failed, {title}": percent(found[REPORT][group]) for group, title in TRAINING.items()})
    return markdown(pd.DataFrame(rows))


def rates_table(levels: Mapping[str, Any]) -> pd.DataFrame:
    """Levels and rates of the levels' file, both halves."""
    rows = []
    for position in (LAST_HIDDEN, OUTPUTS, "either"):
        for name, found in levels["positions"][position].items():
            row = {"position": position, "measure": words(name)}
            row["flagged below"] = "each level" if position == "either" else level_text(found["level"])
            for half, title in ((CHOOSE, "choosing half"), (REPORT, "held-out half")):
                row[f"failed flagged, {title}"] = percent(found[half]["failed"])
                row[f"good flagged, {title}"] = percent(found[half]["good"])
            rows.append(row | {"middle flagged, held-out half": percent(found[REPORT]["middle"])})
    return _table(rows)


def fitting_table(levels: Mapping[str, Any]) -> pd.DataFrame:
    """Failed models of the held-out half, by their progress on the training nodes."""
    rows = []
    for position in (LAST_HIDDEN, OUTPUTS, "either"):
        for name, found in levels["positions"][position].items():
            row = {"position": position, "measure": words(name)}
            for group, title in TRAINING.items():
                rates = found[REPORT][group]
                row[f"failed, {title}: flagged"] = f"{percent(rates)} of {rates['models']}"
            rows.append(
                row | {"good: flagged": f"{percent(found[REPORT]['good'])} of {found[REPORT]['good']['models']}"}
            )
    return _table(rows)


def by_graph_table(levels: Mapping[str, Any], measure: str) -> pd.DataFrame:
    """Flagged models of every graph for one measure, at both positions."""
    rows = []
    for graph, facts in levels["graphs"].items():
        row = {"graph": graph, "half": HALVES[facts["half"]]}
        for position in (LAST_HIDDEN, OUTPUTS):
            counts = levels["positions"][position][measure]["by_graph"].get(graph)
            for group in ("failed", "middle", "good"):
                cell = "" if counts is None else f"{counts[group]['flagged']} of {counts[group]['models']}"
                row[f"{position}: {group}"] = cell
        rows.append(row)
    return _table(sorted(rows, key=lambda row: row["half"]))


def graphs_table(graphs: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """The graphs, their baselines and best scores, and the groups."""
    rows = []
    for name, facts in graphs.iterrows():
        here = models[(models["graph"] == name) & (models["trained"] == "messages")]
        row = {"graph": name, "half": HALVES[facts["half"]], "nodes": facts["nodes"], "edges": facts["edges"]}
        row |= {"classes": facts["classes"], "baseline": float(facts["baseline"]), "best": float(facts["best"])}
        row |= {"best model": facts["best_model"], "enters": "yes" if facts["enters"] else "no"}
        rows.append(row | {group: int((here["group"] == group).sum()) for group in ("failed", "middle", "good")})
    return _table(rows, 3)


def areas_table(areas: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Areas under the ROC curve with intervals, one row per measure."""
    rows = []
    for name in names:
        row: dict[str, Any] = {"measure": words(name)}
        for position in (LAST_HIDDEN, OUTPUTS):
            found = areas[(areas["measure"] == name) & (areas["position"] == position)].iloc[0]
            row[position] = f"{found['area']:.2f} ({found['low']:.2f}-{found['high']:.2f})"
            row[f"{position}, held-out half"] = float(found[REPORT])
            row[f"{position}, lowest of any graph"] = float(found["smallest_by_graph"])
            row[f"{position}, failed in training too"] = float(found["untrained"])
        rows.append(row)
    return _table(rows)


def spearman_table(found: pd.DataFrame, position: str, which: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Rank correlations with the test score by graph, and their mean over graphs."""
    chosen = found[(found["position"] == position) & (found["models"] == which)]
    rows = []
    for graph in chosen["graph"].unique():
        here = chosen[chosen["graph"] == graph].set_index("measure")
        row: dict[str, Any] = {"graph": graph, "models": int(here["count"].max())}
        for name in names:
            found_here = here.loc[name]
            row[words(name)] = f"{found_here['rho']:.2f} ({found_here['low']:.2f} to {found_here['high']:.2f})"
        rows.append(row)
    mean = chosen.groupby("measure")["rho"].mean().reindex(names)
    rows.append({"graph": "mean", "models": ""} | {words(name): f"{mean[name]:.2f}" for name in names})
    return _table(rows)


def family_table(found: pd.DataFrame, position: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Rank correlations within an architecture: mean over graphs, with the lowest and highest graph."""
    rows = []
    chosen = found[found["position"] == position]
    for architecture in chosen["architecture"].unique():
        row: dict[str, Any] = {"architecture": architecture}
        for name in names:
            rho = chosen[(chosen["architecture"] == architecture) & (chosen["measure"] == name)]["rho"]
            row[words(name)] = f"{rho.mean():.2f} ({rho.min():.2f} to {rho.max():.2f})"
        rows.append(row)
    return _table(rows)


def controls_table(controls: pd.DataFrame) -> pd.DataFrame:
    """Failed networks that have collapsed, and what self-loops alone give."""
    titles = {"without_messages_too": "collapsed with self-loops alone too", "only_with_messages": "only with messages"}
    titles["good_without_messages"] = "good, below the level with self-loops alone"
    return controls.assign(measure=controls["measure"].map(words)).rename(columns=titles).astype(str)


def failures_table(failures: pd.DataFrame) -> pd.DataFrame:
    """Share of failed models by depth, trained with messages and without."""
    rows = []
    for trained, architecture in dict.fromkeys(zip(failures["trained"], failures["architecture"], strict=True)):
        here = failures[(failures["trained"] == trained) & (failures["architecture"] == architecture)]
        row = {"trained with": "self-loops" if architecture == "mlp" else trained, "architecture": architecture}
        depths = sorted(failures["depth"].unique())
        share = here.set_index("depth")["failed"]
        rows.append(row | {f"depth {d}": f"{100 * share[d]:.0f} %" if d in share else "" for d in depths})
    return _table(rows)


def summary(levels: Mapping[str, Any], found: Mapping[str, pd.DataFrame], judged: Sequence[str]) -> str:
    """The findings as a list of sentences, every number from the tables."""
    groups, graphs = levels["groups"], levels["graphs"]
    entered = sum(facts["enters"] for facts in graphs.values())
    lines = [
        f"{levels['trained_models']:,} models were trained on {len(graphs)} graphs. {entered} graphs enter, with "
        f"{levels['models']:,} models: {groups['failed']:,} failed, {groups['middle']:,} are in the middle group, "
        f"{groups['good']:,} are good. The other models are controls trained without messages."
    ]
    lines += [_detection(found["areas"], position, judged) for position in (LAST_HIDDEN, OUTPUTS)]
    lines += [_flagged(levels, position, name) for position in (LAST_HIDDEN, OUTPUTS) for name in VERDICTS]
    lines += [_training(levels, position, name) for position in (LAST_HIDDEN, OUTPUTS) for name in VERDICTS]
    for position in (LAST_HIDDEN, OUTPUTS):
        row = found["controls"].set_index(["position", "measure"]).loc[(position, "off_zero")]
        lines.append(
            f"Message passing is rarely the cause: of {row['failed']} failed networks with messages {row['collapsed']} "
            f"have collapsed ({position}, off_zero). With the same weights and self-loops as the only edges "
            f"{row['without_messages_too']} of these have collapsed too, {row['only_with_messages']} have not."
            if row["without_messages_too"] > row["only_with_messages"]
            else f"Of {row['failed']} failed networks with messages {row['collapsed']} have collapsed ({position}, "
            f"off_zero), {row['only_with_messages']} of them only with messages."
        )
    lines.append(_ranking(found["correlations"], judged))
    return "\n".join(f"- {line}" for line in lines)


VERDICTS = ("off_zero", "directions_effective_rank")  # in the list of sentences


def _detection(areas: pd.DataFrame, position: str, judged: Sequence[str]) -> str:
    here = areas[(areas["position"] == position) & areas["measure"].isin(judged)].set_index("measure")
    best = here["area"].sort_values(ascending=False).index[:3]
    parts = [f"{words(name)} {here['area'][name]:.2f}" for name in (*best, "off_zero", "mad", "rayleigh_normalized")]
    return f"Failed against good, area under the ROC curve, {position}: {', '.join(dict.fromkeys(parts))}."


def _flagged(levels: Mapping[str, Any], position: str, name: str) -> str:
    found = levels["positions"][position][name]
    failed, good = found[REPORT]["failed"], found[REPORT]["good"]
    if not failed["models"] or not good["models"] or level_text(found["level"]) == "no level":
        return f"{words(name)}, {position}: there is no level."
    met = failed["rate"] >= 0.9 and good["rate"] <= 0.05
    return (
        f"On graphs not used for choosing, {words(name)} below {level_text(found['level'])} ({position}) flags "
        f"{percent(failed)} of {failed['models']} failed and {percent(good)} of {good['models']} good models. "
        f"The aim of 90 % and 5 % is {'met' if met else 'not met'}."
    )


def _training(levels: Mapping[str, Any], position: str, name: str) -> str:
    found = levels["positions"][position][name][REPORT]
    none, part, fit = (found[group] for group in TRAINING)
    return (
        f"Split by training nodes (added after the run): {words(name)} ({position}) flags {percent(none)} of the "
        f"{none['models']} failed models that failed on their "
        f"training nodes too, {percent(part)} of the {part['models']} that learned part of them, and {percent(fit)} of "
        f"the {fit['models']} that fit them."
    )


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
    """Put tables between their markers.

    Examples
    --------
    >>> print(fill("<!-- begin a -->\\n<!-- end a -->", {"a": "new"}))
    <!-- begin a -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- end a -->
    """
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


def between(text: str, name: str) -> str:
    """What stands between the markers of a table."""
    return text.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0].strip()
