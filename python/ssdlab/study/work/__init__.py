"""Where runs are done: processes of this machine (`local.py`), or workers of a Dask cluster (`cluster.py`).

A run (`run.py`) is text and paths, so that it goes anywhere; what it comes to is text as well.
"""
