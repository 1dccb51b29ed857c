"""Pages of findings: text, tables and figures, for a terminal and as HTML."""
