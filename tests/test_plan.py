"""Plans of a compressed page cache: the document's figures, measured constants, errors, the experiment."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab.analyse.cache.planning import PAPER, Choice, Compressor, comparison, compressors
from ssdlab.analyse.corpus import Corpus, Member
from ssdlab.analyse.drive import fio, reads
from ssdlab.study.experiments import models as measured
from ssdlab.study.experiments.models import MODELS

PAPER_PLAN = ["cache", "plan", "--memory", "15GiB", "--data", "200GiB", "--paper"]


def choice(plan: ssdlab.cache.CachePlan, model: str, name: str) -> Choice:
    return next(option for option in plan.choices if (option.model, option.compressor.name) == (model, name))


def test_the_documents_figures_are_reproduced() -> None:
    plan = ssdlab.cache.plan("15GiB", "200GiB", distribution="even", paper=True)
    assert plan.raw_us == pytest.approx(101.75) and plan.raw_hit_ratio == pytest.approx(0.075)
    assert choice(plan, "document", "lz4").break_even == pytest.approx(0.2053, abs=1e-4)
    assert choice(plan, "document", "zstd").hit_ratio == pytest.approx(0.22275)
    assert plan.curve("lz4", "document")[0] == pytest.approx(112 * 0.925)
    assert plan.curve("lz4")[0] == pytest.approx(plan.raw_us), "an empty compressed pool costs no time"
    poor = ssdlab.cache.plan("15GiB", "500GiB", distribution="even", paper=True)
    assert choice(poor, "document", "zstd").break_even is None


def test_the_advice_is_the_least_of_all_corrected_curves() -> None:
    plan = ssdlab.cache.plan("15GiB", "200GiB", distribution="zipf:0.8", device_us=30, compressors=PAPER.values())
    least = min(min(plan.curve(name)) for name in PAPER)
    assert plan.best.us == pytest.approx(least, rel=1e-3) and plan.best.us <= least
    assert plan.compress and plan.best.gain == pytest.approx(plan.raw_us / plan.best.us)
    assert plan.corrections["all"] == plan.best.us


def test_advice_changes_at_the_devices_break_even() -> None:
    arguments: dict[str, Any] = {"distribution": "zipf:0.8", "compressors": [PAPER["zstd"]]}
    plan = ssdlab.cache.plan("15GiB", "200GiB", device_us=100, **arguments)
    turn = plan.best.device_break_even_us
    assert turn is not None
    assert not ssdlab.cache.plan("15GiB", "200GiB", device_us=0.99 * turn, **arguments).compress
    assert ssdlab.cache.plan("15GiB", "200GiB", device_us=1.01 * turn, **arguments).compress


def test_a_requested_share_is_used(cli: Cli) -> None:
    plan = ssdlab.cache.plan("15GiB", "500GiB", distribution="even", paper=True, share=0.25)
    assert {option.share for option in plan.choices} == {0.25} and not plan.compress
    assert choice(plan, "document", "lz4").us == pytest.approx(plan.curve("lz4", "document")[25])
    asked = ["500GiB" if word == "200GiB" else word for word in PAPER_PLAN]
    shown = " ".join(cli(*asked, "--distribution", "even", "--share", "25%").stdout.split())
    assert "Do not compress 25 % of the memory: this is not faster than a raw cache (106.7 us per page)" in shown


NOISE = Member("noise", random.Random(1).randbytes(4096))


def test_ratios_are_by_bytes_of_shrinking_pages() -> None:
    contents = Corpus("some", (NOISE, Member("zeros", bytes(3 * 4096))))
    measured, copied = compressors.measure(["lz4", "modelled:3:4:5"], contents, 4096)
    assert measured.shrinking == 0.75 and measured.ratio > 100
    assert measured.mean_ratio == pytest.approx((1 + measured.ratio) / 2)
    assert (copied.ratio, copied.compress_us, copied.decompress_us) == (3, 4, 5)
    (nothing,) = compressors.measure(["lz4"], Corpus("noise", (NOISE,)), 4096)
    assert (nothing.ratio, nothing.shrinking, nothing.decompress_us) == (1.0, 0.0, 0.0)
    plan = ssdlab.cache.plan("1GiB", "10GiB", page="4KiB", device_us=100, compressors=[nothing])
    assert not plan.compress and plan.best.us == pytest.approx(plan.raw_us)
    with pytest.raises(ssdlab.ConfigError, match="every file is smaller than a page of 8KiB"):
        compressors.measure(["lz4"], contents=Corpus("noise", (NOISE,)), page_bytes=8192)


def test_without_files_the_suites_corpus_is_measured() -> None:
    plan = ssdlab.cache.plan("1GiB", "10GiB", device_us=100)
    suite = ssdlab.compress.bench(codecs=["lz4"], page_sizes=["8KiB"], threads=[1], runs=1, keep=0.75)
    total = suite.cell("lz4", 8192).total
    lz4, zstd = plan.compressors
    assert lz4.shrinking == 1 - total.raw_pages / total.pages
    assert lz4.ratio == (total.bytes - total.raw_bytes) / (total.stored_bytes - total.raw_bytes) < zstd.ratio
    assert all(compressor.compress_us > 0 and compressor.decompress_us >= 0 for compressor in plan.compressors)
    assert "the built-in corpus" in plan.remarks[0]
    modelled = ssdlab.cache.plan("1GiB", "10GiB", device_us=100, compressors=["modelled:2:10:10"])
    assert modelled.remarks == ()


def test_the_model_is_compared_with_the_working_cache(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PAGES", 2000)
    monkeypatch.setattr(comparison, "CACHED", 100)
    plan = ssdlab.cache.plan(
        "1GiB",
        "2GiB",
        page="4KiB",
        distribution="even",
        device_us=5,
        compressors=["lz4"],
        share=0.5,
        measure_cache=True,
    )
    compared = plan.comparison
    assert compared is not None and (compared.pages, compared.accesses) == (2000, 4000)
    raw, *compressed = compared.rows
    assert raw.compressor is None and [row.share for row in compared.rows] == [0, 0.5]
    for one in compared.rows:
        assert one.measured_us == pytest.approx(one.model_us + one.by_hits_us + one.by_device_us + one.left_us)
        # Independent accesses have the hit ratio of the model, except for the memory of tables and fragmentation.
        assert one.measured_hit_ratio == pytest.approx(one.model_hit_ratio, abs=0.13)
    assert all(row.measured_hit_ratio > raw.measured_hit_ratio for row in compressed)
    assert "difference" in plan.report_html() and plan.to_dict()["comparison"]["pages"] == 2000
    same = ["cache", "plan", "--memory", "1GiB", "--data", "2GiB", "--bench"]
    assert "omit one of the two" in cli(*same, "--paper", check=False).stderr
    modelled = cli(*same, "--device-us", "5", "--compressor", "modelled:2:1:1", check=False).stderr
    assert "all compressors are modelled, so a cache cannot be measured" in modelled


@pytest.mark.parametrize("with_fio", [True, False])
def test_a_device_is_measured_with_or_without_fio(
    with_fio: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(2 << 20))
    jobs = []

    def run(programs: fio.Fio, job: fio.Job, stop: object) -> tuple[int, float]:
        jobs.append(job)
        return 1, 20_000.0

    def find() -> fio.Fio:
        if with_fio:
            return fio.Fio("fio", "fio-3.33")
        raise ssdlab.CalibrationError("no fio")

    monkeypatch.setattr(fio, "run", run)
    monkeypatch.setattr(fio, "find", find)
    plan = ssdlab.cache.plan("1GiB", "10GiB", device=file, seconds=0.02, compressors=PAPER.values())
    assert plan.device is not None and sorted(plan.device.iops) == list(reads.SIZES)
    assert plan.device_us == pytest.approx(1e6 / plan.device.iops[8192])
    if with_fio:
        assert plan.device_us == 50
        assert "--rw=randread:9" in jobs[-1].arguments() and "--readonly" in jobs[-1].arguments()
        assert {job.in_flight for job in jobs} == {4}
    assert file.read_bytes() == bytes(2 << 20)


def test_printed_and_written_output(cli: Cli, tmp_path: Path) -> None:
    shown = cli(*PAPER_PLAN, "--out", "out").stdout
    assert "Compress 100 % of the memory with zstd" in shown and "written to out" in shown
    written = json.loads((tmp_path / "out/cache-plan.json").read_text())
    assert written == json.loads(cli(*PAPER_PLAN, "--json").stdout)
    written = written["result"]
    assert written["best"]["compressor"] == "zstd" and len(written["curves"]["document"]["lz4"]) == 101
    with (tmp_path / "out/plan.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 404 and float(rows[0]["us"]) == written["curves"]["document"]["lz4"][0]
    report = (tmp_path / "out/report.html").read_text()
    assert "data-chart=" in report and "Compress 100 % of the memory with zstd" in report


def test_a_miss_ratio_curve_replaces_a_distribution(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text(f"cache_bytes,miss_ratio\n{1 << 30},0.8\n{4 << 30},0.3\n")
    arguments = ["cache", "plan", "--memory", "1GiB", "--data", "10GiB", "--paper", "--curve", "curve.csv", "--json"]
    result = json.loads(cli(*arguments).stdout)["result"]
    assert result["raw_hit_ratio"] == pytest.approx(0.2)
    document = next(option for option in result["choices"] if option["model"] == "document")
    assert document["hit_ratio"] == pytest.approx(0.2 + 1.13 / 3 * 0.5)
    for wrong in ("size,misses\n1,2\n", "cache_bytes,miss_ratio\n", ""):
        (tmp_path / "curve.csv").write_text(wrong)
        assert "--curve curve.csv: must be a CSV" in cli(*arguments, check=False).stderr


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a,1,4096,much"], "2: miss_ratio: 'much' is not a miss ratio from 0 to 1; miss ratios"),
        (["a,1,4096"], "2: miss_ratio: '' is not a miss ratio"),
        (["a,1,4096,0.5", "", "a,2,8192,1.5"], "4: miss_ratio: '1.5' is not a miss ratio from 0 to 0.5; miss ratios"),
        (["a,1,4096,0.5", "a,2,8192,0.6"], "3: miss_ratio: '0.6' is not a miss ratio from 0 to 0.5; miss ratios"),
        (["a,1,-5,0.5"], "2: cache_bytes: '-5' is not a number of bytes"),
        (["a,2,8192,0.5", "b,1,1,0.9", "a,1,4096,0.4"], "4: cache_bytes: '4096' is not a size of at least 8192 bytes"),
        (["a,1,4096,0.5", "a,2,inf,0.4"], "3: cache_bytes: 'inf' is not a size of at least 4096 bytes"),
        (["a,0,4096,0.5"], "2: capacity_units: '0' is not a number of items, 1 or more"),
    ],
)
def test_a_wrong_point_of_a_curve_is_named_as_written(cli: Cli, tmp_path: Path, lines: list[str], said: str) -> None:
    (tmp_path / "c.csv").write_text("\n".join(["policy,capacity_units,cache_bytes,miss_ratio", *lines, ""]))
    done = cli(
        "cache", "plan", "--memory", "1GiB", "--data", "10GiB", "--paper", "--curve", "c.csv", "--page", "4KiB",
        "--curve-policy", "a", check=False,
    )  # fmt: skip
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"ssdlab: --curve c.csv:{said}"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--memory", "1KiB", "--data", "1GiB", "--paper"], "must hold at least one page"),
        (["--memory", "1GiB", "--data", "1KiB", "--paper"], "must be at least one page"),
        (["--memory", "1GiB", "--data", "2GiB", "--device-us", "-5"], "-5, but must be 0 or more"),
        (["--memory", "1GiB", "--data", "2GiB"], "one of --paper, --device PATH and --device-us MICROSECONDS"),
        (["--memory", "1GiB", "--data", "2GiB", "--paper", "--device-us", "5"], "exactly one of"),
        (
            ["--memory", "1GiB", "--data", "2GiB", "--paper", "--page", "4KiB"],
            "omit files and page size",
        ),
        (["--memory", "1GiB", "--data", "2GiB", "--paper", "--compressor", "zlib"], "use one of lz4, zstd"),
        (["--memory", "1GiB", "--data", "2GiB", "--device-us", "5", "--compressor", "lz5"], 'did you mean "lz4"'),
        (["--memory", "1GiB", "--data", "2GiB", "--paper", "--distribution", "70/30"], "must be even, 80/20"),
        (["--memory", "1GiB", "--data", "2GiB", "--device-us", "5", "missing"], "no readable, non-empty files"),
        (["--memory", "1GiB", "--data", "2GiB", "--paper", "--share", "140%"], "140 %, but must be from 0 to 100 %"),
        (["--memory", "1GiB", "--data", "2GiB", "--paper", "--share", "-1%"], "is not a percentage"),
        (["--memory", "1GiB", "--data", "2GiB", "--paper", "--share", "half"], "is not a percentage"),
        (["--memory", "1GiB", "--data", "2GiB", "--device", "missing"], "does not exist"),
    ],
)
def test_impossible_plans_are_one_clear_error(arguments: list[str], said: str, cli: Cli) -> None:
    done = cli("cache", "plan", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


def test_negative_costs_and_shares_beyond_the_memory_are_refused() -> None:
    with pytest.raises(ssdlab.ConfigError, match="-1, but must be 0 or more"):
        plan = ssdlab.cache.plan("1GiB", "2GiB", device_us=5, compressors=[Compressor("x", 2, -1, 1)])
        plan.choices  # noqa: B018
    for share in (-1, 101):
        with pytest.raises(ssdlab.ConfigError, match="0 to 100 %"):
            MODELS["cache_plan"]({"share": share})


def test_a_curve_needs_points() -> None:
    wrong: list[Any] = [[], [1], [("a", "b")], [(0.1,)], [(0.1, None)], np.zeros(3)]
    for points in wrong:
        with pytest.raises(ssdlab.ConfigError, match=r"^distribution: .*pairs of cached share"):
            ssdlab.cache.plan("1GiB", "2GiB", distribution=points, paper=True)
    points = [(0.25, 0.5), (0.5, 0.75)]
    right: list[Any] = [points, np.array(points), [list(point) for point in points]]
    for given in right:
        assert ssdlab.cache.plan("1GiB", "2GiB", distribution=given, paper=True).raw_hit_ratio == 0.75


def test_every_cell_of_the_experiment_is_near_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cells that are measured on this machine are not checked.
    monkeypatch.setattr(measured, "RUNS", 1)
    monkeypatch.setattr(measured, "FILE_BYTES", 2 << 20)
    monkeypatch.setattr(measured, "SECONDS", 0.02)
    result = ssdlab.experiments.load("compressed-cache").run()
    assert result.runs == 0 and not result.partial
    tables = {table.table.name: table for table in result.tables}
    assert not any(table.remarks for table in result.tables)
    assert not any(table.misses.any() for table in tables.values())
    assert abs(tables["figure12_break_even_percent"].largest[2]) < 1.5  # type: ignore[index]
    ours = tables["corrected_nothing_compressed_us"].ours
    assert ours[0].tolist() == pytest.approx([78.4, 82.6]) and ours[-1].tolist() == pytest.approx([77, 77])


def test_a_model_names_unknown_arguments(cli: Cli, tmp_path: Path) -> None:
    text = (
        'title = "t"\ndocument = "d"\n[axis.x]\na = { MEMORY }\n[[table]]\nname = "n"\ntitle = "t"\nvalue = "VALUE"\n'
        'model = "MODEL"\nrows = "x"\ncolumns = "x"\n'
    )

    def run(memory: str = "", value: str = "us", model: str = "cache_plan", more: str = "") -> str:
        filled = text.replace("MEMORY", memory).replace("VALUE", value).replace("MODEL", model)
        (tmp_path / "experiment.toml").write_text(filled + more)
        done = cli("experiment", "run", ".", check=False)
        return done.stdout + done.stderr

    assert "cache_plan has no such setting" in run('memry = "1GiB"')
    assert "row a, column a: memory: 5 is not text" in run("memory = 5")
    assert "did you mean cache_plan" in run(model="cache-plan")
    assert "seeds: has no effect with 'model'" in run(more="seeds = [1]\n")
    assert "metric hit in 'hit' is missing in every cell" in run(value="hit")


def test_the_curve_of_a_trace_serves_as_a_distribution(cli: Cli, tmp_path: Path) -> None:
    cli(
        "cache",
        "mrc",
        ROOT / "traces" / "oltp.csv.zst",
        "--policy",
        "lru,belady",
        "--size",
        "4MiB,64MiB",
        "--out",
        "mrc",
    )
    asked = ["cache", "plan", "--memory", "4MiB", "--data", "311MiB", "--curve", "mrc/caches.csv"]
    assert "policies in the file: lru, belady; choose one" in cli(*asked, "--paper", check=False).stderr
    other = cli(*asked, "--paper", "--curve-policy", "belady", check=False)
    assert other.returncode == 2 and other.stdout == ""
    assert "is for pages of 4KiB, but the plan uses pages of 8KiB" in other.stderr and "--page 4KiB" in other.stderr
    asked += ["--page", "4KiB", "--device-us", "80", "--compressor", "modelled:2:3:1", "--curve-policy", "belady"]
    result = json.loads(cli(*asked, "--json").stdout)["result"]
    assert result["raw_hit_ratio"] == pytest.approx(1 - 0.6053, abs=1e-4)
