"""Sweeps: studies of many configurations; an interrupted sweep resumes.

`axes.py` parses the axes, `design.py` chooses the points, `plan.py` turns them into runs, `running.py` executes new
runs. `ssdlab.study.store` describes the folder of a study.

>>> import ssdlab
>>> study = ssdlab.sweep({"ftl.page.gc": ["greedy", "fifo"], "device.op": "7%..28%:4"}, seeds=3)  # doctest: +SKIP
>>> study.to_polars()  # doctest: +SKIP
"""
