"""Buffer caches: simulation on traces, measurement on this machine, and advice on compressing part of a cache.

`ssdlab.cache` lists the public names.
"""
