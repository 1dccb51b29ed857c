"""A served drive: its data survives, and its flash operations equal a simulation of the same requests."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import ssdlab
from conftest import ROOT, SMALL_SETS, Cli
from forked import PATIENCE_SECONDS
from nbd_client import NO_HOLE, NbdError, connected
from serving import FTLS, MIB, PAGE, PROTECTED, SMALL, random_use, served, sets, small
from ssdlab.model.service import Service


@pytest.mark.parametrize("ftl", FTLS)
def test_flash_operations_equal_a_simulation_of_the_record(tmp_path: Path, ftl: str) -> None:
    config = small(ftl)
    with ssdlab.DriveServer(config, socket=tmp_path / "s", record=True) as server:
        with connected(tmp_path / "s") as client:
            model = bytearray(client.size)
            random_use(client, model, seed=5, requests=4000)
            assert client.read(0, client.size) == model
        record, report = server.take_record(), server.service().report
    simulated = ssdlab.simulate(config, ssdlab.Trace(record)).summary
    assert report["flash"] == simulated["flash"]
    # The record contains zero requests as writes and trims; their pages are counted.
    host, of_record = report["host"], simulated["host"]
    assert host["write_zeroes_requests"] > 300 and host["bytes_zeroed"] > 0
    moved = [f"bytes_{what}" for what in ("read", "written", "trimmed")]
    assert sum(host[key] for key in moved) + host["bytes_zeroed"] == sum(of_record[key] for key in moved)
    same = [key for key in of_record if key.startswith(("pages", "partial", "unmapped", "flush"))]
    # The last read has 16 MiB, which is 16 slices in the record.
    assert of_record["read_requests"] == host["read_requests"] + 15
    assert {key: host[key] for key in same} == {key: of_record[key] for key in same}
    assert report["write_amplification"] == simulated["write_amplification"]
    assert report["flash"]["erases"], "too few writes to erase a block"


@pytest.mark.parametrize("ftl", FTLS)
def test_serial_replay_repeats_the_served_drive(tmp_path: Path, ftl: str) -> None:
    """Goal: a server processes requests in the order of such a run. Method: long writes, which reads and trims could
    overtake.
    """
    config = small(ftl).with_overrides({"device.capacity": "2MiB", "device.op": "60%"})
    chance = random.Random(6)
    with ssdlab.DriveServer(config, socket=tmp_path / "s", record=True) as server:
        with connected(tmp_path / "s") as client:
            for _ in range(400):
                pages = chance.randint(1, 100)
                offset, count = chance.randrange(client.size // PAGE - pages + 1) * PAGE, pages * PAGE
                match chance.randrange(3):
                    case 0:
                        client.write(offset, bytes(count))
                    case 1:
                        client.trim(offset, count)
                    case _:
                        client.read(offset, count)
        trace, report = ssdlab.Trace(server.take_record()), server.service().report
    alone, together = (config.with_overrides({"host.replay.closed.queue_depth": depth}) for depth in (1, 32))
    assert ssdlab.simulate(alone, trace).summary["flash"] == report["flash"]
    assert ssdlab.simulate(together, trace).summary["flash"] != report["flash"], "no request overtakes another"


@pytest.mark.parametrize("ftl", FTLS)
def test_flushed_data_survives_a_kill(tmp_path: Path, ftl: str) -> None:
    file = tmp_path / "disk.drive"
    model = bytearray()
    for seed in range(3):
        with served(tmp_path, "--file", str(file), *sets(ftl)) as (process, path):
            with connected(path) as client:
                model = model or bytearray(client.size)
                assert client.read(0, client.size) == model, f"after kill {seed}"
                random_use(client, model, seed, requests=300)
            process.kill()
            process.wait()


def test_sigterm_shuts_down_cleanly(tmp_path: Path) -> None:
    file = tmp_path / "disk.drive"
    for again in (False, True):
        with served(tmp_path, "--file", str(file), "--json", *sets()) as (process, path):
            with connected(path) as client:
                assert client.read(0, 4) == (b"here" if again else bytes(4))
                client.write(0, b"here")
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, errors) == (0, "")
        payload = json.loads(output)
        jsonschema.validate(payload, json.loads((ROOT / "docs" / "output.schema.json").read_text(encoding="utf-8")))
        assert payload["result"]["health"]["free_blocks"] > 0, "as it was when the power went off"
        mount = payload["result"]["mount"]
        assert (mount["clean"], mount["blocks_scanned"]) == (True, 0) if again else mount is None
        # No client requested the final flush.
        assert payload["result"]["host"]["flush_requests"] == 0 and payload["result"]["cut_off"] == 0


def test_an_unclean_drive_is_reported_and_mount_work_is_counted_separately(tmp_path: Path) -> None:
    file = tmp_path / "disk.drive"
    protected = [word for key, value in PROTECTED.items() for word in ("--set", f"{key}={value}")]
    with served(tmp_path, "--file", str(file), *sets(), *protected) as (process, path):
        with connected(path) as client:
            for page in range(10):
                client.write(page * PAGE, bytes([page]) * PAGE)
        process.kill()
        process.wait()
    with ssdlab.DriveServer(file=file, socket=tmp_path / "s") as server, connected(tmp_path / "s") as client:
        assert client.read(3 * PAGE, 1) == bytes([3])
        before = server.service().report
        client.write(0, bytes(20 * PAGE))
        client.flush()
        report = server.service().report
    assert before["mount"]["clean"] is False
    assert before["health"]["power_cycles"] == before["health"]["unsafe_shutdowns"] == 1
    assert sum(before["mount"]["operations"]["programs"].values()) == 10
    assert before["flash"]["programs"] == {} and before["write_amplification"] is None
    waiting = report["buffered_pages"]
    assert sum(report["flash"]["programs"].values()) == 20 - waiting
    assert report["write_amplification"] == (20 - waiting) / 20


def test_allocated_zeros_are_written_page_by_page(tmp_path: Path) -> None:
    """Goal: flash operations equal a run of the record. Method: zeros over two MiB that begin within a page."""
    with ssdlab.DriveServer(small(), socket=tmp_path / "s", record=True) as server:
        with connected(tmp_path / "s") as client:
            client.zero(512, 2 * MIB, NO_HOLE)
        record, report = server.take_record(), server.service().report
    assert report["flash"] == ssdlab.simulate(small(), ssdlab.Trace(record)).summary["flash"]
    assert sum(report["flash"]["programs"].values()) == 2 * MIB // PAGE + 1


def test_buffered_partial_writes_count_as_written(tmp_path: Path) -> None:
    config = small().with_overrides(PROTECTED)
    with ssdlab.DriveServer(config, socket=tmp_path / "s", record=True) as server:
        with connected(tmp_path / "s") as client:
            client.write(0, b"x" * 512)
            assert client.read(0, 512) == b"x" * 512 and client.read(0, PAGE)[512:] == bytes(PAGE - 512)
            client.read(PAGE, PAGE)
        record, report = server.take_record(), server.service().report
    of_record = ssdlab.simulate(config, ssdlab.Trace(record)).summary
    assert report["host"]["unmapped_pages_read"] == of_record["host"]["unmapped_pages_read"] == 1


def test_repeated_summary_requests_are_harmless(tmp_path: Path) -> None:
    """Goal: SIGUSR1 is answered harmlessly. Method: bursts of signals, then a server whose output is not read."""
    with served(tmp_path, *sets()) as (process, path):
        for _ in range(300):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.0005)
        assert process.stdout is not None
        while "Clients" not in process.stdout.readline():
            assert process.poll() is None
        process.stdout.close()
        process.stdout = None
        for _ in range(3):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.3)
        with connected(path) as client:
            assert client.read(0, 4) == bytes(4)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0 and "Traceback" not in errors


def test_a_record_never_replaces_a_drive(cli: Cli, tmp_path: Path) -> None:
    with ssdlab.Drive(small(), tmp_path / "disk.drive") as drive:
        drive.write(0, b"here")
    cli("run", *SMALL_SETS, "--set", "workload.requests=10", "--save-state", "aged.drive")
    # The file resembles the beginning of a drive file that is being created.
    (tmp_path / "new.drive").write_bytes(b"ssdlab begun\x1a\n" + bytes(100))
    for name in ("disk.drive", "aged.drive", "new.drive"):
        before = (tmp_path / name).read_bytes()
        done = cli("serve", "--record", name, "--socket", "s.sock", *sets(), check=False)
        message = f"ssdlab: --record {name}: is a drive file; choose another file for the trace\n"
        assert (done.returncode, done.stderr) == (2, message)
        message = f"ssdlab: {name}: is a drive file; choose another file for the trace\n"
        for command in (["generate"], ["convert", str(ROOT / "traces/oltp.csv.zst")]):
            for format in ("ssdlab-csv", "parquet"):
                done = cli("trace", *command, name, "--to", format, check=False)
                assert (done.returncode, done.stderr) == (2, message)
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / "disk.drive").rename(tmp_path / "disk.csv")
    done = cli("fleet", "generate", "disk.csv", check=False)
    message = "ssdlab: disk.csv: is a drive file; choose another file for the trace\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_a_saved_state_never_replaces_a_drive_with_bytes(cli: Cli, tmp_path: Path) -> None:
    with ssdlab.Drive(small(), tmp_path / "disk.drive") as drive:
        drive.write(0, b"here")
    before = (tmp_path / "disk.drive").read_bytes()
    run = ("run", *SMALL_SETS, "--set", "workload.requests=10", "--save-state")
    done = cli(*run, "disk.drive", check=False)
    message = "ssdlab: --save-state disk.drive: contains the data of a served drive; choose another file\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert (tmp_path / "disk.drive").read_bytes() == before
    for _ in "made", "replaced":
        cli(*run, "aged.drive")


def test_an_existing_drive_needs_no_settings(tmp_path: Path) -> None:
    file = tmp_path / "disk.drive"
    with ssdlab.DriveServer(small("fast"), file=file, socket=tmp_path / "s"), connected(tmp_path / "s") as client:
        client.write(PAGE, b"here")
    with served(tmp_path, "--file", str(file)) as (process, path):
        with connected(path) as client:
            assert client.read(PAGE, 4) == b"here"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    with ssdlab.DriveServer(file=file, socket=tmp_path / "s") as server:
        assert server.config["ftl"] == "fast"


def test_the_start_describes_the_mount(tmp_path: Path) -> None:
    file = tmp_path / "disk.drive"
    for words, end in (
        (": created", signal.SIGTERM),
        (": mounted from checkpoint and journal in ", signal.SIGKILL),
        (": mounted from checkpoint and journal in ", signal.SIGTERM),
    ):
        with served(tmp_path, "--file", str(file), *sets()) as (process, path):
            with connected(path) as client:
                client.write(0, b"here")
                client.flush()
            assert process.stdout is not None
            line = next(line for line in process.stdout if line.startswith(f"{file}: ")).rstrip()
            process.send_signal(end)
            process.communicate(timeout=PATIENCE_SECONDS)
        assert line.startswith(f"{file}{words}")
        if "mounted" in words:
            before = "after a clean shutdown" if end == signal.SIGKILL else "after a power loss"
            assert f" of simulated time ({before}): " in line and line.endswith(" pages read")


def test_the_start_reports_a_damaged_log(tmp_path: Path) -> None:
    file = tmp_path / "disk.drive"
    with ssdlab.Drive(small(), file) as drive:
        drive.write(PAGE, b"here")
    file.write_bytes(file.read_bytes().replace(b"ssdchkpt", b"damaged!"))
    with served(tmp_path, "--file", str(file)) as (process, path):
        with connected(path) as client:
            assert client.read(PAGE, 4) == b"here"
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith(f"{file}: "))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert "mounted from a scan of all spare areas" in line and "the log is damaged: trimmed pages may " in line


def test_disconnected_clients_are_reported(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / "s") as server:
        service = server.service()
        assert not service.page().remarks
        for clients, words in ((1, "1 client had not"), (2, "2 clients had not")):
            cut_off = Service({**service.report, "cut_off": clients}, service.config, [], None)
            assert words in cut_off.page().remarks[0]


def test_zeroes_are_counted_as_zeroes(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / "s") as server, connected(tmp_path / "s") as client:
        client.zero(100, 3 * PAGE)
        service = server.service()
        assert repr(server) == f"<ssdlab.DriveServer at nbd+unix:///?socket={tmp_path / 's'}: running>"
    host = service.report["host"]
    assert (host["write_zeroes_requests"], host["bytes_zeroed"]) == (1, 3 * PAGE)
    assert (host["write_requests"], host["bytes_written"], host["trim_requests"], host["bytes_trimmed"]) == (0, 0, 0, 0)
    assert (host["pages_written"], host["pages_trimmed"]) == (2, 2), "as they were served"
    assert service.report["health"]["bytes_written"] == 0


def test_unused_settings_are_reported(tmp_path: Path) -> None:
    config = ssdlab.Config(overrides={**SMALL, "precondition.fill": "50%", "host.warmup": 10, "workload.requests": 5})
    with ssdlab.DriveServer(config, socket=tmp_path / "s") as server:
        (told,) = server.service().page().remarks
    keys = "host.warmup, precondition.fill, workload.requests"
    assert told.startswith(f"ignoring {keys} because clients send the requests, and the drive is not")


def test_replies_take_the_drives_time(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / "s", scale=20.0) as server, connected(tmp_path / "s") as client:
        client.write(0, bytes(PAGE))
        began = time.monotonic()
        client.read(0, PAGE)
        seconds = time.monotonic() - began
        latency = server.service().report["times"]["latency"]["read"]
        # Replies are never early; their lateness depends on the machine.
        assert seconds >= 20 * latency["max_ns"] / 1e9
        assert latency["count"] == 1


def test_flash_and_times_belong_to_one_drive(tmp_path: Path) -> None:
    config = ssdlab.Config(overrides={**SMALL, **PROTECTED, "nand.program": "1ms"})
    chance = random.Random(1)
    with ssdlab.DriveServer(config, socket=tmp_path / "s", scale=0.5) as server, connected(tmp_path / "s") as client:
        for _ in range(25):
            # The buffer has sixteen slots. Without enough room, a write waits only in the timed drive.
            client.write(chance.randrange(29) * PAGE, bytes(12 * PAGE))
        told = server.service()
    programmed, stored = sum(told.report["flash"]["programs"].values()), told.report["times"]["pages_stored"]
    assert programmed != stored and told.report["write_amplification"] == programmed / 300
    (remark,) = (remark for remark in told.page().remarks if remark.startswith("flash operations"))
    assert (
        f"refer to the simulated drive ({programmed} pages programmed, " in remark
        and f"that stores the data ({stored} pages programmed)" in remark
    )


def test_a_late_server_says_so(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / "s", scale=1e-3) as server, connected(tmp_path / "s") as client:
        for page in range(50):
            client.write(page * PAGE, bytes(PAGE))
        service = server.service()
    assert any("this machine is too slow" in remark for remark in service.page().remarks)
    cases = ((0.01, 43.3, 5.2, "100"), (1.0, 313, 9.18, "1000"), (1e-4, 0.05, 50, "0.01"))
    for scale, late_us, mean_us, enough in cases:
        times = service.report["times"]
        latency = {**times["latency"], "all": {**times["latency"]["all"], "mean_ns": 1e3 * mean_us}}
        times = {**times, "scale": scale, "lag_mean_ns": 1e3 * late_us, "latency": latency}
        late = Service({**service.report, "times": times}, service.config, [], None)
        [told] = [remark for remark in late.page().remarks if "too slow" in remark]
        assert told.endswith(f"slow down the simulated drive, for example with --time {enough}")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGHUP])
def test_the_record_is_a_trace(tmp_path: Path, end: signal.Signals) -> None:
    record = tmp_path / "record.parquet"
    with served(tmp_path, "--record", str(record), *sets()) as (process, path):
        with connected(path) as client:
            random_use(client, bytearray(client.size), seed=1, requests=200)
        assert not record.exists(), "half a record is no trace"
        process.send_signal(end)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == [record]
    assert "to connect, for example:" in output
    assert "Served drive" in output
    assert len(ssdlab.read_trace(record)) >= 200


STOPPED_TWICE = """
import signal
import ssdlab.cli.serve
from ssdlab.__main__ import main
from ssdlab.model.service import DriveServer
class Stopped(DriveServer):
    def __enter__(self):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        return super().__enter__()
