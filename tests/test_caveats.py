"""Notes of studies, which sum up the notes of their runs."""

from pathlib import Path
from typing import Any

import ssdlab
from conftest import ROOT
from ssdlab.model.remarks import Remark, over_runs, remarks_on

ROUNDED = {"device.capacity": "256MiB", "workload.requests": 10_000, "time": "count"}
FLASH = {"device.op": "7%", "device.reserve": "extra", "nand.pages_per_block": 512}
DRIVE = ssdlab.Config("tlc-nvme", overrides={**FLASH, **ROUNDED})
PGBENCH = ROOT / "traces" / "pgbench.csv.zst"


def test_studies_repeat_the_notes_of_their_runs(tmp_path: Path) -> None:
    """Notes on points that give the same drive, on runs with unrequested spare space, and on unsettled drives."""
    axes = {"device.op": ["7%", "14%", "21%", "60%"], "ftl.page.gc": ["greedy", "fifo"]}
    study = ssdlab.sweep(axes, DRIVE, out=tmp_path)
    assert study.table["device.op_without_reserve"].to_pylist() == [0.125] * 2 + [0.25] * 4 + [0.625] * 2
    same, spare, unsettled = study.caveats
    assert same == "device.op=14%, 21% give the same drive, because drives consist of whole blocks"
    assert spare.startswith("6 of 8 runs: device.op is rounded up to whole blocks per plane")
    assert spare.endswith("(7%: 12.50 %, 14%: 25.00 %, 21%: 25.00 %)")
    assert unsettled.startswith("8 of 8 runs: the drive has not settled") and "for steady state" in unsettled
    enough = int(unsettled.rpartition("--set workload.requests=")[2])
    longer = DRIVE.with_overrides({"workload.requests": enough})
    assert not [told for told in ssdlab.sweep(axes, longer).caveats if "settled" in told]
    again = ssdlab.open_study(tmp_path)
    outcomes = ["write_amplification", "device.physical_bytes"]
    for shown in (again, again.effects(outcomes[0]), again.curves(outcomes[0]), again.pareto(outcomes)):
        assert {same, spare, unsettled} <= {*shown.envelope()["notes"]}
        assert same in shown.report_html()


def test_equal_drives_under_one_ftl_only_name_that_ftl() -> None:
    """Page mapping keeps blocks in every plane, FAST in the whole drive, so rounding differs."""
    axes = {"device.op": ["50%", "100%"], "ftl": ["page", "fast"]}
    study = ssdlab.sweep(axes, DRIVE.with_overrides({"device.capacity": "32MiB", "workload.requests": 10}))
    assert len({*study.table["device.physical_bytes"].to_pylist()}) == 3
    notes = [caveat for caveat in study.caveats if "same drive" in caveat]
    assert notes == ["device.op=50%, 100% give the same drive with ftl=page, because drives consist of whole blocks"]


def test_a_phase_without_writes_after_a_warm_up_counts_as_settled() -> None:
    config = DRIVE.with_overrides({"workload.requests": 2_000, "host.warmup": 2_000})
    nothing = ssdlab.simulate(config)
    assert nothing.page().remarks[0].startswith("no request was measured") and nothing._repr_html_()
    reads = ssdlab.simulate(config.with_overrides({"host.warmup": 1_995, "workload.reads": "99.9%"}))
    assert reads.summary["host"]["read_requests"] == 5 and reads.diagnose().report_html()
    assert not [one for one in (*nothing.page().remarks, *reads.page().remarks) if "settled" in one]


def test_merged_requests_do_not_count_as_the_end_of_a_workload() -> None:
    """For a generated workload, the note advises more requests, although merging sends fewer requests to the drive."""
    sets = {
        "time": "event", "workload.pattern": "sequential", "workload.requests": 2_000,
        "block.scheduler": "mq-deadline",
    }  # fmt: skip
    result = ssdlab.simulate(DRIVE.with_overrides(sets))
    assert result.summary["host"]["write_requests"] + result.summary["host"]["read_requests"] < 2_000
    [told] = [remark.requests for remark in remarks_on(result) if "for steady state" in remark.text]
    assert told is not None and told > 2_000


