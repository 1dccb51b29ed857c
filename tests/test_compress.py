"""Measurement of page compressors, in Python and on the command line. Times only have to exist."""

import json
import os
import random
import zlib
from pathlib import Path
from statistics import fmean

import pytest

import ssdlab
from conftest import Cli
from ssdlab import compress
from ssdlab.analyse import corpus

WORDS = ("all", "work", "and", "no", "play", "makes", "a", "dull", "boy")
QUICK = {"threads": [1], "runs": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten thousand bytes of text and as many of noise, an empty file, a link and a pipe."""
    folder = tmp_path / "files"
    (folder / "below").mkdir(parents=True)
    draw = random.Random(1)
    (folder / "text").write_bytes(" ".join(draw.choices(WORDS, k=4000)).encode()[:10_000])
    (folder / "below" / "noise").write_bytes(random.Random(1).randbytes(10_000))
    (folder / "empty").touch()
    (folder / "link").symlink_to(folder / "text")
    os.mkfifo(folder / "pipe")
    return folder


def test_pages_are_compressed_one_by_one(folder: Path) -> None:
    bench = compress.bench([folder], codecs=["zlib:6", "none"], page_sizes=["4KiB", "file"], **QUICK)  # type: ignore[arg-type]
    data = {Path(member.name).name: member.data for member in bench.corpus.members}
    assert set(data) == {"text", "noise"}
    cell = bench.cell("zlib:6", 4096)
    for member, stored in zip(bench.corpus.members, cell.files, strict=True):
        pages = [member.data[at : at + 4096] for at in range(0, len(member.data), 4096)]
        assert (stored.pages, stored.bytes) == (3, 10_000)
        if Path(member.name).name == "noise":
            assert (stored.raw_pages, stored.stored_bytes, stored.ratio) == (3, 10_000, 1.0)
        else:
            # Two implementations of one format are close to each other.
            assert stored.stored_bytes == pytest.approx(sum(len(zlib.compress(page, 6)) for page in pages), rel=0.1)
            assert stored.raw_pages == 0
    assert cell.ratio == 20_000 / sum(stored.stored_bytes for stored in cell.files)
    assert cell.mean_ratio == fmean(stored.ratio for stored in cell.files) > cell.ratio
    assert bench.cell("none", None).total == compress.Stored(2, 20_000, 20_000, 2, 20_000)


def test_threads_change_no_ratio(folder: Path) -> None:
    bench = compress.bench([folder], codecs=["lz4", "zstd:3"], page_sizes=["512B", "8KiB"], threads=[1, 3], runs=2)
    for codec in ("lz4", "zstd:3"):
        for size in (512, 8192):
            one, three = (bench.cell(codec, size, threads) for threads in (1, 3))
            assert one.files == three.files
            assert 0 < three.compress_cpu_us.low <= three.compress_cpu_us.median <= three.compress_cpu_us.high
            assert one.decompress_elapsed_us.low > 0 and one.decompress_bytes_s.low > 0


def test_unreadable_files_are_reported(folder: Path) -> None:
    contents = corpus.read([folder, folder / "nowhere"])
    assert {Path(path).name: why for path, why in contents.skipped.items()} == {
        "empty": "the file is empty",
        "pipe": "not a regular file",
        "nowhere": "No such file or directory",
    }
    assert "3 files skipped" in contents.remarks()[0]


def test_large_files_are_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "FILE_LIMIT_BYTES", 6000)
    monkeypatch.setattr(corpus, "LIMIT_BYTES", 6000)
    contents = corpus.read([folder / "text", folder / "below"])
    assert [len(member.data) for member in contents.members] == [6000]
    assert contents.shortened == (str(folder / "text"),)
    assert list(contents.skipped) == [str(folder / "below" / "noise")]


def test_nothing_to_compress_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(ssdlab.ConfigError, match="no readable, non-empty files"):
        corpus.read([tmp_path])


def test_generated_contents_are_the_same_everywhere() -> None:
    generated = {member.name: member.data for member in corpus.default().members}
    assert list(generated) == [
        "python-sources", "machine-code", "trace-csv", "trace-binary", "table-rows", "integer-index", "timestamp-index",
        "noise",
    ]  # fmt: skip
    assert {len(data) for name, data in generated.items() if name not in ("python-sources", "machine-code")} == {
        1 << 20
    }
    sums = {name: zlib.crc32(data) for name, data in generated.items()}
    assert {name: sums[name] for name in SUMS} == SUMS


SUMS = {
    "trace-csv": 333151698,
    "trace-binary": 672965090,
    "table-rows": 3451770378,
    "integer-index": 312437975,
    "timestamp-index": 1455776394,
    "noise": 580082645,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codecs": ["zstf"]}, 'did you mean "zstd"'),
        ({"codecs": ["zstd:99"]}, 'did you mean "zstd:22"'),
        ({"codecs": ["modelled"]}, "only models compression"),
        ({"page_sizes": ["8"]}, "8"),
        ({"page_sizes": ["4MiB"]}, "between 512B and 1MiB"),
        ({"page_sizes": []}, "at least one entry"),
        ({"threads": [0]}, "between 1 and 1024"),
    ],
)
def test_wrong_arguments(folder: Path, changes: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        compress.bench([folder], **changes)  # type: ignore[arg-type]


def test_a_monitor_stops_it(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        compress.bench([folder], monitor=lambda *_: True)
    # Three runs of a codec per page size, including the warm-up.
    stop: ssdlab.Monitor = lambda _phase, done, *_: done >= 6  # noqa: E731
    bench = compress.bench([folder], codecs=["lz4"], page_sizes=["4KiB", "8KiB", "file"], runs=2, monitor=stop)
    # The monitor may be called once more if a thread ends late after its last run.
    assert bench.partial and bench.page_sizes in ((4096,), (4096, 8192)) and bench.threads == (1,)
    assert tuple(cell.page_bytes for cell in bench.cells) == bench.page_sizes


def test_command_writes_tables_and_report(cli: Cli, folder: Path, tmp_path: Path) -> None:
    arguments = ["compress", "bench", folder, "--page", "4KiB,8KiB,file", "--threads", "1,2", "--runs", "2"]
    shown = cli(*arguments, "--all", "--out", "found").stdout
    assert "whole files, 2 threads" in shown
    assert "2 files skipped" in shown
    assert "by bytes" in (tmp_path / "found" / "report.html").read_text(encoding="utf-8")
    lines = (tmp_path / "found" / "compress.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 4 * 3 * 2 * 3
    payload = json.loads((tmp_path / "found" / "compress.json").read_text(encoding="utf-8"))
    assert {cell["codec"] for cell in payload["result"]["cells"]} == set(compress.CODECS)
    printed = json.loads(cli(*arguments, "--codec", "lz4", "--json").stdout)
    assert printed["result"]["cells"][0]["total"]["pages"] == 6


@pytest.mark.parametrize("arguments", [["nowhere"], ["--codec", "lz5"], ["--threads", "x"], ["--page", "1B"]])
def test_command_errors_are_one_line(cli: Cli, arguments: list[str]) -> None:
    done = cli("compress", "bench", *arguments, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
