"""``spectrata homophily``: how alike the labels of nodes K hops apart are, per hop and measure."""

from typing import TYPE_CHECKING, Any

from spectrata.cli import describe
from spectrata.cli.tables import print_table, print_text
from spectrata.cli.terminal import Meter

if TYPE_CHECKING:
    import xarray as xr

NUMBERS = ("homophily", "expected", "std", "z", "p")


def homophily(
    graph: str,
    labels: str,
    *,
    hops: int | list[int] | None,
    n_nodes: int | None,
    read_as: dict[str, Any],
    missing: list[str] | None,
    draws: int,
    seed: int,
    as_json: bool,
) -> None:
    """Read, measure, print."""
    from spectrata.core.stratification import Stratification
    from spectrata.stats.labels import homophily as measure

    with Meter() as progress:
        progress("hop distances", 0.0)
        strat = Stratification(graph, hops, n_nodes=n_nodes, **read_as)
        progress("random orders of the labels", 0.2)
        found = measure(strat, labels, missing=missing, draws=draws, seed=seed, spectrum=False)
    facts = describe.graph_facts(strat, graph, read_as)
    if as_json:
        import typer

        typer.echo(describe.to_json({"command": "homophily", "graph": facts, "labels": labels} | _json(found)))
    else:
        _print(facts, labels, found)


def _json(found: "xr.Dataset") -> dict[str, Any]:
    """Everything in the result as plain lists and numbers; NaN as null."""

    def plain(value: float) -> float | None:
        return None if value != value else float(value)

    hops = []
    for hop in found["hop"].values.tolist():
        one = found.sel(hop=hop)
        cells = {
            measure: {name: plain(one[name].sel(measure=measure).item()) for name in NUMBERS}
            for measure in found["measure"].values.tolist()
        }
        classes = [
            {"label": label} | {name: plain(one[f"class_{name}"].sel(label=label).item()) for name in NUMBERS}
            for label in found["label"].values.tolist()
        ]
        hops.append(
            {"hop": hop, "n_pairs": int(one["n_pairs"]), "status": str(one["status"].item())}
            | {"measures": cells, "classes": classes}
        )
    names = ("n_labelled", "n_missing", "draws", "seed", "p_floor", "p_correction", "null")
    counts = dict(zip(map(str, found["label"].values.tolist()), found["label_count"].values.tolist(), strict=True))
    facts = {name: found.attrs[name] for name in names} | {"p_floor": plain(found.attrs["p_floor"])}
    return facts | {"classes": counts, "hops": hops}


def _print(facts: dict[str, Any], labels: str, found: "xr.Dataset") -> None:
    hops, measures = found["hop"].values.tolist(), found["measure"].values.tolist()
    first = [(hop, index == 0) for hop in hops for index in range(len(measures))]
    front = {
        "K": [str(hop) if at_first else "" for hop, at_first in first],
        "pairs": [f"{int(found['n_pairs'].sel(hop=hop)):,}" if at_first else "" for hop, at_first in first],
        "measure": measures * len(hops),
    }
    cells = {name: found[name].transpose("hop", "measure").values.ravel().tolist() for name in NUMBERS}
    numbers = {
        "homophily": [_number(value) for value in cells["homophily"]],
        "by chance": [_number(value) for value in cells["expected"]],
        "z": [_number(value, ".1f") for value in cells["z"]],
        "p": [_p(value, found) for value in cells["p"]],
    }
    print_text(describe.graph_line(facts))
    size = describe.count(found.attrs["n_labelled"], "labelled node")
    lacking = f", {found.attrs['n_missing']:,} without a label" if found.attrs["n_missing"] else ""
    print_text(f"labels: {labels}: {size}{lacking}, {found.sizes['label']} classes")
    print_table(front, numbers, left=("measure",), breaks=range(len(measures), len(first), len(measures)))
    print_text(f"by chance: mean over permutations of the labels ({found.attrs['draws']} for p)")
    print_text("p: two-sided, of each cell, not corrected over hops and measures")
    for words in sorted(set(found["status"].values.tolist()) - {"ok"}):
        print_text(words, "-: ")


def _number(value: float, form: str = ".3f") -> str:
    return "-" if value != value else f"{value:{form}}"


def _p(value: float, found: "xr.Dataset") -> str:
    """p with its floor: a p that no draw could make smaller is a bound."""
    if value != value:
        return "-"
    return ("<= " if value <= found.attrs["p_floor"] else "") + f"{value:.2g}"
