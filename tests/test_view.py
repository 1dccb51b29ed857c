"""`ssdlab view` opens the page of saved results and explains errors."""

import http.client
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pyarrow.parquet as pq
import pytest

import forked
import ssdlab
from conftest import SMALL
from forked import PATIENCE_SECONDS
from ssdlab import ConfigError, Result
from ssdlab.view.local import LocalServer

BUSY = {
    "device.capacity": "32MiB",
    "device.reserve": "extra",
    "time": "event",
    "workload.requests": 4_000,
    "gantt.window.length": "1s",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=SMALL)).save(folder)
    return folder


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in saved.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def view(path: Path, tmp_path: Path, *, browser: bool = True) -> tuple[subprocess.CompletedProcess[str], str]:
    """Output of the command, and the pages that it opened in the browser."""
    asked, program = tmp_path / "asked", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > {shlex.quote(str(asked))}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "BROWSER": str(program), "PATH": "" if not browser else os.environ["PATH"]}
    if not browser:
        environment["BROWSER"] = ""
        environment.pop("DISPLAY", None)
    done = forked.run(["view", str(path)], tmp_path, environment=environment)
    return done, asked.read_text().strip() if asked.exists() else ""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with more recorded flash operations than its page contains."""
    folder = tmp_path_factory.mktemp("recorded")
    ssdlab.simulate(ssdlab.Config("small-tlc", overrides=BUSY)).save(folder)
    return folder


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running `ssdlab view --serve`, and its address."""
    running = subprocess.Popen(
        [sys.executable, "-m", "ssdlab", "view", str(folder), "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": "true"},
    )
    try:
        assert running.stdout is not None
        yield running, running.stdout.readline().split()[-1]
    finally:
        running.kill()
        running.communicate()


