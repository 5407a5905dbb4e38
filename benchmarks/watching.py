"""What watching and losses cost: ``python benchmarks/watching.py [GRAPH.npz ...] [--device cuda]``.

The losses are compared with the few lines of torch that do the same. Watching: 200 epochs of a two-layer GCN, alone,
with 10 evaluations, with a control too, and watched by default, which take turns epoch by epoch; the table has the
processor time that watching adds, imports apart, the target (5 % of the training, 10 % with the control, or 0.2 s,
whichever is larger), wall clock, and the headline of ``w.overhead``. The weights of trainings with and without watching
are compared bit by bit (on a GPU with CUBLAS_WORKSPACE_CONFIG=:4096:8).
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F
from measure import HEADER, Row, best
from torch_geometric.nn import GCN

import spectrata as st
import spectrata.torch


def losses(graph: nx.Graph, device: str, width: int = 64) -> list[Row]:
    """Forward and backward of each loss against plain torch."""
    strat = st.Stratification(graph, hops=1)
    n = graph.number_of_nodes()
    x = torch.randn(n, width, device=device, requires_grad=True)
    basis = strat.basis(1)
    vectors = torch.tensor(basis.project(np.eye(n)), dtype=torch.float32, device=device)

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    def plain_off_zero() -> None:
        t = F.normalize(x, dim=1)
        (t - t.mean(0)).square().sum().div(t.square().sum()).log().backward()
        wait()

    def plain_magnitudes() -> None:
        (vectors @ (F.normalize(x, dim=1) / 2)).norm(dim=1).sum().backward()
        wait()

    def plain_rank() -> None:
        sigma = torch.linalg.svdvals(x)
        p = sigma / sigma.sum()
        torch.exp(-(p * p.log()).sum()).backward()
        wait()

    def ours(work: object) -> None:
        work().backward()  # type: ignore[operator]
        wait()

    pairs = {
        "off_zero": (lambda: ours(lambda: spectrata.torch.off_zero(strat, x, log=True)), plain_off_zero),
        "magnitudes": (lambda: ours(lambda: spectrata.torch.magnitudes(strat, x).sum()), plain_magnitudes),
        "effective_rank": (lambda: ours(lambda: spectrata.torch.effective_rank(x)), plain_rank),
    }
    rows = []
    for name, (mine, theirs) in pairs.items():
        mine(), theirs()
        times = [(best(mine, 5), best(theirs, 5)) for _ in range(3)]
        words = f"{name} with gradients, n = {n:,}, d = {width}"
        rows.append(Row(words, "a few lines of torch", *map(min, zip(*times, strict=True)), "0.5x"))
    return rows


def training(data: object, epochs: int, **watching: object) -> Iterator[None]:
    """Train a two-layer GCN, watched where options are given, one epoch at a time; gives its weights and the watch."""
    torch.manual_seed(0)
    model = GCN(data.x.shape[1], 64, 2, int(data.y.max()) + 1, dropout=0.5).to(data.x.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    random = torch.cuda if data.x.device.type == "cuda" else torch  # draws dropout
    state = random.get_rng_state()
    w = spectrata.torch.watch(model, data, **watching) if watching else None
    with w or nullcontext():
        for epoch in range(epochs):
            random.set_rng_state(state)  # trainings that take turns draw what each would draw alone
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x, data.edge_index), data.y)
            loss.backward()
            optimizer.step()
            if w is not None:
                w.step(epoch)
            if data.x.device.type == "cuda":
                torch.cuda.synchronize()
            state = random.get_rng_state()
            yield
    return [one.detach().clone() for one in model.parameters()], w


def in_turn(data: object, epochs: int, runs: dict[str, dict]) -> tuple[dict[str, np.ndarray], dict[str, tuple]]:
    """Trainings that take turns after every epoch, so that a busy machine slows all alike.

    Processor and wall time of each, and what each gave.
    """
    waiting = {kind: training(data, epochs, **options) for kind, options in runs.items()}
    times, ends = {kind: np.zeros(2) for kind in runs}, {}
    while waiting:
        for kind in list(waiting):
            start = np.array([time.process_time(), time.perf_counter()])
            try:
                next(waiting[kind])
            except StopIteration as end:
                ends[kind] = end.value
                del waiting[kind]
            times[kind] += [time.process_time(), time.perf_counter()] - start
    return times, ends


def identical(data: object, epochs: int, options: dict) -> str:
    """Whether a watched training ends in the same weights; sums on a GPU are made in a fixed order here."""
    torch.use_deterministic_algorithms(True)
    _, ends = in_turn(data, epochs, {"one": {}, "again": {}, "watched": options | {"evaluate": 1}})
    torch.use_deterministic_algorithms(False)
    same, repeated = (all(map(torch.equal, ends["one"][0], ends[kind][0])) for kind in ("watched", "again"))
    return "bit-identical" if same else "DIFFERENT" if repeated else "two trainings alone differ"


def costs(name: str, data: object, epochs: int, repeats: int) -> list[str]:
    """Processor time that watching adds: by default, and with 10 evaluations, without and with the control."""
    evaluate = epochs // 10
    kinds = {
        "10 evaluations": (0.05, {"evaluate": evaluate, "control": None}),
        "with control": (0.10, {"evaluate": evaluate, "control": "no_messages"}),
        "by default": (0.10, {"evaluate": None}),
    }
    runs = {"alone": {}} | {kind: options for kind, (_, options) in kinds.items()}
    in_turn(data, evaluate, runs)  # loads libraries
    found = [in_turn(data, epochs, runs) for _ in range(repeats)]
    base, wall = np.median([times["alone"] for times, _ in found], axis=0)
    rows = []
    for kind, (share, _) in kinds.items():
        extra, more_wall = np.median([times[kind] - times["alone"] for times, _ in found], axis=0)
        rows.append(
            f"| {name} | {kind} | {base:.2f} s | {extra:+.2f} s | {max(share * base, 0.2):.2f} s | "
            f"{wall:.2f} {more_wall:+.2f} s | {found[0][1][kind][1].overhead.watching:.2f} s | "
            f"{identical(data, evaluate, runs[kind])} |"
        )
    return rows


COSTS = (
    "| graph | watching | training, processor | watching adds | asked | wall clock | w.overhead | weights |\n"
    "|---|---|---|---|---|---|---|---|"
)


def from_file(path: Path, device: str) -> object:
    """A public graph as PyTorch Geometric has it."""
    from scipy.sparse import csr_array
    from torch_geometric.data import Data
    from torch_geometric.utils import to_undirected

    with np.load(path) as file:
        parts = tuple(file[f"features_{part}"] for part in ("data", "indices", "indptr"))
        x = csr_array(parts, shape=tuple(file["features_shape"])).toarray().astype(np.float32)
        edges = file["edges"][file["edges"][:, 0] != file["edges"][:, 1]].astype(np.int64)
        y = file["labels"].astype(np.int64)
    return Data(torch.tensor(x), to_undirected(torch.tensor(edges.T)), y=torch.tensor(y)).to(device)


def generated(n: int, width: int = 64) -> tuple[nx.Graph, object]:
    """A graph with preferential attachment, and data on it."""
    from torch_geometric.utils import from_networkx

    graph = nx.barabasi_albert_graph(n, 2, seed=0)
    data = from_networkx(graph)
    data.x = torch.randn(n, width, generator=torch.Generator().manual_seed(0))
    data.y = torch.arange(n) % 7
    return graph, data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path, help="cora.npz and others; a generated graph without any")
    parser.add_argument("--small", action="store_true", help="sizes that measure nothing")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-losses", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    graph, data = generated(200 if given.small else 2485)
    if not given.no_losses:
        print(HEADER)
        for row in losses(graph, given.device):
            print(row, flush=True)
    print(COSTS)
    named = {path.stem: from_file(path, given.device) for path in given.graphs} or {"generated": data.to(given.device)}
    for name, one in named.items():
        for line in costs(name, one, 20 if given.small else 200, given.repeats):
            print(line, flush=True)


if __name__ == "__main__":
    main()
