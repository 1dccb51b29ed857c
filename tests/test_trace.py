"""Traces in memory and on disk."""

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import ssdlab
from conftest import Cli
from ssdlab.model.conversion import all_formats
from ssdlab.model.parquet import ParquetReader
from tiers import examples

COLUMNS: dict[str, Any] = {
    "time_ns": [0, 5, 5, 9],
    "op": ["write", "read", "trim", "flush"],
    "offset": [0, 4096, 8192, 0],
    "bytes": [4096, 512, 8192, 0],
    "flags": [1, 0, 0, 0],
    "stream": [1, 2, 2, 1],
}
STREAMS = ["", "alpha", "beta"]


def equal(left: ssdlab.Trace, right: ssdlab.Trace) -> bool:
    columns = right.columns()
    return all(np.array_equal(column, columns[name]) for name, column in left.columns().items())


def test_an_unknown_extension_names_the_format_option(cli: Cli, tmp_path: Path) -> None:
    trace = ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096])
    with pytest.raises(ssdlab.TraceError, match="or set format="):
        trace.save(tmp_path / "x.xyz")
    trace.save(tmp_path / "x.csv")
    assert "or set --to\n" in cli("trace", "convert", "x.csv", "x.xyz", check=False).stderr


def test_columns_round_trip() -> None:
    trace = ssdlab.Trace.from_columns(**COLUMNS, streams=STREAMS)
    assert len(trace) == 4
    assert trace.op.tolist() == [1, 0, 2, 3]
    assert trace.offset.tolist() == COLUMNS["offset"]
    assert trace.time_ns.dtype == np.uint64 and trace.bytes.dtype == np.uint32 and trace.op.dtype == np.uint8


def test_names_of_streams_may_be_an_array() -> None:
    names: Any
    names, numbers = np.unique(["log", "data"], return_inverse=True)
    columns: dict[str, Any] = {"op": ["write", "read"], "offset": [0, 0], "bytes": [512, 512], "stream": numbers}
    trace = ssdlab.Trace.from_columns(**columns, streams=names)
    assert equal(trace, ssdlab.Trace.from_columns(**columns, streams=[*names]))
    assert trace.streams == ("", "data", "log") and trace.columns()["stream"].tolist() == [2, 1]


def test_integers_keep_all_64_bits() -> None:
    far = (1 << 63) + 513
    trace = ssdlab.Trace.from_columns(op=[0, 1], offset=[0, far], bytes=[512, 512])
    assert trace.offset.tolist() == [0, far]


def test_columns_may_be_left_out() -> None:
    trace = ssdlab.Trace.from_columns(op=[0, 1], offset=np.array([0, 4096]), bytes=[512, 512])
    assert trace.time_ns.tolist() == [0, 0] and trace.columns()["stream"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": ["write", "read", "trim", "erase"]}, "'erase' is not one of read, write, trim, flush"),
        ({"op": [0, 1, 2, 7]}, "row 3: op is 7"),
        ({"bytes": [4096, 0, 8192, 0]}, "row 1: a read of 0 bytes"),
        ({"bytes": [4096, 512, 8192, 1]}, "row 3: a flush of 1 bytes"),
        ({"bytes": [4096, 512, 1 << 33, 0]}, "row 2: bytes 8589934592 is not between 0 and 4294967295"),
        ({"time_ns": [0, 5, 4, 9]}, "row 2: time_ns 4 is earlier than 5"),
        ({"offset": [0, -1, 0, 0]}, "row 1: offset -1 is not between"),
        ({"offset": [0, (1 << 64) - 1, 0, 0]}, "row 1: offset 18446744073709551615 plus 512 bytes exceeds 64 bits"),
        ({"offset": [0, 1, 2]}, "they must be equally long"),
        ({"offset": [0.5, 1, 2, 3]}, "row 0: offset 0.5 is not a whole number"),
        ({"offset": [[0, 1], [2, 3]]}, "offset has 2 dimensions"),
    ],
)
def test_a_wrong_column_is_named_with_its_row(change: dict[str, object], message: str) -> None:
    with pytest.raises(ssdlab.TraceError) as error:
        ssdlab.Trace.from_columns(**{**COLUMNS, **change})
    assert message in str(error.value)


