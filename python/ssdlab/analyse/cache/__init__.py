"""Buffer caches: simulation on traces, measurement on this machine, and advice on compressing a part of them.

`ssdlab.cache` lists the public names.
"""
