"""Functions that turn results into charts, with one module for each subject."""
