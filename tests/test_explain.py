"""`ssdlab explain`: scenes match the documents and the simulation's counts; impossible scenes are refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from ssdlab import ConfigError
from ssdlab.analyse import steps

OPERATIONS = ("read", "program", "copy", "erase")


def recordings(name: str) -> list[dict[str, Any]]:
    return ssdlab.explain(name).recordings


def merges(recording: dict[str, Any]) -> Counter[str]:
    return Counter(span["kind"] for span in recording["spans"] if span["span"] == "merge")


def operations(recording: dict[str, Any], **wanted: object) -> Counter[str]:
    """Number of steps of each kind with the given values."""
    kept = [step for step in recording["steps"] if all(step.get(key) == value for key, value in wanted.items())]
    return Counter(step["step"] for step in kept if step["step"] in OPERATIONS)


def longest_wait(recording: dict[str, Any]) -> int:
    """Maximum number of copies within one request."""
    requests = [span for span in recording["spans"] if span["span"] == "request"]
    inside = [recording["steps"][span["from"] : span["to"] + 1] for span in requests]
    return max([sum(1 for step in some if step["step"] == "copy") for some in inside])


@pytest.mark.parametrize("name", steps.scenes())
def test_every_scene_is_played_and_described(name: str) -> None:
    explanation = ssdlab.explain(name)
    assert explanation.scene.title and explanation.scene.text
    assert all(len(recording["steps"]) > 3 for recording in explanation.recordings)
    assert explanation.to_html() == ssdlab.explain(name).to_html()


@pytest.mark.parametrize(
    ("name", "kind", "copies", "erases"),
    [
        ("bast-full-merge", "full", 12, 2),
        ("bast-switch-merge", "switch", 0, 1),
        ("fast-partial-merge", "partial", 5, 1),
        ("sbfast-partial-merge", "partial", 7, 1),
    ],
)
def test_merges_of_the_slides_have_the_slides_costs(name: str, kind: str, copies: int, erases: int) -> None:
    [recording] = recordings(name)
    [merge] = [span for span in recording["spans"] if span["span"] == "merge"]
    assert (merge["kind"], merge["copies"], merge["erases"]) == (kind, copies, erases)
    cause = f"{kind}_merge"
    assert operations(recording, cause=cause) == Counter({"copy": copies, "erase": erases}) - Counter()


def test_bast_thrashes_on_the_sequence_of_the_slides() -> None:
    assert merges(recordings("bast-thrashing")[0]) == {"partial": 8, "full": 1}
    assert merges(recordings("bast-locality")[0]) == {"switch": 1, "full": 1}


def test_the_full_merge_in_the_random_log_erases_ten_data_blocks_and_one_log_block() -> None:
    [recording] = recordings("sbfast-full-merge")
    assert merges(recording) == {"full": 10}
    assert operations(recording)["erase"] == 10 + 1
    [to_slb] = [step for step in recording["steps"] if step["step"] == "copy" and step["role"] == "sequential"]
    assert to_slb["lpn"] == 3
    copied = {step["lpn"] for step in recording["steps"] if step["step"] == "copy" and step["newest"]}
    assert not copied & {21, 31, 149}


def test_interleaved_streams_are_captured_by_sbfast_but_not_by_fast() -> None:
    fast, sbfast = (merges(recording) for recording in recordings("fast-thrashing"))
    assert fast == {"partial": 4, "switch": 1} and sbfast == {"switch": 3}
    fast, sbfast = (
        sum(step["step"] == "captured" for step in recording["steps"]) for recording in recordings("sbfast-sub-blocks")
    )
    assert fast == 0 and sbfast > 10


def test_faster_isolates_and_merges_less_than_fast() -> None:
    [recording] = recordings("faster-isolation")
    told = Counter(step.get("cause", step["step"]) for step in recording["steps"])
    assert told["second_chance"] and told["isolation"] and told["rotated"] and told["drained"]
    fast, faster = recordings("faster-fast")
    assert operations(faster)["copy"] < operations(fast)["copy"]
    assert longest_wait(faster) < longest_wait(fast) == 3 * 8


def test_a_miss_of_dftl_costs_at_most_two_reads_and_a_write() -> None:
    [recording] = recordings("dftl-miss")
    costs = []
    for span in recording["spans"]:
        if span["span"] == "miss":
            inside = recording["steps"][span["from"] : span["to"] + 1]
            costs.append(Counter(step["step"] for step in inside if step.get("cause", "").startswith("map_")))
    assert max(cost["read"] for cost in costs) == 2 and max(cost["program"] for cost in costs) == 1
    assert min(cost["program"] for cost in costs) == 0


def test_greedy_copies_less_than_fifo() -> None:
    greedy, fifo = (operations(recording, cause="gc")["copy"] for recording in recordings("greedy-fifo"))
    assert greedy < fifo


SMALL = {
    "time": "serial",
    "nand.channels": 1,
    "nand.ways": 1,
    "nand.dies": 1,
    "nand.planes": 1,
    "device.capacity": "128KiB",
    "device.op": "100%",
    "device.reserve": "extra",
    "nand.page_size": "4KiB",
    "nand.pages_per_block": 4,
    "nand.order": "any",
    "precondition.overwrite": "none",
}
VARIANTS: dict[str, dict[str, object]] = {
    **{ftl: {"ftl": ftl} for ftl in ("bast", "fast", "faster")},
    "sbfast": {"ftl": "sbfast", "ftl.sbfast.sub_block": 2},
    "dftl": {"ftl.page.map": "dftl", "ftl.page.map.dftl.cmt": 4},
    "segments": {"ftl.page.map": "segments"},
    **{
        victims: {"ftl.page.gc": victims}
        for victims in ("greedy", "fifo", "random", "d_choices", "cost_benefit", "windowed_greedy")
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_operations_equal_the_simulations_counts(variant: str) -> None:
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, **VARIANTS[variant]})
    pages = np.random.default_rng(7).integers(0, 32, 200)
    trace = ssdlab.Trace.from_columns(op=["write"] * 200, offset=pages * 4096, bytes=[4096] * 200)
    flash = ssdlab.simulate(config, trace).to_dict()["flash"]
    [recording] = ssdlab.explain(config, " ".join(map(str, pages))).recordings
    for name, kinds in {"reads": ("read", "copy"), "programs": ("program", "copy"), "erases": ("erase",)}.items():
        counted = Counter(step["cause"] for step in recording["steps"] if step["step"] in kinds)
        assert counted == {cause: count for cause, count in flash[name].items() if count}, name


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("copyback", [True, False])
def test_time_equals_a_serial_run(variant: str, copyback: bool) -> None:
    """The time includes the bus and the times of page types."""
    chip = {"nand.program": "100us,700us,900us", "nand.transfer_per_kib": "1537ns", "nand.copyback": copyback}
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, **VARIANTS[variant], **chip})
    draw = np.random.default_rng(7)
    ops, pages = draw.choice(["write", "read", "trim"], 200, p=[0.8, 0.1, 0.1]), draw.integers(0, 32, 200)
    trace = ssdlab.Trace.from_columns(op=ops.tolist(), offset=pages * 4096, bytes=[4096] * 200)
    letters = {"write": "", "read": "r", "trim": "t"}
    requests = [f"{letters[op]}{page}" for op, page in zip(ops, pages, strict=True)]
    [recording] = ssdlab.explain(config, " ".join(requests)).recordings
    assert len(recording["ended_ns"]) == len(recording["steps"])
    assert recording["ended_ns"][-1] == ssdlab.simulate(config, trace).summary["time"]["elapsed_ns"]


@pytest.mark.parametrize(
    ("settings", "filled", "blocks"),
    [
        (["--set", "ftl=page"], 32, 19),
        (["--set", "ftl=bast"], 32, 17),
        (["--set", "precondition.fill=0%"], 0, 19),
        (
            [
                "--preset",
                "tlc-chip",
                "-s",
                "device.capacity=4MiB",
                "-s",
                "device.op=100%",
                "-s",
                "precondition.fill=0%",
            ],
            0,
            None,
        ),
    ],
)
def test_the_small_drive_is_as_documented(cli: Cli, settings: list[str], filled: int, blocks: int | None) -> None:
    payload = json.loads(cli("explain", *settings, "--requests", "0", "--json").stdout)
    drive = payload["result"]["recordings"][0]["drive"]
    assert drive["filled"] == filled
    assert blocks is None or (drive["logical_pages"], drive["blocks"]) == (32, blocks)


def test_the_page_is_self_contained(cli: Cli, tmp_path: Path) -> None:
    assert "fast-thrashing" in cli("explain").stdout
    assert cli("explain", "bast-thrashing").stdout == "written to explain-bast-thrashing.html: open it in a browser\n"
    cli("explain", "--set", "ftl=bast", "--requests", "0 4 8-11 r5", "--beside", "ftl=fast", "--out", "own.html")
    for name in ("explain-bast-thrashing.html", "own.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert "://" not in page.replace("http://www.w3.org/2000/svg", "")  # "http" occurs in Base64 by chance
        assert page.count("<script") == page.count("</script>") == 3
    payload = json.loads(cli("explain", "bast-thrashing", "--json").stdout)
    assert (payload["kind"], payload["result"]["recordings"]) == ("steps", recordings("bast-thrashing"))


def test_trace_options_are_honoured(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "two.csv").write_text("0,W,0,4096,1\n1,W,0,4096,2\nnothing\n1,R,0,4096,3\n")
    given = ["--set", "ftl=fast", "--trace", "two.csv", "--out", "own.html"]
    done = cli("explain", *given, check=False)
    assert done.stderr.endswith("fix it or pass --skip-bad\n")
    output = cli("explain", *given, "--skip-bad", "--device", "1").stdout
    assert "device 1: 2 requests" in " ".join(output.split())
    done = cli("explain", "--set", "ftl=fast", "--requests", "1", "--device", "1", check=False)
    assert done.stderr == "ssdlab: --device applies only to a trace; add a trace file, or omit --device\n"


@pytest.mark.parametrize("most", [20, 200_000])
def test_an_excerpt_of_several_devices_names_its_device(tmp_path: Path, cli: Cli, most: int) -> None:
    """The device is named even if the trace is not read to its end."""
    rows = (f"{128166372003061629 + 10 * at},hm,{at % 2},Write,{4096 * (at % 8)},4096,100" for at in range(most + 20))
    (tmp_path / "two.csv").write_text("\n".join(rows) + "\n")
    given = ["--set", "ftl=fast", "--trace", "two.csv", "--most", "20", "--out", "own.html"]
    output = " ".join(cli("explain", *given).stdout.split())
    assert "two.csv, device hm.0: 20 requests" in output and "Choose another device with --device" in output
    output = " ".join(cli("explain", *given, "--device", "hm.1").stdout.split())
    assert "two.csv, device hm.1: 20 requests" in output and "another device" not in output
    assert "The trace is two.csv: 20 requests" in cli("explain", *given, "--device", "all").stdout


def test_requests_of_a_trace_are_renumbered(tmp_path: Path, cli: Cli) -> None:
    trace = ssdlab.Trace.from_columns(
        op=["write", "read", "flush", "write"], offset=[1 << 30, 4096, 0, (1 << 30) + 8192], bytes=[8192, 4096, 0, 100]
    )
    assert steps.excerpt(trace, 4096) == ("1-2 r0-0 3-3", 4, None)
    assert steps.excerpt(trace, 4096, skip=1, count=2) == ("r0-0", 1, None)
    with pytest.raises(ConfigError, match="no request after the first 9 reads, writes or trims a page; lower --skip"):
        steps.excerpt(trace, 4096, skip=9)
    trims = ssdlab.Trace.from_columns(op=["write", "trim", "trim"], offset=[0, 512, 0], bytes=[8192, 8192, 512])
    assert steps.excerpt(trims, 4096) == ("0-1 t1-1", 2, None)  # As in a run, a partial trim of a page is ignored.
    flushes = ssdlab.Trace.from_columns(op=["flush"] * 2, offset=[0, 0], bytes=[0, 0])
    with pytest.raises(ConfigError, match="the trace has no reads, writes or trims of pages"):
        steps.excerpt(flushes, 4096)
    with pytest.raises(ConfigError, match="requests reads, writes or trims a page; raise --skip or --most"):
        steps.excerpt(flushes, 4096, count=1)
    trace.save(tmp_path / "trace.csv")
    output = cli("explain", "--set", "ftl=fast", "--trace", "trace.csv", "--skip", "1", "--out", "own.html").stdout
    about = "The trace is trace.csv: 2 requests, after skipping 1. The 2 accessed pages are renumbered"
    page = (tmp_path / "own.html").read_text()
    assert about in " ".join(output.split()) and about in page and "FTL fast, step by step" in page
    for option in (["--skip", "1"], ["--most", "5"]):
        assert "--skip and --most need a trace" in refused(cli, "--requests", "0", *option)


def test_a_trace_sizes_its_explained_drive(tmp_path: Path, cli: Cli) -> None:
    far = ssdlab.Trace.from_columns(op=["W"] * 50, offset=[n << 20 for n in range(50)], bytes=[4096] * 50)
    far.save(tmp_path / "far.csv")
    output = json.loads(cli("explain", "--trace", "far.csv", "--json").stdout)["result"]
    assert output["recordings"][0]["drive"]["logical_pages"] >= 50
    small = refused(cli, "--set", "device.capacity=128KiB", "--trace", "far.csv")
    assert "use pages 0 to 31, or raise device.capacity" in small


def refused(cli: Cli, *arguments: object) -> str:
    done = cli("explain", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == ""
    return done.stderr


def test_impossible_scenes_are_refused_with_a_remedy(cli: Cli, tmp_path: Path) -> None:
    assert "unknown scene fast-trashing; did you mean fast-thrashing?" in refused(cli, "fast-trashing")
    assert "choose one of bast-full-merge, " in refused(cli, "zzz")
    assert "may have up to 4096 flash pages" in " ".join(cli("explain", "--help").stdout.split())
    assert "at most 4096 can be drawn; lower device.capacity" in refused(cli, "--preset", "sbfast", "--requests", "0")
    assert "needs requests; add either --requests or --trace" in refused(cli, "--set", "ftl=bast")
    assert "omit the scene, or all options" in refused(cli, "bast-thrashing", "--requests", "0")
    assert "x7 is not a request; enter 5 or 4-7 to write pages" in refused(cli, "--requests", "x7")
    assert "use pages 0 to 31, or raise device.capacity" in refused(cli, "--requests", "32")
    assert "more than 20000 steps" in refused(cli, "--requests", "0-31 " * 700)
    assert "pass the path of a TOML file" in refused(cli, "missing.toml")
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize(
    ("scene", "fault"),
    [
        ("", "no requests; enter pages to write, such as 0 4 8-11"),
        ("title = ", "Invalid value (at end of document); correct the file"),
        ("titel = 1", "titel: unknown key; did you mean title?"),
        ("title = 1", 'title: 1 is not a string; set title = "..."'),
        ('requests = ["0", "1"]', "requests: ['0', '1'] is not a string; set requests = \"...\""),
        ("[device]", "device: unknown key; use title, text, before, requests, [set] or [[case]]; for a"),
        ("set = 3", "a scene file needs one [set] table and one or two [[case]] tables"),
        ("case = 3", "a scene file needs one [set] table and one or two [[case]] tables"),
        ("case = []", "a scene file needs one [set] table and one or two [[case]] tables"),
        ("[[case]]\n[[case]]\n[[case]]", "a scene file needs one [set] table and one or two [[case]] tables"),
        ("[set]\nftl = {}", "[set]: ftl: the mapping is empty; add a setting, or omit the mapping"),
        ("[set]\ndevice.capacty = 1", "[set]: device.capacty: unknown setting; did you mean device.capacity?"),
        ("[set]\ndevice.capacity = 4096", "[set]: device.capacity: "),
        ("[set]\ndevice = { capacity = '1KiB' }", "[set]: device.capacity: 1KiB is not a multiple of the page size"),
        ("[set]\nnand.program = '10us,x'", "[set]: nand.program: "),
        ("[[case]]\n[[case]]\nftl = 'bats'", '[[case]] 2: ftl: "bats" is not one of page, bast, fast, faster, sbfast'),
        ("[[case]]\nftl.bast.log = 9", "[[case]] 1: ftl.bast.log: 9 log blocks, but only 8 of 17 blocks are left"),
        ("requests = '32'", "requests: request 1 (page 32) is invalid; use pages 0 to 31, or"),
        ("[set]\nnand.pages_per_block = 64", "(the small drive of ssdlab explain): device.op: 100% provides 1 block"),
        ("before = 'x'\nrequests = '0'", "before: x is not a request"),
        ("requests = '0'\n[set]\ndevice.capacity = '16MiB'", "at most 4096 can be drawn"),
    ],
)  # fmt: skip
def test_a_wrong_scene_file_is_refused_with_place_and_remedy(scene: str, fault: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(scene)
    message = refused(cli, "own.toml")
    assert message.startswith("ssdlab: own.toml: ") and fault in message and message.count("\n") == 1
    assert not list(tmp_path.glob("*.html"))


def test_a_scene_file_holds_settings_of_a_configuration(tmp_path: Path) -> None:
    """Settings of a case override common settings, which override the small drive; SBFAST gets matching sub-blocks."""
    (tmp_path / "own.toml").write_text(
        "requests = '0'\nset = { ftl = 'fast', seed = 7, nand.read = '30us' }\n"
        "[[case]]\nseed = 8\n[[case]]\nftl.sbfast.slb = 2\nnand.erase = '1ms'\n"
    )
    explanation = ssdlab.explain(tmp_path / "own.toml")
    fast, sbfast = (recording["drive"] for recording in explanation.recordings)
    assert explanation.scene.title == "FTL fast beside sbfast, step by step"
    assert (fast["seed"], sbfast["seed"]) == (8, 7)
    times = {"read_us": [30.0], "program_us": [200.0], "transfer_us_per_kib": 0.0, "copyback": False}
    assert (fast["times"], sbfast["times"]) == ({**times, "erase_us": 2000.0}, {**times, "erase_us": 1000.0})
    assert sbfast["ftl"]["log"]["scheme"] == {"name": "sbfast", "parameters": {"slb": "2", "sub_block": "2"}}
    # 32 pages are 8 blocks of 4; over-provisioning adds 8 blocks, and merges need one.
    assert (fast["logical_pages"], fast["blocks"], fast["filled"]) == (32, 17, 32)


def test_settings_override_the_small_drive() -> None:
    """The spare factor replaces the over-provisioning: a spare half of the flash equals 100 % over the capacity."""
    spare, op = (ssdlab.explain({"ftl": "fast", **more}, "0").recordings for more in ({"device.spare": "50%"}, {}))
    assert spare == op


@pytest.mark.parametrize("ftl", [name for name, _ in ssdlab._ssdlab.variants("ftl")])
def test_every_ftl_is_drawn_without_other_settings(ftl: str, cli: Cli, tmp_path: Path) -> None:
    other = "bast" if ftl == "fast" else "fast"
    for drive in ([f"ftl={ftl}"], [f"ftl={other}", "--beside", f"ftl={ftl}"]):
        cli("explain", "--set", *drive, "--requests", "0 4 8", "--out", "page.html")
        assert (tmp_path / "page.html").exists()
    run = {
        "ftl": ftl,
        "device.capacity": "16MiB",
        "device.op": "50%",
        "nand.pages_per_block": "64",
        "workload.requests": "9",
    }
    assert ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=run)).explain("0 4 8").recordings


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    explanation = ssdlab.explain("bast-locality")
    html = explanation._repr_html_()
    assert repr(explanation) == f"<ssdlab.Explanation: {explanation.scene.title}>"
    assert html.startswith("<iframe title=") and "&lt;!doctype html&gt;" in html


def test_the_ftl_of_a_run_is_explained_on_a_small_drive(small: ssdlab.Config) -> None:
    ftl = {"ftl": "fast", "ftl.fast.log": "4"}
    result = ssdlab.simulate(small.with_overrides({**ftl, "workload.requests": 500})).explain("0 4 8 12 0 4")
    alone = ssdlab.explain(ftl, "0")
    assert result.recordings[0]["drive"] == alone.recordings[0]["drive"]
    assert result.scene.requests == "0 4 8 12 0 4" and "<iframe" in result._repr_html_()
    with pytest.raises(ConfigError, match="no requests; enter"):
        ssdlab.simulate(small).explain("")
    for wrong in ([0, 1], ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096])):
        with pytest.raises(ConfigError, match=r"requests: .* is not a string; pass a string, such as '0 4 8-11 r5'"):
            ssdlab.simulate(small).explain(wrong)  # type: ignore[arg-type]


def test_settings_are_explained_on_the_commands_drive(cli: Cli) -> None:
    of_command = json.loads(cli("explain", "--set", "ftl=fast", "--requests", "0 4", "--json").stdout)["result"]
    assert ssdlab.explain({"ftl": "fast"}, "0 4").to_dict() == of_command
    assert ssdlab.explain([{"ftl": "fast"}, {"ftl": "bast"}], "0 4").recordings[0] == of_command["recordings"][0]


def test_fast_captures_the_last_of_three_streams_completely() -> None:
    """Of the other streams, FAST captures the pages before another stream takes the sequential log block."""
    explanation = ssdlab.explain("fast-thrashing")
    fast, _ = (
        [step["lpn"] for step in recording["steps"] if step["step"] == "captured"]
        for recording in explanation.recordings
    )
    again = fast.index(0, 1)
    assert fast[:again] == [0, 1, 12, *range(24, 36)]
    assert fast[again:] == [0, 12, 24, 25, 26]
    assert "captured as a whole" in explanation.scene.text
