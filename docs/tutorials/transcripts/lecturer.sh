ssdlab explain
ssdlab explain why-gc
ssdlab explain why-gc --animate why-gc.svg
ssdlab explain fast-trashing
ssdlab explain fast-thrashing
ssdlab explain --set ftl=bast --requests '0 4 8 12 0 4 8 12' --beside ftl=fast --out bast-fast.html
ssdlab compare --preset tlc-chip --workload uniform --set device.capacity=64MiB --set workload.requests=100000 --case device.op=7% --case device.op=14% --case device.op=28% --rows waf
printf 'from ssdlab.plugin import VictimPolicy\n\nclass Oldest(VictimPolicy):\n    def choose(self, valid, closed_at, pages_per_block):\n        return closed_at.argmin()\n' > mine.py
ssdlab compare --preset tlc-chip --workload hot_cold --set device.capacity=64MiB --set workload.requests=50000 --case greedy --case ftl.page.gc=python:mine.Oldest --rows waf
printf 'from ssdlab.plugin import VictimPolicy\n\nclass Oldest(VictimPolicy):\n    def choose(self, valid, closed_at, pages_per_block):\n        closed = (valid <= pages_per_block).nonzero()[0]\n        return closed[closed_at[closed].argmin()]\n' > mine.py
ssdlab compare --preset tlc-chip --workload hot_cold --set device.capacity=64MiB --set workload.requests=50000 --case greedy --case ftl.page.gc=python:mine.Oldest --rows waf
ls docs/exercises
ssdlab find 'garbage collection'
