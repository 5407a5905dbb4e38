"""``spectrata local``: which nodes are like or unlike their neighbours."""

from spectrata.cli.options import JSON, OUT, OUTPUT, Chance, GraphOptions, SignalOptions, option
from spectrata.cli.render import Meter, shown, shown_p, table, text

FIELDS = ("verdict", "r", "chance_low", "chance_high", "p", "q", "r_given", "p_given", "q_given", "status")


def local(
    graph: GraphOptions,
    signal: SignalOptions,
    chance: Chance,
    out: str | None = OUT,
    top: int = option(10, OUTPUT, "N", "Nodes to print.", min=1),
    json: bool = JSON,
) -> None:
    """Find the nodes that are like or unlike their neighbours, each against chance.

    With -o DIR also write local.csv, one row for each node.
    """
    from spectrata.cli import files
    from spectrata.cli.describe import graph_facts, graph_line
    from spectrata.stats.verbs.local import local as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with Meter() as progress:
        graph.hops = graph.hops or "1"
        strat = graph.read(progress=progress)
        progress("permuting nodes", 0.2)
        ds = compute(strat, signal.read(strat), **signal.arguments(), **chance.arguments())
    keys = [name for name in ("snapshot", "column", "hop", "node") if name in ds.dims]
    frame = ds[[name for name in FIELDS if name in ds]].to_dataframe().reset_index()
    if "name" in frame:
        frame["node"] = frame["name"]
    frame = frame[[*keys, *(name for name in FIELDS if name in frame)]].sort_values(
        "q", kind="stable", ignore_index=True
    )
    decided = frame[~frame["verdict"].isin(["chance", "not tested"]) & ~frame["verdict"].str.contains("degree|given")]
    if not json:
        words = decided["verdict"].value_counts()
        said = ", ".join(f"{number:,} {word}" for word, number in words.items())
        where = "neighbours" if ds["hop"].values.tolist() == [1] else "nodes at these hops"
        beyond = f"chance and {ds.attrs['given']}" if ds.attrs["given"] else "chance"
        text(
            f"{len(decided):,} of {len(frame):,} nodes stand out from their {where} beyond {beyond}: {said}."
            if len(decided)
            else f"No node is like or unlike its {where} beyond {beyond} (q > .05)."
        )
        text(graph_line(graph_facts(strat, graph.graph)))
        rows = frame.head(top).to_dict("records")
        cells = {name: [row[name] for row in rows] for name in keys if name != "hop" or ds.sizes["hop"] > 1}
        cells |= {"verdict": [row["verdict"] for row in rows], "r": [shown(row["r"]) for row in rows]}
        cells |= {
            name.replace("_", " "): [shown_p(row[name]) for row in rows]
            for name in ("p", "q", "q_given")
            if name in rows[0]
        }
        table(cells, left=("snapshot", "column", "node", "verdict"))
        text("r: the node's part of the correlation; q: false discovery rate over nodes; given: degree accounted for.")
        if folder is None:
            text(f"The first {min(top, len(frame))} by q; -o DIR writes all.")
    facts = {"command": "local", "graph": graph.graph, "signal": signal.signal, **ds.attrs}
    files.finish(folder, files.frame("nodes", "local.csv", frame), json, facts | {"nodes": frame.to_dict("records")})
