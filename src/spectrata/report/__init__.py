"""One self-contained page about a signal on a graph.

``page``
    ``write_report``: what was given becomes a Profile, and the template with its style, scripts and data one file
``payload``
    numbers and words of a Profile
``drawing``
    places of the nodes, and the lines of every hop with their weights
``encode``
    numbers and arrays as JSON that no reader can take for markup: arrays as base64 of little-endian numbers
``run``
    the map of a watched model over layers and epochs
``shown``
    the finished page, as a file and in a notebook

``page.html``, ``page.css`` and the scripts in ``js/`` are the page's own sources. Nothing here computes statistics: it
reads a :class:`~spectrata.stats.verbs.profile.Profile` and draws.
"""

from spectrata.report.page import write_report
from spectrata.report.shown import Report

__all__ = ["Report", "write_report"]
