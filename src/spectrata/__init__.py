"""Stratified graph spectra: how a signal's energy is distributed over graph frequencies, at every hop distance.

>>> import networkx as nx, spectrata as st
>>> graph = nx.karate_club_graph()
>>> ds = st.spectra(graph, dict(graph.degree), weights=False)
>>> ds["magnitude"].dims
('algorithm', 'hop', 'component')

``spectra``
    one call from a graph and a signal to an ``xarray.Dataset``
``Stratification``
    the same, with the work on the graph done once for many signals
``save``, ``open``, ``to_table``
    results as files and tables
``summary``, ``diagnose``, ``calibrate``, ``compare``, ``smoothness`` and more
    reading results: see ``spectrata.analysis``
``plot``, ``write_report``
    pictures of a result, and one page with all of them

Names load when first used, so that importing the package stays light.
"""

from typing import TYPE_CHECKING, Any

from spectrata._version import __version__
from spectrata.errors import InputError, SpectrataError, SpectrataWarning

if TYPE_CHECKING:
    from spectrata import analysis, plot
    from spectrata.analysis.calibrate import calibrate
    from spectrata.analysis.compare import compare
    from spectrata.analysis.correlogram import correlogram
    from spectrata.analysis.diagnose import diagnose
    from spectrata.analysis.labels import homophily
    from spectrata.analysis.nodes import filter_signal, node_energy
    from spectrata.analysis.response import response
    from spectrata.analysis.smoothness import smoothness
    from spectrata.analysis.spectrum import merge_eigenspaces, off_zero
    from spectrata.analysis.summary import summary
    from spectrata.bands.spectra import band_spectra
    from spectrata.core.spectra import spectra
    from spectrata.core.stratification import Stratification
    from spectrata.many.run import open_many, spectra_many
    from spectrata.report import write_report
    from spectrata.results.files import open, save
    from spectrata.results.tables import to_table

_HOME = {
    "Stratification": "spectrata.core.stratification",
    "analysis": "spectrata.analysis",
    "band_spectra": "spectrata.bands.spectra",
    "calibrate": "spectrata.analysis.calibrate",
    "compare": "spectrata.analysis.compare",
    "correlogram": "spectrata.analysis.correlogram",
    "diagnose": "spectrata.analysis.diagnose",
    "filter_signal": "spectrata.analysis.nodes",
    "homophily": "spectrata.analysis.labels",
    "merge_eigenspaces": "spectrata.analysis.spectrum",
    "node_energy": "spectrata.analysis.nodes",
    "off_zero": "spectrata.analysis.spectrum",
    "open": "spectrata.results.files",
    "open_many": "spectrata.many.run",
    "plot": "spectrata.plot",
    "response": "spectrata.analysis.response",
    "save": "spectrata.results.files",
    "smoothness": "spectrata.analysis.smoothness",
    "spectra": "spectrata.core.spectra",
    "spectra_many": "spectrata.many.run",
    "summary": "spectrata.analysis.summary",
    "to_table": "spectrata.results.tables",
    "torch": "spectrata.torch",
    "write_report": "spectrata.report",
}

__all__ = [
    "InputError",
    "SpectrataError",
    "SpectrataWarning",
    "Stratification",
    "__version__",
    "analysis",
    "band_spectra",
    "calibrate",
    "compare",
    "correlogram",
    "diagnose",
    "filter_signal",
    "homophily",
    "merge_eigenspaces",
    "node_energy",
    "off_zero",
    "open",
    "open_many",
    "plot",
    "response",
    "save",
    "smoothness",
    "spectra",
    "spectra_many",
    "summary",
    "to_table",
    "write_report",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'spectrata' has no attribute {name!r}")
    module = import_module(_HOME[name])
    value = module if _HOME[name] == f"spectrata.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
