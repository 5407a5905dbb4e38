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
    from spectrata import plot as plot
    from spectrata import stats as stats
    from spectrata.bands.spectra import band_spectra as band_spectra
    from spectrata.core.spectra import spectra as spectra
    from spectrata.core.stratification import Stratification as Stratification
    from spectrata.many.run import spectra_many as spectra_many
    from spectrata.many.store import open_many as open_many
    from spectrata.report import write_report as write_report
    from spectrata.results.files import open as open
    from spectrata.results.files import save as save
    from spectrata.results.files import to_table as to_table
    from spectrata.stats.describe.compare import compare as compare
    from spectrata.stats.describe.nodes import filter_signal as filter_signal
    from spectrata.stats.describe.nodes import node_energy as node_energy
    from spectrata.stats.describe.response import response as response
    from spectrata.stats.describe.smoothness import smoothness as smoothness
    from spectrata.stats.describe.spectrum import merge_eigenspaces as merge_eigenspaces
    from spectrata.stats.describe.spectrum import off_zero as off_zero
    from spectrata.stats.describe.summary import summary as summary
    from spectrata.stats.verbs.agree import agree as agree
    from spectrata.stats.verbs.calibrate import calibrate as calibrate
    from spectrata.stats.verbs.correlogram import correlogram as correlogram
    from spectrata.stats.verbs.decoupling import decoupling as decoupling
    from spectrata.stats.verbs.diagnose import diagnose as diagnose
    from spectrata.stats.verbs.homophily import homophily as homophily
    from spectrata.stats.verbs.local import local as local
    from spectrata.stats.verbs.probe import probe as probe
    from spectrata.stats.verbs.rank_columns import rank_columns as rank_columns

# The module of each name; modules load when a name is first used.
_HOME = {
    **{"band_spectra": "bands.spectra", "spectra": "core.spectra", "Stratification": "core.stratification"},
    **{"spectra_many": "many.run", "open_many": "many.store", "plot": "plot", "stats": "stats", "torch": "torch"},
    **{"write_report": "report", "open": "results.files", "save": "results.files", "to_table": "results.files"},
    **{name: f"stats.describe.{name}" for name in ("compare", "response", "smoothness", "summary")},
    **dict.fromkeys(("filter_signal", "node_energy"), "stats.describe.nodes"),
    **dict.fromkeys(("merge_eigenspaces", "off_zero"), "stats.describe.spectrum"),
    **{name: f"stats.verbs.{name}" for name in ("agree", "calibrate", "correlogram", "decoupling", "diagnose")},
    **{name: f"stats.verbs.{name}" for name in ("homophily", "local", "probe", "rank_columns")},
}
__all__ = ["InputError", "SpectrataError", "SpectrataWarning", "__version__", *sorted(set(_HOME) - {"torch"})]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'spectrata' has no attribute {name!r}")
    module = import_module(f"spectrata.{_HOME[name]}")
    value = module if _HOME[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
