"""Data of figures, with one module for each subject."""
