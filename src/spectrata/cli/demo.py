"""``spectrata demo``: the paper's 13-node graph, its start signal and a learned embedding."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.cli import describe, files
from spectrata.cli import report as pages
from spectrata.cli.profile import print_facts, print_json, print_tables
from spectrata.cli.tables import print_text
from spectrata.cli.terminal import Meter
from spectrata.core.registry import EXACT

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

DATA = Path(__file__).with_name("demo_data.json")
SHOWN = (EXACT, "ens")
FOLDER = "spectrata-demo"
GRAPH = "the paper's 13-node graph"
SIGNAL = "its start signal, and the embedding learned from it"


def demo(*, out: str | None, seed: int, top: int, as_json: bool) -> None:
    """Compute, write, print."""
    from spectrata.inputs.signals import Signal

    folder = files.chosen_folder(out, FOLDER)
    with Meter() as progress:
        strat, path = read_data()
        signal = Signal(path.values[[0, -1]], ("start", "learned"))
        ds = strat.using(progress=progress).spectra(signal, preset="paper", seed=seed)
        paths = files.write_files(ds, folder)
        progress("writing the report", 1.0)
        page = _page(strat, path, seed, folder)
        paths |= {"report": page} if page else {}
    facts = describe.graph_facts(strat, GRAPH), describe.signal_facts(ds, SIGNAL, "auto")
    if as_json:
        print_json("demo", ds, *facts, paths, top)
        return
    print_facts(*facts)
    print_text("Findings:")
    for sentence in sentences(ds):
        print_text(sentence, "- ")
    print_tables(ds.sel({"algorithm": list(SHOWN)}), paths, top)
    print_text(f"The tables show {' and '.join(SHOWN)}; the files have all {ds.sizes['algorithm']} algorithms.")
    if page:
        print_text(f"report: {page} (opens in any browser, offline)")
        pages.offer(page)


def read_data() -> "tuple[Stratification, Signal]":
    """Read the paper's 13-node graph, and the embedding every 100 epochs of learning (weight 0.3)."""
    import networkx as nx

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

    data = json.loads(DATA.read_text(encoding="utf-8"))
    graph = nx.Graph()
    graph.add_nodes_from(data["nodes"])
    graph.add_edges_from(tuple(edge) for edge in data["edges"])
    names = ("start", *(f"epoch {epoch}" for epoch in data["epochs"][1:-1]), "learned")
    return Stratification(graph), Signal(np.array(data["embeddings"]), names)


def _page(strat: "Stratification", path: "Signal", seed: int, folder: Path) -> Path | None:
    """Write the page: all the way from the start to the learned embedding, for the slider."""
    ds = strat.spectra(path, preset="paper", seed=seed)  # what ln_vx learned is remembered
    return pages.write_if_possible(ds, folder, strat, signal=path, graph_name=GRAPH, signal_name=SIGNAL)


def sentences(ds: "xr.Dataset") -> Iterator[str]:
    """What the numbers say, each sentence from the numbers."""
    squares, pairs = ds["gradient_norm"].values ** 2, ds["n_edges"].values  # (snapshot, hop), (hop,)
    tau = squares[:, 0] / pairs[0]
    epsilon = 1.0 - squares[:, 1:].sum(axis=1) / pairs[1:].sum()  # the mean of (1 + cos)/2 over the other pairs
    yield (
        f"Learning takes the mean squared gradient over the edges from {tau[0]:.3f} to {tau[-1]:.3f}, and the "
        f"regulariser over the other pairs from {epsilon[0]:.3f} to {epsilon[-1]:.3f}."
    )
    before, after = (ds["gradient_norm"].sel({"snapshot": name}).values for name in ("start", "learned"))
    hops = ds["hop"].values
    yield (
        f"The gradient norm between neighbours goes from {before[0]:.2f} to {after[0]:.2f}; over all hops it "
        f"falls at K = {_hops(hops[after < before])} and rises at K = {_hops(hops[after > before])}."
    )
    spaces = describe.Spaces(ds)
    tops = [spaces.strongest(EXACT, row, int(hops[0]), 1)[0] for row in (0, 1)]
    yield (
        f"At K = {int(hops[0])} the strongest eigenspace of the GFT moves from eigenvalue "
        f"{_place(tops[0])} to {_place(tops[1])}."
    )
    yield from _all_zero(ds)
    flat = _flatness(ds)
    yield (
        f"ln_vx is close to flat: its cosine with a constant spectrum is at least {flat:.3f} at every hop "
        "where it is not zero."
    )
    repeated = np.count_nonzero(ds["multiplicity"].values > 1, axis=1)
    yield (
        f"At each hop {repeated.min()} to {repeated.max()} of the {ds.sizes['component']} components share "
        "their eigenvalue with others, zero ones included: there only whole eigenspaces mean something."
    )


def _all_zero(ds: "xr.Dataset") -> Iterator[str]:
    for name in ("start", "learned"):
        norms = ds["gradient_norm"].sel({"snapshot": name}).values
        if (norms == 0.0).any():
            yield (
                f"At K = {_hops(ds['hop'].values[norms == 0.0])} the {name} signal is constant: every algorithm "
                "gives zeros there but the GFT, which has it in its zero components."
            )


def _flatness(ds: "xr.Dataset") -> float:
    magnitude = ds["magnitude"].sel({"algorithm": "ln_vx"}).values  # (T, hop, n)
    norms = np.linalg.norm(magnitude, axis=-1)
    cosines = magnitude.sum(axis=-1) / np.where(norms > 0, norms, 1.0) / np.sqrt(magnitude.shape[-1])
    return float(cosines[norms > 0].min())


def _place(one: dict[str, Any]) -> str:
    text = "0" if one["zero"] else f"{one['eigenvalue']:.3f}"
    return text + (f" ({one['multiplicity']}-fold)" if one["multiplicity"] > 1 else "")


def _hops(values: np.ndarray) -> str:
    return ", ".join(str(int(value)) for value in values) or "none"
