"""Summary of one simulation run: the drive and the most important metrics."""

from dataclasses import replace

from ssdlab import text
from ssdlab.model.metrics import BY_NAME, QUANTILES
from ssdlab.model.remarks import provided
from ssdlab.model.result import Result
from ssdlab.model.sizing import nominal_drive
from ssdlab.view.page import Facts, Item, Table
from ssdlab.view.times import name_of_times

TBW = replace(BY_NAME["lifetime.host_tbw_bytes"], label="endurance (TBW)")
HEADLINES = (
    BY_NAME["write_amplification"],
    BY_NAME["log.full_merges_per_page"],
    replace(BY_NAME["map.all.hit_ratio"], label="map hit ratio"),
    BY_NAME["time.iops"],
    TBW,
    replace(BY_NAME["lifetime.dwpd_5_years"], label="DWPD for 5 years"),
)
QUANTILES_SHOWN = ("mean", "p50", "p99", "p99.9")


def drive(result: Result) -> str:
    """Returns capacity, FTL, over-provisioning and parallelism of the drive in one line."""
    device, parallel = result.summary["device"], result.summary["drive"]
    op = device[provided(result.config)]
    return ", ".join([
        f"Drive: {text.size(device['capacity_bytes'])} on {text.size(device['physical_bytes'])} of flash",
        f"FTL {result.config['ftl']}",
        f"over-provisioning {text.percent(op)}",
        *([f"{parallel['channels']} channels", f"{parallel['dies']} dies"] if parallel else []),
    ])  # fmt: skip


def items(result: Result) -> list[Item]:
    """Returns the items of the summary: a table with one row for reads and one for writes, and the headlines."""
    summary = result.summary
    latency = summary.get("latency") or {}
    rows = [
        (
            op,
            [
                text.count(latency[op]["count"]),
                BY_NAME[f"time.bytes_{moved}_per_s"].text(summary),
                *(BY_NAME[f"latency.{op}.{QUANTILES[name]}"].text(summary) for name in QUANTILES_SHOWN),
            ],
        )
        for op, moved in (("read", "read"), ("write", "written"))
        if latency.get(op)
    ]
    headers = ("requests", "bandwidth", *QUANTILES_SHOWN)
    table = Table.named(headers, rows, f"{name_of_times(result.config).capitalize()}s")
    nominal = nominal_drive(summary)
    # Drive writes per day are the same for a scale model and its nominal drive, so their label need not name the drive.
    # Longer labels would not fit in a row.
    labels = {} if nominal is None else {TBW: f"TBW of {nominal}"}
    tiles = [(labels.get(metric, metric.label), metric.text(summary)) for metric in HEADLINES if metric.value(summary)]
    return [*([table] if rows else []), *([Facts(tiles, tiles=True)] if tiles else [])]
