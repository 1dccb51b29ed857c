"""Builds the report page of a drive that was served."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ssdlab import text
from ssdlab.model.metrics import QUANTILES
from ssdlab.model.service import Service
from ssdlab.model.unused import unused_when_served
from ssdlab.view.page import Beside, Facts, Page, Section, Table, known
from ssdlab.view.pages.tables import operation_cells, response_times

BEHIND = 0.1
"""The page reports the delay of replies if the mean delay exceeds this share of the mean response time."""


def page(service: Service) -> Page:
    """Builds the report page of a drive that was served."""
    report = service.report
    causes, rows = operation_cells(report)
    return Page(
        title="Served drive",
        remarks=[*unused_when_served(service.config, preconditioned=service.preconditioned), *_remarks(report)],
        sections=[
            Section("", [Facts(_headlines(report), tiles=True)], terminal=False),
            Section("Summary", [Beside(list(_summary(report)))]),
            *([Section("Operations by cause", [Table.named(causes, rows, "Flash operations")])] if rows else []),
            *_times(report),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B). Quantiles are exact to 1.6 %.",
    )


def _remarks(report: Mapping[str, Any]) -> Iterator[str]:
    times, cut_off = report["times"], report["cut_off"]
    if cut_off:
        yield (
            f"{text.counted(cut_off, 'clients')} had not received all replies when the server ended: connections "
            "were cut, and the last requests may be incomplete"
        )
    if times is None:
        return
    programmed, buffered = sum(report["flash"]["programs"].values()), times["buffered_pages"]
    if times["failed"]:
        yield f"the simulated drive failed, so later replies were sent without delay: {times['failed']}"
    elif times["pages_stored"] != programmed:
        yield (
            "flash operations and write amplification refer to the simulated drive "
            f"({text.count(programmed)} pages programmed, {text.count(buffered)} in its write buffer); blocks, wear "
            "and buffered pages refer to the drive that stores the data "
            f"({text.count(times['pages_stored'])} pages programmed), which frees buffer space at once"
        )
    latency = times["latency"]["all"]
    due_ns = latency["mean_ns"] * times["scale"] if latency else 0
    if times["lag_mean_ns"] > BEHIND * due_ns:
        enough = f", for example with --time {_slow_enough(times):g}" if due_ns else ""
        yield (
            f"replies were sent {text.duration(times['lag_mean_ns'])} late on average, with response times of "
            f"{text.duration(due_ns)}: this machine is too slow; slow down the simulated drive{enough}"
        )


def _slow_enough(times: Mapping[str, Any]) -> float:
    """Returns the smallest power of ten by which to slow down the drive to keep the delay of replies below `BEHIND`."""
    needed = times["lag_mean_ns"] / (BEHIND * times["latency"]["all"]["mean_ns"])
    return 10.0 ** math.ceil(math.log10(needed))


def _spare(health: Mapping[str, Any]) -> str:
    left, percent = health["spare_blocks"], health["available_spare"]
    return "none by design" if left == 0 and percent else f"{text.count(left)} ({percent} %)"


def _headlines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    host = report["host"]
    return [
        ("write amplification (WAF)", known(text.ratio, report["write_amplification"])),
        ("written by clients", text.size(host["bytes_written"])),
        ("read by clients", text.size(host["bytes_read"])),
    ]


def _summary(report: Mapping[str, Any]) -> Iterator[Facts]:
    host, health, mount = report["host"], report["health"], report["mount"]
    yield Facts(
        [
            ("capacity", text.size(report["capacity_bytes"])),
            ("reads", f"{text.count(host['read_requests'])} ({text.size(host['bytes_read'])})"),
            ("writes", f"{text.count(host['write_requests'])} ({text.size(host['bytes_written'])})"),
            ("trims", f"{text.count(host['trim_requests'])} ({text.size(host['bytes_trimmed'])})"),
            ("zeroes", f"{text.count(host['write_zeroes_requests'])} ({text.size(host['bytes_zeroed'])})"),
            ("flushes", text.count(host["flush_requests"])),
            ("partial page writes", text.count(host["partial_pages_written"])),
            ("write amplification (WAF)", known(text.ratio, report["write_amplification"])),
        ],
        "Clients",
    )
    yield Facts(
        [
            ("blocks", text.count(health["blocks"])),
            ("erased blocks", text.count(health["free_blocks"])),
            ("bad blocks", text.count(health["bad_blocks"])),
            ("erases per block", f"{health['least_erases']:,} to {health['most_erases']:,}"),
            ("spare blocks left", _spare(health)),
            ("rated cycles used", f"{health['percentage_used']} %"),
            ("unreadable pages", text.count(health["media_errors"])),
            ("pages in the write buffer", text.count(report["buffered_pages"])),
        ],
        "Flash",
    )
    if mount is not None:
        yield Facts(
            [
                ("last shutdown", "clean" if mount["clean"] else "power was lost"),
                ("recovered from", _found_by(mount)),
                ("log read", text.size(mount["log_bytes_read"])),
                ("blocks scanned", text.count(mount["blocks_scanned"])),
                ("spare areas read", text.count(mount["spares_read"])),
                ("pages read", text.count(_pages_read(mount))),
                ("simulated time", known(text.duration, mount["time_ns"])),
            ],
            "Mount",
        )


def _found_by(mount: Mapping[str, Any]) -> str:
    return "a scan of all spare areas" if mount["full_scan"] else "checkpoint and journal"


def _pages_read(mount: Mapping[str, Any]) -> int:
    """Returns the number of pages that a mount read to verify their checksums, or for the FTL."""
    reads: dict[str, int] = mount["operations"]["reads"]
    return sum(reads.values(), start=int(mount["pages_verified"]))


def mounted(mount: Mapping[str, Any]) -> str:
    """Describes the mount of a drive in one line."""
    before = "after a clean shutdown" if mount["clean"] else "after a power loss"
    if mount["full_scan"]:
        before = "the log is damaged: trimmed pages may reappear, and erase counts restart"
    took = "" if mount["time_ns"] is None else f" in {text.duration(mount['time_ns'])} of simulated time"
    return (
        f"mounted from {_found_by(mount)}{took} ({before}): {text.size(mount['log_bytes_read'])} of the log, "
        f"{text.count(mount['spares_read'])} spare areas and {text.count(_pages_read(mount))} pages read"
    )


def started(before: Mapping[str, Any]) -> str:
    """Describes the writes that a new drive received by preconditioning, or in a saved state, before it was served."""
    written = text.counted(before["host_pages_written"], "pages")
    ratio = before["write_amplification"]
    steady = {True: ", in steady state", False: ", not yet in steady state", None: ""}[before["stable"]]
    reached = "" if ratio is None else f"; preconditioning ended at write amplification {text.ratio(ratio)}{steady}"
    return f"initial state: {written} already written{reached}; all pages read as zeros"


def _times(report: Mapping[str, Any]) -> Iterator[Section]:
    times = report["times"]
    rows = [] if times is None else response_times(times)
    if rows:
        lag = [
            ("delayed replies", text.count(times["replies"])),
            ("mean delay after the due time", text.duration(times["lag_mean_ns"])),
            ("maximum delay after the due time", text.duration(times["lag_max_ns"])),
        ]
        table = Table.named(("requests", *QUANTILES), rows, "Response time of the drive", wide=True)
        yield Section("Response times", [table, Facts(lag, "Server")])
