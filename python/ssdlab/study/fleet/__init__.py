"""Fleets: what the many volumes of a trace do on drives.

`ssdlab.model.volumes` parts the trace; `packing.py` says which volumes share a drive, `running.py` runs the drives on
the executor and in the store of studies, `result.py` tells what came of them, and `synthetic.py` makes fleets like
those that were published.

>>> import ssdlab
>>> fleet = ssdlab.fleet("alibaba.csv.gz", out="fleets/alibaba")  # doctest: +SKIP
>>> fleet.cdf("write_amplification")  # doctest: +SKIP
"""
