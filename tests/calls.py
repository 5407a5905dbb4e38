"""Calls with all arguments by name: each goes to the Stratification, to an algorithm's mapping, or to the function."""

import spectrata as st
from spectrata.bands.settings import OPTIONS
from spectrata.core.algorithms.options import OF_STRATIFICATION, by_algorithm
from spectrata.many.run import COMPUTING, READING


def spectra(graph=None, signal=None, algorithms=None, **asked):
    """``st.spectra``, with arguments of ``Stratification`` and options of the algorithms among the others."""
    own = {name: asked.pop(name) for name in OF_STRATIFICATION if name in asked}
    if own and isinstance(graph, st.Stratification):
        graph = graph.using(**own)
    elif own or graph is None:
        read = {name: asked.pop(name) for name in ("hops", "weights") if name in asked}
        graph = st.Stratification(graph, max_basis_bytes=0, **own, **read)
    return st.spectra(graph, signal, algorithms, **by_algorithm(asked))


def spectra_many(*arguments, **asked):
    """``st.spectra_many``, with arguments of ``Stratification`` and options of the algorithms among the others."""
    how = {name: asked.pop(name) for name in READING[1:] + COMPUTING if name in asked}
    return st.spectra_many(*arguments, stratification=how, **by_algorithm(asked))


def with_graph(function, graph, *arguments, **asked):
    """Any function of a graph, with arguments of ``Stratification`` among the others."""
    own = {name: asked.pop(name) for name in (*OF_STRATIFICATION, "laplacian", "self_loops") if name in asked}
    if own and isinstance(graph, st.Stratification):
        graph = graph.using(**own)
    elif own:
        read = {name: asked.pop(name) for name in ("hops", "weights") if name in asked}
        graph = st.Stratification(graph, max_basis_bytes=0, **own, **read)
    return function(graph, *arguments, **asked)


def band_spectra(graph=None, signal=None, bands=32, **asked):
    """``st.band_spectra``, with arguments of ``Stratification`` and options of the algorithms among the others."""
    for name, own in OPTIONS.items():
        given = {option: asked.pop(option) for option in own if option in asked}
        asked |= {name: given} if given else {}
    if {"laplacian", "self_loops", *OF_STRATIFICATION} & set(asked):
        asked.setdefault("hops", [1])
    return with_graph(st.band_spectra, graph, signal, bands, **asked)
