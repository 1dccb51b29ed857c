"""What studies say of their runs: what the page of each run would, summed up."""

from pathlib import Path
from typing import Any

import ssdlab
from conftest import ROOT
from ssdlab.model.remarks import Remark, over_runs, remarks_on

ROUNDED = {"device.capacity": "256MiB", "workload.requests": 10_000, "time": "count"}
PGBENCH = ROOT / "traces" / "pgbench.csv.zst"


def test_studies_say_what_their_runs_would(tmp_path: Path) -> None:
    """Which points are the same drive, and how many runs have another space than asked for, or have not settled."""
    axes = {"device.op": ["7%", "14%", "21%", "60%"], "ftl.page.gc": ["greedy", "fifo"]}
    found = ssdlab.sweep(axes, ROUNDED, out=tmp_path)
    assert found.table["device.op_without_reserve"].to_pylist() == [0.125] * 2 + [0.25] * 4 + [0.625] * 2
    same, spare, unsettled = found.caveats
    assert same == "device.op=14%, 21% give the same drive, as blocks are whole"
    assert spare.startswith("6 of 8 runs: device.op is rounded up to whole blocks per plane")
    assert spare.endswith("(7%: 12.50 %, 14%: 25.00 %, 21%: 25.00 %)")
    assert unsettled.startswith("8 of 8 runs: the drive has not settled") and "for steady state" in unsettled
    enough = int(unsettled.rpartition("--set workload.requests=")[2])
    assert not [
        told for told in ssdlab.sweep(axes, {**ROUNDED, "workload.requests": enough}).caveats if "settled" in told
    ]
    again = ssdlab.open_study(tmp_path)
    outcomes = ["write_amplification", "device.physical_bytes"]
    for shown in (again, again.effects(outcomes[0]), again.curves(outcomes[0]), again.pareto(outcomes)):
        assert {same, spare, unsettled} <= {*shown.envelope()["notes"]}
        assert same in shown.report_html()


def test_values_that_give_the_same_drive_with_one_ftl_alone_say_with_which() -> None:
    """Page mapping keeps blocks in every plane, FAST some of the whole drive, so that rounding differs."""
    axes = {"device.op": ["50%", "100%"], "ftl": ["page", "fast"]}
    found = ssdlab.sweep(axes, {"device.capacity": "32MiB", "workload.requests": 10})
    assert len({*found.table["device.physical_bytes"].to_pylist()}) == 3
    told = [one for one in found.caveats if "same drive" in one]
    assert told == ["device.op=50%, 100% give the same drive with ftl=page, as blocks are whole"]


def test_a_phase_that_writes_nothing_behind_a_warm_up_that_did_has_not_to_settle() -> None:
    config = ssdlab.Config(overrides={**ROUNDED, "workload.requests": 2_000, "host.warmup": 2_000})
    nothing = ssdlab.simulate(config)
    assert nothing.page().remarks[0].startswith("no request was measured") and nothing._repr_html_()
    reads = ssdlab.simulate(config.with_overrides({"host.warmup": 1_995, "workload.reads": "99.9%"}))
    assert reads.summary["host"]["read_requests"] == 5 and reads.diagnose().report_html()
    assert not [one for one in (*nothing.page().remarks, *reads.page().remarks) if "settled" in one]


def test_a_block_layer_that_merges_requests_does_not_end_their_workload() -> None:
    """A generated workload goes on: more of its requests are told, though fewer reach the drive than it made."""
    sets = {
        **ROUNDED, "time": "event", "workload.pattern": "sequential", "workload.requests": 2_000,
        "block.scheduler": "mq-deadline",
    }  # fmt: skip
    result = ssdlab.simulate(ssdlab.Config(overrides=sets))
    assert result.summary["host"]["write_requests"] + result.summary["host"]["read_requests"] < 2_000
    [told] = [one.requests for one in remarks_on(result) if "for steady state" in one.text]
    assert told is not None and told > 2_000


def alone(values: dict[str, Any], base: dict[str, Any], trace: Path) -> list[Remark]:
    """Remarks on a run by itself."""
    preset = values.pop("preset", None)
    result = ssdlab.simulate(ssdlab.Config(preset, overrides={**base, **values}), trace)
    assert [one.text for one in remarks_on(result)] == result.page().remarks
    return remarks_on(result)


