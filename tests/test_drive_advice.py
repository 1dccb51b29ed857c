"""Advice on the spare space of a drive."""

import json
from pathlib import Path

import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab.model.sizing import NO_LIFETIME
from ssdlab.study.drive_advice import DriveAdvice, DriveChoice
from ssdlab.study.survey.outcome import Estimate, estimate
from sweeps import BASE

PGBENCH = ROOT / "traces" / "pgbench.csv.zst"
DAY_SECONDS, YEAR_DAYS = 86_400, 365.25
SIZED = ("--set", "device.capacity=1GiB", "--fit", "compact")
"""Arguments for a drive with a capacity of its own, large enough for the trace."""


def test_drives_equal_single_runs_and_life_is_endurance_over_writes() -> None:
    """The lifetime is TBW (the cycles of all flash over write amplification) divided by the data written per day."""
    advised = ssdlab.advise_drive(PGBENCH, {"time": "serial"}, op=["10%", "40%"], dwpd=0.5, p99_ns=1e9)
    assert [choice.levels["device.op"] for choice in advised.choices] == ["10%", "40%"]
    for one in advised.choices:
        steady = {"time": "serial", "host.repeat": "until-steady", **one.levels}
        single = ssdlab.simulate(ssdlab.Config(overrides=steady), PGBENCH).summary
        device = single["device"]
        assert one.flash_bytes == device["physical_bytes"]
        assert one.write_amplification.mean == single["write_amplification"]
        assert one.p99_ns is not None and one.p99_ns.mean == single["latency"]["all"]["p99_ns"]
        tbw = device["endurance_cycles"] * device["physical_bytes"] / single["write_amplification"]
        # The drives are scale models, so their ratings are those of the nominal drive.
        assert one.tbw_bytes == pytest.approx(tbw * device["scale_model"]["ratio"], rel=1e-3)
        assert one.years is not None
        assert one.years.mean == pytest.approx(tbw / (0.5 * device["capacity_bytes"]) / YEAR_DAYS, rel=1e-3)


def known(value: float) -> Estimate:
    return Estimate(value, None, 1)


def advice(choices: list[tuple[str, float, float, float]], **more: float) -> DriveAdvice:
    """Advice on drives with given spare space, flash, p99 and years."""
    study = ssdlab.sweep({"device.op": [op for op, *_ in choices]}, BASE)
    drives = [
        DriveChoice({"device.op": op}, flash, known(2.0), known(p99), 1e12, known(years))
        for op, flash, p99, years in choices
    ]
    wanted = {"dwpd": 1.0, "years": 5.0, "p99_ns": 25.0, **more}
    return DriveAdvice(study=study, choices=drives, **wanted)


def test_the_least_sufficient_flash_is_chosen() -> None:
    drives = [
        ("20%", 100.0, 60.0, 3.0),
        ("25%", 110.0, 30.0, 6.0),
        ("30%", 120.0, 20.0, 8.0),
        ("40%", 140.0, 10.0, 9.0),
    ]
    advised = advice(drives)
    assert advised.best is not None and advised.best.levels == {"device.op": "30%"}
    lines = [sentence.text for sentence in advised.page().conclusion]
    assert lines[0] == "Choose device.op=30%: it meets the goal with the least flash."
    assert lines[1] == "This result comes from one seed; use --seeds 5 to estimate its error."
    assert lines[2] == "The next smaller drive, device.op=25%, has a p99 of 30 ns."
    assert lines[3].startswith(
        "The next larger drive, device.op=40%, needs 17 % more flash; its write amplification is equal"
    )
    slow = advice(drives, p99_ns=5.0)
    assert slow.best is None and "Closest: device.op=40%, which has a p99 of 10 ns" in slow.page().conclusion[0].text
    short = advice(drives, years=10.0)
    assert short.best is None and "device.op=40%, which lasts 9.00 years" in short.page().conclusion[0].text
    assert "flash of higher endurance" in short.page().conclusion[0].text
    # A drive that lasts long enough may miss the latency goal.
    for years, remedies in ((5.0, 1), (10.0, 2)):
        neither = advice(drives, years=years, p99_ns=5.0).page().conclusion[0].text
        assert "for a lower p99, choose a faster drive" in neither and neither.count("; for ") == remedies