def test_frames_and_arrow_give_the_same_trace() -> None:
    trace = ssdlab.Trace.from_columns(**COLUMNS, streams=STREAMS)
    assert equal(trace, ssdlab.Trace.from_frame(polars.DataFrame(COLUMNS)))
    assert equal(trace, ssdlab.Trace.from_frame(pandas.DataFrame(COLUMNS)))
    assert equal(trace, ssdlab.Trace.from_arrow(pyarrow.table(COLUMNS)))
    again = ssdlab.Trace.from_arrow(trace)
    assert equal(trace, again) and list(again.streams) == STREAMS
    assert polars.from_arrow(trace.to_arrow()).shape == (4, 6)


def test_arrow_with_a_column_missing_or_empty_says_so() -> None:
    with pytest.raises(ssdlab.TraceError, match="no column 'offset'"):
        ssdlab.Trace.from_arrow(pyarrow.table({"op": ["read"], "bytes": [512]}))
    with pytest.raises(ssdlab.TraceError, match="row 0: bytes is empty; fill or drop the row"):
        ssdlab.Trace.from_arrow(pyarrow.table({"op": ["read"], "offset": [0], "bytes": [None]}))


requests = st.integers(1, 400).flatmap(
    lambda n: st.tuples(
        arrays.arrays(np.uint64, n, elements=st.integers(0, 2**60)),
        arrays.arrays(np.uint8, n, elements=st.integers(0, 2)),
        arrays.arrays(np.uint64, n, elements=st.integers(0, 2**40)),
        arrays.arrays(np.uint32, n, elements=st.integers(1, 2**20)),
        arrays.arrays(np.uint16, n, elements=st.integers(0, 2)),
    )
)


@settings(max_examples=examples(40), deadline=None)
@given(requests)
def test_parquet_keeps_every_field(tmp_path_factory: pytest.TempPathFactory, columns: tuple[np.ndarray, ...]) -> None:
    time_ns, op, offset, size, stream = columns
    trace = ssdlab.Trace.from_columns(
        time_ns=np.sort(time_ns), op=op, offset=offset, bytes=size, stream=stream, streams=STREAMS
    )
    path = tmp_path_factory.mktemp("parquet") / "trace.parquet"
    trace.save(path)
    again = ssdlab.read_trace(path)
    assert trace.time_ns[0] == 0
    assert equal(trace, again) and list(again.streams) == STREAMS


def test_csv_and_parquet_hold_the_same_trace(tmp_path: Path) -> None:
    trace = ssdlab.generate(ssdlab.Config(overrides={"workload.requests": 5000, "workload.pattern": "zipf"}))
    for name in ("trace.csv", "trace.csv.gz", "trace.csv.zst", "trace.parquet"):
        trace.save(tmp_path / name)
        assert equal(trace, ssdlab.read_trace(tmp_path / name)), name


@pytest.mark.parametrize("pattern", ["streams", "copy_files", "oltp"])
def test_generated_streams_keep_their_names(tmp_path: Path, pattern: str) -> None:
    trace = ssdlab.generate(ssdlab.Config(overrides={"workload.requests": 5000, "workload.pattern": pattern}))
    assert trace.columns()["stream"].max() == len(trace.streams) - 1
    trace.save(tmp_path / "trace.parquet")
    again = ssdlab.read_trace(tmp_path / "trace.parquet")
    assert equal(trace, again) and again.streams == trace.streams
    assert bool(trace.op.all()) == (pattern == "copy_files")


