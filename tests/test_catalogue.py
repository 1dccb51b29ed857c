"""Every name is listed, and every setting is explained."""

import json

import pytest

import ssdlab
from conftest import Cli
from ssdlab import _ssdlab
from ssdlab.analyse import steps
from ssdlab.model.conversion import all_formats
from ssdlab.study.catalogue import KNOWN_AS, catalogue, group
from ssdlab.study.explain import explain


def test_the_catalogue_has_all_registries() -> None:
    names = {one.name: {entry.name for entry in one.entries} for one in catalogue()}
    assert names["presets"] == {preset.name for preset in ssdlab.presets()}
    assert names["caches"] == {policy.name for policy in ssdlab.cache.policies()}
    assert names["codecs"] == {name for name, _, _ in _ssdlab.codecs()}
    assert names["formats"] == {format_entry.name for format_entry in all_formats()}
    assert names["experiments"] == {*ssdlab.experiments.names(), *ssdlab.screening.names()}
    assert names["scenes"] == {*steps.scenes()}
    keys = {key: {*variants} for key, _, _, variants in _ssdlab.options() if variants}
    listed = {KNOWN_AS.get(name, name): entries for name, entries in names.items()}
    assert {key: listed[key] for key in keys} == keys
    # No name is listed twice, and every name has a description.
    assert len(names) == len(catalogue()) and all(entry.help for one in catalogue() for entry in one.entries)
    tables = {key.partition(".")[0] for key, *_ in _ssdlab.options()}
    assert names["settings"] == tables


def test_parameters_are_listed_below_their_policy() -> None:
    (d,) = next(entry for entry in group("victims").entries if entry.name == "d_choices").parameters
    assert (d.name, d.default) == (
        "d",
        ssdlab.Config(overrides={"ftl.page.gc": "d_choices"})["ftl.page.gc.d_choices.d"].__str__(),
    )
    assert group("ftl.page.gc") == group("victims") and group("device.reserve").entries


def test_a_renamed_setting_is_named_when_explained() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"^block\.frame: was renamed to block\.layer = "):
        explain("block.frame")


def test_the_command_lists(cli: Cli) -> None:
    out = cli("list", "--all").stdout
    for name in ("victims: values of ftl.page.gc", "s3-fifo", "tlc-nvme", "blktrace", "varmail", "sbfast", "kyber"):
        assert name in out
    out = cli("list", "schedulers").stdout
    assert "read_expire" in out and "500ms" in out
    result = json.loads(cli("list", "maps", "--json").stdout)["result"]
    assert [entry["name"] for entry in result[0]["entries"]] == ["ram", "segments", "dftl"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "Device.OP",
            'device.op has no named values (share, 0% to 1000%; default "7%"; "9.93%" in the default ',
        ),
        ("device", "device is a table of settings; 'ssdlab config explain device' shows these settings"),
        ("ftl.page.map.dftl", "ftl.page.map.dftl is a table of settings"),
        ("no.such", "unknown name 'no.such'; 'ssdlab list' shows all names"),
        ("block.frame", 'block.frame: was renamed to block.layer = "single-queue" or "multi-queue"'),
    ],
)
def test_a_name_without_a_list_is_described(name: str, told: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        group(name)
    assert told in str(error.value)


@pytest.mark.parametrize("key", [key for key, *_ in _ssdlab.options()])
def test_every_setting_is_explained(key: str) -> None:
    (explanation,) = explain(key)
    assert explanation.key == key and explanation.help and explanation.range and explanation.default
    for choice, variant in explanation.needs:
        assert variant in [name for name, _ in _ssdlab.variants(choice)] and key.startswith(f"{choice}.{variant}.")


def test_presets_name_the_sources_of_their_numbers() -> None:
    (explanation,) = explain("nand.program")
    values = {preset.preset: preset.value for preset in explanation.presets}
    for preset in ssdlab.presets():
        origin = next(
            setting.origin for setting in ssdlab.Config(preset.name).settings if setting.key == "nand.program"
        )
        if origin.startswith("preset"):
            assert values.pop(preset.name) == ssdlab.Config(preset.name)["nand.program"]
    assert not values
    sources = {preset.preset: preset.source for preset in explanation.presets}
    assert "nand_t_prog 2100 us for one shot" in sources["mobile-ufs"] and all(sources.values())


@pytest.mark.parametrize(
    ("key", "used"),
    [
        ("block.slots", ("time = event", "block.scheduler is not direct")),
        ("block.scheduler", ("time = event",)),
        ("drive.link", ("time = event",)),
        ("cache.size", ("cache.policy is not none",)),
        ("cache.policy", ()),
        ("device.op", ()),
    ],
)
def test_the_condition_of_a_setting_is_shown(key: str, used: tuple[str, ...]) -> None:
    (explanation,) = explain(key)
    assert explanation.used == used


def test_the_command_explains(cli: Cli) -> None:
    assert "always" not in cli("config", "explain", "block.slots").stdout
    out = cli("config", "explain", "ftl.page.gc.d_choices.d").stdout
    assert (
        "ftl = page, ftl.page.gc = d_choices" in out
        and "whole number" in out
        and "--set ftl.page.gc.d_choices.d=" in out
    )
    out = cli("config", "explain", "nand.read").stdout
    assert "ns, us, ms or s" in out and "mobile-ufs" in out and "nand_t_read_half" in out
    assert "least_worn" in cli("config", "explain", "ftl.page.allocation").stdout
    table = cli("config", "explain", "device").stdout
    assert "8 settings of device" in table and "device.spare" in table and "device.fill" in table
    result = json.loads(cli("config", "explain", "device.op", "--json").stdout)["result"]
    assert result[0]["units"] == "%" and result[0]["range"] == "share, 0% to 1000%"