def test_remarks_are_those_of_the_runs_where_traces_and_presets_decide() -> None:
    """The trace sizes a drive whose capacity nobody has said, and the preset may say another spare space."""
    questions: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
        ({"time": "count", "host.fit": "compact"}, {"preset": ["tlc-chip", "sata-mlc"]}),
        ({"time": "count"}, {"device.op": ["7%", "20%"], "seed": ["1", "2"]}),
        ({"time": "count", "host.fit": "wrap"}, {"device.capacity": ["256MiB", "2GiB"]}),
    ]
    for base, axes in questions:
        found = ssdlab.sweep(axes, base, PGBENCH)
        assert found.finished == len(found.points) and not found.failures
        told = over_runs([alone(dict(point.values), base, PGBENCH) for point in found.points])
        sized = [one for one in found.caveats if one.startswith("No capacity set: using ")]
        assert told and list(found.caveats) == [*sized, *told]
        assert list(found.caveats_by_trace)[:1] == sized if base == {"time": "count"} else not sized


def test_a_settled_study_of_drives_that_were_asked_for_has_nothing_to_say() -> None:
    settled = {"device.op": "60%", "device.capacity": "64MiB", "time": "count", "workload.requests": 200_000}
    found = ssdlab.sweep({"ftl.page.gc": ["greedy", "fifo"]}, {**settled, "nand.pages_per_block": 32})
    assert found.caveats == () and found.page().remarks == []


def test_a_drive_is_not_steady_before_its_flash_was_full() -> None:
    """Five times as much flash as capacity: at first nothing is collected, then in fits and starts."""
    written = {"workload.pattern": "uniform", "workload.reads": "0%", "time": "count"}
    asked = {**written, "device.capacity": "64MiB", "workload.requests": 200_000}
    result = ssdlab.simulate(ssdlab.Config("small-nvme", overrides=asked))
    before = result.summary["precondition"]
    assert before["flash_pages_programmed"] > before["host_pages_written"] and before["stable"] is False
    assert any("preconditioning ended, after 25.0 times" in one.text for one in remarks_on(result))
    wide = {**written, "device.capacity": "128MiB", "device.op": "150%", "workload.requests": 400_000}
    result = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=wide))
    before = result.summary["precondition"]
    assert before["stable"] and abs(before["write_amplification"] / result.summary["write_amplification"] - 1) < 0.01


def test_of_a_drive_of_few_blocks_a_larger_one_is_named_that_settles(tmp_path: Path) -> None:
    """Of a drive of 4 GiB it is none of 1 GiB; what was written since is no part of preconditioning."""
    blocks = {"nand.dies": 2, "nand.planes": 2, "nand.pages_per_block": 1152, "device.reserve": "extra"}
    asked = {**blocks, "device.capacity": "4GiB", "workload.requests": 1000}
    config, saved = ssdlab.Config("tlc-nvme", overrides=asked), tmp_path / "4gib.drive"
    written = ssdlab.generate(ssdlab.Config(overrides={"workload.requests": 500_000, "workload.reads": "0%"}))
    for state in (None, saved):
        result = ssdlab.simulate(config, written, state=state, save_state=None if state else saved)
        told = next(one.text for one in remarks_on(result) if "preconditioning ended" in one.text)
        assert told.startswith("write amplification was not steady when preconditioning ended, after 18.0 times the")
        # A drive that is there is as large as it is.
        remedy = "" if state else ": --set device.capacity=8GiB"
        assert told.endswith(f"varies with each collection{remedy}")
    larger = ssdlab.simulate(ssdlab.Config("tlc-nvme", overrides={**asked, "device.capacity": "8GiB"}))
    assert larger.summary["precondition"]["stable"]


def test_of_many_cases_and_drives_a_few_are_listed() -> None:
    found = [[Remark(f"told of {one}", "told", f"case {one}")] for one in range(6)]
    assert over_runs([*found, [], [Remark("good", None)]]) == [
        "6 of 8 runs: told (case 0, case 1, case 2, case 3, 2 more)"
    ]
    # Beside lives at the rate of the trace some say less.
    slow = Remark("slow, so its life is longer", "slow, so its life is longer", by_trace="slow")
    assert over_runs([*found, [slow]], by_trace=True)[1:] == ["1 of 7 runs: slow"]
    study = ssdlab.sweep({"device.op": "1%..60%:40"}, ROUNDED)
    same = [told for told in study.caveats if "give" in told]
    assert len(same) == 4 and same[3].endswith("more drives are given by several values too")