def test_the_confidence_of_an_answer_is_shown() -> None:
    """With the drive whose mean meets the bound, two of three seeds meet it; with the next drive, all three."""
    study = ssdlab.sweep({"device.op": ["20%", "30%"]}, BASE, seeds=3)
    tails, lives = ((24.0, 24.0, 26.0), (20.0, 20.0, 21.0)), (9.0, 9.0, 9.0)
    choices = [
        DriveChoice(
            {"device.op": op}, flash, estimate(waf), estimate(tail), 1e12, estimate(lives), tail, lives
        )
        for op, flash, waf, tail in zip(
            ("20%", "30%"), (100.0, 120.0), ((2.0, 2.2, 2.4), (1.9, 2.1, 2.3)), tails, strict=True
        )
    ]  # fmt: skip
    advised = DriveAdvice(study=study, choices=choices, dwpd=1.0, years=5.0, p99_ns=25.0)
    assert [(drive["meeting"], drive["seeds"]) for drive in advised.to_dict()["drives"]] == [(2, 3), (3, 3)]
    assert [sentence.text for sentence in advised.page().conclusion] == [
        "Choose device.op=20%: it meets the goal with the least flash.",
        "It meets the goal with 2 of 3 seeds.",
        "device.op=30% meets the goal with every seed.",
        "The next larger drive, device.op=30%, needs 20 % more flash; its write amplification is equal within the "
        "confidence intervals.",
    ]
    strict = DriveAdvice(study=study, choices=choices[:1], dwpd=1.0, years=5.0, p99_ns=25.0)
    assert strict.page().conclusion[2].text == "No drive meets the goal with every seed."


def test_one_screen_and_its_files(cli: Cli, tmp_path: Path) -> None:
    done = cli(
        "advise", "drive", PGBENCH, "--set", "time=count", *SIZED, "--op", "20%,40%",
        "-A", "ftl.page.gc=greedy,fifo", "--out", "a",
    )  # fmt: skip
    assert len(done.stdout.splitlines()) <= 25 and "of life at the daily writes of the trace" in done.stdout
    assert "write endurance" in done.stdout
    saved = json.loads((tmp_path / "a" / "drive-advice.json").read_text(encoding="utf-8"))
    assert len(saved["result"]["drives"]) == 4 and saved["kind"] == "drive-advice"
    assert (tmp_path / "a" / "drive-advice.csv").read_text(encoding="utf-8").count("\n") == 5


def test_over_provisioning_with_equal_drives_is_listed_once() -> None:
    flash = {"device.capacity": "256MiB", "device.reserve": "extra", "nand.pages_per_block": 512}
    drive = ssdlab.Config("tlc-nvme", overrides={**flash, "workload.requests": 100, "time": "count"})
    advised = ssdlab.advise_drive(None, drive, op=["7%", "10%", "12%", "40%"])
    assert [choice.levels["device.op"] for choice in advised.choices] == ["7%", "40%"]
    assert (
        advised.page().remarks[0]
        == "device.op=7%, 10%, 12% give the same drive, because drives consist of whole blocks"
    )


def test_drives_of_unknown_life_are_not_chosen_unconditionally(tmp_path: Path) -> None:
    timeless = tmp_path / "timeless.parquet"
    ssdlab.Trace.from_columns(op=["write"] * 900, offset=[0] * 900, bytes=[4096] * 900).save(timeless)
    advised = ssdlab.advise_drive(timeless, SMALL.with_overrides({"time": "count"}), op=["20%", "40%"])
    assert [advised.lasts(choice) for choice in advised.choices] == [None, None]
    assert [drive["lasts"] for drive in advised.to_dict()["drives"]] == [None, None]
    lines = [sentence.text for sentence in advised.page().conclusion]
    assert lines[:2] == [
        "The life of the drives is unknown; set the write rate with --dwpd.",
        "Choose device.op=20% if its life is long enough: it has the least flash.",
    ]
    assert not any(line.startswith("Choose") and " if " not in line for line in lines)
    assert advised.page().lead[0].text == "goal: the least flash for 5 years of life"
    assert {drive["rate"] for drive in advised.to_dict()["drives"]} == {None}


