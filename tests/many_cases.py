"""Pairs for the tests of many graphs, and executors that watch; workers import this file."""

import os
import signal
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path

import networkx as nx
import numpy as np


def make_pairs(count, seed=0, bad=()):
    """Named pairs of random graphs of 8 to 40 nodes; those in ``bad`` lack a row of their signal."""
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(count):
        n = int(rng.integers(8, 41))
        graph = nx.gnp_random_graph(n, 0.25, seed=i)
        graph.add_edge(0, 1)
        pairs.append((f"pair {i}", graph, rng.standard_normal((n - (i in bad), 3))))
    return pairs


class Deadly(Mapping):
    """A signal that ends the process which reads it, unless that is the one that made it."""

    def __init__(self, rows):
        self.rows, self.maker = list(rows), os.getpid()

    def harm(self):
        if os.getpid() != self.maker:
            os.kill(os.getpid(), signal.SIGKILL)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, node):
        return self.rows[node]

    def items(self):
        self.keys()
        return super().items()

    def __iter__(self):
        self.harm()
        return iter(range(len(self.rows)))


class Hungry(Deadly):
    """A signal for which there is no memory."""

    def harm(self):
        raise MemoryError("no room")


def die_at(number, healed):
    """The square of a number; 3 ends its worker until a file is there."""
    if number == 3 and not Path(healed).exists():
        os._exit(9)
    return {"square": np.array(number * number)}


def logged(log, pause, function, chunk, *more):
    """Do the work, and say in a file that it was begun and by whom, in another that something was computed."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{chunk[0].index} {os.getpid()}\n")
    time.sleep(pause)
    outcomes = function(chunk, *more)
    if any(outcome.arrays for outcome in outcomes):
        with Path(f"{log}.computed").open("a", encoding="utf-8") as file:
            file.write(f"{chunk[0].index} {os.getpid()}\n")
    return outcomes


class Watched(Executor):
    """An executor that logs what it is given to do."""

    def __init__(self, inner, log, pause=0.0):
        self.inner, self.log, self.pause = inner, str(log), pause
        self._client = getattr(inner, "_client", None)
        self._max_workers = getattr(inner, "_max_workers", 2)

    def submit(self, function, /, *arguments):
        return self.inner.submit(logged, self.log, self.pause, function, *arguments)


def begun(log):
    """First positions of the chunks that were begun, in order, and the processes that did."""
    if not Path(log).exists():
        return [], []
    lines = [line.split() for line in Path(log).read_text(encoding="utf-8").splitlines()]
    return [int(index) for index, _ in lines], [int(pid) for _, pid in lines]


def client_main():
    """A client in a process of its own, to be killed: address, store, log, pairs, pause."""
    from dask.distributed import Client

    import spectrata as st

    address, store, log, count, pause = sys.argv[1:]
    with Client(address, set_as_default=False) as client:
        executor = Watched(client.get_executor(pure=False), log, float(pause))
        st.spectra_many(make_pairs(int(count)), executor, store, chunk=4)


if __name__ == "__main__":
    client_main()
