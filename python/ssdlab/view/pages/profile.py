"""Builds the report page of a trace's profile."""

from collections.abc import Mapping
from typing import Any

from ssdlab import text
from ssdlab.model.source import ingest_remarks, source_text
from ssdlab.view.page import Facts, Page, Section, Table, known


def page(source: Mapping[str, Any], profile: Mapping[str, Any], report: Mapping[str, Any], partial: bool) -> Page:
    """Returns a report page with the facts of `TraceFile.profile`, and remarks on reading the trace."""
    at_least = "" if profile["footprint_exact"] else "at least "
    requests, volumes = profile["requests"], profile["bytes"]
    facts = [
        ("format", report["format"]),
        ("device", report["device"] or text.MISSING),
        ("duration", text.duration(profile["duration_ns"])),
        ("requests", text.count(sum(requests.values()))),
        ("requests per second", known(text.short_count, profile["requests_per_s"])),
        ("lowest address", text.size(profile["min_offset"])),
        ("highest end address", text.size(profile["extent_bytes"])),
        ("footprint of reads and writes", at_least + text.size(profile["footprint_bytes"])),
        ("footprint of reads", at_least + text.size(profile["read_footprint_bytes"])),
        ("footprint of writes", at_least + text.size(profile["write_footprint_bytes"])),
        ("sequential share of reads and writes", known(text.percent, profile["sequential_share"])),
        ("aligned to 4 KiB", known(text.percent, profile["aligned_4k_share"])),
        ("streams", text.count(profile["streams"])),
    ]
    operations = [
        (op, text.count(count), text.size(volumes[op]), text.size(volumes[op] / count) if volumes[op] else text.MISSING)
        for op, count in requests.items()
        if count
    ]
    sized = sum(requests.values()) - requests["flush"]
    sizes = [(text.size(size), text.count(count), text.percent(count / sized)) for size, count in profile["top_sizes"]]
    return Page(
        title=source_text(source),
        partial="only the beginning of the trace was read" if partial else "",
        remarks=ingest_remarks(report),
        sections=[
            Section("", [Facts(facts)]),
            Section("", [Table(("operation", "requests", "volume", "mean size"), operations)]),
            Section("", [Table(("most frequent size", "requests", "share"), sizes)]),
        ],
    )