def asked(address: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.netloc, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, place.path + (f"?{place.query}" if place.query else ""), headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_the_server_gives_only_the_folders_files(recorded: Path) -> None:
    with served(recorded) as (running, address):
        assert address.startswith("http://127.0.0.1:")
        for name in ("", "report.html", "activity_gantt.parquet"):
            assert asked(address + name) == (200, (recorded / (name or "report.html")).read_bytes())
        (recorded / "link").symlink_to("/etc/passwd")
        for name in ("../x", "..%2f..%2fetc%2fpasswd", "%2e%2e/x", "/etc/passwd", "link", "none.parquet", "."):
            assert asked(address + name)[0] == 404, name
        (recorded / "link").unlink()
        site, _, token = address.removesuffix("/").rpartition("/")
        for place in ("/", f"/{token[:-1]}/", f"/{token}x/", "/report.html"):
            assert asked(site + place)[0] == 403, place
        assert asked(address, Host="example.org")[0] == 403
        for method in ("POST", "PUT", "DELETE", "HEAD"):
            assert asked(address, method)[0] == 501, method
        with urlopen(address.removesuffix("/"), timeout=PATIENCE_SECONDS) as response:
            assert response.url == address and response.read() == (recorded / "report.html").read_bytes()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130 and running.communicate()[1] == "ssdlab: interrupted\n"


def test_operations_beyond_the_page_are_served(recorded: Path) -> None:
    columns = pq.read_table(recorded / "activity_gantt.parquet")
    with served(recorded) as (_, address):
        of = Counter(columns["request"].to_pylist())
        seen: set[int] = set()
        across, done_for_none = 0, 0
        first: int | None = 0
        while first is not None:
            status, body = asked(f"{address}operations?first={first}")
            payload = json.loads(body)
            assert status == 200 and payload["earlier"] == (max(0, first - 2_000) if first else None)
            marks = payload["charts"][0]["panels"][0]["marks"]
            here = Counter(request for mark in marks for request in mark["requests"])
            # Requests that cross a chunk boundary are complete in both chunks.
            assert {one: operations for one, operations in here.items() if one} == {one: of[one] for one in here if one}
            across += bool(seen & (here.keys() - {0}))
            seen |= here.keys() - {0}
            done_for_none += here[0]
            first = payload["later"]
        assert seen == of.keys() - {0} and done_for_none == of[0] and of.total() > 4_000 and across > 0
        assert asked(f"{address}operations?first=999999999")[0] == 200
        for wrong in ("-1", "x", "1e3", 5_000 * "9"):
            status, body = asked(f"{address}operations?first={wrong}")
            assert (status, body) == (400, f"first={wrong} is not an operation number; use 0 or more\n".encode())


def test_operations_are_read_once_per_saved_run(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    reads: list[Path] = []
    load = Result.load

    def counted(path: Path) -> Result:
        reads.append(path)
        return load(path)

    monkeypatch.setattr(Result, "load", counted)
    with LocalServer(tmp_path / "report.html") as server:
        kept = [server.operations(first) for first in (0, 2_000, 0, 999_999)]
        assert len(reads) == 1 and kept[0] == kept[2] != kept[1]
        for first, answer in zip((0, 2_000, 0, 999_999), kept, strict=True):
            with LocalServer(tmp_path / "report.html") as other:
                assert other.operations(first) == answer
        reads.clear()
        again = ssdlab.simulate(ssdlab.Config("small-tlc", overrides={**BUSY, "seed": 2}))
        again.save(tmp_path)
        with LocalServer(tmp_path / "report.html") as other:
            assert server.operations(0) == other.operations(0) != kept[0]
        assert len(reads) == 2
        (tmp_path / "activity_gantt.parquet").write_bytes(b"no Parquet")
        with pytest.raises(ConfigError, match="cannot be read as Parquet"):
            server.operations(0)


@pytest.mark.parametrize("name", ["", "result.json"])
def test_the_page_of_a_run_is_opened(saved: Path, tmp_path: Path, name: str) -> None:
    done, asked = view(saved / name, tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert asked == done.stdout.strip() == (saved / "report.html").as_uri()


def test_the_address_is_printed_without_a_browser(saved: Path, tmp_path: Path) -> None:
    done, _ = view(saved, tmp_path, browser=False)
    assert done.returncode == 0
    assert done.stdout == f"no browser found; open {(saved / 'report.html').as_uri()} in a browser\n"


def test_the_page_of_a_study_covers_finished_runs(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    ssdlab.sweep({"device.op": ["10%", "20%"]}, config=ssdlab.Config("tlc-chip", overrides=SMALL), out=folder, jobs=1)
    done, asked = view(folder, tmp_path)
    assert done.returncode == 0 and asked == (folder / "report.html").as_uri()
    page = (folder / "report.html").read_text()
    assert page == ssdlab.open_study(folder).report_html() and "device.op" in page


def test_the_page_of_a_search_is_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "search"
    tuning = ssdlab.tune(
        ["device.op=10%,20%"], ssdlab.Config("tlc-chip", overrides=SMALL), outcomes=["write_amplification"], trials=4,
        repeats=1, out=folder, jobs=1,
    )  # fmt: skip
    tuning.save(folder)
    for path in (folder, folder / "tuning.json"):
        done, asked = view(path, tmp_path)
        assert done.returncode == 0 and asked == (folder / "report.html").as_uri()
        assert (folder / "report.html").read_text() == tuning.report_html()


def test_the_page_of_a_cache_plan_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "plan"
    ssdlab.cache.plan("4GiB", "80GiB", paper=True).save(folder)
    for path in (folder, folder / "cache-plan.json"):
        done, asked = view(path, tmp_path)
        assert done.stderr == "" and asked == (folder / "report.html").as_uri()
    with pytest.raises(ConfigError, match="plan: contains no study"):
        ssdlab.open_study(folder)


def test_the_named_finding_of_a_folder_is_shown(copy: Path, tmp_path: Path) -> None:
    page = (copy / "report.html").read_text()
    ssdlab.cache.plan("4GiB", "80GiB", paper=True).save(copy)
    planned = (copy / "report.html").read_text()
    for path in (copy, copy / "cache-plan.json"):
        done, asked = view(path, tmp_path)
        assert done.stderr == "" and asked == (copy / "report.html").as_uri()
    done, asked = view(copy / "result.json", tmp_path)
    assert done.stderr == "" and asked == (copy / "result.html").as_uri()
    assert (copy / "result.html").read_text() == page and (copy / "report.html").read_text() == planned
    Result.load(copy).save(copy)
    assert view(copy / "result.json", tmp_path)[1] == view(copy, tmp_path)[1] == (copy / "report.html").as_uri()
    (tmp_path / "asked").unlink()
    assert (
        "cache-plan.json: report.html in the same folder shows result.json, which was saved later; repeat the command"
        in (refused(copy / "cache-plan.json", tmp_path))
    )


def test_a_finding_in_a_studys_folder_has_its_own_page(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    ssdlab.sweep({"device.op": ["10%", "20%"]}, config=ssdlab.Config("tlc-chip", overrides=SMALL), out=folder, jobs=1)
    ssdlab.cache.plan("4GiB", "80GiB", paper=True).save(folder)
    planned = (folder / "report.html").read_text()
    assert view(folder / "cache-plan.json", tmp_path)[1] == (folder / "report.html").as_uri()
    assert (folder / "report.html").read_text() == planned


def test_the_folder_of_a_fleet_names_the_command_for_its_page(tmp_path: Path) -> None:
    ssdlab.generate_fleet(tmp_path / "fleet.csv", volumes=2, requests=200)
    ssdlab.fleet(tmp_path / "fleet.csv", out=tmp_path / "fleet", jobs=1)
    assert "fleet: contains a fleet; 'ssdlab fleet show " in refused(tmp_path / "fleet", tmp_path)


def refused(path: Path, tmp_path: Path) -> str:
    done, asked = view(path, tmp_path)
    assert done.returncode == 2 and asked == "" and len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_a_result_of_another_version_is_refused(copy: Path, tmp_path: Path) -> None:
    payload = json.loads((copy / "result.json").read_text())
    payload["version"] = {"ssdlab": "0.0.1", "shape": 0}
    (copy / "result.json").write_text(json.dumps(payload))
    assert "was saved by ssdlab 0.0.1, which " in refused(copy, tmp_path)


def test_a_page_needs_its_columns(copy: Path, tmp_path: Path) -> None:
    (copy / "series.parquet").unlink()
    assert "copy: series.parquet missing or empty, so the report would be incomplete; copy all" in refused(
        copy, tmp_path
    )
    (copy / "report.html").unlink()
    assert "report.html, series.parquet missing or empty" in refused(copy / "result.json", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"kind": "banana"},
            "result.json: kind: is 'banana', so this file was not saved by --out; copy all saved files",
        ),
        (
            {"kind": "study"},
            "result.json: kind: is 'study', so this file was not saved by --out; copy all saved files",
        ),
        ({"result": {}}, "result.json: result: is empty, so this file was not saved by --out; copy all saved files"),
        ({"result": {"ingest": None}}, "result.json: result.partial: is missing"),
        ({"source": None}, "result.json: source: "),
    ],
)
def test_changed_json_opens_no_page(copy: Path, tmp_path: Path, change: dict[str, object], message: str) -> None:
    payload = json.loads((copy / "result.json").read_text())
    (copy / "result.json").write_text(json.dumps({**payload, **change}))
    for path in (copy, copy / "result.json"):
        assert message in refused(path, tmp_path)


def test_an_emptied_file_opens_no_page(copy: Path, tmp_path: Path) -> None:
    for name, message in (
        ("report.html", "report.html missing or empty"),
        ("result.json", "(result.json: damaged, or written by another"),
    ):
        whole = (copy / name).read_bytes()
        (copy / name).write_bytes(b"")
        assert message in refused(copy, tmp_path)
        (copy / name).write_bytes(whole)


@pytest.mark.parametrize("name", ["series", "latency", "erase_counts"])
def test_damaged_columns_open_no_page(copy: Path, tmp_path: Path, name: str) -> None:
    path = copy / f"{name}.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert f"{name}.parquet: cannot be read as Parquet: " in (told := refused(copy, tmp_path))
    assert "; copy it into the folder of the run's JSON file, or repeat the run with --out" in told
    table = pq.read_table(copy / "erase_counts.parquet") if name == "series" else pq.read_table(copy / "series.parquet")
    pq.write_table(table, path)
    assert f"{name}.parquet: has the columns " in refused(copy, tmp_path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    assert "does not exist; use a folder" in refused(tmp_path / "none", tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "contains neither a result nor a study" in refused(empty, tmp_path)
    (empty / "other.json").write_text('{"a": 1}')
    assert "is not a result of ssdlab" in refused(empty / "other.json", tmp_path)
    (empty / "broken.json").write_text("{")
    assert "is not a result of ssdlab" in refused(empty / "broken.json", tmp_path)
    assert "nor a study (broken.json, other.json: damaged, or written by another program); use" in refused(
        empty, tmp_path
    )


@pytest.mark.parametrize("find", ["analyze", "intervals"])
def test_trace_findings_have_pages_too(find: str, tmp_path: Path) -> None:
    trace = ssdlab.generate(ssdlab.Config("tlc-chip", overrides=SMALL))
    getattr(trace, find)().save(tmp_path / "out")
    done, asked = view(tmp_path / "out", tmp_path)
    assert done.returncode == 0 and asked == (tmp_path / "out" / "report.html").as_uri()
