"""``spectrata homophily``: how alike the labels of nodes K hops apart are, per hop and measure."""

from typing import TYPE_CHECKING, Any

from spectrata.cli import describe
from spectrata.cli.tables import print_table, print_text
from spectrata.cli.terminal import Meter

if TYPE_CHECKING:
    import xarray as xr

TESTS = ("r", "p", "p_family", "r_given", "p_given", "p_family_given", "chance_low", "chance_high")
MEASURES = ("homophily", "homophily_low", "homophily_high")


def homophily(
    graph: str,
    labels: str,
    *,
    hops: int | list[int] | None,
    n_nodes: int | None,
    read_as: dict[str, Any],
    missing: list[str] | None,
    draws: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Read, measure, print."""
    from spectrata.core.stratification import Stratification
    from spectrata.stats.verbs.homophily import homophily as measure

    with Meter() as progress:
        progress("hop distances", 0.0)
        strat = Stratification(graph, hops, n_nodes=n_nodes, **read_as)
        progress("random orders of the labels", 0.2)
        found = measure(strat, labels, missing=missing, draws=draws, seed=seed)
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
        row = {"hop": hop, "n_pairs": int(one["n_pairs"]), "status": str(one["status"].item())}
        row |= {"verdict": str(one["verdict"].item())} | {name: plain(one[name].item()) for name in TESTS}
        row["measures"] = {
            measure: {name: plain(one[name].sel(measure=measure).item()) for name in MEASURES}
            for measure in found["measure"].values.tolist()
        }
        names = found["label"].values.tolist()
        row["classes"] = {str(name): plain(one["class_homophily"].sel(label=name).item()) for name in names}
        hops.append(row)
    return {name: found.attrs[name] for name in ("n_labelled", "n_missing", "draws", "seed", "given")} | {"hops": hops}


def _print(facts: dict[str, Any], labels: str, found: "xr.Dataset") -> None:
    from spectrata.stats.findings.table import shown, shown_p

    def column(name: str) -> list[float]:
        return found[name].values.tolist()

    front = {"K": [str(hop) for hop in column("hop")], "verdict": [str(word) for word in column("verdict")]}
    cells = {
        "r": [shown(value) for value in column("r")],
        "chance": [
            f"{shown(a)} to {shown(b)}" for a, b in zip(column("chance_low"), column("chance_high"), strict=True)
        ],
        "p": [shown_p(value) for value in column("p_family")],
        "p given": [shown_p(value) for value in column("p_family_given")],
    }
    for name in ("edge", "node", "class"):
        cells[name] = [shown(value) for value in found["homophily"].sel(measure=name).values.tolist()]
    print_text(describe.graph_line(facts))
    size = describe.count(found.attrs["n_labelled"], "labelled node")
    lacking = f", {found.attrs['n_missing']:,} without a label" if found.attrs["n_missing"] else ""
    print_text(f"labels: {labels}: {size}{lacking}, {found.sizes['label']} classes")
    print_table(front, cells, left=("verdict",))
    print_text("r: adjusted homophily; chance: 95 % of the permutations of the labels, one hop at a time")
    print_text("p: corrected over all hops; given: given degree; edge, node, class: other measures, not tested")
    for words in sorted(set(found["status"].values.tolist()) - {"ok"}):
        print_text(words, "status: ")
