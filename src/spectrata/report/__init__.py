"""One self-contained page about a result.

``contents``
    what the analyses give, and what was not computed and why
``overview``
    what the first screen shows: likeness per hop, energy over chance, cumulative energy
``layout``
    where nodes are drawn, and which eigenvectors the page holds
``payload``
    numbers and words as JSON that no reader can take for markup
``run``
    the map of a watched model over layers and epochs
``page``
    the HTML: template, style, scripts and the installed Plotly in one file
``shown``
    the finished page, as a file and in a notebook

``page.html``, ``page.css`` and the scripts in ``js/`` are the page's own sources. Nothing here computes mathematics:
it reads a Dataset, asks ``spectrata.stats``, and draws.
"""

from spectrata.report.page import write_report
from spectrata.report.shown import Report

__all__ = ["Report", "write_report"]
