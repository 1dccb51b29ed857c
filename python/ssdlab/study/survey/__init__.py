"""Analyses of a study: curves over seeds (`curves.py`), effects (`effects.py`), Pareto front (`front.py`)."""
