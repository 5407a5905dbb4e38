"""``spectrata demo``: a finding without a file, Zachary's karate club; or the paper's 13-node graph."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spectrata.cli import files
from spectrata.cli.options import COMPUTED, JSON, OUT, switch
from spectrata.cli.render import progress_bar, text

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

DATA = Path(__file__).parents[1] / "demo_data.json"
FOLDER, GRAPH, SIGNAL = "spectrata-demo", "karate.graphml", "club"
PAPER, LEARNED = "the paper's 13-node graph", "its start signal and the embedding learned from it"


def demo(
    out: str | None = OUT,
    paper: bool = switch("--paper", COMPUTED, "The paper's 13-node graph, as in its program."),
    json: bool = JSON,
) -> None:
    """Show a finding without any file: how far the two factions of a karate club reach.

    Writes the graph, pictures and report.html to DIR, or to spectrata-demo/.
    """
    import networkx as nx

    from spectrata.cli.commands.profile import document, print_answer
    from spectrata.core.stratification import Stratification
    from spectrata.stats.verbs.profile import profile

    folder = files.chosen_folder(out, FOLDER)
    names = (PAPER, LEARNED) if paper else (GRAPH, SIGNAL)
    with progress_bar() as progress:
        karate = nx.karate_club_graph()
        club = Stratification(karate, weights=False, keep=["signal"]), SIGNAL
        strat, signal = read_data() if paper else club
        progress("permuting nodes", 0.1)
        found = profile(strat, signal)
        if not json:
            print_answer(found, *names)
        progress("spectra", 0.3)
        ds = strat.spectra(signal, preset="paper") if paper else found.spectra
        assert ds is not None
        if paper and not json:
            for line in sentences(ds):
                text(line)
        progress("drawing", 0.5)
        contents: files.Writers = {} if paper else {"graph": (GRAPH, lambda to: nx.write_graphml_xml(karate, to))}
        contents |= files.picture("correlogram", "likeness.png", found.findings, "likeness") | files.result(ds, paper)
        contents |= files.page(replace(found, result=ds) if paper else found, *names)
        facts = document(found, *names, ds) | {"command": "demo"} if json else {}
        files.finish(folder, contents, json, facts)
    if not json:
        text(f"Open {folder / 'report.html'} in a browser.")
        if not paper:
            text(f"The same by hand: spectrata profile {folder / GRAPH} club --weights=false --report")


def read_data() -> "tuple[Stratification, Signal]":
    """Read the paper's 13-node graph, and its embedding before and after 3,500 epochs of learning (weight 0.3)."""
    import json

    import networkx as nx
    import numpy as np

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

    data = json.loads(DATA.read_text(encoding="utf-8"))
    graph = nx.Graph()
    graph.add_nodes_from(data["nodes"])
    graph.add_edges_from(tuple(edge) for edge in data["edges"])
    return Stratification(graph), Signal(np.array(data["embeddings"]), ("start", "learned"))


def sentences(ds: "xr.Dataset") -> list[str]:
    """How learning changes the spectra of the paper's graph, each sentence from the numbers."""
    from spectrata.stats.describe.summary import strongest_rows

    before, after = (ds["gradient_norm"].sel({"snapshot": name}).values for name in ("start", "learned"))
    tops = [row["strongest"][0] for row in strongest_rows(ds.sel(algorithm=["gft"], hop=[1]))]
    folds = [f" ({one['multiplicity']}-fold)" * (one["multiplicity"] > 1) for one in tops]
    first, last = (f"{one['eigenvalue']:.3f}{fold}" for one, fold in zip(tops, folds, strict=True))
    falls, rises = (", ".join(map(str, ds["hop"].values[some])) or "none" for some in (after < before, after > before))
    return [
        f"Learning takes the gradient norm between neighbours from {before[0]:.2f} to {after[0]:.2f}; it falls at hops "
        f"{falls} and rises at hops {rises}.",
        f"At hop 1 the strongest eigenspace of gft moves from eigenvalue {first} to {last}.",
    ]
