"""The configuration of Sphinx. Everything is in the files that the build puts together: no network."""

import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]

project = "noisewise"
author = "The noisewise authors"
project_copyright = author
version = release = _PROJECT["version"]
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "website.pairs"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns: list[str] = []

# Links such as studies.md#blocks work on the site as they do where the files are read as they are.
myst_heading_anchors = 5
# Formulas are plain text on the pages.
myst_enable_extensions = ["html_image", "tasklist"]

# Docstrings write code between single backquotes.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"noisewise {release}"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_favicon = str(_ROOT / "src/noisewise/server/pages/static/icon.svg")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7fb8ff", "color-brand-content": "#7fb8ff"},
}
