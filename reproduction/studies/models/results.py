"""The study's tables: areas under the ROC curve, levels with rates, rank correlations, controls, hops and bands."""

import json
import re
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from reproduction.studies.models import judging, protocol
from reproduction.studies.models.protocol import CHOOSE, HOPS, MESSAGES, REPORT, SELF_LOOPS
from reproduction.studies.models.records import GROUPS, LAST_HIDDEN, OUTPUTS, POSITIONS, Models
from reproduction.words import MEASURES

JUDGED = tuple(MEASURES)
HOPWISE = tuple(f"{name}_{hop}" for name in ("contrast", "low", "high") for hop in HOPS)
SHOWN = ("off_zero", "directions_effective_rank", "effective_rank", "directions_stable_rank", "mad", "contrast_4")
LEVELLED = ("off_zero", "directions_effective_rank", "effective_rank", "effective_rank_per_class", "mad")
PRIMARY = "off_zero"


def areas(models: Models) -> pd.DataFrame:
    """Area under the ROC curve, failed against good, of every measure and position: all graphs, and by halves."""
    rows = []
    table = models.table[models.main]
    weights = judging.cluster_weights(table["cluster"].to_numpy(), table["graph"].to_numpy(), models.seed)
    failed, good = (table["group"] == "failed").to_numpy(), (table["group"] == "good").to_numpy()
    untrained = failed & by_training(table)["untrained"]
    halves = {half: (table["half"] == half).to_numpy() for half in (CHOOSE, REPORT)}
    graphs = [(table["graph"] == graph).to_numpy() for graph in table["graph"].unique()]
    graphs = [here for here in graphs if min(np.sum(failed & here), np.sum(good & here)) >= 5]
    for position in POSITIONS:
        values = models.values(position)[models.main]
        for name in (*JUDGED, *HOPWISE):
            x = values[name].to_numpy()
            draws = [judging.roc_area(x[failed], x[good], w[failed], w[good]) for w in weights]
            low, high = judging.interval(np.array(draws))
            row = {"position": position, "measure": name, "area": judging.roc_area(x[failed], x[good])}
            row |= {"low": low, "high": high, "untrained": judging.roc_area(x[untrained], x[good])}
            row |= {half: judging.roc_area(x[failed & here], x[good & here]) for half, here in halves.items()}
            by_graph = [judging.roc_area(x[failed & here], x[good & here]) for here in graphs]
            row |= {"smallest_by_graph": min(by_graph, default=np.nan), "graphs": len(by_graph)}
            rows.append(row | {"failed": int(np.sum(~np.isnan(x[failed]))), "good": int(np.sum(~np.isnan(x[good])))})
    return pd.DataFrame(rows)


