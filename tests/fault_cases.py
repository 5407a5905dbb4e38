"""What is run under faults: the four ways to work, small enough to be run some hundred times.

Each case takes a folder and a function that tells what is finished; some start from what is in the folder.
"""

import contextlib
import functools
import os
import sys
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import zarr  # noqa: F401 - not used before a fork: its thread would be lost there

import spectrata as st
import spectrata.cli.app
import spectrata.many.run
import spectrata.torch.watching.watch
from many_cases import make_pairs
from spectrata.results import atomic_io

GRAPH = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 4)])
STEPS = 7  # passes of a watched run
ROWS = np.random.default_rng(0).standard_normal((STEPS, 2, 7, 3)).astype(np.float32)


def signal(number):
    return np.random.default_rng(number).standard_normal((7, 2))


def write_inputs(folder, pairs=40):
    """A graph and two signals, as files beside the folder that is under fault."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.txt").write_text("".join(f"{a} {b}\n" for a, b in GRAPH.edges))
    for number in (1, 2):
        np.save(folder / f"signal{number}.npy", signal(number))
    rows = [f"graph.txt,signal{1 + i % 2}.npy,pair {i}" for i in range(pairs)]
    (folder / "pairs.csv").write_text("\n".join(["graph,signal,name", *rows, ""]))


def command(*words):
    """The command line in this process; gives its exit code."""
    sys.argv = ["spectrata", *(str(word) for word in words)]
    try:
        spectrata.cli.app.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def profile(folder, tell, number=2):
    folder.mkdir(parents=True, exist_ok=True)
    words = ["--draws", "39", "--report", "--csv", "--hops", "1", "-o", "."]
    with contextlib.chdir(folder):
        return command("profile", "../inputs/graph.txt", f"../inputs/signal{number}.npy", *words)


def save_zarr(folder, tell, number=2):
    st.save(st.spectra(GRAPH, signal(number), "gft", hops=1), folder / "result.zarr")


def careless(case):
    """A case as it was if nothing waited for the disk."""

    def run(folder, tell):
        atomic_io.sync = lambda place: None
        case(folder, tell)

    return run


def cache(folder, tell):
    st.spectra(st.Stratification(GRAPH, cache=folder / "bases"), signal(1), "gft")


def many(folder, tell, retry=False):
    pairs = make_pairs(5, bad=(1,))
    if retry:  # its signal was mended
        name, graph, signal = pairs[1]
        pairs[1] = name, graph, np.vstack([signal, signal[:1]])
    arguments = {"chunk": 2, "algorithms": "gft"}
    st.spectra_many(pairs, store=folder / "run.zarr", progress=lambda _, done: tell(round(5 * done)), **arguments)


def manifest(folder, tell):
    """The same by the command line, with two processes."""
    return command("profile", "--many", folder.parent / "inputs" / "pairs.csv", "-o", folder, "--jobs", 2)


def many_again(folder, tell):
    """The pair that failed is tried again, in a chunk with one that is done."""
    many(folder, tell, retry=True)


def watched(folder, tell):
    """Passes recorded by hand, numbered on from what the log holds; a label comes after its pass."""
    import torch

    log = [folder / "run.zarr", folder / "run.csv"]
    arguments = {"hops": 1, "algorithms": "gft"}
    watch = spectrata.torch.watch(torch.nn.Linear(1, 1), GRAPH, layers=[""], log=log, mode="train", **arguments)
    for step in range(watch.listener.next_step, STEPS):
        a, b = (torch.from_numpy(array) for array in ROWS[step])
        watch.record({"a": a, "b": b})
        tell(step)
        watch.step(epoch=step)
    watch.close()


def warm_up():
    """Import whatever the cases import, by running those that begin no thread."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        write_inputs(Path(folder) / "inputs")
        with contextlib.redirect_stdout(nowhere):
            for case in (profile, cache):
                case(Path(folder) / case.__name__, None)


CASES = {
    "profile": profile,
    "profile 1": functools.partial(profile, number=1),
    "profile 2": profile,
    "save": save_zarr,
    "save careless": careless(save_zarr),
    "cache": cache,
    "many": many,
    "many again": many_again,
    "manifest": manifest,
    "watch": watched,
}
