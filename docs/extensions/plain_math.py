"""Formulas as MathML, which browsers draw themselves: no script, and nothing to fetch."""

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def inline(writer: Any, node: nodes.Element) -> None:
    """A formula in a line of text."""
    writer.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.Element) -> None:
    """A formula on a line of its own."""
    writer.body.append(f'<div class="formula">{latex2mathml.tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("plain", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
