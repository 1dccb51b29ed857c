"""`ssdlab view` opens the page of what was saved, and says what is wrong with it."""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import ssdlab
from conftest import SMALL


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
    """What the command says, and what the browser was asked to open."""
    asked, program = tmp_path / "asked", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > {shlex.quote(str(asked))}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "BROWSER": str(program), "PATH": "" if not browser else os.environ["PATH"]}
    if not browser:
        environment["BROWSER"] = ""
        environment.pop("DISPLAY", None)
    done = subprocess.run(
        [sys.executable, "-m", "ssdlab", "view", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return done, asked.read_text().strip() if asked.exists() else ""


@pytest.mark.parametrize("name", ["", "result.json"])
def test_the_page_of_a_run_is_opened(saved: Path, tmp_path: Path, name: str) -> None:
    done, asked = view(saved / name, tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert asked == done.stdout.strip() == (saved / "report.html").as_uri()


def test_where_there_is_no_browser_the_address_is_printed(saved: Path, tmp_path: Path) -> None:
    done, _ = view(saved, tmp_path, browser=False)
    assert done.returncode == 0
    assert done.stdout == f"there is no browser here; open {(saved / 'report.html').as_uri()} in one\n"


def test_the_page_of_a_study_is_of_what_is_finished(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    ssdlab.sweep({"device.op": ["10%", "20%"]}, config=ssdlab.Config("tlc-chip", overrides=SMALL), out=folder, jobs=1)
    done, asked = view(folder, tmp_path)
    assert done.returncode == 0 and asked == (folder / "report.html").as_uri()
    page = (folder / "report.html").read_text()
    assert page == ssdlab.open_study(folder).report_html() and "device.op" in page


def refused(path: Path, tmp_path: Path) -> str:
    done, asked = view(path, tmp_path)
    assert done.returncode == 2 and asked == "" and len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_a_result_of_another_version_is_refused(copy: Path, tmp_path: Path) -> None:
    found = json.loads((copy / "result.json").read_text())
    found["version"] = {"ssdlab": "0.0.1", "shape": 0}
    (copy / "result.json").write_text(json.dumps(found))
    assert "was saved by ssdlab 0.0.1, which this version" in refused(copy, tmp_path)


def test_a_page_needs_its_columns(copy: Path, tmp_path: Path) -> None:
    (copy / "series.parquet").unlink()
    assert "copy: lacks series.parquet, which belong to the page of a result; copy all" in refused(copy, tmp_path)
    (copy / "report.html").unlink()
    assert "lacks report.html, series.parquet" in refused(copy / "result.json", tmp_path)


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    assert "is not there; give the folder" in refused(tmp_path / "none", tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds neither a result nor a study" in refused(empty, tmp_path)
    (empty / "other.json").write_text('{"a": 1}')
    assert "is no result of ssdlab" in refused(empty / "other.json", tmp_path)
    (empty / "broken.json").write_text("{")
    assert "is no result of ssdlab" in refused(empty / "broken.json", tmp_path)
