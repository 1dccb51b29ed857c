"""What a study says: curves over seeds (`curves.py`), effects (`effects.py`, `indices.py`), the front (`front.py`)."""
