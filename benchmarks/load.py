"""Load, by hand: many graphs, a day's snapshots, thousands of calls, many threads; memory, time and bits.

    python benchmarks/load.py                       # all of it, about half an hour
    python benchmarks/load.py watch --size 100000   # one part

Each part runs in a process of its own and prints what it measured; a part that finds growth or a wrong number
fails. The small versions of the same parts are tests: see tests/test_load.py.
"""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SIZES = {"graphs": 10_000, "many": 10_000, "watch": 100_000, "calls": 2_000, "threads": 400}


def rss() -> float:
    """Memory of this process in MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def slope(at: list[float], values: list[float]) -> tuple[float, float]:
    """Growth over the second half of a run: of the straight line through it, and that over its mean."""
    half = len(at) // 2
    x, y = np.array(at[half:]), np.array(values[half:])
    growth = float(np.polyfit(x, y, 1)[0] * (x[-1] - x[0]))
    return growth, growth / float(np.mean(y))


def make_pairs(count: int, seed: int = 0) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Random connected graphs of 8 to 40 nodes as edges, with vectors of 3 numbers."""
    rng = np.random.default_rng(seed)
    pairs = []
    for index in range(count):
        n = int(rng.integers(8, 41))
        tree = [(int(rng.integers(0, i)), i) for i in range(1, n)]
        more = {tuple(sorted(pair)) for pair in rng.integers(0, n, size=(n, 2)).tolist() if pair[0] != pair[1]}
        edges = np.array(sorted({*tree, *more}))
        pairs.append((f"graph {index}", edges, rng.standard_normal((n, 3))))
    return pairs


def same_as_alone(found: Any, pairs: list, rows: list[int]) -> float:
    """The largest difference, over these rows, from calling ``spectra`` on each graph alone, in eigenspaces of one."""
    import spectrata as st

    worst = 0.0
    for row in rows:
        one, mine = st.spectra(pairs[row][1], pairs[row][2]), found.isel({"graph": row})
        hops, n = one.sizes["hop"], one.sizes["component"]
        single = one["multiplicity"].values == 1
        for algorithm in one["algorithm"].values:
            ours = mine["magnitude"].loc[algorithm].values[:hops, :n][single]
            worst = max(worst, float(np.abs(ours - one["magnitude"].loc[algorithm].values[single]).max()))
    return worst


def graphs(size: int) -> dict[str, Any]:
    """Small graphs through ``spectra_many``, in memory."""
    import spectrata as st

    pairs = make_pairs(size)
    before, start = rss(), time.perf_counter()
    ds = st.spectra_many(pairs)
    seconds = time.perf_counter() - start
    rows = np.linspace(0, size - 1, 50).astype(int).tolist()
    worst = same_as_alone(ds, pairs, rows)
    assert worst < 1e-8, worst
    held = ds.nbytes / 2**20
    return {
        "graphs": size, "seconds": round(seconds, 1), "graphs a second": round(size / seconds),
        "MiB before": round(before), "MiB at most": round(peak()), "MiB of result": round(held),
        "largest difference from single calls, 50 of them": f"{worst:.0e}",
    }  # fmt: skip


def many(size: int) -> dict[str, Any]:
    """The same into a store on disk."""
    import spectrata as st

    pairs = make_pairs(size)
    before, start = rss(), time.perf_counter()
    at: list[float] = []
    memory: list[float] = []

    def watch(message: str, fraction: float) -> None:
        at.append(fraction * size)
        memory.append(rss())

    with tempfile.TemporaryDirectory() as folder:
        ds = st.spectra_many(pairs, store=Path(folder) / "run.zarr", progress=watch)
        seconds = time.perf_counter() - start
        assert (ds["state"] == "done").all()
        worst = same_as_alone(ds, pairs, np.linspace(0, size - 1, 50).astype(int).tolist())
        files = sum(1 for path in Path(folder).rglob("*") if path.is_file())
        ds.close()
    assert worst < 1e-8, worst
    growth, share = slope(at, memory)
    assert growth < 20 or share < 0.05, f"memory grew by {growth:.0f} MiB"
    return {
        "graphs": size, "seconds": round(seconds, 1), "graphs a second": round(size / seconds),
        "MiB before": round(before), "MiB at most": round(peak()), "MiB grown over the second half": round(growth, 1),
        "files": files, "largest difference from single calls, 50 of them": f"{worst:.0e}",
    }  # fmt: skip


