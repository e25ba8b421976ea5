"""Settings of the static site: Sphinx with MyST. `scripts/site` builds it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

import minipinet._array

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# To Python both are Any, which says less; they get classes before any other module takes them from there.
for name in ("Array", "Sparse"):
    setattr(minipinet._array, name, type(name, (), {"__module__": "minipinet._array"}))

project = "minipinet"
author = "the authors of minipinet"
version = release = version_of("minipinet")
language = "en"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "mathml",
    "reference",
    "sources",
]

# Pages: the Markdown that GitHub shows.
myst_enable_extensions = ["dollarmath", "html_image"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_dmath_allow_space = False
html_math_renderer = "mathml"

# API reference: docstrings in numpydoc's style.
default_role = "py:obj"
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "member-order": "bysource",
    "exclude-members": "set_fit_request, set_score_request",  # scikit-learn's own
}
napoleon_google_docstring = False
napoleon_use_param = False  # types are words such as "(n, F) array", not names to look up
napoleon_use_rtype = False
napoleon_custom_sections = ["Source", ("Attributes", "params_style")]
maximum_signature_line_length = 200  # with the full names of types, of which less is shown
toc_object_entries = False
add_module_names = False
viewcode_follow_imported_members = False  # every object is documented where it is defined
nitpicky = True

# Looks: everything comes from the site itself.
html_theme = "furo"
html_title = "minipinet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["search.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = False
html_show_copyright = False
