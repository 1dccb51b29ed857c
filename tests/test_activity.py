"""Activity of dies and channels with `time = "event"`: columns, files, tables, charts, reports."""

import html
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import faked
import ssdlab
from conftest import SMALL, SMALL_SETS, Cli
from ssdlab.model import metrics
from ssdlab.model.columns import GanttColumns, SlowColumns
from ssdlab.view.chart import Axis, Chart, Panel, Points
from ssdlab.view.charts import activity as activity_plots
from ssdlab.view.charts.time import durations_between
from ssdlab.view.pages import diagnosis, remarks, tables
from ssdlab.view.plots.drawing import drawn
from tiers import examples

EVENT = {
    "time": "event",
    "device.capacity": "64MiB",
    "ftl.page.trigger": "victim",
    "nand.channels": 2,
    "nand.dies": 2,
    "nand.planes": 2,
    "nand.transfer_per_kib": "2us",
    "host.replay.closed.queue_depth": 16,
    "gantt": "window",
    "gantt.window.from": "20ms",
    "gantt.window.length": "2ms",
    "workload.requests": 5_000,
}
"""Four dies of two planes on two channels, sixteen requests at a time, two milliseconds of them recorded."""

NEEDS_EVENT = 'time = "event"'


@pytest.fixture(scope="module")
def timed() -> ssdlab.Result:
    """A run with channels and dies."""
    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**SMALL, **EVENT}))


@pytest.fixture(scope="module")
def serial() -> ssdlab.Result:
    """A run without channels and dies."""
    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**SMALL, "workload.requests": 500}))


def test_the_columns_add_up_to_the_summary(timed: ssdlab.Result) -> None:
    activity, drive = timed.activity, timed.summary["drive"]
    assert activity is not None
    elapsed_ns = timed.summary["time"]["elapsed_ns"]
    for busy, utilisation, rows in (
        (activity.dies_busy_ns, drive["die_utilisation"], drive["dies"]),
        (activity.channels_busy_ns, drive["channel_utilisation"], drive["channels"]),
    ):
        shares = busy.sum(axis=1) / elapsed_ns
        assert busy.dtype == np.uint64 and len(busy) == rows
        assert {"mean": shares.mean(), "min": shares.min(), "max": shares.max()} == pytest.approx(utilisation)
    assert activity.dies_busy_ns.max() <= activity.die_bin_ns
    assert activity.internal_busy_ns.sum() / activity.dies_busy_ns.sum() == pytest.approx(drive["internal_share"])
    assert activity.outstanding_ns.sum() / elapsed_ns == pytest.approx(drive["queue_depth_mean"])
    for op in ("read", "write"):
        assert activity.waiting[op].requests.sum() == timed.summary["host"][f"{op}_requests"]
        parts = [drive[part][op]["mean_ns"] for part in ("waiting", "service")]
        assert sum(parts) == pytest.approx(timed.summary["latency"][op]["mean_ns"])


