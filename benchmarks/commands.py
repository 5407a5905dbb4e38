"""Processor time and peak memory of whole commands, as ratios to the bare computation.

The bare computation reads the files, solves each hop once by ``numpy.linalg.eigh`` (random-walk Laplacian) and draws
999 orders for each of two nulls as one product of a sparse matrix; it imports numpy and scipy only. ``--against DIR``
runs the same commands on another checkout, for a comparison of before and after.

    python benchmarks/commands.py [NAMES] [--repeat 3] [--against DIR]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SMALL, MIDDLE, LARGE = 100, 800, 200_000
# By name: the words of the command, and the bare computation: graph, signal, hops that are solved, orders and columns.
COMMANDS: dict[str, tuple[list[str], tuple[Any, ...] | None]] = {
    "help": (["--help"], None),
    "small": (["profile", "small.txt", "small.npy"], ("small.txt", "small.npy", 4, 999)),
    "middle": (["profile", "middle.txt", "middle.npy", "--hops", "3"], ("middle.txt", "middle.npy", 3, 999)),
    "columns": (
        ["profile", "middle.txt", "table.npy", "--hops", "1", "--columns", "separate"],
        ("middle.txt", "table.npy", 1, 999),
    ),
    "report": (
        ["profile", "middle.txt", "middle.npy", "--hops", "3", "--report"],
        ("middle.txt", "middle.npy", 3, 999),
    ),
    "correlogram": (["correlogram", "middle.txt", "middle.npy", "--hops", "3"], ("middle.txt", "middle.npy", -3, 999)),
    "homophily": (["homophily", "middle.txt", "labels.csv", "--hops", "2"], ("middle.txt", "codes.npy", -2, 999)),
    "strata": (["strata", "large.txt"], ("large.txt", None, 0, 0)),
    "bands": (["profile", "large.txt", "large.npy", "--bands", "16"], ("large.txt", "large.npy", 0, 0)),
    "demo": (["demo"], ("karate.txt", None, 5, 999)),
}
BARE = """
import sys
import numpy as np, scipy.sparse as sp
graph, signal, hops, orders = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
edges = np.fromstring(open(graph).read(), dtype=np.int64, sep=" ").reshape(-1, 2)
n = int(edges.max()) + 1
values = np.load(signal).reshape(n, -1).astype(float) if signal != "-" else np.arange(n, dtype=float)[:, None]
adjacency = sp.csr_array((np.ones(2 * len(edges)), (edges.ravel("F"), edges[:, ::-1].ravel("F"))), shape=(n, n))
if hops:
    distance = np.full((n, n), -1, dtype=np.int16)
    np.fill_diagonal(distance, 0)
    reach = np.eye(n, dtype=bool)
    for hop in range(1, abs(hops) + 1):
        reach = (adjacency @ reach.astype(np.float32)) > 0
        new = reach & (distance < 0)
        distance[new] = hop
        pairs = sp.csr_array(new.astype(float))
        degrees = np.maximum(pairs.sum(axis=1), 1e-300)
        if hops > 0:
            root = 1 / np.sqrt(degrees)
            np.linalg.eigh(np.eye(n) - root[:, None] * pairs.toarray() * root)
        random = np.random.default_rng(0)
        for _ in range(2):
            order = np.argsort(random.random((orders, n)), axis=1)
            for column in values.T:
                moved = np.ascontiguousarray(column[order].T)
                np.einsum("ij,ij->j", moved, pairs @ moved)
"""


def write_inputs(folder: Path) -> None:
    """Graphs and signals of three sizes, in a process of its own: a child starts with the memory of its parent."""
    import networkx as nx
    import numpy as np

    rng = np.random.default_rng(0)
    graphs = {
        "karate": nx.karate_club_graph(),
        "small": nx.barabasi_albert_graph(SMALL, 3, seed=1),
        "middle": nx.connected_watts_strogatz_graph(MIDDLE, 8, 0.1, seed=1),
    }
    for name, graph in graphs.items():
        np.savetxt(folder / f"{name}.txt", np.array(sorted(graph.edges)), fmt="%d")
        np.save(folder / f"{name}.npy", rng.normal(size=len(graph)))
    ring = np.arange(LARGE)
    edges = np.concatenate([np.column_stack([ring, (ring + step) % LARGE]) for step in (1, 2)])
    far = rng.integers(0, LARGE, (LARGE, 2))
    edges = np.unique(np.sort(np.concatenate([edges, far[far[:, 0] != far[:, 1]]]), axis=1), axis=0)
    np.savetxt(folder / "large.txt", edges, fmt="%d")
    np.save(folder / "large.npy", rng.normal(size=LARGE))
    np.save(folder / "table.npy", rng.normal(size=(MIDDLE, 50)))
    codes = rng.integers(0, 4, MIDDLE)
    np.save(folder / "codes.npy", codes)
    (folder / "labels.csv").write_text("node,label\n" + "".join(f"{node},c{code}\n" for node, code in enumerate(codes)))


def measure(words: list[str], folder: Path, source: Path | None, repeat: int) -> tuple[float, float, int]:
    """Seconds of processor time (the least of some runs), peak memory in MiB, and the exit code."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source / "src")
    times, memory, code = [], 0.0, 0
    for _ in range(repeat):
        with open(os.devnull, "w") as sink:
            process = subprocess.Popen(words, cwd=folder, env=environment, stdout=sink, stderr=sink)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        times.append(used.ru_utime + used.ru_stime)
        memory = max(memory, used.ru_maxrss / 1024)
    return min(times), memory, code


def main() -> None:
    """Print one row for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(COMMANDS), help=", ".join(COMMANDS))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the fastest counts")
    parser.add_argument("--against", type=Path, help="another checkout, whose commands run as well")
    parser.add_argument("--inputs", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inputs is not None:
        write_inputs(asked.inputs)
        return
    checkouts = {"here": ROOT} | ({} if asked.against is None else {"other": asked.against.resolve()})
    columns = [f"{name} {what}" for name in checkouts for what in ("s", "MiB", "x bare")]
    print(f"{'command':<12}{'bare s':>9}{'MiB':>7}" + "".join(f"{title:>13}" for title in columns))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([sys.executable, __file__, "--inputs", place], check=True)
        (folder / "bare.py").write_text(BARE)
        for name in asked.names:
            words, bare = COMMANDS[name]
            line, least = f"{name:<12}", float("nan")
            if bare is None:
                line += f"{'':>16}"
            else:
                given = [str("-" if word is None else word) for word in bare]
                least, memory, _ = measure([sys.executable, "bare.py", *given], folder, None, asked.repeat)
                line += f"{least:>9.2f}{memory:>7.0f}"
            for source in checkouts.values():
                command = [sys.executable, "-m", "spectrata", *words]
                seconds, memory, code = measure(command, folder, source, asked.repeat)
                failed = "" if code == 0 else f"exit {code}"
                ratio = "" if bare is None else f"{seconds / least:.2f}"
                line += f"{seconds:>13.2f}{memory:>13.0f}{failed or ratio:>13}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
