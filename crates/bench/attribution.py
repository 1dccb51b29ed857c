"""What it costs to find out what requests wait for: processor time of whole runs of the shipped traces."""

import statistics
import time
from pathlib import Path

import ssdlab

PAIRS = 31
TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.csv.zst"))


def taken(trace: Path, *, diagnose: bool) -> float:
    """Processor time of a run on the default drive: preparing it, reading the trace and replaying it."""
    began = time.process_time()
    ssdlab.simulate(["time=event"], trace, diagnose=diagnose)
    return time.process_time() - began


def pair(trace: Path, *, found_first: bool) -> tuple[float, float]:
    """Two runs next to each other, so that a slow spell of the machine meets both: without, and with."""
    took = {diagnose: taken(trace, diagnose=diagnose) for diagnose in (found_first, not found_first)}
    return took[False], took[True]


def main() -> None:
    """Prints the least of all runs, and the median of what one takes more than its neighbour without."""
    print("\n### What requests wait for, in whole runs of the default drive\n")
    print("| trace | processor time without | with | more |\n|---|---|---|---|")
    for trace in TRACES:
        pairs = [pair(trace, found_first=number % 2 == 1) for number in range(PAIRS)]
        without, found = (min(times) for times in zip(*pairs, strict=True))
        more = statistics.median(found / without - 1 for without, found in pairs)
        name = trace.name.partition(".")[0]
        print(f"| {name} | {without:.3f} s | {found:.3f} s | {more:.1%} |")


if __name__ == "__main__":
    main()
