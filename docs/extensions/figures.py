"""Figures in the gallery: what a block of a script leaves in the variable ``figure`` is its picture."""

from typing import Any

from sphinx_gallery.scrapers import figure_rst


def save_figure(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure of one block, once; figures of pyplot have their own scraper."""
    figure = block_vars["example_globals"].pop("figure", None)
    if figure is None or hasattr(figure, "number"):  # pyplot numbers its own
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return figure_rst([path], gallery_conf["src_dir"])