def watch(size: int) -> dict[str, Any]:
    """Snapshots of a small model through ``watch`` into a log: memory, time and log per snapshot, and the last one."""
    import torch

    import spectrata as st
    import spectrata.torch

    torch.set_num_threads(1)
    edges = np.array([[i, (i + k) % 24] for i in range(24) for k in (1, 5)])
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Linear(16, 3))
    source = torch.Generator().manual_seed(0)
    at, memory, times, bytes_held = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zarr"
        start = time.perf_counter()
        with spectrata.torch.watch(
            model, edges, ["0", "1"], log=path, flush_every=250, algorithms="gft", mode="train"
        ) as w:
            for step in range(size):
                x = torch.randn(24, 6, generator=source)
                with torch.no_grad():
                    kept = model(x)
                w.step(epoch=step)
                if (step + 1) % max(1, size // 100) == 0:
                    at.append(step + 1)
                    memory.append(rss())
                    times.append(time.perf_counter() - start)
                    bytes_held.append(tree_size(path))
        seconds = time.perf_counter() - start
        log = st.open(path)
        assert log["step"].values.tolist() == np.repeat(np.arange(size), 2).tolist()
        last = st.spectra(
            st.Stratification(edges=edges, n_nodes=24, hops=3), kept.double().numpy(), algorithms=["gft", "adj_diff"]
        )
        mine = log["magnitude"].isel(snapshot=-1)
        single = last["multiplicity"].values == 1
        worst = float(np.abs((mine - last["magnitude"]).values[:, single]).max())
        files = sum(1 for found in path.rglob("*") if found.is_file())
    assert worst < 1e-6, worst
    growth, share = slope(at, memory)
    assert growth < 10 or share < 0.03, f"memory grew by {growth:.0f} MiB"
    per = np.diff(times, prepend=0.0) / np.diff(at, prepend=0)
    quarter = max(1, len(per) // 4)
    first, late = float(np.median(per[:quarter])), float(np.median(per[-quarter:]))
    log_growth = np.diff(bytes_held) / np.diff(at)
    return {
        "snapshots": size, "seconds": round(seconds), "ms a snapshot, first quarter": round(1000 * first, 2),
        "ms a snapshot, last quarter": round(1000 * late, 2), "MiB at 1 %": round(memory[0]),
        "MiB at 50 %": round(memory[len(memory) // 2]), "MiB at the end": round(memory[-1]),
        "MiB grown over the second half": round(growth, 1), "MiB of log": round(bytes_held[-1] / 2**20, 1),
        "log bytes a snapshot, first and last quarter":
            f"{np.mean(log_growth[:quarter]):.0f}, {np.mean(log_growth[-quarter:]):.0f}",
        "files of log": files, "largest difference of the last from a single call": f"{worst:.0e}",
    }  # fmt: skip


def tree_size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0


def kinds(folder: Path) -> dict[str, Callable[[], Any]]:
    """What is called again and again."""
    import spectrata as st

    _, edges, signal = make_pairs(1, seed=3)[0]
    strat = st.Stratification(edges=edges)
    one = strat.spectra(signal)
    return {
        "spectra": lambda: st.spectra(st.Stratification(edges=edges), signal),
        "Stratification.spectra": lambda: strat.spectra(signal),
        "spectra, cache": lambda: st.spectra(st.Stratification(edges=edges, cache=folder / "bases"), signal),
        "band_spectra": lambda: st.band_spectra(edges, signal, bands=4),
        "spectra_many": lambda: st.spectra_many([(edges, signal)] * 4),
        "calibrate": lambda: st.calibrate(strat, signal, draws=39),
        "diagnose": lambda: st.diagnose(strat, signal),
        "plot.spectra": lambda: st.plot.spectra(one),
        "save and open": lambda: st.open(st.save(one, folder / "one.nc")),
        "save and open, Zarr": lambda: st.open(st.save(one, folder / "one.zarr")),
        "write_report": lambda: st.write_report(strat, signal, folder / "page.html"),
    }


SLOW = ("calibrate", "plot.spectra", "write_report", "save and open, Zarr", "save and open", "diagnose", "band_spectra")


def state() -> dict[str, int]:
    """What must not pile up, besides memory."""
    figures = len(sys.modules["matplotlib.pyplot"].get_fignums()) if "matplotlib.pyplot" in sys.modules else 0
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(), "figures": figures}


def calls(size: int) -> dict[str, Any]:
    """Repeated calls in one process: memory, open files, threads and figures after a warm-up."""
    out: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in kinds(Path(folder)).items():
            count = max(20, size // 10) if name in SLOW else size
            for _ in range(count // 4):
                call()
            gc.collect()
            held, at, memory = state(), [], []
            for index in range(count):
                call()
                if index % max(1, count // 40) == 0:
                    gc.collect()
                    at.append(float(index))
                    memory.append(rss())
            gc.collect()
            growth, _ = slope(at, memory)
            assert state() == held, (name, held, state())
            assert growth < max(4.0, 0.002 * count), (name, growth)
            out[name] = f"{count} calls, {growth:+.1f} MiB over the second half"
    return out


def threads(size: int) -> dict[str, Any]:
    """Threads that share one Stratification, make their own, or share a cache: the bits of one after the other."""
    from concurrent.futures import ThreadPoolExecutor

    import spectrata as st

    _, edges, _ = make_pairs(1, seed=5)[0]
    n = int(edges.max()) + 1
    rng = np.random.default_rng(1)
    signals = [rng.standard_normal((n, 2)) for _ in range(size)]
    expected = [st.Stratification(edges=edges).spectra(signal)["magnitude"].values for signal in signals]
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        shared, tight = st.Stratification(edges=edges), st.Stratification(edges=edges, max_basis_bytes=0)
        cached = st.Stratification(edges=edges, cache=Path(folder) / "one")
        ways: dict[str, Callable[[np.ndarray], Any]] = {
            "one Stratification": shared.spectra,
            "one that keeps nothing": tight.spectra,
            "one each": lambda signal: st.Stratification(edges=edges).spectra(signal),
            "one cache": lambda signal: st.spectra(st.Stratification(edges=edges, cache=Path(folder) / "many"), signal),
            "one with a cache": cached.spectra,
        }
        for name, way in ways.items():
            start = time.perf_counter()
            with ThreadPoolExecutor(16) as pool:
                found = [ds["magnitude"].values for ds in pool.map(way, signals)]
            same = sum(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, expected, strict=True))
            assert same == size, (name, same)
            out[name] = f"{size} calls on 16 threads in {time.perf_counter() - start:.1f} s, all bits the same"
    return out


def main() -> None:
    """Run one part here, or all parts in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=SIZES)
    parser.add_argument("--size", type=int)
    given = parser.parse_args()
    if given.part is None:
        for part in SIZES:
            subprocess.run([sys.executable, __file__, part], check=True)
        return
    found = {"graphs": graphs, "many": many, "watch": watch, "calls": calls, "threads": threads}[given.part](
        given.size or SIZES[given.part]
    )
    print(f"\n{given.part}")
    for name, value in found.items():
        print(f"  {name:<52} {value}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
