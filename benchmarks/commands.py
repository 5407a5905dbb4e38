"""Processor time and peak memory of whole commands, as ratios to the bare computation.

The bare computation reads the files, solves each hop once for each operator with ``scipy.linalg.eigh``, and draws as
many orders as the command does for each null, in numpy and scipy; the given null takes covariates off every
order. ``--against DIR`` runs the same commands on another checkout, for a comparison of before and after. Rows
without a bare computation have a limit in seconds, up to the first line that they print.

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
SMALL, MIDDLE, LARGE, GRAPHS = 100, 2_000, 200_000, 200
MOST = 1.5  # times the bare computation
ORDERS, COVARIATES = 999, 7
DRAWS = ["--draws", str(ORDERS)]
PROFILE = ["profile", "middle.txt", "middle.npy", *DRAWS, "--hops", "3"]
# By name: the words of the command, and the bare computation or a limit in seconds.
COMMANDS: dict[str, tuple[list[str], Any]] = {
    "help": (["--help"], 0.3),
    "small": (["profile", "small.txt", "small.npy"], 1.2),
    "small tests": (["correlogram", "small.txt", "small.npy"], 1.2),
    "demo": (["demo"], 10.0),
    "profile": (PROFILE, {"signal": "middle.npy", "hops": 3, "shares": True}),
    "report": ([*PROFILE, "--report"], {"signal": "middle.npy", "hops": 3, "shares": True, "local": True}),
    "columns": (
        ["profile", "middle.txt", "table.npy", "--hops", "1", "--columns", "separate", *DRAWS],
        {"signal": "table.npy", "hops": 1, "solved": True},
    ),
    "correlogram": (["correlogram", *PROFILE[1:]], {"signal": "middle.npy", "hops": 3}),
    "vectors": (["correlogram", "middle.txt", "table.npy", "--hops", "2", *DRAWS], {"signal": "table.npy", "hops": 2}),
    "homophily": (
        ["homophily", "middle.txt", "labels.csv", "--hops", "2", *DRAWS],
        {"signal": "classes.npy", "hops": 2},
    ),
    "local": (["local", *PROFILE[1:5]], {"signal": "middle.npy", "local": True}),
    "agree": (["agree", *PROFILE[1:3], "other.npy", *DRAWS], {"signal": "middle.npy", "agree": "other.npy"}),
    "many": (["profile", "--many", "pairs.csv", "--hops", "3"], {"many": True}),
    "strata": (["strata", "large.txt"], {"graph": "large.txt", "roots": 64}),
    "bands": (
        ["profile", "large.txt", "large.npy", "--bands", "16", "--hops", "1"],
        {"graph": "large.txt", "signal": "large.npy", "steps": 240, "columns": 5},
    ),
}


# ---- the bare computation


def read(path: str) -> Any:
    """The adjacency matrix of an edge list."""
    import numpy as np
    import scipy.sparse as sp

    edges = np.loadtxt(path, dtype=np.int64)
    n = int(edges.max()) + 1
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))


def pairs_of(adjacency: Any, hops: int) -> Any:
    """One matrix of pairs for each hop."""
    import scipy.sparse as sp

    seen = sp.eye_array(adjacency.shape[0], format="csr")
    reached = seen
    for _ in range(hops):
        reached = (reached @ adjacency).astype(bool).astype(float)
        reached = reached - reached.multiply(seen)
        reached.eliminate_zeros()
        seen = seen + reached
        yield reached


def solve(pairs: Any, random_walk: bool = True) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a Laplacian."""
    import numpy as np
    import scipy.linalg

    degrees = pairs.sum(axis=1)
    root = 1 / np.sqrt(np.maximum(degrees, 1)) if random_walk else np.ones(len(degrees))
    laplacian = np.diag(degrees * root * root) - root[:, None] * pairs.toarray() * root
    return scipy.linalg.eigh(laplacian, driver="evd", overwrite_a=True)