def test_intervals_add_up_to_the_run(timed: ssdlab.Result) -> None:
    activity, response = timed.activity, timed.summary["drive"]["response"]
    assert activity is not None and activity.course is not None
    course = activity.course
    assert {*course.parts_ns} == {(op, part) for op in ("read", "write") for part in diagnosis.PARTS}
    for op in ("read", "write"):
        for kind, whole in (("response", timed.latency[op]), ("waiting", activity.waiting[op])):
            times = course.times[op, kind]
            assert times.interval.max() < 128 and (np.diff(times.interval.astype(np.int64)) >= 0).all()
            lower, at = np.unique(times.lower_ns, return_inverse=True)
            assert lower.tolist() == whole.lower_ns.tolist()
            assert np.bincount(at, times.requests).tolist() == whole.requests.tolist()
        slow = course.slowest
        longest = {
            int(ended // course.interval_ns): int(took)
            for its, ended, took in zip(slow.op, slow.ended_ns, slow.response_ns, strict=True)
            if its == op
        }
        times = course.times[op, "response"]
        assert {*longest} == {*times.interval.tolist()}
        assert max(longest.values()) == timed.summary["latency"][op]["max_ns"]
        for interval, took in longest.items():
            last = np.flatnonzero(times.interval == interval)[-1]
            assert times.lower_ns[last] <= took < times.upper_ns[last]
        of_all = {part: int(course.parts_ns[op, part].sum()) for part in diagnosis.PARTS}
        assert {part: sum_ns for part, sum_ns in of_all.items() if sum_ns} == response[op]["all"]["parts_ns"]
    table = timed.activity_arrow()["parts"]
    assert sum(table["sum_ns"].to_pylist()) == response["all"]["all"]["sum_ns"]


def test_the_window_holds_its_operations(timed: ssdlab.Result) -> None:
    assert timed.activity is not None
    gantt, drive = timed.activity.gantt, timed.summary["drive"]
    assert len({len(column) for column in gantt}) == 1 and len(gantt.die) > 20
    assert (gantt.begin_ns < gantt.end_ns).all() and (np.diff(gantt.end_ns.astype(np.int64)) >= 0).all()
    assert gantt.begin_ns.min() < 22_000_000 and gantt.end_ns.min() > 20_000_000
    # Each operation belongs to a request given to the drive; a write of the trace is at least one program.
    assert 0 < gantt.request.max() <= timed.summary["host"]["read_requests"] + timed.summary["host"]["write_requests"]
    # A request arrives before its operations begin, and all operations of a request have the same arrival time.
    assert (gantt.arrived_ns <= gantt.begin_ns).all() and (gantt.arrived_ns > 0).any()
    assert len({*zip(gantt.request.tolist(), gantt.arrived_ns.tolist(), strict=True)}) == len({*gantt.request.tolist()})
    assert gantt.die.max() < drive["dies"] and gantt.plane.max() < drive["planes_per_die"]
    assert {*gantt.kind} <= {*activity_plots.KIND_COLOURS} and {*gantt.cause} <= {*tables.CAUSES}
    assert {*gantt.bus.tolist()} == {True, False}


def test_files_hold_the_activity(timed: ssdlab.Result, serial: ssdlab.Result, tmp_path: Path) -> None:
    for name in ("one", "two"):
        timed.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    expected = timed.activity_arrow()
    tables = {name: pyarrow.parquet.read_table(tmp_path / "one" / f"activity_{name}.parquet") for name in expected}
    assert tables == expected
    assert {name: table.column_names for name, table in tables.items()} == {
        "dies": ["die", "begin_ns", "end_ns", "busy_ns"],
        "channels": ["channel", "begin_ns", "end_ns", "busy_ns"],
        "internal": ["begin_ns", "end_ns", "busy_ns"],
        "queue": ["begin_ns", "end_ns", "outstanding_ns"],
        "waiting": ["op", "lower_ns", "upper_ns", "requests"],
        "intervals": ["op", "time", "begin_ns", "end_ns", "lower_ns", "upper_ns", "requests"],
        "slowest": [*SlowColumns._fields],
        "parts": ["op", "part", "begin_ns", "end_ns", "sum_ns"],
        "gantt": [*GanttColumns._fields],
    }
    assert tables["gantt"].schema.metadata[b"truncated"] == b"false"
    assert serial.activity is None and serial.summary["drive"] is None and serial.activity_arrow() == {}
    serial.save(tmp_path / "one")
    assert [name for name in files if not (tmp_path / "one" / name).exists()] == [
        f"activity_{name}.parquet" for name in sorted(expected)
    ]


@settings(max_examples=examples(20), deadline=None)
@given(
    channels=st.integers(1, 4),
    per_channel=st.integers(1, 4),
    planes=st.integers(1, 4),
    operations=st.integers(0, 40),
    truncated=st.booleans(),
)
def test_tables_return_the_columns(
    serial: ssdlab.Result, channels: int, per_channel: int, planes: int, operations: int, truncated: bool
) -> None:
    result = faked.drive(
        serial,
        channels=channels,
        dies=channels * per_channel,
        planes=planes,
        operations=operations,
        truncated=truncated,
    )
    activity, tables = result.activity, result.activity_arrow()
    assert activity is not None
    for name, of, bin_ns, busy in (
        ("dies", "die", activity.die_bin_ns, activity.dies_busy_ns),
        ("channels", "channel", activity.channel_bin_ns, activity.channels_busy_ns),
    ):
        back = np.zeros_like(busy)
        columns = {column: tables[name][column].to_numpy() for column in tables[name].column_names}
        back[columns[of], columns["begin_ns"] // bin_ns] = columns["busy_ns"]
        assert (back == busy).all() and (columns["end_ns"] - columns["begin_ns"] == bin_ns).all()
    gantt = tables["gantt"]
    assert gantt.schema.types[-2:] == [pyarrow.string()] * 2
    assert gantt["kind"].to_pylist() == activity.gantt.kind and gantt["die"].to_pylist() == activity.gantt.die.tolist()
    assert gantt.schema.metadata == {b"truncated": str(truncated).lower().encode()}


def test_charts_of_dies_need_dies(serial: ssdlab.Result) -> None:
    for draw in (serial.plot_utilisation, serial.plot_queue_depth, serial.plot_gantt):
        with pytest.raises(ValueError, match=NEEDS_EVENT):
            draw()


def test_heat_maps_have_a_row_for_each_die_and_channel(timed: ssdlab.Result) -> None:
    dies, channels = timed.plot_utilisation().axes[:2]
    for axes, rows in ((dies, 4), (channels, 2)):
        values = np.asarray(axes.images[0].get_array())
        assert len(values) == rows and values.min() >= 0 and 0 < values.max() <= 100
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1"]


@pytest.mark.parametrize("times_ns", [(1.2e6, 8.4e6), (0.9e6, 2e6), (0.9e6, 12e6), (1e5, 1e6), (45e3, 45e3)])
def test_a_time_axis_labels_two_times(times_ns: tuple[float, float]) -> None:
    marks = [Points("read", np.arange(2.0), np.array(times_ns), "#000000")]
    figure = drawn(Chart([Panel(marks, Axis(), durations_between("response time", *times_ns))]))
    figure.draw_without_rendering()
    [axes] = figure.axes
    low, high = axes.get_ylim()
    assert sum(bool(low <= tick <= high) for tick in axes.get_yticks()) >= 2


@pytest.mark.parametrize("ops", [[], ["flush"], ["trim"], ["read"], ["write"]])
def test_a_nearly_idle_drive_has_a_report(small: ssdlab.Config, ops: list[str]) -> None:
    trace = ssdlab.Trace.from_columns(
        op=ops, offset=[4096] * len(ops), bytes=[0 if op == "flush" else 4096 for op in ops]
    )
    result = ssdlab.simulate(small.with_overrides({**EVENT, "precondition.overwrite": "none"}), trace)
    idle = result.plot_utilisation().axes[0].texts
    assert [text.get_text() for text in idle] == ([] if {*ops} & {"read", "write"} else [activity_plots.NOTHING])
    assert "Channels and dies" in result.report_html()


def test_channels_may_idle(serial: ssdlab.Result) -> None:
    idle = faked.drive(serial)
    assert idle.activity is not None
    idle.activity = idle.activity._replace(channels_busy_ns=np.zeros((2, 0), np.uint64))
    dies, channels = idle.plot_utilisation().axes[:2]
    assert np.asarray(dies.images[0].get_array()).any() and not np.asarray(channels.images[0].get_array()).any()
    assert dies.get_xlim() == channels.get_xlim()


def test_queue_depth_reaches_the_hosts_outstanding_requests(timed: ssdlab.Result) -> None:
    axes = timed.plot_queue_depth().axes[0]
    mean, most = (str(line.get_label()) for line in axes.lines)
    assert mean.startswith("mean 15.") and most == "max 16"


def test_a_gantt_chart_has_a_bar_for_each_operation(timed: ssdlab.Result) -> None:
    assert timed.activity is not None
    figure = timed.plot_gantt()
    axes, gantt = figure.axes[0], timed.activity.gantt
    assert len(axes.patches) == len(gantt.die) and axes.get_title(loc="left") == ""
    internal = sum(cause not in activity_plots.HOST_CAUSES for cause in gantt.cause)
    assert sum(patch.get_hatch() is not None for patch in axes.patches) == internal
    lanes = [label.get_text() for label in axes.get_yticklabels()]
    assert lanes[:6] == ["channel 0", *(f"die {die}, plane {plane}" for die in (0, 1) for plane in (0, 1)), "channel 1"]
    kinds = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {*kinds} - {"internal"} == {*gantt.kind}


@settings(max_examples=examples(6), deadline=None)
@given(
    channels=st.sampled_from([1, 2, 8, 32]),
    per_channel=st.sampled_from([1, 3, 8]),
    planes=st.integers(1, 4),
    operations=st.sampled_from([0, 1, 40, 3_000]),
    truncated=st.booleans(),
)
def test_any_drive_can_be_drawn(
    serial: ssdlab.Result, channels: int, per_channel: int, planes: int, operations: int, truncated: bool
) -> None:
    dies = channels * per_channel
    result = faked.drive(
        serial, channels=channels, dies=dies, planes=planes, operations=operations, truncated=truncated
    )
    above = result.plot_utilisation().axes[0]
    assert len(np.asarray(above.images[0].get_array())) == dies
    assert 1 <= len(above.get_yticks()) <= activity_plots.LABELS
    result.plot_queue_depth()
    axes = result.plot_gantt().axes[0]
    assert result.activity is not None
    recorded = len(result.activity.gantt.die)
    if not operations:
        assert "No flash operation was recorded" in axes.texts[0].get_text()
        return
    assert len(axes.patches) <= min(recorded, activity_plots.OPERATIONS)
    assert len(axes.get_yticks()) <= activity_plots.LANES
    assert (axes.get_title(loc="left") == "") == (len(axes.patches) == recorded and not truncated)


def test_a_gantt_chart_names_what_it_leaves_out(serial: ssdlab.Result) -> None:
    busy = faked.drive(serial, channels=16, dies=64, planes=4, operations=12_000, truncated=True)
    assert busy.plot_gantt().axes[0].get_title(loc="left") == (
        "Shown: 48 of 272 lanes, the first 2,000 of 4,131 bars, only the part of the run that was recorded"
    )


def test_internal_work_is_shaded_by_its_share(timed: ssdlab.Result, serial: ssdlab.Result) -> None:
    figure = timed.plot_response_time()
    assert [axes.get_ylabel() for axes in figure.axes] == ["response time", "internal work (% of die time)"]
    values, edges, _ = figure.axes[1].patches[0].get_data()  # type: ignore[attr-defined]
    assert (values >= 0).all() and (values <= 100).all()
    drive = timed.summary["drive"]
    of_all = (values * np.diff(edges)).sum() / edges[-1] / 100
    assert of_all == pytest.approx(drive["internal_share"] * drive["die_utilisation"]["mean"], rel=0.02)
    assert len(serial.plot_response_time().axes) == 1


def test_percentiles_equal_the_summary(timed: ssdlab.Result, serial: ssdlab.Result) -> None:
    lines = {str(line.get_label()): line for line in timed.plot_latency_percentiles().axes[0].lines}
    assert {*lines} == {"read", "read, waiting", "write", "write, waiting"}
    drive = timed.summary["drive"]
    for op in ("read", "write"):
        for line, times in ((lines[op], timed.summary["latency"][op]), (lines[f"{op}, waiting"], drive["waiting"][op])):
            x, y = np.asarray(line.get_data(), dtype=float)
            assert x[0] == 0 and (np.diff(x) >= 0).all() and (np.diff(y[np.isfinite(y)]) >= 0).all()
            for quantile, name in ((0.9, "p90_ns"), (0.99, "p99_ns")):
                # The value is the start of the bucket.
                value = y[np.searchsorted(x, -np.log10(1 - quantile)) - 1]
                assert np.nan_to_num(value) == pytest.approx(times[name], rel=0.017)
    assert len(serial.plot_latency_percentiles().axes[0].lines) == 2


def test_tables_show_the_drive(timed: ssdlab.Result, serial: ssdlab.Result) -> None:
    shown = tables.sections(timed.summary)
    drive = dict(shown["Drive"])
    assert drive["dies"] == "4" and drive["requests outstanding, max"] == "16"
    assert "suspended programs and erases" not in drive and "Write buffer" not in shown and "Waiting" not in shown
    rows = dict(tables.waiting_times(timed.summary))
    assert [*rows] == ["read waiting", "read service", "write waiting", "write service"]
    assert all(len(cells) == len(metrics.QUANTILES) for cells in rows.values())
    assert not {"Drive", "Write buffer"} & {*tables.sections(serial.summary)}
    assert tables.waiting_times(serial.summary) == [] and tables.stream_times(serial.summary) == ([], 0)
    assert "queueing" in (remarks.clock_remark(timed.config) or "")


def test_streams_have_their_own_response_times(small: ssdlab.Config) -> None:
    streams = {"workload.pattern": "streams", "workload.reads": "10%"}
    summary = ssdlab.simulate(small.with_overrides({**EVENT, **streams})).summary
    rows, more = tables.stream_times(summary)
    assert sorted(name for name, _ in rows) == ["random", "seq1", "seq2", "seq3", "seq4"] and more == 0
    assert all(len(cells) == len(tables.STREAM_COLUMNS) for _, cells in rows)
    requests = [sum(int(cells[column].replace(",", "")) for column in (0, 4)) for _, cells in rows]
    assert sum(requests) == summary["host"]["read_requests"] + summary["host"]["write_requests"]
    assert requests == sorted(requests, reverse=True)


@pytest.mark.parametrize(("writes", "told"), [("back", True), ("through", False)])
def test_cache_write_backs_belong_to_no_stream(writes: str, told: bool) -> None:
    count = 600
    trace = ssdlab.Trace.from_columns(
        op=["write", "read"] * (count // 2),
        offset=[number * 7919 % 4000 * 4096 for number in range(count)],
        bytes=[4096] * count,
        stream=["log", "data", "data"] * (count // 3),
    )
    above = {"cache.policy": "lru", "cache.size": "64KiB", "cache.writes": writes}
    drive = {"device.capacity": "32MiB", "device.reserve": "extra", "nand.pages_per_block": 32, "time": "event"}
    result = ssdlab.simulate(ssdlab.Config("tlc-nvme", overrides={**drive, **above}), trace)
    assert any(stream["stream"] == "0" for stream in result.summary["drive"]["streams"]) == told
    assert ("Stream 0 contains write-backs" in result.report_html()) == told


def test_only_the_busiest_streams_are_listed(serial: ssdlab.Result) -> None:
    many = faked.drive(serial, streams=tables.STREAMS_SHOWN + 5)
    many.summary["drive"]["streams"][-1]["stream"] = None
    rows, more = tables.stream_times(many.summary)
    assert len(rows) == tables.STREAMS_SHOWN and more == 5
    # The first stream wrote nothing, so it comes last.
    assert "stream0" not in dict(rows)
    assert "5 more streams" in many.report_html()
    few = faked.drive(serial, streams=2)
    few.summary["drive"]["streams"][1]["stream"] = None
    assert [name for name, _ in tables.stream_times(few.summary)[0]] == ["stream0", tables.OTHER_STREAMS]
    assert tables.stream_times(few.summary)[0][0][1][4:8] == ["–"] * 4


def test_a_report_shows_the_drive_at_work(timed: ssdlab.Result, serial: ssdlab.Result) -> None:
    page = html.unescape(timed.report_html())
    titles = ("Response time by percentile", "Waiting and service", "Utilisation over time", "Requests outstanding",
              "Operation by operation")  # fmt: skip
    for title in titles:
        assert f"<h3>{title}</h3>" in page
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    plain = faked.drive(serial, operations=0).report_html()
    assert titles[-2] in plain and titles[-1] not in plain


def test_a_write_buffer_has_its_rows(serial: ssdlab.Result) -> None:
    rows = dict(tables.sections(faked.drive(serial, buffer=True).summary)["Write buffer"])
    assert rows["pages overwritten in the buffer"] == "3" and rows["writes that waited for buffer space"] == "12"


def test_the_command_line_prints_and_compares_drives(cli: Cli) -> None:
    event = [argument for key, value in EVENT.items() for argument in ("--set", f"{key}={value}")]
    out = cli("run", *SMALL_SETS, *event, "--all", "--out", "out").stdout
    assert "Waiting and service" in out and "die utilisation, mean" in out
    together = " ".join(argument for argument in event if argument != "--set")
    cases = ("--case", f"event: {together}", "--case", "serial: seed=1")
    rows = cli("compare", *SMALL_SETS, *cases, "--all").stdout.splitlines()
    assert next(row for row in rows if "read waiting p99" in row).split()[-1] == "–"
