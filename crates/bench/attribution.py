"""What it costs to find out what requests wait for: processor time of whole runs of the shipped traces."""

import time
from pathlib import Path

import ssdlab

ROUNDS = 21
TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.csv.zst"))


def taken(trace: Path, *, diagnose: bool) -> float:
    """Processor time of a run on the default drive: preparing it, reading the trace and replaying it."""
    began = time.process_time()
    ssdlab.simulate(["time=event"], trace, diagnose=diagnose)
    return time.process_time() - began


def main() -> None:
    """Runs all in turns, so that a noisy neighbour disturbs them alike, and prints the least of each."""
    runs = [(trace, diagnose) for trace in TRACES for diagnose in (False, True)]
    rounds = [[taken(trace, diagnose=diagnose) for trace, diagnose in runs] for _ in range(ROUNDS)]
    least = map(min, zip(*rounds, strict=True))
    print("\n### What requests wait for, in whole runs of the default drive\n")
    print("| trace | processor time without | with | more |\n|---|---|---|---|")
    for trace, without, found in zip(TRACES, least, least, strict=False):
        name = trace.name.partition(".")[0]
        print(f"| {name} | {without:.3f} s | {found:.3f} s | {found / without - 1:.1%} |")


if __name__ == "__main__":
    main()
