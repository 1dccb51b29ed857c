"""Buffer caches: simulated on traces, measured on this machine, and planned with a compressed part.

`ssdlab.cache` lists the public names.
"""
