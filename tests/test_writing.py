"""Files that cannot be written: the result is printed, the message names the file, and existing files stay."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import SMALL_SETS, Cli, without_progress
from forked import PATIENCE_SECONDS

FEW = ["run", *SMALL_SETS, "--set", "workload.requests=1000"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def limited(arguments: list[str], folder: Path, limit: Callable[[], object]) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process that has called `limit` first."""
    command = [sys.executable, "-m", "ssdlab", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS, preexec_fn=limit
    )
    done.stderr = without_progress(done.stderr)
    return done


def small_files(most: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_a_file_above_the_size_limit_leaves_the_old_one(cli: Cli, tmp_path: Path) -> None:
    cli(*FEW, "--out", "out")
    before = contents(tmp_path / "out")
    failed = limited([*FEW, "--set", "seed=2", "--out", "out"], tmp_path, small_files(4096))
    assert failed.returncode == 2 and "write amplification" in failed.stdout
    [line] = failed.stderr.splitlines()
    assert line.startswith("ssdlab: out/") and "File too large; delete files" in line
    # No hidden file is left.
    assert contents(tmp_path / "out") == before and len(list(tmp_path.iterdir())) == 1


TRACE, FLEET = ["trace", "generate", *SMALL_SETS], ["fleet", "generate", "--volumes", "3", "--requests", "9000"]


@pytest.mark.parametrize("command", [TRACE, FLEET], ids=["trace", "fleet"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.zst", "t.parquet"])
def test_a_trace_above_the_size_limit_leaves_the_old_one(tmp_path: Path, command: list[str], name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    failed = limited([*command, name], tmp_path, small_files(4096))
    assert failed.returncode == 2
    [line] = failed.stderr.splitlines()
    assert line.startswith(f"ssdlab: {name}: ") and "File too large" in line
    assert contents(tmp_path) == {name: b"mine"}


def test_files_are_saved_although_standard_output_is_full(cli: Cli, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "ssdlab", *FEW, "--json", "--out", "out"]
        failed = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert failed.returncode == 2
    [line] = without_progress(failed.stderr).splitlines()
    assert line.startswith("ssdlab: standard output: No space left on device; delete files")
    assert (tmp_path / "out" / "result.json").read_text(encoding="utf-8") == cli(*FEW, "--json").stdout


def test_files_are_saved_although_the_reader_closed_early(tmp_path: Path) -> None:
    command = f"{sys.executable} -m ssdlab {' '.join(FEW)} --out out"
    done = subprocess.run(
        f"{command} | true", cwd=tmp_path, shell=True, capture_output=True, text=True, check=False,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert without_progress(done.stderr) == "" and (tmp_path / "out" / "report.html").stat().st_size > 0


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    folder = tmp_path / "full"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_the_old_file(cli: Cli, full_disk: Path) -> None:
    (full_disk / "result.json").write_text("{}", encoding="utf-8")
    (full_disk / "filler").write_bytes(bytes(40 * 1024))
    failed = cli(*FEW, "--out", full_disk, check=False)
    assert failed.returncode == 2 and "write amplification" in failed.stdout
    [line] = failed.stderr.splitlines()
    assert line.startswith(f"ssdlab: {full_disk}/") and "No space left on device; delete files" in line
    assert set(contents(full_disk)) == {"result.json", "filler"}
    assert (full_disk / "result.json").read_text(encoding="utf-8") == "{}"


def test_an_unwritable_directory_is_reported_at_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sealed = tmp_path / "sealed"
    sealed.mkdir(mode=0o500)
    (tmp_path / "astray").symlink_to("nowhere")
    outs = {
        "file": "is a file",
        "file/out": "is a file",
        "": "name is empty",
        "astray": "astray is a dangling link",
        "astray/out": "astray is a dangling link",
        "sealed/out": "cannot be written: Permission denied",
        "out/" + 256 * "x": "cannot be written: File name too long",
        # Not even root can create a directory there.
        "/proc/out": "cannot be written: No such file",
    }
    for out, words in outs.items():
        if out.startswith("sealed") and os.access(sealed, os.W_OK):
            continue
        failed = cli(*FEW, "--out", out, check=False)
        assert (failed.returncode, failed.stdout) == (2, "") and words in failed.stderr
        assert len(failed.stderr.splitlines()) == 1
    failed = cli(*FEW, "--save-state", "/proc/drive", check=False)
    assert (failed.returncode, failed.stdout) == (2, "") and "/proc cannot be written: No such file" in failed.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"file", "sealed", "astray"}


def test_only_directories_with_our_lock_count_as_leftovers(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("mine", "ours"):
        (out / f".ssdlab-unfinished-{name}").mkdir(parents=True)
        (out / f".ssdlab-unfinished-{name}" / "thesis.tex").touch()
    (out / ".ssdlab-unfinished-ours" / ".ssdlab-lock").touch()
    cli(*FEW, "--out", "out")
    assert (out / ".ssdlab-unfinished-mine" / "thesis.tex").exists()
    assert [path.name for path in out.glob(".ssdlab-*")] == [".ssdlab-unfinished-mine"]
