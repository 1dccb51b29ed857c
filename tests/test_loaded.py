"""Saved results load unchanged: all properties are equal, and saving again gives equal bytes."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab
from conftest import SMALL, Cli
from ssdlab.model.config import recorded
from ssdlab.model.diagnosis import FINDINGS, WHAT_IFS
from ssdlab.model.remarks import remarks_on
from ssdlab.model.shape import has_figure
from ssdlab.view.pages import diagnosis as words
from tiers import examples

FEW = {**SMALL, "workload.requests": 2_000}
BAD = "time_ns,op,sector,bytes\n0,W,0,4096\n5,W,oops,4096\n9,R,0,0\n4,W,8192,4096\n20,R,4096,4096\n"

Run = Callable[[Path], ssdlab.Result]


def simulated(settings: dict[str, Any], *, diagnose: bool = True) -> Run:
    config = ssdlab.Config("tlc-chip", overrides={**FEW, **settings})
    return lambda _: ssdlab.simulate(config, keep=False, diagnose=diagnose)


def of_a_file(folder: Path) -> ssdlab.Result:
    """A run of a trace with skipped lines, which determines the size of the drive, with settings from a file."""
    (folder / "bad.csv").write_text(BAD)
    (folder / "my.toml").write_text('preset = "tlc-chip"\ndevice.op = "20%"\n')
    config = ssdlab.Config(file=folder / "my.toml", overrides={"seed": 7, "nand.pages_per_block": 64})
    return ssdlab.simulate(config, ssdlab.TraceFile(folder / "bad.csv", skip_bad=True), keep=False)


def in_memory(folder: Path) -> ssdlab.Result:
    """Requests of named streams through a scheduler, recorded below it."""
    trace = ssdlab.Trace.from_columns(
        op=["W", "R", "W", "F"] * 50,
        offset=[4096 * (n % 7) if n % 4 < 3 else 0 for n in range(200)],
        bytes=[4096, 4096, 8192, 0] * 50,
        time_ns=[n * 50_000 for n in range(200)],
        stream=["db", "log"] * 100,
    )
    scheduled = {**FEW, "time": "event", "block.scheduler": "deadline", "block.record": True}
    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=scheduled), trace, keep=False)


def stopped(folder: Path) -> ssdlab.Result:
    def stop(phase: str, *_: object) -> bool:
        return phase == "measure"

    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**SMALL, "time": "event"}), monitor=stop, keep=False)


def idle(folder: Path) -> ssdlab.Result:
    """An idle drive: its activity has no bins."""
    none = ssdlab.Trace.from_columns(op=[], offset=[], bytes=[])
    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**FEW, "time": "event"}), none, keep=False)


KINDS: dict[str, Run] = {
    "untimed": simulated({"time": "count", "ftl.page.map": "dftl"}),
    "in time": simulated({"time": "event", "device.capacity": "32MiB", "nand.dies": 2, "gantt.window.length": "2ms"}),
    "log blocks": simulated({"ftl": "fast"}),
    "controller": simulated({"time": "event", "drive.read_ahead": "sequential", "drive.thermal": "throttle"}),
    "cache": simulated({"time": "event", "cache.policy": "lru", "cache.size": "256KiB"}, diagnose=False),
    "repeated": simulated({"time": "event", "host.repeat": "until-steady", "check": True}),
    "two pools": simulated({"time": "event", "cache.policy": "lru", "cache.size": "256KiB", "cache.compressed": "50%"}),
    "trace file": of_a_file,
    "in memory": in_memory,
    "stopped": stopped,
    "idle": idle,
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ssdlab.Result, Path]:
    """A result and its folder."""
    folder = tmp_path_factory.mktemp("ftl=page") / "saved"
    result = KINDS[request.param](folder.parent)
    result.save(folder)
    return result, folder


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_saving_again_gives_equal_bytes(pair: tuple[ssdlab.Result, Path], tmp_path: Path) -> None:
    _, folder = pair
    ssdlab.Result.load(folder).save(tmp_path)
    assert bytes_in(tmp_path) == bytes_in(folder)


def test_every_number_of_a_result_is_described(pair: tuple[ssdlab.Result, Path]) -> None:
    result, _ = pair
    compared = ssdlab.Comparison({"one": [result]}, seeds=1)
    assert [figure for figure in compared.figures("one") if not has_figure(figure)] == []


def same(left: object, right: object) -> None:
    """Asserts that types, lengths and values are equal at every depth."""
    if isinstance(left, np.ndarray):
        assert isinstance(right, np.ndarray) and (left.dtype, left.shape) == (right.dtype, right.shape)
        assert (left == right).all()
    elif isinstance(left, dict):
        assert isinstance(right, dict) and [*left] == [*right]
        for key in left:
            same(left[key], right[key])
    elif isinstance(left, tuple | list):
        assert type(left) is type(right) and isinstance(right, tuple | list) and len(left) == len(right)
        for ours, theirs in zip(left, right, strict=True):
            same(ours, theirs)
    elif isinstance(left, ssdlab.Trace):
        assert isinstance(right, ssdlab.Trace) and (left.streams, left.ingest) == (right.streams, right.ingest)
        same(left.columns(), right.columns())
    else:
        assert left == right


def test_every_property_equals_the_runs(pair: tuple[ssdlab.Result, Path]) -> None:
    result, folder = pair
    loaded = ssdlab.Result.load(folder)
    for name in ("summary", "ingest", "series", "erase_counts", "latency", "log", "activity", "dispatched"):
        same(getattr(result, name), getattr(loaded, name))
    assert loaded.config.settings == result.config.settings
    assert {key: value for key, value in loaded.source.items() if key != "sha256"} == result.source
    assert loaded._repr_html_() == result._repr_html_() and repr(loaded) == repr(result)
    assert loaded.diagnose().to_dict() == result.diagnose().to_dict()
    assert (loaded.partial, loaded.iops, loaded.write_amplification) == (
        result.partial,
        result.iops,
        result.write_amplification,
    )
    for ours, theirs in zip(result.activity_arrow().values(), loaded.activity_arrow().values(), strict=True):
        assert ours.equals(theirs, check_metadata=True)


def test_its_configuration_can_be_changed_like_the_runs(pair: tuple[ssdlab.Result, Path]) -> None:
    result, folder = pair
    loaded = ssdlab.Result.load(folder)
    for change in ({"device.op": "30%"}, {"time": "count"}, {"seed": 5}):
        assert loaded.config.with_overrides(change).settings == result.config.with_overrides(change).settings


@pytest.mark.parametrize("preset", [None, *(preset.name for preset in ssdlab.presets())])
def test_every_configuration_is_restored(preset: str | None) -> None:
    for change in ({}, {"device.op": "30%"}, {"time": "event", "ftl": "fast"}, {"ftl.page.gc": "fifo"}):
        config = ssdlab.Config(preset, overrides=change)
        for one in (config, config.for_trace()):
            restored = recorded(json.loads(json.dumps(one.to_dict())))
            assert restored is not None and restored.settings == one.settings and restored.to_toml() == one.to_toml()


def test_the_trace_is_not_read_again(tmp_path: Path) -> None:
    of_a_file(tmp_path).save(tmp_path / "out")
    before = bytes_in(tmp_path / "out")
    (tmp_path / "bad.csv").unlink()
    loaded = ssdlab.Result.load(tmp_path / "out")
    assert len(loaded.source["sha256"][0]) == 64
    loaded.save(tmp_path / "again")
    assert bytes_in(tmp_path / "again") == before
    assert loaded.diagnose().envelope()["source"] == loaded.source


def test_the_version_of_the_simulation_is_stored(tmp_path: Path) -> None:
    simulated({"time": "count"})(tmp_path).save(tmp_path / "out")
    path = tmp_path / "out" / "result.json"
    path.write_text(path.read_text().replace(f'"{ssdlab.__version__}"', '"0.0.7"'))
    ssdlab.Result.load(path).save(tmp_path / "again")
    assert (tmp_path / "again" / "result.json").read_text() == path.read_text()


def test_figures_need_no_columns_and_columns_name_their_file(tmp_path: Path) -> None:
    result = simulated({"time": "event"})(tmp_path)
    (tmp_path / "printed.json").write_text(result.to_json())
    loaded = ssdlab.Result.load(tmp_path / "printed.json")
    assert loaded.summary == result.summary and loaded.log is None and loaded.dispatched is None
    assert loaded.diagnose().to_dict() == result.diagnose().to_dict()
    for name, file in (("series", "series"), ("erase_counts", "erase_counts"), ("activity", "activity_gantt")):
        with pytest.raises(ssdlab.ConfigError, match=rf"{file}\.parquet: not found; copy it into the folder"):
            getattr(loaded, name)
    with pytest.raises(ssdlab.ConfigError, match=r"not found|is missing"):
        loaded.save(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir() if path.name != "out"] == ["printed.json"]
    with pytest.raises(AttributeError, match="no attribute 'serie'"):
        loaded.serie  # type: ignore[attr-defined]  # noqa: B018


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    simulated({"time": "count"})(tmp_path).save(tmp_path / "out")
    return tmp_path / "out"


def test_broken_columns_are_named(saved: Path) -> None:
    (saved / "series.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ssdlab.ConfigError, match=r"series\.parquet: cannot be read as Parquet: .*; copy it"):
        ssdlab.Result.load(saved).series  # noqa: B018
    pq.write_table(pa.table({"other": [1]}), saved / "erase_counts.parquet")
    with pytest.raises(ssdlab.ConfigError, match=r"erase_counts\.parquet: has the columns other instead of erases; c"):
        ssdlab.Result.load(saved).erase_counts  # noqa: B018


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timed")
    simulated({"time": "event", "ftl": "fast"})(folder).save(folder / "out")
    return folder / "out"


def renamed(table: pa.Table) -> pa.Table:
    return table.rename_columns(["renamed", *table.column_names[1:]])


def as_text(table: pa.Table) -> pa.Table:
    last = table.column_names[-1]
    return table.set_column(table.num_columns - 1, last, table[last].cast(pa.string()))


def with_a_gap(table: pa.Table) -> pa.Table:
    gap = pa.array([None, *table.columns[-1].to_pylist()[1:]], table.schema.types[-1])
    return table.set_column(table.num_columns - 1, table.column_names[-1], gap)


def half(table: pa.Table) -> pa.Table:
    return table.slice(0, table.num_rows // 2)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("series", renamed, r"series\.parquet: has the columns renamed, .* instead of requests, "),
        ("series", as_text, r"series\.parquet: write_latency_max_ns: has type string instead of uint64"),
        ("latency", with_a_gap, r"latency\.parquet: requests: lacks 1 of \d+ values"),
        ("series", lambda table: table.slice(1), r"series: .*\(rows are missing\)"),
        ("series", half, r"series: .*\(rows are missing\)"),
        ("latency", lambda table: table.slice(1), r"latency: .*\(rows are missing\)"),
        ("erase_counts", lambda table: table.slice(0, 0), r"erase_counts: .*\(0 of 77 blocks\)"),
        ("log_associativity", lambda table: table.slice(1), r"log: .*\(rows are missing\)"),
        ("activity_parts", half, r"activity: .*\(intervals are missing\)"),
        ("activity_parts", lambda table: table.slice(1), r"activity: .*\(rows are missing or misplaced\)"),
        ("activity_dies", lambda table: table.slice(1), r"activity: .*\(rows are missing or misplaced\)"),
        (
            "activity_queue",
            lambda table: table.replace_schema_metadata(None),
            "activity: the Parquet files differ from the output of 'ssdlab run'",
        ),
    ],
)
def test_damaged_columns_are_an_error_before_they_are_used(
    name: str, damage: Callable[[pa.Table], pa.Table], message: str, timed: Path, tmp_path: Path
) -> None:
    shutil.copytree(timed, tmp_path / "copy")
    path = tmp_path / "copy" / f"{name}.parquet"
    pq.write_table(damage(pq.read_table(path)), path)
    with pytest.raises(ssdlab.ConfigError, match=f"{message}.*; copy .*, or repeat the run with --out"):
        ssdlab.Result.load(path.parent).save(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda payload: payload.update(kind="comparison"), "kind: is 'comparison', not the result of a run"),
        (lambda payload: payload["version"].update(shape=0), "was saved by ssdlab .*, which .* cannot read"),
        (lambda payload: payload["configuration"].pop("device.op"), "was saved by ssdlab .*, which .* cannot read"),
        (lambda payload: payload["configuration"].update({"no.such": {"value": 1, "origin": "--set"}}), "was saved by"),
        (lambda payload: payload.pop("result"), "is not a result of ssdlab; pass the --out directory"),
        (lambda payload: payload.update(version=5), "is not a result of ssdlab; pass the --out directory"),
        (lambda payload: payload.update(result={}), r"result\.ingest: is missing; copy the file again"),
        (lambda payload: payload.update(source=None), "source: 'ssdlab run' never saves the value null; copy the file"),
        (lambda payload: payload.pop("configuration"), "configuration: (not found|is missing)"),
        (lambda payload: payload["configuration"].update({"seed": 5}), r"configuration\.seed: .* the value 5"),
        (
            lambda payload: payload["configuration"].update({"seed": {}}),
            r"configuration\.seed\.value: (not found|is missing)",
        ),
        (lambda payload: payload["result"].update(drive=5), r"result\.drive: .* never saves the value 5"),
    ],
)
def test_unknown_shapes_are_refused(change: Callable[[dict[str, Any]], object], message: str, saved: Path) -> None:
    path = saved / "result.json"
    payload = json.loads(path.read_text())
    change(payload)
    path.write_text(json.dumps(payload))
    with pytest.raises(ssdlab.ConfigError, match=f"result.json: {message}"):
        ssdlab.Result.load(saved)


def test_missing_values_of_a_page_are_named(saved: Path, cli: Cli) -> None:
    path = saved / "result.json"
    payload = json.loads(path.read_text())
    del payload["result"]["wear"]["erases"]
    path.write_text(json.dumps(payload))
    with pytest.raises(ssdlab.ConfigError, match=r"result\.json: result\.wear\.erases: is missing; copy"):
        ssdlab.Result.load(saved).summary["wear"]["erases"]
    del payload["result"]["diagnosis"]
    path.write_text(json.dumps(payload))
    done = cli("diagnose", path, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "result.json: result.diagnosis: is missing; copy the file again, or repeat the run" in done.stderr


def test_a_run_without_writes_has_no_remedy(tmp_path: Path, cli: Cli) -> None:
    """Regression: the run was called too short, although it does not write."""
    config = ssdlab.Config("tlc-chip", overrides={**FEW, "workload.reads": "100%"})
    ssdlab.simulate(config, keep=False).save(tmp_path)
    file = tmp_path / "result.json"
    payload = json.loads(file.read_text())
    assert not any(finding["name"] == "too_short" for finding in payload["result"]["diagnosis"])
    evidence = {"capacities_written": 0.0, "capacities_needed": 2.2}
    judged = {"about": "input", "name": "too_short", "share": 1.0, "evidence": evidence, "what_ifs": []}
    payload["result"]["diagnosis"].append(judged)
    file.write_text(json.dumps(payload))
    message = "; nothing was written during the measurement, so the WAF is undefined"
    assert any(remark.text.endswith(message) for remark in remarks_on(ssdlab.Result.load(tmp_path)))
    assert message in " ".join(cli("diagnose", tmp_path).stdout.split())


def test_loading_an_empty_folder_says_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / "none.json"):
        with pytest.raises(ssdlab.ConfigError, match="No such file or directory; pass the --out directory"):
            ssdlab.Result.load(path)
    (tmp_path / "result.json").write_text("{")
    with pytest.raises(ssdlab.ConfigError, match=r"result\.json: is not a result of ssdlab"):
        ssdlab.Result.load(tmp_path)


def leaves(node: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values that are not containers, and of empty containers."""
    if isinstance(node, dict | list) and node:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, (*where, key))
    else:
        yield where


