"""Simulations from Python: figures, columns, errors, threads, signals."""

import copy
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import ssdlab
from conftest import ROOT, SMALL
from forked import PATIENCE_SECONDS
from ssdlab import _ssdlab
from ssdlab.model.remarks import remarks_on
from ssdlab.view import explore
from ssdlab.view.pages import tables


def test_the_columns_add_up_to_the_figures(small: ssdlab.Config) -> None:
    result = ssdlab.simulate(small)
    host, flash = result.summary["host"], result.summary["flash"]
    assert int(result.series["host_pages_written"].sum()) == host["pages_written"]
    assert int(result.series["flash_pages_programmed"].sum()) == sum(flash["programs"].values())
    assert int(result.erase_counts.sum()) == sum(flash["erases"].values()) == result.summary["wear"]["erases"]
    assert int(result.latency["read"].requests.sum()) == host["read_requests"]
    assert int(result.series["requests"][-1]) == host["read_requests"] + host["write_requests"]
    assert result.write_amplification == pytest.approx(sum(flash["programs"].values()) / host["pages_written"])
    assert result.erase_counts.dtype == np.uint32 and len(result.erase_counts) == result.summary["device"]["blocks"]
    assert not result.partial and result.iops is not None


def test_a_trace_runs_the_same_from_memory_file_and_parquet(small: ssdlab.Config, tmp_path: Path) -> None:
    trace = ssdlab.generate(small)
    expected = ssdlab.simulate(small).summary
    assert ssdlab.simulate(small, trace).summary == expected
    for name in ("trace.csv.zst", "trace.parquet"):
        trace.save(tmp_path / name)
        assert ssdlab.simulate(small, tmp_path / name).summary == expected, name


@pytest.mark.parametrize("gc", next(variants for key, *_, variants in _ssdlab.options() if key == "ftl.page.gc"))
@pytest.mark.parametrize("trigger", ["victim", "batch"])
def test_every_collection_policy_keeps_the_data(small: ssdlab.Config, gc: str, trigger: str) -> None:
    config = small.with_overrides({"ftl.page.gc": gc, "ftl.page.trigger": trigger, "device.op": "50%", "check": True})
    result = ssdlab.simulate(config)
    assert result.summary["check"]["page_reads_checked"] > 0
    assert 1 < (result.write_amplification or 0) < 10


def test_count_mode_has_no_times(small: ssdlab.Config) -> None:
    result = ssdlab.simulate(small.with_overrides({"time": "count"}))
    assert result.iops is None and result.summary["latency"] is None
    with pytest.raises(ValueError, match="time was not modelled"):
        result.plot_latency()


@pytest.mark.parametrize("fit", ["wrap", "scale", "grow"])
def test_a_trace_beyond_the_device_can_be_made_to_fit(small: ssdlab.Config, fit: str, tmp_path: Path) -> None:
    trace = ssdlab.Trace.from_columns(op=["write"] * 3, offset=[0, 4096, 64 << 20], bytes=[4096] * 3)
    with pytest.raises(ssdlab.SimulationError, match="choose --fit compact, grow, scale or wrap"):
        ssdlab.simulate(small, trace)
    fitted = small.with_overrides({"host.fit": fit})
    result = ssdlab.simulate(fitted, trace)
    assert result.summary["host"]["pages_written"] == 3
    capacity = result.summary["device"]["capacity_bytes"]
    assert capacity == ((64 << 20) + 4096 if fit == "grow" else 16 << 20)
    assert result.summary["host"]["wrapped_requests"] == (1 if fit == "wrap" else 0)
    trace.save(tmp_path / "far.parquet")
    assert ssdlab.simulate(fitted, tmp_path / "far.parquet").summary == result.summary


def test_equal_runs_save_equal_bytes(small: ssdlab.Config, tmp_path: Path) -> None:
    for name in ("one", "two"):
        ssdlab.simulate(small).save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == [
        "config.toml",
        "erase_counts.parquet",
        "latency.parquet",
        "report.html",
        "result.json",
        "series.parquet",
    ]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_saved_files_equal_the_result(small: ssdlab.Config, tmp_path: Path) -> None:
    result = ssdlab.simulate(small)
    result.save(tmp_path)
    assert json.loads((tmp_path / "result.json").read_text()) == result.envelope()
    assert pyarrow.parquet.read_table(tmp_path / "series.parquet").equals(result.to_arrow())
    again = ssdlab.Config(file=tmp_path / "config.toml")
    assert ssdlab.simulate(again).summary == result.summary


