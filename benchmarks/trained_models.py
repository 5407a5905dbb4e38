"""Train the models that the pages on probe, verdicts and remedies compare with; one line of JSON per model.

    python benchmarks/trained_models.py probe settings remedies --data FOLDER --out models.jsonl [--jobs 14]

FOLDER holds the public graphs (``cora.npz`` and four others). ``probe``: MLP, GCN, GraphSAGE and APPNP of depth 1, 2
and 4 on the five public graphs, ten generated and ten rewired ones, five seeds. ``settings``, ``settings-deep``: the
study's architectures of depth 2 and 16 at other widths, rates and lengths, on its held-out graphs. ``remedies``: deep
GCNs as they are, with DropEdge, with PairNorm, and residual with LayerNorm. ``messages``: deep GCNs and GATs on all
graphs of the study, in search of those that collapse with messages only, and what helps these. ``probe_models.py
compare`` and ``verdicts.py rates`` read the file.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # reproduction/ stands in the clone and is not installed

from reproduction.studies.models.graphs import StudyGraph, generate, load
from reproduction.studies.models.protocol import FILES, FULL, MESSAGES, REPORT, SELF_LOOPS, GraphSpec
from spectrata.stats.nulls.surrogates import swap_edges

SEEDS = 5
EVERY = 10  # epochs between two looks at the validation score
REGULARISED, PLAIN = FULL.recipes
DROPPED = 0.5  # of the edges, in DropEdge: Rong et al. 2020 choose among .05 to .95
COMMON = {"nodes": 1000, "dimensions": 32, "train": 0.2, "val": 0.2}


def _blocks(classes: int, degree: int, homophily: float, signal: float, partner: str = "any") -> dict[str, Any]:
    return COMMON | {
        "classes": classes, "degree": degree, "homophily": homophily, "signal": signal, "partner": partner
    }  # fmt: skip


GENERATED = (
    GraphSpec("homophilous-blocks", "blocks", REPORT, options=_blocks(4, 10, 0.8, 1.0)),
    GraphSpec("homophilous-space", "geometric", REPORT, options=COMMON | {"classes": 4, "degree": 10, "signal": 0.8}),
    GraphSpec("heterophilous-pairs", "blocks", REPORT, options=_blocks(4, 10, 0.1, 1.5, "pair")),
    GraphSpec("heterophilous-blocks", "blocks", REPORT, options=_blocks(3, 8, 0.05, 1.5)),
    GraphSpec("features-only-4", "blocks", REPORT, options=_blocks(4, 10, 0.25, 2.0)),
    GraphSpec("features-only-5", "blocks", REPORT, options=_blocks(5, 6, 0.2, 2.5)),
    GraphSpec("structure-only-blocks", "blocks", REPORT, options=_blocks(3, 16, 0.85, 0.0)),
    GraphSpec(
        "structure-only-space", "geometric", REPORT, options=COMMON | {"classes": 3, "degree": 16, "signal": 0.0}
    ),
    GraphSpec("mixed-blocks", "blocks", REPORT, options=_blocks(3, 6, 0.5, 1.2)),
    GraphSpec(
        "mixed-ring", "small_world", REPORT, options=COMMON | {"classes": 6, "degree": 8, "rewired": 0.3, "signal": 0.8}
    ),
)
# Of Wisconsin no rewired graph: the probe does not judge a class of 4 training nodes. Of the others six generated ones.
WITH_STRUCTURE = [spec.name for spec in GENERATED if not spec.name.startswith("features-only")]
REWIRED = ("cora", "actor", "chameleon_filtered", "minesweeper", *WITH_STRUCTURE[:6])
PROBED = [spec.name for spec in (*FILES, *GENERATED)] + [f"{name}, rewired" for name in REWIRED]
PROBED_AGAIN = [f"{spec.name}, again" for spec in GENERATED]
SETTINGS = {
    "width 16": {"width": 16},
    "width 256": {"width": 256},
    "rate .001": {"learning_rate": 0.001},
    "rate .03": {"learning_rate": 0.03},
    "50 epochs": {"epochs": 50},
    "as in the study": {},
    "500 epochs": {"epochs": 500},
}
REMEDIES = {"plain": "gcn", "DropEdge": "gcn", "PairNorm": "pairnorm", "residual + LayerNorm": "residual-layernorm"}
KINDS = ("probe", "probe-again", "settings", "settings-deep", "remedies", "messages")
SHALLOW = 4  # layers, where fewer layers are the remedy
# Deep networks, and the same with PairNorm and with residual connections and LayerNorm.
NORMALISED = {
    "gcn": ("pairnorm", "residual-layernorm"),
    "residual": ("pairnorm", "residual-layernorm"),
    "layernorm": ("pairnorm", "residual-layernorm"),
    "gat": ("gat-pairnorm", "gat-residual-layernorm"),
}


@cache
def graph_of(name: str, data: str, small: bool = False) -> StudyGraph:
    """A graph by its name; "NAME, rewired" has the same degrees, features and labels, "NAME, again" another seed."""
    plain = name.removesuffix(", rewired").removesuffix(", again")
    spec = next(one for one in (*FILES, *GENERATED, *FULL.graphs) if one.name == plain)
    if small and spec.source != "file":
        spec = replace(spec, options={**spec.options, "nodes": 120})
    graph = load(spec, data, FULL.seed) if spec.source == "file" else generate(spec, FULL.seed)
    if name.endswith("again"):
        return replace(generate(spec, FULL.seed + 1), name=name)
    if name == plain:
        return graph
    rng = np.random.default_rng([FULL.seed, 9, *plain.encode()])
    return replace(graph, name=name, edges=np.sort(swap_edges(graph.edges, graph.n, rng), axis=1))


def jobs_of(kind: str) -> list[dict[str, Any]]:
    """What is trained together, one entry each."""
    if kind.startswith("probe"):
        names = PROBED if kind == "probe" else PROBED_AGAIN
        recipes = [(r, s) for r in (REGULARISED, PLAIN) for s in range(SEEDS)]
        return [
            {"kind": "probe", "graph": g, "architecture": a, "depth": d, "runs": recipes, "options": {"epochs": 200}}
            for g in names
            for a in ("mlp", "gcn", "sage", "appnp")
            for d in (1, 2, 4)
        ]
    if kind.startswith("settings"):
        held_out = [spec.name for spec in FULL.graphs if spec.half == REPORT]
        return [
            {"kind": "settings", "graph": g, "architecture": a, "setting": name, "options": options}
            | {"depth": 16 if kind == "settings-deep" else 2}
            | {"runs": [(r, s) for r in (REGULARISED, PLAIN) for s in (100, 101)]}
            for name, options in SETTINGS.items()
            for g in held_out
            for a in ("gcn", "residual", "layernorm", "sage", "gat", "gcnii")
        ]
    runs = [(REGULARISED, seed) for seed in range(200, 200 + SEEDS)]
    if kind == "messages":
        deep = dict.fromkeys([*NORMALISED, *(name for pair in NORMALISED.values() for name in pair)])
        nets = [(a, d) for d in (32, 16) for a in deep] + [(a, SHALLOW) for a in NORMALISED]
        return [
            {"kind": kind, "graph": spec.name, "architecture": a, "depth": d, "runs": runs, "options": {"epochs": 200}}
            for a, d in nets
            for spec in FULL.graphs
        ]
    together = {"DropEdge": [[run] for run in runs]}  # edges are dropped run by run
    return [
        {"kind": kind, "graph": spec.name, "architecture": a, "depth": d, "remedy": name, "runs": group}
        | {"options": {"epochs": 200}}
        for spec in FILES
        for d in (16, 32)
        for name, a in REMEDIES.items()
        for group in together.get(name, [runs])
    ]


def train(job: dict[str, Any], data: str, small: bool = False) -> list[dict[str, Any]]:
    """Train the runs of a job; scores at the last epoch and at the best for validation, and levels of collapse."""
    import torch

    from reproduction.studies.models.structure import OnDevice, messages
    from reproduction.studies.models.training import Unit, evaluate, fit
    from spectrata.torch.watching.measures import Neighbours, measure

    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    graph, start = graph_of(job["graph"], data, small), time.perf_counter()
    held = OnDevice.of(graph, device)
    protocol = replace(FULL, **(job["options"] | ({"epochs": 20} if small else {})))
    unit = Unit(job["graph"], job["architecture"], job["depth"], MESSAGES)
    rng = np.random.default_rng([5, job["runs"][0][1], job["depth"], *job["graph"].encode()])

    def thinned(epoch: int) -> Any:
        kept = rng.random(len(graph.edges)) >= DROPPED
        return messages(replace(graph, edges=graph.edges[kept]), device, MESSAGES)

    best: dict[str, np.ndarray] = {}

    @torch.no_grad()
    def look(epoch: int, network: Any) -> None:
        if (epoch + 1) % EVERY:
            return
        score, _ = evaluate(network(held.features, held.messages())[-1], held)  # (R, split)
        if "score" not in best:
            best.update(score=score, epoch=np.full(len(score), epoch + 1))
        better = score[:, 1] > best["score"][:, 1]
        best["score"][better], best["epoch"][better] = score[better], epoch + 1

    network = fit(unit, held, protocol, job["runs"], look, thinned if job.get("remedy") == "DropEdge" else None)
    near = Neighbours.of(graph.edges, graph.n)
    with torch.no_grad():
        states = network(held.features, held.messages())
        score, loss = evaluate(states[-1], held)
        alone = network(held.features, held.messages(SELF_LOOPS))
        levels = [
            [(measure(one[:, row], near) or {}).get("off_zero_live", float("nan")) for one in some[-2:]]
            for row in range(len(score))
            for some in (states, alone)
        ]
    facts = {name: job[name] for name in ("kind", "graph", "architecture", "depth", "setting", "remedy") if name in job}
    facts["seconds"] = (time.perf_counter() - start) / len(score)
    rows = []
    for row, (recipe, seed) in enumerate(job["runs"]):
        found = {"recipe": recipe.name, "seed": seed, "loss": float(loss[row]), "epoch": int(best["epoch"][row])}
        found |= dict(zip(("train", "val", "test"), score[row].tolist(), strict=True))
        found |= dict(zip(("best_train", "best_val", "best_test"), best["score"][row].tolist(), strict=True))
        found |= {"off_zero": levels[2 * row], "control": levels[2 * row + 1]}  # last hidden, outputs
        rows.append(facts | found)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no model is begun after this time")
    parser.add_argument("--small", type=int, help="so many jobs of each kind, at sizes that measure nothing")
    given = parser.parse_args()
    jobs = [job for kind in given.kinds for job in jobs_of(kind)]
    if given.small:
        jobs = [job for kind in given.kinds for job in jobs_of(kind)[:: len(jobs_of(kind)) // given.small]]
    start, failed = time.perf_counter(), 0
    with given.out.open("w") as file, ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(train_before, start + given.seconds, job, given.data, bool(given.small)) for job in jobs}
        for number, done in enumerate(as_completed(waiting), 1):
            try:
                file.writelines(json.dumps(row) + "\n" for row in done.result())
            except Exception as problem:  # of one job; the others go on
                failed += 1
                print(f"failed: {type(problem).__name__}: {problem}", flush=True)
            if number % 50 == 0 or number == len(jobs):
                file.flush()
                print(f"{number} of {len(jobs)} jobs, {time.perf_counter() - start:.0f} s, {failed} failed", flush=True)


def train_before(deadline: float, job: dict[str, Any], data: str, small: bool) -> list[dict[str, Any]]:
    """The rows of a job; none after the deadline, a reading of the machine's one clock."""
    return train(job, data, small) if time.perf_counter() < deadline else []


if __name__ == "__main__":
    main()
