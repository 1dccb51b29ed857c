"""Traces of many volumes: partitions equal the trace, and synthetic traces match published statistics."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab
from conftest import Cli
from fleets import FORMATS, rows
from ssdlab.model import volumes as parted
from ssdlab.study.fleet import synthetic
from tiers import examples


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits memory, so that partitions are written in many pieces."""
    monkeypatch.setattr(parted, "PART_REQUESTS", 64)


def same(one: ssdlab.Trace, other: ssdlab.Trace) -> bool:
    """True if two traces contain equal requests of equal streams."""
    pairs = zip(one.columns().values(), other.columns().values(), strict=True)
    return all(np.array_equal(*pair) for pair in pairs) and one.streams == other.streams


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(max(1, examples(30) // 10)))
def test_partitions_hold_each_volumes_requests(format: str, seed: int, tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    files = FORMATS[format](tmp_path / "trace", seed)
    parts = parted.part(ssdlab.TraceFile(tmp_path / "trace"), tmp_path / "volumes")
    assert parts.ingest["format"] == format
    for one in parts.volumes:
        whole = ssdlab.read_trace(*files, device=one.name, merge=len(files) > 1)
        own = ssdlab.read_trace(parts.path(one))
        assert same(own, whole), f"{format}, seed {seed}, volume {one.name}"
        written, read = own.op == 1, own.op == 0
        assert one.requests == len(own)
        assert (one.reads, one.writes) == (read.sum(), written.sum())
        assert (one.read_bytes, one.written_bytes) == (own.bytes[read].sum(), own.bytes[written].sum())
        assert one.end_bytes == (own.offset + own.bytes).max()
    assert sum(volume.requests for volume in parts.volumes) == len(rows(seed))


@pytest.mark.usefixtures("small_parts")
def test_a_parquet_column_names_volumes(tmp_path: Path) -> None:
    table = pa.table({
        "volume": pa.array(["a", "b", "a", "a", "b"]).dictionary_encode(),
        "time_us": [10, 20, 30, 40, 50], "op": ["W", "R", "R", "W", "W"],
        "lba": [0, 8, 16, 24, 32], "size": [512, 4096, 512, 512, 8192], "process": ["x", "y", "x", "z", "y"],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    parts = parted.part(ssdlab.TraceFile(tmp_path / "t.parquet"), tmp_path / "volumes")
    traces = {volume.name: ssdlab.read_trace(parts.path(volume)) for volume in parts.volumes}
    assert [*traces] == ["a", "b"] and traces["a"].time_ns.tolist() == [0, 20_000, 30_000]
    assert traces["b"].offset.tolist() == [4096, 16_384] and traces["b"].op.tolist() == [0, 1]
    assert traces["a"].streams == ("", "x", "y", "z")
    assert traces["a"].columns()["stream"].tolist() == [1, 1, 3] and traces["b"].columns()["stream"].tolist() == [2, 2]


def test_files_without_volume_names_are_volumes(tmp_path: Path) -> None:
    for name, offset in (("a", 0), ("b", 4096)):
        trace = ssdlab.Trace.from_columns(op=["write"], offset=[offset], bytes=[512], stream=[name])
        trace.save(tmp_path / f"{name}.csv")
        trace.save(tmp_path / f"{name}.parquet")
    for suffix in ("csv", "parquet"):
        files = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        parts = parted.part(ssdlab.TraceFile(*files), tmp_path / suffix)
        assert [(volume.name, volume.end_bytes) for volume in parts.volumes] == [
            (f"a.{suffix}", 512),
            (f"b.{suffix}", 4608),
        ]


def test_published_shares_are_reproduced() -> None:
    """Goal: sampled volumes have the published shares. Method: many volumes, against each share, within four standard
    errors.
    """
    drawn, random_ = 20_000, synthetic._Random(1)
    for name, median_gib, large_random in (("alibaba", 2.0, 0.204), ("tencent", 23.0, 0.358)):
        profile = synthetic.PROFILES[name]
        rate, writes, span, randomness = (
            np.array(getattr(profile, what).draw(drawn, random_)) for what in ("rate", "writes", "span", "random")
        )
        for share, published in (
            (np.exp(rate) < 10, 0.816), (np.exp(rate) > 100, 0.019), (np.exp(writes) > 1, 0.915),
            (np.exp(writes) > 100, 0.424), (np.exp(span) < median_gib * 2**30, 0.5),
            (1 / (1 + np.exp(-randomness)) > 0.5, large_random),
        ):  # fmt: skip
            assert abs(share.mean() - published) < 4 * (published * (1 - published) / drawn) ** 0.5


def test_a_synthetic_fleet_is_as_requested(tmp_path: Path) -> None:
    made = ssdlab.generate_fleet(tmp_path / "f.csv", volumes=40, requests=20_000, seed=3)
    ssdlab.generate_fleet(tmp_path / "f.parquet", volumes=40, requests=20_000, seed=3)
    ssdlab.generate_fleet(tmp_path / "g.csv", volumes=40, requests=20_000, seed=4)
    assert (made.volumes, made.requests) == (40, 20_000)
    text = (tmp_path / "f.csv").read_bytes()
    assert text.count(b"\n") == 20_000 and text != (tmp_path / "g.csv").read_bytes()
    partitions = [parted.part(ssdlab.TraceFile(tmp_path / f"f.{it}"), tmp_path / it) for it in ("csv", "parquet")]
    for one, other in zip(partitions[0].volumes, partitions[1].volumes, strict=True):
        trace, twin = (
            ssdlab.read_trace(its.path(its_own)) for its, its_own in zip(partitions, (one, other), strict=True)
        )
        assert np.array_equal(trace.offset, twin.offset) and np.array_equal(trace.op, twin.op)
    assert len(partitions[0].volumes) == 40
    ssdlab.generate_fleet(tmp_path / "f.csv", volumes=40, requests=20_000, seed=3)
    assert (tmp_path / "f.csv").read_bytes() == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["f.csv", "--like", "alibabba"], "did you mean alibaba"),
        (["f.csv", "--volumes", "70000"], "must be from 1 to 65536"),
        (["f.csv", "--requests", "10"], "must be at least 1000, the number of volumes"),
        (["f.bin", "--volumes", "2", "--requests", "10"], "end the name in .csv"),
        (["f.csv", "--seed", "-1"], "must be from 0"),
        (["no/f.csv", "--volumes", "2", "--requests", "10"], "No such file"),
    ],
)
def test_an_impossible_fleet_leaves_nothing(cli: Cli, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = cli("fleet", "generate", *arguments, check=False)
    assert done.returncode == 2 and message in done.stderr and not [*tmp_path.iterdir()]


def test_volumes_in_separate_files_share_the_clock_of_the_trace(tmp_path: Path) -> None:
    for name, times in (("a", [100, 400]), ("b", [200, 300])):
        held = {"op": ["W", "W"], "offset": [0, 0], "bytes": [512, 512]}
        pq.write_table(pa.table({"time_s": times, **held}), tmp_path / f"{name}.parquet")
        dates = pa.array([time * 10**9 for time in times], pa.timestamp("ns"))
        pq.write_table(pa.table({"timestamp": dates, **held}), tmp_path / f"{name}-dates.parquet")
    for suffix in ("", "-dates"):
        files = [tmp_path / f"{name}{suffix}.parquet" for name in "ab"]
        parts = parted.part(ssdlab.TraceFile(*files), tmp_path / f"volumes{suffix}")
        assert [(volume.first_ns, volume.last_ns) for volume in parts.volumes] == [
            (100 * 10**9, 400 * 10**9),
            (200 * 10**9, 300 * 10**9),
        ]
        assert ssdlab.read_trace(parts.path(parts.volumes[1])).time_ns.tolist() == [0, 100 * 10**9]