def test_parquet_streams_over_row_groups_and_batches(tmp_path: Path) -> None:
    count = 200_000
    trace = ssdlab.generate(ssdlab.Config(overrides={"workload.requests": count}))
    path = tmp_path / "trace.parquet"
    pyarrow.parquet.write_table(trace.to_arrow(), path, row_group_size=70_000)
    source = ssdlab.TraceFile(path).open()
    sizes = []
    while len(batch := source.read(9_000)):
        sizes.append(len(batch))
    assert sum(sizes) == count and max(sizes) <= 9_000 and source.progress() == (count, count)


def test_parquet_is_sorted_like_text(tmp_path: Path) -> None:
    """Rows of 9 and 5 ns are 4 ns apart. A row that is more than 65,536 rows late is not moved."""
    path, before = tmp_path / "late.parquet", tmp_path / "early.parquet"

    def write(path: Path, times: list[int]) -> None:
        count = len(times)
        rows = {"time_ns": times, "op": [1] * count, "offset": [*range(count)], "bytes": [512] * count}
        pyarrow.parquet.write_table(pyarrow.table(rows), path, row_group_size=65_536)

    def met(trace: ssdlab.Trace) -> dict[str, int]:
        assert trace.ingest is not None
        return {name: value for name, _, _, value in trace.ingest["counts"] if value}

    write(path, [9, 5, 9])
    trace = ssdlab.read_trace(path)
    assert (trace.time_ns.tolist(), trace.offset.tolist()) == ([0, 4, 4], [1, 0, 2])
    assert met(trace) == {"requests": 3, "out_of_order": 1}
    # Each file begins when the previous file ends, whatever its times are.
    write(before, [5])
    assert ssdlab.read_trace(before, path, concat=True).time_ns.tolist() == [0, 0, 4, 4]
    write(path, [*range(10, 200_010), 4])
    trace = ssdlab.read_trace(path)
    assert trace.offset.tolist() == [*range(200_001)] and trace.time_ns[-1] == trace.time_ns[-2]
    assert met(trace) == {"requests": 200_001, "out_of_order": 1, "late": 1}
    source = ssdlab.TraceFile(path).open()
    assert isinstance(source, ParquetReader)
    once = [len(source.read(70_000)) for _ in range(5)]
    source.rewind()
    assert sum(once) == 200_001 and len(source.read(10)) == 10


def test_parquet_without_rows_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"op": [], "offset": [], "bytes": []}), path)
    for device in (None, "all"):
        with pytest.raises(
            ssdlab.TraceError, match=r"empty\.parquet: contains no requests; use a trace with reads or writes"
        ):
            ssdlab.read_trace(path, device=device)


def test_a_fault_in_parquet_names_file_and_row(tmp_path: Path) -> None:
    """Rows are counted from 0 in each file, also beyond the first batch of 65,536 rows and in a second file."""
    good, wrong = tmp_path / "good.parquet", tmp_path / "wrong.parquet"
    rows: dict[str, list[object]] = {"op": ["R"] * 70_000, "offset": [0.0] * 70_000, "bytes": [512] * 70_000}
    pyarrow.parquet.write_table(pyarrow.table(rows), good)
    for column, value, why in (
        ("op", "X", "op 'X' is not one of read, write, trim, flush"),
        ("op", None, "op is empty; fill or drop the row"),
        ("offset", 4096.5, "offset 4096.5 is not a whole number"),
        ("offset", -1.0, "offset -1.0 is not between 0 and"),
        ("bytes", 0, "a read of 0 bytes"),
    ):
        values = list(rows[column])
        values[69_000] = value
        pyarrow.parquet.write_table(pyarrow.table({**rows, column: values}), wrong)
        for paths in ([wrong], [good, wrong]):
            with pytest.raises(ssdlab.TraceError, match=rf"^{re.escape(f'{wrong}: row 69000: {why}')}"):
                ssdlab.read_trace(*paths, concat=len(paths) > 1)
    pyarrow.parquet.write_table(pyarrow.table({**rows, "offset": ["a"] * 70_000}), wrong)
    with pytest.raises(
        ssdlab.TraceError, match=rf"^{re.escape(f'{wrong}: column offset has type string; use numbers')}"
    ):
        ssdlab.read_trace(wrong)


