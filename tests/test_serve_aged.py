"""Served drives that are not empty: preconditioned, or started from a drive that a run saved."""

import random
import re
from pathlib import Path

import pytest

import ssdlab
from conftest import Cli
from nbd_client import connected
from serving import FTLS, PAGE, random_use, served, sets, small

AGED = {"precondition.fill": "100%", "precondition.overwrite": "steady"}


def overwrite(path: Path, requests: int) -> None:
    """Writes random pages of a served drive."""
    chance = random.Random(1)
    with connected(path) as client:
        for _ in range(requests):
            client.write(chance.randrange(client.size // PAGE) * PAGE, chance.randbytes(PAGE))


@pytest.mark.parametrize("ftl", FTLS)
def test_a_preconditioned_drive_continues_like_a_run(tmp_path: Path, ftl: str) -> None:
    """Goal: a preconditioned served drive reads as zeros, and its flash operations equal a run with the same
    preconditioning. Method: random requests over NBD, whose record is then simulated.
    """
    config = small(ftl).with_overrides(AGED)
    with ssdlab.DriveServer(config, socket=tmp_path / "s", record=True, precondition=True) as server:
        with connected(tmp_path / "s") as client:
            model = bytearray(client.size)
            assert client.read(0, client.size) == model
            random_use(client, model, seed=7, requests=1500)
            assert client.read(0, client.size) == model
        record, report = server.take_record(), server.service().report
    simulated = ssdlab.simulate(config, ssdlab.Trace(record)).summary
    assert report["flash"] == simulated["flash"]
    assert report["precondition"] == simulated["precondition"]
    assert report["write_amplification"] == simulated["write_amplification"]


def test_write_amplification_is_real_from_the_first_write(tmp_path: Path) -> None:
    """Goal: a preconditioned drive has the write amplification of the steady state at once, an empty drive has not.
    Method: as many random writes as a tenth of the pages.
    """
    config = small().with_overrides(AGED)
    amplification = {}
    for precondition in (False, True):
        with ssdlab.DriveServer(config, socket=tmp_path / "s", precondition=precondition) as server:
            overwrite(tmp_path / "s", requests=409)
            report = server.service().report
        amplification[precondition] = report["write_amplification"]
    assert amplification[False] == 1.0
    steady = report["precondition"]["write_amplification"]
    assert steady > 2
    assert amplification[True] == pytest.approx(steady, rel=0.1)


@pytest.mark.parametrize("ftl", FTLS)
def test_a_saved_drive_is_served_and_survives_a_kill(tmp_path: Path, ftl: str) -> None:
    """Goal: a drive that a run saved is served from a file, and its data survive a kill. Method: the record of its
    clients, simulated from the same saved drive, has the same flash operations.
    """
    config = small(ftl)
    aged, file = tmp_path / "aged.drive", tmp_path / "disk.drive"
    load = {"workload.pattern": "uniform", "workload.requests": 9000, "workload.reads": "0%"}
    ssdlab.simulate(config.with_overrides(load), save_state=aged)
    model = bytearray()
    with ssdlab.DriveServer(config, socket=tmp_path / "s", file=file, record=True, state=aged) as server:
        with connected(tmp_path / "s") as client:
            model = bytearray(client.size)
            assert client.read(0, client.size) == model
            random_use(client, model, seed=8, requests=400)
        record, report = server.take_record(), server.service().report
    simulated = ssdlab.simulate(config, ssdlab.Trace(record), state=aged).summary
    assert report["flash"] == simulated["flash"]
    assert report["precondition"]["host_pages_written"] == simulated["precondition"]["host_pages_written"] == 9000
    # A server in this process locks its file until it is deleted.
    del server
    for seed in range(2):
        with served(tmp_path, "--file", str(file), "--state", str(aged), *sets(ftl)) as (process, path):
            with connected(path) as client:
                assert client.read(0, client.size) == model
                random_use(client, model, seed, requests=200)
            process.kill()
            process.wait()


def test_an_existing_drive_is_not_preconditioned_again(tmp_path: Path) -> None:
    """The output states the preconditioning of a new drive, and that an existing drive keeps its state."""
    file = tmp_path / "disk.drive"
    for says in ("initial state: ", "--precondition applies only to new drives; this drive keeps its state"):
        aged = [word for key, value in AGED.items() for word in ("--set", f"{key}={value}")]
        with served(tmp_path, "--file", str(file), *sets(), *aged, "--precondition") as (process, path):
            with connected(path) as client:
                assert client.read(0, PAGE) == (bytes(PAGE) if says.startswith("initial") else b"x" * PAGE)
                client.write(0, b"x" * PAGE)
            process.terminate()
            output, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
        assert says in output
        stop = output[output.index("to stop, unmount file systems on the drive, then:") :]
        words = ("losetup --detach", "fusermount -u /tmp/ssdlab", "Ctrl-C")
        assert [stop.index(word) for word in words] == sorted(stop.index(word) for word in words)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--state", "no.drive"], "no.drive: no such file; use a file saved with --save-state"),
        (
            ["--state", "other.drive"],
            "other.drive: the drive was saved with ftl = fast, but this run has page",
        ),
        (["--state", "any.drive", "--precondition"], "--state: a saved drive cannot be preconditioned again"),
        (["--state", "disk.drive", "--file", "disk.drive"], "--state disk.drive: --file has the same path"),
        (
            ["--precondition", "--set", "precondition.overwrite=trace"],
            'precondition.overwrite: "trace" needs a trace; set it to "steady"',
        ),
    ],
)
def test_bad_starts_are_refused_in_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if "other.drive" in arguments:
        ssdlab.simulate(small().with_overrides({"ftl": "fast", "workload.requests": 10}), save_state="other.drive")
    done = cli("serve", "--socket", tmp_path / "s", *sets(), *arguments, check=False)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_drive_that_exceeds_memory_names_a_size_that_fits(tmp_path: Path) -> None:
    """Goal: the size in the message works, also for presets that cannot be that small. Method: serves drives of that
    size.
    """
    for preset in ("small-tlc", "tlc-nvme"):
        config = ssdlab.Config(preset, overrides={"device.capacity": "4TiB"} if preset == "small-tlc" else {})
        with pytest.raises(ssdlab.ConfigError, match="or store the data in a file") as error:
            ssdlab.DriveServer(config, socket=tmp_path / "s")
        smaller = dict(re.findall(r'(device\.\w+) to "?(\w+)', str(error.value)))
        assert smaller, error.value
        with ssdlab.DriveServer(config.with_overrides(smaller), socket=tmp_path / "s") as server:
            assert server.service().report["capacity_bytes"] > 0
