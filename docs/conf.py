"""How the site is built: `make docs`, or `sphinx-build -W --keep-going -n -b html docs docs/_build/html`."""

import contextlib
import io
import os
import re
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

# Gallery scripts run on one core and draw off screen, wherever the site is built.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("MPLBACKEND", "agg")

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "extensions"))

import spectrata  # noqa: E402

project = "spectrata"
author = "The spectrata developers"
project_copyright = f"2026, {author}"
version = release = spectrata.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    *(["sphinx.ext.intersphinx"] if os.environ.get("SPECTRATA_INTERSPHINX") else []),
    "sphinx_gallery.gen_gallery",
    "command_line",
    "plain_math",
    "narrow_screens",
    "tables",
]
exclude_patterns = [
    "_build",
    *(f"{made}/**/*.{ending}" for made in ("gallery", "tutorials") for ending in ("md5", "py", "ipynb")),
]
templates_path = ["_templates"]
nitpicky = True
# Options such as "permute" and --report are to be copied, so quotes and dashes stay as typed.
smartquotes = False
html_math_renderer = "plain"
# Any warning of the build is an error in `make docs`.
suppress_warnings = ["config.cache"]

# ---- pages in Markdown, written so that they read well on a code host too

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# ---- reference

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- tutorials and gallery: every script runs while the site is built, and one that fails fails the build

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "tutorials"), str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("spectrata",),
    "reference_url": {"spectrata": None},
    "inspect_global_variables": True,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib", "figures.save_figure"),
    "image_srcset": ["2x"],
    "capture_repr": ("_repr_html_",),
    "thumbnail_size": (480, 300),
    "remove_config_comments": True,
    "min_reported_time": 10_000,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "plot_gallery": True,
}

# ---- links to the documentation of other projects: asked for by a variable, since the build must work offline

intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "networkx": ("https://networkx.org/documentation/stable", None),
    "xarray": ("https://docs.xarray.dev/en/stable", None),
    "torch": ("https://docs.pytorch.org/docs/stable", None),
}
intersphinx_timeout = 10
# Without the inventories a reference to another project is plain text.
nitpick_ignore_regex = [("py:.*", rf"({'|'.join(intersphinx_mapping)})\..*")]

# ---- looks

html_theme = "furo"
html_title = "spectrata"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "images/icon.svg"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#8ab8ee", "color-brand-content": "#8ab8ee"},
}
EXTRA = HERE / "_build" / "extra"
EXTRA.mkdir(parents=True, exist_ok=True)
html_extra_path = [str(EXTRA)]

# ---- links: within the site by `docs/check_links.py`, offline; to others by `sphinx-build -b linkcheck`

linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_anchors = False


# Files of the repository that are pages of the site too; in docs/ stands a page that points to each.
SHOWN = {
    "benchmarks": "benchmarks/README.md",
    "changelog": "CHANGELOG.md",
    "cluster": "examples/cluster/README.md",
    "contributing": "CONTRIBUTING.md",
    "security": "SECURITY.md",
}
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def read_source(app: Any, page: str, source: list[str]) -> None:
    """Take a shown file instead of the page that points to it, and let all links lead within the site."""
    file = ROOT / SHOWN.get(page, f"docs/{page}.md")
    if not file.exists():
        return
    if page in SHOWN:
        app.env.note_dependency(str(file))
        source[0] = file.read_text(encoding="utf-8")
    source[0] = LINK.sub(lambda link: f"]({moved(link[1], file, page)}{link[2] or ''})", source[0])


def moved(link: str, file: Path, page: str) -> str:
    """A link of a file, as the page of the site has to write it."""
    target = os.path.normpath(file.parent / link)
    shown = {str(ROOT / path): str(HERE / f"{name}.md") for name, path in SHOWN.items()}
    return os.path.relpath(shown.get(target, target), (HERE / page).parent)


def write_report(app: Any) -> None:
    """Put the page that a gallery script writes where its text links to."""
    with contextlib.redirect_stdout(io.StringIO()):
        script = runpy.run_path(str(ROOT / "examples" / "gallery" / "08_writing_a_report.py"))
    shutil.copy(script["page"], EXTRA)


def draw_plots(app: Any) -> None:
    """Draw the pictures that the reference of the plots shows."""
    runpy.run_path(str(HERE / "draw" / "plots.py"))["write"]()


def setup(app: Any) -> None:
    """Tell Sphinx."""
    app.connect("builder-inited", draw_plots)
    app.connect("source-read", read_source)
    app.connect("builder-inited", write_report)
