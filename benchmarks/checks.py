"""The cost of the checks that stay on.

Processor time: every function that checks or bounds is timed from outside while ``spectra`` and ``spectra_many`` run.
Run by hand, on one thread::

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/checks.py [--nodes 1000] [--repeat 3]
"""

import argparse
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

import spectrata as st
from spectrata.core import engine
from spectrata.core.bases import partial, solve
from spectrata.many import stacked_bases

# Where each is called from, and its name there.
CHECKS = {
    "residuals, orthonormality": [(solve, "verify"), (partial, "verify"), (stacked_bases, "verify_stack")],
    "sums": [(engine, "verify_sums")],
    "bounds on errors": [(engine, "error_of"), (engine, "doubts_of")],
    "eigenvalues counted": [(partial, "_counted")],
}


def timed(
    function: Callable[..., Any], spent: dict[str, float], name: str, inside: threading.local
) -> Callable[..., Any]:
    """The function with its processor time added up; a check inside another one counts once."""

    def run(*given: Any, **named: Any) -> Any:
        if getattr(inside, "one", False):
            return function(*given, **named)
        inside.one = True
        start = time.thread_time()  # hops may run side by side, each on one thread
        try:
            return function(*given, **named)
        finally:
            spent[name] += time.thread_time() - start
            inside.one = False

    return run


def measured(call: Callable[[], Any], repeat: int) -> tuple[float, dict[str, float]]:
    """Least processor time of a call, and that of its checks in the same run."""
    best: tuple[float, dict[str, float]] = (np.inf, {})
    for _ in range(repeat):
        spent: dict[str, float] = defaultdict(float)
        inside = threading.local()
        places = [
            (owner, name, getattr(owner, name), title) for title, all_of in CHECKS.items() for owner, name in all_of
        ]
        for owner, name, function, title in places:
            setattr(owner, name, timed(function, spent, title, inside))
        try:
            start = time.process_time()
            call()
            whole = time.process_time() - start
        finally:
            for owner, name, function, _ in places:
                setattr(owner, name, function)
        best = min(best, (whole, dict(spent)), key=lambda one: one[0])
    return best


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    n, rng = asked.nodes, np.random.default_rng(0)
    graph = nx.gnm_random_graph(n, 4 * n, seed=1)
    signal = rng.standard_normal((n, 8))
    small = [(nx.gnm_random_graph(30, 60, seed=seed), rng.standard_normal(30)) for seed in range(max(4, n // 4))]
    calls = {
        f"spectra, {n} nodes, hop 1": lambda: st.spectra(graph, signal, hops=1),
        f"spectra, {n} nodes, all hops": lambda: st.spectra(graph, signal),
        f"spectra, {n} nodes, n_eigs=20": lambda: st.spectra(st.Stratification(graph, hops=1, n_eigs=20), signal),
        f"spectra_many, {len(small)} graphs of 30": lambda: st.spectra_many(small, hops=2),
    }
    st.spectra(nx.path_graph(5), range(5))  # loads what is loaded once
    print(f"{'call':42} {'seconds':>8} {'checks':>8}  of which")
    for name, call in calls.items():
        whole, spent = measured(call, asked.repeat)
        parts = ", ".join(f"{title} {time / whole:.1%}" for title, time in spent.items())
        print(f"{name:42} {whole:8.3f} {sum(spent.values()) / whole:8.1%}  {parts}")


if __name__ == "__main__":
    main()