SMALL = ssdlab.Config(
    "tlc-nvme",
    overrides={
        "device.capacity": "8MiB",
        "device.reserve": "extra",
        "nand.pages_per_block": 32,
        "nand.channels": 1,
        "nand.ways": 1,
    },
)


@pytest.mark.parametrize(
    "how",
    [
        {"time": "serial"},
        {"time": "event"},
        {"time": "count"},
        {"time": "serial", "host.replay": "open"},
        {"time": "event", "host.replay": "open", "host.repeat.times.count": 3},
        {"time": "event", "host.replay": "open", "host.warmup": 500, "host.repeat.times.count": 1},
    ],
)
def test_life_follows_the_trace_rate_even_if_the_drive_is_slow(tmp_path: Path, how: dict[str, object]) -> None:
    """A page every 10 us is 4,096 x 8.64 x 10^9 bytes a day, although the chip needs half a millisecond per page."""
    pages = 1501
    trace = tmp_path / "t.parquet"
    ssdlab.Trace.from_columns(
        time_ns=[10_000 * at for at in range(pages)], op=["write"] * pages,
        offset=[4096 * (at % 1400) for at in range(pages)], bytes=[4096] * pages,
    ).save(trace)  # fmt: skip
    advised = ssdlab.advise_drive(trace, SMALL.with_overrides(how), op=["20%"])
    (one,) = advised.choices
    repeat = {} if "host.repeat.times.count" in how else {"host.repeat": "until-steady"}
    single = ssdlab.simulate(SMALL.with_overrides({**repeat, **how, "device.op": "20%"}), trace).summary
    device = single["device"]
    measured = pages - int(str(how.get("host.warmup", 0)))
    per_day = 4096 * 8.64e9 * measured / (measured - 1)
    by_hand = device["endurance_cycles"] * device["physical_bytes"] / single["write_amplification"] / per_day / 365.25
    assert one.years is not None and one.years.mean == pytest.approx(by_hand) and one.rate == "trace"
    assert advised.to_dict()["drives"][0]["rate"] == "trace"
    assert (
        advised.page()
        .lead[0]
        .text.startswith("goal: the least flash for 5 years of life at the daily writes of the trace")
    )
    assert not any("the projected life" in remark for remark in advised.page().remarks)


def test_life_of_requests_without_times_follows_the_replay_rate(tmp_path: Path) -> None:
    timeless = tmp_path / "timeless.parquet"
    ssdlab.Trace.from_columns(op=["write"] * 900, offset=[0] * 900, bytes=[4096] * 900).save(timeless)
    drive = SMALL.with_overrides({"time": "serial"})
    advised = ssdlab.advise_drive(timeless, drive, op=["20%"])
    single = ssdlab.simulate(
        drive.with_overrides({"host.repeat": "until-steady", "device.op": "20%"}), timeless
    ).summary
    (one,) = advised.choices
    assert one.years is not None and one.years.mean == single["lifetime"]["years"] and one.rate == "replay"
    assert "at the daily writes of the replay, because the requests have no times" in advised.page().lead[0].text
    asked = ssdlab.advise_drive(timeless, drive, op=["20%"], dwpd=1.0)
    assert asked.choices[0].rate == "asked"
    assert any("years of life at 1 drive writes per day" in part.text for part in asked.page().lead)


def test_drives_that_cannot_run_have_a_reason(tmp_path: Path) -> None:
    ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096]).save(tmp_path / "broken.csv")
    with (tmp_path / "broken.csv").open("a") as file:
        file.write("nothing\n")
    with pytest.raises(ssdlab.ConfigError, match=r"all simulations of drives failed: \S*broken\.csv:3: "):
        ssdlab.advise_drive(tmp_path / "broken.csv", op=["7%"], jobs=1)


