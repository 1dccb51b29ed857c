"""Data frames with common column names, units and operation names."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import ssdlab
from ssdlab.model.devices import DeviceReader
from ssdlab.model.parquet import ParquetReader
from ssdlab.model.requests import batches
from ssdlab.model.trace import Trace
from ssdlab.model.trace_file import source_of

EXPECTED = {
    "time_ns": [0, 1_500_000, 2_000_000],
    "op": [0, 1, 2],
    "offset": [4096, 8192, 0],
    "bytes": [512, 4096, 8192],
}
"""The trace that every frame below means."""

START = datetime.datetime(2026, 1, 2, 3, 4, 5)
TIMES = [START + datetime.timedelta(microseconds=us) for us in (0, 1500, 2000)]


def columns(**more: Any) -> dict[str, Any]:
    """Columns of a trace, some replaced."""
    usual: dict[str, Any] = {
        "time_us": [0, 1500, 2000],
        "op": ["R", "W", "D"],
        "lba": [8, 16, 0],
        "size": [512, 4096, 8192],
    }
    usual |= more
    return {name: values for name, values in usual.items() if values is not None}


def meant(**more: Any) -> dict[str, Any]:
    """The expected columns, some of them replaced by the arguments."""
    return {**EXPECTED, **more}


def check(trace: ssdlab.Trace) -> None:
    """Asserts that the trace is the expected one."""
    for name, values in EXPECTED.items():
        assert trace.columns()[name].tolist() == values, name


@pytest.mark.parametrize(
    "ops",
    [
        ["R", "W", "D"],
        ["READ", "write", "Discard"],
        ["read", "WS", "trim"],
        ["RSM", "FWFS", "DS"],
        [0, 1, 2],
        ["0", "1", "2"],
        ["28", "2a", "unmap"],
    ],
)
def test_operations_are_words_and_numbers(ops: list[object]) -> None:
    for frame in (polars.DataFrame(columns(op=ops)), pandas.DataFrame(columns(op=ops)), pyarrow.table(columns(op=ops))):
        check(ssdlab.Trace.from_frame(frame))
    check(ssdlab.Trace.from_columns(**meant(op=ops)))


def test_booleans_mean_writes() -> None:
    held = columns(op=None, is_write=[True, False, True])
    for frame in (polars.DataFrame(held), pandas.DataFrame(held)):
        assert ssdlab.Trace.from_frame(frame).op.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "times",
    [
        {"timestamp": TIMES},
        {"Timestamp": [time.replace(tzinfo=datetime.UTC) for time in TIMES]},
        {"arrival": [time - START for time in TIMES]},
        {"time_ms": [0.0, 1.5, 2.0]},
        {"Time s": [0.0, 0.0015, 0.002]},
        {"time_ns": [0, 1_500_000, 2_000_000]},
    ],
)
def test_times_are_dates_durations_and_numbers(times: dict[str, Any]) -> None:
    held = columns(time_us=None, **times)
    check(ssdlab.Trace.from_frame(polars.DataFrame(held)))
    check(ssdlab.Trace.from_frame(pandas.DataFrame(held)))
    (values,) = times.values()
    if isinstance(values[0], datetime.timedelta) or (isinstance(values[0], datetime.datetime) and not values[0].tzinfo):
        check(ssdlab.Trace.from_columns(**meant(time_ns=np.array(values, dtype=None).astype(_unit(values[0])))))


def _unit(value: object) -> str:
    return "timedelta64[us]" if isinstance(value, datetime.timedelta) else "datetime64[us]"


def test_streams_are_numbered_and_keep_their_names() -> None:
    held = columns(process=["postgres", None, "vim"])
    for frame in (polars.DataFrame(held), pandas.DataFrame(held), pyarrow.table(held)):
        trace = ssdlab.Trace.from_frame(frame)
        assert trace.columns()["stream"].tolist() == [1, 0, 2] and trace.streams == ("", "postgres", "vim")
    numbered = ssdlab.Trace.from_frame(polars.DataFrame(columns(pid=[70_000, 5, 70_000])))
    assert numbered.columns()["stream"].tolist() == [1, 2, 1] and numbered.streams == ("", "70000", "5")
    named = ssdlab.Trace.from_columns(**meant(stream=["a", "", "b"]))
    assert named.columns()["stream"].tolist() == [1, 0, 2] and named.streams == ("", "a", "b")
    for none in (None, float("nan")):
        some = ssdlab.Trace.from_columns(**meant(stream=np.array(["a", none, "b"], object)))
        assert some.columns()["stream"].tolist() == [1, 0, 2] and some.streams == ("", "a", "b")
    with pytest.raises(ssdlab.TraceError, match="row 1: op is empty"):
        ssdlab.Trace.from_columns(**meant(op=["R", None, "W"]))


def test_foreign_parquet_reads_the_same_in_parts(tmp_path: Path) -> None:
    rows = 100_000
    held = {
        "Timestamp": np.datetime64("2026-01-02") + np.arange(rows).astype("timedelta64[us]"),
        "type": np.where(np.arange(rows) % 3, "W", "R"),
        "LBA": np.arange(rows) * 8,
        "sectors": np.full(rows, 8),
        "comm": np.where(np.arange(rows) % 2, "b", "a"),
    }
    table = pyarrow.table(held)
    pyarrow.parquet.write_table(table, tmp_path / "other.parquet", row_group_size=30_000)
    streamed, whole = ssdlab.read_trace(tmp_path / "other.parquet"), ssdlab.Trace.from_arrow(table)
    assert streamed.time_ns[-1] == (rows - 1) * 1000 and streamed.bytes[0] == 4096
    assert streamed.streams == whole.streams == ("", "a", "b")
    for name, values in whole.columns().items():
        assert (values == streamed.columns()[name]).all(), name


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"op": ["R", "erase", "W"]}, "row 1: op 'erase' is not one of read, write, trim, flush"),
        (
            {"lba": None, "sector": [8, 16, 0], "lbn": [8, 16, 0]},
            "offset: 'sector' and 'lbn' match the same trace column",
        ),
        ({"offset": [4096, 8192, 0]}, "offset: 'lba' and 'offset' match the same trace column; keep only one of them"),
        ({"bytes": [512, 4096, 8192]}, "bytes: 'size' and 'bytes' match the same trace column; keep only one of them"),
        ({"volume": ["a", None, "b"]}, "row 1: volume is empty; fill or drop the row"),
        (
            {"time_us": [0.0, float("inf"), 1.0]},
            "row 1: time_us inf is not between 0 and 9223372036854774, in units of 1,000 ns",
        ),
        ({"time_us": [0.0, float("nan"), 1.0]}, "row 1: time_us nan is not a number"),
        ({"time_us": None, "timestamp": [1, 2, 3]}, "column timestamp has no unit; rename it to time_ns"),
        ({"size": [512, None, 512]}, "row 1: size is empty; fill or drop the row"),
        ({"size": [512, 0, 512]}, "row 1: a write of 0 bytes"),
        ({"size": [512, -1, 512]}, "row 1: size -1.* is not between 0 and"),
        ({"lba": [8, 1 << 60, 0]}, "row 1: lba 1152921504606846976 is not between 0 and .*, in units of 512 bytes"),
        ({"lba": [8, -1, 0]}, "row 1: lba -1 is not between 0 and 18014398509481983, in units of 512 bytes"),
        ({"time_us": [0, -4, 6]}, "row 1: time_us -4 is not between 0 and 9223372036854775, in units of 1,000 ns"),
        (
            {"size": None, "sectors": [8, 1 << 23, 8]},
            "row 1: sectors 8388608 is not between 0 and 8388607, in units of 512 bytes",
        ),
        ({"size": [512.0, 512.5, 512.0]}, "row 1: size 512.5 is not a whole number"),
        ({"lba": ["8", "16", "0"]}, "column lba has type .*string.*; use numbers"),
        ({"time_us": None, "time": ["a", "b", "c"]}, "column time has type .*string.*; use numbers, dates"),
        ({"size": None}, "no column 'bytes'"),
    ],
)
def test_errors_name_column_and_row(wrong: dict[str, Any], said: str) -> None:
    for frame in (polars.DataFrame(columns(**wrong)), pyarrow.table(columns(**wrong))):
        with pytest.raises(ssdlab.TraceError, match=said):
            ssdlab.Trace.from_frame(frame)


def test_rows_are_put_in_order_of_time_like_those_of_parquet(tmp_path: Path) -> None:
    """5 us is out of order after 9 us."""
    dates = {"time_us": None, "timestamp": [TIMES[1], TIMES[0], TIMES[2]]}
    for changed, times in ((dates, [0, 1_500_000, 2_000_000]), ({"time_us": [9, 5, 9.5]}, [0, 4000, 4500])):
        table = pyarrow.table(columns(**changed))
        pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
        read = ssdlab.read_trace(tmp_path / "t.parquet")
        held = table.append_column("device", pyarrow.array(["a"] * 3))
        for trace in (read, ssdlab.Trace.from_frame(table), ssdlab.Trace.from_frame(held)):
            assert trace.time_ns.tolist() == times
            assert trace.offset.tolist() == [8192, 4096, 0]
            assert trace.ingest is not None
            assert {name: value for name, _, _, value in trace.ingest["counts"] if value}["out_of_order"] == 1
    assert ssdlab.Trace.from_frame(pyarrow.table(columns())).ingest is None


def test_a_date_without_a_time_is_midnight() -> None:
    days = [datetime.date(2026, 1, 2), datetime.date(2026, 1, 3), datetime.date(2026, 1, 3)]
    for frame in (polars.DataFrame, pyarrow.table):
        trace = ssdlab.Trace.from_frame(frame(columns(time_us=None, time=days)))
        assert trace.time_ns.tolist() == [0, 86_400 * 10**9, 86_400 * 10**9]


def test_an_empty_frame_is_a_trace_without_requests() -> None:
    """The columns of an empty frame have no type."""
    for names in (["time_ns", "op", "offset", "bytes"], ["op", "lba", "size", "stream"]):
        assert len(ssdlab.Trace.from_frame(pandas.DataFrame(columns=names))) == 0


def test_an_empty_time_names_its_row() -> None:
    times = np.array(["2026-01-02", "NaT", "2026-01-03"], dtype="datetime64[ns]")
    with pytest.raises(ssdlab.TraceError, match="row 1: time_ns is empty"):
        ssdlab.Trace.from_columns(**meant(time_ns=times))


@pytest.mark.parametrize("epoch", [np.int64(1_700_000_000_000_000_000), np.datetime64("1960-01-01", "ns")])
def test_times_of_any_epoch_count_from_the_first_request(tmp_path: Path, epoch: Any) -> None:
    rows = 100_000
    past = np.arange(rows) * 1000
    times = epoch + (past.astype("timedelta64[ns]") if isinstance(epoch, np.datetime64) else past)
    held: dict[str, Any] = {
        "op": np.ones(rows, np.uint8),
        "offset": np.zeros(rows, np.uint64),
        "bytes": np.full(rows, 512),
    }
    table = pyarrow.table({"timestamp_ns": times, **held})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    streamed = ssdlab.TraceFile(tmp_path / "t.parquet").open()
    assert isinstance(streamed, ParquetReader)
    for read in range(2):
        columns = [streamed.read(rows).column("time_ns") for _ in range(2)]
        assert (np.concatenate(columns) == past).all(), read
        streamed.rewind()
    for trace in (ssdlab.Trace.from_columns(time_ns=times, **held), ssdlab.Trace.from_frame(table)):
        assert (trace.time_ns == past).all()
    twice = ssdlab.read_trace(tmp_path / "t.parquet", tmp_path / "t.parquet", concat=True)
    assert (twice.time_ns == [*past, *past + past[-1]]).all()


@pytest.mark.parametrize(
    ("name", "past", "expected"),
    [
        ("time_us", [0, 1, 10], [0, 1000, 10_000]),
        ("time_us", [0, 0.25, 1.5], [0, 250, 1500]),
        ("time_ms", [0.25, 0.5, 1], [0, 250_000, 750_000]),
        ("time_s", [0.5, 0.75, 2], [0, 250_000_000, 1_500_000_000]),
    ],
)
def test_time_of_day_floats_are_exact(tmp_path: Path, name: str, past: list[float], expected: list[int]) -> None:
    epoch = 1_577_808_000_000_000 // {"time_us": 1, "time_ms": 1000, "time_s": 1_000_000}[name]
    held = columns(**{"time_us": None, name: np.array(past, float) + epoch})
    pyarrow.parquet.write_table(pyarrow.table(held), tmp_path / "t.parquet")
    for trace in (ssdlab.Trace.from_frame(polars.DataFrame(held)), ssdlab.read_trace(tmp_path / "t.parquet")):
        assert trace.time_ns.tolist() == expected


def test_devices_of_a_table_are_chosen_as_in_text(tmp_path: Path) -> None:
    """Goal: a table means the same as a text with the same rows, whichever device is requested. Method: reads both;
    compares streams by name, because they are numbered in order of appearance.
    """
    rows = 200_000
    number = np.arange(rows)
    held = {
        "time_us": 1000 + number,
        "op": np.where(number % 3, "W", "R"),
        "offset": number % 777 * 4096,
        "size": 4096 + number % 2 * 512,
        "stream": np.where(number % 5, "", "vim"),
        "volume": np.array(["", "7", "nine", "7"])[number % 2 + number % 3 * (number > 100)],
    }
    held["volume"][held["volume"] == ""] = "3"
    frame = polars.DataFrame(held)
    frame.write_csv(tmp_path / "v.csv")
    frame.write_parquet(tmp_path / "v.parquet", row_group_size=30_000)
    spelled = {"time": "time_us:us", "op": "op", "offset": "offset", "size": "size", "stream": "stream"}
    for device in (None, "all", "overlay", "7", "nine"):
        wanted = ssdlab.read_trace(tmp_path / "v.csv", columns={**spelled, "device": "volume"}, device=device)
        file = ssdlab.TraceFile(tmp_path / "v.parquet", device=device)
        for trace in (file.load(), ssdlab.Trace.from_frame(frame, device=device)):
            for name in ("time_ns", "op", "offset", "bytes"):
                assert (trace.columns()[name] == wanted.columns()[name]).all(), (device, name)
            names = [np.array(one.streams)[one.columns()["stream"]] for one in (trace, wanted)]
            assert (names[0] == names[1]).all(), device
            assert trace.ingest and wanted.ingest
            for about in ("device", "other_devices", "notes"):
                assert trace.ingest[about] == wanted.ingest[about], device
        reader = file.open()
        assert isinstance(reader, DeviceReader)
        for _ in range(2):
            assert sum(map(len, batches(reader))) == len(wanted)
            reader.rewind()
    missing = 'device "x" is not in the trace; its devices are'
    with pytest.raises(ssdlab.TraceError, match=missing):
        ssdlab.read_trace(tmp_path / "v.parquet", device="x")
    with pytest.raises(ssdlab.TraceError, match=missing):
        ssdlab.Trace.from_frame(frame, device="x")
    with pytest.raises(ssdlab.TraceError, match="device '7' is not in the table: it has no device column"):
        ssdlab.Trace.from_frame(polars.DataFrame(columns()), device="7")
    both = ssdlab.read_trace(tmp_path / "v.parquet", tmp_path / "v.parquet", concat=True)
    texts = [tmp_path / "v.csv"] * 2
    wanted = ssdlab.read_trace(*texts, columns={**spelled, "device": "volume"}, concat=True)
    for name in ("time_ns", "offset"):
        assert (both.columns()[name] == wanted.columns()[name]).all()


def test_other_objects_are_refused_with_their_type(tmp_path: Path) -> None:
    for given in (columns(), 5, [5]):
        with pytest.raises(ssdlab.TraceError, match=r"(dict|int|list) is not a trace; .* Trace\.from_frame\(columns\)"):
            ssdlab.simulate(None, given)  # type: ignore[arg-type]
    with pytest.raises(ssdlab.ConfigError, match="trace: 1 is not a path"):
        ssdlab.fleet(1, out=tmp_path)  # type: ignore[arg-type]
    check(ssdlab.Trace.from_frame(columns()))


def test_types_allow_what_simulations_take() -> None:
    for frame in (polars.DataFrame(columns()), pandas.DataFrame(columns()), pyarrow.table(columns())):
        source = source_of(frame)
        assert isinstance(source, Trace) and len(source) == 3
