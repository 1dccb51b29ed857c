"""Measures the processor time of latency attribution, for a whole process and for a single run within a process."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from whole_process import measured

PAIRS = 7
TRACES = sorted((Path(__file__).parents[3] / "traces").glob("*.csv.zst"))
REQUESTS = "500k"

RUN = """
import sys, time
import ssdlab
def run():
    began = time.process_time()
    ssdlab.simulate(["time=event", *sys.argv[3:]], sys.argv[2] or None, diagnose=sys.argv[1] == "with")
    return time.process_time() - began
run()
loaded = time.process_time()
again = min(run(), run())
print(again, time.process_time() - loaded)
"""
"""Program of a measured process. It prepares the default drive, reads or generates requests and replays them. Then it
repeats the run twice, and prints the smaller time and the sum of both times."""


@dataclass(frozen=True)
class Case:
    """Requests that a measurement replays: a trace or a generated workload."""

    name: str
    trace: str = ""
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Times:
    """Processor time in seconds: of a process with one run, and of a further run within a running process."""

    process: float
    again: float


def took(case: Case, *, attribution: bool) -> Times:
    """Replays the requests in a separate process."""
    process = measured("-c", RUN, "with" if attribution else "without", case.trace, *case.settings)
    again, both = map(float, process.printed.split())
    return Times(process.seconds - both, again)


def pair(case: Case, *, with_first: bool) -> tuple[Times, Times]:
    """Runs without and with attribution directly after each other, so that a slow machine affects both runs."""
    times = {attribution: took(case, attribution=attribution) for attribution in (with_first, not with_first)}
    return times[False], times[True]


def cells(pairs: list[tuple[float, float]]) -> str:
    """Formats times measured in pairs, without and with latency attribution: the minimum of each, and the median of the
    relative differences.
    """
    without, with_ = (min(times) for times in zip(*pairs, strict=True))
    more = statistics.median(with_ / without - 1 for without, with_ in pairs)
    return f"{without:.3f} s | {with_:.3f} s | **{more:.1%}**"


def main() -> None:
    """Prints a row for each shipped trace and for three generated workloads."""
    cases = [Case(trace.name.partition(".")[0], str(trace)) for trace in TRACES]
    for reads in ("0%", "70%", "100%"):
        settings = ("workload.pattern=uniform", f"workload.requests={REQUESTS}", f"workload.reads={reads}")
        cases.append(Case(f"{REQUESTS} uniform requests, {reads} reads", settings=settings))
    print("\n### Cost of latency attribution on the default drive\n")
    print("| requests | process without attribution | with | overhead | second run without | with | overhead |")
    print("|---|---|---|---|---|---|---|")
    for case in cases:
        pairs = [pair(case, with_first=number % 2 == 1) for number in range(PAIRS)]
        processes = cells([(without.process, with_.process) for without, with_ in pairs])
        again = cells([(without.again, with_.again) for without, with_ in pairs])
        print(f"| {case.name} | {processes} | {again} |", flush=True)


if __name__ == "__main__":
    main()