def test_spare_space_for_a_trace_without_writes_is_refused(cli: Cli, tmp_path: Path) -> None:
    ssdlab.Trace.from_columns(op=["read"], offset=[0], bytes=[4096]).save(tmp_path / "reads.csv")
    done = cli("advise", "drive", tmp_path / "reads.csv", "--op", "7%", check=False)
    assert done.stderr.splitlines()[-1] == (
        "ssdlab: no measured request is a write, so spare space has no effect; use a workload with writes"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"dwpd": 0}, "^dwpd: must be a number above 0, not 0$"),
        (
            {"op": ["7"]},
            '^op: device.op: "7" is ambiguous without a % sign; write "7%", or "700%" if you mean a fraction$',
        ),
        ({"op": "7%,7%"}, "^op: the value 7% is listed twice; list it once$"),
        ({"op": ["7%", ""]}, "^op: a value is empty; write values separated by commas, such as A,B$"),
        ({"op": "7%..9%"}, "^op: 7%..9% is a range without steps; write 7%..28%:4$"),
        (
            {"op": "7%..40%:400", "axes": ["nand.read=20us..80us:300"]},
            "^the sweep would have 120,000 runs; try fewer drives, or fewer seeds for each drive$",
        ),
        (
            {"op": "1100%..2000%:10"},
            r"^op: device.op: 1100% is out of range: 0% to 1000%; same error with 1200%,( 1\d00%,){6} 1900% and 1 more",
        ),
        ({"axes": ["device.op=7%,8%"]}, "^axis device.op: already varied by op; set its values with op$"),
        (
            {"p99_ns": 1e6, "config": {"time": "count"}},
            '^time: "count" does not simulate latency, which p99 requires; set time to "serial"',
        ),
        ({"axes": ["ftl.page.gc=lazy"]}, '^axis: ftl.page.gc: "lazy" is not one of '),
    ],
)
def test_bad_input_is_one_clear_error(more: dict[str, object], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        ssdlab.advise_drive(PGBENCH, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("option", "shown"), [("--dwpd", "0"), ("--years", "-1"), ("--years", "inf"), ("--p99", "0")])
def test_options_that_are_not_positive_are_named(cli: Cli, option: str, shown: str) -> None:
    done = cli("advise", "drive", PGBENCH, option, shown, check=False)
    assert (done.returncode, done.stderr) == (2, f"ssdlab: {option}: must be a number above 0, not {shown}\n")


@pytest.mark.parametrize(
    ("repeat", "measured"),
    [
        ({"host.repeat.times.count": 2}, "the last replay"),
        ({}, "the last replay (in steady state)"),
        ({"host.repeat.until-steady.most": 2}, "the last replay (in steady state in 0 of 1 run)"),
        ({"host.repeat.times.count": 1}, "all requests"),
        ({"host.repeat.times.count": 1, "host.warmup": 1000}, "the requests after the warm-up"),
    ],
)
def test_the_measured_replay_is_named(repeat: dict[str, object], measured: str) -> None:
    """The output names the last replay, and calls it steady only if it is steady."""
    flash = {"device.scale": "none", "nand.pages_per_block": 33, "nand.channels": 2, "nand.ways": 2, "nand.planes": 1}
    asked = {**flash, "time": "serial", "host.repeat": "until-steady", **repeat}
    if "host.repeat.times.count" in repeat:
        del asked["host.repeat"]
    advised = ssdlab.advise_drive(PGBENCH, asked, op=["40%"])
    single = ssdlab.simulate({**asked, "device.op": "40%"}, PGBENCH).summary
    (one,) = advised.choices
    assert advised.measured == advised.to_dict()["measured"] == measured
    assert advised.page().lead[1].text == f"figures are measured over {measured}"
    assert one.write_amplification.mean == single["write_amplification"]
    assert one.p99_ns is not None and one.p99_ns.mean == single["latency"]["all"]["p99_ns"]
    assert one.tbw_bytes is None and one.years is None and one.rate is None
    assert any(NO_LIFETIME.partition(";")[0] in remark for remark in advised.page().remarks)


def test_replays_are_as_requested() -> None:
    once = {"time": "count", "host.repeat.times.count": 1}
    advised = ssdlab.advise_drive(PGBENCH, once, op=["20%"])
    single = ssdlab.simulate({**once, "device.op": "20%"}, PGBENCH)
    assert advised.choices[0].write_amplification.mean == single.write_amplification
