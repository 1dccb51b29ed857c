"""How findings are shown: pages of text, tables and figures, on the terminal and as HTML."""
