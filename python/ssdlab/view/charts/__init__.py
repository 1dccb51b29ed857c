"""Data of figures, one module for each subject."""