@pytest.mark.parametrize(
    ("clock", "replay", "title", "of_a_drive"),
    [
        ("serial", "closed", "Service times of one chip, without queueing", False),
        ("serial", "processes", "Service times of one chip, without queueing", False),
        ("serial", "open", "Response times of one chip", True),
        ("event", "closed", "Response times", True),
    ],
)
def test_times_are_described(small: ssdlab.Config, clock: str, replay: str, title: str, of_a_drive: bool) -> None:
    trace = ssdlab.Trace.from_columns(time_ns=[0, 10**6], op=["write", "write"], offset=[0, 4096], bytes=[4096, 4096])
    html = ssdlab.simulate(small.with_overrides({"time": clock, "host.replay": replay}), trace).report_html()
    assert f">{title}</h" in html
    assert of_a_drive == ("ervice time" not in html)


def test_a_slow_host_is_not_blamed_on_the_drive(small: ssdlab.Config) -> None:
    """Writes 10 ms apart are 30 ms apart if the host thinks for 30 ms. With recorded times, the drive keeps up."""
    trace = ssdlab.Trace.from_columns(
        time_ns=[n * 10**7 for n in range(100)], op=["write"] * 100, offset=[0] * 100, bytes=[4096] * 100
    )
    thinks = {"host.replay.closed.queue_depth": 1, "host.replay.closed.think": "30ms"}
    for sets, rate in ((thinks, "replay"), ({"host.replay": "open"}, "trace")):
        result = ssdlab.simulate(small.with_overrides(sets), trace)
        assert result.summary["lifetime"]["rate"] == rate
        assert not any("keep up" in remark for remark in result.page().remarks)


def test_a_projection_names_its_rate(small: ssdlab.Config) -> None:
    """A write takes 0.48 ms. The drive sustains writes a second apart; of two writes 10 us apart, one waits."""
    for gap_ns, rate, row in (
        (10**9, "trace", "host writes per day at the trace's rate"),
        (10**4, "replay", "host writes per day at the replay's rate"),
    ):
        trace = ssdlab.Trace.from_columns(
            time_ns=[0, gap_ns], op=["write", "write"], offset=[0, 4096], bytes=[4096, 4096]
        )
        result = ssdlab.simulate(small, trace)
        lifetime = result.summary["lifetime"]
        seconds = max(gap_ns, result.summary["time"]["elapsed_ns"]) / 1e9
        per_day = 8192 / seconds * 86_400
        capacity = result.summary["device"]["capacity_bytes"]
        assert lifetime["rate"] == rate and lifetime["host_bytes_per_day"] == pytest.approx(per_day)
        assert lifetime["host_drive_writes_per_day"] == pytest.approx(per_day / capacity)
        assert lifetime["years"] == pytest.approx(lifetime["host_tbw_bytes"] / per_day / 365.25)
        assert lifetime["dwpd_5_years"] == pytest.approx(lifetime["host_tbw_bytes"] / capacity / 5 / 365.25)
        shown = [
            label for label, _ in tables.sections(result.summary)["Lifetime"] if label.startswith("host writes per day")
        ]
        assert shown == [row]
    counted = ssdlab.simulate(small.with_overrides({"time": "count"})).summary
    labels = [label for label, _ in tables.sections(counted)["Lifetime"]]
    assert labels == ["host writes until worn out (TBW)", "drive writes per day for 5 years (DWPD)"]