ssdlab.cli.serve.DriveServer = Stopped
main()
"""
"""Receives a second stop request while listening, before it knows its server."""


def test_a_server_stopped_before_introduction_has_a_summary(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STOPPED_TWICE, "serve", "--json", "--socket", str(tmp_path / "s"), *sets()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    # It may have ended cleanly before the second request.
    said = {0: "", 130: "ssdlab: stopped immediately: data that clients had not flushed may be lost\n"}
    assert done.stderr == said[done.returncode]
    assert json.loads(done.stdout)["result"]["host"]["write_requests"] == 0


def test_json_is_the_only_standard_output(tmp_path: Path) -> None:
    with served(tmp_path, "--json", *sets()) as (process, path):
        with connected(path) as client:
            client.write(0, b"here")
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0 and json.loads(output)["result"]["host"]["write_requests"] == 1
    assert errors.startswith("Served drive")


def test_a_stopped_server_is_closed_cleanly(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / "s") as server:
        server.stop()
    assert server.ended == "graceful"


def test_waiting_for_a_server_times_out(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / "s") as server:
        assert server.wait(-1) is None and server.wait(float("nan")) is None
        later = threading.Timer(0.2, server.stop)
        later.start()
        assert server.wait(float("inf")) == "graceful"
        later.join()


WAITS = """
import json, signal, sys
import ssdlab
signal.signal(signal.SIGINT, signal.default_int_handler)
with ssdlab.DriveServer(json.loads(sys.argv[2]), socket=sys.argv[1]) as server:
    try:
        print("waits", flush=True)
        server.wait(600)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_waiting_for_a_server_can_be_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAITS, str(tmp_path / "s"), json.dumps(SMALL)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, said) == (0, "interrupted\n")


