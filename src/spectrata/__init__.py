"""Stratified graph spectra: what a signal on a graph carries, per hop distance and eigencomponent.

>>> import networkx as nx, spectrata as st
>>> graph = nx.karate_club_graph()
>>> graph = nx.Graph(graph.edges)
>>> ds = st.spectra(graph, [graph.degree[node] for node in graph])
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
    from spectrata import plot
    from spectrata.analysis.basis import basis_spread
    from spectrata.analysis.calibrate import calibrate
    from spectrata.analysis.compare import compare
    from spectrata.analysis.correlate import correlate
    from spectrata.analysis.diagnose import diagnose
    from spectrata.analysis.distinguish import distinguish
    from spectrata.analysis.merge import merge_eigenspaces
    from spectrata.analysis.normalize import drop_zero, normalize, off_zero
    from spectrata.analysis.response import response
    from spectrata.analysis.smoothness import smoothness
    from spectrata.analysis.summary import summary
    from spectrata.bands.spectra import band_spectra
    from spectrata.core.algorithms.options import Options
    from spectrata.core.strata import Stratum
    from spectrata.core.stratification import Stratification, spectra
    from spectrata.inputs.graphs import Graph, as_graph
    from spectrata.inputs.signals import as_signal
    from spectrata.many.run import spectra_many
    from spectrata.many.stacked import spectra_batch
    from spectrata.report import write_report
    from spectrata.results.files import open, save, to_table

_HOME = {
    "Graph": "spectrata.inputs.graphs",
    "Options": "spectrata.core.algorithms.options",
    "Stratification": "spectrata.core.stratification",
    "Stratum": "spectrata.core.strata",
    "as_graph": "spectrata.inputs.graphs",
    "as_signal": "spectrata.inputs.signals",
    "band_spectra": "spectrata.bands.spectra",
    "basis_spread": "spectrata.analysis.basis",
    "calibrate": "spectrata.analysis.calibrate",
    "compare": "spectrata.analysis.compare",
    "correlate": "spectrata.analysis.correlate",
    "diagnose": "spectrata.analysis.diagnose",
    "distinguish": "spectrata.analysis.distinguish",
    "drop_zero": "spectrata.analysis.normalize",
    "merge_eigenspaces": "spectrata.analysis.merge",
    "normalize": "spectrata.analysis.normalize",
    "off_zero": "spectrata.analysis.normalize",
    "open": "spectrata.results.files",
    "plot": "spectrata.plot",
    "response": "spectrata.analysis.response",
    "save": "spectrata.results.files",
    "smoothness": "spectrata.analysis.smoothness",
    "spectra": "spectrata.core.stratification",
    "spectra_batch": "spectrata.many.stacked",
    "spectra_many": "spectrata.many.run",
    "summary": "spectrata.analysis.summary",
    "to_table": "spectrata.results.files",
    "write_report": "spectrata.report",
}

__all__ = [
    "Graph",
    "InputError",
    "Options",
    "SpectrataError",
    "SpectrataWarning",
    "Stratification",
    "Stratum",
    "__version__",
    "as_graph",
    "as_signal",
    "band_spectra",
    "basis_spread",
    "calibrate",
    "compare",
    "correlate",
    "diagnose",
    "distinguish",
    "drop_zero",
    "merge_eigenspaces",
    "normalize",
    "off_zero",
    "open",
    "plot",
    "response",
    "save",
    "smoothness",
    "spectra",
    "spectra_batch",
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
