"""Simulates fleets of drives that hold the volumes of a trace.

`ssdlab.model.volumes` splits the trace; `packing.py` assigns volumes to drives, `running.py` runs the drives,
`result.py` evaluates them, and `synthetic.py` generates traces with the statistics of published fleets.

>>> import ssdlab
>>> fleet = ssdlab.fleet("alibaba.csv.gz", out="fleets/alibaba")  # doctest: +SKIP
>>> fleet.cdf("write_amplification")  # doctest: +SKIP
"""