def by_training(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Masks by progress on the training nodes: "untrained" below .10, "fitting" above .90, "partly" between."""
    progress, fits = table["train_progress"].to_numpy(), table["fits"].to_numpy()
    untrained = progress < protocol.FAILED
    return {"untrained": untrained, "partly": ~untrained & ~fits, "fitting": fits}


def levels(models: Models) -> dict[str, Any]:
    """Levels chosen on one half, with the rates of both halves and of every graph of the other: the levels' file."""
    table = models.table[models.main]
    weights = judging.cluster_weights(table["cluster"].to_numpy(), table["graph"].to_numpy(), models.seed)
    at = {position: models.values(position)[models.main] for position in POSITIONS}
    choosing, graph = (table["half"] == CHOOSE).to_numpy(), table["graph"].to_numpy()
    of = {group: (table["group"] == group).to_numpy() for group in GROUPS}
    of |= {f"failed_{name}": of["failed"] & mask for name, mask in by_training(table).items()}
    found: dict[str, Any] = {position: {} for position in POSITIONS}
    flags: dict[tuple[str, str], np.ndarray] = {}
    for position, name in product(POSITIONS, LEVELLED):
        x = at[position][name].to_numpy()
        good = choosing & of["good"]
        level = judging.choose_level(x[choosing & of["failed"]], x[good], graph[good])
        flags[position, name] = flagged = np.where(np.isnan(x), np.nan, x < level)
        rates = _rates(flagged, table, weights, of)
        found[position][name] = {"level": level, **rates, "by_graph": _by_graph(flagged, graph, of)}
    either = {name: np.fmax(flags[LAST_HIDDEN, name], flags[OUTPUTS, name]) for name in LEVELLED}
    found["either"] = {name: _rates(flagged, table, weights, of) for name, flagged in either.items()}
    return {
        "protocol": models.ds.attrs["protocol"],
        "protocol_digest": models.ds.attrs["protocol_digest"],
        "rules": {"failed": protocol.FAILED, "good": protocol.GOOD, "enters": protocol.ENTERS},
        "models": int(models.main.sum()),
        "trained_models": len(models.table),
        "groups": {group: int(mask.sum()) for group, mask in of.items()},
        "graphs": {
            name: {"half": row["half"], "enters": bool(row["enters"])}
            | {key: round(float(row[key]), 4) for key in ("baseline", "best")}
            for name, row in models.graphs.iterrows()
        },
        "positions": found,
    }


def _rates(flagged: np.ndarray, table: pd.DataFrame, weights: np.ndarray, of: dict[str, np.ndarray]) -> dict[str, Any]:
    has, half = ~np.isnan(flagged), table["half"].to_numpy()
    found: dict[str, Any] = {CHOOSE: {}, REPORT: {}}
    for (name, rates), (group, mask) in product(found.items(), of.items()):
        here = has & (half == name) & mask
        rate = judging.rate(flagged[here], weights[:, here])
        rates[group] = {key: None if value != value else round(value, 4) for key, value in rate.items()}
    return found


def _by_graph(flagged: np.ndarray, graph: np.ndarray, of: dict[str, np.ndarray]) -> dict[str, Any]:
    found: dict[str, Any] = {str(name): {} for name in dict.fromkeys(graph)}
    for (name, counts), group in product(found.items(), GROUPS):
        mask = ~np.isnan(flagged) & of[group] & (graph == name)
        counts[group] = {"models": int(mask.sum()), "flagged": int(flagged[mask].sum())}
    return found


def correlations(models: Models) -> pd.DataFrame:
    """Spearman's rank correlation of every measure with the test score, by graph: all models, and those that fit."""
    fits = models.table["fits"].to_numpy()
    return _correlated(models, "models", {"all": np.ones_like(fits), "fit": fits}, [*JUDGED, *HOPWISE])


def families(models: Models) -> pd.DataFrame:
    """The same within one architecture: the mean over graphs of the rank correlations, by architecture."""
    architecture = models.table["architecture"]
    masks = {name: (architecture == name).to_numpy() for name in architecture.unique()}
    return _correlated(models, "architecture", masks, list(SHOWN))


def _correlated(models: Models, kind: str, masks: dict[str, np.ndarray], names: list[str]) -> pd.DataFrame:
    """Rank correlations with intervals over the judged models of each mask, graph by graph."""
    rows = []
    at = {position: models.values(position)[names] for position in POSITIONS}
    graphs = models.table["graph"][models.main].unique()
    for position, (which, mask), graph in product(POSITIONS, masks.items(), graphs):
        here = models.main & mask & (models.table["graph"] == graph).to_numpy()
        if here.sum() < 8:
            continue
        of_models = (at[position], models.table["test"], models.table["cluster"])
        x, score, clusters = (table[here].to_numpy() for table in of_models)
        draws = judging.spearman_draws(x, score, clusters, models.seed)
        found = pd.DataFrame({"measure": names, "rho": judging.spearman(x, score)})
        found["low"], found["high"] = zip(*(judging.interval(column) for column in draws.T), strict=True)
        found["count"] = np.sum(~np.isnan(x), axis=0)
        rows.append(pd.DataFrame({"position": position, kind: which, "graph": graph}, found.index).join(found))
    return pd.concat(rows, ignore_index=True)


def controls(models: Models, chosen: dict[str, Any]) -> pd.DataFrame:
    """Failed networks with messages: how many have collapsed, and of those how many with self-loops alone too.

    ``good_without_messages`` counts good networks that are below the level with self-loops alone: their weights were
    trained for messages, so that the control is low in some healthy networks, too.
    """
    rows = []
    gnn, group = models.main & models.table["gnn"].to_numpy(), models.table["group"].to_numpy()
    for position, name in product(POSITIONS, LEVELLED):
        level = chosen["positions"][position][name]["level"]
        own, alone = (models.values(position, edges)[name].to_numpy() for edges in (MESSAGES, SELF_LOOPS))
        has, good = (gnn & (group == which) & ~np.isnan(own) for which in ("failed", "good"))
        collapsed, too = has & (own < level), alone < level
        masks = {"failed": has, "collapsed": collapsed, "without_messages_too": collapsed & too}
        masks |= {"only_with_messages": collapsed & ~too, "good": good, "good_without_messages": good & too}
        rows.append({"position": position, "measure": name} | {key: int(mask.sum()) for key, mask in masks.items()})
    return pd.DataFrame(rows)


def failures(models: Models) -> pd.DataFrame:
    """Share of failed and good models by architecture and depth; trained with messages, and with self-loops alone."""
    table = models.table[models.table["enters"]]
    grouped = table.groupby(["trained", "architecture", "depth"], sort=False)["group"]
    found = grouped.agg(
        models="size", failed=lambda g: float(np.mean(g == "failed")), good=lambda g: float(np.mean(g == "good"))
    )
    return found.reset_index().sort_values(["trained", "architecture", "depth"])


def as_json(found: dict[str, Any]) -> str:
    """The levels' file as text, a group of numbers on a line; a level that no value allows is null."""
    text = json.dumps(found, indent=1).replace(": NaN", ": null")
    for _ in range(2):  # numbers of a group, then the groups of a half or of a graph
        text = re.sub(r"\{\n([^{}]|\{[^{}\n]*\})*\}", lambda inner: re.sub(r"\n\s*", " ", inner[0]), text)
    return text + "\n"
