"""Buffer caches: simulated on traces, a real one at work, and whether to compress part of one.

`ssdlab.cache` lists what is public.
"""