def test_settings_of_a_workload_are_told_to_be_unused_where_a_trace_is_replayed(tmp_path: Path) -> None:
    """Unless they stand in a file, which may be for runs of the workload too, or have made the trace."""
    workload = {"workload.requests": 500, "workload.reads": "0%"}
    tiny = ssdlab.Config("tlc-chip", overrides={"device.capacity": "8MiB", "nand.pages_per_block": 32})
    made = tiny.with_overrides(workload)
    trace = ssdlab.generate(made)
    trace.save(tmp_path / "made.csv")

    def said(found: ssdlab.Result | ssdlab.Study) -> list[str]:
        remarks = found.caveats if isinstance(found, ssdlab.Study) else found.page().remarks
        return [one for one in remarks if "nothing uses" in one]

    idle = "nothing uses workload.reads, workload.requests, as a trace is replayed"
    assert said(ssdlab.simulate(made, tmp_path / "made.csv")) == [idle]
    found = ssdlab.sweep({"workload.reads": ["0%", "50%"]}, tiny, tmp_path / "made.csv")
    assert said(found) == ["2 of 2 runs: nothing uses workload.reads, as a trace is replayed"]
    (tmp_path / "whole.toml").write_text(made.to_toml(), encoding="utf-8")
    whole = ssdlab.Config(file=tmp_path / "whole.toml")
    for config, replayed in ((made, trace), (whole, tmp_path / "made.csv"), (made, None)):
        assert not said(ssdlab.simulate(config, replayed))


def test_a_setting_that_nothing_uses_is_told(tmp_path: Path) -> None:
    """By runs and studies; a file that says why means it so."""
    idle = "nothing uses cache.size, as cache.policy is none"
    tiny = {"device.capacity": "8MiB", "nand.pages_per_block": 32, "workload.requests": 500}

    def said(study: ssdlab.Study) -> list[str]:
        return [one for one in study.caveats if "nothing uses" in one]

    run = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**tiny, "cache.size": "1MiB"}))
    assert idle in run.page().remarks
    sizes = ["1MiB", "2MiB"]
    assert said(ssdlab.sweep({"cache.size": sizes}, ssdlab.Config("tlc-chip", overrides=tiny))) == [
        f"2 of 2 runs: {idle}"
    ]
    both = {"cache.size": sizes, "cache.policy": ["none", "lru"]}
    assert said(ssdlab.sweep(both, ssdlab.Config("tlc-chip", overrides=tiny))) == [f"2 of 4 runs: {idle}"]
    times = {"time": "count", "drive.backlog": "1"}
    found = ssdlab.sweep({"seed": ["1"]}, ssdlab.Config("tlc-chip", overrides={**tiny, **times}))
    assert said(found) == ["1 of 1 run: nothing uses drive.backlog, as time is count"]
    # One channel alone is simulated by counting unless more is said, and then no queue of the drive is used.
    channels = {"nand.channels": ["1", "4"], "drive.backlog": ["1"]}
    found = ssdlab.sweep(channels, ssdlab.Config("tlc-chip", overrides={**tiny, "device.capacity": "64MiB"}))
    its = ssdlab.Config("tlc-chip")["time"]
    assert said(found) == [f"1 of 2 runs: nothing uses drive.backlog, as time is {its}"]
    run.save(tmp_path)
    whole = tmp_path / "whole.toml"
    whole.write_text(run.config.to_toml(), encoding="utf-8")
    assert not [one for one in ssdlab.simulate(ssdlab.Config(file=whole)).page().remarks if "nothing uses" in one]
    (tmp_path / "part.toml").write_text("[cache]\nsize = '1MiB'\n", encoding="utf-8")
    part = ssdlab.Config("tlc-chip", file=tmp_path / "part.toml", overrides=tiny)
    assert idle in ssdlab.simulate(part).page().remarks
