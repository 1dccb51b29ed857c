"""The documentation as a site with search: `make site`. The pages are the repository's own, at their own places."""

project = "ssdlab"
copyright = "The ssdlab authors"
extensions = ["myst_parser"]
root_doc = "packaging/site/index"
include_patterns = [f"{root_doc}.md", "*.md", "docs/**.md", "traces/*.md"]
templates_path = ["."]
html_additional_pages = {"index": "start.html"}
html_theme = "furo"
html_title = "ssdlab"
html_copy_source = False
# Links to headings are those that GitHub makes.
myst_heading_anchors = 4
# Pygments has no lexer for CSV; tools print tables with headings of the third level.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