def test_the_report_is_self_contained(small: ssdlab.Config) -> None:
    html = ssdlab.simulate(small).report_html()
    for title in ("Summary", "Findings", "Charts", "Diagnosis", "Metrics", "Operations by cause", "Service times",
                  "Service time over the run", "Erases per block", "Configuration"):  # fmt: skip
        assert f"<h2>{title}</h2>" in html
    assert "<h3>Write amplification over time</h3>" in html
    assert html.count('class="chart"') == 5 and "<svg" not in html
    # The page contains its drawing code; `tests/test_report_page.py` also watches the network.
    library = explore.library()
    assert html.count(library) == 1
    for reference in ("<link", "@import", "src="):
        assert reference not in html.replace(library, "")
    assert html.count("<script") == 3
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_a_monitor_sees_the_phases_and_can_end_the_run(small: ssdlab.Config) -> None:
    phases = []

    def monitor(phase: str, done: int, total: int | None, requests: int) -> bool:
        phases.append(phase)
        assert total is None or 0 <= done <= total
        return phase == "measure"

    long = small.with_overrides({"workload.requests": 500_000_000, "device.capacity": "1GiB"})
    result = ssdlab.simulate(long, monitor=monitor)
    assert result.partial and phases[-1] == "measure" and {"fill", "overwrite"} & set(phases)
    assert result.summary["host"]["write_requests"] < 500_000_000


def test_an_exception_in_a_monitor_propagates(small: ssdlab.Config) -> None:
    def monitor(*_: object) -> bool:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ssdlab.simulate(small.with_overrides({"workload.requests": 500_000_000}), monitor=monitor)


def test_other_threads_run_meanwhile(small: ssdlab.Config) -> None:
    ticks, looks = 0, 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.005):
            ticks += 1

    def monitor(*_: object) -> bool:
        # A run that held the interpreter lock would let another thread run only when the monitor is called.
        nonlocal looks
        looks += 1
        return ticks > 10 + 2 * looks or time.monotonic() > deadline

    thread = threading.Thread(target=tick)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    ssdlab.simulate(small.with_overrides({"workload.requests": 10**12}), monitor=monitor)
    stop.set()
    thread.join()
    assert ticks > 10 + 2 * looks


def test_results_do_not_depend_on_threads(small: ssdlab.Config) -> None:
    configs = [small.with_overrides({"ftl.page.gc": gc, "seed": seed}) for gc in ("greedy", "fifo") for seed in (1, 2)]
    alone = [ssdlab.simulate(config).to_json() for config in configs]
    with ThreadPoolExecutor(4) as pool:
        assert [result.to_json() for result in pool.map(ssdlab.simulate, configs)] == alone
    assert len(set(alone)) == 4


def test_ctrl_c_raises_keyboard_interrupt_at_once() -> None:
    code = (
        "import signal\nimport ssdlab\n"
        # Background jobs of a shell and their children ignore Ctrl-C.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "told = []\n"
        "def watch(*_):\n    told or print('go', flush=True)\n    told.append(1)\n"
        "config = ssdlab.Config('tlc-chip', overrides={'workload.requests': 10**12})\n"
        "try:\n    ssdlab.simulate(config, monitor=watch)\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        # The interrupt comes long before the end: these requests would take days.
        assert process.stdout.readline() == "interrupted\n"
    assert process.returncode == 0


def test_a_panic_becomes_an_internal_error_with_the_configuration(small: ssdlab.Config) -> None:
    with pytest.raises(ssdlab.InternalError) as error:
        _ssdlab._panic(small._inner)
    assert "asked to (at crates/py/src/run.rs" in str(error.value)
    assert 'capacity = "16MiB"' in (error.value.config or "")


def test_errors_have_one_base() -> None:
    for error in (ssdlab.ConfigError, ssdlab.TraceError, ssdlab.SimulationError, ssdlab.InternalError):
        assert issubclass(error, ssdlab.SsdlabError)


@pytest.mark.parametrize("name", ["varmail.csv.zst", "oltp.csv.zst"])
def test_the_shipped_traces_run_and_pass_the_data_check(name: str) -> None:
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, "host.fit": "wrap", "check": True})
    result = ssdlab.simulate(config, ROOT / "traces" / name)
    assert result.ingest is not None and result.ingest["format"] == "ssdlab-csv"
    assert result.summary["check"]["page_reads_checked"] > 0


def test_configurations_traces_and_results_survive_pickling(small: ssdlab.Config) -> None:
    trace = ssdlab.generate(small)
    result = ssdlab.simulate(small, trace)
    for copied in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert copied.to_json() == result.to_json() and copied.config.to_toml(True) == small.to_toml(True)
    assert pickle.loads(pickle.dumps(trace)).to_arrow().equals(trace.to_arrow())


