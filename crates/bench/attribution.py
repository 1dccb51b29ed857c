"""What it costs to find out what requests wait for: processor time of whole processes, and of a run by itself."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from whole_process import measured

PAIRS = 21
TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.csv.zst"))
REQUESTS = "500k"

RUN = """
import sys, time
import ssdlab
def run():
    began = time.process_time()
    ssdlab.simulate(["time=event", *sys.argv[3:]], sys.argv[2] or None, diagnose=sys.argv[1] == "found")
    return time.process_time() - began
run()
loaded = time.process_time()
again = min(run(), run())
print(again, time.process_time() - loaded)
"""
"""A process of one run: preparing the default drive, reading or making requests, replaying them. Then it does so twice
more, and prints the lesser time of these, and what both took."""


@dataclass(frozen=True)
class Case:
    """Requests to replay."""

    name: str
    trace: str = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Took:
    """Seconds of processor time of a process with one run, from start to end, and of a run once all is loaded."""

    process: float
    again: float


def took(case: Case, *, found: bool) -> Took:
    """Replays the requests in a process of its own."""
    process = measured("-c", RUN, "found" if found else "not", case.trace, *case.settings)
    again, both = map(float, process.printed.split())
    return Took(process.seconds - both, again)


def pair(case: Case, *, found_first: bool) -> tuple[Took, Took]:
    """Two runs next to each other, so that a slow spell of the machine meets both: without, and with."""
    times = {found: took(case, found=found) for found in (found_first, not found_first)}
    return times[False], times[True]


def cells(pairs: list[tuple[float, float]]) -> str:
    """The least of all without and with, and the median of what one takes more than its neighbour."""
    without, found = (min(times) for times in zip(*pairs, strict=True))
    more = statistics.median(found / without - 1 for without, found in pairs)
    return f"{without:.3f} s | {found:.3f} s | **{more:.1%}**"


def main() -> None:
    """Prints a row for each shipped trace and for three kinds of generated requests."""
    cases = [Case(trace.name.partition(".")[0], str(trace)) for trace in TRACES]
    for reads in ("0%", "70%", "100%"):
        settings = ("workload.pattern=uniform", f"workload.requests={REQUESTS}", f"workload.reads={reads}")
        cases.append(Case(f"{REQUESTS} uniform requests, {reads} reads", settings=settings))
    print("\n### What requests wait for, on the default drive\n")
    print("| requests | process without | with | more | run again without | with | more |")
    print("|---|---|---|---|---|---|---|")
    for case in cases:
        pairs = [pair(case, found_first=number % 2 == 1) for number in range(PAIRS)]
        processes = cells([(without.process, found.process) for without, found in pairs])
        again = cells([(without.again, found.again) for without, found in pairs])
        print(f"| {case.name} | {processes} | {again} |", flush=True)


if __name__ == "__main__":
    main()
