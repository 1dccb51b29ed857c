"""One module for each kind of finding: its function `page` puts it into words and cells."""
