"""Data of the figures on pages, with one module for each subject."""
