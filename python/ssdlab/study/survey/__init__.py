"""Answers from a study: curves over seeds (`curves.py`), effects (`effects.py`, `indices.py`), front (`front.py`)."""