def test_unsorted_dates_of_devices_are_sorted(tmp_path: Path) -> None:
    """The times of each device count from its first request, also for dates before 1970."""
    start = datetime.datetime(1960, 1, 1)
    times = [start + datetime.timedelta(seconds=seconds) for seconds in (9, 4, 5, 7)]
    rows = {"timestamp": times, "op": ["R"] * 4, "offset": [0, 1, 2, 3], "bytes": [512] * 4, "device": [*"abab"]}
    path = tmp_path / "v.parquet"
    pyarrow.parquet.write_table(pyarrow.table(rows), path)
    for device, offsets, seconds in (("a", [2, 0], [0, 4]), ("b", [1, 3], [0, 3])):
        trace = ssdlab.read_trace(path, device=device)
        assert trace.offset.tolist() == offsets
        assert trace.time_ns.tolist() == [10**9 * second for second in seconds]


def test_a_flush_needs_neither_offset_nor_size(tmp_path: Path) -> None:
    table = pyarrow.table({"op": ["W", "F", "R"], "offset": [0, None, 4096], "bytes": [512, None, 512]})
    path = tmp_path / "flush.parquet"
    pyarrow.parquet.write_table(table, path)
    numbered = table.set_column(0, "op", pyarrow.array([1, 3, 0]))
    for trace in (ssdlab.read_trace(path), ssdlab.Trace.from_frame(table), ssdlab.Trace.from_frame(numbered)):
        assert (trace.op.tolist(), trace.offset.tolist()) == ([1, 3, 0], [0, 0, 4096])
    wrong = table.set_column(0, "op", pyarrow.array(["W", "F", None]))
    with pytest.raises(ssdlab.TraceError, match="row 2: op is empty; fill or drop the row"):
        ssdlab.Trace.from_frame(wrong)
    wrong = pyarrow.table({"op": ["F", "R"], "offset": [None, None], "bytes": [0, 512]})
    with pytest.raises(ssdlab.TraceError, match="row 1: offset is empty; fill or drop the row"):
        ssdlab.Trace.from_frame(wrong)


def test_broken_parquet_and_feather_name_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "late.parquet"
    table = pyarrow.table({"op": ["R"], "offset": [0], "bytes": [512]})
    pyarrow.parquet.write_table(table, path)
    pyarrow.feather.write_feather(table, tmp_path / "x.feather")
    with pytest.raises(ssdlab.TraceError, match=r"x\.feather: is a Feather file.*feather\.read_table"):
        ssdlab.read_trace(tmp_path / "x.feather")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ssdlab.TraceError, match=r"late\.parquet: cannot be read as Parquet"):
        ssdlab.read_trace(path)


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> object:
        yield ssdlab.generate(ssdlab.Config(overrides={"workload.requests": 10}))._requests
        raise RuntimeError("out of luck")

    from ssdlab.model.conversion import write

    for name in ("trace.parquet", "trace.csv.zst"):
        with pytest.raises(RuntimeError, match="out of luck"):
            write(failing(), tmp_path / name, format=None, streams=list)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_reading_notes_travel_with_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "zero.csv"
    file.write_text("time_ns,op,sector,bytes,flags,pid\n0,W,0,4096,0x2,1\n1,W,8,0,0x2,1\n")
    trace = ssdlab.read_trace(file)
    assert trace.ingest is not None
    assert {name: value for name, _, _, value in trace.ingest["counts"]}["zero_length"] == 1
    assert ssdlab.simulate(trace=trace).ingest == trace.ingest


@settings(max_examples=examples(150), deadline=None)
@given(
    st.one_of(
        st.binary(max_size=300),
        st.text("0123456789,.RWFDx \n-", max_size=300).map(str.encode),
        st.binary(max_size=300).map(lambda data: b"PAR1" + data),
        st.binary(max_size=300).map(lambda data: b"\x28\xb5\x2f\xfd" + data),
    ),
    st.sampled_from([None, *(format.name for format in all_formats())]),
    st.booleans(),
)
def test_no_file_crashes_a_reader(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, format: str | None, skip_bad: bool
) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(data)
    try:
        ssdlab.read_trace(path, format=format, skip_bad=skip_bad)
    except ssdlab.TraceError as error:
        assert "\n" not in str(error)