@pytest.mark.parametrize("scale", [0, 1e-12, float("inf"), float("nan")])
def test_an_invalid_scale_is_an_error(tmp_path: Path, scale: Any) -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"must be at least 0.001; use 1 for real time"):
        ssdlab.DriveServer(small(), socket=tmp_path / "s", scale=scale)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--time", "slow"], "--time slow: must be none, real, or a number of at least 0.001, such as 10"),
        (["--time", "1e-12"], "--time 1e-12: must be none, real, or a number of at least 0.001"),
        (["--listen", "nowhere"], "nowhere is not an IP address with a port; use 127.0.0.1:10809"),
        (["--set", "device.capacity=4TiB"], ", or store the data in a file"),
        (["--set", "cache.policy=lru"], "remove cache.policy"),
        (["--set", "block.scheduler=noop"], "remove block.scheduler"),
        (["--file", "."], ".: "),
        (["--file", "nowhere/disk.drive"], "nowhere/disk.drive: No such file or directory"),
        (["--file", "/dev/null/disk.drive"], "/dev/null/disk.drive: Not a directory"),
        (["--file", "foreign"], "foreign: not an ssdlab drive file; choose another path"),
        (["--file", "pipe"], "pipe: not an ssdlab drive file; choose another path"),
        (["--file", "other.drive"], "created with"),
        (["--socket", "x" * 120], "bytes, more than the maximum of 107"),
        (["--socket", "foreign"], "foreign: exists and is not a socket; remove it, or choose another path"),
        (["--record", "nowhere/r.parquet"], "nowhere/r.parquet"),
        (["--file", "new.drive", "--record", "nowhere/r.parquet"], "nowhere/r.parquet"),
        (
            ["--file", "new.drive", "--record", "./new.drive"],
            "--record new.drive: --file has the same path; choose another path",
        ),
        (["--file", "new.drive", "--out", "new.drive"], "--out new.drive: --file has the same path"),
        (["--file", "new.drive", "--metrics", "./s"], "--metrics s: --socket has the same path"),
        (["--file", "new.drive", "--socket", "foreign"], "foreign: exists and is not a socket"),
        (["--file", "new.drive", "--metrics", "./foreign"], "foreign: exists and is not a socket"),
        (
            ["--file", "new.drive", "--metrics", "127.0.0.1:{taken}"],
            "Address already in use; choose another address or",
        ),
        (["--file", "new.drive", "--listen", "127.0.0.1:{taken}"], "Address already in use"),
    ],
)
def test_impossible_servers_are_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("foreign").write_text("x" * 100_000)
    os.mkfifo("pipe")
    ssdlab.DriveServer(small("fast"), socket="first", file="other.drive").close()
    before = sorted(Path().iterdir())
    place = [] if "--socket" in arguments else ["--socket", "s"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        arguments = [word.replace("{taken}", str(taken.getsockname()[1])) for word in arguments]
        command = [sys.executable, "-m", "ssdlab", "serve", *sets(), *place, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 2
    assert says in done.stderr
    assert all(line.startswith("ssdlab: ") for line in done.stderr.splitlines())
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("buffer", ["none", "eager", "watermark"])
def test_possible_losses_of_a_failed_server_are_reported(tmp_path: Path, buffer: str) -> None:
    drive = {**SMALL, "time": "event", "drive.buffer": buffer}
    words = [word for key, value in drive.items() for word in ("--set", f"{key}={value}")]
    with served(tmp_path, "--file", str(tmp_path / "disk.drive"), *words) as (process, path), connected(path) as client:
        client.ask_and_leave(0, client.size, times=4)
        # Two notes of the same kind could be confused.
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    lost = ": data that clients had not flushed may be lost" if buffer == "watermark" else ""
    assert errors == f"ssdlab: stopped immediately{lost}\n"


def test_a_drive_has_one_server(tmp_path: Path) -> None:
    file, path = tmp_path / "disk.drive", tmp_path / "s"
    with ssdlab.DriveServer(small(), socket=path, file=file):
        with pytest.raises(OSError, match="another process uses the drive"):
            ssdlab.DriveServer(small(), socket=tmp_path / "other", file=file)
        with pytest.raises(OSError, match="another server listens there"):
            ssdlab.DriveServer(small(), socket=path)
        with connected(path) as client, pytest.raises(NbdError):
            client.read(client.size, 1)


@pytest.mark.parametrize("flushed", [True, False])
def test_deleting_the_served_file_is_reported(tmp_path: Path, flushed: bool) -> None:
    """The data is lost with the file, so later flushes and the end of the server must fail."""
    file = tmp_path / "disk.drive"
    with served(tmp_path, "--file", str(file), *sets()) as (process, path):
        with connected(path) as client:
            client.write(0, b"here")
            client.flush()
            file.unlink()
            if flushed:
                with pytest.raises(NbdError):
                    client.flush()
            assert client.read(0, 4) == b"here", "it can still be copied"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert "the drive's file was deleted" in errors


def test_a_server_needs_memory_for_long_requests(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"memory '255MiB': too small .*; pass 256MiB or more"):
        ssdlab.DriveServer(small(), socket=tmp_path / "s", memory="255MiB")
    with ssdlab.DriveServer(small(), socket=tmp_path / "s", memory=256 * MIB), connected(tmp_path / "s") as client:
        client.write(0, bytes(client.size))
