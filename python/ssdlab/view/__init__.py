"""Report pages of text, tables and figures, shown on a terminal or as HTML."""