def alone(values: dict[str, Any], base: dict[str, Any], trace: Path) -> list[Remark]:
    """Notes on a single run."""
    preset = values.pop("preset", None)
    result = ssdlab.simulate(ssdlab.Config(preset, overrides={**base, **values}), trace)
    assert [remark.text for remark in remarks_on(result)] == result.page().remarks
    return remarks_on(result)


def test_notes_of_studies_over_traces_and_presets_equal_those_of_runs() -> None:
    """The trace sizes a drive without a given capacity, and the preset may change the spare space."""
    questions: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
        ({"time": "count", "host.fit": "compact"}, {"preset": ["tlc-chip", "sata-mlc"]}),
        ({"time": "count"}, {"device.op": ["7%", "20%"], "seed": ["1", "2"]}),
        ({"time": "count", "host.fit": "wrap"}, {"device.capacity": ["256MiB", "2GiB"]}),
    ]
    for base, axes in questions:
        study = ssdlab.sweep(axes, base, PGBENCH)
        assert study.finished == len(study.points) and not study.failures
        told = over_runs([alone(dict(point.values), base, PGBENCH) for point in study.points])
        sized = [caveat for caveat in study.caveats if caveat.startswith("Scale model of the nominal ")]
        assert told and list(study.caveats) == [*sized, *told]
        assert (
            [note[: len(sized[0])] for note in study.caveats_by_trace[:1]] == sized
            if base == {"time": "count"}
            else bool(sized) == ("preset" not in axes)
        )


def test_a_settled_study_of_requested_drives_has_no_notes() -> None:
    settled = {"device.op": "60%", "device.capacity": "64MiB", "time": "count", "workload.requests": 200_000}
    study = ssdlab.sweep(
        {"ftl.page.gc": ["greedy", "fifo"]}, DRIVE.with_overrides({**settled, "nand.pages_per_block": 32})
    )
    assert study.caveats == () and study.page().remarks == []


def test_a_drive_is_not_steady_before_its_flash_was_full() -> None:
    """With five times as much flash as capacity, collection starts late and in bursts."""
    written = {"workload.pattern": "uniform", "workload.reads": "0%", "time": "count"}
    asked = {**written, "device.capacity": "64MiB", "workload.requests": 200_000}
    result = ssdlab.simulate(ssdlab.Config("tlc-nvme", overrides={**FLASH, **asked}))
    before = result.summary["precondition"]
    assert before["flash_pages_programmed"] > before["host_pages_written"] and before["stable"] is False
    assert any("preconditioning ended (after writing 25.0 times" in remark.text for remark in remarks_on(result))
    wide = {**written, "device.capacity": "128MiB", "device.op": "150%", "workload.requests": 400_000}
    result = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=wide))
    before = result.summary["precondition"]
    assert before["stable"] and abs(before["write_amplification"] / result.summary["write_amplification"] - 1) < 0.01


def test_a_drive_of_few_blocks_names_a_larger_one_that_settles(tmp_path: Path) -> None:
    """For a drive of 4 GiB, the note suggests no smaller drive; later writes do not count as preconditioning."""
    blocks = {"nand.dies": 2, "nand.planes": 2, "nand.pages_per_block": 1152, "device.reserve": "extra"}
    asked = {**blocks, "device.capacity": "4GiB", "workload.requests": 1000}
    config, saved = ssdlab.Config("tlc-nvme", overrides=asked), tmp_path / "4gib.drive"
    written = ssdlab.generate(ssdlab.Config(overrides={"workload.requests": 500_000, "workload.reads": "0%"}))
    for state in (None, saved):
        result = ssdlab.simulate(config, written, state=state, save_state=None if state else saved)
        note = next(remark.text for remark in remarks_on(result) if "preconditioning ended" in remark.text)
        assert note.startswith(
            "write amplification was not steady when preconditioning ended (after writing 18.0 times"
        )
        # An existing drive keeps its size.
        remedy = "" if state else "; use --set device.capacity=8GiB"
        assert note.endswith(f"every garbage collection changes write amplification{remedy}")
    larger = ssdlab.simulate(ssdlab.Config("tlc-nvme", overrides={**asked, "device.capacity": "8GiB"}))
    assert larger.summary["precondition"]["stable"]


