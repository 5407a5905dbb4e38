"""``spectrata local``: which nodes are like or unlike their neighbours."""

from spectrata.cli import files, options
from spectrata.cli.options import OUTPUT, Chance, GraphOptions, SignalOptions, option
from spectrata.cli.render import progress_bar, row_table, text


def local(
    graph: GraphOptions,
    signal: SignalOptions,
    chance: Chance,
    out: str | None = options.OUT,
    top: int = option(10, OUTPUT, "N", "Nodes to print.", min=1),
    json: bool = options.JSON,
) -> None:
    """Find the nodes that are like or unlike their neighbours, each against chance.

    With -o DIR also write local.csv, one row for each node.
    """
    from spectrata.cli.describe import graph_line, rows_of
    from spectrata.stats.describe.sizes import graph_facts
    from spectrata.stats.findings.sentences import covariate_names, listed, local_sentence
    from spectrata.stats.verbs.local import WORDS
    from spectrata.stats.verbs.local import local as compute

    folder = None if out is None else files.chosen_folder(out, out)
    with progress_bar() as progress:
        graph.hops = graph.hops or "1"
        strat = graph.read(progress=progress)
        progress("permuting nodes", 0.2)
        ds = compute(strat, signal.read(strat), **signal.arguments(), **chance.arguments())
    ds = ds.assign_coords(node=ds["name"]) if "name" in ds.coords else ds
    rows = sorted(rows_of(ds), key=lambda row: (row["verdict"] not in WORDS, row["q"] != row["q"], row["q"]))
    if not json:
        names = covariate_names(chance.arguments()["given"])
        words, hops = [row["verdict"] for row in rows if row["verdict"] in WORDS], ds["hop"].values.tolist()
        differ = sum(row["verdict"].startswith("not beyond") for row in rows)
        text(local_sentence(words, len(rows), hops, names, differ))
        text(graph_line(graph_facts(strat, graph.graph)))
        fields = ("snapshot", "column", *(["hop"] if ds.sizes["hop"] > 1 else []), "node", "verdict", "r", "p", "q")
        row_table(rows[:top], {name.replace("_", " "): name for name in (*fields, "q_given")})
        account = f"; given: {listed(names)} accounted for" if names else ""
        text(f"r: the node's part of the correlation; q: false discovery rate over nodes{account}.")
        if folder is None:
            text(f"The first {min(top, len(rows))} by q; -o DIR writes all.")
    facts = {"command": "local", "graph": graph.graph, "signal": signal.signal, **ds.attrs}
    files.finish(folder, files.frame("nodes", "local.csv", rows), json, facts | {"nodes": rows})
