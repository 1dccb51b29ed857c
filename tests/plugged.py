"""A drive for tests of components in Python, and the figures that must be equal in two equal runs."""

from typing import Any

import numpy as np

import ssdlab

DRIVE = {
    "device.capacity": "4MiB",
    "nand.channels": 1,
    "nand.ways": 1,
    "nand.planes": 1,
    "nand.page_size": "4KiB",
    "nand.word_line": 1,
    "nand.pages_per_block": 16,
    "drive.buffer.eager.size": "1MiB",
    "device.op": "20%",
    "workload.requests": 4000,
    "workload.reads": "0%",
}

BY_HAND = {
    "device.capacity": "32KiB",
    "device.op": "150%",
    "nand.pages_per_block": 4,
    "ftl.page.survivors": "shared",
    "precondition.fill": "0%",
    "precondition.overwrite": "none",
    "time": "serial",
    "check": True,
}
"""Settings of a drive of 8 pages in 5 blocks, for examples worked by hand."""
WRITTEN = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 4, 0, 5, 0, 5, 3, 6, 6, 6]
"""Pages that these examples write, one per request."""


def random_trace(*seeds: int) -> ssdlab.Trace:
    """900 requests of three streams for each seed: writes of 1 to 4 pages, and a few reads and trims."""
    columns: dict[str, list[np.ndarray[Any, Any]]] = {"op": [], "offset": [], "bytes": [], "stream": []}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        columns["op"].append(rng.choice(3, 900, p=[0.1, 0.8, 0.1]))
        columns["offset"].append(4096 * rng.integers(0, 1020, 900))
        columns["bytes"].append(4096 * rng.integers(1, 5, 900))
        columns["stream"].append(rng.integers(0, 3, 900))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    return ssdlab.Trace.from_columns(**joined, streams=["a", "b", "c"])


def figures(result: ssdlab.Result) -> dict[str, Any]:
    """All results except the use of plug-ins, and the erases of each block."""
    found = {**result.to_dict(), "erases": result.erase_counts.tolist()}
    found.pop("plugins", None)
    return found
