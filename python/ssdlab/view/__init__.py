"""Pages of findings: text, tables and figures, on a terminal and as HTML."""
