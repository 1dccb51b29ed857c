"""Buffer caches: simulated on traces, measured on this machine, and planned with some pages compressed.

`ssdlab.cache` lists the public names.
"""
