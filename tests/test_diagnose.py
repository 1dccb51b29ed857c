"""Diagnoses: findings, their texts and what-ifs."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import ROOT, SMALL_SETS, Cli, notes
from ssdlab.model.diagnosis import Diagnosis, WhatIf
from ssdlab.view.pages import diagnosis as words


@pytest.fixture
def in_time(small: ssdlab.Config) -> ssdlab.Config:
    """The small device with many requests in flight."""
    return small.with_overrides({"time": "event", "workload.requests": 3000, "workload.reads": "50%"})


def test_parts_add_up_to_the_response_times(in_time: ssdlab.Config) -> None:
    result = ssdlab.simulate(in_time)
    response = result.diagnose().response
    assert response is not None
    for op in ("all", "read", "write"):
        assert response[op]["all"]["requests"] == result.summary["latency"][op]["count"]
        for group in ("all", "p50", "p99", "p99_9"):
            parts = response[op][group]
            assert sum(parts["parts_ns"].values()) == parts["sum_ns"] > 0
            assert set(parts["parts_ns"]) <= set(words.PARTS)
    assert ssdlab.simulate(in_time, diagnose=False).summary["drive"]["response"] is None


def test_findings_are_in_words(in_time: ssdlab.Config) -> None:
    diagnosis = ssdlab.simulate(in_time).diagnose()
    assert diagnosis.findings[0]["about"] == "throughput"
    for finding in diagnosis.findings:
        headline, evidence = words.words(finding)
        assert headline and evidence and "nan" not in headline + evidence
        assert set(finding["what_ifs"]) <= set(words.WHAT_IFS)
    html = diagnosis.report_html()
    assert all(part in html for part in ("Findings", "What requests wait for", "own flash operations"))


def test_think_time_limits_throughput_and_less_of_it_is_tried(in_time: ssdlab.Config) -> None:
    """Four requests at a time with 50 ms of think time are at most 80 per second, whatever they wait for."""
    sets = {"host.replay.closed.think": "50ms", "host.replay.closed.queue_depth": 4, "workload.reads": "0%"}
    diagnosis = ssdlab.diagnose(in_time.with_overrides(sets))
    first = diagnosis.findings[0]
    assert (first["name"], first["what_ifs"]) == ("think_time", ["no_think", "depth"])
    think_ns, mean_ns = 50e6, diagnosis.summary["latency"]["all"]["mean_ns"]
    assert first["share"] == pytest.approx(think_ns / (think_ns + mean_ns))
    headline, _ = words.words(first)
    share = f"{100 * first['share']:.0f} %"
    assert headline.startswith("throughput is limited by host think time")
    assert headline.endswith(f"host think time: {share} of the time, 50.0 ms after each request")
    faster = [what_if["after"]["iops"] / what_if["before"]["iops"] for what_if in diagnosis.to_dict()["what_ifs"][:2]]
    assert diagnosis.summary["time"]["iops"] <= 80 and min(faster) > 1.5


def test_merges_on_a_few_dies_are_found_and_harmful_changes_reported(in_time: ssdlab.Config) -> None:
    in_time = in_time.with_overrides({"ftl": "fast", "workload.reads": "0%"})
    result = ssdlab.simulate(in_time)
    first = result.diagnose().findings[0]
    assert first["name"] == "merges" and "merges" in words.words(first)[0]
    slow = next(finding for finding in result.diagnose().findings if finding["about"] == "slow_writes")
    assert words.words(slow)[0].endswith("is due to GC and merges")
    iops = result.summary["time"]["iops"]
    for factor, is_worse in ((0.5, True), (1.5, False)):
        changed = {**result.summary, "time": {**result.summary["time"], "iops": factor * iops}}
        diagnosis = Diagnosis(
            source=result.source,
            configuration=result.config.to_dict(),
            summary=result.summary,
            partial=False,
            what_ifs=[WhatIf("spare", {"device.op": "14%"}, changed)],
        )
        assert ("slower: double the over-provisioning (" in diagnosis.report_html()) == is_worse


def _finding(about: str, name: str, what_ifs: list[str]) -> dict[str, Any]:
    return {"about": about, "name": name, "share": 0.5, "evidence": {}, "what_ifs": what_ifs}


def test_causes_and_changes_are_ranked_by_their_gain(in_time: ssdlab.Config) -> None:
    """A larger buffer raises the rate by 20 %. Faster cells raise it by 80 %, but worsen p99."""
    result = ssdlab.simulate(in_time)
    causes = [
        _finding("throughput", "full_buffer", ["buffer"]),
        _finding("throughput", "host_writes", ["slots", "dies"]),
    ]
    slow = _finding("slow_writes", "host_writes", ["dies", "slots", "buffer"])
    summary = {**result.summary, "diagnosis": [*causes, slow, _finding("input", "too_short", [])]}
    iops, p99_ns = summary["time"]["iops"], summary["latency"]["write"]["p99_ns"]

    def changed(name: str, rate: float, p99: float) -> WhatIf:
        writes = {**summary["latency"]["write"], "p99_ns": p99 * p99_ns}
        time, latency = {**summary["time"], "iops": rate * iops}, {**summary["latency"], "write": writes}
        return WhatIf(name, {}, {**summary, "time": time, "latency": latency})

    def ranked(what_ifs: list[WhatIf]) -> list[tuple[str, list[str]]]:
        configuration = result.config.to_dict()
        diagnosis = Diagnosis(
            source=result.source, configuration=configuration, summary=summary, partial=False, what_ifs=what_ifs
        )
        assert diagnosis.to_dict()["findings"] == diagnosis.findings
        return [(finding["name"], finding["what_ifs"]) for finding in diagnosis.findings]

    as_found = [(finding["name"], finding["what_ifs"]) for finding in summary["diagnosis"]]
    assert ranked([]) == as_found
    tried = [changed("buffer", 1.2, 0.5), changed("dies", 1.8, 1.1), WhatIf("slots", {}, None, "impossible")]
    assert ranked(tried) == [
        ("host_writes", ["dies", "slots"]),
        ("full_buffer", ["buffer"]),
        ("host_writes", ["buffer", "slots", "dies"]),
        ("too_short", []),
    ]


def test_small_writes_to_large_pages_do_not_blame_the_buffer() -> None:
    """A buffer of a few large pages fills up, because each write of 512 B reads and programs 64 KiB."""
    sets = {
        "nand.page_size": "64KiB", "device.capacity": "1GiB", "time": "event", "precondition.overwrite": "none",
        "workload.size": "512B", "workload.reads": "0%", "workload.requests": 3_000,
    }  # fmt: skip
    drive = {"device.op": "7%", "device.reserve": "extra", "nand.pages_per_block": 512}
    diagnosis = ssdlab.diagnose(ssdlab.Config("tlc-nvme", overrides={**drive, **sets}))
    causes = [finding for finding in diagnosis.findings if finding["about"] == "throughput"]
    gains = {
        what_if["name"]: what_if["after"]["iops"] / what_if["before"]["iops"]
        for what_if in diagnosis.to_dict()["what_ifs"]
    }
    most = max((name for cause in causes for name in cause["what_ifs"]), key=lambda name: gains[name])
    assert "full_buffer" in {cause["name"] for cause in causes[1:]}
    assert causes[0]["what_ifs"][0] == most != "buffer"
    assert (
        "buffer"
        not in next(finding for finding in diagnosis.findings if finding["about"] == "slow_writes")["what_ifs"][0]
    )


def test_causes_of_write_amplification_are_named_correctly() -> None:
    """FASTer's copies within the log do not count as merges, and a partial write of an empty page reads nothing."""
    drive = {"device.capacity": "4MiB", "nand.page_size": "4KiB", "nand.pages_per_block": 16, "device.op": "50%"}
    faster = {"ftl": "faster", "ftl.faster.log": 30, "ftl.faster.sw": 0, "precondition.overwrite": "none"}
    log = ssdlab.Config("tlc-chip", overrides={**drive, **faster})
    pages = [1000 - n // 4 if n % 4 == 0 else n % 7 for n in range(700)]
    offsets = [4096 * n for n in pages]
    result = ssdlab.simulate(log, ssdlab.Trace.from_columns(op=["W"] * 700, offset=offsets, bytes=[4096] * 700))
    assert result.summary["log"]["merges"]["full"]["count"] == 0
    wording = dict(words.words(finding) for finding in result.diagnose().findings)
    [share] = [line for line in wording if "copies within the log" in line]
    assert not any("merges" in line for line in wording) and "on their second chance" in wording[share]
    empty = ssdlab.Config("tlc-chip", overrides={**drive, "precondition.fill": "0%", "precondition.overwrite": "none"})
    for times, read in ((1, "0"), (2, "100")):
        offsets = [4096 * n for n in range(100)] * times
        parts = ssdlab.Trace.from_columns(op=["W"] * len(offsets), offset=offsets, bytes=[512] * len(offsets))
        wording = dict(words.words(finding) for finding in ssdlab.simulate(empty, parts).diagnose().findings)
        evidence = wording["100 % of host page writes are partial"]
        assert evidence.startswith(f"{100 * times} partial writes to pages of 4.00 KiB; {read} pages were read before")


def test_concentrated_writes_have_a_share() -> None:
    evidence = {
        "written_share": 0.0021, "valid_share_of_victims": 0.5, "valid_share_evenly": 0.4, "write_amplification": 2.0,
        "write_amplification_apart": 1.0,
    }  # fmt: skip
    finding = {
        "about": "write_amplification", "name": "hot_with_cold", "share": 0.47, "evidence": evidence,
        "what_ifs": ["placement"],
    }  # fmt: skip
    wording = words.words(finding)[1]
    assert "as if they went uniformly to 0.21 % of the pages" in wording
    assert wording.endswith("1.000; use --set ftl.page.survivors=own and a victim policy that considers block age")
    # Separation is not advised if garbage collection already writes to its own open block.
    assert words.words({**finding, "what_ifs": []})[1].endswith("1.000; use a victim policy that considers block age")


@pytest.mark.parametrize(
    ("rate", "headline", "evidence"),
    [
        (
            50_000,
            "GC could use idle time, but never does",
            "while requests were served, or within 10.0 ms afterwards",
        ),
        (5, "nearly all GC runs in idle time", "ran after 10.0 ms without requests"),
    ],
)
def test_idle_collection_is_reported(rate: int, headline: str, evidence: str) -> None:
    arrival = {"workload.arrival": "fixed", "workload.arrival.fixed.rate": f"{rate}/s", "host.replay": "open"}
    idle = {"time": "event", "drive.collect": "idle", "drive.collect.idle.after": "10ms"}
    drive = {"device.capacity": "64MiB", "device.op": "50%", "device.reserve": "extra", "nand.pages_per_block": 64}
    result = ssdlab.simulate(
        ssdlab.Config("tlc-nvme", overrides={**drive, **idle, **arrival, "workload.requests": 3_000})
    ).diagnose()
    told = [words.words(finding) for finding in result.findings]
    assert any(line.startswith(headline) and evidence in why for line, why in told), told


def test_the_document_lists_exactly_the_findings() -> None:
    text = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (`\w+`(?:, `\w+`)*|a part, below) \|", text, re.MULTILINE)
    told = {(about, name) for subjects, names in rows for about in re.findall(r"`(\w+)`", subjects)
            for name in re.findall(r"`(\w+)`", names)}  # fmt: skip
    assert told == {("throughput", name) for name in words.THROUGHPUT} | {*words.OTHERS}
    assert all(f"`{name}`" in text for name in (*words.PARTS, *words.WHAT_IFS))


def test_a_run_ends_with_the_largest_findings(cli: Cli) -> None:
    arguments = [*SMALL_SETS, "--set", "workload.requests=2000"]
    *last, _, more = cli("run", *arguments, "--set", "time=event").stdout.splitlines()[-5:]
    assert more.startswith("--all shows all tables")
    assert [line[:3] for line in last] == ["1. ", "2. ", "3. "]


@pytest.mark.parametrize("time", ["event", "serial", "count"])
def test_a_page_begins_with_findings_and_evidence(time: str, cli: Cli, tmp_path: Path) -> None:
    arguments = [*SMALL_SETS, "--set", "workload.requests=2000", "--set", f"time={time}"]
    output = " ".join(cli("run", *arguments, "--out", "out").stdout.split())
    saved = json.loads((tmp_path / "out" / "result.json").read_text())["result"]["diagnosis"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert saved
    for number, finding in enumerate(saved, 1):
        headline, evidence = words.words(finding)
        assert (f" {number}. {headline}" in output) == (number <= 3)
        assert page.index("<h2>Summary<") < page.index(escape(headline)) < page.index(escape(evidence))


def test_a_saved_run_is_diagnosed_as_it_was(cli: Cli, tmp_path: Path) -> None:
    arguments = [*SMALL_SETS, "--set", "time=event", "--set", "workload.requests=2000"]
    cli("run", *arguments, "--out", "out")
    saved = json.loads(cli("diagnose", "out/result.json", "--json").stdout)
    fresh = json.loads(cli("diagnose", *arguments, "--no-what-ifs", "--json").stdout)
    assert saved["result"] == fresh["result"] and saved["kind"] == "diagnosis"
    tried = json.loads(cli("diagnose", *arguments, "--json").stdout)["result"]
    # What-ifs only change the order, here of the changes of a finding.
    by_name = [{**finding, "what_ifs": sorted(finding["what_ifs"])} for finding in tried["findings"]]
    assert by_name == [{**finding, "what_ifs": sorted(finding["what_ifs"])} for finding in fresh["result"]["findings"]]
    names = [what_if["name"] for what_if in tried["what_ifs"]]
    assert names and len(names) == len(set(names))
    assert all(what_if["after"]["iops"] > 0 for what_if in tried["what_ifs"])


def test_skipped_lines_are_mentioned(cli: Cli, tmp_path: Path) -> None:
    """The note appears for a run and for its saved result."""
    trace = tmp_path / "two.csv"
    trace.write_text("0,W,0,4096,1\n1,W,0,4096,2\nnothing\n1,R,0,4096,3\n")
    done = cli("run", trace, "--skip-bad", *SMALL_SETS, "--all", "--out", tmp_path / "run")
    about = ("only device 0 is replayed", "bad lines: 1 record", "first malformed line")
    lines = [line for line in notes(done.stdout) if line.startswith(about)]
    assert len(lines) == len(about)
    for given in ([trace, "--skip-bad", *SMALL_SETS, "--no-what-ifs"], [tmp_path / "run"]):
        assert notes(cli("diagnose", *given, "--all").stdout) == lines


def test_a_what_if_equals_a_run_with_its_settings(in_time: ssdlab.Config) -> None:
    diagnosis = ssdlab.diagnose(in_time)
    assert diagnosis.what_ifs
    html = diagnosis.report_html()
    for one in diagnosis.what_ifs:
        assert one.settings == in_time.what_if(one.name) and one.settings
        assert all(f"{key}={value}" in html for key, value in one.settings.items())
        assert one.summary == ssdlab.simulate(in_time.with_overrides(one.settings)).summary
    assert [what_if["settings"] for what_if in diagnosis.to_dict()["what_ifs"]] == [
        what_if.settings for what_if in diagnosis.what_ifs
    ]


def test_a_what_if_that_replaces_a_variant_is_complete(in_time: ssdlab.Config) -> None:
    config = in_time.with_overrides({"ftl.page.map.dftl.cmt": 64})
    change = config.what_if("map")
    assert change == {"ftl.page.map": "ram"}
    summary = ssdlab.simulate(config.with_overrides(change)).summary
    assert summary == ssdlab.simulate(config.changed(change)).summary


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("{", [], "is not a result of ssdlab; pass the --out directory"),
        ("[1]", [], "is not a result of ssdlab; pass the --out directory"),
        ('{"kind": "comparison", "version": {}, "result": {}}', [], "kind: is 'comparison', not the result of a run"),
        (
            '{"kind": "result", "version": {"ssdlab": "0.0.1", "shape": 0}, "result": {}}',
            [],
            "was saved by ssdlab 0.0.1, which ",
        ),
        ("{}", ["--set", "seed=2"], "omit the settings"),
    ],
)
def test_other_files_are_refused(content: str, arguments: list[str], message: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content, encoding="utf-8")
    done = cli("diagnose", "run.json", *arguments, check=False)
    assert done.returncode == 2 and message in done.stderr and done.stderr.startswith("ssdlab: run.json: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_diagnosis_prints_its_findings(small: ssdlab.Config) -> None:
    diagnosis = ssdlab.simulate(small).diagnose()
    assert repr(diagnosis) == f"<ssdlab.Diagnosis of uniform workload, {len(ssdlab.generate(small)):,} requests: " + (
        ", ".join(finding["name"] for finding in diagnosis.findings) + ">"
    )
    same = ssdlab.compare({"one": small})
    assert repr(same) == "<ssdlab.Comparison of one: 1 seed each>"


def test_a_folder_without_a_run_is_refused_with_its_reader(cli: Cli, tmp_path: Path) -> None:
    cli("diagnose", *SMALL_SETS, "--no-what-ifs", "--out", "found")
    done = cli("diagnose", "found", check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("ssdlab: found: has no result.json; use the --out folder") and "view" in done.stderr


def test_trims_alone_have_no_table_of_parts(in_time: ssdlab.Config) -> None:
    trims = ssdlab.Trace.from_columns(time_ns=[0, 10**6], op=["trim", "trim"], offset=[0, 4096], bytes=[4096, 4096])
    result = ssdlab.simulate(in_time.with_overrides({"drive.command": "5us"}), trims)
    assert result.summary["latency"]["trim"]["mean_ns"] >= 5000
    assert "Parts of response times" not in result.diagnose().report_html() + result.report_html()
    assert "No read or write has a response time above 0." in result.report_html()


def test_an_impossible_what_if_names_no_hidden_place() -> None:
    sets = {
        "device.capacity": "64MiB", "device.reserve": "extra", "nand.pages_per_block": 16, "time": "event",
        "workload.pattern": "uniform",
        "workload.reads": "100%", "workload.requests": 1000, "block.scheduler": "none", "drive.protocol": "sata",
        "host.replay.closed.queue_depth": 128, "nand.channels": 8, "drive.command": "2us",
    }  # fmt: skip
    diagnosis = ssdlab.diagnose(ssdlab.Config("tlc-nvme", overrides=sets))
    refused = {what_if.name: what_if.why_not for what_if in diagnosis.what_ifs if what_if.summary is None}
    assert refused["no_block_layer"].startswith("host.replay.closed.queue_depth: ")
    assert refused["slots"].startswith("drive.protocol.sata.depth: ")


def test_pages_left_in_the_write_buffer_are_reported(in_time: ssdlab.Config) -> None:
    def notes(size: str) -> str:
        sets = {"workload.reads": "0%", "workload.requests": 1000, "drive.buffer.eager.size": size}
        return " ".join(ssdlab.simulate(in_time.with_overrides(sets)).envelope()["notes"])

    assert "pages written were in the write buffer at the end: write amplification is too low" in notes("8MiB")
    assert "write buffer" not in notes("256KiB")


def test_programs_may_be_fewer_than_writes_with_a_buffer(in_time: ssdlab.Config) -> None:
    """Most of these programs may still be copies."""
    sets = {"workload.reads": "0%", "precondition.overwrite": "steady", "drive.buffer": "watermark"}
    for size, amplified in (("10MiB", False), ("64KiB", True)):
        result = ssdlab.simulate(in_time.with_overrides({**sets, "drive.buffer.watermark.size": size}))
        wording = dict(words.words(finding) for finding in result.diagnose().findings)
        [evidence] = [said for line, said in wording.items() if line.endswith("GC copies")]
        assert (result.summary["write_amplification"] > 1.0) == amplified
        assert ("still in the write buffer" in evidence) != amplified


def test_what_ifs_of_an_unsettled_drive_are_marked(in_time: ssdlab.Config) -> None:
    for requests, settled in ((3000, False), (60_000, True)):
        diagnosis = ssdlab.diagnose(in_time.with_overrides({"workload.requests": requests}))
        assert ("timing of GC" in diagnosis.report_html()) != settled
