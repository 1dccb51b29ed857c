"""A drive for tests of components in Python, and the figures that must be equal in two equal runs."""

from typing import Any

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


def figures(result: ssdlab.Result) -> dict[str, Any]:
    """All results except the use of plug-ins, and the erases of each block."""
    found = {**result.to_dict(), "erases": result.erase_counts.tolist()}
    found.pop("plugins", None)
    return found
