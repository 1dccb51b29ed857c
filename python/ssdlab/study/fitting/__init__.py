"""Fits the parameters of a simulated drive to measurements of a real drive.

`job.py` prints the fio job that measures a drive. `fio_json.py`, `table.py` and `sheet.py` read loads with their
metrics (`load.py`) from fio's JSON, a CSV file and the numbers of a data sheet. `scale.py` makes a small drive that
behaves like the large drive, and `load.py` simulates a load on it. `parameters.py` lists the parameters, `stages.py`
lists the order in which they are fitted, and `solve.py` finds their values. `fit.py` combines these steps.
"""
