"""Hops side by side: how many at once, on how many threads each, and one progress for all.

How many threads a hop gets follows from the number of nodes, of hops and of cores, and from the machine's memory; what
happens to be free only decides how many hops run at once, which changes no bits.
"""

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from spectrata.core import resources
from spectrata.kernels import threads

# Up to here BLAS takes one thread by itself.
TINY = 64
# Below, hops run one after the other: a solve takes less than handing it to a thread.
SMALL = 200
# Up to here a solve is on one BLAS thread even when cores are left: a second one gains little and waits for busy cores.
ONE_THREAD = 1000
CHUNK_BYTES = 2**27  # gradients of so many bytes at a time when there are many snapshots

Progress = Callable[[str, float], None]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Shares:
    """How many hops run at once, and how many threads each of them has; 0 leaves BLAS as it is."""

    at_once: int
    each: int
    blas: int


ALONE = Shares(1, 0, 0)  # one hop after the other, with whatever threads there are


def shares_of(nodes: int, hops: int, snapshots: int = 1) -> Shares:
    """The threads of ``hops`` decompositions of so many nodes, with gradients of so many snapshots."""
    if nodes <= TINY:
        return ALONE
    cores = threads.threads()
    if nodes < SMALL:
        return Shares(1, cores, 1)
    needed = resources.solve_bytes(nodes) + min(CHUNK_BYTES, 4 * snapshots * nodes * nodes)
    side_by_side = max(1, min(hops, cores, resources.fitting(needed, resources.total_memory())))
    each = max(1, cores // side_by_side)
    at_once = max(1, min(side_by_side, resources.fitting(needed, resources.available_memory())))
    return Shares(at_once, each, 1 if nodes <= ONE_THREAD else each)


def run_hops(
    work: Callable[[int, Progress], Found], hops: Sequence[int], shares: Shares, report: Progress
) -> list[Found]:
    """``work(hop, tell)`` of every hop, in order; the caller's thread reports what they tell, as one fraction.

    The first error ends all: hops that have not begun are not begun.
    """
    done = dict.fromkeys(hops, 0.0)

    def tell(hop: int, message: str, fraction: float) -> None:
        done[hop] = max(done[hop], fraction)
        report(f"K = {hop}{message}", sum(done.values()) / len(done))

    with _limit(shares):
        if shares.at_once == 1:
            return [work(hop, partial(tell, hop)) for hop in hops]
        return _side_by_side(work, hops, shares, tell)


def _limit(shares: Shares) -> AbstractContextManager[None]:
    return threads.blas_limit(shares.blas) if shares.blas else nullcontext()


def _side_by_side(
    work: Callable[[int, Progress], Found], hops: Sequence[int], shares: Shares, tell: Callable[[int, str, float], None]
) -> list[Found]:
    events: queue.SimpleQueue = queue.SimpleQueue()  # what hops tell, and hops that are done

    def run(hop: int) -> Found:
        # Where the number of BLAS threads is each thread's own, this one sets it too.
        with threads.share(shares.each), _limit(shares):
            return work(hop, lambda *told: events.put((hop, *told)))

    pool = ThreadPoolExecutor(shares.at_once, thread_name_prefix="spectrata-hop")
    try:
        futures: list[Future] = [pool.submit(run, hop) for hop in hops]
        for future in futures:
            future.add_done_callback(events.put)
        left = len(futures)
        while left:
            event = events.get()
            if isinstance(event, Future):
                event.result()  # raises what the work raised
                left -= 1
            else:
                tell(*event)
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
