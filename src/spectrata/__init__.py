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
    reading results: see ``spectrata.stats``
``probe``
    what a model will gain from the graph, before training one
``plot``, ``write_report``
    pictures of a result, and one page with all of them

Names load when first used, so that importing the package stays light.
"""

from typing import TYPE_CHECKING, Any

from spectrata._version import __version__
from spectrata.errors import InputError, SpectrataError, SpectrataWarning

if TYPE_CHECKING:
    from spectrata import plot, stats
    from spectrata.bands.spectra import band_spectra
    from spectrata.core.spectra import spectra
    from spectrata.core.stratification import Stratification
    from spectrata.many.run import open_many, spectra_many
    from spectrata.report import write_report
    from spectrata.results.files import open, save
    from spectrata.results.tables import to_table
    from spectrata.stats.describe.compare import compare
    from spectrata.stats.describe.nodes import filter_signal, node_energy
    from spectrata.stats.describe.response import response
    from spectrata.stats.describe.smoothness import smoothness
    from spectrata.stats.describe.spectrum import merge_eigenspaces, off_zero
    from spectrata.stats.describe.summary import summary
    from spectrata.stats.verbs.agree import agree
    from spectrata.stats.verbs.calibrate import calibrate
    from spectrata.stats.verbs.correlogram import correlogram
    from spectrata.stats.verbs.decoupling import decoupling
    from spectrata.stats.verbs.diagnose import diagnose
    from spectrata.stats.verbs.homophily import homophily
    from spectrata.stats.verbs.local import local
    from spectrata.stats.verbs.probe import probe
    from spectrata.stats.verbs.rank_columns import rank_columns

_HOME = {
    "Stratification": "spectrata.core.stratification",
    "stats": "spectrata.stats",
    "agree": "spectrata.stats.verbs.agree",
    "band_spectra": "spectrata.bands.spectra",
    "calibrate": "spectrata.stats.verbs.calibrate",
    "compare": "spectrata.stats.describe.compare",
    "correlogram": "spectrata.stats.verbs.correlogram",
    "decoupling": "spectrata.stats.verbs.decoupling",
    "diagnose": "spectrata.stats.verbs.diagnose",
    "filter_signal": "spectrata.stats.describe.nodes",
    "homophily": "spectrata.stats.verbs.homophily",
    "local": "spectrata.stats.verbs.local",
    "merge_eigenspaces": "spectrata.stats.describe.spectrum",
    "node_energy": "spectrata.stats.describe.nodes",
    "off_zero": "spectrata.stats.describe.spectrum",
    "open": "spectrata.results.files",
    "open_many": "spectrata.many.run",
    "plot": "spectrata.plot",
    "probe": "spectrata.stats.verbs.probe",
    "rank_columns": "spectrata.stats.verbs.rank_columns",
    "response": "spectrata.stats.describe.response",
    "save": "spectrata.results.files",
    "smoothness": "spectrata.stats.describe.smoothness",
    "spectra": "spectrata.core.spectra",
    "spectra_many": "spectrata.many.run",
    "summary": "spectrata.stats.describe.summary",
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
    "agree",
    "band_spectra",
    "calibrate",
    "compare",
    "correlogram",
    "decoupling",
    "diagnose",
    "filter_signal",
    "homophily",
    "local",
    "merge_eigenspaces",
    "node_energy",
    "off_zero",
    "open",
    "open_many",
    "plot",
    "probe",
    "rank_columns",
    "response",
    "save",
    "smoothness",
    "spectra",
    "spectra_many",
    "stats",
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