def test_profile_finds_the_extent() -> None:
    profile = ssdlab.Trace.from_columns(**COLUMNS).profile()
    assert profile["extent_bytes"] == 16_384 and profile["requests"]["trim"] == 1


def test_columns_of_any_kind_are_accepted_or_named() -> None:
    good: dict[str, Any] = {"op": [0, 1], "offset": [0, 4096], "bytes": [512, 512]}
    for column, values in {
        "offset": [float("inf"), 0.0],
        "bytes": [2.0**32, 1.0],
        "stream": [[1], [1, 2]],
        "op": None,
    }.items():
        with pytest.raises(ssdlab.TraceError, match=column):
            ssdlab.Trace.from_columns(**{**good, column: values})
    with pytest.raises(ssdlab.TraceError, match="row 0: offset"):
        ssdlab.Trace.from_columns(**{**good, "offset": [2.0**64, 0.0]})
    with pytest.raises(ssdlab.TraceError, match="is not one of read"):
        ssdlab.Trace.from_columns(**{**good, "op": [b"read", b"\xff"]})
    misaligned = np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.uint64)
    assert len(ssdlab.Trace.from_columns(**{**good, "offset": misaligned})) == 2


def test_arrow_data_without_a_trace_is_named() -> None:
    table = pyarrow.table({"op": ["read"], "offset": [0], "bytes": [512]})
    for wrong, message in (
        (5, "int is not Arrow data"),
        (table.set_column(0, "op", [[{"a": 1}]]), "column op has type struct"),
        (table.append_column("bytes", [[1]]), "several columns are named 'bytes'"),
        (table.replace_schema_metadata({"ssdlab.streams": "{no"}), "not a JSON list"),
        (table.replace_schema_metadata({"ssdlab.streams": "5"}), "not a JSON list"),
    ):
        with pytest.raises(ssdlab.TraceError, match=message):
            ssdlab.Trace.from_arrow(wrong)


def test_a_notebook_shows_a_trace() -> None:
    trace = ssdlab.Trace.from_columns(op=["write", "flush"], offset=[8192, 0], bytes=[4096, 0])
    assert repr(trace) == "<ssdlab.Trace of 2 requests>"
    shown = trace._repr_html_()
    assert all(word in shown for word in ("8,192", "flushes", "1 (4.00 KiB)"))
    assert ssdlab.Trace.from_columns(op=[], offset=[], bytes=[])._repr_html_()
    # The first name is that of requests without a stream.
    named = ssdlab.Trace.from_columns(op=["write"] * 3, offset=[0] * 3, bytes=[512] * 3, stream=["a", "b", "a"])
    assert len(named.streams) == 3 and named.profile()["streams"] == 2
    assert 'streams</th><td class="number">2</td>' in named._repr_html_()
    generated = ssdlab.generate(ssdlab.Config("tlc-chip", overrides={"workload.requests": 5}))
    assert generated.streams and "streams" not in generated._repr_html_()
    flushing = ssdlab.Trace.from_columns(op=["write", "flush"], offset=[0, 0], bytes=[512, 0], stream=["a", "b"])
    assert flushing.profile()["streams"] == 1 and 'streams</th><td class="number">1</td>' in flushing._repr_html_()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_an_unknown_action_is_refused_in_every_format(tmp_path: Path, name: str) -> None:
    ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[512]).save(tmp_path / name)
    with pytest.raises(ssdlab.TraceError, match='"Z" is not an action; use queue'):
        ssdlab.read_trace(tmp_path / name, action="Z")
    assert len(ssdlab.read_trace(tmp_path / name, action="issue")) == 1
