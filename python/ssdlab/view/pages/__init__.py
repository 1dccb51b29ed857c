"""One module for each kind of finding; its function `page` builds the page."""
