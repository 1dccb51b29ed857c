"""Prometheus metrics of a served drive, compared with the counts of its clients."""

import http.client
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import ssdlab
from forked import PATIENCE_SECONDS
from nbd_client import connected
from serving import PAGE, answers, served, sets, small
from ssdlab.view.metrics import Metrics
from ssdlab.view.scrape import Endpoint

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._socket_path))


def parsed(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(path: Path) -> Samples:
    connection = _UnixConnection(path)
    connection.request("GET", "/metrics")
    reply = connection.getresponse()
    assert reply.status == 200
    assert str(reply.getheader("Content-Type")).startswith("text/plain")
    text = reply.read().decode()
    connection.close()
    return parsed(text)


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_a_scrape_equals_the_clients_counts(tmp_path: Path) -> None:
    place = tmp_path / "m"
    with (
        ssdlab.DriveServer(small("fast"), socket=tmp_path / "s", scale=1e-3) as server,
        Endpoint(str(place)) as endpoint,
        connected(tmp_path / "s") as client,
    ):
        endpoint.answer(Metrics(server))
        assert place.stat().st_mode & 0o777 == 0o600
        chance = random.Random(2)
        pages = client.size // PAGE
        first = scraped(place)
        assert value(first, "ssdlab_requests_total", op="write") == 0
        assert ("ssdlab_write_amplification", frozenset()) not in first, "nothing was written"
        for _ in range(pages):
            client.write(chance.randrange(pages) * PAGE, bytes(PAGE))
        for _ in range(30):
            client.read(0, 2 * PAGE)
        client.trim(0, 4 * PAGE)
        client.zero(0, 2 * PAGE)
        client.flush()
        samples, report = scraped(place), server.service().report

    asked = {"read": 30, "write": pages, "trim": 1, "flush": 1}
    moved = {"read": 60 * PAGE, "write": pages * PAGE, "trim": 4 * PAGE, "write_zeroes": 2 * PAGE}
    of_clients = {**asked, "write_zeroes": 1}
    assert {op: value(samples, "ssdlab_requests_total", op=op) for op in of_clients} == of_clients
    assert value(samples, "ssdlab_available_spare_percent") == 100
    assert value(samples, "ssdlab_power_cycles_total") == 0
    # In the response times, zeroes count as trims.
    asked["trim"] += 1
    assert {op: value(samples, "ssdlab_bytes_total", op=op) for op in moved} == moved
    operations = {
        (dict(labels)["operation"], dict(labels)["cause"]): count
        for (name, labels), count in samples.items()
        if name == "ssdlab_flash_operations_total"
    }
    assert {(f"{kind}s", cause): count for (kind, cause), count in operations.items()} == {
        (kind, cause): count for kind, of in report["flash"].items() for cause, count in of.items()
    }
    programmed = sum(count for (kind, _), count in operations.items() if kind == "program")
    assert value(samples, "ssdlab_write_amplification") == programmed / pages
    assert value(samples, "ssdlab_clients") == 1
    blocks, free = value(samples, "ssdlab_blocks"), value(samples, "ssdlab_free_blocks")
    assert 0 < free < blocks
    # Each reply counts in one of the exponential buckets.
    for op, count in asked.items():
        buckets = sorted(
            (float(dict(labels)["le"]), sample)
            for (name, labels), sample in samples.items()
            if name == "ssdlab_response_seconds_bucket" and dict(labels)["op"] == op
        )
        counts = [sample for _, sample in buckets]
        assert counts == sorted(counts)
        assert counts[-1] == value(samples, "ssdlab_response_seconds_count", op=op) == count
    latency = report["times"]["latency"]["read"]
    mean = value(samples, "ssdlab_response_seconds_sum", op="read") / 30
    assert mean == pytest.approx(latency["mean_ns"] / 1e9)
    assert value(samples, "ssdlab_lag_seconds_count") == sum(asked.values())
    assert value(samples, "ssdlab_lag_max_seconds") >= value(samples, "ssdlab_lag_seconds_sum") / sum(asked.values())


def test_metrics_on_a_port_of_this_machine(tmp_path: Path) -> None:
    with (
        ssdlab.DriveServer(small(), socket=tmp_path / "s") as server,
        Endpoint("127.0.0.1:0") as endpoint,
    ):
        endpoint.answer(Metrics(server))
        with urllib.request.urlopen(endpoint.address, timeout=PATIENCE_SECONDS) as reply:
            samples = parsed(reply.read().decode())
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(endpoint.address.replace("/metrics", "/foo"), timeout=PATIENCE_SECONDS)
        assert value(samples, "ssdlab_free_blocks") == value(samples, "ssdlab_blocks")
        assert not any(name.startswith("ssdlab_response") for name, _ in samples), "replies leave at once"


def test_a_stalled_scraper_blocks_nobody(tmp_path: Path) -> None:
    place = tmp_path / "m"
    with (
        ssdlab.DriveServer(small(), socket=tmp_path / "s") as server,
        Endpoint(str(place)) as endpoint,
        socket.socket(socket.AF_UNIX) as stalled,
    ):
        endpoint.answer(Metrics(server))
        stalled.connect(str(place))
        stalled.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert scraped(place)


def test_serve_has_metrics(tmp_path: Path) -> None:
    place = tmp_path / "m"
    # A socket left by a killed server.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place))
    with served(tmp_path, "--metrics", str(place), *sets()) as (process, path):
        with connected(path) as client:
            client.write(0, bytes(PAGE))
            until = time.monotonic() + PATIENCE_SECONDS
            while not answers(place):
                assert time.monotonic() < until, "nobody answers a scrape"
                time.sleep(0.02)
            samples = scraped(place)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert value(samples, "ssdlab_requests_total", op="write") == 1
    assert f"metrics at {place}" in output
    assert not place.exists()


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("0.0.0.0:9090", "--metrics 0.0.0.0:9090: not a loopback address; use 127.0.0.1:9090"),
        ("somewhere:9090", "--metrics somewhere:9090: not a loopback address"),
        ("127.0.0.1:99999", "--metrics 127.0.0.1:99999: "),
        ("9090x", "--metrics 9090x: not a loopback address"),
        ("127.0.0.1:abc", "--metrics 127.0.0.1:abc: not a loopback address"),
        ("./foreign", "foreign: exists and is not a socket; choose another path"),
        ("./s", "--metrics s: --socket has the same path"),
        ("nowhere/m", "nowhere/m: No such file or directory"),
        ("./" + "x" * 120, "AF_UNIX path too long"),
    ],
)
def test_an_impossible_metrics_place_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("foreign").write_text("x")
    command = [sys.executable, "-m", "ssdlab", "serve", *sets(), "--socket", "s", "--metrics", place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 2
    assert says in done.stderr
    assert all(line.startswith("ssdlab: ") for line in done.stderr.splitlines())
    assert [path.name for path in Path().iterdir()] == ["foreign"]