def draw(pairs: Any, values: Any, forms: Any, local: bool, separate: bool) -> None:
    """Both nulls: r, shares of the spectrum, and the part of every node, under as many orders as a command draws."""
    import numpy as np

    rng = np.random.default_rng(0)
    n, degrees = len(values), pairs.sum(axis=1)
    basis = np.linalg.qr(rng.normal(size=(n, COVARIATES)))[0]
    columns = values.T[:, :, None] if separate else values[None]
    for given in (False, True):
        orders = rng.permuted(np.broadcast_to(np.arange(n), (ORDERS, n)), axis=1)
        if given:
            orders = np.argsort(degrees + rng.random((ORDERS, n)), axis=1)
        for signal in columns:
            for some in np.array_split(orders, max(1, signal.size * ORDERS // 2**20)):
                moved = signal[some.T].reshape(n, -1)
                if given:
                    moved -= basis @ (basis.T @ moved)
                moved -= degrees @ moved / degrees.sum()
                variation = degrees @ (moved * moved)
                sums = pairs @ moved
                np.sum(moved * sums, axis=0) / variation
                for form in forms:
                    np.sum((form @ moved) ** 2, axis=0) / variation
                if local:
                    np.sort(signal * sums, axis=1)


def bare(
    graph: str = "middle.txt",
    signal: str | None = None,
    hops: int = 0,
    shares: bool = False,
    solved: bool = False,
    local: bool = False,
    agree: str | None = None,
    many: bool = False,
    roots: int = 0,
    steps: int = 0,
    columns: int = 1,
) -> None:
    """Read, solve, draw."""
    import numpy as np

    if many:
        for number in range(GRAPHS):
            np.load(f"graph{number}.npy")
            for pairs in pairs_of(read(f"graph{number}.txt"), 3):
                solve(pairs, False)
        return
    adjacency = read(graph)
    n = adjacency.shape[0]
    values = None if signal is None else np.load(signal).reshape(n, -1)
    for pairs in pairs_of(adjacency, hops):
        forms = []
        if shares or solved:
            vectors = solve(pairs)[1] * np.sqrt(pairs.sum(axis=1))[:, None]
            forms = [vectors[:, : n // 4].T, vectors[:, -n // 4 :].T] if shares else []
        draw(pairs, values, forms, False, separate=solved)
    if local:
        draw(adjacency, values, [], True, False)
    if agree is not None:
        other = np.load(agree).reshape(n, 1)
        for vectors in (solve(adjacency, walk)[1] for walk in (True, False)):
            for one, two in ((values, other), (other, values)):
                signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, ORDERS))
                made = vectors @ (signs * (vectors.T @ one))
                two.T @ made, two.T @ (adjacency @ made), np.sum(made * made, axis=0)
    for root in np.random.default_rng(0).integers(0, n, roots):
        from scipy.sparse.csgraph import breadth_first_order

        breadth_first_order(adjacency, root)
    if steps:
        block = np.repeat(values, columns, axis=1)
        degrees = adjacency.sum(axis=1)[:, None]
        before = np.zeros_like(block)
        for _ in range(steps):
            block, before = degrees * block - adjacency @ block - before, block
            block /= np.linalg.norm(block, axis=0)


# ---- commands


def write_inputs(folder: Path) -> None:
    """Graphs and signals of three sizes, in a process of its own: a child starts with the memory of its parent."""
    import networkx as nx
    import numpy as np

    rng = np.random.default_rng(0)
    graphs = {
        "small": nx.barabasi_albert_graph(SMALL, 3, seed=1),
        "middle": nx.connected_watts_strogatz_graph(MIDDLE, 8, 0.1, seed=1),
    }
    graphs |= {f"graph{number}": nx.cycle_graph(32 + number % 8) for number in range(GRAPHS)}
    for name, graph in graphs.items():
        np.savetxt(folder / f"{name}.txt", np.array(sorted(graph.edges)), fmt="%d")
        np.save(folder / f"{name}.npy", rng.normal(size=len(graph)))
    lines = [f"graph{number}.txt,graph{number}.npy\n" for number in range(GRAPHS)]
    (folder / "pairs.csv").write_text("graph,signal\n" + "".join(lines))
    ring = np.arange(LARGE)
    edges = np.concatenate([np.column_stack([ring, (ring + step) % LARGE]) for step in (1, 2)])
    far = rng.integers(0, LARGE, (LARGE, 2))
    edges = np.unique(np.sort(np.concatenate([edges, far[far[:, 0] != far[:, 1]]]), axis=1), axis=0)
    np.savetxt(folder / "large.txt", edges, fmt="%d")
    np.save(folder / "large.npy", rng.normal(size=LARGE))
    np.save(folder / "table.npy", rng.normal(size=(MIDDLE, 50)))
    np.save(folder / "other.npy", rng.normal(size=MIDDLE))
    codes = rng.integers(0, 4, MIDDLE)
    np.save(folder / "classes.npy", np.eye(4)[codes])
    (folder / "labels.csv").write_text("node,label\n" + "".join(f"{node},c{code}\n" for node, code in enumerate(codes)))


def measure(words: list[str], folder: Path, source: Path | None, repeat: int) -> tuple[float, float, float, int]:
    """Seconds of processor time, in all and up to the first line, peak memory in MiB, and the exit code.

    The least of some runs counts.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source / "src")
    times, first, memory, code = [], [], 0.0, 0
    for _ in range(repeat):
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        process.stdout.readline()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        first.append(sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))
        process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        times.append(used.ru_utime + used.ru_stime)
        memory = max(memory, used.ru_maxrss / 1024)
    return min(times), min(first), memory, code


def main() -> None:
    """Print one row for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(COMMANDS), help=", ".join(COMMANDS))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the fastest counts")
    parser.add_argument("--against", type=Path, help="another checkout, whose commands run as well")
    parser.add_argument("--inputs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inputs is not None:
        write_inputs(asked.inputs)
        return
    if asked.bare is not None:
        bare(**COMMANDS[asked.bare][1])
        return
    checkouts = {"here": ROOT} | ({} if asked.against is None else {"other": asked.against.resolve()})
    columns = [f"{name} {what}" for name in checkouts for what in ("answer s", "whole s", "MiB", "x bare")]
    print(f"{'command':<12}{'bare s':>8}{'MiB':>6}{'at most':>9}" + "".join(f"{title:>16}" for title in columns))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([sys.executable, __file__, "--inputs", place], check=True)
        for name in asked.names:
            words, limit = COMMANDS[name]
            line, least = f"{name:<12}", float("nan")
            if isinstance(limit, dict):
                alone = [sys.executable, str(Path(__file__).resolve()), "--bare", name]
                least, _, memory, _ = measure(alone, folder, None, asked.repeat)
                line += f"{least:>8.2f}{memory:>6.0f}{f'x {MOST}':>9}"
            else:
                line += f"{f'{limit} s':>23}"
            for source in checkouts.values():
                command = [sys.executable, "-m", "spectrata", *words]
                seconds, answer, memory, code = measure(command, folder, source, asked.repeat)
                ratio = f"exit {code}" if code else "" if least != least else f"{seconds / least:.2f}"
                line += f"{answer:>16.2f}{seconds:>16.2f}{memory:>16.0f}{ratio:>16}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
