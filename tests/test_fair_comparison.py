"""Comparisons of FTLs on drives with equal flash."""

import pytest

import ssdlab
from conftest import Cli
from ssdlab.view.pages.comparison import page

DRIVE = {
    "device.capacity": "25MiB",
    "nand.pages_per_block": 64,
    "workload.requests": 100,
    "precondition.overwrite": "none",
}


def config(**settings: object) -> ssdlab.Config:
    return ssdlab.Config(
        "tlc-chip", overrides={**DRIVE, **{key.replace("__", "."): one for key, one in settings.items()}}
    )


def test_the_smallest_over_provisioning_for_all_cases_is_named() -> None:
    """The data fill 100 blocks. The first FTL needs 3 + 1 more blocks, the second 9 + 1: 9.01 % give 109.01, so 110."""
    cases = {
        "few": config(device__op="7%"),
        "many": config(device__op="7%", **{"ftl.page.trigger.batch.low": 4, "ftl.page.trigger.batch.high": 6}),
    }
    expected = (
        "many: too few blocks with device.op=7%; the smallest value that suffices for all cases is device.op=9.01%"
    )
    with pytest.raises(ssdlab.ConfigError, match=f"^{expected}$"):
        ssdlab.compare(cases)


def test_no_value_is_the_best_if_the_drives_differ_in_flash() -> None:
    """25 MiB in blocks of 256 KiB need 107 and 128 blocks."""
    compared = ssdlab.compare({"7%": config(device__op="7%"), "28%": config(device__op="28%")})
    written = page(compared)
    assert written.legend == "no best values: the drives differ in flash (7%: 26.8 MiB, 28%: 32.0 MiB)"
    alike = page(ssdlab.compare({"a": config(), "b": config(ftl__page__gc="fifo")}))
    assert alike.legend == "*: best of its row"


def test_a_case_may_be_a_bare_name(cli: Cli) -> None:
    run = [
        "compare",
        "-p",
        "tlc-chip",
        "-s",
        "device.capacity=25MiB",
        "-s",
        "device.op=28%",
        "-s",
        "workload.requests=9",
    ]
    run += ["-s", "nand.pages_per_block=64", "-s", "precondition.overwrite=none"]
    out = cli(*run, "--case", "page", "--case", "dftl", "--case", "fast").stdout
    [flash] = [line for line in out.splitlines() if line.strip().startswith("flash  ")]
    assert flash.split() == ["flash", *["32.0", "MiB"] * 3]


def test_the_default_drive_names_a_drive_for_log_block_ftls(cli: Cli) -> None:
    error = cli("compare", "--case", "page", "--case", "fast", check=False).stderr
    expected = "ftl: fast maps whole flash pages, but the default drive maps smaller units; use preset small-tlc"
    assert error == f"ssdlab: --case fast: {expected}\n"
