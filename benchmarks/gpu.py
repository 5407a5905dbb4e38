"""All hops on a GPU against the eigensolves of the same strata alone, and against the CPU's numbers.

python benchmarks/gpu.py [--sizes 3000 10000 20000]
"""

import argparse
import time

import networkx as nx
import numpy as np
import torch

import spectrata as st
from spectrata.kernels.backend import Backend

ALGORITHMS = ("gft", "apprx_ls", "in_agg", "adj_diff")


def timed(work):
    """Seconds and result of ``work()`` with the device idle before and after."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def solves_alone(strat: st.Stratification, backend: Backend) -> float:
    """Seconds of ``torch.linalg.eigh`` on the Laplacians of the same strata, built beforehand."""
    total = 0.0
    for hop in strat.hops:
        stratum = strat.strata.at(hop, backend)
        x, y = stratum.edges.T
        laplacian = torch.zeros((stratum.n_nodes, stratum.n_nodes), dtype=torch.float64, device=backend.device)
        laplacian[x, y] = laplacian[y, x] = -1.0
        laplacian.diagonal().copy_(-laplacian.sum(0))
        seconds, _ = timed(lambda matrix=laplacian: torch.linalg.eigh(matrix))
        total += seconds
        del laplacian
    return total


def run(n: int, backend: Backend) -> None:
    graph = nx.gnm_random_graph(n, 3 * n, seed=1)
    signal = torch.tensor(np.random.default_rng(0).standard_normal((n, 64)), device="cuda")
    if backend.name == "cupy":
        import cupy

        signal = cupy.asarray(signal)
    search, strat = timed(lambda: st.Stratification(graph, max_basis_bytes=0))
    torch.cuda.reset_peak_memory_stats()
    whole, _ = timed(lambda: strat.spectra(signal, ALGORITHMS))
    peak = torch.cuda.max_memory_allocated() / 2**30
    alone = solves_alone(strat, Backend("torch", "cuda:0"))
    print(
        f"{backend.name:6} n={n:6,} hops={len(strat.hops)}  graph and distances {search:5.2f} s  "
        f"spectra {whole:7.2f} s  solves alone {alone:7.2f} s  "
        f"ratio {(search + whole) / alone:.2f}  peak {peak:.1f} GiB",
        flush=True,
    )


def compare_with_cpu(n: int) -> None:
    graph = nx.gnm_random_graph(n, 3 * n, seed=2)
    signal = np.random.default_rng(1).standard_normal((n, 16))
    strat = st.Stratification(graph, max_basis_bytes=0)
    cpu, gpu = (strat.using(device=device).spectra(signal, ALGORITHMS) for device in ("cpu", "cuda"))
    worst = {}
    for algorithm in ALGORITHMS:
        for hop in strat.hops:
            ours, theirs = (ds["magnitude"].loc[algorithm].sel(hop=hop).values for ds in (gpu, cpu))
            if algorithm == "adj_diff":
                simple = cpu["multiplicity"].sel(hop=hop).values == 1
                ours, theirs = ours[simple], theirs[simple]
            else:
                spaces = cpu["eigenspace"].sel(hop=hop).values
                ours, theirs = (np.sqrt(np.bincount(spaces, values**2)) for values in (ours, theirs))
            if len(theirs):
                worst[algorithm] = max(worst.get(algorithm, 0.0), float(np.abs(ours - theirs).max() / theirs.max()))
    print(f"largest difference from the CPU at n={n:,}, relative to the hop's largest magnitude: {worst}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[3000, 10000, 20000])
    sizes = parser.parse_args().sizes
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    run(1000, Backend("torch", "cuda:0"))  # loads libraries and compiles
    run(1000, Backend("cupy", "cuda:0"))
    compare_with_cpu(2000)
    for n in sizes:
        run(n, Backend("torch", "cuda:0"))
        if n <= 10000:
            run(n, Backend("cupy", "cuda:0"))


if __name__ == "__main__":
    main()
