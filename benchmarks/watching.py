"""What watching and losses cost, as ratios of two measurements in one run: ``python benchmarks/watching.py [CORA]``.

The losses are compared with the few lines of torch that do the same. Recording is the time inside hooks over the time
of the training, at ``every=10``; the whole block, with bases and transforms, stands beside it. On a machine that does
other work at the same time the numbers say little.
"""

import argparse
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


def recording(data: object, device: str, epochs: int) -> str:
    """A two-layer GCN with ``every=10``: recording over training, and the training inside the block over that alone."""
    data = data.to(device)  # type: ignore[attr-defined]
    model = GCN(data.x.shape[1], 64, 2, int(data.y.max()) + 1, dropout=0.5).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def train(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            F.cross_entropy(model(data.x, data.edge_index), data.y).backward()
            optimizer.step()
        if device != "cpu":
            torch.cuda.synchronize()

    train(10)  # loads libraries
    alone = best(lambda: train(epochs), 1)
    with spectrata.torch.watch(model, data, every=10) as w:
        inside = best(lambda: train(epochs), 1)
    share = 100 * w.overhead.record / alone
    return (
        f"Recording at every=10, {data.num_nodes:,} nodes, {epochs} epochs on {device}: {share:.1f} % of training "
        f"(2 % wanted); {alone:.2f} s alone, {inside:.2f} s in the block.\n{w.overhead}"
    )


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
    parser.add_argument("cora", nargs="?", help="cora.npz; a generated graph of the same size without it")
    parser.add_argument("--small", action="store_true", help="sizes that measure nothing")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    graph, data = generated(200 if given.small else 2485)
    if given.cora:
        import sys

        sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
        from gcn_depth import cora

        data = cora(Path(given.cora))
    print(HEADER)
    for row in losses(graph, given.device):
        print(row, flush=True)
    print(recording(data, given.device, 20 if given.small else 200))


if __name__ == "__main__":
    main()