WRONG: tuple[Any, ...] = (None, "x", True, [], {}, 7, [None], [[]], {"x": "x"}, [1, 2])


def used(path: Path) -> None:
    """All forms in which a result can be shown."""
    result = ssdlab.Result.load(path)
    str(result)
    result.to_json()
    result._repr_html_()
    result.report_html()
    result.diagnose().report_html()


@pytest.mark.parametrize("seed", range(examples(8)))
def test_any_damage_is_an_error_or_harmless(pair: tuple[ssdlab.Result, Path], tmp_path: Path, seed: int) -> None:
    """No page may fail on a changed value in a result, except with an error message."""
    draw = random.Random(seed)
    folder = tmp_path / "copy"
    shutil.copytree(pair[1], folder)
    text = (folder / "result.json").read_text()
    whole = [*leaves(json.loads(text))]
    for where in draw.sample(whole, min(len(whole), 20)):
        payload = json.loads(text)
        node = payload
        for key in where[:-1]:
            node = node[key]
        # A different number cannot be detected as damage.
        its = WRONG if not isinstance(node[where[-1]], int | float) else [wrong for wrong in WRONG if wrong != 7]
        node[where[-1]] = wrong = draw.choice(its)
        (folder / "result.json").write_text(json.dumps(payload))
        try:
            used(folder)
        except ssdlab.ConfigError as error:
            assert str(error).startswith(str(folder)) and "\n" not in str(error), (where, wrong)
        except Exception as error:
            pytest.fail(f"{where} is {wrong!r}: {type(error).__name__}: {error}")


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("result.diagnosis[0].about", "x"),
        ("result.diagnosis[0].name", "x"),
        ("result.diagnosis[0].what_ifs[0]", "x"),
        ("result.diagnosis[0]", None),
        ("result.drive.response", "x"),
        ("result.drive.response", []),
        ("result.latency.all.p95_ns", None),
        ("result.host.bytes_read", "x"),
        ("result.host.bytes_read", True),
        ("result.drive.streams", {}),
        ("result.log.merges.full.count", None),
        ("result.lifetime.rate", "x"),
        ("source.kind", "x"),
    ],
)
def test_unsavable_values_are_named_when_loaded(where: str, wrong: object, timed: Path, tmp_path: Path) -> None:
    payload = json.loads((timed / "result.json").read_text())
    *above, last = where.replace("[", ".").replace("]", "").split(".")
    node = payload
    for key in above:
        node = node[int(key) if isinstance(node, list) else key]
    node[int(last) if isinstance(node, list) else last] = wrong
    (tmp_path / "result.json").write_text(json.dumps(payload))
    with pytest.raises(ssdlab.ConfigError) as error:
        ssdlab.Result.load(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}/result.json: {where}: 'ssdlab run' never saves the value {json.dumps(wrong)}; copy the file "
        "again, or repeat the run with --out"
    )


def test_all_named_findings_have_words() -> None:
    about = {name for kind in ("slow_reads", "slow_writes") for name in FINDINGS[kind]}
    others = {
        (kind, name) for kind, names in FINDINGS.items() for name in names if not kind.startswith(("slow", "thr"))
    }
    assert ({*FINDINGS["throughput"]}, about, others) == (
        {*words.THROUGHPUT}, {*words.PARTS}, {*words.OTHERS}
    )  # fmt: skip
    assert {*WHAT_IFS} == {*words.WHAT_IFS}