def test_results_say_if_they_reflect_more_than_the_requests(small: ssdlab.Config) -> None:
    brief = ssdlab.simulate(small.with_overrides({"workload.requests": 100, "workload.reads": "0%"}))
    assert brief.summary["capacities_written"] < 1
    assert any("still reflects the preconditioning" in remark.text for remark in remarks_on(brief))
    flooded = {
        "time": "serial",
        "host.replay": "open",
        "workload.arrival.fixed.rate": "1M/s",
        "workload.requests": 5_000,
    }
    late = ssdlab.simulate(small.with_overrides(flooded))
    assert any("the drive cannot keep up" in remark.text for remark in remarks_on(late))
    with pytest.raises(ssdlab.ConfigError, match="open replay needs arrival times"):
        ssdlab.simulate(small.with_overrides({"host.replay": "open"}))


def test_a_data_frame_is_a_trace(small: ssdlab.Config) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"time_ns": [0, 1], "op": ["write", "read"], "offset": [0, 0], "bytes": [4096, 4096]})
    assert ssdlab.simulate(small, frame).summary["host"]["read_requests"] == 1


PEAK = """
import ssdlab
ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={settings}), keep=False)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


def test_checking_a_large_drive_uses_memory_for_written_pages_only() -> None:
    """256 GiB in pages of 4 KiB: 12 bytes for each physical and each logical page would be 1.6 GiB."""
    settings = {
        "device.capacity": "256GiB", "nand.pages_per_block": 1024, "precondition.overwrite": "none",
        "precondition.fill": "0%", "workload.requests": 10, "check": True, "time": "count",
    }  # fmt: skip
    program = PEAK.replace("{settings}", repr(settings))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) < 600_000


def test_the_first_stream_is_like_others(tmp_path: Path) -> None:
    """Captures and stream counts use number 0 for requests without a stream, even if index 0 has a name."""
    trace = ssdlab.Trace.from_columns(
        op=["write"] * 4, offset=[0, 4096, 65536, 131072], bytes=[4096] * 4, stream=[0, 0, 1, 1], streams=["a", "b"]
    )
    assert trace.profile()["streams"] == trace.analyze().to_dict()["streams"] == 2
    drive = {"device.capacity": "16MiB", "nand.pages_per_block": 64, "device.op": "30%", "ftl": "sbfast"}
    config = ssdlab.Config("tlc-chip", overrides=drive)
    captured = ssdlab.simulate(config, trace).summary["log"]["capture_by_stream"]
    runs = [(stream["stream"], stream["sub_streams"], stream["random_pages"]) for stream in captured]
    assert runs == [("a", 1, 0), ("b", 0, 2)]
    # The trace in a file gives the same result.
    trace.save(tmp_path / "two.csv")
    assert ssdlab.simulate(config, tmp_path / "two.csv").summary["log"]["capture_by_stream"] == captured
    assert ssdlab.read_trace(tmp_path / "two.csv").columns()["stream"].tolist() == trace.columns()["stream"].tolist()


def test_a_stream_without_a_name_is_shown_by_its_number() -> None:
    """Requests without a stream, in a trace with named streams, have the number 0 in data and tables."""
    trace = ssdlab.Trace.from_columns(
        time_ns=[0, 10, 20, 30], op=["write"] * 4, offset=[12288, 40960, 86016, 126976], bytes=[4096] * 4,
        stream=[0, 1, 2, 3], streams=["", "a", "b"],
    )  # fmt: skip
    sized = {"device.capacity": "16MiB", "nand.pages_per_block": 64, "device.op": "30%"}
    drive = ssdlab.Config("small-tlc", overrides={**sized, "device.reserve": "extra"})
    timed = ssdlab.simulate(drive.with_overrides({"time": "event"}), trace)
    assert sorted(stream["stream"] for stream in timed.summary["drive"]["streams"]) == ["0", "3", "a", "b"]
    assert sorted(name for name, _ in tables.stream_times(timed.summary)[0]) == ["0", "3", "a", "b"]
    captured = ssdlab.simulate(drive.with_overrides({"ftl": "sbfast", "time": "count"}), trace)
    assert sorted(stream["stream"] for stream in captured.summary["log"]["capture_by_stream"]) == ["3", "a", "b"]
