"""Every road from a graph and a signal to magnitudes that needs no accelerator, under one signature.

A road is ``road(case, signal, algorithms, **options) -> Dataset`` with the dims of ``st.spectra``. All of them have to
keep the same laws and to give the same numbers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

import plain_kernels
import spectrata as st
from spectrata.core import engine
from spectrata.core.algorithms.options import by_algorithm
from spectrata.core.bases import solve
from spectrata.kernels import arrays, edge_sums, searches, threads
from spectrata.kernels.backend import Backend
from spectrata.many import stacked
from spectrata.results.schema import one_graph
from strategies import DEFAULT, run

ALL = (*DEFAULT, "ln_vx", "ens", "ens_raw")
NO_LINES = (*DEFAULT, "ens", "ens_raw")  # the ensembles with weights that leave ln_vx out
WEIGHTS = {"apprx_ls": 0.2, "in_agg": 0.3, "adj_diff": 0.5}
INCIDENCE = {"transform": "incidence"}


class Road(NamedTuple):
    """How to get there, and what is served on the way."""

    name: str
    spectra: Callable
    algorithms: tuple[str, ...] = ALL
    orientations: tuple[str, ...] = ("rms", "random", "index")
    snapshots: bool = True


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """The compiled loops for inputs of every size."""
    with mock.patch.object(threads, "COMPILED_WORK", 0):
        yield


@contextmanager
def reference_kernels() -> Iterator[None]:
    """The clear kernels in place of the fast ones."""
    names = ("edge_lengths", "node_sums", "divergence", "difference_sums")
    with (
        mock.patch.object(searches, "hop_distances", plain_kernels.hop_distances),
        mock.patch.multiple(edge_sums, **{name: getattr(plain_kernels, name) for name in names}),
    ):
        yield


@contextmanager
def small_blocks() -> Iterator[None]:
    """Work cut into pieces far smaller than usual, so that every loop over pieces goes round."""
    with (
        mock.patch.object(threads, "BLOCK", 8),
        mock.patch.object(edge_sums, "COLUMNS", 2),
        mock.patch.object(arrays, "BLOCK", 8),
        mock.patch.object(stacked, "STACK_NUMBERS", 1),
    ):
        yield


@contextmanager
def factored_vectors() -> Iterator[None]:
    """Eigenvectors of every part left as factors, whatever its size and however many columns there are."""
    with (
        mock.patch.object(solve, "BATCHED_PART", 1),
        mock.patch.object(solve, "FACTORED_PART", 2),
        mock.patch.object(engine, "NODES_PER_COLUMN", 0),
    ):
        yield


def _through(context: Callable) -> Callable:
    def spectra(*arguments, **options):
        with context():
            return run(*arguments, **options)

    return spectra


def _on_tensors(case, signal, algorithms=DEFAULT, **options):
    return run(case, signal, algorithms, device=Backend("torch", "cpu"), **options)


def _stacked(case, signal, algorithms=DEFAULT, **options):
    """Beside a smaller and a larger graph, whose results must not leak into this one's."""
    import networkx as nx
    import numpy as np

    others = [nx.path_graph(3), nx.star_graph(case.n + 3)]
    d = np.atleast_2d(signal.T).shape[0]
    rng = np.random.default_rng(0)
    noise = [rng.uniform(0.5, 1.5, (len(graph), d)) for graph in others]
    pairs = [(others[0], noise[0]), (case.graph, signal), (others[1], noise[1])]
    return one_graph(st.spectra_many(pairs, algorithms=algorithms, **by_algorithm(options)).isel(graph=1))


def _all_of_some(which: str) -> Callable:
    def spectra(case, signal, algorithms=DEFAULT, **options):
        return run(case, signal, algorithms, n_eigs=case.n, which=which, **options)

    return spectra


ROADS = [
    Road("numpy", run),
    Road("compiled", _through(compiled_kernels)),
    Road("reference", _through(reference_kernels)),
    Road("small blocks", _through(small_blocks)),
    Road("torch", _on_tensors),
    Road("stacked", _stacked, NO_LINES, snapshots=False),
    Road("lowest", _all_of_some("lowest"), DEFAULT),
    Road("highest", _all_of_some("highest"), DEFAULT),
    Road("factored", _through(factored_vectors), ("gft", "in_agg"), ("random", "index")),
]
