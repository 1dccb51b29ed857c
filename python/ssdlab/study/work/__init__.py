"""Executes runs: in processes of this machine (`local.py`) or on a Dask cluster (`cluster.py`).

A run (`run.py`) and its outcome are text and paths, so they can be sent anywhere.
"""