def test_few_of_many_cases_and_drives_are_listed() -> None:
    remarks_by_case = [[Remark(f"told of {one}", "told", f"case {one}")] for one in range(6)]
    assert over_runs([*remarks_by_case, [], [Remark("good", None)]]) == [
        "6 of 8 runs: told (case 0, case 1, case 2, case 3, 2 more)"
    ]
    study = ssdlab.sweep({"device.op": "1%..60%:40"}, DRIVE)
    same = [told for told in study.caveats if "give the same drive" in told]
    assert len(same) == 4 and same[3].endswith("more cases, different values give the same drive")


def test_workload_settings_are_reported_as_unused_with_a_trace(tmp_path: Path) -> None:
    """Not in a file, which may also be for generated runs, and not if they generated the trace."""
    workload = {"workload.requests": 500, "workload.reads": "0%"}
    tiny = ssdlab.Config("tlc-chip", overrides={"device.capacity": "8MiB", "nand.pages_per_block": 32})
    made = tiny.with_overrides(workload)
    trace = ssdlab.generate(made)
    trace.save(tmp_path / "made.csv")

    def said(study: ssdlab.Result | ssdlab.Study) -> list[str]:
        remarks = study.caveats if isinstance(study, ssdlab.Study) else study.page().remarks
        return [remark for remark in remarks if "ignoring" in remark]

    idle = "ignoring workload.reads, workload.requests because a trace is replayed"
    assert said(ssdlab.simulate(made, tmp_path / "made.csv")) == [idle]
    study = ssdlab.sweep({"workload.reads": ["0%", "50%"]}, tiny, tmp_path / "made.csv")
    assert said(study) == ["2 of 2 runs: ignoring workload.reads because a trace is replayed"]
    (tmp_path / "whole.toml").write_text(made.to_toml(), encoding="utf-8")
    whole = ssdlab.Config(file=tmp_path / "whole.toml")
    for config, replayed in ((made, trace), (whole, tmp_path / "made.csv"), (made, None)):
        assert not said(ssdlab.simulate(config, replayed))


def test_unused_settings_are_reported(tmp_path: Path) -> None:
    """Runs and studies report unused settings, except settings in a file."""
    idle = "ignoring cache.size because cache.policy is none"
    tiny = {"device.capacity": "8MiB", "nand.pages_per_block": 32, "workload.requests": 500}

    def said(study: ssdlab.Study) -> list[str]:
        return [caveat for caveat in study.caveats if "ignoring" in caveat]

    run = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**tiny, "cache.size": "1MiB"}))
    assert idle in run.page().remarks
    sizes = ["1MiB", "2MiB"]
    assert said(ssdlab.sweep({"cache.size": sizes}, ssdlab.Config("tlc-chip", overrides=tiny))) == [
        f"2 of 2 runs: {idle}"
    ]
    both = {"cache.size": sizes, "cache.policy": ["none", "lru"]}
    assert said(ssdlab.sweep(both, ssdlab.Config("tlc-chip", overrides=tiny))) == [f"2 of 4 runs: {idle}"]
    times = {"time": "count", "drive.backlog": "1"}
    swept = ssdlab.sweep({"seed": ["1"]}, ssdlab.Config("tlc-chip", overrides={**tiny, **times}))
    assert said(swept) == ["1 of 1 run: ignoring drive.backlog because time is count"]
    # A drive with a single channel is not timed by default, so it has no drive queue.
    channels = {"nand.channels": ["1", "4"], "drive.backlog": ["1"]}
    swept = ssdlab.sweep(channels, ssdlab.Config("tlc-chip", overrides={**tiny, "device.capacity": "64MiB"}))
    its = ssdlab.Config("tlc-chip")["time"]
    assert said(swept) == [f"1 of 2 runs: ignoring drive.backlog because time is {its}"]
    run.save(tmp_path)
    whole = tmp_path / "whole.toml"
    whole.write_text(run.config.to_toml(), encoding="utf-8")
    assert not [remark for remark in ssdlab.simulate(ssdlab.Config(file=whole)).page().remarks if "ignoring" in remark]
    (tmp_path / "part.toml").write_text("[cache]\nsize = '1MiB'\n", encoding="utf-8")
    part = ssdlab.Config("tlc-chip", file=tmp_path / "part.toml", overrides=tiny)
    assert idle in ssdlab.simulate(part).page().remarks
