"""Figures, drawn with matplotlib; one module for each kind of finding."""
