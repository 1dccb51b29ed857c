"""Executes runs in processes on this machine (`local.py`) or on a Dask cluster (`cluster.py`).

A run (`run.py`) and its outcome consist of text and paths, so they can be sent to other machines.
"""
