"""Orders of the nodes: random ones, each addressed by its number, or all that give different arrangements."""

from collections.abc import Iterator
from itertools import pairwise, permutations, product

import numpy as np
from scipy.special import gammaln

from spectrata.kernels import threads

# Orders made by one random generator. The generator's counter is the number of the chunk, so that order ``b`` is the
# same whichever orders are asked for with it.
CHUNK = 32
MOST_NUMBERS = 2**20  # of a chunk: large graphs have fewer orders in one
ORDERS_AT_ONCE = 2**24  # numbers of a batch of orders
THREADS_WORK = 2**19  # numbers of orders that are worth threads, about 5 ms
MOST_ARRANGEMENTS = 50_000
LARGE_NODES, FEW_BLOCKS = 100_000, 1_000  # above so many nodes, and below so many blocks, blocks are mixed one by one


def orders(seed: int, n: int, start: int, stop: int, blocks: np.ndarray | None = None) -> np.ndarray:
    """Random orders number ``start`` to ``stop - 1`` of n nodes, shape (stop - start, n).

    Row ``b`` gives node ``i`` the value of node ``orders[b, i]``. It depends on the seed, ``n`` and ``b`` alone. With
    ``blocks (n,)`` nodes change places only with nodes of the same block.
    """
    size = max(1, min(CHUNK, MOST_NUMBERS // max(n, 1)))
    chunks = range(start // size, -(-stop // size))
    found = np.empty((len(chunks) * size, n), dtype=np.int64)
    by_block = None  # nodes in the order of their blocks
    if blocks is not None and len(blocks) and blocks.min() < blocks.max():
        by_block = np.argsort(blocks.astype(np.int16) if blocks.max() < FEW_BLOCKS else blocks, kind="stable")

    def fill(chunk: int) -> None:
        rng = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, chunk, 0]))
        rows = found[(chunk - chunks.start) * size :][:size]
        if blocks is None or by_block is None:
            rows[:] = np.arange(n)
            for row in rows:  # the same bits as permuted(axis=1), in half the time
                rng.shuffle(row)
        elif n > LARGE_NODES and blocks.max() < FEW_BLOCKS:  # sorting takes longer there
            bounds = np.cumsum([0, *np.bincount(blocks)])
            for row in rows:
                mixed = by_block.copy()
                for first, last in pairwise(bounds.tolist()):
                    rng.shuffle(mixed[first:last])
                row[by_block] = mixed
        else:  # Random keys below 1 beside the number of the block: sorting mixes the nodes of each block.
            rows[:, by_block] = np.argsort(blocks + rng.random((size, n)), axis=1)

    if found.size >= THREADS_WORK:
        threads.spread(fill, chunks)
    else:
        for chunk in chunks:
            fill(chunk)
    return found[start - chunks.start * size :][: stop - start]


def order_batches(
    seed: int, n: int, start: int, stop: int, blocks: np.ndarray | None = None, width: int = 1
) -> Iterator[tuple[slice, np.ndarray]]:
    """The same in batches, each with its place among them, so that signals of ``width`` columns need little memory."""
    step = max(1, ORDERS_AT_ONCE // (n * width))
    for first in range(start, stop, step):
        last = min(stop, first + step)
        yield slice(first - start, last - start), orders(seed, n, first, last, blocks)


def inverse(orders: np.ndarray) -> np.ndarray:
    """The inverse of each order ``(B, n)``: the node that gets the value of each node."""
    found = np.empty_like(orders)
    np.put_along_axis(found, orders, np.broadcast_to(np.arange(orders.shape[1]), orders.shape), axis=1)
    return found


# All arrangements of a signal on some nodes, as orders (A, n), and the share (A,) of all n! orders that gives each.
# Rows are no permutations: nodes that do not count keep their own value, and equal values are not told apart.
Arrangements = tuple[np.ndarray, np.ndarray]


def arrangements(values: np.ndarray, nodes: np.ndarray) -> Arrangements | None:
    """All different arrangements of the rows of ``values (n, d)`` on ``nodes``, or None where there are too many."""
    n = len(values)
    for columns in (values[:, :1], values):  # the first column is enough to see that there are too many
        _, first, counts = np.unique(columns, axis=0, return_index=True, return_counts=True)
        kinds = len(first)
        different = np.prod(np.arange(kinds, max(kinds - len(nodes), 0), -1.0)[:8])  # those of different kinds alone
        if different > MOST_ARRANGEMENTS:
            return None
    placed = np.empty((1, 0), dtype=np.int64)  # (A, nodes done) kinds of rows
    left = counts[None].astype(np.int64)  # (A, kinds)
    weights = np.ones(1)
    for done in range(len(nodes)):
        parent, kind = np.nonzero(left)
        if len(parent) > MOST_ARRANGEMENTS:
            return None
        weights = weights[parent] * left[parent, kind] / (n - done)
        placed = np.column_stack([placed[parent], kind])
        left = left[parent]
        left[np.arange(len(parent)), kind] -= 1
    found = np.tile(np.arange(n), (len(placed), 1))
    found[:, nodes] = first[placed]
    return found, weights / weights.sum()


def block_orders(blocks: np.ndarray) -> Arrangements | None:
    """All orders within blocks, or None where there are too many."""
    sizes = np.unique(blocks, return_counts=True)[1]
    if gammaln(sizes + 1.0).sum() > np.log(MOST_ARRANGEMENTS + 0.5):  # the logarithm of their number
        return None
    by_block = np.argsort(blocks, kind="stable")
    members = np.split(by_block, np.cumsum(sizes)[:-1])
    made = np.array([np.concatenate(choice) for choice in product(*map(permutations, members))])
    found = np.empty_like(made)
    found[:, by_block] = made
    return found, np.full(len(found), 1 / len(found))
