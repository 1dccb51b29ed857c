"""Sweeps: one question asked of many configurations, answered by a study that survives interruption.

`axes.py` reads what is varied, `design.py` says which points are tried, `plan.py` makes their runs, `running.py` runs
those that are new. The folder of a study is described in `ssdlab.study.store`.

>>> import ssdlab
>>> study = ssdlab.sweep({"ftl.page.gc": ["greedy", "fifo"], "device.op": "7%..28%:4"}, seeds=3)  # doctest: +SKIP
>>> study.to_polars()  # doctest: +SKIP
"""
