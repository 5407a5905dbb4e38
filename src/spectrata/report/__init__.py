"""One self-contained page about a result, for people who would rather look than read.

``contents``  what the analyses say, and what was not computed and why ``layout``    which nodes and eigenvectors the
page holds, and where nodes are drawn ``payload``   numbers and words as JSON that no reader can take for markup
``page``      the HTML: template, style, scripts and the installed Plotly in one file

``page.html``, ``page.css`` and the scripts in ``js/`` are the page's own sources. Nothing here computes mathematics:
it reads a Dataset, asks ``spectrata.analysis``, and draws.
"""

from spectrata.report.page import write_report

__all__ = ["write_report"]
