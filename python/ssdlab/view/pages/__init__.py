"""Builds report pages. There is one module for each kind of result; its function `page` builds the page."""
